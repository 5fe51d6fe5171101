/**
 * Goal: a client through which one of three nodes is killed loses nothing and stores nothing twice.
 * Method: numbered messages through buffered pushes and a consume loop; the leader is killed while
 * both are at it.
 */
import { Client } from '@svc/client';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Cluster } from '../cluster/cluster.js';

const MESSAGES = 1500;
const PARTITIONS = 8;

let cluster: Cluster;

beforeEach(async () => {
  cluster = await Cluster.create({ size: 3 });
  await cluster.startAll();
});

afterEach(async ({ task }) => {
  await cluster.close(task.result?.state === 'fail');
});

test('a leader is killed in mid-run: every message is stored once, in order', async () => {
  const leader = await cluster.waitForLeader();
  const urls = cluster.nodes.map(({ settings }) => `http://127.0.0.1:${settings.httpPort}`);
  const client = new Client({ urls, timeoutMillis: '5s', retryDelayMillis: 200 });
  const orders = client.queue<number>('orders');
  // What the leader has claimed for an answer that dies with it comes again when its lease ends.
  await orders.config({ leaseTime: 2 }).create();
  const queue = orders.group('g');
  const seen = new Map<string, number[]>();
  let handled = 0;
  let pushed = 0;
  let pushedAtKill = MESSAGES;
  let killed: Promise<unknown> | null = null;
  const consuming = queue
    .concurrency(4)
    .batch(20)
    .timeoutMillis('2s')
    .consume((messages) => {
      for (const { partition, offset, data } of messages) {
        const offsets = seen.get(partition) ?? [];
        seen.set(partition, offsets);
        offsets[offset] = data;
      }
      handled += messages.length;
      if (handled > MESSAGES / 6 && killed === null) {
        pushedAtKill = pushed;
        killed = leader.kill();
      }
    });
  const buffered = queue.buffer({ messageCount: 50, timeMillis: 10, retryDelayMillis: 100 });
  for (let i = 0; i < MESSAGES; i++) {
    await buffered.push({ payload: i, partition: `p${i % PARTITIONS}` });
    pushed++;
  }
  const count = () => [...seen.values()].reduce((sum, { length }) => sum + length, 0);
  await expect.poll(count, { timeout: 30_000 }).toBe(MESSAGES);
  expect(await client.close()).toEqual({ unsent: [] });
  await consuming;
  await killed;
  expect(pushedAtKill).toBeLessThan(MESSAGES);
  // Offsets are gapless, so a message that was stored twice would stand at a second one.
  for (let p = 0; p < PARTITIONS; p++) {
    const expected = Array.from({ length: MESSAGES }, (_, i) => i).filter(
      (i) => i % PARTITIONS === p,
    );
    expect(seen.get(`p${p}`)).toEqual(expected);
  }
});
