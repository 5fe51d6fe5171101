/**
 * What each kind of message holds beside its envelope, in the order in which it is written. An
 * append has the CRC of all its data (4 bytes), and lists per entry type (1), term (8) and data
 * bytes (4); indexes follow from the first. A snapshot has the bytes (4) and CRC (4) of its
 * manifest, and its configuration as an entry would hold it.
 */
import { assert } from './assert.js';
import { encodeConfiguration, readConfiguration } from './configuration-codec.js';
import type { Crc32 } from './crc32.js';
import type { Entry } from './entry.js';
import { logIndex, type NodeId, nodeId, type Term, term } from './identifiers.js';
import type { ByteReader, ByteWriter } from './message-bytes.js';
import type { AppendRequest, Message, SnapshotRequest } from './messages.js';

/** What a receiver is ready to hold. What senders are set to send must stay within it. */
export interface FrameLimits {
  /** Bytes of one frame, head and data together. */
  readonly frameBytesMax: number;
  readonly entriesMax: number;
  readonly manifestBytesMax: number;
}

export type FrameRefusal =
  /** Longer than the limits, in bytes or in announced parts. */
  | 'too_large'
  /** Shorter or longer than it says, or too short to say. */
  | 'wrong_length'
  | 'unknown_format'
  | 'unknown_kind'
  | 'damaged_head'
  | 'damaged_data'
  /** The checksums hold and a field does not: a sender of another make. */
  | 'bad_field';

/** Messages that leave a node; a report of its own disk does not. */
export type SentMessage = Exclude<Message, { readonly type: 'append-durable' }>;

interface Envelope {
  readonly from: NodeId;
  readonly to: NodeId;
  readonly term: Term;
}

interface Source {
  readonly head: ByteReader;
  /** Everything after the head. */
  readonly data: Uint8Array;
  readonly limits: FrameLimits;
  readonly crc: Crc32;
}

const ENTRY_BYTES = 13;
const NORMAL = 0;
const CONFIGURATION = 1;
const NO_BYTES = new Uint8Array(0);

export function fieldBytes(message: SentMessage): number {
  switch (message.type) {
    case 'timeout-now':
      return 0;
    case 'pre-vote-response':
    case 'vote-response':
      return 1;
    case 'transfer-request':
    case 'read-request':
      return 8;
    case 'pre-vote-request':
    case 'append-response':
    case 'read-response':
      return 16;
    case 'vote-request':
      return 17;
    case 'heartbeat':
    case 'heartbeat-response':
      return 24;
    case 'append':
      return 40 + message.entries.length * ENTRY_BYTES;
    case 'append-rejection':
      return 40;
    case 'snapshot':
      return 40 + encodeConfiguration(message.snapshot.configuration, NO_BYTES).length;
  }
}

/** Returns the data that follow the head. */
export function writeFields(
  head: ByteWriter,
  message: SentMessage,
  crc: Crc32,
): readonly Uint8Array[] {
  switch (message.type) {
    case 'append':
      return writeAppend(head, message, crc);
    case 'snapshot':
      return writeSnapshot(head, message, crc);
    case 'pre-vote-request':
    case 'vote-request':
      head.long(message.lastIndex);
      head.long(message.lastTerm);
      if (message.type === 'vote-request') head.flag(message.forced);
      return [];
    case 'pre-vote-response':
    case 'vote-response':
      head.flag(message.granted);
      return [];
    case 'append-response':
      head.long(message.index);
      head.long(message.life);
      return [];
    case 'append-rejection':
      head.long(message.rejectedIndex);
      head.long(message.hintIndex);
      head.long(message.hintTerm);
      head.long(message.life);
      head.long(message.lost);
      return [];
    case 'heartbeat':
      head.long(message.commit);
      head.long(message.round);
      head.time(message.sentMs);
      return [];
    case 'heartbeat-response':
      head.long(message.round);
      head.time(message.sentMs);
      head.long(message.lost);
      return [];
    case 'transfer-request':
      head.long(message.target);
      return [];
    case 'read-request':
      head.long(message.id);
      return [];
    case 'read-response':
      head.long(message.id);
      head.long(message.index);
      return [];
    case 'timeout-now':
      return [];
  }
}

