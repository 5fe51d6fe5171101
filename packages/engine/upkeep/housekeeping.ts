/**
 * What the leader does without being asked: retention, expiry of key/value rows, removal of unused
 * partitions and of state that no stream can ask for, and moving appends within the log. All of it
 * at the end of a turn, within bounds of its own, so that no command waits for it longer than one
 * turn.
 */

import type { State } from '../base/state.js';
import type { Draft } from '../draft/draft.js';
import { KvExpiry } from '../features/kv/expiry.js';
import type { Effect } from '../state/effects.js';
import { StreamSweep } from '../streams/sweep.js';
import { type CleanupLimits, PartitionCleanup, type PartitionWatch } from './partition-cleanup.js';
import { planRelocations, type Relocation } from './relocation.js';
import { RETENTION_LIMITS, Retention, type RetentionLimits } from './retention.js';

export interface HousekeepingLimits {
  readonly retention: RetentionLimits;
  /** null: partitions stay for ever. */
  readonly cleanup: CleanupLimits | null;
}

export const HOUSEKEEPING_LIMITS: HousekeepingLimits = {
  retention: RETENTION_LIMITS,
  cleanup: null,
};

export class Housekeeping {
  readonly #retention: Retention;
  readonly #cleanup: PartitionCleanup;
  readonly #kvExpiry: KvExpiry;
  readonly #streams: StreamSweep;
  #moves: readonly Relocation[] = [];

  constructor(state: State, watch: PartitionWatch, limits = HOUSEKEEPING_LIMITS) {
    this.#retention = new Retention(state, limits.retention);
    this.#cleanup = new PartitionCleanup(state, limits.cleanup, watch);
    this.#kvExpiry = new KvExpiry(state);
    this.#streams = new StreamSweep(state);
  }

  /** There is something to do in the next turn. */
  get busy(): boolean {
    return this.#moves.length > 0;
  }

  /** Monotonic milliseconds; 0 at once; null never. */
  nextDueMs(): number | null {
    let firstMs = this.#retention.nextDueMs();
    for (const dueMs of [this.#cleanup.dueMs, this.#kvExpiry.dueMs, this.#streams.dueMs]) {
      if (firstMs === null || (dueMs !== null && dueMs < firstMs)) firstMs = dueMs;
    }
    return firstMs;
  }

  /** Every effect that the leader plans passes here. */
  observe(effect: Effect): void {
    this.#retention.observe(effect);
    this.#kvExpiry.observe(effect);
    this.#streams.observe(effect);
  }

  /**
   * To be moved by the next turns. What was given before and is not planned yet is dropped: the
   * giver looks again.
   */
  relocate(moves: readonly Relocation[]): void {
    this.#moves = moves;
  }

  /** `entryBytesMax`: what the entry may not go beyond. */
  turn(draft: Draft, entryBytesMax: number): void {
    this.#retention.turn(draft);
    this.#cleanup.turn(draft);
    this.#kvExpiry.turn(draft);
    this.#streams.turn(draft);
    if (this.#moves.length === 0) return;
    this.#moves = this.#moves.slice(planRelocations(draft, this.#moves, entryBytesMax));
  }
}
