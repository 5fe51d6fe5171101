/** Items of which the first, by some order, is wanted again and again, as in a merge. */
export class FirstHeap<Item> {
  readonly #items: Item[];
  readonly #isBefore: (a: Item, b: Item) => boolean;

  /** Takes the array over. */
  constructor(items: Item[], isBefore: (a: Item, b: Item) => boolean) {
    this.#items = items;
    this.#isBefore = isBefore;
    for (let at = (items.length >>> 1) - 1; at >= 0; at--) this.#sink(at);
  }

  get first(): Item | undefined {
    return this.#items[0];
  }

  /** The first item stands elsewhere in the order now; `isLeft` false: it leaves. */
  moveFirst(isLeft: boolean): void {
    if (!isLeft) {
      const last = this.#items.pop();
      if (last === undefined || this.#items.length === 0) return;
      this.#items[0] = last;
    }
    this.#sink(0);
  }

  #sink(from: number): void {
    const items = this.#items;
    let at = from;
    for (;;) {
      const here = items[at] as Item;
      let least = at;
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < items.length && this.#isBefore(items[child] as Item, items[least] as Item)) {
          least = child;
        }
      }
      if (least === at) return;
      items[at] = items[least] as Item;
      items[least] = here;
      at = least;
    }
  }
}
