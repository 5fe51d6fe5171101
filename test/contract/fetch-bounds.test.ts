/**
 * Goal: one fetch cannot make the node build an answer of any size. Method: 45 MiB of messages and
 * a request that names them more than a thousand times; what does not fit comes with the next
 * request.
 */
import type { FetchAnswer } from '@svc/wire';
import { expect, it } from 'vitest';
import { bodyOf } from './broker-api.js';
import { uniqueQueue, useNode } from './node-fixture.js';

const node = useNode();
const PAYLOAD_BYTES = 1_000_000;
const MESSAGES = 45;
const ANSWER_BYTES_MAX = 32 * 1024 * 1024;

it('an answer is cut, keeps its order and its watermarks, and reading goes on', async () => {
  const queue = uniqueQueue('wide');
  const payload = 'x'.repeat(PAYLOAD_BYTES);
  for (let i = 0; i < MESSAGES; i++) {
    const body = { items: [{ queue, partition: 'p', payload }] };
    bodyOf(await node.client.post('/api/v1/push', body), 201);
  }
  const entry = { queue, partition: 'p', maxBytes: 8_388_608 };
  const many = Array.from({ length: 1024 }, () => ({ ...entry, offset: 0 }));
  const request = { entries: many, maxWaitMs: 20_000, minBytes: 2_000_000_000 };
  const { entries } = bodyOf(await node.client.post('/api/v1/fetch', request), 200) as FetchAnswer;
  expect(entries).toHaveLength(1024);
  const records = entries.reduce((sum, { records: some }) => sum + some.length, 0);
  expect(records * PAYLOAD_BYTES).toBeLessThan(ANSWER_BYTES_MAX);
  expect(records).toBeGreaterThan(20);
  expect(entries[1023]).toMatchObject({ records: [], highWatermark: MESSAGES });

  const offsets: number[] = [];
  while (offsets.length < MESSAGES) {
    const next = { entries: [{ ...entry, offset: offsets.length }] };
    const answer = bodyOf(await node.client.post('/api/v1/fetch', next), 200) as FetchAnswer;
    for (const { offset } of answer.entries[0]?.records ?? []) offsets.push(offset);
  }
  expect(offsets).toEqual(Array.from({ length: MESSAGES }, (_, offset) => offset));
});
