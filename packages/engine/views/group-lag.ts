/**
 * How far behind each consumer group is, over all queues of the cluster, for whoever watches it.
 *
 * The walk visits every cursor, so it is bounded: it ends at `cursorsMax` cursors or `rowsMax`
 * rows and says that it is not complete. Queues come in the order of their creation, each of them
 * whole, so what is shown of a group at a queue is exact, and a new queue cannot hide an old one.
 */
import { findAppend } from '../base/append-search.js';
import { nameInKey, numberKey } from '../base/keys.js';
import type { PartitionRow, QueueRow } from '../base/rows.js';
import type { Key, State } from '../base/state.js';
import { queues } from '../base/tables.js';
import { eachCursor, seededGroups } from '../state/group-cursors.js';
import { partitionsOf } from './group-views.js';

/** A group at the queues of one name, summed over tenants. */
export interface GroupLag {
  readonly queue: string;
  readonly group: string;
  /** Retained messages behind the cursors, what is leased included. */
  readonly messages: number;
  /** Stamp of the oldest message that was not consumed; null: there is none. */
  readonly oldestUs: number | null;
}

export interface GroupLags {
  readonly rows: readonly GroupLag[];
  /** Every cursor there is was visited. */
  readonly isComplete: boolean;
}

export interface GroupLagLimits {
  readonly cursorsMax: number;
  readonly rowsMax: number;
}

interface Sum {
  readonly queue: string;
  readonly group: string;
  messages: number;
  oldestUs: number;
}

const PAGE_ROWS = 256;

export function* groupLags(state: State, limits: GroupLagLimits): Generator<void, GroupLags> {
  const sums = new Map<string, Sum>();
  let cursorsLeft = limits.cursorsMax;
  for (const queue of everyQueue(state)) {
    yield;
    if (queue === null) continue;
    const seeded = yield* seededGroups(state, queue.number);
    for (const partition of partitionsOf(state, queue.number)) {
      if (cursorsLeft <= 0 || sums.size >= limits.rowsMax) return shown(sums, false);
      if (partition === null) {
        yield;
        continue;
      }
      cursorsLeft -= yield* eachCursor(state, partition, seeded, ({ keyEnd, committed }) => {
        add(state, sums, queue.name, keyEnd, partition, committed);
      });
    }
  }
  return shown(sums, true);
}

function add(
  state: State,
  sums: Map<string, Sum>,
  queue: string,
  keyEnd: string,
  partition: PartitionRow,
  committed: number,
): void {
  const key = `${keyEnd}\0${queue}`;
  let sum = sums.get(key);
  if (sum === undefined) {
    const group = nameInKey(`0000${keyEnd}` as Key);
    sum = { queue, group, messages: 0, oldestUs: Number.POSITIVE_INFINITY };
    sums.set(key, sum);
  }
  const first = Math.max(committed + 1, partition.logStart);
  if (first >= partition.nextOffset) return;
  sum.messages += partition.nextOffset - first;
  // No message is older than its partition.
  if (partition.createdAtUs >= sum.oldestUs) return;
  const stampUs = findAppend(state, partition.number, first)?.row.stampUs;
  if (stampUs !== undefined && stampUs < sum.oldestUs) sum.oldestUs = stampUs;
}

function shown(sums: Map<string, Sum>, isComplete: boolean): GroupLags {
  const rows = [...sums.values()].map(({ queue, group, messages, oldestUs }) => ({
    queue,
    group,
    messages,
    oldestUs: Number.isFinite(oldestUs) ? oldestUs : null,
  }));
  return { rows, isComplete };
}

/** In the order of creation; null where a page ends. */
function* everyQueue(state: State): Generator<QueueRow | null> {
  let from = numberKey(0);
  for (;;) {
    const listed = state.range(queues, from, numberKey(0xffff_ffff), PAGE_ROWS);
    for (const { row } of listed) yield row;
    const last = listed.at(-1);
    if (last === undefined || listed.length < PAGE_ROWS) return;
    from = `${last.key}\0` as Key;
    yield null;
  }
}
