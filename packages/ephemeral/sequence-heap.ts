/** Sequences of messages, the lowest first. None is in it twice. */
export class SequenceHeap {
  readonly #heap: number[] = [];

  get size(): number {
    return this.#heap.length;
  }

  /** Infinity when there is none. */
  get lowest(): number {
    return this.#heap[0] ?? Number.POSITIVE_INFINITY;
  }

  values(): readonly number[] {
    return this.#heap;
  }

  add(sequence: number): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(sequence);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent] as number;
      if (above <= sequence) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = sequence;
  }

  /** There is one. */
  takeLowest(): number {
    const heap = this.#heap;
    const lowest = heap[0] as number;
    const moved = heap.pop() as number;
    const size = heap.length;
    let at = 0;
    while (at * 2 + 1 < size) {
      let child = at * 2 + 1;
      if (child + 1 < size && (heap[child + 1] as number) < (heap[child] as number)) child++;
      const below = heap[child] as number;
      if (below >= moved) break;
      heap[at] = below;
      at = child;
    }
    if (size > 0) heap[at] = moved;
    return lowest;
  }
}
