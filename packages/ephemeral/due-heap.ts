/**
 * Deadlines, the earliest first: lease and age of rings, windows and deadlines of pops that
 * wait, queues that nobody uses. One heap for the node, so that one timer serves all of it.
 */

/** Its place in the heap is its own: -1 while it is in none. */
export interface DueItem {
  /** Infinity while it is in none. */
  dueMs: number;
  heapIndex: number;
  /** It is due, and is in the heap no more unless it enters anew, later than now. */
  due(nowMs: number): void;
}

export class DueHeap {
  readonly #heap: DueItem[] = [];

  get size(): number {
    return this.#heap.length;
  }

  /** Infinity when nothing is. */
  get nextMs(): number {
    return this.#heap[0]?.dueMs ?? Number.POSITIVE_INFINITY;
  }

  /** Puts it there, or elsewhere. Infinity: it is not due at all. */
  set(item: DueItem, dueMs: number): void {
    if (dueMs === Number.POSITIVE_INFINITY) {
      this.remove(item);
      return;
    }
    item.dueMs = dueMs;
    if (item.heapIndex < 0) {
      item.heapIndex = this.#heap.length;
      this.#heap.push(item);
    }
    this.#up(item);
    this.#down(item);
  }

  /** Like `set`, unless it is due earlier already. */
  advance(item: DueItem, dueMs: number): void {
    if (item.heapIndex < 0 || dueMs < item.dueMs) this.set(item, dueMs);
  }

  remove(item: DueItem): void {
    const index = item.heapIndex;
    if (index < 0) return;
    item.heapIndex = -1;
    item.dueMs = Number.POSITIVE_INFINITY;
    const last = this.#heap.pop();
    if (last === undefined || last === item) return;
    last.heapIndex = index;
    this.#heap[index] = last;
    this.#up(last);
    this.#down(last);
  }

  /** Takes the earliest out if it is due. */
  takeDue(nowMs: number): DueItem | null {
    const first = this.#heap[0];
    if (first === undefined || first.dueMs > nowMs) return null;
    this.remove(first);
    return first;
  }

  #up(item: DueItem): void {
    let at = item.heapIndex;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = this.#heap[parent] as DueItem;
      if (above.dueMs <= item.dueMs) break;
      this.#put(above, at);
      at = parent;
    }
    this.#put(item, at);
  }

  #down(item: DueItem): void {
    const heap = this.#heap;
    let at = item.heapIndex;
    for (;;) {
      let child = at * 2 + 1;
      const right = heap[child + 1];
      if (right !== undefined && right.dueMs < (heap[child] as DueItem).dueMs) child++;
      const below = heap[child];
      if (below === undefined || below.dueMs >= item.dueMs) break;
      this.#put(below, at);
      at = child;
    }
    this.#put(item, at);
  }

  #put(item: DueItem, at: number): void {
    this.#heap[at] = item;
    item.heapIndex = at;
  }
}
