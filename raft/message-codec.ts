/**
 * Messages as bytes. A frame is a head, and after it the data of entries or the manifest of a
 * snapshot, which are passed on by reference and never copied. All integers are big-endian.
 *
 *   head: format (1 byte, 1), kind (1), head bytes (4), from (8), to (8), term (8), the fields of
 *         the kind as `message-fields.ts` has them, the CRC of all head bytes before it (4)
 *   data: as long as the fields say, with their CRC there
 *
 * A decoder believes nothing that it has not checked: sizes are compared with the bytes that are
 * there, and with the limits, before anything is made of them. What passes is a message of the
 * right shape; whether it makes sense is for `step()` to judge.
 */
import { assert } from './assert.js';
import { type Crc32, crc32 as ownCrc32 } from './crc32.js';
import { nodeId, term } from './identifiers.js';
import { ByteReader, ByteWriter } from './message-bytes.js';
import {
  type FrameLimits,
  type FrameRefusal,
  fieldBytes,
  readFields,
  type SentMessage,
  writeFields,
} from './message-fields.js';
import type { Message } from './messages.js';

export interface MessageRefusal {
  readonly type: 'refused';
  readonly reason: FrameRefusal;
}

export const DEFAULT_FRAME_LIMITS: FrameLimits = {
  frameBytesMax: 64 * 1024 * 1024,
  entriesMax: 65_536,
  manifestBytesMax: 1024 * 1024,
};

const FORMAT = 1;
/** Format, kind, head bytes, from, to, term. */
const FIXED_BYTES = 30;
const CRC_BYTES = 4;

/** The place in the list is the number on the wire: never reorder, only add. */
export const SENT_KINDS: readonly SentMessage['type'][] = [
  'pre-vote-request',
  'pre-vote-response',
  'vote-request',
  'vote-response',
  'append',
  'append-response',
  'append-rejection',
  'heartbeat',
  'heartbeat-response',
  'snapshot',
  'timeout-now',
  'transfer-request',
  'read-request',
  'read-response',
];

/** The parts of one frame in order. Nobody may write to them until they are sent. */
export function encodeMessage(message: Message, crc: Crc32 = ownCrc32): readonly Uint8Array[] {
  assert(message.type !== 'append-durable', 'a report of the own disk is not sent');
  assert(message.from !== message.to, `${message.type} to itself is not sent`);
  const head = new ByteWriter(FIXED_BYTES + fieldBytes(message) + CRC_BYTES);
  head.byte(FORMAT);
  head.byte(SENT_KINDS.indexOf(message.type));
  head.word(head.size);
  head.long(message.from);
  head.long(message.to);
  head.long(message.term);
  const data = writeFields(head, message, crc);
  assert(head.left === CRC_BYTES, `${message.type}: ${head.left} bytes of the head are left`);
  head.word(crc(head.bytes.subarray(0, head.size - CRC_BYTES)));
  return [head.bytes, ...data];
}

/** Never throws. The data of the message are parts of `frame`: nobody may write to it any more. */
export function decodeMessage(
  frame: Uint8Array,
  limits: FrameLimits = DEFAULT_FRAME_LIMITS,
  crc: Crc32 = ownCrc32,
): SentMessage | MessageRefusal {
  if (frame.length > limits.frameBytesMax) return refused('too_large');
  if (frame.length < FIXED_BYTES + CRC_BYTES) return refused('wrong_length');
  const start = new ByteReader(frame);
  if (start.byte() !== FORMAT) return refused('unknown_format');
  const kind = SENT_KINDS[start.byte()];
  if (kind === undefined) return refused('unknown_kind');
  const size = start.word();
  if (size < FIXED_BYTES + CRC_BYTES || size > frame.length) return refused('wrong_length');
  const fieldsEnd = size - CRC_BYTES;
  const sum = new ByteReader(frame, fieldsEnd).word();
  if (crc(frame.subarray(0, fieldsEnd)) !== sum) return refused('damaged_head');
  const head = new ByteReader(frame.subarray(0, fieldsEnd), FIXED_BYTES - 24);
  const envelope = { from: nodeId(head.long()), to: nodeId(head.long()), term: term(head.long()) };
  if (envelope.from === envelope.to) return refused('bad_field');
  // Plain bytes, whatever the transport reads into: parts of its own kind may cost far more.
  const data = new Uint8Array(frame.buffer, frame.byteOffset + size, frame.length - size);
  const message = readFields(kind, envelope, { head, data, limits, crc });
  if (typeof message === 'string') return refused(message);
  return head.ok && head.left === 0 ? message : refused('bad_field');
}

function refused(reason: FrameRefusal): MessageRefusal {
  return { type: 'refused', reason };
}
