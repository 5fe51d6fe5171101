/**
 * The requests of this node's clients whose end is not known, and a few that have ended.
 *
 * An ended one is not looked for: the list is made anew without them when there are enough of them.
 * It must not be late, though. Each holds its body and its answer, and what lives on for only a
 * moment is copied by the collector again and again: with a quarter of a second's worth of ended
 * requests in this list, every request was copied into the old generation.
 */
import type { ClientRequest } from './held-request.js';

/** Ended requests that are kept, unless they outnumber the others. */
const ENDED_MAX = 64;

export class OpenRequests {
  #all: ClientRequest[] = [];
  /** Since the list was made; those that were refused at once never stood in it. */
  #ended = 0;

  /** In order of arrival. Another list after `ended` and `letGo`: whoever walks it walks on. */
  get all(): readonly ClientRequest[] {
    return this.#all;
  }

  /** Every request has ended. */
  get idle(): boolean {
    return this.#all.every(({ place }) => place === 'ended');
  }

  add(request: ClientRequest): void {
    this.#all.push(request);
  }

  /** One more has ended. */
  ended(): void {
    this.#ended++;
    if (this.#ended >= ENDED_MAX && 2 * this.#ended >= this.#all.length) this.letGo();
  }

  /** Lets go of all that have ended. */
  letGo(): void {
    this.#all = this.#all.filter(({ place }) => place !== 'ended');
    this.#ended = 0;
  }
}
