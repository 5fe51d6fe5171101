/**
 * Goal: every step of the client does what it says against a real node. Method: one node for the
 * file; each test has a queue of its own.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client, type ClientError, type Message } from '@svc/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  endWithThisProcess,
  type NodeUnderTest,
  startNode,
  type TemporaryDirectory,
  temporaryDirectory,
} from '../process/node-under-test.js';
import { freePort } from '../process/ports.js';

let directory: TemporaryDirectory;
let node: NodeUnderTest;
let client: Client;
let url = '';
let queues = 0;

beforeAll(async () => {
  directory = temporaryDirectory();
  const port = await freePort();
  node = await startNode({ directory: directory.path, port });
  url = `http://127.0.0.1:${port}`;
  client = new Client({ url, timeoutMillis: '10s' });
});

afterAll(async () => {
  await client.close();
  if (node.exit === null) await node.kill();
  directory.remove();
});

function fresh<Data = { n: number }>() {
  return client.queue<Data>(`q-${++queues}`).group('g');
}

const numbers = (from: number, to: number, partition?: string) =>
  Array.from({ length: to - from }, (_, i) => ({ payload: { n: from + i }, partition }));

async function kvValue(ns: string, key: string): Promise<unknown> {
  const answer = await fetch(`${url}/api/v1/kv/${ns}/${key}`);
  return ((await answer.json()) as { value?: unknown }).value;
}

describe('messages', () => {
  test('push, pop and ack, with the text as stored', async () => {
    const queue = fresh<{ id: number }>();
    const pushed = await queue.push([
      { payload: { id: 1 }, transactionId: 'a' },
      { payload: { id: 2 }, transactionId: 'a' },
      { payload: { id: 3 } },
    ]);
    expect(pushed.map(({ status }) => status)).toEqual(['queued', 'duplicate', 'queued']);
    const seen: string[] = [];
    const again = await queue
      .push({ payload: { id: 4 }, transactionId: 'a' })
      .onSuccess(() => seen.push('stored'))
      .onDuplicate(([one]) => seen.push(`duplicate ${one?.transactionId}`));
    expect(again[0]).toMatchObject({ status: 'duplicate', messageId: pushed[0]?.messageId });
    expect(seen).toEqual(['duplicate a']);

    const messages = await queue.batch(10).pop();
    expect(messages.map(({ data }) => data.id)).toEqual([1, 3]);
    expect(messages[0]?.raw).toBe('{"id":1}');
    expect(messages[0]).toMatchObject({ consumerGroup: 'g', deliveryAttempt: 1, offset: 0 });
    const [first, second] = messages as [Message, Message];
    expect(await client.renew(first)).toMatchObject({ renewed: true });
    const renewals = await client.renew([first, second.leaseId, crypto.randomUUID()], '2m');
    expect(renewals.map(({ renewed }) => renewed)).toEqual([true, true, false]);
    expect(await client.ack(first)).toMatchObject({ success: true, leaseReleased: false });
    const acks = await client.ack([second, { ...second, transactionId: 'none' }], true);
    expect(acks.map(({ success }) => success)).toEqual([true, false]);
    expect(await queue.wait(false).pop()).toEqual([]);
  });

  test('a number above 2^53 is whole in the text of a message', async () => {
    const queue = fresh<unknown>();
    const payload = '{"id":12345678901234567890,"x":1.10}';
    const body = `{"items":[{"queue":"q-${queues}","payload":${payload}}]}`;
    await fetch(`${url}/api/v1/push`, { method: 'POST', body });
    expect((await queue.pop())[0]?.raw).toBe(payload);
  });

  test('create, delete, labels, partitions, subscriptions, commit on delivery', async () => {
    const queue = fresh().namespace('shop').task(`t${queues}`);
    const made = await queue.config({ leaseTime: 7 }).create();
    expect(made.options).toMatchObject({ leaseTime: 7, retryLimit: 3 });
    await queue.push(numbers(0, 2, 'p1'));
    await queue.partition('p2').push(numbers(2, 3));
    const late = queue.group('late').subscriptionMode('new').wait(false);
    expect(await late.pop()).toEqual([]);
    await client.updateConsumerGroupTimestamp('late', new Date(0));
    await client.deleteConsumerGroup('late');
    await expect(client.deleteConsumerGroup('')).rejects.toThrow('no name that a path can hold');
    const labelled = client.queue<{ n: number }>().namespace('shop').group('labels');
    const found = await labelled.batch(9).partitions(4).pop();
    expect(found.map(({ data }) => data.n).sort()).toEqual([0, 1, 2]);
    expect(await queue.partition('p2').commitOnDelivery().pop()).toMatchObject([{ leaseId: '' }]);
    expect(await queue.partition('p2').wait(false).pop()).toEqual([]);
    expect(await queue.delete()).toBe(true);
    expect(await queue.delete()).toBe(false);
  });

  test('conflation gives the newest, autopilot says what it chose', async () => {
    const queue = fresh();
    await queue.push(numbers(0, 5));
    expect(await queue.group('last').conflation().batch(5).pop()).toMatchObject([{ offset: 4 }]);
    const { messages, autopilot } = await queue.autopilot().popResult();
    expect(messages).toHaveLength(5);
    expect(autopilot).toMatchObject({ partitions: 1, waitMillis: 30_000 });
  });

  test('dead letters, by group, time and place', async () => {
    const queue = fresh();
    await queue.push(numbers(0, 3));
    const messages = await queue.batch(3).pop();
    await client.ack(messages, 'dlq', { error: 'broken' });
    const { messages: dead, total } = await queue.dlq().get();
    expect(total).toBe(3);
    expect(dead[0]).toMatchObject({ errorMessage: 'broken', consumerGroup: 'g', raw: '{"n":2}' });
    expect((await queue.dlq('g').limit(1).offset(2).get()).messages).toMatchObject([
      { data: { n: 0 } },
    ]);
    expect((await queue.dlq('other').get()).messages).toEqual([]);
    expect((await queue.dlq().from('1h').limit(2).get()).messages).toHaveLength(2);
    expect((await queue.dlq().to('1h').get()).messages).toEqual([]);
  });

  test('a waiting pop ends with its messages, a trace is written', async () => {
    const queue = fresh();
    const popped = queue.timeoutMillis('8s').pop();
    await queue.push(numbers(0, 1));
    const [message] = await popped;
    expect(await message?.trace({ eventType: 'seen', traceName: 'order' })).toBe(true);
  });

  test('buffered pushes arrive in their order', async () => {
    const queue = fresh();
    const buffered = queue.buffer({ messageCount: 50, timeMillis: 20 });
    expect(await buffered.push(numbers(0, 180))).toEqual({ buffered: true, count: 180 });
    for (let i = 180; i < 200; i++) await buffered.push({ payload: { n: i } });
    await buffered.flushBuffer();
    const messages = await queue.batch(500).pop();
    expect(messages.map(({ data }) => data.n)).toEqual(numbers(0, 200).map((one) => one.payload.n));
  });
});

describe('consume', () => {
  test('batches with concurrency, and limits', async () => {
    const queue = fresh();
    await queue.push(
      Array.from({ length: 8 }, (_, p) => numbers(p * 10, p * 10 + 10, `p${p}`)).flat(),
    );
    const seen: number[] = [];
    await queue
      .concurrency(4)
      .batch(5)
      .limit(80)
      .consume(async (messages) => {
        seen.push(...messages.map(({ data }) => data.n));
      });
    expect(seen.sort((a, b) => a - b)).toEqual(numbers(0, 80).map(({ payload }) => payload.n));
    expect(await queue.wait(false).batch(100).partitions(64).pop()).toEqual([]);
  });

  test('each: a failure holds its partition alone, and comes again', async () => {
    const queue = fresh();
    await queue.push([...numbers(0, 4, 'a'), ...numbers(10, 14, 'b')]);
    const seen: number[] = [];
    let failures = 0;
    await queue
      .batch(8)
      .partitions(2)
      .idleMillis(300)
      .each()
      .consume(({ data: { n } }) => {
        seen.push(n);
        if (n === 1 && failures++ === 0) throw new Error('not yet');
      });
    expect(seen.filter((n) => n < 10)).toEqual([0, 1, 1, 2, 3]);
    expect(seen.filter((n) => n >= 10)).toEqual([10, 11, 12, 13]);
    expect((await queue.dlq().get()).total).toBe(0);
  });

  test('for await: completed one by one, and the rest goes back', async () => {
    const queue = fresh();
    await queue.push(numbers(0, 6));
    const seen: number[] = [];
    for await (const { data } of queue.batch(6).messages()) {
      seen.push(data.n);
      if (data.n === 2) break;
    }
    const rest = await queue.batch(6).pop();
    expect(seen).toEqual([0, 1, 2]);
    expect(rest.map(({ data }) => data.n)).toEqual([2, 3, 4, 5]);
  });

  test('a signal: the handler finishes, what was not begun goes back at once', async () => {
    const queue = fresh();
    await queue.push(numbers(0, 3));
    const stop = new AbortController();
    await queue
      .batch(3)
      .each()
      .consume(() => stop.abort(), { signal: stop.signal });
    expect((await queue.batch(3).pop()).map(({ data }) => data.n)).toEqual([1, 2]);
  });

  test('supervision shows the process to the dashboard', async () => {
    const queue = fresh();
    await queue.push(numbers(0, 1));
    await queue.limit(1).consume(() => undefined, { supervision: { group: 'workers' } });
    const list = await fetch(`${url}/api/v1/resources/kv/list`, {
      method: 'POST',
      body: '{"namespace":"svc-supervisor"}',
    });
    const { rows } = (await list.json()) as { rows: { key: string; value: { data?: string } }[] };
    const chunk = rows.find(({ key }) => /^workers\/.*\/chunk\/0000$/.test(key));
    const document = JSON.parse(atob(chunk?.value.data ?? '')) as object;
    expect(document).toMatchObject({
      engine: 'js',
      state: 'stopped',
      pool_status: [{ completed: 1 }],
    });
  });
});

describe('transactions', () => {
  test('acks, pushes, key/value and a timer together', async () => {
    const queue = fresh();
    const out = fresh();
    await queue.push(numbers(0, 1));
    const [message] = await queue.pop();
    const answer = await client
      .transaction()
      .ack(message as Message)
      .queue(`q-${queues}`)
      .partition('p')
      .push({ payload: { n: 7 } })
      .kv({ op: 'put', ns: 'orders', key: 'one', value: 'paid', forever: true })
      .once('order-1')
      .timer({ key: 'remind', delay: 0, payload: { n: 8 } })
      .commit();
    expect(answer).toMatchObject({ success: true });
    expect(await kvValue('orders', 'one')).toBe('paid');
    expect(await out.partition('p').pop()).toMatchObject([{ data: { n: 7 } }]);
    expect(await out.partition('Default').timeoutMillis('8s').pop()).toMatchObject([
      { data: { n: 8 } },
    ]);
    expect(await queue.wait(false).pop()).toEqual([]);
    const second = await client.transaction().once('order-1').commit();
    expect(second).toMatchObject({ success: false, reason: 'kv_precondition' });
    const stale = client.transaction().ack({ ...(message as Message), transactionId: 'none' });
    await expect(stale.commit()).rejects.toMatchObject({ reason: 'rejected_ack', status: 200 });
  });
});

describe('answers that go wrong', () => {
  /** The node has carried it out. */
  const SPOILT: Readonly<Record<string, (to: ServerResponse, text: string) => void>> = {
    'no JSON': (to) => void to.writeHead(200).end('<html>hello</html>'),
    'cut within the answer': (to, text) => {
      to.writeHead(200, { 'content-length': text.length + 9 }).write(text.slice(0, -3));
      setImmediate(() => to.destroy());
    },
    'no answer': () => undefined,
    'a bare 503': (to) => void to.writeHead(503).end(),
  };
  /** The node has not seen it. */
  const REFUSED: Readonly<Record<string, readonly [status: number, retryAfter: string | null]>> = {
    'a 429': [429, null],
    'a 429 with Retry-After': [429, '0'],
    'a 503 with Retry-After': [503, '0'],
  };

  // Side by side: what they wait for is the end of leases and of patience.
  const hows = [...Object.keys(SPOILT), ...Object.keys(REFUSED)];
  test.concurrent.for(hows)('%s', async (how, { expect }) => {
    const name = `spoilt-${hows.indexOf(how)}`;
    const calls = new Map<string, number>();
    const pass = async (request: IncomingMessage, response: ServerResponse) => {
      let body = '';
      for await (const part of request.setEncoding('utf8')) body += part;
      const { pathname } = new URL(request.url ?? '', url);
      const nth = calls.get(pathname) ?? 0;
      calls.set(pathname, nth + 1);
      const isSpoilt = nth % 3 === 0;
      const refusal = REFUSED[how];
      if (isSpoilt && refusal !== undefined) {
        const [status, after] = refusal;
        response.writeHead(status, after === null ? {} : { 'retry-after': after }).end();
        return;
      }
      const method = request.method ?? '';
      const answer = await fetch(`${url}${request.url}`, method === 'GET' ? {} : { method, body });
      const text = await answer.text();
      if (isSpoilt) SPOILT[how]?.(response, text);
      else response.writeHead(answer.status).end(text);
    };
    const between = createServer((request, response) => {
      // A pop that was given up ends with the node.
      pass(request, response).catch(() => response.destroy());
    });
    await new Promise<void>((resolve) => void between.listen(0, '127.0.0.1', resolve));
    const { port } = between.address() as AddressInfo;
    const own = new Client({
      url: `http://127.0.0.1:${port}`,
      timeoutMillis: how === 'no answer' ? '1.5s' : '10s',
      retryDelayMillis: 10,
      retry429: { baseMs: 10 },
    });
    const queue = own.queue<{ n: number }>(name).group('g').leaseTime('1s');
    expect(await queue.push(numbers(0, 3))).toMatchObject(Array(3).fill({ status: 'queued' }));
    await queue.buffer({ messageCount: 2, timeMillis: 5 }).push(numbers(3, 6));
    await own.flushAllBuffers();
    const seen = new Set<number>();
    // What was leased for an answer that was spoilt comes again.
    const consuming = queue
      .batch(6)
      .timeoutMillis(200)
      .consume((messages) => {
        for (const { data } of messages) seen.add(data.n);
      });
    await expect.poll(() => [...seen].sort(), { timeout: 60_000 }).toEqual([0, 1, 2, 3, 4, 5]);
    await consuming.stop();
    const kv = own.kv(name);
    const added = await kv.incr('n', 1, { forever: true }).catch((error: ClientError) => error);
    const known = { applied: true, value: 1 };
    expect(added).toMatchObject(how in REFUSED ? known : { outcomeUnknown: true });
    expect(await kvValue(name, 'n')).toBe(1);
    await own.close();
    between.closeAllConnections();
    between.close();
    const all = await client.queue<{ n: number }>(name).group('all').batch(99).pop();
    expect(all.map(({ data }) => data.n)).toEqual([0, 1, 2, 3, 4, 5]);
  });
});

