/**
 * Goal: every message reads back as it was, the bytes on the wire never change unnoticed, and no
 * frame that is not what its sender wrote is taken. Method: golden frames; every truncation and
 * every flipped bit of them; sizes that lie under a checksum that holds; random bytes.
 */
import { crc32 as native } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { Configuration } from './configuration.js';
import { crc32 } from './crc32.js';
import type { Entry } from './entry.js';
import { logIndex, nodeId, term } from './identifiers.js';
import { DEFAULT_FRAME_LIMITS, decodeMessage, encodeMessage } from './message-codec.js';
import type { Message } from './messages.js';
import { Chance } from './testing/chance.js';

const SEED = 5;
const envelope = { from: nodeId(1), to: nodeId(4_294_967_298), term: term(7) };
/** From 1, to 2^32 + 2, term 7: the same in every frame below. */
const ENVELOPE = '000000000000000100000001000000020000000000000007';
const place = { lastIndex: logIndex(9), lastTerm: term(6) };

const entry = (index: number, type: Entry['type'], data: readonly number[]): Entry => ({
  index: logIndex(index),
  term: term(6),
  type,
  data: Uint8Array.from(data),
});

const JOINT: Configuration = {
  voters: [1, 4_294_967_298].map(nodeId),
  outgoing: [1, 2].map(nodeId),
  learners: [nodeId(3)],
  learnersNext: [nodeId(2)],
  promoting: [nodeId(3)],
  autoLeave: true,
};

const APPEND: Message = {
  type: 'append',
  ...envelope,
  previousIndex: logIndex(9),
  previousTerm: term(6),
  entries: [
    entry(10, 'normal', [1, 2, 3]),
    entry(11, 'configuration', []),
    entry(12, 'normal', [255]),
  ],
  commit: logIndex(8),
  life: 5,
};

const REJECTION: Message = {
  type: 'append-rejection',
  ...envelope,
  rejectedIndex: logIndex(9),
  hintIndex: logIndex(4),
  hintTerm: term(3),
  life: 5,
  lost: 281_474_976_710_655,
};

const SNAPSHOT: Message = {
  type: 'snapshot',
  ...envelope,
  life: 5,
  snapshot: {
    index: logIndex(9),
    term: term(6),
    configuration: JOINT,
    configurationIndex: logIndex(8),
    manifest: Uint8Array.of(7, 8),
  },
};

/** A message; its bytes before and after the envelope, CRC last; the data. */
const GOLDEN: readonly (readonly [Message, string, string, string])[] = [
  [
    { type: 'pre-vote-request', ...envelope, ...place },
    '010000000032',
    '00000000000000090000000000000006383afcfc',
    '',
  ],
  [{ type: 'pre-vote-response', ...envelope, granted: true }, '010100000023', '0168e2dbdb', ''],
  [
    { type: 'vote-request', ...envelope, ...place, forced: true },
    '010200000033',
    '00000000000000090000000000000006014f9ce818',
    '',
  ],
  [{ type: 'vote-response', ...envelope, granted: false }, '010300000023', '0067242d5d', ''],
  [
    APPEND,
    '010400000071',
    '0000000000000009000000000000000600000000000000080000000000000005' +
      '000000039c53d059' +
      '00000000000000000600000003' +
      '01000000000000000600000000' +
      '00000000000000000600000001' +
      '3648f796',
    '010203ff',
  ],
  [
    { type: 'append-response', ...envelope, index: logIndex(12), life: 5 },
    '010500000032',
    '000000000000000c0000000000000005abf96bb6',
    '',
  ],
  [
    REJECTION,
    '01060000004a',
    '000000000000000900000000000000040000000000000003' + '00000000000000050000ffffffffffff77aa56e2',
    '',
  ],
  [
    { type: 'heartbeat', ...envelope, commit: logIndex(8), round: 3, sentMs: 1.5 },
    '01070000003a',
    '000000000000000800000000000000033ff80000000000009e5898b6',
    '',
  ],
  [
    { type: 'heartbeat-response', ...envelope, round: 3, sentMs: 1.5, lost: 7 },
    '01080000003a',
    '00000000000000033ff800000000000000000000000000079cba4de0',
    '',
  ],
  [
    SNAPSHOT,
    '01090000008e',
    '0000000000000005000000000000000900000000000000060000000000000008' +
      '0000000200430c0a' +
      '020100020000000000000001000000010000000200020000000000000001000000000000000200010000' +
      '000000000003000100000000000000020001000000000000000357a817df',
    '0708',
  ],
  [{ type: 'timeout-now', ...envelope }, '010a00000022', '9e5d6d35', ''],
  [
    { type: 'transfer-request', ...envelope, target: nodeId(2) },
    '010b0000002a',
    '00000000000000029e53dae7',
    '',
  ],
  [
    { type: 'read-request', ...envelope, id: Number.MAX_SAFE_INTEGER },
    '010c0000002a',
    '001fffffffffffff25e27290',
    '',
  ],
  [
    { type: 'read-response', ...envelope, id: 6, index: logIndex(9) },
    '010d00000032',
    '000000000000000600000000000000092b87fca4',
    '',
  ],
];

