/**
 * What falls due, earliest first: a binary heap whose items know their own place, so that one that
 * is settled early leaves at once. A heap that only skipped stale items would keep every lease of
 * the last five minutes although nearly all were acknowledged within milliseconds.
 */

/** Both fields belong to the heap. `heapAt` is -1 while the item is in none. */
export interface Due {
  dueMs: number;
  heapAt: number;
}

export class DueHeap<T extends Due> {
  readonly #items: T[] = [];

  get first(): T | undefined {
    return this.#items[0];
  }

  get size(): number {
    return this.#items.length;
  }

  /** Inserts the item, or moves it to its new time. */
  set(item: T, dueMs: number): void {
    item.dueMs = dueMs;
    if (item.heapAt === -1) {
      item.heapAt = this.#items.length;
      this.#items.push(item);
    }
    this.#settle(item);
  }

  remove(item: T): void {
    const at = item.heapAt;
    if (at === -1) return;
    item.heapAt = -1;
    const last = this.#items.pop() as T;
    if (last === item) return;
    this.#place(last, at);
    this.#settle(last);
  }

  #settle(item: T): void {
    let at = item.heapAt;
    while (at > 0) {
      const parent = this.#items[(at - 1) >> 1] as T;
      if (parent.dueMs <= item.dueMs) break;
      this.#place(parent, at);
      at = (at - 1) >> 1;
    }
    for (;;) {
      const child = this.#earlierChild(at);
      if (child === undefined || child.dueMs >= item.dueMs) break;
      const childAt = child.heapAt;
      this.#place(child, at);
      at = childAt;
    }
    this.#place(item, at);
  }

  #earlierChild(at: number): T | undefined {
    const left = this.#items[2 * at + 1];
    const right = this.#items[2 * at + 2];
    return right !== undefined && left !== undefined && right.dueMs < left.dueMs ? right : left;
  }

  #place(item: T, at: number): void {
    this.#items[at] = item;
    item.heapAt = at;
  }
}
