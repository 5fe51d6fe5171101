/** The row of a change of a group's cursors that takes more than one entry (group-changes.ts). */
import { choice, kind } from '../base/fields/choice.js';
import { count, flag, type Infer, nullable, text, u32, uuid } from '../base/fields/field.js';
import { record } from '../base/fields/record.js';
import type { Key } from '../base/state.js';
import { table } from '../base/tables.js';

const change = choice('kind', {
  /** Null: to the end. */
  seek: kind(0, { targetUs: nullable(count) }),
  delete: kind(1, { deleteMetadata: flag }),
  subscribe: kind(2, { atUs: count }),
});
export type GroupChangeKind = Infer<typeof change>;

/**
 * Keyed by id. Everything before the position is done: queues whose key of `queueNumbers` is below
 * `nextQueue`, and of the queue at that key the partitions below `nextPartition`, of which 0 says
 * that the queue was not begun.
 */
export const groupChangeRow = record({
  id: uuid,
  /** Rises with every change: the lower one came first. */
  order: count,
  tenant: text,
  group: text,
  what: change,
  /** The only queue to be changed; null: all of the tenant. */
  queue: nullable(u32),
  /** Partitions from here on came later, and are not touched. */
  partitionsEnd: u32,
  nextQueue: text,
  nextPartition: u32,
  /** Cursors made at this stamp or later came after the queue at the position was begun. */
  youngUs: count,
  /** Whether the group had a cursor on every partition of that queue when it was begun. */
  wasSeeded: flag,
  queues: count,
  changed: count,
  /** Nothing is left to do; the row stays for whoever asks for the outcome once more. */
  isDone: flag,
});
export type GroupChangeRow = Infer<typeof groupChangeRow>;

export const groupChanges = table(16, 'groupChanges', groupChangeRow);

export function groupChangeKey(id: string): Key {
  return id as Key;
}

/** Ids are UUIDs: they begin with a hexadecimal digit. */
export const GROUP_CHANGE_RANGE: readonly [Key, Key] = ['' as Key, 'g' as Key];
