/**
 * Retention (message-plane 11.2), and what it leaves behind elsewhere. The places look every 200 ms
 * (RETENTION_INTERVAL), windows are of one second.
 */
import { expect } from 'vitest';
import { ZERO_ID } from '../../checkers/history.js';
import { sleep } from '../../process/node-under-test.js';
import { bodyOf, idsOf, type Parameters } from '../broker-api.js';
import type { BrokerUnderTest } from '../broker-under-test.js';
import type { ContractTable } from '../table.js';

const G = { consumerGroup: 'g' };
const AGED: Parameters = { retentionEnabled: true, retentionSeconds: 1 };
const READ: Parameters = { retentionEnabled: true, completedRetentionSeconds: 1 };
const WAITED: Parameters = { maxWaitTimeSeconds: 1 };
/** A window, a look at the queue and a moment for all nodes. */
const SURELY_MS = 2500;
const GONE_MS_MAX = 15_000;
/** Younger messages stay: for so long a busy machine may take to show that the others are gone. */
const OLD_S = 6;
const NODES = 3;

/** The first offset of partition `p` that is retained. */
async function logStart({ api, queue }: BrokerUnderTest): Promise<number> {
  return (await api.fetch(queue, 'p')).logStartOffset;
}

/** On every node: each read goes to the next one. */
async function goneUpTo(broker: BrokerUnderTest, offset: number): Promise<void> {
  const untilMs = Date.now() + GONE_MS_MAX;
  for (let there = 0; there < NODES; ) {
    const first = await logStart(broker);
    expect(first).toBeLessThanOrEqual(offset);
    if (first === offset) there++;
    else if (Date.now() > untilMs) throw new Error(`${first} is still retained`);
    else await sleep(50);
  }
}

async function retained(broker: BrokerUnderTest) {
  const { partitions, retainedBytes } = await broker.api.detail(broker.queue);
  const found = partitions.find(({ name }) => name === 'p');
  return { bytes: retainedBytes, total: found?.stats.total, ofPartition: found?.retainedBytes };
}

/** Configured after the pushes, so that nothing goes before all is there. */
async function pushed(broker: BrokerUnderTest, ids: readonly string[]): Promise<void> {
  for (const id of ids) await broker.api.pushIds(broker.queue, 'p', [id]);
}

export const retention: ContractTable = {
  section: 'message-plane 11.2',
  rows: [
    {
      row: 'unit is the append',
      does: 'messages of one push go together, from the front',
      run: async (broker) => {
        const { api, queue } = broker;
        await api.pushIds(queue, 'p', ['a', 'b', 'c']);
        await sleep(OLD_S * 1000);
        await api.pushIds(queue, 'p', ['d']);
        await api.configure(queue, { ...AGED, retentionSeconds: OLD_S });
        await goneUpTo(broker, 3);
        expect(idsOf(await api.popQueue(queue, G))).toEqual(['d']);
      },
    },
    {
      row: 'retentionSeconds',
      does: 'age, read or not',
      run: async (broker) => {
        await pushed(broker, ['a', 'b']);
        await broker.api.configure(broker.queue, AGED);
        await goneUpTo(broker, 2);
      },
    },
    ...[
      { retentionSeconds: 1 },
      { ...AGED, retentionSeconds: 0 },
      { ...AGED, retentionEnabled: false },
    ].map((options) => ({
      row: 'retentionSeconds',
      does: `${JSON.stringify(options)} removes nothing`,
      run: async (broker: BrokerUnderTest) => {
        await pushed(broker, ['a']);
        await broker.api.configure(broker.queue, options);
        await sleep(SURELY_MS);
        expect(await logStart(broker)).toBe(0);
      },
    })),
    {
      row: 'completedRetentionSeconds',
      does: 'age, and nothing above the lowest cursor',
      run: async (broker) => {
        const { api, queue } = broker;
        await pushed(broker, ['a', 'b', 'c']);
        await api.popQueue(queue, { consumerGroup: 'fast', autoAck: true });
        const slow = await api.popQueue(queue, { consumerGroup: 'slow' });
        const { leaseId = '', partitionId = '' } = slow ?? {};
        await api.ack('slow', [{ transactionId: 'b', partitionId, leaseId }]);
        await api.configure(queue, READ);
        await goneUpTo(broker, 2);
        await sleep(SURELY_MS);
        expect(await logStart(broker)).toBe(2);
        await api.ack('slow', [{ transactionId: 'c', partitionId, leaseId }]);
        await goneUpTo(broker, 3);
      },
    },
    {
      row: 'completed, no cursor row',
      does: 'keeps everything',
      run: async (broker) => {
        await pushed(broker, ['a']);
        await broker.api.configure(broker.queue, READ);
        await sleep(SURELY_MS);
        expect(await logStart(broker)).toBe(0);
      },
    },
    {
      row: 'maxWaitTimeSeconds',
      does: 'age, whatever retentionEnabled says, leases included, no dead letter',
      run: async (broker) => {
        const { api, queue } = broker;
        await pushed(broker, ['a', 'b']);
        const popped = await api.popQueue(queue, { ...G, leaseSeconds: 60 });
        await api.configure(queue, WAITED);
        await goneUpTo(broker, 2);
        const { leaseId = '', partitionId = '' } = popped ?? {};
        const [acked] = await api.ack('g', [{ transactionId: 'b', partitionId, leaseId }]);
        expect([acked?.success, acked?.error]).toEqual([
          false,
          expect.stringContaining('unresolvable'),
        ]);
        expect((await api.detail(queue)).totals.deadLetter).toBe(0);
      },
    },
    {
      row: 'retentionSinkHold',
      does: 'holds back retentionSeconds, up to its longest time',
      run: async (broker) => {
        await pushed(broker, ['a']);
        await broker.api.configure(broker.queue, { ...AGED, retentionSinkHold: 'lake' });
        await sleep(SURELY_MS);
        expect(await logStart(broker)).toBe(0);
        await broker.api.configure(broker.queue, WAITED);
        await goneUpTo(broker, 1);
      },
    },
    {
      row: 'dead letters stay',
      does: 'with their payloads',
      run: async (broker) => {
        const { api, queue } = broker;
        await pushed(broker, ['a']);
        const popped = await api.popQueue(queue, G);
        const { leaseId = '', partitionId = '' } = popped ?? {};
        await api.ack('g', [{ transactionId: 'a', partitionId, leaseId, status: 'dlq' }]);
        await api.configure(queue, WAITED);
        await goneUpTo(broker, 1);
        const answer = await broker.client.get(`/api/v1/dlq?queue=${queue}`);
        expect(answer.text).toContain('"a"');
        expect((await api.detail(queue)).totals.deadLetter).toBe(1);
      },
    },
    {
      row: 'retainedBytes follows logStart',
      does: 'of the partition and of the queue',
      run: async (broker) => {
        await pushed(broker, ['a', 'b']);
        const before = await retained(broker);
        expect([before.total, before.ofPartition === before.bytes]).toEqual([2, true]);
        expect(before.bytes).toBeGreaterThan(0);
        await broker.api.configure(broker.queue, WAITED);
        await goneUpTo(broker, 2);
        expect(await retained(broker)).toEqual({ bytes: 0, total: 0, ofPartition: 0 });
      },
    },
  ],
};