describe('the end of a client', () => {
  test('close flushes, stops loops, refuses later calls', async () => {
    const queue = fresh();
    const own = new Client(url);
    const mine = own.queue<{ n: number }>(`q-${queues}`).group('g');
    const consuming = mine.consume(() => undefined);
    await mine.partition('p').buffer({ timeMillis: '1h' }).push(numbers(0, 3));
    expect(own.getBufferStats()).toMatchObject([{ messages: 3, refused: 0 }]);
    expect(await own.close()).toEqual({ unsent: [] });
    await consuming;
    await expect(mine.push(numbers(0, 1))).rejects.toMatchObject({ code: 'closed' });
    const messages = await queue.group('other').batch(10).pop();
    expect(messages.map(({ data }) => data.n)).toEqual([0, 1, 2]);
  });

  test('a signal closes a client that asked for it, and then ends the process', async () => {
    const queue = fresh();
    const program = `
      import { Client } from '@svc/client';
      const client = new Client({ url: '${url}', handleSignals: true });
      await client.queue('q-${queues}').buffer({ timeMillis: '1h' }).push({ payload: { n: 1 } });
      process.stdout.write('in');
      setInterval(() => 0, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program]);
    endWithThisProcess(child);
    child.stdout.once('data', () => child.kill('SIGTERM'));
    const [, signal] = (await once(child, 'close')) as [number | null, string | null];
    expect(signal).toBe('SIGTERM');
    expect(await queue.wait(false).pop()).toMatchObject([{ data: { n: 1 } }]);
  });

  test('a refusal of the broker keeps its code', async () => {
    const long = client.queue('x'.repeat(420));
    await expect(long.push({ payload: 1 })).rejects.toMatchObject({
      status: 413,
      code: 'name_too_long',
      outcomeUnknown: false,
    });
  });
});
