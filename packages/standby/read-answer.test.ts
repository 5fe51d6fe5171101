/**
 * Answers of a source: whole ones in pieces of any size, and all that can be wrong with one. Random
 * cuts and changed bytes print their seed.
 */

import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type AnswerEnd,
  type AnswerHead,
  AnswerReader,
  encodeAnswerEnd,
  encodeAnswerHead,
  encodeEntryHead,
  PIECE_BYTES,
  type SourceEntry,
} from './read-answer.js';

const CLUSTER = '0190a7b4-7d5e-7abc-8def-0123456789ab';
const HEAD: AnswerHead = {
  kind: 'entries',
  clusterId: CLUSTER,
  applied: 90,
  purged: 3,
  term: null,
};
const HEAD_BYTES = 52;
const ENTRY_BYTES_MAX = 4096;
const AFTER = 40;

const ENTRIES: readonly SourceEntry[] = [
  { index: 41, term: 2, body: Uint8Array.of(1, 2, 3) },
  { index: 44, term: 2, body: new Uint8Array(ENTRY_BYTES_MAX).fill(7) },
  { index: 45, term: 2 ** 40, body: Uint8Array.of(9) },
];

function answerOf(
  entries: readonly SourceEntry[],
  {
    head = HEAD,
    upto = 60,
    applied = 91,
  }: { head?: AnswerHead; upto?: number; applied?: number } = {},
): Uint8Array {
  const parts = entries.flatMap((entry) => [encodeEntryHead(entry, crc32), entry.body]);
  const end = encodeAnswerEnd({ upto, term: 5, applied }, crc32);
  return new Uint8Array(Buffer.concat([encodeAnswerHead(head, crc32), ...parts, end]));
}

function reading(after = AFTER) {
  const heads: AnswerHead[] = [];
  const entries: SourceEntry[] = [];
  const ends: AnswerEnd[] = [];
  const reader = new AnswerReader(
    { after, entryBytesMax: ENTRY_BYTES_MAX },
    {
      onHead: (head) => heads.push(head),
      onEntry: (entry) => entries.push(entry),
      onEnd: (end) => ends.push(end),
    },
    crc32,
  );
  return { reader, heads, entries, ends };
}

test('an answer is read as it was written', () => {
  const { reader, heads, entries, ends } = reading();
  expect(reader.push(answerOf(ENTRIES))).toBeNull();
  expect(reader.finish()).toBeNull();
  expect(reader.isWhole).toBe(true);
  expect(heads).toEqual([HEAD]);
  expect(entries).toEqual(ENTRIES);
  expect(ends).toEqual([{ upto: 60, term: 5, applied: 91 }]);
});

test.each<AnswerHead>([
  { ...HEAD, kind: 'purged' },
  { ...HEAD, kind: 'mismatch', term: 6 },
  { ...HEAD, kind: 'mismatch', term: null },
  { ...HEAD, applied: Number.MAX_SAFE_INTEGER },
])('a head without entries: %o', (head) => {
  const { reader, heads, ends } = reading();
  expect(reader.push(answerOf([], { head, upto: 0 }))).toBeNull();
  expect(reader.isWhole).toBe(true);
  expect(heads).toEqual([head]);
  expect(ends).toEqual([{ upto: 0, term: 5, applied: 91 }]);
});

test('pieces of any size say the same, and no more than an entry is held', () => {
  const bytes = answerOf(ENTRIES);
  const cuts = fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(cuts, (sizes) => {
      const { reader, entries, ends } = reading();
      for (let at = 0, i = 0; at < bytes.length; i++) {
        const end = at + (sizes[i % sizes.length] ?? 1);
        expect(reader.push(bytes.subarray(at, end))).toBeNull();
        expect(reader.heldBytes).toBeLessThanOrEqual(ENTRY_BYTES_MAX);
        at = end;
      }
      expect(entries).toEqual(ENTRIES);
      expect(ends).toEqual([{ upto: 60, term: 5, applied: 91 }]);
    }),
  );
});

test('bodies do not share the bytes they came in', () => {
  const bytes = answerOf(ENTRIES);
  const { reader, entries } = reading();
  reader.push(bytes);
  bytes.fill(0);
  expect(entries).toEqual(ENTRIES);
});

test('a changed byte anywhere is a fault, and what was handed on before it is right', () => {
  const bytes = answerOf(ENTRIES);
  const change = fc.tuple(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }));
  fc.assert(
    fc.property(change, ([at, bits]) => {
      const changed = bytes.slice();
      changed[at] = (changed[at] ?? 0) ^ bits;
      const { reader, entries } = reading();
      const fault = reader.push(changed);
      expect(fault ?? reader.finish()).not.toBeNull();
      expect(reader.isWhole).toBe(false);
      expect(entries).toEqual(ENTRIES.slice(0, entries.length));
    }),
    { numRuns: 500 },
  );
});

