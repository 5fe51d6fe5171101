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
/** A checksum of one piece costs more by its call than by so few bytes: they are put together. */
const COPIED_BYTES_MAX = 4096;

/** The body is taken by reference: nobody may write to it any more. */
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
  return [bytes, ...body];
}

export function decodeCall(channel: PeerChannel, frame: Uint8Array): CallFrame | CallRefusal {
  if (frame.length < CALL_HEAD_BYTES) return 'short';
  const head = new DataView(frame.buffer, frame.byteOffset, CALL_HEAD_BYTES);
  if (head.getUint32(0) !== crc32(frame.subarray(CRC_BYTES))) return 'checksum';
  if (frame[4] !== VERSION) return 'version';
  const form = FORMS[frame[5] ?? FORMS.length];
  const kind = CALL_KINDS[frame[6] ?? CALL_KINDS.length];
  const [life, number] = [longAt(head, 12), longAt(head, 20)];
  if (form === undefined || kind === undefined || frame[7] !== 0) return 'content';
  if (life === null || number === null) return 'content';
  if ((form === 'request' || form === 'cancel') !== (channel === 'calls')) return 'channel';
  const body = frame.subarray(CALL_HEAD_BYTES);
  return { form, kind, timeMs: head.getUint32(8), life, number, body };
}

function putLong(bytes: Buffer, value: number, at: number): void {
  bytes.writeUInt32BE(Math.floor(value / TWO_POW_32), at);
  bytes.writeUInt32BE(value % TWO_POW_32, at + 4);
}

/** null: above what a number holds exactly. */
function longAt(bytes: DataView, at: number): number | null {
  const high = bytes.getUint32(at);
  return high > HIGH_MAX ? null : high * TWO_POW_32 + bytes.getUint32(at + 4);
}
