/**
 * Effects: what an entry does to the state. The leader decides everything (offsets, ids, stamps,
 * verdicts) and logs the result, so that applying is the same on every node and in every version.
 *
 *     entry: format u8 | stamp u64 | effects
 *     effect: kind u8 | bytes u32 | content
 *
 * An unknown kind stops the node (catalogue-fault.ts).
 */
import { ByteReader, type ByteWriter } from './bytes.js';
import { CatalogueFault } from './catalogue-fault.js';
import { type RequestSession, SESSION_BYTES } from './request-id.js';
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
  | { readonly kind: 'sweep-queue'; readonly queue: number; readonly rowsMax: number }
  | RequestsEffect
  /** The catalogue may be used up to this version from here on; never lower than before. */
  | { readonly kind: 'cluster-version'; readonly version: number };

/** What an entry does to the records of one session's requests (request-record.ts). */
export interface RequestsEffect {
  readonly kind: 'requests';
  readonly session: RequestSession;
  /** Their records go: nobody will ask for them again. Ascending. */
  readonly settled: readonly number[];
  readonly records: readonly RequestRecord[];
}

/** The outcome of a request that this entry has effects of. */
export interface RequestRecord {
  readonly sequence: number;
  /** Owned by the record; nobody writes to it. */
  readonly outcome: Uint8Array;
}

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
  'requests',
  'cluster-version',
] as const;

export function writeEntryHeader(writer: ByteWriter, stampUs: number): void {
  writer.u8(ENTRY_FORMAT);
  writer.u64(stampUs);
}

export function readEntryHeader(reader: ByteReader): number {
  const format = reader.u8();
  if (format !== ENTRY_FORMAT) {
    const what = `entry format ${format} is not known to this build: a newer one has written it`;
    throw new CatalogueFault('unknown_effect', what);
  }
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
    case 'requests':
      writeRequests(w, effect);
      break;
    case 'cluster-version':
      w.varint(effect.version);
      break;
  }
}

/** Each settled number as its distance from the one before it: most are neighbours. */
function writeRequests(w: ByteWriter, effect: RequestsEffect): void {
  const { session, settled, records } = effect;
  for (let i = 0; i < SESSION_BYTES; i++) w.u8(session.charCodeAt(i));
  w.varint(settled.length);
  let before = 0;
  for (const sequence of settled) {
    w.varint(sequence - before);
    before = sequence;
  }
  w.varint(records.length);
  for (const { sequence, outcome } of records) {
    w.varint(sequence);
    w.blob(outcome);
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
    case 'requests':
      return readRequests(r);
    case 'cluster-version':
      return { kind, version: r.varint() };
    default:
      throw new CatalogueFault(
        'unknown_effect',
        `effect kind ${code} is not known to this build: a newer one has written the log`,
      );
  }
}

function readRequests(r: ByteReader): RequestsEffect {
  let session = '';
  for (let i = 0; i < SESSION_BYTES; i++) session += String.fromCharCode(r.u8());
  const settled: number[] = [];
  let sequence = 0;
  for (let left = r.varint(); left > 0; left--) {
    sequence += r.varint();
    settled.push(sequence);
  }
  const records: RequestRecord[] = [];
  for (let left = r.varint(); left > 0; left--) {
    records.push({ sequence: r.varint(), outcome: r.blob() });
  }
  return { kind: 'requests', session: session as RequestSession, settled, records };
}