function frameOf(message: Message): Uint8Array {
  return Uint8Array.from(encodeMessage(message).flatMap((part) => [...part]));
}

function hex(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The checksum of the head is made good again, as a malicious or newer sender would. */
function resealed(frame: Uint8Array, headBytes: number): Uint8Array {
  const sum = crc32(frame.subarray(0, headBytes - 4));
  new DataView(frame.buffer).setUint32(headBytes - 4, sum);
  return frame;
}

describe.each(GOLDEN)('a frame of %j', (message, start, fields, data) => {
  it('has these bytes and reads back, with either CRC', () => {
    expect(hex(frameOf(message))).toBe(start + ENVELOPE + fields + data);
    expect(decodeMessage(frameOf(message))).toEqual(message);
    expect(decodeMessage(frameOf(message), DEFAULT_FRAME_LIMITS, native)).toEqual(message);
    expect(encodeMessage(message, native)).toEqual(encodeMessage(message));
  });

  it('is refused when cut anywhere, or when anything follows', () => {
    const frame = frameOf(message);
    for (let length = 0; length < frame.length; length++) {
      expect(decodeMessage(frame.subarray(0, length))).toMatchObject({ type: 'refused' });
    }
    const longer = Uint8Array.from([...frame, 0]);
    expect(decodeMessage(longer)).toEqual({ type: 'refused', reason: 'wrong_length' });
  });

  it('is refused with any bit flipped', () => {
    const frame = frameOf(message);
    for (let bit = 0; bit < frame.length * 8; bit++) {
      const flipped = frame.slice();
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(decodeMessage(flipped), `bit ${bit}`).toMatchObject({ type: 'refused' });
    }
  });
});

describe('an append', () => {
  it('is read by the CRC of zlib when an empty entry has memory of its own', () => {
    const empty = entry(11, 'normal', []);
    // Asking for it sets memory aside, of no bytes and at no address.
    expect(empty.data.buffer.byteLength).toBe(0);
    const entries = [entry(10, 'normal', [1, 2, 3]), empty, entry(12, 'normal', [255])];
    const message: Message = { ...APPEND, entries };
    const frame = Buffer.concat(encodeMessage(message, native));
    expect(decodeMessage(frame, DEFAULT_FRAME_LIMITS, native)).toEqual(message);
    expect(frame).toEqual(Buffer.concat(encodeMessage(message, crc32)));
  });

  it('leaves and arrives without a copy of its data', () => {
    if (APPEND.type !== 'append') return;
    expect(encodeMessage(APPEND)[1]).toBe(APPEND.entries[0]?.data);
    const frame = frameOf(APPEND);
    const decoded = decodeMessage(frame);
    expect(decoded.type === 'append' && decoded.entries[0]?.data.buffer).toBe(frame.buffer);
  });

  const HEAD = 0x71;
  const COUNT_AT = 30 + 32;

  it.each([
    ['more entries than anybody takes', COUNT_AT, 0xffff_ffff, 'too_large'],
    ['more entries than the head lists', COUNT_AT, 4, 'bad_field'],
    ['fewer entries than the head lists', COUNT_AT, 2, 'bad_field'],
    ['an entry longer than the frame', COUNT_AT + 8 + 9, 0xffff_ffff, 'wrong_length'],
    ['a term that is no safe integer', COUNT_AT + 8 + 1, 0x0020_0000, 'bad_field'],
  ])('that announces %s is refused before anything is made of it', (_, at, value, reason) => {
    const frame = frameOf(APPEND);
    new DataView(frame.buffer).setUint32(at, value);
    expect(decodeMessage(resealed(frame, HEAD))).toEqual({ type: 'refused', reason });
  });

  it('with a type of entry that nobody knows is refused', () => {
    const frame = frameOf(APPEND);
    frame[COUNT_AT + 8] = 2;
    expect(decodeMessage(resealed(frame, HEAD))).toEqual({ type: 'refused', reason: 'bad_field' });
  });

  it('beyond the limits of the receiver is refused', () => {
    const frame = frameOf(APPEND);
    const refused = { type: 'refused', reason: 'too_large' };
    const tight = { ...DEFAULT_FRAME_LIMITS, frameBytesMax: frame.length - 1 };
    expect(decodeMessage(frame, tight)).toEqual(refused);
    expect(decodeMessage(frame, { ...DEFAULT_FRAME_LIMITS, entriesMax: 2 })).toEqual(refused);
  });
});

it('a head that claims the whole memory is refused', () => {
  const frame = frameOf(APPEND);
  new DataView(frame.buffer).setUint32(2, 0xffff_ffff);
  expect(decodeMessage(frame)).toEqual({ type: 'refused', reason: 'wrong_length' });
});

it('a manifest beyond the limits, and a configuration that nobody can follow, are refused', () => {
  const tight = { ...DEFAULT_FRAME_LIMITS, manifestBytesMax: 1 };
  expect(decodeMessage(frameOf(SNAPSHOT), tight)).toMatchObject({ reason: 'too_large' });
  const frame = frameOf(SNAPSHOT);
  // The first voter is above the second.
  new DataView(frame.buffer).setUint32(30 + 40 + 4, 2);
  expect(decodeMessage(resealed(frame, 0x8e))).toMatchObject({ reason: 'bad_field' });
});

it('what a node says to itself is never sent, and never taken from outside', () => {
  const own = { type: 'vote-response', ...envelope, to: nodeId(1), granted: true } as const;
  expect(() => encodeMessage(own)).toThrow(/to itself/);
  const frame = frameOf({ ...own, to: nodeId(2) });
  frame[21] = 1;
  expect(decodeMessage(resealed(frame, frame.length))).toMatchObject({ reason: 'bad_field' });
});

it(`random bytes never throw, with and without a checksum that holds (seed ${SEED})`, () => {
  const chance = new Chance(SEED);
  for (let run = 0; run < 20_000; run++) {
    const [message] = chance.pick(GOLDEN) ?? [APPEND];
    const frame = frameOf(message);
    const head = new DataView(frame.buffer).getUint32(2);
    for (let change = chance.between(1, 4); change > 0; change--) {
      frame[chance.between(6, frame.length - 1)] = chance.between(0, 255);
    }
    decodeMessage(chance.hits(0.8) ? resealed(frame, head) : frame);
    decodeMessage(Uint8Array.from({ length: chance.between(0, 60) }, () => chance.between(0, 255)));
  }
});
