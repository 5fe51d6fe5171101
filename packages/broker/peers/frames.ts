/**
 * What nodes say to each other besides consensus: questions about damaged slots of the log, rows of
 * snapshots, the floor below which the log may be given up, digests of the state, what each node
 * has to say of itself.
 *
 *     frame   := head content
 *     head    := mark u32 | version u8 | kind u8 | zero u16 | from u64 | to u64
 *                | content bytes u32 | crc u32
 *     content := length | fields of the kind | bytes of an entry, or of rows
 *
 * The CRC covers the head before it and the content. `from` and `to` are member ids, so a frame
 * that was meant for a former life of this node is refused, and so is one whose sender is not the
 * node that the port authenticated. Integers are big-endian.
 *
 * Decoding never throws, whatever the bytes are: a frame is taken whole or refused with a reason.
 * Frames may be lost, repeated, delayed and reordered; every answer therefore repeats what it
 * answers, and nothing here relies on having been said once.
 *
 * Bounds: a frame carries at most one entry, or rows up to SNAPSHOT_CHUNK_BYTES, or one row that is
 * larger. A row is part of an entry, so no frame is larger than the largest entry plus
 * FRAME_SLACK_BYTES.
 */
import { crc32 } from 'node:zlib';
import {
  ByteWriter,
  choice,
  type Field,
  fields,
  GuardedReader,
  type Infer,
  kind,
  maybe,
  record,
} from '@svc/engine';
import { type NodeId, nodeId } from '@svc/raft';
import { incarnationOf, memberId, nodeNumber } from '../config/member-id.js';

const MARK = 0x53_56_43_42;
const VERSION = 2;
export const FRAME_HEAD_BYTES = 32;
const LENGTH_AT = 24;
const CRC_AT = 28;
const DIGEST_DIGITS = 16;
const CONTENT_BYTES_FIRST = 128;
/** Slots in one question: their answers are at most this many frames. */
export const ASK_SLOTS_MAX = 64;
/** Rows of one chunk, keys and values, unless a single row is larger. */
export const SNAPSHOT_CHUNK_BYTES = 1 << 20;
/** Rows of one chunk, however small they are. */
export const SNAPSHOT_CHUNK_ROWS = 2000;
/**
 * What a frame may hold beside an entry or a row: a chunk's worth of rows, each with 10 bytes of
 * lengths, a key of at most 64 KiB twice, and the fixed fields of any kind.
 */
const FRAME_SLACK_BYTES = SNAPSHOT_CHUNK_BYTES + 10 * SNAPSHOT_CHUNK_ROWS + 3 * 65_536;

const number = fields.count;
/** A key of the state, which is at most 64 KiB. */
const key = fields.key as unknown as Field<string>;

/** Sixteen hexadecimal digits. */
const digest = fields.field<string>(
  DIGEST_DIGITS / 2,
  (w, digits) => {
    w.u32(Number.parseInt(digits.slice(0, DIGEST_DIGITS / 2), 16));
    w.u32(Number.parseInt(digits.slice(DIGEST_DIGITS / 2), 16));
  },
  (r) => hexOf(r.u32()) + hexOf(r.u32()),
);

function hexOf(word: number): string {
  return word.toString(16).padStart(DIGEST_DIGITS / 2, '0');
}

/**
 * A slot of the asker's log that it cannot read. `previousTerm` is what the asker has in the slot
 * before it, null when it does not know; `term` and `bodyCrc` what it knows of the slot itself.
 * `record`: entries after it are there. `tail`: nothing is known from this slot on.
 */
const askedSlot = record({
  kind: fields.oneOf(['record', 'tail']),
  index: number,
  previousTerm: fields.nullable(number),
  term: fields.nullable(number),
  bodyCrc: fields.nullable(number),
});
export type AskedSlot = Infer<typeof askedSlot>;

