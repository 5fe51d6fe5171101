/**
 * What nodes say to each other besides consensus: questions about damaged slots of the log, rows of
 * snapshots, the floor below which the log may be given up, digests of the state, what each node
 * has to say of itself.
 *
 *     frame   := head content
 *     head    := mark u32 | version u8 | kind u8 | zero u16 | from u64 | to u64
 *                | content bytes u32 | crc u32
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
import { type NodeId, nodeId } from '@svc/raft';
import { incarnationOf, memberId, nodeNumber } from '../config/member-id.js';
import { ContentReader, ContentWriter } from './frame-content.js';

const MARK = 0x53_56_43_42;
const VERSION = 1;
export const FRAME_HEAD_BYTES = 32;
const LENGTH_AT = 24;
const CRC_AT = 28;
/** Slots in one question: their answers are at most this many frames. */
export const ASK_SLOTS_MAX = 64;
/** Rows of one chunk, keys and values, unless a single row is larger. */
export const SNAPSHOT_CHUNK_BYTES = 1 << 20;
/** Of a chunk, however small they are. */
export const SNAPSHOT_CHUNK_ROWS = 2000;
/**
 * What a frame may hold beside an entry or a row: a chunk's worth of rows, each with 6 bytes of
 * lengths, a key of at most 64 KiB twice, and the fixed fields of any kind.
 */
const FRAME_SLACK_BYTES = SNAPSHOT_CHUNK_BYTES + 6 * SNAPSHOT_CHUNK_ROWS + 3 * 65_536;

/**
 * A slot of the asker's log that it cannot read. `previousTerm` is what the asker has in the slot
 * before it, null when it does not know; `term` and `bodyCrc` what it knows of the slot itself.
 * `record`: entries after it are there. `tail`: nothing is known from this slot on.
 */
export interface AskedSlot {
  readonly kind: 'record' | 'tail';
  readonly index: number;
  readonly previousTerm: number | null;
  readonly term: number | null;
  readonly bodyCrc: number | null;
}

/** `round` is drawn at random when the asker starts: an answer to an earlier life is recognised. */
export interface RepairAsk {
  readonly kind: 'repair-ask';
  readonly round: number;
  readonly slots: readonly AskedSlot[];
}

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

export interface FrameEntry {
  readonly index: number;
  readonly term: number;
  readonly type: number;
  readonly data: Uint8Array;
}

/**
 * `term` is the sender's durable term, (lastIndex, lastTerm) where its durable log ends; `led`: it
 * knows a leader now.
 */
export interface RepairAnswer {
  readonly kind: 'repair-answer';
  readonly round: number;
  readonly index: number;
  readonly verdict: SlotResult;
  readonly term: number;
  readonly lastIndex: number;
  readonly lastTerm: number;
  readonly led: boolean;
  /** With `have` only. */
  readonly entry: FrameEntry | null;
}

/**
 * A set of rows, known by what it contains: `digest` is of the rows that are alike on all nodes,
 * `localDigest` of the others, 16 hex digits each. Equal names are equal rows, whoever has them.
 */
export interface SnapshotName {
  readonly index: number;
  readonly term: number;
  readonly digest: string;
  readonly localDigest: string;
}

/** Asks for the rows after `after` of the rows named; without a name, of the newest there are. */
export interface SnapshotAsk {
  readonly kind: 'snapshot-ask';
  /** The attempt of the receiver; answers repeat it. */
  readonly attempt: number;
  readonly name: SnapshotName | null;
  /** null: from the first row. */
  readonly after: string | null;
}

export interface FrameRow {
  readonly key: string;
  readonly value: Uint8Array;
}

export interface SnapshotChunk {
  readonly kind: 'snapshot-chunk';
  readonly attempt: number;
  readonly name: SnapshotName;
  readonly after: string | null;
  readonly rows: readonly FrameRow[];
  readonly isLast: boolean;
}

const SNAPSHOT_REFUSALS = ['busy', 'gone', 'not-ready'] as const;
export type SnapshotRefusal = (typeof SNAPSHOT_REFUSALS)[number];

export interface SnapshotRefused {
  readonly kind: 'snapshot-refused';
  readonly attempt: number;
  readonly reason: SnapshotRefusal;
}

/** The receiver tells who offered the snapshot up to `index` how it ended. */
export interface SnapshotDone {
  readonly kind: 'snapshot-done';
  readonly index: number;
  readonly installed: boolean;
}

/**
 * From the leader of `term`: no row of any state at or after entry `asOf` refers to an entry before
 * `floor`.
 */
