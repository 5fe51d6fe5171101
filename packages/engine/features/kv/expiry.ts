/**
 * Sweeping expired key/value rows (state-surfaces 1.5): the leader deletes them, those first whose
 * time came first, in steps that are each a small part of one entry.
 *
 * No read shows an expired row in the meantime, so this is about space alone and may be late. A
 * turn is one line of commands, so no row can have got another expiry between look and step.
 * Without rows that expire nothing looks at all.
 */

import type { Key, State } from '../../base/state.js';
import type { Draft } from '../../draft/draft.js';
import type { Effect } from '../../state/effects.js';
import { kvExpiries, kvExpiryStart, stampOfExpiry } from '../../state/kv/tables.js';
import type { Job } from '../job.js';

const ROWS_PER_STEP = 512;
/** Between two steps while there is more: 512 / 0.02 s, 25,600 rows a second. */
const STEP_MS = 20;
/** Rows that expire within it go in one step. */
const LOOK_MS = 1000;
/** A timer of the platform takes 2^31 ms at most. */
const LOOK_MS_MAX = 3_600_000;
const FIRST_KEY = '' as Key;
const LAST_KEY = '\xff' as Key;
const US_PER_MS = 1000;
const NEVER_US = Number.POSITIVE_INFINITY;

export class KvExpiry implements Job {
  readonly observes = ['kv'] as const;
  readonly #state: State;
  /** Monotonic milliseconds of the next look; null: no row expires. */
  #nextMs: number | null;
  /** What expires first, by the stamps of entries; only while `#nextMs` is not null. */
  #firstUs = 0;
  /** The first expiry among the rows written since the last turn. */
  #addedUs = NEVER_US;
  /** What stands before it is gone; rows that come later expire later than what was swept. */
  #from: Key = FIRST_KEY;

  constructor(state: State) {
    this.#state = state;
    this.#nextMs = this.#first() === null ? null : 0;
  }

  nextDueMs(): number | null {
    return this.#nextMs;
  }

  /** Rows may have come that expire. */
  observe(effect: Effect): void {
    if (effect.kind !== 'kv') return;
    for (const { expiresAtUs } of effect.writes) {
      if (expiresAtUs !== 0 && expiresAtUs < this.#addedUs) this.#addedUs = expiresAtUs;
    }
  }

  turn(draft: Draft): void {
    const { nowMs, nowUs } = draft;
    const addedUs = this.#addedUs;
    if (addedUs !== NEVER_US) {
      this.#addedUs = NEVER_US;
      const isSooner = this.#nextMs === null || addedUs < this.#firstUs;
      if (isSooner) this.#lookAt(addedUs, nowUs, nowMs);
    }
    if (this.#nextMs === null || nowMs < this.#nextMs) return;
    const from = this.#from;
    const due = this.#state.range(kvExpiries, from, kvExpiryStart(nowUs), ROWS_PER_STEP);
    const last = due[due.length - 1];
    if (last !== undefined) {
      draft.emit({ kind: 'expire-kv', from, beforeUs: nowUs, rowsMax: ROWS_PER_STEP });
      this.#from = `${last.key}\0` as Key;
    }
    if (due.length === ROWS_PER_STEP) {
      this.#nextMs = nowMs + STEP_MS;
      return;
    }
    const first = this.#first();
    if (first === null) this.#nextMs = null;
    else this.#lookAt(first, nowUs, nowMs);
  }

  #lookAt(expiresAtUs: number, nowUs: number, nowMs: number): void {
    this.#firstUs = expiresAtUs;
    const leftMs = Math.ceil((expiresAtUs - nowUs) / US_PER_MS) + 1;
    this.#nextMs = nowMs + Math.min(Math.max(LOOK_MS, leftMs), LOOK_MS_MAX);
  }

  #first(): number | null {
    const [first] = this.#state.range(kvExpiries, this.#from, LAST_KEY, 1);
    return first === undefined ? null : stampOfExpiry(first.key);
  }
}
