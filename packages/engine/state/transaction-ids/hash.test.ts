/**
 * Goal: the hash spreads the ids that clients really send as if it were random. Method: no two of
 * a million ids in one style may share the hash, nor may they crowd 64 of its bits more than
 * chance allows; every flipped input bit flips each output bit about half the time; the low and
 * high bits of each word fill buckets evenly. Fixed inputs throughout, so nothing here is random.
 */
import { describe, expect, it } from 'vitest';
import { utf8Length, utf8Write } from '../../base/utf8.js';
import { hashTransactionId } from './hash.js';

function bytesOf(text: string): Uint8Array {
  const bytes = new Uint8Array(utf8Length(text));
  utf8Write(bytes, 0, text);
  return bytes;
}

function hash(seed: number, partition: number, bytes: Uint8Array): Int32Array {
  const out = new Int32Array(4);
  hashTransactionId(seed, partition, bytes, 0, bytes.length, out);
  return out;
}

const hex = (value: number, digits: number) => value.toString(16).padStart(digits, '0');

/** Ids as clients make them, by number; (partition, id) is unique within a style. */
const STYLES: readonly { readonly name: string; readonly id: (n: number) => [number, string] }[] = [
  { name: 'decimal counters', id: (n) => [1, String(n)] },
  { name: 'prefixed counters', id: (n) => [7, `order-2031-${String(n).padStart(12, '0')}`] },
  {
    name: 'counters before a long tail',
    id: (n) => [7, `${n}@warehouse.eu-central.example.com/v1`],
  },
  { name: 'one id in many partitions', id: (n) => [n, 'the-only-id'] },
  { name: 'small ids in many partitions', id: (n) => [n % 4096, String(Math.floor(n / 4096))] },
  {
    name: 'time-ordered UUIDs',
    id: (n) => [
      3,
      `0190${hex(n >> 6, 4)}-${hex(n & 63, 4)}-7000-8000-0000000000${hex(n & 255, 2)}${hex(n, 8)}`,
    ],
  },
  { name: 'high characters', id: (n) => [3, `ключ-${n}-\u{1f511}`] },
  { name: 'runs of one byte', id: (n) => [Math.floor(n / 200), '\0'.repeat(n % 200)] },
];
const IDS = 1_000_000;
const ID_BYTES_MAX = 200;

describe('a million ids of one style', () => {
  it.each(STYLES)('$name: no collision, and no crowding of 64 bits', ({ id }) => {
    const scratch = new Uint8Array(ID_BYTES_MAX);
    const out = new Int32Array(4);
    const low = new BigUint64Array(IDS);
    const high = new BigUint64Array(IDS);
    const lowHalves = new Int32Array(low.buffer);
    const highHalves = new Int32Array(high.buffer);
    const words = new Int32Array(IDS);
    for (let n = 0; n < IDS; n++) {
      const [partition, text] = id(n);
      hashTransactionId(0, partition, scratch, 0, utf8Write(scratch, 0, text), out);
      const [a = 0, b = 0, c = 0, d = 0] = out;
      lowHalves[2 * n] = a;
      lowHalves[2 * n + 1] = b;
      highHalves[2 * n] = c;
      highHalves[2 * n + 1] = d;
      words[n] = a;
    }
    // A million random values of 64 bits collide once in 37 million trials.
    expect(repeats(low)).toBe(0);
    expect(repeats(high)).toBe(0);
    // ... and of 32 bits: n^2 / 2^33 = 116 times, with a deviation of 11.
    const narrow = repeats(words);
    expect(narrow).toBeGreaterThan(116 - 75);
    expect(narrow).toBeLessThan(116 + 75);
  });
});

function repeats(values: BigUint64Array | Int32Array): number {
  values.sort();
  let found = 0;
  for (let i = 1; i < values.length; i++) if (values[i] === values[i - 1]) found++;
  return found;
}

describe('avalanche', () => {
  it.each([1, 4, 11, 16, 17, 36, 61])(
    'of ids of %i bytes',
    (length) => {
      const samples = 1500;
      const flips = new Float64Array(length * 8 * 128);
      const bytes = new Uint8Array(length);
      let state = 12345;
      for (let sample = 0; sample < samples; sample++) {
        for (let i = 0; i < length; i++) {
          state = (Math.imul(state, 1664525) + 1013904223) | 0;
          bytes[i] = state >>> 24;
        }
        const before = hash(0, sample, bytes);
        for (let bit = 0; bit < length * 8; bit++) {
          bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
          const after = hash(0, sample, bytes);
          bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
          for (let o = 0; o < 128; o++) {
            const changed = (((before[o >> 5] ?? 0) ^ (after[o >> 5] ?? 0)) >>> (o & 31)) & 1;
            const cell = bit * 128 + o;
            flips[cell] = (flips[cell] ?? 0) + changed;
          }
        }
      }
      // The deviation of one cell is 0.013; six of them cover half a million cells.
      const worst = Math.max(...flips.map((count) => Math.abs(count / samples - 0.5)));
      expect(worst).toBeLessThan(0.08);
    },
    120_000,
  );
});

describe('what the hash covers', () => {
  it('tells seeds, partitions, lengths and contents apart', () => {
    const base = hash(1, 2, bytesOf('id'));
    expect(hash(1, 2, bytesOf('id'))).toEqual(base);
    expect(hash(2, 2, bytesOf('id'))).not.toEqual(base);
    expect(hash(1, 3, bytesOf('id'))).not.toEqual(base);
    expect(hash(1, 2, bytesOf('id\0'))).not.toEqual(base);
    expect(hash(1, 2, bytesOf('di'))).not.toEqual(base);
    expect(hash(1, 2, bytesOf(''))).not.toEqual(hash(1, 2, bytesOf('\0')));
  });

  it('reads exactly the range it is given', () => {
    for (let length = 0; length < 40; length++) {
      const text = 'abcdefghijklmnopqrstuvwxyz0123456789ABCDEF'.slice(0, length);
      const around = bytesOf(`<<<${text}>>>`);
      const out = new Int32Array(4);
      hashTransactionId(9, 9, around, 3, 3 + length, out);
      expect(out).toEqual(hash(9, 9, bytesOf(text)));
    }
  });

  it('is what files were written with', () => {
    const words = [...hash(0, 1, bytesOf('order-1'))].map((word) => hex(word >>> 0, 8));
    expect(words.join('')).toBe('a9ece38e1c4425e14359e7689f80d5d7');
  });
});