export interface LogFloor {
  readonly kind: 'log-floor';
  readonly term: number;
  readonly floor: number;
  readonly asOf: number;
}

/** The digest (16 hex digits) of the rows after entry `index`. */
export interface StateDigest {
  readonly kind: 'digest';
  readonly index: number;
  readonly digest: string;
}

/** What a node tells all members every second, and at once when it changes. */
export interface NodeReport {
  readonly kind: 'node-report';
  /** The newest effect catalogue that it reads. */
  readonly readVersion: number;
  /** Its commit index. */
  readonly commit: number;
  readonly storageFull: boolean;
}

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

/** By number on the wire; a number is never used for another kind. */
const KINDS = [
  'repair-ask',
  'repair-answer',
  'snapshot-ask',
  'snapshot-chunk',
  'snapshot-refused',
  'snapshot-done',
  'log-floor',
  'digest',
  'node-report',
] as const;
/** Drawn by a directory once in four billion times, and then merely not told apart here. */
const ANY_LIFE = 0xffff_ffff;
const FOR_ANY_LIFE: readonly FrameContent['kind'][] = ['repair-ask', 'snapshot-ask'];
const SLOT_KINDS = ['record', 'tail'] as const;

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
  const parts = contentParts(content);
  const head = new Uint8Array(FRAME_HEAD_BYTES);
  const view = new DataView(head.buffer);
  view.setUint32(0, MARK);
  view.setUint8(4, VERSION);
  view.setUint8(5, KINDS.indexOf(content.kind) + 1);
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

function contentParts(content: FrameContent): Uint8Array[] {
  const w = new ContentWriter();
  switch (content.kind) {
    case 'repair-ask':
      w.u32(content.round);
      w.u16(content.slots.length);
      for (const slot of content.slots) writeSlot(w, slot);
      break;
    case 'repair-answer':
      return answerParts(w, content);
    case 'snapshot-ask':
      w.u32(content.attempt);
      w.u8(content.name === null ? 0 : 1);
      if (content.name !== null) writeName(w, content.name);
      writeAfter(w, content.after);
      break;
    case 'snapshot-chunk':
      return chunkParts(w, content);
    case 'snapshot-refused':
      w.u32(content.attempt);
      w.u8(SNAPSHOT_REFUSALS.indexOf(content.reason));
      break;
    case 'snapshot-done':
      w.u64(content.index);
      w.u8(content.installed ? 1 : 0);
      break;
    case 'log-floor':
      w.u64(content.term);
      w.u64(content.floor);
      w.u64(content.asOf);
      break;
    case 'digest':
      w.u64(content.index);
      w.digest(content.digest);
      break;
    case 'node-report':
      w.u32(content.readVersion);
      w.u64(content.commit);
      w.u8(content.storageFull ? 1 : 0);
      break;
  }
  return [w.finish()];
}

function writeSlot(w: ContentWriter, slot: AskedSlot): void {
  w.u8(SLOT_KINDS.indexOf(slot.kind));
  w.u64(slot.index);
  w.optional(slot.previousTerm);
  w.optional(slot.term);
  w.optional(slot.bodyCrc);
}

function answerParts(w: ContentWriter, answer: RepairAnswer): Uint8Array[] {
  w.u32(answer.round);
  w.u64(answer.index);
  w.u8(SLOT_RESULTS.indexOf(answer.verdict));
  w.u64(answer.term);
  w.u64(answer.lastIndex);
  w.u64(answer.lastTerm);
  w.u8(answer.led ? 1 : 0);
  w.u8(answer.entry === null ? 0 : 1);
  if (answer.entry === null) return [w.finish()];
  const { index, term, type, data } = answer.entry;
  w.u64(index);
  w.u64(term);
  w.u8(type);
  w.u32(data.length);
  return [w.finish(), data];
}

function chunkParts(w: ContentWriter, chunk: SnapshotChunk): Uint8Array[] {
  w.u32(chunk.attempt);
  writeName(w, chunk.name);
  writeAfter(w, chunk.after);
  w.u8(chunk.isLast ? 1 : 0);
  w.u32(chunk.rows.length);
  for (const { key, value } of chunk.rows) {
    w.key(key);
    w.u32(value.length);
  }
  return [w.finish(), ...chunk.rows.map(({ value }) => value)];
}

function writeName(w: ContentWriter, name: SnapshotName): void {
  w.u64(name.index);
  w.u64(name.term);
  w.digest(name.digest);
  w.digest(name.localDigest);
}

