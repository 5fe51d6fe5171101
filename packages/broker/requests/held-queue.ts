/**
 * Requests that wait to be given to a leader, by rank and then in order of their arrival. A request
 * may come back to it, and then stands before those that arrived after it.
 */
import { type ClientRequest, RANKS } from './held-request.js';

class Line {
  #requests: ClientRequest[] = [];
  /** Those before it were taken. */
  #next = 0;
  #sorted = true;

  add(request: ClientRequest): void {
    const last = this.#requests[this.#requests.length - 1];
    if (last !== undefined && last.arrival > request.arrival) this.#sorted = false;
    this.#requests.push(request);
  }

  /** Those that wait, and ended ones that were not purged. */
  get size(): number {
    return this.#requests.length - this.#next;
  }

  /** The first that still waits. */
  take(): ClientRequest | undefined {
    if (!this.#sorted) this.#sort();
    for (;;) {
      const first = this.#requests[this.#next];
      if (first === undefined) {
        this.#requests = [];
        this.#next = 0;
        return undefined;
      }
      this.#next++;
      if (first.place === 'held') return first;
    }
  }

  /** What was taken last stands first again. */
  putBack(request: ClientRequest): void {
    if (this.#next === 0) this.#requests.unshift(request);
    else this.#requests[--this.#next] = request;
  }

  purge(): void {
    const waits = (request: ClientRequest) => request.place === 'held';
    this.#requests = this.#requests.slice(this.#next).filter(waits);
    this.#next = 0;
  }

  #sort(): void {
    this.purge();
    this.#requests.sort((a, b) => a.arrival - b.arrival);
    this.#sorted = true;
  }
}

export class HeldQueue {
  readonly #lines = Array.from({ length: RANKS }, () => new Line());

  get size(): number {
    return this.#lines.reduce((sum, line) => sum + line.size, 0);
  }

  /** Its place must be `held`; one whose place changes meanwhile is passed over. */
  add(request: ClientRequest): void {
    this.#lines[request.rank]?.add(request);
  }

  /**
   * Hands out in order, until `give` says that there is no room for more of that rank. It takes
   * what it is given to another place, and may add to the queue.
   */
  release(give: (request: ClientRequest) => boolean): void {
    for (const line of this.#lines) {
      for (;;) {
        const first = line.take();
        if (first === undefined) break;
        if (give(first)) continue;
        line.putBack(first);
        break;
      }
    }
  }

  /** Lets go of those that ended where they stood. */
  purge(): void {
    for (const line of this.#lines) line.purge();
  }
}
