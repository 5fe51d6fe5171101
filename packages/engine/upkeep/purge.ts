/**
 * Purging a tenant (state-surfaces 5.2): whatever it has goes, a bounded number of rows in each
 * entry, and the request is answered when nothing is left.
 *
 * What must hold:
 * - Where a purge stands is a row, which moves in the entries that hold its steps: the next leader
 *   goes on by itself, whether anybody still waits or not, and a repeated request waits for the
 *   rest. The entry of the last step holds the outcome for the requests that waited.
 * - A step reads from where the one before it ended: the state may remember removed rows one by one
 *   for a while, and a walk from the first row would pass all of them again. Between two steps of
 *   the same stage there is a pause, for everybody's commands.
 * - Queues are gone for clients at once and are swept like any deleted queue; a purge that is
 *   answered has waited for their last row.
 * - Timers go first, and those that come due until they are gone make no message: it would be
 *   younger than the purge of its queue.
 * - What is made behind its place is younger than the purge and stays, so it ends however busily
 *   the tenant goes on.
 *
 * One purge at a time: there is one disk, and a second one would only make both late.
 */
import { GRANT_KINDS } from '@svc/wire';
import type { Tenant } from '../base/commands/commands.js';
import type { TenantPurgedOutcome } from '../base/commands/surfaces.js';
import { grantOf } from '../base/grants.js';
import { numberKey, tenantRange } from '../base/keys.js';
import type { Key, State } from '../base/state.js';
import { queueNumbers, queues } from '../base/tables.js';
import type { Ticket } from '../delivery/delivery.js';
import type { Draft } from '../draft/draft.js';
import {
  PURGE_RANGE,
  PURGE_STAGES,
  type PurgeRow,
  type PurgeStage,
  purgeKey,
  purges,
} from '../state/purge-table.js';
import { traces } from '../state/traces/tables.js';

/** Queues that one turn dooms: 64 * 5 row changes of about 1 us, and 64 groups of waiters. */
const QUEUES_PER_TURN = 64;
/** Rows of the surfaces that one turn removes: 200 * 64 KiB of values, 13 MB, are read at most. */
const ROWS_PER_TURN = 200;
/** Traces of all tenants that one turn looks at: 1,024 * 3 us. */
const TRACES_PER_TURN = 1024;
/**
 * Between two steps: 200 rows in 0.02 s are 10,000 a second, ten million in 17 minutes. A step
 * takes one or two milliseconds.
 */
const STEP_MS = 20;
/** Purges that a state holds: each is a request of an operator. */
const PURGES_MAX = 100_000;

/** What the planner does for a purge. */
export interface PurgePlanner {
  deleteQueue(queue: number): void;
  /** A deleted queue of the tenant has rows left. */
  isSweeping(tenant: Tenant): boolean;
  done(ticket: Ticket, outcome: TenantPurgedOutcome): void;
}

/**
 * Removes at most `rowsMax` rows of the tenant, and says where the next step goes on, which is
 * never ""; null: nothing is left. `next` is what the step before it said, at first "".
 */
export type PurgeRows = (
  draft: Draft,
  tenant: Tenant,
  next: string,
  rowsMax: number,
) => string | null;

/** The stages that others own. */
export type PurgeSurfaces = {
  readonly [Stage in 'kv' | 'timers' | 'streams' | 'ephemeral']: PurgeRows;
};

const NOTHING_DONE: PurgeRow = { stage: PURGE_STAGES[0], next: '', partitionsDeleted: 0 };

export class TenantPurges {
  /** Oldest request first, as far as this leader knows; of earlier ones by tenant. */
  readonly #waiting = new Map<Tenant, Ticket[]>();
  readonly #surfaces: PurgeSurfaces;
  /** Monotonic milliseconds. */
  #nextStepMs = 0;

  constructor(state: State, surfaces: PurgeSurfaces) {
    this.#surfaces = surfaces;
    const [from, to] = PURGE_RANGE;
    for (const { key } of state.range(purges, from, to, PURGES_MAX)) this.#waiting.set(key, []);
  }

  /** Monotonic milliseconds of the next step; null: there is no purge. */
  get dueMs(): number | null {
    return this.#waiting.size === 0 ? null : this.#nextStepMs;
  }