export const SLOT_RESULTS = [
  'have',
  'never-had',
  /** Damaged here too, or within a lost tail. */
  'damaged',
  /** Given up: the log begins later. */
  'purged',
  /** This node lost entries and does not know which. */
  'recovering',
] as const;
export type SlotResult = (typeof SLOT_RESULTS)[number];

/** Its data stand behind the fields of the frame. */
const entryHead = record({
  index: number,
  term: number,
  type: fields.within(0, 255),
  length: fields.u32,
});

export interface FrameEntry {
  readonly index: number;
  readonly term: number;
  readonly type: number;
  readonly data: Uint8Array;
}

/**
 * A set of rows, known by what it contains: `digest` is of the rows that are alike on all nodes,
 * `localDigest` of the others. Equal names are equal rows, whoever has them.
 */
const snapshotName = record({ index: number, term: number, digest, localDigest: digest });
export type SnapshotName = Infer<typeof snapshotName>;

/** Its value stands behind the fields of the frame. */
const rowHead = record({ key, length: fields.u32 });

export interface FrameRow {
  readonly key: string;
  readonly value: Uint8Array;
}

const snapshotRefusal = fields.oneOf(['busy', 'gone', 'not-ready']);
export type SnapshotRefusal = Infer<typeof snapshotRefusal>;

/** Frames without bytes of entries and rows. */
const plainKinds = {
  /** `round` is drawn at random when the asker starts: it tells answers to an earlier life. */
  'repair-ask': kind(1, { round: fields.u32, slots: fields.list(askedSlot, ASK_SLOTS_MAX) }),
  /** Asks for the rows after `after` of the rows named; without a name, of the newest there are. */
  'snapshot-ask': kind(3, {
    /** The attempt of the receiver; answers repeat it. */
    attempt: fields.u32,
    name: maybe(snapshotName),
    /** null: from the first row. */
    after: fields.nullable(key),
  }),
  'snapshot-refused': kind(5, { attempt: fields.u32, reason: snapshotRefusal }),
  /** The receiver tells who offered the snapshot up to `index` how it ended. */
  'snapshot-done': kind(6, { index: number, installed: fields.flag }),
  /**
   * From the leader of `term`: no row of any state at or after entry `asOf` refers to an entry
   * before `floor`.
   */
  'log-floor': kind(7, { term: number, floor: number, asOf: number }),
  /** The digest of the rows after entry `index`. */
  digest: kind(8, { index: number, digest }),
  /** What a node tells all members every second, and at once when it changes. */
  'node-report': kind(9, {
    /** The newest effect catalogue that it reads. */
    readVersion: number,
    /** Its commit index. */
    commit: number,
    storageFull: fields.flag,
  }),
};

/** Bytes that are taken by reference stand behind the fields of these, in their order. */
const carryingKinds = {
  /**
   * `term` is the sender's durable term, (lastIndex, lastTerm) where its durable log ends; `led`:
   * it knows a leader now.
   */
  'repair-answer': kind(2, {
    round: fields.u32,
    index: number,
    verdict: fields.oneOf(SLOT_RESULTS),
    term: number,
    lastIndex: number,
    lastTerm: number,
    led: fields.flag,
    /** With `have` only. */
    entry: maybe(entryHead),
  }),
  'snapshot-chunk': kind(4, {
    attempt: fields.u32,
    name: snapshotName,
    after: fields.nullable(key),
    rows: fields.list(rowHead, SNAPSHOT_CHUNK_ROWS),
    isLast: fields.flag,
  }),
};

const contents = choice('kind', { ...plainKinds, ...carryingKinds });
export const frameKinds = contents.kinds;
type Fields = Infer<typeof contents>;
type FieldsOf<Kind extends Fields['kind']> = Extract<Fields, { readonly kind: Kind }>;