/** Whether the head held it all is for the caller to see, from its reader. */
export function readFields(
  type: SentMessage['type'],
  envelope: Envelope,
  source: Source,
): SentMessage | FrameRefusal {
  const { head, data } = source;
  if (type === 'append') return readAppend(envelope, source);
  if (type === 'snapshot') return readSnapshot(envelope, source);
  if (data.length > 0) return 'wrong_length';
  const index = () => logIndex(head.long());
  switch (type) {
    case 'pre-vote-request':
      return { type, ...envelope, lastIndex: index(), lastTerm: term(head.long()) };
    case 'vote-request':
      return {
        type,
        ...envelope,
        lastIndex: index(),
        lastTerm: term(head.long()),
        forced: head.flag(),
      };
    case 'pre-vote-response':
    case 'vote-response':
      return { type, ...envelope, granted: head.flag() };
    case 'append-response':
      return { type, ...envelope, index: index(), life: head.long() };
    case 'append-rejection':
      return {
        type,
        ...envelope,
        rejectedIndex: index(),
        hintIndex: index(),
        hintTerm: term(head.long()),
        life: head.long(),
        lost: head.long(),
      };
    case 'heartbeat':
      return { type, ...envelope, commit: index(), round: head.long(), sentMs: head.time() };
    case 'heartbeat-response':
      return {
        type,
        ...envelope,
        round: head.long(),
        sentMs: head.time(),
        lost: head.long(),
      };
    case 'timeout-now':
      return { type, ...envelope };
    case 'transfer-request':
      return { type, ...envelope, target: nodeId(head.long()) };
    case 'read-request':
      return { type, ...envelope, id: head.long() };
    case 'read-response':
      return { type, ...envelope, id: head.long(), index: index() };
  }
}

function writeAppend(head: ByteWriter, message: AppendRequest, crc: Crc32): Uint8Array[] {
  const { entries } = message;
  head.long(message.previousIndex);
  head.long(message.previousTerm);
  head.long(message.commit);
  head.long(message.life);
  head.word(entries.length);
  head.word(crcOf(entries, crc));
  const data: Uint8Array[] = [];
  let next = message.previousIndex + 1;
  for (const entry of entries) {
    assert(entry.index === next, `entry ${entry.index} in the place of ${next}`);
    next++;
    head.byte(entry.type === 'normal' ? NORMAL : CONFIGURATION);
    head.long(entry.term);
    head.word(entry.data.length);
    if (entry.data.length > 0) data.push(entry.data);
  }
  return data;
}

/** Body by body: whoever keeps checksums has those that the log needs. */
function crcOf(entries: readonly Entry[], crc: Crc32): number {
  let sum = 0;
  // zlib's CRC forgets what came before an array of length 0 that has memory of its own.
  for (const { data } of entries) if (data.length > 0) sum = crc(data, sum);
  return sum;
}

function readAppend(envelope: Envelope, source: Source): AppendRequest | FrameRefusal {
  const { head, data, limits, crc } = source;
  const previousIndex = logIndex(head.long());
  const previousTerm = term(head.long());
  const commit = logIndex(head.long());
  const life = head.long();
  const count = head.word();
  const sum = head.word();
  if (count > limits.entriesMax) return 'too_large';
  // As many as the head has room for, and not one object before that is known.
  if (count * ENTRY_BYTES !== head.left) return 'bad_field';
  const entries: Entry[] = [];
  let at = 0;
  for (let next = previousIndex + 1; entries.length < count; next++) {
    const type = head.flag() ? 'configuration' : 'normal';
    const entryTerm = term(head.long());
    const length = head.word();
    if (!head.ok) return 'bad_field';
    if (length > data.length - at) return 'wrong_length';
    const bytes = data.subarray(at, at + length);
    at += length;
    entries.push({ index: logIndex(next), term: entryTerm, type, data: bytes });
  }
  if (at !== data.length) return 'wrong_length';
  if (crcOf(entries, crc) !== sum) return 'damaged_data';
  return { type: 'append', ...envelope, previousIndex, previousTerm, entries, commit, life };
}

function writeSnapshot(head: ByteWriter, message: SnapshotRequest, crc: Crc32): Uint8Array[] {
  const { life, snapshot } = message;
  const { manifest } = snapshot;
  head.long(life);
  head.long(snapshot.index);
  head.long(snapshot.term);
  head.long(snapshot.configurationIndex);
  head.word(manifest.length);
  head.word(crc(manifest));
  head.all(encodeConfiguration(snapshot.configuration, NO_BYTES));
  return manifest.length > 0 ? [manifest] : [];
}

function readSnapshot(envelope: Envelope, source: Source): SnapshotRequest | FrameRefusal {
  const { head, data, limits, crc } = source;
  const life = head.long();
  const index = logIndex(head.long());
  const ofTerm = term(head.long());
  const configurationIndex = logIndex(head.long());
  const length = head.word();
  const sum = head.word();
  if (length > limits.manifestBytesMax) return 'too_large';
  if (length !== data.length) return 'wrong_length';
  if (crc(data) !== sum) return 'damaged_data';
  const record = readConfiguration(head.part(head.left));
  if (record === undefined || record.context.length > 0) return 'bad_field';
  const { configuration } = record;
  return {
    type: 'snapshot',
    ...envelope,
    life,
    snapshot: { index, term: ofTerm, configuration, configurationIndex, manifest: data },
  };
}
