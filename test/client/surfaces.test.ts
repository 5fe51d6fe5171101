// Goal: the state surfaces of the client and the broker understand each other. Method: one node for
// the file; each test has names of its own.
import { Client, type HeldLock, type LossReason, rawJson } from '@svc/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { uniqueQueue, useNode } from '../contract/node-fixture.js';

const node = useNode();
const BIG = '12345678901234567890';
let client: Client;

beforeAll(() => {
  client = new Client({ url: `http://127.0.0.1:${node.port}`, timeoutMillis: '10s' });
});
afterAll(() => client.close());

async function held(name: string, options = {}): Promise<HeldLock> {
  const lock = await client.lock(name, options).acquire({ wait: '5s' });
  if (lock === null) throw new Error(`${name} is held`);
  return lock;
}

describe('key/value', () => {
  test('put, get and delete, with versions and texts', async () => {
    const kv = client.kv('orders');
    const put = await kv.put('a/b c', rawJson(`{"n":${BIG}}`), { ttl: '1h' });
    expect(put).toMatchObject({ applied: true, reason: null, raw: `{"n":${BIG}}` });
    const row = await kv.get<{ n: number }>('a/b c');
    expect(row).toMatchObject({ key: 'a/b c', raw: `{"n":${BIG}}`, version: put.version });
    const leftMs = Date.parse(row?.expiresAt ?? '') - Date.now();
    expect(leftMs > 3_500_000 && leftMs <= 3_601_000).toBe(true);
    const { version } = await kv.put('a/b c', 1, { forever: true, expect: put.version });
    expect(version).toBeGreaterThan(put.version);
    expect(await kv.put('a/b c', 2, { forever: true, expect: put.version })).toMatchObject({
      applied: false,
      reason: 'version',
      value: 1,
      version,
    });
    expect(await kv.delete('a/b c', { expect: version })).toMatchObject({
      applied: true,
      value: 1,
    });
    expect(await kv.get('a/b c')).toBeNull();
    expect(await kv.delete('a/b c')).toMatchObject({
      applied: false,
      reason: 'absent',
      value: null,
    });
  });

  test('putIfAbsent, once and until', async () => {
    const kv = client.kv('first');
    const until = new Date(Date.now() + 60_000);
    expect(await kv.putIfAbsent('k', 'a', { until })).toMatchObject({ applied: true });
    expect(await kv.putIfAbsent('k', 'b', { until })).toMatchObject({ applied: false, value: 'a' });
    const runs = await Promise.all([1, 2, 3].map(() => kv.once('job', { ttlSeconds: 60 })));
    expect(runs.filter(({ applied }) => applied)).toHaveLength(1);
  });

  test('incr is exact, and bounded', async () => {
    const kv = client.kv('counts');
    await kv.incr('n', '0.1', { forever: true });
    expect(await kv.incr('n', '0.2', { forever: true })).toMatchObject({ value: 0.3, raw: '0.3' });
    const big = await kv.incr('big', BigInt(BIG), { forever: true });
    expect(big.raw).toBe(BIG);
    expect((await kv.incr('big', 1n, { forever: true })).raw).toBe('12345678901234567891');
    const bounded = await kv.incr('n', 5, { forever: true, max: 5 });
    expect(bounded).toMatchObject({ applied: false, reason: 'limit', raw: '0.3' });
  });

  test('getMany, getPrefix and listAll', async () => {
    const kv = client.kv('many');
    const keys = Array.from({ length: 25 }, (_, i) => `u:${String(i).padStart(2, '0')}`);
    for (const key of keys) await kv.put(key, { key }, { forever: true });
    await kv.put('v', 'ä'.repeat(30_000), { forever: true });
    const found = await kv.getMany([...keys, 'none', 'v']);
    expect([found.size, found.get('u:07')?.value, found.has('none')]).toEqual([
      26,
      { key: 'u:07' },
      false,
    ]);
    const page = await kv.getPrefix('u:', { limit: 10, keysOnly: true });
    expect([page.rows.length, page.nextAfter, page.rows[0]?.value]).toEqual([
      10,
      'u:09',
      undefined,
    ]);
    const rest = await kv.getPrefix('u:', { after: page.nextAfter ?? '', limit: 15 });
    expect([rest.rows.length, rest.nextAfter]).toEqual([15, null]);
    const listed: string[] = [];
    for await (const { key } of kv.listAll({ pageSize: 10 })) listed.push(key);
    expect(listed).toEqual([...keys, 'v']);
    expect(await kv.listAll({ prefix: 'u:', pageSize: 7 }).toArray()).toHaveLength(25);
  });

  test('a refusal keeps its code', async () => {
    const put = client.kv('orders').put('k', 'x'.repeat(70_000), { forever: true });
    await expect(put).rejects.toMatchObject({ status: 413, code: 'kv_value_too_large' });
  });
});

