/**
 * How much of a turn goes to parked pops: to serve them, and to answer those whose time is over.
 *
 * As many pops may wait as there are connections, each in a group of its own, and all for one push
 * or one instant. Claiming for 5000 of them in one turn takes a quarter of a second, in which
 * nobody else is served. So a turn does for them what its commands have left of its units, and a
 * part of those in any case, or commands could keep them waiting for ever. The next turn comes at
 * once and goes on with the rest.
 */

import { LOOKS_PER_UNIT, PRICES, TURN_UNITS } from '../base/work-prices.js';
import type { Draft } from '../draft/draft.js';
import type { Waiter } from './memory.js';
import { isOutcome, type Tried } from './pop.js';

/** Some forty claims, or eighty empty answers: 2 ms. */
export const WAITERS_UNITS_MIN = TURN_UNITS / 6;

export class WaitersRoom {
  readonly #draft: Draft;
  readonly #unitsMax: number;
  readonly #bytesMax: number;

  /** `bytes`: what may be added to the entry. */
  constructor(draft: Draft, bytes = Number.POSITIVE_INFINITY) {
    this.#draft = draft;
    this.#unitsMax = Math.max(TURN_UNITS, draft.work + WAITERS_UNITS_MIN);
    this.#bytesMax = draft.length + bytes;
  }

  get isFull(): boolean {
    return this.#draft.work >= this.#unitsMax || this.#draft.length >= this.#bytesMax;
  }
}

/** A waiter was tried: what that took, and what it claimed. */
export function spendTry(draft: Draft, { line }: Waiter, tried: Tried): void {
  const claims = isOutcome(tried) ? tried.claims.length : 0;
  const looks = line === null ? 0 : line.groups.length;
  draft.spend(PRICES.pop + claims * PRICES.claim + Math.floor(looks / LOOKS_PER_UNIT));
}

/** Ends those at the front of the list for which there is room, and takes them out. */
export function endFirst(draft: Draft, waiters: Waiter[], end: (waiter: Waiter) => void): void {
  const room = new WaitersRoom(draft);
  let ended = 0;
  for (const waiter of waiters) {
    if (room.isFull) break;
    ended++;
    end(waiter);
  }
  if (ended > 0) waiters.splice(0, ended);
}