function writeAfter(w: ContentWriter, after: string | null): void {
  w.u8(after === null ? 0 : 1);
  w.key(after ?? '');
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
  const kind = KINDS[view.getUint8(5) - 1];
  if (kind === undefined) return 'kind';
  if (view.getUint32(LENGTH_AT) !== bytes.length - FRAME_HEAD_BYTES) return 'length';
  const head = new ContentReader(bytes.subarray(0, LENGTH_AT), 8);
  const from = nodeId(head.u64());
  const to = nodeId(head.u64());
  const reader = new ContentReader(bytes, FRAME_HEAD_BYTES);
  const content = readContent(kind, reader);
  if (!head.whole || view.getUint16(6) !== 0 || content === undefined || !reader.whole) {
    return 'content';
  }
  return { from, to, content };
}

function readContent(kind: (typeof KINDS)[number], r: ContentReader): FrameContent | undefined {
  switch (kind) {
    case 'repair-ask':
      return readAsk(r);
    case 'repair-answer':
      return readAnswer(r);
    case 'snapshot-ask':
      return {
        kind,
        attempt: r.u32(),
        name: r.flag() ? readName(r) : null,
        after: readAfter(r),
      };
    case 'snapshot-chunk':
      return readChunk(r);
    case 'snapshot-refused': {
      const [attempt, reason] = [r.u32(), r.oneOf(SNAPSHOT_REFUSALS)];
      return reason === undefined ? undefined : { kind, attempt, reason };
    }
    case 'snapshot-done':
      return { kind, index: r.u64(), installed: r.flag() };
    case 'log-floor':
      return { kind, term: r.u64(), floor: r.u64(), asOf: r.u64() };
    case 'digest':
      return { kind, index: r.u64(), digest: r.digest() };
    case 'node-report':
      return { kind, readVersion: r.u32(), commit: r.u64(), storageFull: r.flag() };
  }
}

function readAsk(r: ContentReader): RepairAsk | undefined {
  const round = r.u32();
  const count = r.u16();
  if (count > ASK_SLOTS_MAX) return undefined;
  const slots: AskedSlot[] = [];
  for (let i = 0; i < count; i++) {
    const kind = r.oneOf(SLOT_KINDS);
    if (kind === undefined) return undefined;
    const index = r.u64();
    const [previousTerm, term, bodyCrc] = [r.optional(), r.optional(), r.optional()];
    slots.push({ kind, index, previousTerm, term, bodyCrc });
  }
  return { kind: 'repair-ask', round, slots };
}

function readAnswer(r: ContentReader): RepairAnswer | undefined {
  const round = r.u32();
  const index = r.u64();
  const verdict = r.oneOf(SLOT_RESULTS);
  if (verdict === undefined) return undefined;
  const [term, lastIndex, lastTerm, led] = [r.u64(), r.u64(), r.u64(), r.flag()];
  const entry = r.flag() ? readEntry(r) : null;
  if ((entry !== null) !== (verdict === 'have')) return undefined;
  if (entry !== null && entry.index !== index) return undefined;
  const place = { round, index, verdict, term, lastIndex, lastTerm, led };
  return { kind: 'repair-answer', ...place, entry };
}

function readEntry(r: ContentReader): FrameEntry {
  const [index, term, type] = [r.u64(), r.u64(), r.u8()];
  return { index, term, type, data: r.bytes(r.u32()) };
}

function readChunk(r: ContentReader): SnapshotChunk | undefined {
  const attempt = r.u32();
  const name = readName(r);
  const after = readAfter(r);
  const isLast = r.flag();
  const count = r.u32();
  if (count > SNAPSHOT_CHUNK_ROWS) return undefined;
  const keys: string[] = [];
  const lengths: number[] = [];
  for (let i = 0; i < count; i++) {
    keys.push(r.key());
    lengths.push(r.u32());
    if (r.refused) return undefined;
  }
  const rows = keys.map((key, i) => ({ key, value: r.bytes(lengths[i] ?? 0) }));
  if (!ascend(after, rows)) return undefined;
  return { kind: 'snapshot-chunk', attempt, name, after, rows, isLast };
}

function readName(r: ContentReader): SnapshotName {
  return { index: r.u64(), term: r.u64(), digest: r.digest(), localDigest: r.digest() };
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

function readAfter(r: ContentReader): string | null {
  const known = r.flag();
  const key = r.key();
  if (!known && key !== '') r.refuse();
  return known ? key : null;
}

/**
 * Whoever the node of this number is now: for questions of a node that does not know the members.
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