describe('locks', () => {
  test('held by one, renewed, released, and free for the next', async () => {
    const first = await held('one');
    expect(await client.lock('one').acquire()).toBeNull();
    const { token } = first;
    expect(await first.renew()).toBe(true);
    expect(first.token).toBeGreaterThan(token);
    const waiting = client.lock('one').acquire({ wait: true });
    expect(await first.release()).toBe(true);
    const second = await waiting;
    expect(second?.token).toBeGreaterThan(token);
    await second?.[Symbol.asyncDispose]();
    expect(await client.kv('svc-locks').get('one#0')).toBeNull();
  });

  test('renews itself for longer than it lives', async () => {
    const lock = await held('alive', { ttl: '1s' });
    const { token } = lock;
    await new Promise((resolve) => setTimeout(resolve, 1300));
    expect([lock.isHeld, lock.signal.aborted, lock.token > token]).toEqual([true, false, true]);
    expect(await client.lock('alive').acquire()).toBeNull();
    expect(await lock.release()).toBe(true);
  });

  test('a permit that is taken away is lost for writes and renewals', async () => {
    const lock = await held('taken');
    const losses: LossReason[] = [];
    lock.onLost((reason) => losses.push(reason));
    const kv = client.kv('orders');
    const guard = lock;
    expect(await kv.put('guarded', 1, { forever: true, guard })).toMatchObject({ applied: true });
    await lock.renew();
    await client.transaction().guard(lock).queue('guarded').push({ payload: 1 }).commit();
    await client.kv('svc-locks').delete('taken#0');
    const late = await kv.put('guarded', 2, { forever: true, guard });
    expect(late).toMatchObject({ applied: false, reason: 'guard' });
    expect([losses, lock.signal.aborted]).toEqual([['guard'], true]);
    const other = await held('taken');
    await client.kv('svc-locks').delete('taken#0');
    expect(await other.renew()).toBe(false);
    expect((await kv.get('guarded'))?.value).toBe(1);
  });

  test('a transaction under a lock that is lost is rolled back', async () => {
    const lock = await held('rolled');
    await client.kv('svc-locks').delete('rolled#0');
    const queue = uniqueQueue('rolled');
    const committed = await client
      .transaction()
      .queue(queue)
      .push({ payload: 1 })
      .guard(lock)
      .commit();
    expect(committed).toMatchObject({ success: false, reason: 'kv_precondition' });
    expect(lock.isHeld).toBe(false);
  });

  test('a semaphore has as many permits as it says', async () => {
    const gpu = client.semaphore('gpu', 2);
    const [a, b, c] = [await gpu.acquire(), await gpu.acquire(), await gpu.acquire()];
    expect([a?.slot, b?.slot].sort()).toEqual([0, 1]);
    expect(c).toBeNull();
    await b?.release();
    expect(await gpu.acquire()).toMatchObject({ slot: b?.slot });
  });

  test('close releases what is held', async () => {
    const other = new Client(`http://127.0.0.1:${node.port}`);
    await other.lock('closed').acquire();
    await other.close();
    expect((await held('closed')).isHeld).toBe(true);
    await expect(other.kv('orders').get('k')).rejects.toMatchObject({ code: 'closed' });
  });
});

