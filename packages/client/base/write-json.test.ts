// Goal: what JSON cannot hold is refused by the path at which it stands, and all else is written.
import { expect, test } from 'vitest';
import { writeJson } from './write-json.js';

const cycle: { self?: unknown } = {};
cycle.self = cycle;
const deep = JSON.parse('['.repeat(121) + ']'.repeat(121)) as unknown;

const REFUSED: readonly [value: unknown, text: string][] = [
  [undefined, 'payload is undefined: write null, or leave it out'],
  [{ a: [{ b: 1n }] }, 'payload.a[0].b is a BigInt: write it as a text'],
  [{ a: { c: undefined } }, 'payload.a.c is undefined'],
  [[1, () => 0], 'payload[1] is a function: leave it out'],
  [{ s: Symbol('x') }, 'payload.s is a symbol'],
  [{ n: Number.NaN }, 'payload.n is NaN: write null'],
  [{ n: -Infinity }, 'payload.n is -Infinity'],
  [[new Map([[1, 2]])], 'payload[0] is a Map, of which JSON holds nothing'],
  [cycle, 'payload.self.self'],
  [cycle, 'is nested deeper than 120 levels, or in a cycle'],
  [deep, 'is nested deeper than 120 levels'],
  // biome-ignore lint/suspicious/noSparseArray: the hole is what is tested
  [[1, , 2], 'payload[1] is undefined'],
  [{ at: { toJSON: () => ({ x: 1n }) } }, 'payload.at.x is a BigInt'],
];

test.each(REFUSED)('refused: %#', (value, text) => {
  expect(() => writeJson(value, 'payload')).toThrow(TypeError);
  expect(() => writeJson(value, 'payload')).toThrow(text);
});

test('what JSON holds is written as JSON.stringify does', () => {
  const same = { again: 1 };
  const value = { a: [same, same], d: new Date(0), t: 'ä\u2028"', n: -1.5e-7, z: null, f: false };
  expect(writeJson(value, 'payload')).toBe(JSON.stringify(value));
});
