/**
 * Goal: a value has one form, which comes back as it was; records grow; and bytes that are anything
 * else are refused without an exception, or are a value whose only form they are.
 * Method: random values of a record that has every kind of field, with every cut and every flipped
 * bit of them; records that gained fields, in both directions; forms that are longer than needed.
 */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EngineBug } from '../assert.js';
import { ByteWriter } from '../bytes.js';
import { GuardedReader } from '../guarded-reader.js';
import type { Key } from '../state.js';
import { choice, kind } from './choice.js';
import * as fields from './field.js';
import { added, type Form, maybe, record, rest, single } from './record.js';

const inner = record({ id: fields.uuid, at: fields.offset });

const everything = record({
  count: fields.count,
  some: fields.within(3, 70_000),
  offset: fields.offset,
  u32: fields.u32,
  int32: fields.int32,
  signed: fields.signed,
  flag: fields.flag,
  word: fields.oneOf(['one', 'two', null]),
  text: fields.text,
  short: fields.textTo(9),
  uuid: fields.uuid,
  key: fields.key,
  four: fields.characters<string>(4),
  bytes: fields.bytes,
  view: fields.view,
  none: fields.nullable(fields.text),
  list: fields.list(fields.text, 5),
  rows: fields.list(inner, 5),
  ascending: fields.ascending(5),
  maybe: maybe(inner),
  choice: choice('is', { a: kind(0, {}), b: kind(7, { n: fields.count, row: inner }) }),
  even: fields.refined(fields.count, (n) => n % 2 === 0),
  double: fields.mapped(
    fields.count,
    (n: number) => n / 2,
    (n) => n * 2,
  ),
  later: added(fields.text, 'none'),
  latest: added(fields.count, 7),
});
type Everything = fields.Infer<typeof everything>;

const text = fc.string({ unit: 'grapheme', maxLength: 200 }).filter((one) => one.isWellFormed());
const latin1 = (length: fc.StringConstraints) =>
  fc.string({ ...length, unit: fc.nat(255).map((code) => String.fromCharCode(code)) });
const nat = fc.oneof(fc.nat(300), fc.maxSafeNat());
const small = fc.record({ id: fc.uuid(), at: fc.integer({ min: -1, max: 2 ** 41 }) });
const u32 = fc.nat(0xffff_ffff);
const anything: fc.Arbitrary<Everything> = fc.record({
  count: nat,
  some: fc.integer({ min: 3, max: 70_000 }),
  offset: fc.integer({ min: -1, max: Number.MAX_SAFE_INTEGER - 1 }),
  u32,
  int32: fc.integer(),
  signed: fc.maxSafeInteger(),
  flag: fc.boolean(),
  word: fc.constantFrom('one', 'two', null),
  text,
  short: fc.constantFrom('', 'äöü', '😀é'),
  uuid: fc.uuid(),
  key: latin1({ maxLength: 200 }).map((one) => one as Key),
  four: latin1({ minLength: 4, maxLength: 4 }),
  bytes: fc.uint8Array({ maxLength: 300 }),
  view: fc.uint8Array({ maxLength: 300 }),
  none: fc.option(text),
  list: fc.array(text, { maxLength: 5 }),
  rows: fc.array(small, { maxLength: 5 }),
  ascending: fc.array(u32, { maxLength: 5 }).map((list) => list.sort((a, b) => a - b)),
  maybe: fc.option(small),
  choice: fc.oneof(
    fc.constant({ is: 'a' } as const),
    fc.record({ is: fc.constant('b' as const), n: nat, row: small }),
  ),
  even: fc.nat().map((n) => n * 2),
  double: fc.nat().map((n) => n * 2),
  later: fc.constantFrom('none', 'some'),
  latest: fc.constantFrom(7, 8),
});

function encode<Value>({ writeFields }: Form<Value>, value: Value): Uint8Array {
  const w = new ByteWriter(1);
  writeFields(w, value);
  return w.bytes.slice(0, w.length);
}

/** undefined: refused. */
function decode<Value>(
  { readFields }: Pick<Form<Value>, 'readFields'>,
  bytes: Uint8Array,
): Value | undefined {
  const r = new GuardedReader(bytes);
  const value = readFields(r);
  return r.whole ? value : undefined;
}

/** Refused, or the one form of what it is. */
function isSound<Value>(form: Form<Value>, bytes: Uint8Array): boolean {
  const value = decode(form, bytes);
  return value === undefined || Buffer.compare(encode(form, value), bytes) === 0;
}

describe('a record of every kind of field', () => {
  test('comes back as it was', () => {
    fc.assert(
      fc.property(anything, (value) => {
        expect(decode(everything, encode(everything, value))).toEqual(value);
      }),
    );
  });

  test('that is cut anywhere is refused, or a value of which it is the form', () => {
    fc.assert(
      fc.property(anything, (value) => {
        const whole = encode(everything, value);
        for (let length = 0; length < whole.length; length++) {
          if (!isSound(everything, whole.subarray(0, length))) expect(length).toBe(-1);
        }
      }),
      { numRuns: 30 },
    );
  });

  test('with any bit flipped is refused, or a value of which it is the form', () => {
    fc.assert(
      fc.property(anything, (value) => {
        const bytes = encode(everything, value);
        for (let bit = 0; bit < bytes.length * 8; bit++) {
          const mask = 1 << (bit & 7);
          bytes[bit >>> 3] = (bytes[bit >>> 3] ?? 0) ^ mask;
          if (!isSound(everything, bytes)) expect(bit).toBe(-1);
          bytes[bit >>> 3] = (bytes[bit >>> 3] ?? 0) ^ mask;
        }
      }),
      { numRuns: 10 },
    );
  });

  test('bytes at random are refused, or a value of which they are the form', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(isSound(everything, bytes)).toBe(true);
      }),
    );
  });
});

