/**
 * First in, first out, with removal from the middle in constant time. The nodes are the items: a
 * parked pop whose client has gone, or a ready partition that a pinned pop took, leaves no trace.
 */

/** All fields belong to the line that the item stands in; it stands in one at most. */
export interface Linked<T> {
  previous: T | null;
  next: T | null;
  linked: boolean;
}

export class Fifo<T extends Linked<T>> {
  #first: T | null = null;
  #last: T | null = null;
  #size = 0;

  get first(): T | null {
    return this.#first;
  }

  get size(): number {
    return this.#size;
  }

  push(item: T): void {
    item.linked = true;
    item.previous = this.#last;
    item.next = null;
    if (this.#last === null) this.#first = item;
    else this.#last.next = item;
    this.#last = item;
    this.#size++;
  }

  /** Does nothing when the item stands in no line. */
  remove(item: T): void {
    if (!item.linked) return;
    if (item.previous === null) this.#first = item.next;
    else item.previous.next = item.next;
    if (item.next === null) this.#last = item.previous;
    else item.next.previous = item.previous;
    item.linked = false;
    item.previous = null;
    item.next = null;
    this.#size--;
  }
}
