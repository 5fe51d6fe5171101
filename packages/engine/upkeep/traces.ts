/**
 * Writing traces (state-surfaces 6.1), and removing them.
 *
 * Traces are kept for a time (SVC_RAFT_TRACE_RETENTION_S) and then removed, oldest first, in steps
 * that each are a small part of one entry. Only the leader looks, at a clock and at the oldest
 * rows, and a step says exactly what goes. Without traces nothing looks at all.
 */
import type { TraceCommand, TracedOutcome } from '../base/commands/traces.js';
import type { Key, KeyedRow, State } from '../base/state.js';
import type { Draft } from '../draft/draft.js';
import { type Job, type PurgeStep, purgeRange } from '../features/job.js';
import { findNamedPartition } from '../state/catalog.js';
import { placeKey, type TraceRow, traces } from '../state/traces/tables.js';

/** Traces of a step: 512 * 10 rows of about 1 us with a few names each. */
const TRACES_PER_STEP = 512;
/** Between two steps while there is more: 512 / 0.1 s, about five thousand traces a second. */
const STEP_MS = 100;
/** How late an expiry may be noticed. */
const LOOK_MS = 60_000;
/** Traces of all tenants that one step of a purge looks at: 1,024 * 3 us. */
const PURGED_LOOKS = 1024;
const FIRST_KEY = '' as Key;
const LAST_PLACE = '\xff'.repeat(13) as Key;

export class TraceExpiry implements Job {
  readonly #retentionUs: number;
  /** Monotonic milliseconds of the next look; null: there are no traces. */
  #nextMs: number | null;
  /** What stands before it is gone. */
  #from: Key = FIRST_KEY;

  constructor(state: State, retentionSeconds: number) {
    this.#retentionUs = retentionSeconds * 1_000_000;
    this.#nextMs = oldest(state, FIRST_KEY, Number.MAX_SAFE_INTEGER, 1).length === 0 ? null : 0;
  }

  nextDueMs(): number | null {
    return this.#nextMs;
  }

  plan(draft: Draft, command: TraceCommand): TracedOutcome {
    this.#nextMs ??= draft.nowMs + LOOK_MS;
    const { tenant, partitionId, transactionId, names, eventType, data } = command;
    const found =
      partitionId === null ? null : findNamedPartition(draft.state, tenant, partitionId);
    if (found === undefined) return { kind: 'traced', traceId: null };
    const traceId = command.traceId ?? draft.surroundings.newUuid(draft.nowUs);
    const { consumerGroup, worker, messageId } = command;
    const partition = found?.partition.number ?? 0;
    const place = { tenant, traceId, partition, transactionId };
    const row = { ...place, names, eventType, consumerGroup, worker, messageId };
    draft.emit({ kind: 'trace', number: draft.mintPlace(), row, data });
    return { kind: 'traced', traceId };
  }

  turn(draft: Draft): void {
    if (this.#nextMs === null || draft.nowMs < this.#nextMs) return;
    const from = this.#from;
    const beforeUs = Math.max(0, draft.nowUs - this.#retentionUs);
    const found = oldest(draft.state, from, beforeUs, TRACES_PER_STEP);
    const last = found[found.length - 1];
    if (last === undefined) {
      const isEmpty = oldest(draft.state, from, Number.MAX_SAFE_INTEGER, 1).length === 0;
      this.#nextMs = isEmpty ? null : draft.nowMs + LOOK_MS;
      return;
    }
    this.#nextMs = draft.nowMs + STEP_MS;
    this.#from = `${last.key}\0` as Key;
    draft.emit({ kind: 'expire-traces', from, beforeUs, rowsMax: TRACES_PER_STEP });
  }
}

function oldest(state: State, from: Key, beforeUs: number, limit: number): KeyedRow<TraceRow>[] {
  return state.range(traces, from, placeKey(beforeUs, 0), limit);
}

/** Traces stand in the order of time, of all tenants: the walk passes those of others. */
export function purgeTraces(step: PurgeStep): string | null {
  const { draft, tenant } = step;
  return purgeRange(step, traces, [FIRST_KEY, LAST_PLACE], PURGED_LOOKS, (found) => {
    const places = found.filter(({ row }) => row.tenant === tenant).map(({ key }) => key);
    if (places.length > 0) draft.emit({ kind: 'drop-traces', places });
  });
}
