/**
 * How retained messages leave a partition, empty partitions leave their queue, and appends change
 * their place in the log; the apply side of retention.ts and of log relocation.
 *
 * What must hold: every append row of a partition lies in [logStart, nextOffset); `appends` and
 * `retainedBytes` count exactly those; log-use.ts counts them by their place; and `oldestAppends`
 * has one key for each partition with appends, with the stamp of its first.
 */
import type { AppendHeader } from '../base/append.js';
import { assert } from '../base/assert.js';
import {
  ageKey,
  appendKey,
  numberKey,
  numberNameKey,
  numberPairKey,
  numberRange,
} from '../base/keys.js';
import type { AppendRow } from '../base/rows.js';
import type { State } from '../base/state.js';
import {
  appends,
  cursors,
  oldestAppends,
  partitionNumbers,
  partitions,
  queuePartitions,
  queues,
} from '../base/tables.js';
import { countAppend, discountAppend } from './log-use.js';
import { countPartition } from './names/name-index.js';
import { forgetCursor } from './sweep.js';

/** Removes the appends before offset `upTo`, which is where one begins, or the end. */
export function trimPartition(state: State, number: number, upTo: number): void {
  const key = numberKey(number);
  const row = state.get(partitions, key);
  assert(
    row !== undefined && upTo > row.logStart && upTo <= row.nextOffset,
    `trim of partition ${number} up to ${upTo}, which holds ${row?.logStart}..${row?.nextOffset}`,
  );
  const oldest = retainedAppend(state, number, row.logStart);
  state.delete(oldestAppends, ageKey(row.queue, oldest.stampUs, number));
  let bytes = 0;
  let removed = 0;
  let offset = row.logStart;
  while (offset < upTo) {
    const append = retainedAppend(state, number, offset);
    bytes += append.length;
    removed++;
    state.delete(appends, appendKey(number, offset));
    discountAppend(state, append);
    offset += append.count;
  }
  assert(
    offset === upTo,
    `trim of partition ${number} up to ${upTo} cuts through an append, which ends at ${offset}`,
  );
  if (upTo < row.nextOffset) {
    const next = retainedAppend(state, number, upTo);
    state.put(oldestAppends, ageKey(row.queue, next.stampUs, number), true);
  }
  state.put(partitions, key, {
    ...row,
    logStart: upTo,
    retainedBytes: row.retainedBytes - bytes,
    appends: row.appends - removed,
  });
}

/**
 * The append that begins at `offset`. Each begins where the one before it ends, so they are walked
 * by their keys: a range of the planned state costs more the more is in flight.
 */
export function retainedAppend(state: State, partition: number, offset: number): AppendRow {
  const row = state.get(appends, appendKey(partition, offset));
  assert(row !== undefined, `partition ${partition} has no append at ${offset}`);
  return row;
}

/** Cursors of a partition that goes, at most: all of them go in one entry, at about 2 us each. */
export const DROPPED_CURSORS_MAX = 10_000;

/** Removes a partition that holds nothing, with its cursors: its name is free for another one. */
export function dropPartition(state: State, number: number): void {
  const key = numberKey(number);
  const row = state.get(partitions, key);
  assert(
    row !== undefined && row.appends === 0 && row.deadLetters === 0,
    `partition ${number} goes with ${row?.appends} appends and ${row?.deadLetters} dead letters`,
  );
  const [from, to] = numberRange(number);
  for (const one of state.range(cursors, from, to, DROPPED_CURSORS_MAX)) {
    forgetCursor(state, row, one);
    state.delete(cursors, one.key);
  }
  const queueKey = numberKey(row.queue);
  const queue = state.get(queues, queueKey);
  assert(queue !== undefined, `partition ${number} of queue ${row.queue}, which does not exist`);
  state.put(queues, queueKey, { ...queue, partitions: queue.partitions - 1 });
  countPartition(state, queue.tenant, -1);
  state.delete(partitionNumbers, numberNameKey(row.queue, row.name));
  state.delete(partitions, key);
  state.delete(queuePartitions, numberPairKey(row.queue, number));
}

/** The append stands in entry `index` too, and is read from there from now on. */
export function relocateAppend(
  state: State,
  header: AppendHeader,
  index: number,
  position: number,
  length: number,
): void {
  const key = appendKey(header.partition, header.baseOffset);
  const row = state.get(appends, key);
  assert(
    row !== undefined &&
      row.count === header.count &&
      row.stampUs === header.stampUs &&
      row.length === length,
    `append ${header.baseOffset} of partition ${header.partition} is moved to entry ${index}, ` +
      'but it is not that of the row',
  );
  discountAppend(state, row);
  countAppend(state, index, length);
  state.put(appends, key, { ...row, index, position });
}
