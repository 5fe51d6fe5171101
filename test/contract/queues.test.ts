/**
 * Goal: queue list, detail and depth with their counting rules, configure's creation, fetch by
 * position with its bounds and its wait, and what a node says of itself. Method: small queues whose
 * figures can be counted by hand.
 */
import type { FetchAnswer, QueueListAnswer, QueueRow } from '@svc/wire';
import { describe, expect, it } from 'vitest';
import { sleep } from '../process/node-under-test.js';
import { bodyOf } from './broker-api.js';
import { uniqueQueue, useNode } from './node-fixture.js';

const node = useNode();

async function listed(queue: string): Promise<QueueRow | undefined> {
  const answer = await node.client.get('/api/v1/resources/queues');
  const { queues } = bodyOf(answer, 200) as QueueListAnswer;
  return queues.find(({ name }) => name === queue);
}

describe('queues', () => {
  it('are listed newest first', async () => {
    const [first, second] = [uniqueQueue('order'), uniqueQueue('order')];
    await node.api.pushIds(first, 'p', ['a']);
    await node.api.pushIds(second, 'p', ['a']);
    const answer = await node.client.get('/api/v1/resources/queues');
    const list = bodyOf(answer, 200) as QueueListAnswer;
    const names = list.queues.map(({ name }) => name);
    expect(names.indexOf(second)).toBeLessThan(names.indexOf(first));
    expect(Object.keys(list)).toEqual(['queues', 'kvRows', 'kvBytes', 'timerRows', 'timerBytes']);
    expect(Object.keys(list.queues[0] ?? {})).toEqual([
      'id',
      'name',
      'queue',
      'namespace',
      'task',
      'storage',
      'partitions',
      'segments',
      'messages',
      'retainedBytes',
      'options',
      'createdAt',
    ]);
  });

  it('count pending without leased in the list and with leased in the detail', async () => {
    const queue = uniqueQueue('figures');
    await node.api.pushIds(queue, 'p', ['a', 'b', 'c']);
    await node.api.pushIds(queue, 'q', ['d', 'e']);
    const popped = await node.api.popPartition(queue, 'p', { consumerGroup: 'g', batch: 2 });
    const row = await listed(queue);
    expect(row?.partitions).toBe(2);
    expect(row?.segments).toEqual({ segments: 2, messages: 5 });
    expect(row?.messages).toEqual({
      total: 5,
      pending: 3,
      processing: 2,
      completed: 0,
      deadLetter: 0,
    });
    const detail = await node.api.detail(queue);
    expect(detail.totals).toEqual({
      total: 5,
      pending: 5,
      processing: 2,
      completed: 0,
      failed: null,
      deadLetter: 0,
    });
    expect(detail.partitions.map(({ name }) => name)).toEqual(['p', 'q']);
    const [p] = detail.partitions;
    expect(p?.messages).toEqual(p?.stats);
    expect(p?.cursor).toEqual({ totalConsumed: 0, batchesConsumed: 0 });
    expect(p?.newestMessage).toBe(popped?.messages[0]?.createdAt);
    const { leaseId = '', partitionId = '' } = popped ?? {};
    await node.api.ack('g', [
      { transactionId: 'a', partitionId, leaseId },
      { transactionId: 'b', partitionId, leaseId, status: 'dlq' },
    ]);
    expect((await listed(queue))?.messages).toEqual({
      total: 5,
      pending: 3,
      processing: 0,
      completed: 1,
      deadLetter: 1,
    });
  });

  it('show the slowest named group, and queue mode only without one', async () => {
    const queue = uniqueQueue('slowest');
    await node.api.pushIds(queue, 'p', ['a', 'b', 'c']);
    await node.api.popQueue(queue, { autoAck: true, batch: 2 });
    expect((await listed(queue))?.messages.pending).toBe(1);
    await node.api.popQueue(queue, { consumerGroup: 'g', autoAck: true, batch: 1 });
    expect((await listed(queue))?.messages.pending).toBe(2);
    await node.api.popQueue(queue, { consumerGroup: 'fast', autoAck: true });
    expect((await listed(queue))?.messages.pending).toBe(2);
    expect((await node.api.depth(queue, 'fast')).pending).toBe(0);
    expect((await node.api.depth(queue, 'nobody')).pending).toBe(3);
  });

  it('are created by configure with one partition', async () => {
    const queue = uniqueQueue('made');
    const configured = await node.api.configure(queue, { namespace: 'n', task: 't' });
    expect(configured).toMatchObject({ namespace: 'n', task: 't', partitionId: null });
    expect(configured.options.leaseTime).toBe(300);
    const detail = await node.api.detail(queue);
    expect(detail.partitions.map(({ name }) => name)).toEqual(['Default']);
    expect(detail.id).toBe(configured.queueId);
  });

  it('take their labels from their names when a push creates them', async () => {
    const name = `billing${process.pid}`;
    await node.api.pushIds(`${name}.invoice.eu`, 'p', ['a']);
    await node.api.pushIds(name, 'p', ['a']);
    expect(await listed(`${name}.invoice.eu`)).toMatchObject({ namespace: name, task: 'invoice' });
    expect(await listed(name)).toMatchObject({ namespace: name, task: '' });
  });

  it('take options beside their name, clamp two of them, and ignore what is unknown', async () => {
    const queue = uniqueQueue('beside');
    const body = {
      queue,
      leaseTime: 9,
      minPopWaitTime: 99_999,
      dedupWindowSeconds: -5,
      retryLimit: -1,
      whatever: [1],
    };
    const answer = bodyOf(await node.client.post('/api/v1/configure', body), 200);
    expect(answer).toMatchObject({
      options: { leaseTime: 9, minPopWaitTime: 60_000, dedupWindowSeconds: 0, retryLimit: -1 },
    });
  });

  it('are gone after their deletion, with waiting pops answered', async () => {
    const queue = uniqueQueue('doomed');
    await node.api.pushIds(queue, 'p', ['a']);
    await node.api.popQueue(queue, { consumerGroup: 'g' });
    const waiting = node.api.popQueue(queue, { consumerGroup: 'g', wait: true, timeout: 20_000 });
    await sleep(100);
    await node.client.send('DELETE', `/api/v1/resources/queues/${queue}`, '');
    expect(await waiting).toBeNull();
    expect(await listed(queue)).toBeUndefined();
    const { error } = await node.api.fetch(queue, 'p');
    expect(error).toBe('UNKNOWN_TOPIC_OR_PARTITION');
  });
});

