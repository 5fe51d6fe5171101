/**
 * Purging a tenant (state-surfaces 5.2): all of its rows go, a bounded number in each entry, and
 * the request is answered when nothing is left.
 *
 * The features say what they remove, in stages (`PurgeStage`); this file walks the stages. What
 * must hold:
 * - A row says how far a purge has come, and moves in the entries that hold its steps. So the next
 *   leader goes on by itself, whether a client waits or not, and a repeated request waits for the
 *   rest. The entry of the last step holds the outcome for the requests that waited.
 * - A step reads from where the one before it ended: the state may remember removed rows one by one
 *   for a while, and a walk from the first row would pass all of them again. Between two steps of
 *   the same stage there is a pause, for the commands of all clients.
 * - What a client makes behind the place of a purge is younger than the purge and stays, so a purge
 *   ends however busily the tenant goes on.
 *
 * One purge at a time: there is one disk, and a second one would only make both late.
 */
import type { Tenant, Ticket } from '../base/commands/commands.js';
import type { State } from '../base/state.js';
import type { Draft } from '../draft/draft.js';
import type { Job, PurgeStep, TurnRoom } from '../features/job.js';
import { PURGE_RANGE, type PurgeRow, purgeKey, purges } from '../state/purge-table.js';

/**
 * Between two steps: 200 rows in 0.02 s are 10,000 a second, ten million in 17 minutes. A step
 * takes one or two milliseconds.
 */
const STEP_MS = 20;
/** Purges that a state holds: each is a request of an operator. */
const PURGES_MAX = 100_000;

/** A stage with the memory of its feature. */
export interface BoundStage {
  readonly number: number;
  step(step: PurgeStep): string | null;
}

export class TenantPurges implements Job {
  /** In the order of the requests that this leader knows; purges of earlier leaders by tenant. */
  readonly #waiting = new Map<Tenant, Ticket[]>();
  readonly #stages: readonly BoundStage[];
  #nextStepMs = 0;

  /** `stages`: by number. */
  constructor(state: State, stages: readonly BoundStage[]) {
    this.#stages = stages;
    const [from, to] = PURGE_RANGE;
    for (const { key } of state.range(purges, from, to, PURGES_MAX)) this.#waiting.set(key, []);
  }

  nextDueMs(): number | null {
    return this.#waiting.size === 0 ? null : this.#nextStepMs;
  }

  begin(draft: Draft, tenant: Tenant, ticket: Ticket): void {
    const waiting = this.#waiting.get(tenant);
    if (waiting !== undefined) {
      waiting.push(ticket);
      return;
    }
    this.#waiting.set(tenant, [ticket]);
    draft.emit({ kind: 'purge', tenant, row: this.#first });
  }

  /** One step of the oldest, when its time has come. */
  turn(draft: Draft, room: TurnRoom): void {
    const next = this.#waiting.entries().next().value;
    if (next === undefined || draft.nowMs < this.#nextStepMs) return;
    const [tenant, tickets] = next;
    const before = draft.state.get(purges, purgeKey(tenant)) ?? this.#first;
    const { row, partitionsDeleted } = this.#step(draft, tenant, before);
    // A tenant that has little is gone within a few turns.
    const hasMore = row !== null && row.stage === before.stage;
    this.#nextStepMs = hasMore ? draft.nowMs + STEP_MS : draft.nowMs;
    // A step that waits changes nothing.
    if (row !== before) draft.emit({ kind: 'purge', tenant, row });
    if (row !== null) return;
    this.#waiting.delete(tenant);
    const outcome = { kind: 'tenant-purged', partitionsDeleted } as const;
    for (const ticket of tickets) {
      room.progress(ticket, outcome);
      room.answer(ticket, outcome);
    }
  }

  get #first(): PurgeRow {
    return { stage: this.#stages[0]?.number ?? 0, next: '', partitionsDeleted: 0 };
  }

  /** The row after the next step; null: nothing is left. */
  #step(
    draft: Draft,
    tenant: Tenant,
    before: PurgeRow,
  ): { readonly row: PurgeRow | null; readonly partitionsDeleted: number } {
    const step = { draft, tenant, next: before.next, partitionsDeleted: before.partitionsDeleted };
    const stage = this.#stages.find(({ number }) => number >= before.stage);
    const next = stage?.step(step) ?? null;
    const { partitionsDeleted } = step;
    if (next === before.next) return { row: before, partitionsDeleted };
    if (next !== null) return { row: { ...before, next, partitionsDeleted }, partitionsDeleted };
    const later = this.#stages.find(({ number }) => number > before.stage);
    const row = later ? { stage: later.number, next: '', partitionsDeleted } : null;
    return { row, partitionsDeleted };
  }
}
