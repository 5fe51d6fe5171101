/**
 * Goal: what the broker says of a key/value call reaches the client in the words of that surface,
 * values go through byte for byte, and operations are counted. Method: the front over a broker that
 * says what it is told; the contract tables hold the rest.
 */
import type { KvOutcome, Refusal } from '@svc/engine';
import { kvJson } from '@svc/engine';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { TestFront } from '../../testing/front.fake.js';
import { readKvBody } from './kv.js';
import { kvStamp } from './kv-answers.js';
import { compactJson } from './kv-raw-ops.js';

let front: TestFront;

beforeEach(async () => {
  front = await TestFront.start();
});
afterEach(() => front.stop());

function post(body: string) {
  return front.client().request('/api/v1/kv', { body });
}

function results(...all: KvOutcome['results']): KvOutcome {
  return { kind: 'kv', failure: null, results: all };
}

const PUT = '{"op":"put","ns":"n","key":"ä","value":{ "n": 1.50, "s":"é " },"forever":true}';
const VALUE = kvJson('{"n":1.50,"s":"é "}');

test.each([
  ['overloaded', 429, '{"error":"text","code":"overloaded"}'],
  ['internal', 500, '{"error":"text","code":"internal"}'],
  ['storage_full', 507, '{"error":"text","code":"storage_full"}'],
  ['timeout', 503, '{"error":"text","code":"timeout"}'],
  ['too_large', 413, '{"error":"payload_too_large","reason":"too_large","detail":"text"}'],
  [
    'kv_check_needs_cluster_version_5',
    503,
    '{"error":"kv_unavailable","reason":"kv_check_needs_cluster_version_5","detail":"text"}',
  ],
] as const)('the refusal %s', async (reason, status, text) => {
  const refusal: Refusal = { reason, error: 'text' };
  front.service.kv.answers.call = { kind: 'refused', refusal };
  const answer = await post(`[${PUT}]`);
  expect([answer.status, answer.body]).toEqual([status, text]);
  expect(front.server.meters.kv.ops.put).toEqual({ applied: 0, rejected: 0, error: 1 });
});

test('operations are counted by what came of them, and values by their bytes', async () => {
  const judged = { kind: 'judged', loss: 'exists', value: kvJson('12'), version: 3 } as const;
  front.service.kv.answers.call = results({ kind: 'put', version: 7 }, judged, {
    kind: 'got',
    row: null,
  });
  const absent = PUT.replace('"put"', '"putIfAbsent"').replace('ä', 'b');
  await post(`[${PUT},${absent},{"op":"get","ns":"n","key":"k"}]`);
  const { ops, bytes, tookUs } = front.server.meters.kv;
  expect(ops.put).toEqual({ applied: 1, rejected: 1, error: 0 });
  expect(ops.get).toEqual({ applied: 1, rejected: 0, error: 0 });
  expect(bytes).toEqual({ in: 2 * VALUE.length, out: VALUE.length + 2 });
  expect([tookUs.put.count, tookUs.get.count]).toEqual([2, 1]);
});

test('a long value as an entity, with its version as a tag', async () => {
  const value = kvJson(`"${'x'.repeat(60_000)}"`);
  const row = { key: 'a/b', value, version: 9, expiresAtUs: null, updatedAtUs: 0 };
  front.service.kv.answers.call = results({ kind: 'got', row });
  const answer = await front.client().request('/api/v1/kv/n/a/b', { method: 'GET' });
  expect(answer.headers.get('etag')).toBe('"9"');
  expect(JSON.parse(answer.body)).toMatchObject({ key: 'a/b', value: 'x'.repeat(60_000) });
});

test('a list of namespaces that is cut says so, and a whole one does not', async () => {
  const namespaces = [{ namespace: 'n', keys: 2 }];
  for (const [truncated, text] of [
    [false, '{"namespaces":[{"namespace":"n","keys":2}]}'],
    [true, '{"namespaces":[{"namespace":"n","keys":2}],"truncated":true}'],
  ] as const) {
    front.service.kv.answers.namespaces = { kind: 'kv-namespaces', namespaces, truncated };
    const path = '/api/v1/resources/kv/namespaces';
    expect((await front.client().request(path, { method: 'GET' })).body).toBe(text);
  }
});

describe('texts', () => {
  test.each([
    [0, '1970-01-01T00:00:00+00:00'],
    [1_500_000, '1970-01-01T00:00:01.5+00:00'],
    [1_000_001, '1970-01-01T00:00:01.000001+00:00'],
    [1_123_400, '1970-01-01T00:00:01.1234+00:00'],
    [10_000_000, '1970-01-01T00:00:10+00:00'],
  ])('the stamp %i', (stampUs, text) => {
    expect(kvStamp(stampUs)).toBe(text);
  });

  test.each([
    ['[1, 2]', '[1,2]'],
    [' {"a" :\t"b c\\" d" , "e":\n[ ] } ', '{"a":"b c\\" d","e":[]}'],
    ['"  \\\\ "', '"  \\\\ "'],
    ['1.50', '1.50'],
  ])('%s without the space in it', (json, compact) => {
    expect(Buffer.from(compactJson(Buffer.from(json))).toString()).toBe(compact);
  });

  test.each([
    ['"k"', 'k'],
    ['"\\u00e9"', 'é'],
    ['7', '7'],
    ['1.50', '1.50'],
    ['true', 'true'],
    ['null', null],
    ['{}', null],
    ['[1]', null],
    ['"\\ud800"', '\ud800'],
  ])('%s read as text is %s', (json, text) => {
    const raw = readKvBody(Buffer.from(`[{"op":"get","ns":"n","key":${json}}]`));
    expect(raw.text(0, 'key')).toBe(text);
  });

  test('more operations than the first columns hold', () => {
    const ops = Array.from({ length: 300 }, (_, i) => ({ op: 'get', ns: 'n', key: `k${i}` }));
    const raw = readKvBody(Buffer.from(JSON.stringify({ operations: ops })));
    expect([raw.count, raw.text(299, 'key'), raw.text(0, 'key')]).toEqual([300, 'k299', 'k0']);
  });
});
