// Goal: what is written by a schema is what JSON.stringify writes. Method: values that are what
// their schema says, and values that are not, of every kind of schema, against JSON.stringify.
import {
  anything,
  constant,
  count,
  either,
  list,
  named,
  nothing,
  nullable,
  number,
  object,
  oneOf,
  optional,
  record,
  type Schema,
  text,
  truth,
} from '@svc/schema';
import { expect, test } from 'vitest';
import { jsonOf } from './answer-writer.js';

const row = named('Row', object({ name: text, n: count, at: nullable(text) }));
const everything = object({
  first: optional(text),
  kind: constant('svc'),
  isDone: constant(true),
  mode: oneOf('a', 'b'),
  nothing,
  flag: truth,
  share: number,
  rows: list(row),
  one: nullable(row),
  either: either(text, count),
  record: record(count),
  any: anything,
  last: optional(count),
});

const VALUES: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -0,
  1.5,
  1e21,
  5e-324,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  '',
  'x',
  'svc',
  'a',
  '"\\\u0001\ud800 ü 🜁\u2028',
  'y'.repeat(100),
  '\n'.repeat(100),
  [],
  [null],
  ['x', 1],
  {},
  { name: 'x', n: 1, at: null },
];
const GOOD = {
  kind: 'svc',
  isDone: true,
  mode: 'a',
  nothing: null,
  flag: false,
  share: 0.25,
  rows: [{ name: 'x', n: 1, at: null }],
  one: null,
  either: 'x',
  record: { __proto__: null, 7: 1 },
  any: [1],
};

/** As `JSON.stringify`, of which nothing but a member that is absent is missing. */
function expectSame(schema: Schema<unknown>, value: unknown): void {
  expect(jsonOf(schema, value)).toBe(JSON.stringify(value));
}

test.each(Object.keys(GOOD))('%s with values of every kind', (name) => {
  for (const value of VALUES) {
    // Members that the schema does not know are not written.
    const isOther = ['rows', 'one'].includes(name) && JSON.stringify(value) === '{}';
    if (!isOther) expectSame(everything as Schema<unknown>, { ...GOOD, [name]: value });
  }
});

test('absent members', () => {
  expectSame(everything as Schema<unknown>, { first: 'x', ...GOOD });
  expectSame(everything as Schema<unknown>, { ...GOOD, last: 1 });
  const optionals = object({ a: optional(text), b: optional(text) }) as Schema<unknown>;
  for (const value of [{}, { a: 'x' }, { b: 'x' }, { a: 'x', b: 'y' }])
    expectSame(optionals, value);
});

test('a list of many, and other things than a list', () => {
  const rows = list(row) as Schema<unknown>;
  for (const value of [[], GOOD.rows, [...GOOD.rows, ...GOOD.rows], null, 'x']) {
    expectSame(rows, value);
  }
});

test('members in the order of the schema, and no others', () => {
  const value = { b: 1, a: 'x', c: 2 };
  expect(jsonOf(object({ a: text, b: count }), value)).toBe('{"a":"x","b":1}');
});

test('a name that must be escaped', () => {
  expect(jsonOf(object({ 'a"b': text }), { 'a"b': 'x' })).toBe('{"a\\"b":"x"}');
});
