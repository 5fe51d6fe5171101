/**
 * Effects: what an entry does to the state. The leader decides everything (offsets, ids, stamps,
 * verdicts) and logs the result, so that applying is the same on every node and in every version.
 *
 *     entry: format u8 | stamp u64 | effects
 *     effect: kind u8 | bytes u32 | content
 *
 * An unknown kind stops the node (catalogue-fault.ts).
 */
import type { ByteReader, ByteWriter } from '../base/bytes.js';
import { CatalogueFault, malformed } from '../base/catalogue-fault.js';
import { choice, kind } from '../base/fields/choice.js';
import {
  ascending,
  bytes,
  characters,
  count,
  type Infer,
  key,
  list,
  oneOf,
  ROWS_MAX,
  text,
  u32,
  uuid,
} from '../base/fields/field.js';
import { added, maybe, record, rest } from '../base/fields/record.js';
import { GuardedReader } from '../base/guarded-reader.js';
import { cursorRow, deadLetterRow, groupRow, queueRow } from '../base/rows.js';
import { featureEffects } from './feature-effects.js';
import { groupChangeRow } from './group-change-table.js';
import { type RequestSession, SESSION_BYTES } from './request-id.js';
import { traceRow } from './traces/tables.js';

/** The outcome of a request that this entry has effects of. */
const requestRecord = record({
  sequence: count,
  /** Owned by the record; nobody writes to it. */
  outcome: bytes,
});
export type RequestRecord = Infer<typeof requestRecord>;

/** Why messages went: older than `retentionSeconds`, read by all groups, or waited too long. */
const trimCause = oneOf(['age', 'read', 'wait']);
export type TrimCause = Infer<typeof trimCause>;

/** Their numbers stand in logs; 1 and 15 are those of `append` and `relocate`, see below. */
const catalogue = choice('kind', {
  /** Creates the queue or replaces its row. */
  queue: kind(2, { row: rest(queueRow) }),
  partition: kind(3, { number: u32, queue: u32, id: uuid, name: text }),
  /** null deletes the cursor. */
  cursor: kind(4, { partition: u32, group: text, row: maybe(cursorRow) }),
  /** null ends the registration. */
  group: kind(5, { queue: u32, group: text, row: maybe(groupRow) }),
  'dead-letter': kind(6, { row: rest(deadLetterRow) }),
  /** The queue is gone at once; its rows are swept in chunks by later entries. */
  'delete-queue': kind(7, { queue: u32 }),
  /** `partitionRows`: as how many rows a partition counts (sweep.ts). */
  'sweep-queue': kind(8, { queue: u32, rowsMax: count, partitionRows: added(count, 1) }),
  /** What an entry does to the records of one session's requests (request-record.ts). */
  requests: kind(9, {
    session: characters<RequestSession>(SESSION_BYTES),
    /** Their records go: nobody will ask for them again. */
    settled: ascending(ROWS_MAX),
    records: list(requestRecord, ROWS_MAX),
  }),
  /** The catalogue may be used up to this version from here on; never lower than before. */
  'cluster-version': kind(10, { version: count }),
  /** A change of a group that goes on in later entries; null: its outcome need not be kept. */
  'group-change': kind(11, { id: uuid, row: maybe(groupChangeRow) }),
  /** These dead letters of the queue, which exist, are gone. */
  'drop-dead-letters': kind(12, { queue: u32, ids: list(uuid, ROWS_MAX) }),
  /** `number`: its place among the traces of this entry. */
  trace: kind(13, { number: count, row: traceRow, data: bytes }),
  /** See traces/apply.ts. */
  'expire-traces': kind(14, { from: key, beforeUs: count, rowsMax: count }),
  /** Everything below the offset, which is where an append begins, or the end, is gone. */
  trim: kind(16, { partition: u32, upTo: count, cause: trimCause }),
  /** The partition, which holds nothing, is gone with its cursors. */
  'drop-partition': kind(17, { partition: u32 }),
  ...featureEffects,
});
export const effectKinds = catalogue.kinds;
export type Effect = Infer<typeof catalogue>;
export type RequestsEffect = Extract<Effect, { readonly kind: 'requests' }>;

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
  /** Where the append (append.ts) begins in the entry body. */
  readonly position: number;
  readonly length: number;
}

export const ENTRY_FORMAT = 2;
const KIND_APPEND = 1;
const KIND_RELOCATE = 15;

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
  writer.u8(catalogue.numberOf(effect));
  writer.u32(0);
  const contentAt = writer.length;
  catalogue.writeKind(writer, effect);
  endEffect(writer, contentAt);
}

/** The effect at the reader's position, which moves behind it. */
export function readEffect(reader: ByteReader): Effect | AppendEffect | RelocateEffect {
  const code = reader.u8();
  const length = reader.u32();
  const position = reader.skip(length);
  if (code === KIND_APPEND) return { kind: 'append', position, length };
  if (code === KIND_RELOCATE) return { kind: 'relocate', position, length };
  const form = catalogue.formOfNumber(code);
  if (form === undefined) {
    throw new CatalogueFault(
      'unknown_effect',
      `effect kind ${code} is not known to this build: a newer one has written the log`,
    );
  }
  const content = new GuardedReader(reader.bytes, position, position + length);
  const effect = form.readFields(content);
  if (!content.whole) malformed(content, `an effect of kind ${code}`);
  return effect;
}