describe('timers', () => {
  test('scheduled, shown, replaced, and delivered', async () => {
    const queue = uniqueQueue('timer');
    const timer = client.timer(queue).key('a/b');
    const first = await timer.delay('1h').payload(rawJson(BIG)).schedule();
    expect(first).toMatchObject({ isNew: true, queue, timerKey: 'a/b' });
    const peeked = await timer.peek();
    expect(peeked).toMatchObject({ raw: BIG, messageId: first.messageId, attempts: 0 });
    const again = timer
      .at(Date.now() + 3_600_000)
      .transactionId('t-1')
      .payload({ to: 'ada' });
    expect(await again.schedule()).toMatchObject({ isNew: false, transactionId: 't-1' });
    await client.timer(queue).delay(3_600_000).payload(null).partition('p').schedule();
    const rows = await client.timer(queue).list({ pageSize: 1 }).toArray();
    expect(rows.map(({ partition }) => partition).sort()).toEqual(['Default', 'p']);
    const soon = await timer.delay(50).payload({ to: 'bob' }).schedule();
    const [message] = await client.queue(queue).group('g').wait(true).pop();
    expect(message).toMatchObject({ id: soon.messageId, raw: '{"to":"bob"}' });
    expect(await timer.peek()).toBeNull();
  });

  test('cancelled', async () => {
    const timer = client.timer(uniqueQueue('timer')).key('k');
    await timer.delay('1h').payload(1).schedule();
    expect(await timer.cancel()).toBe(true);
    expect(await timer.cancel()).toBe(false);
    expect(await timer.list().toArray()).toEqual([]);
  });
});

