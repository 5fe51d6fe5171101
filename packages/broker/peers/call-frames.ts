/**
 * Calls between nodes as bytes.
 *
 *     frame := head body
 *     head  := crc u32 | version u8 | form u8 | kind u8 | zero u8 | time u32
 *              | life u64 | number u64
 *
 * `time` is how many milliseconds the caller still waits, in a request, else 0. The CRC covers
 * everything after it, the body too. Integers are big-endian. Decoding never throws: a frame is
 * taken whole or refused with a reason.
 */
import { crc32 } from 'node:zlib';
import type { PeerChannel } from './port.js';

/** What can be asked of a node, by number on the wire: never reordered, only added to. */
export const CALL_KINDS = [
  /** A fresh node: what are you, and which cluster do you know? */
  'ask',
  /** A prepared command of a client, for the leader. */
  'command',
  /** The status of a node. */
  'block',
  /** A change of the members, for the leader. */
  'membership',
  /** What a node counted and measured over time. */
  'series',
  /** About ephemeral queues: ephemeral/frames.ts. */
  'ephemeral',
] as const;
export type CallKind = (typeof CALL_KINDS)[number];

/** By number on the wire. Requests and cancellations travel as `calls`, the others as `answers`. */
const FORMS = ['request', 'cancel', 'answer', 'busy', 'unserved', 'gone'] as const;
export type CallForm = (typeof FORMS)[number];

export interface CallHead {
  readonly form: CallForm;
  readonly kind: CallKind;
  readonly timeMs: number;
  /** The life of the caller's process, and which of its calls. */
  readonly life: number;
  readonly number: number;
}

export interface CallFrame extends CallHead {
  /** A view of the frame. */
  readonly body: Uint8Array;
}

const CALL_REFUSALS = ['short', 'version', 'checksum', 'content', 'channel'] as const;
export type CallRefusal = (typeof CALL_REFUSALS)[number];

const VERSION = 1;
const CRC_BYTES = 4;
export const CALL_HEAD_BYTES = 28;
const TWO_POW_32 = 0x1_0000_0000;
const HIGH_MAX = 0x1f_ffff;
/**
 * A checksum of one piece costs more by its call than by so few bytes: they are put together. So a
 * caller may use the memory of a part of up to this size again.
 */
export const COPIED_BYTES_MAX = 4096;

/** Larger parts of the body are taken by reference: nobody may write to them any more. */
export function encodeCall(head: CallHead, body: readonly Uint8Array[]): Uint8Array[] {
  let size = CALL_HEAD_BYTES;
  for (const part of body) size += part.length;
  const copies = size <= COPIED_BYTES_MAX;
  const bytes = Buffer.allocUnsafe(copies ? size : CALL_HEAD_BYTES);
  bytes[4] = VERSION;
  bytes[5] = FORMS.indexOf(head.form);
  bytes[6] = CALL_KINDS.indexOf(head.kind);
  bytes[7] = 0;
  bytes.writeUInt32BE(head.timeMs, 8);
  putLong(bytes, head.life, 12);
  putLong(bytes, head.number, 20);
  if (copies) {
    let at = CALL_HEAD_BYTES;
    for (const part of body) {
      bytes.set(part, at);
      at += part.length;
    }
    bytes.writeUInt32BE(crc32(bytes.subarray(CRC_BYTES)), 0);
    return [bytes];
  }
  let crc = crc32(bytes.subarray(CRC_BYTES));
  // zlib's forgets what came before an array of length 0 that has memory of its own.
  for (const part of body) if (part.length > 0) crc = crc32(part, crc);
  bytes.writeUInt32BE(crc, 0);
  const copied = (part: Uint8Array) =>
    part.length <= COPIED_BYTES_MAX ? new Uint8Array(part) : part;
  return [bytes, ...body.map(copied)];
}

export function decodeCall(channel: PeerChannel, frame: Uint8Array): CallFrame | CallRefusal {
  if (frame.length < CALL_HEAD_BYTES) return 'short';
  // Not by the views of its own class, which cost more to make.
  const { buffer, byteOffset, length } = frame;
  const checked = new Uint8Array(buffer, byteOffset + CRC_BYTES, length - CRC_BYTES);
  if (wordAt(frame, 0) !== crc32(checked)) return 'checksum';
  if (frame[4] !== VERSION) return 'version';
  const form = FORMS[frame[5] ?? FORMS.length];
  const kind = CALL_KINDS[frame[6] ?? CALL_KINDS.length];
  const life = longAt(frame, 12);
  const number = longAt(frame, 20);
  if (form === undefined || kind === undefined || frame[7] !== 0) return 'content';
  if (life === null || number === null) return 'content';
  if ((form === 'request' || form === 'cancel') !== (channel === 'calls')) return 'channel';
  const body = new Uint8Array(buffer, byteOffset + CALL_HEAD_BYTES, length - CALL_HEAD_BYTES);
  return { form, kind, timeMs: wordAt(frame, 8), life, number, body };
}

function putLong(bytes: Buffer, value: number, at: number): void {
  bytes.writeUInt32BE(Math.floor(value / TWO_POW_32), at);
  bytes.writeUInt32BE(value % TWO_POW_32, at + 4);
}

function wordAt(bytes: Uint8Array, at: number): number {
  const low = ((bytes[at + 1] ?? 0) << 16) | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0);
  return (bytes[at] ?? 0) * 0x100_0000 + low;
}

/** null: above what a number holds exactly. */
function longAt(bytes: Uint8Array, at: number): number | null {
  const high = wordAt(bytes, at);
  return high > HIGH_MAX ? null : high * TWO_POW_32 + wordAt(bytes, at + 4);
}
