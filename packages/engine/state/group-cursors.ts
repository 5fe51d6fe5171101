/**
 * The cursors that groups have on a partition: their rows, and for registered groups that have
 * claimed nothing there yet what their start point gives (subscription.ts). Whoever asks how far
 * the groups have come must look at both.
 */
import { nameInKey, numberRange } from '../base/keys.js';
import type { CursorRow, GroupRow, PartitionRow } from '../base/rows.js';
import type { Key, State } from '../base/state.js';
import { cursors, groups } from '../base/tables.js';
import { seedCommitted } from './subscription.js';

/** A group with a cursor on every partition of its queue. */
export interface SeededGroup {
  readonly name: string;
  /** The bytes of the name, with which the keys of its cursors end. */
  readonly keyEnd: string;
  readonly policy: GroupRow;
}

export interface GroupCursor {
  readonly keyEnd: string;
  readonly committed: number;
  /** null: it follows from the start point. */
  readonly row: CursorRow | null;
}

/** Cursors, or groups, that are read at a time. */
const PAGE_ROWS = 1024;
const NUMBER_CHARS = 4;

/** Read once for all partitions of the queue; in pages, each of which ends with a yield. */
export function* seededGroups(state: State, queue: number): Generator<void, SeededGroup[]> {
  const seeded: SeededGroup[] = [];
  const [first, end] = numberRange(queue);
  let from = first;
  for (;;) {
    const rows = state.range(groups, from, end, PAGE_ROWS);
    for (const { key, row } of rows) {
      if (!row.isSeeded) continue;
      seeded.push({ name: nameInKey(key), keyEnd: key.slice(NUMBER_CHARS), policy: row });
    }
    const last = rows[rows.length - 1];
    if (last === undefined || rows.length < PAGE_ROWS) return seeded;
    from = `${last.key}\0` as Key;
    yield;
  }
}

/**
 * Groups that are registered and have cursors only where there are rows, by how the keys of their
 * cursors end.
 */
export function* unseededGroups(state: State, queue: number): Generator<void, Set<string>> {
  const unseeded = new Set<string>();
  const [first, end] = numberRange(queue);
  let from = first;
  for (;;) {
    const rows = state.range(groups, from, end, PAGE_ROWS);
    for (const { key, row } of rows) if (!row.isSeeded) unseeded.add(key.slice(NUMBER_CHARS));
    const last = rows[rows.length - 1];
    if (last === undefined || rows.length < PAGE_ROWS) return unseeded;
    from = `${last.key}\0` as Key;
    yield;
  }
}

/**
 * Calls `visit` for every cursor of the partition, at most one for a group, and returns how many
 * there were. Yields after each page.
 */
export function* eachCursor(
  state: State,
  partition: PartitionRow,
  seeded: readonly SeededGroup[],
  visit: (cursor: GroupCursor) => void,
): Generator<void, number> {
  const seen = new Set<string>();
  const [first, end] = numberRange(partition.number);
  let from = first;
  let count = 0;
  for (;;) {
    const rows = state.range(cursors, from, end, PAGE_ROWS);
    for (const { key, row } of rows) {
      const keyEnd = key.slice(NUMBER_CHARS);
      if (seeded.length > 0) seen.add(keyEnd);
      visit({ keyEnd, committed: row.committed, row });
    }
    count += rows.length;
    const last = rows[rows.length - 1];
    if (last === undefined || rows.length < PAGE_ROWS) break;
    from = `${last.key}\0` as Key;
    yield;
  }
  for (const { keyEnd, policy } of seeded) {
    if (seen.has(keyEnd)) continue;
    visit({ keyEnd, committed: seedCommitted(state, partition, policy), row: null });
    if (++count % PAGE_ROWS === 0) yield;
  }
  return count;
}

/** How far the slowest of all groups has come, queue mode included; null: there is no cursor. */
export function* lowestCommitted(
  state: State,
  partition: PartitionRow,
  seeded: readonly SeededGroup[],
): Generator<void, number | null> {
  let lowest: number | null = null;
  yield* eachCursor(state, partition, seeded, ({ committed }) => {
    if (lowest === null || committed < lowest) lowest = committed;
  });
  return lowest;
}
