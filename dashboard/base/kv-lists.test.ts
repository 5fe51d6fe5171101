import { expect, test } from 'vitest';
import { putBody, valueFault } from './kv-lists.js';

const write = { ns: 'n', key: 'a"b', value: '{"n":1.0}', expect: 7 } as const;
const now = Date.parse('2026-01-01T00:00:00Z');

test('a value is written as it was typed, beside the version that was read', () => {
  const body = putBody({ ...write, expiry: { kind: 'never' } }, now);
  expect(body).toBe(
    '[{"op":"put","ns":"n","key":"a\\"b","forever":true,"expect":7,"value":{"n":1.0}}]',
  );
  const any = putBody({ ...write, expect: null, expiry: { kind: 'after', seconds: 60 } }, now);
  expect(JSON.parse(any)).toEqual([
    { op: 'put', ns: 'n', key: 'a"b', ttlSeconds: 60, value: { n: 1 } },
  ]);
});

test('a row that keeps its expiry lives no shorter than before', () => {
  const of = (at: string | null) =>
    JSON.parse(putBody({ ...write, expiry: { kind: 'same', at } }, now))[0];
  expect(of('2026-01-01T00:01:00.200000Z')).toMatchObject({ ttlSeconds: 61 });
  // It expired while it was edited: the version guard decides.
  expect(of('2025-12-31T23:59:00Z')).toMatchObject({ ttlSeconds: 1 });
  expect(of(null)).toMatchObject({ forever: true });
});

test('what is no JSON is said before it is sent', () => {
  expect(valueFault('12345678901234567890')).toBeNull();
  expect(valueFault('1,"forever":true')).toMatch(/^This is no JSON/);
  expect(valueFault('')).toMatch(/^This is no JSON/);
});
