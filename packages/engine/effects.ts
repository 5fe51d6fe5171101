/**
 * Effects: what an entry does to the state. The leader decides everything (offsets, ids, stamps,
 * verdicts) and logs the result, so that applying is the same on every node and in every version.
 *
 *     entry: format u8 | stamp u64 | effects
 *     effect: kind u8 | bytes u32 | content
 *
 * An unknown kind stops the node: skipping it would let two nodes disagree for ever after.
 */
import { assert } from './assert.js';
import { ByteReader, type ByteWriter } from './bytes.js';
import type { CursorRow, DeadLetterRow, GroupRow, QueueRow } from './rows.js';
import {
  readCursor,
  readDeadLetter,
  readQueue,
  readSubscription,
  writeCursor,
  writeDeadLetter,
  writeQueue,
  writeSubscription,
} from './tables.js';

export type Effect =
  /** Creates the queue or replaces its row. */
  | { readonly kind: 'queue'; readonly row: QueueRow }
  | {
      readonly kind: 'partition';
      readonly number: number;
      readonly queue: number;
      readonly id: string;
      readonly name: string;
    }
  /** null deletes the cursor. */
  | {
      readonly kind: 'cursor';
      readonly partition: number;
      readonly group: string;
      readonly row: CursorRow | null;
    }
  | {
      readonly kind: 'group';
      readonly queue: number;
      readonly group: string;
      readonly row: GroupRow;
    }
  | { readonly kind: 'dead-letter'; readonly row: DeadLetterRow }
  /** The queue is gone at once; its rows are swept in chunks by later entries. */
  | { readonly kind: 'delete-queue'; readonly queue: number }
  | { readonly kind: 'sweep-queue'; readonly queue: number; readonly rowsMax: number };

/** The messages themselves stand in the entry; this is where. */
export interface AppendEffect {
  readonly kind: 'append';
  /** Of the append (append.ts) in the entry body. */
  readonly position: number;
  readonly length: number;
}

export const ENTRY_FORMAT = 1;
const KIND_APPEND = 1;
const KINDS = [
  'append',
  'queue',
  'partition',
  'cursor',
  'group',
  'dead-letter',
  'delete-queue',
  'sweep-queue',
] as const;

export function writeEntryHeader(writer: ByteWriter, stampUs: number): void {
  writer.u8(ENTRY_FORMAT);
  writer.u64(stampUs);
}

export function readEntryHeader(reader: ByteReader): number {
  const format = reader.u8();
  assert(format === ENTRY_FORMAT, `entry format ${format} is not known to this build`);
  return reader.u64();
}

/** Opens an append effect; its content is written by the caller, then `endEffect` closes it. */
export function beginAppendEffect(writer: ByteWriter): number {
  writer.u8(KIND_APPEND);
  writer.u32(0);
  return writer.length;
}

export function endEffect(writer: ByteWriter, contentAt: number): void {
  writer.patchU32(contentAt - 4, writer.length - contentAt);
}

export function writeEffect(writer: ByteWriter, effect: Effect): void {
  writer.u8(KINDS.indexOf(effect.kind) + 1);
  writer.u32(0);
  const contentAt = writer.length;
  writeContent(writer, effect);
  endEffect(writer, contentAt);
}

function writeContent(w: ByteWriter, effect: Effect): void {
  switch (effect.kind) {
    case 'queue':
      writeQueue(w, effect.row);
      break;
    case 'partition':
      w.u32(effect.number);
      w.u32(effect.queue);
      w.uuid(effect.id);
      w.text(effect.name);
      break;
    case 'cursor':
      w.u32(effect.partition);
      w.text(effect.group);
      w.flag(effect.row !== null);
      if (effect.row !== null) writeCursor(w, effect.row);
      break;
    case 'group':
      w.u32(effect.queue);
      w.text(effect.group);
      writeSubscription(w, effect.row.subscription);
      w.varint(effect.row.registeredAtUs);
      break;
    case 'dead-letter':
      writeDeadLetter(w, effect.row);
      break;
    case 'delete-queue':
      w.u32(effect.queue);
      break;
    case 'sweep-queue':
      w.u32(effect.queue);
      w.varint(effect.rowsMax);
      break;
  }
}

/** The effect at the reader's position, which moves behind it. */
export function readEffect(reader: ByteReader): Effect | AppendEffect {
  const code = reader.u8();
  const length = reader.u32();
  const position = reader.skip(length);
  if (code === KIND_APPEND) return { kind: 'append', position, length };
  return readContent(code, new ByteReader(reader.bytes, position, position + length));
}

function readContent(code: number, r: ByteReader): Effect {
  const kind = KINDS[code - 1];
  switch (kind) {
    case 'queue':
      return { kind, row: readQueue(r) };
    case 'partition':
      return { kind, number: r.u32(), queue: r.u32(), id: r.uuid(), name: r.text() };
    case 'cursor':
      return {
        kind,
        partition: r.u32(),
        group: r.text(),
        row: r.flag() ? readCursor(r) : null,
      };
    case 'group':
      return {
        kind,
        queue: r.u32(),
        group: r.text(),
        row: { subscription: readSubscription(r), registeredAtUs: r.varint() },
      };
    case 'dead-letter':
      return { kind, row: readDeadLetter(r) };
    case 'delete-queue':
      return { kind, queue: r.u32() };
    case 'sweep-queue':
      return { kind, queue: r.u32(), rowsMax: r.varint() };
    default:
      assert(false, `effect kind ${code} is not known to this build`);
  }
}
