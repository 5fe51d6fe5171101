// Goal: a transaction is repeated only when that cannot do it twice, and its verdicts come out as
// documented. Method: a scripted broker.
import { expect, test } from 'vitest';
import {
  FakePlatform,
  lostConnection,
  refusedConnection,
  type Script,
} from '../base/platform.fake.js';
import { Client } from '../client.js';
import type { Transaction } from './transaction.js';

const check = { op: 'check', ns: 'svc-locks', key: 'job#0', expect: 5, required: true } as const;

function transactionOf(script: Script) {
  const platform = new FakePlatform(script);
  const client = new Client('http://a:1', platform);
  return { platform, transaction: client.transaction() };
}

const PARTS: readonly [add: (transaction: Transaction) => Transaction, isGuarded: boolean][] = [
  [(tx) => tx.queue('q').push({ payload: 1 }), false],
  [(tx) => tx.kv({ op: 'incr', ns: 'n', key: 'k', delta: 1, forever: true }), false],
  [(tx) => tx.queue('q').push({ payload: 1 }).guard({ guard: check }), false],
  [(tx) => tx.once('k'), true],
  [(tx) => tx.kv({ op: 'put', ns: 'n', key: 'k', value: 1, expect: 3, required: true }), true],
  [(tx) => tx.kv({ op: 'put', ns: 'n', key: 'k', value: 1, expect: 3 }), false],
];

test.each(PARTS)('repeated after a lost answer? %#', async (add, isGuarded) => {
  const script: Script = (_, nth) => (nth === 0 ? lostConnection() : '{"success":true}');
  const { platform, transaction } = transactionOf(script);
  const commit = platform.settled(add(transaction).commit());
  if (isGuarded) expect(await commit).toEqual({ success: true });
  else await expect(commit).rejects.toMatchObject({ outcomeUnknown: true });
});

/** `reserved` passes, and may be the first try that is still under way. */
const REFUSALS = ['duplicate', 'rejected_ack', 'reserved', 'kv_precondition'];

test.each(REFUSALS)('refused as %s after a lost answer: in doubt, but for once', async (reason) => {
  const reserved = { json: { success: false, reason: 'reserved' } };
  const commitOf = (found: boolean, isOnce: boolean) => {
    const { platform, transaction } = transactionOf(({ path, body = '' }, nth) => {
      if (path === '/api/v1/kv') {
        expect(JSON.parse(body)).toEqual({ operations: [{ op: 'get', ns: 'once', key: 'k' }] });
        return { json: { results: [{ found }] } };
      }
      const refused = { json: { success: false, reason, transactionId: 't' } };
      return [lostConnection(), reserved][nth] ?? refused;
    });
    const put = { op: 'put', ns: 'n', key: 'k', value: 1, expect: 3, required: true } as const;
    transaction.queue('q').push({ payload: 1 }).kv(put);
    if (isOnce) transaction.once('k');
    return platform.settled(transaction.commit());
  };
  const facts = { reason, code: 'outcome_unknown', outcomeUnknown: true };
  await expect(commitOf(true, false)).rejects.toMatchObject(facts);
  await expect(commitOf(false, true)).rejects.toMatchObject(facts);
  const verdict = { reason: 'kv_precondition', kvReason: 'exists', failedIndex: 2 };
  expect(await commitOf(true, true)).toEqual({ success: false, ...verdict, transactionId: 't' });
});

test('in doubt too: lost, still under way, then refused for another cause', async () => {
  const reserved = { json: { success: false, reason: 'reserved' } };
  const replies = [lostConnection(), reserved, { status: 507, json: { code: 'storage_full' } }];
  const { platform, transaction } = transactionOf((_, nth) => replies[Math.min(nth, 2)] ?? '');
  const commit = platform.settled(transaction.once('k').commit());
  await expect(commit).rejects.toMatchObject({ code: 'storage_full', outcomeUnknown: true });
});

