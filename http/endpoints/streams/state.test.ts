/**
 * Goal: what a read of streaming state says when it is cut short by a bound or a change is answered
 * as documented, and what is asked reaches the reader as it was meant. Method: real requests
 * against a fake service.
 */
import type { StreamStateAnswer } from '@svc/engine';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { TestFront } from '../../testing/front.fake.js';
import { streamRowsText } from './state.js';

const ID = '0193f0c4-1a2b-7c3d-8e4f-5a6b7c8d9e0f';

let front: TestFront;

beforeEach(async () => {
  front = await TestFront.start();
});
afterEach(() => front.stop());

async function ask(answer: StreamStateAnswer<Uint8Array>, fields: object = {}) {
  front.service.streams.answers.state = { kind: 'stream-state', answer };
  const body = JSON.stringify({ query_id: ID, partition_id: '17', ...fields });
  return front.client().request('/streams/v1/state/get', { body });
}

test('rows are copied byte for byte, with stamps of microseconds', async () => {
  const value = new Uint8Array(Buffer.from('{"é": 1.0}'));
  const rows = [
    { key: 'a\u001f"ü', value, updatedAtUs: 1_792_000_000_000_120 },
    { key: '', value: new Uint8Array([0x31]), updatedAtUs: 0 },
  ];
  const pieces = [streamRowsText(rows), streamRowsText(rows.slice(1))];
  const { status, body } = await ask({ result: 'rows', pieces });
  expect([status, body]).toEqual([
    200,
    '{"success":true,"rows":[{"key":"a\\u001f\\"ü","value":{"é": 1.0},' +
      '"updated_at":"2026-10-14T17:46:40.000120Z"},' +
      '{"key":"","value":1,"updated_at":"1970-01-01T00:00:00.000000Z"},' +
      '{"key":"","value":1,"updated_at":"1970-01-01T00:00:00.000000Z"}]}',
  ]);
});

test.each([
  ['missing', 404, undefined, 'not found'],
  ['too-large', 413, 'too_large', 'the rows asked for are more than one answer holds'],
  ['unsteady', 503, 'retry', 'changes faster than it is read'],
  ['no-room', 503, 'overloaded', 'too much streaming state is being read'],
] as const)('%s is %i', async (result, status, code, error) => {
  const answer = await ask({ result });
  const body = JSON.parse(answer.body) as { readonly code?: string; readonly error: string };
  expect([answer.status, body.code]).toEqual([status, code]);
  expect(body.error).toContain(error);
});

test('filters that say nothing are no filters', async () => {
  const all = { keys: null, keyPrefix: '', ripeAtOrBefore: null };
  for (const fields of [{}, { keys: [], key_prefix: '', ripe_at_or_before: null }]) {
    await ask({ result: 'missing' }, fields);
    expect(front.service.streams.asked.at(-1)?.[0]).toMatchObject({
      queryId: ID,
      partitionId: '17',
      ...all,
    });
  }
  await ask({ result: 'missing' }, { keys: ['a'], key_prefix: 'a', ripe_at_or_before: -1 });
  expect(front.service.streams.asked.at(-1)?.[0]).toMatchObject({
    keys: ['a'],
    keyPrefix: 'a',
    ripeAtOrBefore: -1,
  });
});
