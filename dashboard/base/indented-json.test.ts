import { expect, test } from 'vitest';
import { indented } from './indented-json.js';

test('white space is added between tokens, and nothing else is touched', () => {
  expect(indented('{"b":1.0,"10":[12345678901234567890,{}],"t":"a,\\"{ b"}')).toBe(
    '{\n  "b": 1.0,\n  "10": [\n    12345678901234567890,\n    {}\n  ],\n  "t": "a,\\"{ b"\n}',
  );
  expect(indented('"x"')).toBe('"x"');
  expect(indented(' [ ] ')).toBe('[]');
});

test('a deep value stays small', () => {
  const deep = '['.repeat(5_000) + ']'.repeat(5_000);
  expect(indented(deep).length).toBeLessThan(500_000);
  expect(indented(deep).replace(/\s/g, '')).toBe(deep);
});