describe('admin', () => {
  test('what a queue and a group come to, and what is done to them', async () => {
    const { admin } = client;
    const queue = uniqueQueue('admin');
    await admin.configureQueue({ queue, options: { leaseTime: 7, namespace: 'ns' } });
    await client.queue(queue).push([1, 2].map((payload) => ({ payload, partition: 'p' })));
    await client.queue(queue).group('g').batch(1).pop();
    expect((await admin.queue(queue)).options.leaseTime).toBe(7);
    expect((await admin.queueDepth(queue, { group: 'g' })).pending).toBe(2);
    const seek = await admin.seekPartition('g', queue, 'p', { toEnd: true });
    expect(seek).toMatchObject({ consumerGroup: 'g', seekToEnd: true });
    expect((await admin.queueDepth(queue, { group: 'g' })).pending).toBe(0);
    const position = { queue, consumerGroup: 'g', partition: 'p' };
    const { positions } = await admin.positions({ positions: [position] });
    expect(positions).toMatchObject([{ ...position, offset: 2 }]);
    const entry = { queue, partition: 'p', offset: 0 };
    const { entries } = await admin.fetch({ entries: [entry] });
    expect(entries[0]?.records.map(({ payload }) => payload)).toEqual([1, 2]);
    expect(await admin.deleteGroupOfQueue('g', queue)).toMatchObject({ success: true });
    expect((await admin.deleteQueue(queue)).deleted).toBe(true);
    await expect(admin.queue(queue)).rejects.toMatchObject({ status: 404 });
  });

  test('dead letters and traces', async () => {
    const { admin } = client;
    const queue = uniqueQueue('admin');
    await client.queue(queue).push([{ payload: 1, transactionId: 'a' }, { payload: 2 }]);
    const [first, second] = await client.queue(queue).group('g').batch(2).pop();
    await client.ack(
      [first, second].flatMap((one) => one ?? []),
      'dlq',
      { error: 'no' },
    );
    const { messages, total } = await admin.deadLetters({ queue, limit: 1 });
    expect([messages.length, total]).toEqual([1, 2]);
    const replayed = await admin.retryMessage(first?.partitionId ?? '', 'a', {
      partition: 'again',
    });
    expect(replayed).toMatchObject({ result: 'moved', partition: 'again' });
    expect(await admin.redriveDeadLetters({ queue })).toMatchObject({ moved: 1, cursor: null });
    expect((await admin.purgeDeadLetters({ queue })).deleted).toBe(0);
    const [partitionId, transactionId] = [first?.partitionId ?? '', 'a'];
    await admin.writeTrace({ partitionId, transactionId, traceNames: ['t-1'], data: { ok: 1 } });
    expect((await admin.traces(partitionId, transactionId)).traces[0]?.names).toEqual(['t-1']);
    expect((await admin.tracesByName('t-1')).total).toBe(1);
  });

  test('lists page by page, and every read that needs no name', async () => {
    const { admin } = client;
    const names: string[] = [];
    for (const n of [1, 2, 3]) {
      const queue = `paged-${n}`;
      names.push(queue);
      await client.queue(queue).push({ payload: n });
      await client.queue(queue).group('paged').pop();
    }
    const listed: string[] = [];
    for await (const { queues } of admin.pages('queues', { limit: 2 })) {
      listed.push(...queues.map(({ name }) => name));
    }
    expect(listed).toEqual(expect.arrayContaining(names));
    const groups: string[] = [];
    for await (const page of admin.pages('groups', { limit: 1 })) {
      expect(page.length).toBeLessThanOrEqual(1);
      groups.push(...page.filter(({ name }) => name === 'paged').map(({ queueName }) => queueName));
    }
    expect(groups).toEqual(names);
    const reads = await Promise.all([
      admin.health(),
      admin.identity(),
      admin.process(),
      admin.metrics(),
      admin.prometheus(),
      admin.overview(),
      admin.raftStatus(),
      admin.raftMembers(),
      admin.membership(),
      admin.link(),
      admin.sharedState(),
      admin.switches(),
      admin.status(),
      admin.workload({ groupBy: 'queue' }),
      admin.queueOps({ queue: 'paged-1' }),
      admin.systemMetrics(),
      admin.kvNamespaces(),
      admin.kvRows({ namespace: 'orders' }),
      admin.timerQueues(),
      admin.ephemeralQueues(),
    ]);
    expect(reads[0].status).toBe('healthy');
    expect(reads[4]).toContain('# TYPE');
    expect(await admin.setSwitches({ timersFire: true })).toMatchObject({
      timersFireEnabled: true,
    });
    expect((await admin.grantQuota({ kind: 'kv', maxRows: 1000 })).maxRows).toBe(1000);
  });
});

test('ephemeral queues', async () => {
  const queue = client.ephemeral('presence');
  expect(await queue.configure({ leaseSeconds: 60, retryLimit: 3 })).toMatchObject({
    retryLimit: 3,
  });
  expect(
    await queue.push([{ payload: rawJson(BIG) }, { payload: { u: 'ä' } }], { partition: 'p' }),
  ).toBe(2);
  const messages = await queue.pop({ group: 'g', batch: 10, partition: 'p' });
  expect(messages.map(({ raw, group }) => [raw, group])).toEqual([
    [BIG, 'g'],
    ['{"u":"ä"}', 'g'],
  ]);
  expect(await queue.ack(messages.slice(0, 1), 'retry')).toEqual(['redelivered']);
  const [again] = await queue.pop({ group: 'g', partition: 'p', wait: '5s' });
  expect(again).toMatchObject({ raw: BIG, attempts: 1 });
  expect(await queue.ack([...messages.slice(1), again ?? { id: '' }])).toEqual(['acked', 'acked']);
  const waiting = queue.pop<{ late: boolean }>({ group: 'g', wait: true, commitOnDelivery: true });
  await queue.push({ payload: { late: true } });
  expect((await waiting)[0]?.payload).toEqual({ late: true });
  await queue.push({ payload: 1 });
  expect(await queue.reset()).toBeGreaterThan(0);
  expect(await queue.pop({ group: 'g' })).toEqual([]);
  expect([await queue.delete(), await queue.delete()]).toEqual([true, false]);
});