export type RepairAsk = FieldsOf<'repair-ask'>;
export type RepairAnswer = Omit<FieldsOf<'repair-answer'>, 'entry'> & {
  readonly entry: FrameEntry | null;
};
export type SnapshotAsk = FieldsOf<'snapshot-ask'>;
export type SnapshotChunk = Omit<FieldsOf<'snapshot-chunk'>, 'rows'> & {
  readonly rows: readonly FrameRow[];
};
export type SnapshotRefused = FieldsOf<'snapshot-refused'>;
export type SnapshotDone = FieldsOf<'snapshot-done'>;
export type LogFloor = FieldsOf<'log-floor'>;
export type StateDigest = FieldsOf<'digest'>;
export type NodeReport = FieldsOf<'node-report'>;

export type FrameContent =
  | RepairAsk
  | RepairAnswer
  | SnapshotAsk
  | SnapshotChunk
  | SnapshotRefused
  | SnapshotDone
  | LogFloor
  | StateDigest
  | NodeReport;

export interface Frame {
  readonly from: NodeId;
  readonly to: NodeId;
  readonly content: FrameContent;
}

/** Drawn by a directory once in four billion times, and then merely not told apart here. */
const ANY_LIFE = 0xffff_ffff;
const FOR_ANY_LIFE: readonly FrameContent['kind'][] = ['repair-ask', 'snapshot-ask'];

const FRAME_REFUSALS = [
  'short',
  'oversized',
  'mark',
  'version',
  'kind',
  'length',
  'checksum',
  'content',
  'other-member',
  'foreign-sender',
] as const;
export type FrameRefusal = (typeof FRAME_REFUSALS)[number];

// --- writing -------------------------------------------------------------------------------------

/** Entry data and rows are taken by reference: nobody may write to them any more. */
export function encodeFrame(from: NodeId, to: NodeId, content: FrameContent): Uint8Array[] {
  const [kindNumber, parts] = contentParts(content);
  const head = new Uint8Array(FRAME_HEAD_BYTES);
  const view = new DataView(head.buffer);
  view.setUint32(0, MARK);
  view.setUint8(4, VERSION);
  view.setUint8(5, kindNumber);
  putMember(view, 8, from);
  putMember(view, 16, to);
  view.setUint32(
    LENGTH_AT,
    parts.reduce((sum, part) => sum + part.length, 0),
  );
  let crc = crc32(head.subarray(0, CRC_AT));
  // zlib's forgets what came before an array of length 0 that has memory of its own.
  for (const part of parts) if (part.length > 0) crc = crc32(part, crc);
  view.setUint32(CRC_AT, crc);
  return [head, ...parts];
}

function putMember(view: DataView, at: number, member: NodeId): void {
  view.setUint32(at, nodeNumber(member));
  view.setUint32(at + 4, member % 0x1_0000_0000);
}

/** Kind, and the parts of the content. */
function contentParts(content: FrameContent): readonly [number, Uint8Array[]] {
  const [head, data] = fieldsOf(content);
  const w = new ByteWriter(CONTENT_BYTES_FIRST);
  contents.writeSized(w, head);
  return [contents.numberOf(head), [w.finish(), ...data]];
}

/** The fields of a frame, and the bytes behind them. */
function fieldsOf(content: FrameContent): readonly [Fields, Uint8Array[]] {
  if (content.kind === 'repair-answer') {
    const { entry } = content;
    if (entry === null) return [{ ...content, entry }, []];
    const { data, ...place } = entry;
    return [{ ...content, entry: { ...place, length: data.length } }, [data]];
  }
  if (content.kind !== 'snapshot-chunk') return [content, []];
  const rows = content.rows.map((row) => ({ key: row.key, length: row.value.length }));
  return [{ ...content, rows }, content.rows.map(({ value }) => value)];
}

// --- reading -------------------------------------------------------------------------------------

