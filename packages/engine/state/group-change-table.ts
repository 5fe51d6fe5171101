/** The row of a change of a group's cursors that takes more than one entry (group-changes.ts). */
import { assert } from '../base/assert.js';
import type { ByteReader, ByteWriter } from '../base/bytes.js';
import type { Tenant } from '../base/commands/commands.js';
import type { Key } from '../base/state.js';
import { table } from '../base/tables.js';

export type GroupChangeKind =
  /** null: to the end. */
  | { readonly kind: 'seek'; readonly targetUs: number | null }
  | { readonly kind: 'delete'; readonly deleteMetadata: boolean }
  | { readonly kind: 'subscribe'; readonly atUs: number };

/**
 * Keyed by id. Everything before the position is done: queues whose key of `queueNumbers` is below
 * `nextQueue`, and of the queue at that key the partitions below `nextPartition`, of which 0 says
 * that the queue was not begun.
 */
export interface GroupChangeRow {
  readonly id: string;
  /** Rises with every change: the lower one came first. */
  readonly order: number;
  readonly tenant: Tenant;
  readonly group: string;
  readonly what: GroupChangeKind;
  /** The only queue to be changed; null: all of the tenant. */
  readonly queue: number | null;
  /** Partitions from here on came later, and are not touched. */
  readonly partitionsEnd: number;
  readonly nextQueue: string;
  readonly nextPartition: number;
  /** Cursors made at this stamp or later came after the queue at the position was begun. */
  readonly youngUs: number;
  /** Whether the group had a cursor on every partition of that queue when it was begun. */
  readonly wasSeeded: boolean;
  readonly queues: number;
  readonly changed: number;
  /** Nothing is left to do; the row stays for whoever asks for the outcome once more. */
  readonly isDone: boolean;
}

export const groupChanges = table<GroupChangeRow>(16, 'groupChanges', writeChange, readChange);

export function groupChangeKey(id: string): Key {
  return id as Key;
}

/** Ids are UUIDs: they begin with a hexadecimal digit. */
export const GROUP_CHANGE_RANGE: readonly [Key, Key] = ['' as Key, 'g' as Key];

const KINDS = ['seek', 'delete', 'subscribe'] as const;

export function writeChange(w: ByteWriter, row: GroupChangeRow): void {
  w.uuid(row.id);
  w.varint(row.order);
  w.text(row.tenant);
  w.text(row.group);
  w.u8(KINDS.indexOf(row.what.kind));
  writeKind(w, row.what);
  w.u32(row.queue ?? 0);
  w.u32(row.partitionsEnd);
  w.text(row.nextQueue);
  w.u32(row.nextPartition);
  w.varint(row.youngUs);
  w.flag(row.wasSeeded);
  w.varint(row.queues);
  w.varint(row.changed);
  w.flag(row.isDone);
}

function writeKind(w: ByteWriter, what: GroupChangeKind): void {
  switch (what.kind) {
    case 'seek':
      w.flag(what.targetUs !== null);
      if (what.targetUs !== null) w.varint(what.targetUs);
      break;
    case 'delete':
      w.flag(what.deleteMetadata);
      break;
    case 'subscribe':
      w.varint(what.atUs);
      break;
  }
}

export function readChange(r: ByteReader): GroupChangeRow {
  return {
    id: r.uuid(),
    order: r.varint(),
    tenant: r.text(),
    group: r.text(),
    what: readKind(r),
    queue: r.u32() || null,
    partitionsEnd: r.u32(),
    nextQueue: r.text(),
    nextPartition: r.u32(),
    youngUs: r.varint(),
    wasSeeded: r.flag(),
    queues: r.varint(),
    changed: r.varint(),
    isDone: r.flag(),
  };
}

function readKind(r: ByteReader): GroupChangeKind {
  const code = r.u8();
  const kind = KINDS[code];
  switch (kind) {
    case 'seek':
      return { kind, targetUs: r.flag() ? r.varint() : null };
    case 'delete':
      return { kind, deleteMetadata: r.flag() };
    case 'subscribe':
      return { kind, atUs: r.varint() };
    default:
      assert(false, `unknown kind ${code} of a change of a group`);
  }
}
