// Goal: the programs of the closed loop count exactly what the broker did. Method: a broker in
// memory; what was counted is compared with what the other side says.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FakeBroker } from '../broker.fake.js';
import { type BacklogPlan, consumeBacklog, storeBacklog } from './backlog.js';
import { ClosedLoop, LoadFailedError } from './closed-loop.js';
import { ConsumeProgram } from './consume-program.js';
import { PushProgram } from './push-program.js';
import { payloadTexts, pushRequests, shareOf } from './push-requests.js';

let directory = '';
let broker: FakeBroker;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'svc-load-'));
  broker = await FakeBroker.open(directory, 0);
});

afterEach(async () => {
  await broker.close();
  rmSync(directory, { recursive: true });
});

function planOf(messages: number): BacklogPlan {
  const address = { host: '127.0.0.1', port: broker.port };
  return { address, queue: 'q', connections: 3, partitions: 5, payloadBytes: 64, messages };
}

test('what was stored is consumed, once', async () => {
  const stored = await storeBacklog(planOf(1_450));
  expect(stored).toBe(1_500);
  const result = await consumeBacklog(planOf(stored), 'g');
  expect(result.messages).toBe(1_500);
});

test('a held producer goes on when a consumer finished messages', async () => {
  const { address } = planOf(0);
  const tally = { acknowledged: 0 };
  let granted = 0;
  const producer = new PushProgram({
    requests: pushRequests('q', 2, 10, 64),
    batch: 10,
    mayPush: (messages) => {
      const held = granted - tally.acknowledged >= 20 || granted >= 200;
      granted += held ? 0 : messages;
      return !held;
    },
    onStored: () => 0,
  });
  const consumer = new ConsumeProgram('q', 'g', 10, tally);
  const loop = await ClosedLoop.open(address, [producer, consumer]);
  const finished = (): boolean => tally.acknowledged >= 200;
  const result = await loop.run({ warmUpMs: 0, measureMs: 30_000, finished });
  expect(result.messages).toBe(200);
});

test('an answer that is no success fails the run', async () => {
  const requests = pushRequests('q', 1, 1, 64).map((request) =>
    Buffer.from(request.toString().replace('/api/v1/push', '/api/v1/pull')),
  );
  const plan = { requests, batch: 1, mayPush: () => true, onStored: () => 1 };
  const loop = await ClosedLoop.open(planOf(0).address, [new PushProgram(plan)]);
  const run = loop.run({ warmUpMs: 0, measureMs: 30_000, finished: () => false });
  await expect(run).rejects.toThrow(LoadFailedError);
});

test('payload texts are JSON of the given size', () => {
  for (const text of payloadTexts(5, 256)) {
    expect(Buffer.byteLength(text)).toBe(256);
    expect(typeof JSON.parse(text).text).toBe('string');
  }
});

test('shares cover all partitions, and none is empty', () => {
  const requests = pushRequests('q', 5, 1, 64);
  const shares = [0, 1, 2].map((index) => shareOf(requests, index, 3));
  expect(new Set(shares.flat()).size).toBe(5);
  expect(shareOf(requests, 7, 9)).toHaveLength(1);
});