/** Bytes of an entry or a row in the result are a view of `bytes`. */
export function decodeFrame(bytes: Uint8Array, entryBytesMax: number): Frame | FrameRefusal {
  if (bytes.length < FRAME_HEAD_BYTES) return 'short';
  if (bytes.length > entryBytesMax + FRAME_SLACK_BYTES) return 'oversized';
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(0) !== MARK) return 'mark';
  const crc = crc32(bytes.subarray(FRAME_HEAD_BYTES), crc32(bytes.subarray(0, CRC_AT)));
  if (crc !== view.getUint32(CRC_AT)) return 'checksum';
  if (view.getUint8(4) !== VERSION) return 'version';
  const kindNumber = view.getUint8(5);
  if (contents.formOfNumber(kindNumber) === undefined) return 'kind';
  if (view.getUint32(LENGTH_AT) !== bytes.length - FRAME_HEAD_BYTES) return 'length';
  const head = new GuardedReader(bytes, 8, LENGTH_AT);
  const from = nodeId(head.u64());
  const to = nodeId(head.u64());
  const reader = new GuardedReader(bytes, FRAME_HEAD_BYTES);
  const content = readContent(kindNumber, reader);
  if (!head.whole || view.getUint16(6) !== 0 || content === null || !reader.whole) {
    return 'content';
  }
  return { from, to, content };
}

function readContent(kindNumber: number, r: GuardedReader): FrameContent | null {
  const head = contents.readKind(r, kindNumber);
  if (r.refused) return null;
  if (head.kind === 'repair-answer') return readAnswer(head, r);
  return head.kind === 'snapshot-chunk' ? readChunk(head, r) : head;
}

function readAnswer(head: FieldsOf<'repair-answer'>, r: GuardedReader): RepairAnswer | null {
  const { entry: place, ...answer } = head;
  if ((place !== null) !== (head.verdict === 'have')) return null;
  if (place === null) return { ...answer, entry: null };
  if (place.index !== head.index) return null;
  const { length, ...entry } = place;
  return { ...answer, entry: { ...entry, data: r.view(length) } };
}

function readChunk(head: FieldsOf<'snapshot-chunk'>, r: GuardedReader): SnapshotChunk | null {
  const rows = head.rows.map(({ key, length }) => ({ key, value: r.view(length) }));
  return ascend(head.after, rows) ? { ...head, rows } : null;
}

/** Each key above the one before it, and the first above `after`. */
function ascend(after: string | null, rows: readonly FrameRow[]): boolean {
  let before = after;
  for (const { key } of rows) {
    if (before !== null && key <= before) return false;
    before = key;
  }
  return true;
}

/**
 * Any life of the node of this number: for questions of a node that does not know the members.
 */
export function anyLifeOf(number: number): NodeId {
  return memberId(number, ANY_LIFE);
}

/** The frames of one member: decodes what arrives and counts what it refuses. */
export class FrameGate {
  readonly #self: NodeId;
  readonly #entryBytesMax: number;
  readonly #refused = new Map<FrameRefusal, number>();

  constructor(self: NodeId, entryBytesMax: number) {
    this.#self = self;
    this.#entryBytesMax = entryBytesMax;
  }

  /** `from` is the number of the node that the port authenticated; null when it is refused. */
  read(from: number, bytes: Uint8Array): Frame | null {
    const frame = decodeFrame(bytes, this.#entryBytesMax);
    if (typeof frame === 'string') return this.#refuse(frame);
    if (!this.#isMine(frame)) return this.#refuse('other-member');
    if (nodeNumber(frame.from) !== from) return this.#refuse('foreign-sender');
    return frame;
  }

  #isMine({ to, content }: Frame): boolean {
    if (to === this.#self) return true;
    const isForAny = incarnationOf(to) === ANY_LIFE && FOR_ANY_LIFE.includes(content.kind);
    return isForAny && nodeNumber(to) === nodeNumber(this.#self);
  }

  counters(): Readonly<Partial<Record<FrameRefusal, number>>> {
    return Object.fromEntries(this.#refused);
  }

  #refuse(reason: FrameRefusal): null {
    this.#refused.set(reason, (this.#refused.get(reason) ?? 0) + 1);
    return null;
  }
}