describe('a record that gained fields', () => {
  const first = record({ name: fields.text, at: fields.count });
  const second = record({ ...first.fields, note: added(fields.text, '-') });
  const third = record({ ...second.fields, isOpen: added(fields.flag, true) });
  const row = { name: 'n', at: 5 };

  test('reads the rows of the builds before it, and writes them as they were', () => {
    const bytes = encode(first, row);
    const read = decode(third, bytes);
    expect(read).toEqual({ ...row, note: '-', isOpen: true });
    expect(encode(third, { ...row, note: '-', isOpen: true })).toEqual(bytes);
    expect(encode(third, { ...row, note: 'x', isOpen: true })).toEqual(
      encode(second, { ...row, note: 'x' }),
    );
  });

  test('writes a default that stands before another value', () => {
    const value = { ...row, note: '-', isOpen: false };
    expect(decode(third, encode(third, value))).toEqual(value);
  });

  test('has no second form of a default', () => {
    const bytes = encode(record({ ...first.fields, note: fields.text }), { ...row, note: '-' });
    expect(decode(second, bytes)).toBeUndefined();
  });

  test('is refused by a build before it, which is told by how much', () => {
    const r = new GuardedReader(encode(second, { ...row, note: 'x' }));
    first.readFields(r);
    expect([r.whole, r.surplus]).toEqual([false, 2]);
  });

  test('may stand anywhere in another one', () => {
    const around = (one: typeof first | typeof third) =>
      record({
        rows: fields.list(one as typeof first, 5),
        maybe: maybe<fields.Infer<typeof first>>(one as typeof first),
        what: choice('is', { a: kind(1, { row: one as typeof first }) }),
        row: rest<fields.Infer<typeof first>>(one as typeof first),
      });
    const value = { rows: [row, row], maybe: row, what: { is: 'a' as const, row }, row };
    const grown = { ...row, note: '-', isOpen: true };
    expect(decode(around(third), encode(around(first), value))).toEqual({
      rows: [grown, grown],
      maybe: grown,
      what: { is: 'a', row: grown },
      row: grown,
    });
  });

  test('a single value grows into a record', () => {
    const grown = record({ number: fields.count, note: added(fields.text, '') });
    const bytes = encode(single(fields.count), 300);
    expect(decode(grown, bytes)).toEqual({ number: 300, note: '' });
  });

  test('takes no required field behind an added one', () => {
    expect(() => record({ a: added(fields.count, 0), b: fields.count })).toThrow(EngineBug);
  });
});

describe('what has another form', () => {
  test.each<[string, Pick<Form<unknown>, 'readFields'>, number[]]>([
    ['a number of more bytes than it needs', single(fields.count), [0x85, 0]],
    ['a number above 2^53 - 1', single(fields.count), [255, 255, 255, 255, 255, 255, 255, 127]],
    ['a number of nine bytes', single(fields.count), [128, 128, 128, 128, 128, 128, 128, 128, 1]],
    ['a flag of 2', single(fields.flag), [2]],
    ['minus zero', single(fields.signed), [2, 0]],
    ['a word that is none', single(fields.oneOf(['a', 'b'])), [2]],
    ['a text that is no UTF-8', single(fields.text), [1, 0xff]],
    ['a longer spelling of a character', single(fields.text), [2, 0xc1, 0x81]],
    ['a surrogate', single(fields.text), [3, 0xed, 0xa0, 0x80]],
    ['a text above its bound', single(fields.textTo(2)), [3, 97, 97, 97]],
    ['more elements than are allowed', single(fields.list(fields.count, 1)), [2, 1, 1]],
    ['a kind of no choice', single(choice('is', { a: kind(1, {}) })), [2, 0]],
    ['a record longer than what is left', single(record({ n: fields.count })), [9, 1]],
    ['a record with more than its fields', single(record({ n: fields.count })), [2, 1, 1]],
  ])('%s is refused', (_, form, bytes) => {
    expect(decode(form, Uint8Array.from(bytes))).toBeUndefined();
  });

  test.each<[string, Pick<Form<unknown>, 'readFields'>]>([
    ['bytes', single(fields.bytes)],
    ['a view', single(fields.view)],
    ['a text', single(fields.text)],
    ['a key', single(fields.key)],
    ['a list', single(fields.list(fields.uuid, 0xffff_ffff))],
  ])('%s of a length that is not there costs nothing', (_, form) => {
    const bytes = Uint8Array.from([255, 255, 255, 255, 15]);
    const before = process.memoryUsage().arrayBuffers;
    for (let i = 0; i < 100; i++) expect(decode(form, bytes)).toBeUndefined();
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1 << 20);
  });
});

test('a text with a lone surrogate is written as UTF-8 all the same', () => {
  const bytes = encode(single(fields.text), 'a\ud800b😀\udc00');
  expect(decode(single(fields.text), bytes)).toBe('a\ufffdb😀\ufffd');
});