describe('fetch', () => {
  it('stops at its bytes, and gives the first record whatever its size', async () => {
    const queue = uniqueQueue('bounded');
    const items = [0, 1, 2, 3].map((n) => ({ queue, partition: 'p', payload: `${n}`.repeat(98) }));
    await node.api.push(items);
    const fetchBytes = async (maxBytes: number) => {
      const body = { entries: [{ queue, partition: 'p', offset: 1, maxBytes }] };
      const answer = bodyOf(await node.client.post('/api/v1/fetch', body), 200) as FetchAnswer;
      return answer.entries[0]?.records.map(({ offset }) => offset);
    };
    expect(await fetchBytes(1)).toEqual([1]);
    expect(await fetchBytes(200)).toEqual([1, 2]);
    expect(await fetchBytes(1_000_000)).toEqual([1, 2, 3]);
  });

  it('answers the end without an error, and a partition that is not there with zeros', async () => {
    const queue = uniqueQueue('ends');
    await node.api.pushIds(queue, '7', ['a']);
    const body = {
      entries: [
        { queue, partition: 7, offset: 1 },
        { queue, offset: 0 },
      ],
    };
    const answer = bodyOf(await node.client.post('/api/v1/fetch', body), 200) as FetchAnswer;
    expect(answer.entries).toEqual([
      { queue, partition: '7', records: [], highWatermark: 1, logStartOffset: 0 },
      { queue, partition: 'Default', records: [], highWatermark: 0, logStartOffset: 0 },
    ]);
  });

  it('waits for an append to its partition', async () => {
    const queue = uniqueQueue('waits');
    await node.api.pushIds(queue, 'p', ['a']);
    const body = { entries: [{ queue, partition: 'p', offset: 1 }], maxWaitMs: 5000 };
    const waiting = node.client.post('/api/v1/fetch', body);
    await sleep(100);
    await node.api.pushIds(queue, 'other', ['x']);
    await node.api.pushIds(queue, 'p', ['b']);
    const answer = bodyOf(await waiting, 200) as FetchAnswer;
    expect(answer.entries[0]?.records.map((record) => record.transactionId)).toEqual(['b']);
  });

  it('answers with what there is when its time is up', async () => {
    const queue = uniqueQueue('time');
    await node.api.pushIds(queue, 'p', ['a']);
    const body = { entries: [{ queue, partition: 'p', offset: 1 }], maxWaitMs: 200 };
    const answer = bodyOf(await node.client.post('/api/v1/fetch', body), 200) as FetchAnswer;
    expect(answer.entries[0]?.records).toEqual([]);
  });
});

describe('the node', () => {
  it('says that it is healthy', async () => {
    const answer = await node.client.get('/health');
    expect(bodyOf(answer, 200)).toMatchObject({
      status: 'healthy',
      engine: 'raft',
      version: '2.1.0',
      raft: { role: 'leader', leader: true, lag: 0, storageReady: true, clusterVersion: 5 },
    });
  });

  it('counts', async () => {
    const metrics = bodyOf(await node.client.get('/metrics'), 200);
    expect(metrics).toMatchObject({ engine: 'raft', raft: { role: 'leader' } });
  });

  it('shows itself and its one member', async () => {
    const status = bodyOf(await node.client.get('/api/v1/raft/status'), 200);
    expect(status).toMatchObject({ self: 1, voters: 1, singleNode: true, state: 'leader' });
    const members = bodyOf(await node.client.get('/api/v1/raft/members'), 200);
    expect(members).toMatchObject({ leaderId: 1, members: [{ nodeId: 1, local: true }] });
  });
});
