/**
 * Goal: streams and a real node understand each other, and a worker that is killed in mid-cycle
 * changes nothing. Method: one node for the file; each test has a queue of its own, and they run
 * side by side, since they wait for windows and leases.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  Client,
  Stream,
  type StreamRunner,
  slidingWindowGate,
  tokenBucketGate,
  type Windowed,
} from '@svc/client';
import { afterAll, beforeAll, type ExpectStatic, test } from 'vitest';
import { uniqueQueue, useNode } from '../contract/node-fixture.js';
import { endWithThisProcess } from '../process/node-under-test.js';

const node = useNode();
const WAIT = { timeout: 20_000, interval: 50 };
let client: Client;
let url = '';

beforeAll(() => {
  url = `http://127.0.0.1:${node.port}`;
  client = new Client({ url, timeoutMillis: '10s' });
});
afterAll(() => client.close());

interface Sale {
  readonly n: number;
  readonly at: number;
}

const sales = (from: number, to: number, partitions = 1) =>
  Array.from({ length: to - from }, (_, i) => ({
    payload: { n: from + i, at: (from + i) * 1000 },
    partition: `p${(from + i) % partitions}`,
  }));

/** All that a queue holds, by `count` messages or more. */
async function held<Data>(expect: ExpectStatic, queue: string, count: number): Promise<Data[]> {
  const found: Data[] = [];
  const reader = client.queue<Data>(queue).group('reader').batch(500).partitions(64);
  const take = async () => {
    const messages = await reader.wait(false).pop();
    await client.ack(messages);
    found.push(...messages.map(({ data }) => data));
    return found.length;
  };
  await expect.poll(take, WAIT).toBeGreaterThanOrEqual(count);
  // Nothing else comes.
  expect(await take()).toBe(count);
  return found;
}

async function pending(queue: string, group: string): Promise<number> {
  return (await client.admin.queueDepth(queue, { group })).pending;
}

const sumOf = (windows: readonly Windowed<number>[]) =>
  windows.reduce((sum, { value }) => sum + value, 0);

test.concurrent('a worker is killed between pop and commit, and another one takes over', async ({
  expect,
}) => {
  const [queue, out] = [uniqueQueue('killed'), uniqueQueue('killed-out')];
  await client.queue(queue).push(sales(0, 60, 3));
  const program = `
    import { Client, Stream } from '@svc/client';
    const source = new Client('${url}').queue('${queue}').leaseTime('1s');
    let seen = 0;
    await Stream.from(source)
      .windowTumbling({ seconds: 10, eventTime: ({ at }) => at })
      .reduce(async (sum, { n }) => {
        // Some cycles are committed; one is not.
        if (++seen === 30) {
          console.log('in mid-cycle');
          await new Promise(() => setInterval(() => 0, 1000));
        }
        return sum + n;
      }, 0)
      .to('${out}')
      .run({ queryId: '${queue}', batchSize: 7 });`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program]);
  endWithThisProcess(child);
  await once(child.stdout, 'data');
  child.kill('SIGKILL');
  await once(child, 'close');
  const group = `streams.${queue}`;
  expect(await pending(queue, group)).toBeGreaterThan(20);
  await using runner = await Stream.from(client.queue<Sale>(queue).leaseTime('1s'))
    .windowTumbling({ seconds: 10, eventTime: ({ at }) => at })
    .reduce((sum, { n }) => sum + n, 0)
    .to(out)
    .run({ queryId: queue, batchSize: 7 });
  // It closes all windows.
  const last = [0, 1, 2].map((p) => ({ payload: { n: 0, at: 1e6 }, partition: `p${p}` }));
  await client.queue(queue).push(last);
  const windows = await held<Windowed<number>>(expect, out, 18);
  expect(new Set(windows.map(({ key, windowStart }) => `${key} ${windowStart}`)).size).toBe(18);
  for (const { key, windowStart, windowEnd, value } of windows) {
    const inside = sales(0, 60, 3).filter(
      ({ payload: { at }, partition }) => partition === key && at >= windowStart && at < windowEnd,
    );
    expect(value).toBe(inside.reduce((sum, { payload: { n } }) => sum + n, 0));
  }
  expect(runner.metrics().errors).toBe(0);
});