test('an answer that was cut is no whole one, wherever it was cut', () => {
  const bytes = answerOf(ENTRIES);
  for (let length = 0; length < bytes.length; length += length < 200 ? 1 : 37) {
    const { reader } = reading();
    expect(reader.push(bytes.subarray(0, length))).toBeNull();
    expect(reader.isWhole).toBe(false);
    expect(reader.finish()).toBe('it ends before its end');
  }
});

/** With the checksum of the piece at `at` made right again. */
function forged(bytes: Uint8Array, at: number, change: (view: DataView) => void): Uint8Array {
  const copy = bytes.slice();
  const length = at === 0 ? HEAD_BYTES : PIECE_BYTES;
  const view = new DataView(copy.buffer, at, length);
  change(view);
  view.setUint32(length - 4, crc32(copy.subarray(at, at + length - 4)));
  return copy;
}

const FIRST = HEAD_BYTES;
const SECOND = HEAD_BYTES + PIECE_BYTES + 3;
const WHOLE = answerOf(ENTRIES);

test.each<[string, Uint8Array, string, number]>([
  ['strangers', Buffer.from('HTTP/1.1 200 OK'.padEnd(60)), 'it is not the answer of a source', 0],
  ['another version', forged(WHOLE, 0, (v) => v.setUint8(4, 2)), 'its form is version 2', 0],
  ['no kind', forged(WHOLE, 0, (v) => v.setUint8(5, 3)), 'its head is not in the form of one', 0],
  [
    'a huge number',
    forged(WHOLE, 0, (v) => v.setUint8(24, 1)),
    'its head is not in the form of one',
    0,
  ],
  [
    'a wrong head',
    Uint8Array.from(WHOLE, (byte, at) => (at === 30 ? byte ^ 1 : byte)),
    'the checksum of its head is wrong',
    0,
  ],
  [
    'no mark',
    forged(WHOLE, FIRST, (v) => v.setUint32(0, 3)),
    'what follows entry 40 is neither an entry nor an end',
    0,
  ],
  [
    'too long',
    forged(WHOLE, FIRST, (v) => v.setUint32(20, 4097)),
    'entry 41 has 4097 bytes, and one of this standby takes 4096: set SVC_RAFT_BATCH_MAX_BYTES ' +
      'and SVC_RAFT_ENTRY_MAX_BYTES as the source does',
    0,
  ],
  ['empty', forged(WHOLE, FIRST, (v) => v.setUint32(20, 0)), 'entry 41 is empty', 0],
  [
    'asked for earlier',
    forged(WHOLE, FIRST, (v) => v.setUint32(8, 40)),
    'entry 40 follows entry 40',
    0,
  ],
  ['repeated', forged(WHOLE, SECOND, (v) => v.setUint32(8, 41)), 'entry 41 follows entry 41', 1],
  [
    'a wrong body',
    Uint8Array.from(WHOLE, (byte, at) => (at === SECOND + 99 ? byte ^ 1 : byte)),
    'the checksum of entry 44 is wrong',
    1,
  ],
  ['ends early', answerOf(ENTRIES, { upto: 44 }), 'it ends at 44, before its entry 45', 3],
  [
    'an end of a huge term',
    forged(answerOf([]), FIRST, (v) => v.setUint8(20, 1)),
    'what follows entry 40 is neither an entry nor an end',
    0,
  ],
  ['goes on', Buffer.concat([WHOLE, Uint8Array.of(0)]), 'it goes on after its end', 3],
  [
    'entries where none can be',
    answerOf(ENTRIES, { head: { ...HEAD, kind: 'purged' } }),
    'entry 41 is in an answer without entries',
    0,
  ],
])('%s', (_what, bytes, fault, entriesBefore) => {
  const { reader, entries } = reading();
  expect(reader.push(bytes)).toBe(fault);
  expect(entries).toHaveLength(entriesBefore);
  // It stays so, and holds nothing.
  expect(reader.push(WHOLE)).toBe(fault);
  expect(reader.finish()).toBe(fault);
  expect(reader.isWhole).toBe(false);
  expect(reader.heldBytes).toBe(0);
  expect(entries).toHaveLength(entriesBefore);
});

test('a length that is not proven makes no room', () => {
  const { reader } = reading();
  const lying = WHOLE.slice();
  new DataView(lying.buffer).setUint32(FIRST + 20, 4000);
  expect(reader.push(lying.subarray(0, FIRST + PIECE_BYTES))).toBe(
    'the checksum of what follows entry 40 is wrong',
  );
  expect(reader.heldBytes).toBe(0);
});

test('a node that is behind may end below what was asked for', () => {
  const { reader, ends } = reading();
  expect(reader.push(answerOf([], { upto: 12, applied: 12 }))).toBeNull();
  expect(ends).toEqual([{ upto: 12, term: 5, applied: 12 }]);
});

test('the id of a cluster is a UUID', () => {
  expect(() => encodeAnswerHead({ ...HEAD, clusterId: 'c-1' }, crc32)).toThrow(RangeError);
});