  begin(draft: Draft, tenant: Tenant, ticket: Ticket): void {
    const waiting = this.#waiting.get(tenant);
    if (waiting !== undefined) {
      waiting.push(ticket);
      return;
    }
    this.#waiting.set(tenant, [ticket]);
    draft.emit({ kind: 'purge', tenant, row: NOTHING_DONE });
  }

  /** One step of the oldest, when its time has come. */
  turn(draft: Draft, planner: PurgePlanner): void {
    const next = this.#waiting.entries().next().value;
    if (next === undefined || draft.nowMs < this.#nextStepMs) return;
    const [tenant, tickets] = next;
    const before = draft.state.get(purges, purgeKey(tenant)) ?? NOTHING_DONE;
    const row = this.#step(draft, tenant, before, planner);
    // A tenant that has little is gone within a few turns.
    const hasMore = row !== null && row.stage === before.stage;
    this.#nextStepMs = hasMore ? draft.nowMs + STEP_MS : draft.nowMs;
    if (row !== null) {
      // Waiting for a sweep, which writes entries of its own, is mostly nothing to note.
      if (row !== before) draft.emit({ kind: 'purge', tenant, row });
      return;
    }
    draft.emit({ kind: 'purge', tenant, row: null });
    this.#waiting.delete(tenant);
    const { partitionsDeleted } = before;
    for (const ticket of tickets)
      planner.done(ticket, { kind: 'tenant-purged', partitionsDeleted });
  }

  /** null: nothing is left. */
  #step(draft: Draft, tenant: Tenant, row: PurgeRow, planner: PurgePlanner): PurgeRow | null {
    const { stage } = row;
    switch (stage) {
      case 'queues':
        return doomQueues(draft, tenant, row, planner);
      case 'traces':
        return dropTraces(draft, tenant, row);
      case 'sweeps':
        return planner.isSweeping(tenant) ? row : after(row);
      case 'grants':
        for (const surface of GRANT_KINDS) {
          if (grantOf(draft.state, tenant, surface) === undefined) continue;
          draft.emit({ kind: 'grant', tenant, surface, row: null });
        }
        return null;
      default: {
        const next = this.#surfaces[stage](draft, tenant, row.next, ROWS_PER_TURN);
        if (next === null) return after(row);
        return next === row.next ? row : { ...row, next };
      }
    }
  }
}

function after(row: PurgeRow): PurgeRow {
  const stage = PURGE_STAGES[PURGE_STAGES.indexOf(row.stage) + 1] as PurgeStage;
  return { ...row, stage, next: '' };
}

function doomQueues(draft: Draft, tenant: Tenant, row: PurgeRow, planner: PurgePlanner): PurgeRow {
  const [first, end] = tenantRange(tenant);
  const from = row.next === '' ? first : (row.next as Key);
  const found = draft.state.range(queueNumbers, from, end, QUEUES_PER_TURN);
  let { partitionsDeleted } = row;
  for (const { row: number } of found) {
    const queue = draft.state.get(queues, numberKey(number));
    if (queue === undefined) continue;
    partitionsDeleted += queue.partitions;
    planner.deleteQueue(number);
  }
  const last = found[found.length - 1];
  if (last === undefined || found.length < QUEUES_PER_TURN) {
    return after({ ...row, partitionsDeleted });
  }
  return { ...row, partitionsDeleted, next: `${last.key}\0` };
}

/** Traces stand in the order of time, of all tenants: the walk passes those of others. */
function dropTraces(draft: Draft, tenant: Tenant, row: PurgeRow): PurgeRow {
  const found = draft.state.range(traces, row.next as Key, LAST_PLACE, TRACES_PER_TURN);
  const places = found.filter((one) => one.row.tenant === tenant).map(({ key }) => key);
  if (places.length > 0) draft.emit({ kind: 'drop-traces', places });
  const last = found[found.length - 1];
  if (last === undefined || found.length < TRACES_PER_TURN) return after(row);
  return { ...row, next: `${last.key}\0` };
}

const LAST_PLACE = '\xff'.repeat(13) as Key;