test.concurrent('windows of silent partitions close once, also after a restart', async ({
  expect,
}) => {
  const [queue, out] = [uniqueQueue('silent'), uniqueQueue('silent-out')];
  const stream = Stream.from<Sale>(queue)
    .keyBy(({ n }) => n % 5)
    .windowTumbling({ seconds: 1, idleFlushMs: 200 })
    .reduce((sum, { n }) => sum + n, 0)
    .to(client.queue(out));
  const start = () => stream.run({ queryId: queue, url, batchSize: 20, maxWaitMillis: 200 });
  const runners: StreamRunner[] = [await start(), await start()];
  for (let i = 0; i < 10; i++) {
    await client.queue(queue).push(sales(i * 40, i * 40 + 40, 8));
    if (i === 5) await runners[0]?.stop();
    await new Promise((resolve) => setTimeout(resolve, 150));
  }
  await expect.poll(() => pending(queue, `streams.${queue}`), WAIT).toBe(0);
  // What this worker leaves open, a new one closes without a message.
  await runners[1]?.stop();
  runners.push(await start());
  const read = client.queue<Windowed<number>>(out).group('reader').batch(500).partitions(64);
  const windows: (Windowed<number> & { partition: string })[] = [];
  const total = (400 * 399) / 2;
  const take = async () => {
    const messages = await read.wait(false).pop();
    await client.ack(messages);
    windows.push(...messages.map(({ data, partition }) => ({ ...data, partition })));
    return sumOf(windows);
  };
  await expect.poll(take, { ...WAIT, timeout: 40_000 }).toBe(total);
  const names = windows.map(({ key, partition, windowStart }) => [partition, key, windowStart]);
  expect(new Set(names.map(String)).size).toBe(windows.length);
  await runners[2]?.stop();
  expect(await take()).toBe(total);
});

test.concurrent('another chain of operators needs reset, which begins anew', async ({ expect }) => {
  const queue = uniqueQueue('reset');
  await client.queue(queue).push(sales(0, 3));
  const sums = Stream.from(client.queue<Sale>(queue)).windowCron({ every: 'week' });
  const first = await sums
    .reduce((sum, { n }) => sum + n, 0)
    .foreach(() => undefined)
    .run({ queryId: queue });
  await expect.poll(() => first.metrics().messages, WAIT).toBe(3);
  await first.stop();
  await first.ended;
  const seen: number[] = [];
  const other = sums.aggregate({ sum: ({ n }) => n }).foreach(({ value }) => seen.push(value.sum));
  const refused = other.run({ queryId: queue });
  await expect(refused).rejects.toMatchObject({ status: 409 });
  await expect(refused).rejects.toThrow('retry with reset:true');
  const ending = new AbortController();
  const second = await other.run({ queryId: queue, reset: true, signal: ending.signal });
  expect(second.id).toBe(first.id);
  const [{ id = '' } = {}] = (await client.admin.queue(queue)).partitions;
  const state = await node.api.client.post('/streams/v1/state/get', {
    query_id: second.id,
    partition_id: id,
  });
  expect(JSON.parse(state.text)).toMatchObject({ rows: [] });
  ending.abort();
  await second.ended;
});

test.concurrent('gates keep the order and the rate', async ({ expect }) => {
  const [queue, out] = [uniqueQueue('gated'), uniqueQueue('gated-out')];
  await client.queue(queue).push(sales(0, 12));
  const source = client.queue<Sale>(queue).leaseTime('1s');
  const gated = await Stream.from(source)
    .gate(tokenBucketGate({ capacity: 5, refillPerSec: 4 }))
    .map(({ n }) => n)
    .to(out)
    .run({ queryId: queue, maxWaitMillis: 100 });
  const again = await Stream.from(client.queue<number>(out).leaseTime('1s'))
    .gate(slidingWindowGate({ limit: 6, window: '1s' }))
    .to(client.queue<number>(`${out}.slow`))
    .run({ queryId: `${queue}.again`, maxWaitMillis: 100 });
  expect(await held(expect, `${out}.slow`, 12)).toEqual(
    sales(0, 12).map(({ payload: { n } }) => n),
  );
  expect(gated.metrics()).toMatchObject({ messages: 12, outputs: 12, errors: 0 });
  expect(gated.metrics().denied).toBeGreaterThan(0);
  await gated.stop();
  await again.stop();
});