export const retainedScenarios: ContractTable = {
  section: 'message-plane 14.1',
  rows: [
    {
      row: '26',
      does: 'retention removed 0..1 of 0..3: the batch starts at 2',
      run: async (broker) => {
        const { api, queue } = broker;
        await api.pushIds(queue, 'p', ['a', 'b']);
        await sleep(SURELY_MS);
        await api.pushIds(queue, 'p', ['c', 'd']);
        await api.configure(queue, { maxWaitTimeSeconds: 2 });
        await goneUpTo(broker, 2);
        const popped = await api.popQueue(queue, G);
        expect(popped?.messages.map(({ offset }) => offset)).toEqual([2, 3]);
      },
    },
    {
      row: '27',
      does: 'retention removed all: 204, cursor sealed at tail, depth 0',
      run: async (broker) => {
        const { api, queue } = broker;
        await api.pushIds(queue, 'p', ['a', 'b']);
        await api.popQueue(queue, { ...G, autoAck: true, batch: 1 });
        await api.configure(queue, WAITED);
        await goneUpTo(broker, 2);
        expect(await api.popQueue(queue, G)).toBeNull();
        expect(await api.depth(queue, 'g')).toMatchObject({ pending: 0, ready: 0 });
        await api.configure(queue, { maxWaitTimeSeconds: 0 });
        await api.pushIds(queue, 'p', ['c']);
        expect(idsOf(await api.popQueue(queue, G))).toEqual(['c']);
      },
    },
  ],
};

export const sealedClaims: ContractTable = {
  section: 'message-plane 3.4',
  rows: [
    {
      row: '5 seal',
      does: 'committed is the tail, nothing is delivered, and what comes next is',
      run: async (broker) => {
        const { api, queue } = broker;
        await pushed(broker, ['a', 'b', 'c']);
        await api.popPartition(queue, 'p', { ...G, autoAck: true, batch: 1 });
        await api.configure(queue, WAITED);
        await goneUpTo(broker, 3);
        expect(await api.popPartition(queue, 'p', G)).toBeNull();
        expect((await api.depth(queue, 'g')).pending).toBe(0);
        await api.configure(queue, { maxWaitTimeSeconds: 0 });
        await pushed(broker, ['d']);
        const popped = await api.popPartition(queue, 'p', G);
        expect(popped?.messages.map(({ offset }) => offset)).toEqual([3]);
      },
    },
  ],
};

export const retainedIds: ContractTable = {
  section: 'message-plane 11.1',
  rows: [
    {
      row: 'retention does not forget',
      does: 'the id is a duplicate still, of what has no id any more',
      run: async (broker) => {
        const { api, queue } = broker;
        const [first] = await api.pushIds(queue, 'p', ['a']);
        const [minted] = await api.push([{ queue, partition: 'p', payload: 1 }]);
        await api.configure(queue, WAITED);
        await goneUpTo(broker, 2);
        expect(first?.status).toBe('queued');
        for (const id of ['a', minted?.message_id ?? '']) {
          const [again] = await api.pushIds(queue, 'p', [id]);
          expect([again?.status, again?.message_id]).toEqual(['duplicate', ZERO_ID]);
        }
      },
    },
  ],
};

export const retainedPushes: ContractTable = {
  section: 'message-plane 2',
  rows: [
    {
      row: 'duplicate of a message that is gone',
      does: 'is answered with the all-zero UUID',
      run: async (broker) => {
        const { api, queue } = broker;
        await api.pushIds(queue, 'p', ['a']);
        await api.configure(queue, WAITED);
        await goneUpTo(broker, 1);
        const items = [{ queue, partition: 'p', transactionId: 'a', payload: 1 }];
        const answer = await broker.client.post('/api/v1/push', { items });
        expect(bodyOf(answer, 201)).toMatchObject([{ status: 'duplicate', message_id: ZERO_ID }]);
      },
    },
  ],
};
