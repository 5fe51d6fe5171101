// Goal: the locks route counts what it did, charges an allowance until the outcome is known,
// whoever is there to hear it, and says how long to wait. Method: the front over a fake service;
// what stands in the contract's tables is shown there.
import { DEFAULT_TENANT } from '@svc/wire';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { GATE_DEFAULTS } from '../../gate/gate.js';
import type { LocksView } from '../../ports/lock-service.js';
import type { Reply } from '../../ports/service.js';
import { TestFront, until } from '../../testing/front.fake.js';
import type { RawClient } from '../../testing/raw-client.fake.js';
import { grantWith } from '../../testing/surface-service.fake.js';

const HELD: LocksView = {
  kind: 'locks',
  results: [
    { index: 0, op: 'acquire', name: 'a', acquired: false, reason: 'held', holders: [] },
    { index: 1, op: 'release', name: 'b', released: true, slot: 0 },
    { index: 2, op: 'get', name: 'c', held: false, holders: [] },
  ],
};
const OPS = JSON.stringify([
  { op: 'acquire', name: 'a', ttlSeconds: 5 },
  { op: 'release', name: 'b', token: 7 },
  { op: 'get', name: 'c' },
]);

let front: TestFront;
let client: RawClient;

beforeEach(async () => {
  const kvWrites = { perSecond: 1, burst: 2 };
  front = await TestFront.start({ gate: { ...GATE_DEFAULTS, kvWrites } });
  client = front.client();
});

afterEach(() => front.stop());

function post(body: string, by = client) {
  return by.request('/api/v1/locks', { method: 'POST', body });
}

test('counts each operation by what came of it', async () => {
  front.service.locks.answers.run = HELD;
  expect((await post(OPS)).status).toBe(200);
  const { locks } = front.server.meters;
  expect(locks.ops.acquire).toEqual({ applied: 0, rejected: 1, error: 0 });
  expect(locks.ops.release).toEqual({ applied: 1, rejected: 0, error: 0 });
  expect(locks.ops.get).toEqual({ applied: 1, rejected: 0, error: 0 });
  expect(locks.tookUs.acquire.count).toBe(1);
});

test('and all of them as errors when the call failed', async () => {
  front.service.locks.answers.run = {
    kind: 'refused',
    refusal: { reason: 'timeout', error: 'the request deadline elapsed' },
  };
  const { status, headers } = await post(OPS);
  expect([status, headers.get('retry-after')]).toEqual([503, '1']);
  const { locks } = front.server.meters;
  expect([locks.ops.acquire.error, locks.ops.release.error, locks.ops.get.error]).toEqual([
    1, 1, 1,
  ]);
});

test('says how long to wait, and counts the refusal', async () => {
  front.service.locks.answers.run = HELD;
  await post(OPS);
  await post(OPS);
  const refused = await post(OPS);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
  expect(refused.body).toBe('{"error":"rate_limited","reason":"rate_limited"}');
  expect(front.server.meters.kv.refused.rate_limited).toBe(1);
  front.service.nowMs += 1000;
  expect((await post(OPS)).status).toBe(200);
});

test('an allowance is given back though the client has gone', async () => {
  front.service.surfaces.grants.set(`kv ${DEFAULT_TENANT}`, grantWith({ maxRows: 1 }));
  const waiting: Reply<LocksView>[] = [];
  front.service.locks.run = (_tenant, _ops, reply) => void waiting.push(reply);
  const leaver = front.client();
  post(OPS, leaver).catch(() => {});
  await until(() => waiting.length === 1);
  const other = await post(OPS);
  expect([other.status, other.body]).toEqual([
    403,
    '{"error":"kv_quota_exceeded","reason":"kv_quota_exceeded"}',
  ]);
  leaver.destroy();
  await until(() => waiting[0]?.gone === true);
  expect(waiting[0]?.send(HELD)).toBe(false);
  front.service.nowMs += 10_000;
  front.service.locks.run = (_tenant, _ops, reply) => void reply.send(HELD);
  expect((await post(OPS)).status).toBe(200);
});