test('repeated when nothing was sent, or nothing was applied', async () => {
  const refusal = { status: 503, json: { code: 'retry' }, headers: { 'retry-after': '1' } };
  const reserved = { json: { success: false, reason: 'reserved' } };
  const replies = [refusedConnection(), refusal, reserved, { json: { success: true } }];
  const { platform, transaction } = transactionOf((_, nth) => replies[nth] ?? '');
  const commit = transaction.queue('q').push({ payload: 1 }).commit();
  expect(await platform.settled(commit)).toEqual({ success: true });
  const bodies = platform.requests.map(({ body }) => body);
  expect(bodies).toHaveLength(4);
  expect(new Set(bodies).size).toBe(1);
});

test('a precondition is returned, another verdict thrown', async () => {
  const json = { success: false, reason: 'kv_precondition', kvReason: 'exists', failedIndex: 0 };
  const first = transactionOf(() => ({ json }));
  expect(await first.platform.settled(first.transaction.once('k').commit())).toEqual(json);
  const second = transactionOf(() => ({
    json: { success: false, reason: 'rejected_ack', error: 'QTXN' },
  }));
  const commit = second.platform.settled(second.transaction.once('k').commit());
  await expect(commit).rejects.toMatchObject({ reason: 'rejected_ack', outcomeUnknown: false });
  await expect(second.transaction.commit()).rejects.toThrow('commits once: make another');
});

test('a guard that was refused: sent again if the lock was only renewed', async () => {
  const refused = { success: false, reason: 'kv_precondition', kvReason: 'version' };
  // Behind two pushed messages and an operation.
  const replies = [3, 3].map((failedIndex) => ({ json: { ...refused, failedIndex } }));
  const { platform, transaction } = transactionOf((_, nth) => replies[nth] ?? '');
  let token = 5;
  const seen: number[] = [];
  const guard = {
    guard: () => ({ ...check, expect: token }),
    guardRefused: async ({ expect: sent }: { readonly expect: number }) => {
      seen.push(sent);
      return token++ === 5;
    },
  };
  transaction
    .queue('q')
    .push([{ payload: 1 }, { payload: 2 }])
    .guard(guard);
  const commit = transaction.kv({ op: 'get', ns: 'n', key: 'k' }).commit();
  expect(await platform.settled(commit)).toMatchObject({ success: false, failedIndex: 3 });
  expect(seen).toEqual([5, 6]);
  const sent = platform.requests.map(({ body = '' }) => JSON.parse(body).kv);
  expect(sent.map((kv) => kv[1])).toEqual([check, { ...check, expect: 6 }]);
  expect(() => transaction.guard('job' as never)).toThrow('write what acquire() of a lock gave');
});

test('the body: each ack with its own lease, all parts in their lists', async () => {
  const { platform, transaction } = transactionOf(() => '{"success":true}');
  const acked = { transactionId: 't', partitionId: '1', leaseId: 'l', consumerGroup: 'g' };
  await platform.settled(
    transaction
      .ack(acked)
      .queue('out')
      .partition('p')
      .push([{ payload: { a: 1 }, transactionId: 'x' }])
      .once('k', { ttl: '1h' })
      .guard({ guard: () => check, guardRefused: async () => false })
      .timer({ key: 'r', delay: '2s', payload: 'ä', transactionId: 'y' })
      .commit(),
  );
  expect(JSON.parse(platform.requests[0]?.body ?? '')).toEqual({
    operations: [
      { type: 'ack', ...acked, status: 'completed' },
      {
        type: 'push',
        items: [{ queue: 'out', partition: 'p', transactionId: 'x', payload: { a: 1 } }],
      },
    ],
    kv: [
      { op: 'putIfAbsent', ns: 'once', key: 'k', value: true, required: true, ttlSeconds: 3600 },
      check,
    ],
    timers: [
      { op: 'schedule', queue: 'out', timerKey: 'r', delayMs: 2000, txn: 'y', payload: 'IsOkIg==' },
    ],
  });
});
