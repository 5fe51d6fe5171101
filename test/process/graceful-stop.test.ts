/**
 * Goal: SIGTERM answers what is in flight, answers parked pops, ends with code 0 and loses nothing;
 * the next start finds everything. Method: a real node under pushes and parked pops gets the
 * signal; what it answered is read back from the node that is started after it.
 */
import type { PopAnswer, PushResult } from '@svc/wire';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HttpClient, NoAnswer } from './http-client.js';
import {
  type NodeUnderTest,
  sleep,
  startNode,
  type TemporaryDirectory,
  temporaryDirectory,
} from './node-under-test.js';
import { freePort } from './ports.js';

let directory: TemporaryDirectory;
let node: NodeUnderTest;
let client: HttpClient;
let port = 0;

beforeEach(async () => {
  directory = temporaryDirectory();
  port = await freePort();
  node = await startNode({ directory: directory.path, port });
  client = new HttpClient(port);
});

afterEach(async () => {
  client.close();
  if (node.exit === null) await node.kill();
  directory.remove();
});

function push(value: string): Promise<PushResult[]> {
  const body = { items: [{ queue: 'q', partition: 'p', transactionId: value, payload: value }] };
  return client.post('/api/v1/push', body).then((answer) => {
    if (answer.status !== 201) throw new Error(`${answer.status}: ${answer.text}`);
    return JSON.parse(answer.text) as PushResult[];
  });
}

async function storedIds(): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    const body = { entries: [{ queue: 'q', partition: 'p', offset: ids.length }] };
    const answer = await client.post('/api/v1/fetch', body);
    const { entries } = JSON.parse(answer.text) as {
      entries: { records: { transactionId: string }[] }[];
    };
    const read = (entries[0]?.records ?? []).map((record) => record.transactionId);
    if (read.length === 0) return ids;
    ids.push(...read);
  }
}

describe('SIGTERM', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('%s on an idle node ends it with 0', async (signal) => {
    const exit = await node.signal(signal, 10_000);
    expect(exit).toEqual({ code: 0, signal: null });
  });

  it('answers pushes in flight and loses none of them', async () => {
    const acknowledged: string[] = [];
    const failures: unknown[] = [];
    let running = true;
    const producers = Array.from({ length: 8 }, async (_, producer) => {
      for (let n = 0; running; n++) {
        const value = `${producer}-${n}`;
        try {
          await push(value);
          acknowledged.push(value);
        } catch (error) {
          if (!(error instanceof NoAnswer)) failures.push(error);
          running = false;
        }
      }
    });
    await sleep(400);
    const exit = await node.signal('SIGTERM', 20_000);
    running = false;
    await Promise.all(producers);
    expect(exit).toEqual({ code: 0, signal: null });
    expect(failures).toEqual([]);
    expect(acknowledged.length).toBeGreaterThan(0);
    node = await startNode({ directory: directory.path, port });
    const stored = await storedIds();
    expect(new Set(stored).size).toBe(stored.length);
    for (const value of acknowledged) expect(stored).toContain(value);
  });

  it('answers parked pops and waiting fetches', async () => {
    await push('a');
    const popped = client.get('/api/v1/pop/queue/q?consumerGroup=g&autoAck=true');
    expect((await popped).status).toBe(200);
    const parked = client.get('/api/v1/pop/queue/q?consumerGroup=g&wait=true&timeout=50000', {
      timeoutMs: 60_000,
    });
    const pinned = client.get('/api/v1/pop/queue/none/partition/p?wait=true&timeout=50000', {
      timeoutMs: 60_000,
    });
    const fetching = client.post('/api/v1/fetch', {
      entries: [{ queue: 'q', partition: 'p', offset: 1 }],
      maxWaitMs: 30_000,
    });
    await sleep(200);
    const exit = await node.signal('SIGTERM', 10_000);
    expect(exit).toEqual({ code: 0, signal: null });
    expect((await parked).status).toBe(204);
    expect((await pinned).status).toBe(204);
    const fetched = await fetching;
    expect(fetched.status).toBe(200);
    expect(JSON.parse(fetched.text)).toMatchObject({ entries: [{ records: [] }] });
  });

  it('keeps leases, cursors and options for the next start', async () => {
    await client.post('/api/v1/configure', { queue: 'q', options: { leaseTime: 500 } });
    for (const value of ['a', 'b', 'c']) await push(value);
    const answer = await client.get('/api/v1/pop/queue/q?consumerGroup=g&batch=2');
    const { leaseId, partitionId } = JSON.parse(answer.text) as PopAnswer;
    await client.post('/api/v1/ack', {
      transactionId: 'a',
      partitionId,
      leaseId,
      consumerGroup: 'g',
    });
    expect((await node.signal('SIGTERM', 10_000)).code).toBe(0);
    node = await startNode({ directory: directory.path, port });
    expect((await client.get('/api/v1/pop/queue/q?consumerGroup=g')).status).toBe(204);
    const ack = await client.post('/api/v1/ack', {
      transactionId: 'b',
      partitionId,
      leaseId,
      consumerGroup: 'g',
    });
    expect(JSON.parse(ack.text)).toMatchObject([{ success: true, leaseReleased: true }]);
    const next = await client.get('/api/v1/pop/queue/q?consumerGroup=g');
    const { messages } = JSON.parse(next.text) as PopAnswer;
    expect(messages.map(({ transactionId }) => transactionId)).toEqual(['c']);
    const detail = await client.get('/api/v1/resources/queues/q');
    expect(JSON.parse(detail.text)).toMatchObject({ options: { leaseTime: 500 } });
    const again = await push('a');
    expect(again[0]?.status).toBe('duplicate');
  });
});
