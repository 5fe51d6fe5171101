/**
 * Effects: what an entry does to the state. The leader decides everything (offsets, ids, stamps,
 * verdicts) and logs the result, so that applying is the same on every node and in every version.
 *
 *     entry: format u8 | stamp u64 | effects
 *     effect: kind u8 | bytes u32 | content
 *
 * An unknown kind stops the node (catalogue-fault.ts).
 */
import { ByteReader, type ByteWriter } from '../base/bytes.js';
import { CatalogueFault } from '../base/catalogue-fault.js';
import type { CursorRow, DeadLetterRow, GroupRow, QueueRow } from '../base/rows.js';
import type { Key } from '../base/state.js';
import {
  readCursor,
  readGroup,
  readQueue,
  writeCursor,
  writeGroup,
  writeQueue,
} from '../base/tables.js';
import { readDeadLetter, writeDeadLetter } from './dead-letters/tables.js';
import {
  FEATURE_EFFECT_KINDS,
  type FeatureEffect,
  isFeatureEffect,
  isFeatureKind,
  readFeatureEffect,
  writeFeatureEffect,
} from './feature-effects.js';
import { type GroupChangeRow, readChange, writeChange } from './group-change-table.js';
import { type RequestSession, SESSION_BYTES } from './request-id.js';
import { readTrace, type TraceRow, writeTrace } from './traces/tables.js';
import { readTrimCause, TRIM_CAUSES, type TrimCause } from './trim-cause.js';

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
  /** null ends the registration. */
  | {
      readonly kind: 'group';
      readonly queue: number;
      readonly group: string;
      readonly row: GroupRow | null;
    }
  | { readonly kind: 'dead-letter'; readonly row: DeadLetterRow }
  /** These dead letters of the queue, which exist, are gone. */
  | { readonly kind: 'drop-dead-letters'; readonly queue: number; readonly ids: readonly string[] }
  /** `number`: its place among the traces of this entry. */
  | {
      readonly kind: 'trace';
      readonly number: number;
      readonly row: TraceRow;
      readonly data: Uint8Array;
    }
  /** See traces/apply.ts. */
  | {
      readonly kind: 'expire-traces';
      readonly from: Key;
      readonly beforeUs: number;
      readonly rowsMax: number;
    }
  /** The queue is gone at once; its rows are swept in chunks by later entries. */
  | { readonly kind: 'delete-queue'; readonly queue: number }
  | { readonly kind: 'sweep-queue'; readonly queue: number; readonly rowsMax: number }
  /** Everything below the offset, which is where an append begins, or the end, is gone. */
  | {
      readonly kind: 'trim';
      readonly partition: number;
      readonly upTo: number;
      readonly cause: TrimCause;
    }
  /** The partition, which holds nothing, is gone with its cursors. */
  | { readonly kind: 'drop-partition'; readonly partition: number }
  /** A change of a group that goes on in later entries; null: its outcome need not be kept. */
  | {
      readonly kind: 'group-change';
      readonly id: string;
      readonly row: GroupChangeRow | null;
    }
  | FeatureEffect
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

/** An append from an older entry once more, byte for byte; it stands here from now on. */
export interface RelocateEffect {
  readonly kind: 'relocate';
  /** As those of an append. */
  readonly position: number;
  readonly length: number;
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
  'group-change',
  'drop-dead-letters',
  'trace',
  'expire-traces',
  'relocate',
  'trim',
  'drop-partition',
  ...FEATURE_EFFECT_KINDS,
] as const;
const KIND_RELOCATE = KINDS.indexOf('relocate') + 1;

export const ENTRY_HEADER_BYTES = 9;
/** Kind and length, before the content of an effect. */
export const EFFECT_HEAD_BYTES = 5;

/** Messages stand in an effect of this kind. */
export function isAppendCode(code: number): boolean {
  return code === KIND_APPEND || code === KIND_RELOCATE;
}

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
export function beginAppendEffect(
  writer: ByteWriter,
  kind: 'append' | 'relocate' = 'append',
): number {
  writer.u8(kind === 'append' ? KIND_APPEND : KIND_RELOCATE);
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
  if (isFeatureEffect(effect)) writeFeatureEffect(writer, effect);
  else writeContent(writer, effect);
  endEffect(writer, contentAt);
}

function writeContent(w: ByteWriter, effect: Exclude<Effect, FeatureEffect>): void {
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
      w.flag(effect.row !== null);
      if (effect.row !== null) writeGroup(w, effect.row);
      break;
    case 'dead-letter':
      writeDeadLetter(w, effect.row);
      break;
    case 'drop-dead-letters':
      w.u32(effect.queue);
      w.varint(effect.ids.length);
      for (const id of effect.ids) w.uuid(id);
      break;
    case 'trace':
      w.varint(effect.number);
      writeTrace(w, effect.row);
      w.blob(effect.data);
      break;
    case 'expire-traces':
      w.text(effect.from);
      w.varint(effect.beforeUs);
      w.varint(effect.rowsMax);
      break;
    case 'delete-queue':
      w.u32(effect.queue);
      break;
    case 'sweep-queue':
      w.u32(effect.queue);
      w.varint(effect.rowsMax);
      break;
    case 'trim':
      w.u32(effect.partition);
      w.varint(effect.upTo);
      w.u8(TRIM_CAUSES.indexOf(effect.cause));
      break;
    case 'drop-partition':
      w.u32(effect.partition);
      break;
    case 'requests':
      writeRequests(w, effect);
      break;
    case 'cluster-version':
      w.varint(effect.version);
      break;
    case 'group-change':
      w.uuid(effect.id);
      w.flag(effect.row !== null);
      if (effect.row !== null) writeChange(w, effect.row);
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
export function readEffect(reader: ByteReader): Effect | AppendEffect | RelocateEffect {
  const code = reader.u8();
  const length = reader.u32();
  const position = reader.skip(length);
  if (code === KIND_APPEND) return { kind: 'append', position, length };
  if (code === KIND_RELOCATE) return { kind: 'relocate', position, length };
  return readContent(code, new ByteReader(reader.bytes, position, position + length));
}

function readContent(code: number, r: ByteReader): Effect {
  const kind = KINDS[code - 1];
  if (isFeatureKind(kind)) return readFeatureEffect(kind, r);
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
        row: r.flag() ? readGroup(r) : null,
      };
    case 'dead-letter':
      return { kind, row: readDeadLetter(r) };
    case 'drop-dead-letters':
      return { kind, queue: r.u32(), ids: readIds(r) };
    case 'trace':
      return { kind, number: r.varint(), row: readTrace(r), data: r.blob() };
    case 'expire-traces':
      return { kind, from: r.text() as Key, beforeUs: r.varint(), rowsMax: r.varint() };
    case 'delete-queue':
      return { kind, queue: r.u32() };
    case 'sweep-queue':
      return { kind, queue: r.u32(), rowsMax: r.varint() };
    case 'trim':
      return { kind, partition: r.u32(), upTo: r.varint(), cause: readTrimCause(r) };
    case 'drop-partition':
      return { kind, partition: r.u32() };
    case 'requests':
      return readRequests(r);
    case 'cluster-version':
      return { kind, version: r.varint() };
    case 'group-change':
      return { kind, id: r.uuid(), row: r.flag() ? readChange(r) : null };
    default:
      throw new CatalogueFault(
        'unknown_effect',
        `effect kind ${code} is not known to this build: a newer one has written the log`,
      );
  }
}

function readIds(r: ByteReader): string[] {
  const ids: string[] = [];
  for (let left = r.varint(); left > 0; left--) ids.push(r.uuid());
  return ids;
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
