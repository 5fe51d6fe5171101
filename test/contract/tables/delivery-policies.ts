/**
 * The policies by which a pop is served: last values, the autopilot, pops that gather, commit at
 * delivery (message-plane 3, 4.1, 7.1, 11.4, 14, 15).
 */
import type { PopAnswer } from '@svc/wire';
import { expect } from 'vitest';
import { sleep } from '../../process/node-under-test.js';
import { idsOf, type Parameters } from '../broker-api.js';
import type { BrokerUnderTest } from '../broker-under-test.js';
import { SHARED } from '../places.js';
import type { ContractTable } from '../table.js';

const G = { consumerGroup: 'g' };
const LAST = { ...G, conflation: true };

async function popped(broker: BrokerUnderTest, parameters: Parameters): Promise<PopAnswer> {
  const answer = await broker.api.popQueue(broker.queue, parameters);
  if (answer === null) throw new Error('204 where an answer was expected');
  return answer;
}

/** `p` with a, b, c, and the lease of the last of them. */
async function lastOfThree(broker: BrokerUnderTest): Promise<PopAnswer> {
  await broker.api.pushIds(broker.queue, 'p', ['a', 'b', 'c']);
  const lease = await popped(broker, LAST);
  expect(idsOf(lease)).toEqual(['c']);
  return lease;
}

/** The keys of an answer that begin at `partitionsClaimed`, in their order. */
function tailOf(answer: PopAnswer): string[] {
  const keys = Object.keys(answer);
  return keys.slice(keys.indexOf('partitionsClaimed'));
}

export const policyParameters: ContractTable = {
  section: 'message-plane 3.1',
  rows: [
    {
      row: 'partitions',
      does: 'absent, a conflating pop takes as many as its batch',
      run: async (broker) => {
        for (const p of ['p1', 'p2', 'p3']) await broker.api.pushIds(broker.queue, p, [p]);
        expect(idsOf(await popped(broker, { ...LAST, batch: 2 }))).toHaveLength(2);
        const { partitionsClaimed } = await popped(broker, { ...LAST, partitions: 1 });
        expect(partitionsClaimed).toBe(1);
      },
    },
    {
      row: 'autopilot',
      does: 'sizes what the request left out, and no more',
      run: async (broker) => {
        for (const p of ['p1', 'p2', 'p3']) await broker.api.pushIds(broker.queue, p, [p]);
        const autopilot = { ...G, autopilot: true };
        const batch = await popped(broker, { ...autopilot, partitions: 1 });
        expect([batch.autopilot, batch.partitionsClaimed]).toEqual([
          { partitions: 1, batch: 100 },
          1,
        ]);
        const width = await popped(broker, { ...autopilot, batch: 7 });
        expect([width.autopilot, width.partitionsClaimed]).toEqual([
          { partitions: 2, batch: 7 },
          2,
        ]);
      },
    },
    {
      row: 'autopilot',
      does: 'is ignored with conflation, by name and on discovery; alone it leaves 204 as it is',
      run: async (broker) => {
        const { api, queue } = broker;
        expect(await api.popQueue(queue, { autopilot: true })).toBeNull();
        await api.pushIds(queue, 'p', ['a']);
        expect(await popped(broker, { ...LAST, autopilot: true })).not.toHaveProperty('autopilot');
        const options = { consumerGroup: 'h', autopilot: true };
        const pinned = await api.popPartition(queue, 'p', options);
        expect(idsOf(pinned)).toEqual(['a']);
        expect(pinned).not.toHaveProperty('autopilot');
        const found = await api.pop('', { ...options, consumerGroup: 'i', namespace: 'row' });
        expect(idsOf(found)).toEqual(['a']);
        expect(found).not.toHaveProperty('autopilot');
      },
    },
    {
      row: 'conflation',
      does: 'true delivers the last value; queue mode by its name is refused like none',
      run: async (broker) => {
        await lastOfThree(broker);
        const path = `/api/v1/pop/queue/${broker.queue}?conflation=true`;
        const answer = await broker.client.get(`${path}&consumerGroup=__QUEUE_MODE__`);
        expect([answer.status, JSON.parse(answer.text)]).toMatchObject([
          400,
          { success: false, messages: [] },
        ]);
      },
    },
  ],
};

export const policyAnswers: ContractTable = {
  section: 'message-plane 3.2',
  rows: [
    {
      row: 'conflation',
      does: 'stands after partitionsClaimed, also when the request does not name it',
      run: async (broker) => {
        const lease = await lastOfThree(broker);
        expect([lease.conflation, tailOf(lease)]).toEqual([
          true,
          ['partitionsClaimed', 'conflation'],
        ]);
        expect((await popped(broker, G)).conflation).toBe(true);
      },
    },
    {
      row: 'conflationConflict',
      does: 'only when the request names another policy',
      run: async (broker) => {
        await broker.api.pushIds(broker.queue, 'p', ['a', 'b']);
        expect(idsOf(await broker.api.popQueue(broker.queue, { ...G, batch: 1 }))).toEqual(['a']);
        const answer = await popped(broker, LAST);
        expect(answer.messages).toEqual([]);
        expect([answer.conflationConflict, tailOf(answer)]).toEqual([
          true,
          ['partitionsClaimed', 'conflationConflict'],
        ]);
        expect(await broker.api.popQueue(broker.queue, { ...G, conflation: false })).toBeNull();
      },
    },
    {
      row: 'autopilot',
      does: 'partitions and batch, last',
      run: async (broker) => {
        await broker.api.pushIds(broker.queue, 'p', ['a']);
        const answer = await popped(broker, { ...G, autopilot: true });
        expect([answer.autopilot, tailOf(answer)]).toEqual([
          { partitions: 1, batch: 100 },
          ['partitionsClaimed', 'autopilot'],
        ]);
        await broker.api.pushIds(broker.queue, 'p2', ['b']);
        const sized = await popped(broker, { ...G, autopilot: true, batch: 5, partitions: 5 });
        expect(sized).not.toHaveProperty('autopilot');
      },
    },
  ],
};

export const policyContact: ContractTable = {
  section: 'message-plane 3.3',
  rows: [
    {
      row: 'pinned, conflation=true',
      does: 'registers the group for the whole queue',
      run: async (broker) => {
        const { api, queue } = broker;
        await api.pushIds(queue, 'p', ['a', 'b']);
        await api.pushIds(queue, 'other', ['c', 'd']);
        expect(idsOf(await api.popPartition(queue, 'p', LAST))).toEqual(['b']);
        const rest = await popped(broker, { ...G, partitions: 5 });
        expect([idsOf(rest), rest.conflation]).toEqual([['d'], true]);
      },
    },
    {
      row: 'pinned, conflation=true',
      does: 'not where the group has a cursor, and not on what does not exist',
      run: async (broker) => {
        const { api, queue } = broker;
        expect(await api.popPartition(queue, 'p', LAST)).toBeNull();
        await api.pushIds(queue, 'p', ['a', 'b']);
        expect(await api.popPartition(queue, 'missing', LAST)).toBeNull();
        const plain = await api.popPartition(queue, 'p', { ...G, autoAck: true, batch: 1 });
        expect(idsOf(plain)).toEqual(['a']);
        const answer = await api.popPartition(queue, 'p', LAST);
        expect(answer).toMatchObject({ conflationConflict: true });
        expect(answer).not.toHaveProperty('conflation');
        expect(idsOf(answer)).toEqual(['b']);
      },
    },
    {
      row: 'seed future timestamp',
      does: 'skips what comes before the instant',
      run: async (broker) => {
        const { api, queue } = broker;
        const from = new Date(Date.now() + 3000).toISOString();
        const options = { ...G, subscriptionFrom: from };
        await api.pushIds(queue, 'p', ['a']);
        expect(await api.popQueue(queue, options)).toBeNull();
        await api.pushIds(queue, 'p', ['b']);
        expect(await api.popQueue(queue, options)).toBeNull();
        await sleep(3200);
        await api.pushIds(queue, 'p', ['c']);
        await api.pushIds(queue, 'new', ['d']);
        expect(idsOf(await popped(broker, { ...G, partitions: 2 }))).toEqual(['c', 'd']);
      },
    },
  ],
};

export const policyAcks: ContractTable = {
  section: 'message-plane 4.1',
  rows: [
    {
      row: 'no signal, conflating lease',
      does: 'whatever of the span is completed, the cursor is at its end, the lease released',
      run: async (broker) => {
        const { api, queue } = broker;
        const { partitionId, leaseId } = await lastOfThree(broker);
        const acks = await api.ack('g', [{ transactionId: 'a', partitionId, leaseId }]);
        expect(acks).toMatchObject([{ success: true, leaseReleased: true, noop: false }]);
        expect(await api.depth(queue, 'g')).toMatchObject({ pending: 0, processing: 0 });
      },
    },
  ],
};

export const policyOptions: ContractTable = {
  section: 'message-plane 7.1',
  rows: [
    {
      row: 'minPopWaitTime',
      does: 'a waiting pop that is not full stays that long, and goes when it is full',
      run: async (broker) => {
        const { api, queue } = broker;
        await api.configure(queue, { minPopWaitTime: 4000 });
        await api.pushIds(queue, 'p', ['a']);
        const began = performance.now();
        const waiting = api.popQueue(queue, { ...G, wait: true, batch: 3 });
        await sleep(200);
        await api.pushIds(queue, 'p', ['b']);
        expect(idsOf(await waiting)).toEqual(['a', 'b']);
        expect(performance.now() - began).toBeGreaterThan(3900);
        await api.pushIds(queue, 'q', ['c', 'd', 'e']);
        const full = performance.now();
        expect(idsOf(await api.popQueue(queue, { ...G, wait: true, batch: 3 }))).toHaveLength(3);
        expect(performance.now() - full).toBeLessThan(3900);
      },
    },
    {
      row: 'minPopWaitTime',
      does: 'a pop that does not wait gets what is there; a short one is not kept longer',
      run: async (broker) => {
        const { api, queue } = broker;
        await api.configure(queue, { minPopWaitTime: 60_001 });
        const { options } = await api.detail(queue);
        expect(options.minPopWaitTime).toBe(60_000);
        await api.pushIds(queue, 'p', ['a']);
        expect(idsOf(await popped(broker, { ...G, batch: 3 }))).toEqual(['a']);
        await api.pushIds(queue, 'q', ['b']);
        const short = await popped(broker, { ...G, wait: true, timeout: 1000, batch: 3 });
        expect(idsOf(short)).toEqual(['b']);
        await api.configure(queue, { minPopWaitTime: -1 });
        expect((await api.detail(queue)).options.minPopWaitTime).toBe(0);
      },
    },
  ],
};

export const conflation: ContractTable = {
  section: 'message-plane 11.4',
  rows: [
    {
      row: 'the newest visible message',
      does: 'what delayedProcessing hides is not it',
      run: async (broker) => {
        const { api, queue } = broker;
        await api.configure(queue, { delayedProcessing: 4 });
        await api.pushIds(queue, 'p', ['a', 'b']);
        await sleep(2000);
        await api.pushIds(queue, 'p', ['c']);
        const popped = await api.popQueue(queue, { ...LAST, wait: true });
        expect(idsOf(popped)).toEqual(['b']);
      },
    },
    {
      row: 'completed completes the span',
      does: 'what was superseded never comes',
      run: async (broker) => {
        const { api, queue } = broker;
        const { partitionId, leaseId } = await lastOfThree(broker);
        await api.ack('g', [{ transactionId: 'c', partitionId, leaseId }]);
        expect((await popped(broker, G)).messages).toEqual([]);
        await api.pushIds(queue, 'p', ['d', 'e']);
        expect(idsOf(await popped(broker, G))).toEqual(['e']);
      },
    },
    {
      row: 'completed completes the span',
      does: 'failed does not: the last value of that moment comes next; dlq files it alone',
      run: async (broker) => {
        const { api, queue } = broker;
        const { partitionId, leaseId } = await lastOfThree(broker);
        await api.ack('g', [{ transactionId: 'c', partitionId, leaseId, status: 'failed' }]);
        const again = await popped(broker, G);
        expect(again.messages).toMatchObject([{ transactionId: 'c', deliveryAttempt: 2 }]);
        const dlq = { transactionId: 'c', partitionId, leaseId: again.leaseId, status: 'dlq' };
        expect(await api.ack('g', [dlq])).toMatchObject([{ success: true, dlq: true }]);
        expect((await api.detail(queue)).totals.deadLetter).toBe(1);
        expect((await api.depth(queue, 'g')).pending).toBe(0);
      },
    },
    {
      row: 'one message per partition',
      does: 'whatever the batch',
      run: async (broker) => {
        for (const p of ['p1', 'p2']) {
          await broker.api.pushIds(broker.queue, p, [`${p}-a`, `${p}-b`]);
        }
        const answer = await popped(broker, { ...LAST, batch: 100 });
        expect([idsOf(answer).sort(), answer.partitionsClaimed]).toEqual([['p1-b', 'p2-b'], 2]);
      },
    },
    {
      row: 'at most 64 per call',
      does: 'of 70 partitions',
      run: async (broker) => {
        const names = Array.from({ length: 70 }, (_, i) => `p${i}`);
        const item = (partition: string) => ({ queue: broker.queue, partition, payload: 1 });
        await broker.api.push(names.map(item));
        expect((await popped(broker, { ...LAST, partitions: 100 })).messages).toHaveLength(64);
        expect((await popped(broker, LAST)).messages).toHaveLength(6);
      },
    },
    {
      row: 'other groups',
      does: 'get everything',
      run: async (broker) => {
        await lastOfThree(broker);
        expect(idsOf(await popped(broker, { consumerGroup: 'h' }))).toEqual(['a', 'b', 'c']);
        expect(idsOf(await popped(broker, {}))).toEqual(['a', 'b', 'c']);
      },
    },
    {
      row: 'conflationConflict',
      does: 'a plain group is delivered normally',
      run: async (broker) => {
        await broker.api.popQueue(broker.queue, G);
        await broker.api.pushIds(broker.queue, 'p', ['a', 'b']);
        const answer = await popped(broker, LAST);
        expect(idsOf(answer)).toEqual(['a', 'b']);
        expect(answer).toMatchObject({ conflationConflict: true });
        expect(answer).not.toHaveProperty('conflation');
      },
    },
    {
      row: 'conflation=false on a conflating group',
      does: 'the stored policy wins, and both keys say so',
      run: async (broker) => {
        await popped(broker, LAST);
        await broker.api.pushIds(broker.queue, 'p', ['a', 'b']);
        const answer = await popped(broker, { ...G, conflation: false });
        expect(idsOf(answer)).toEqual(['b']);
        expect(tailOf(answer)).toEqual(['partitionsClaimed', 'conflation', 'conflationConflict']);
      },
    },
    {
      row: 'an empty answer is 200',
      does: 'also after a wait, by name, and on discovery',
      run: async (broker) => {
        const { api, queue } = broker;
        await popped(broker, LAST);
        const wait = { ...G, wait: true, timeout: 300 };
        expect(await popped(broker, wait)).toMatchObject({ messages: [], conflation: true });
        const pinned = await api.popPartition(queue, 'p', G);
        expect(pinned).toMatchObject({ messages: [], conflation: true });
        const found = await api.pop('', { ...G, namespace: 'row', conflation: false });
        expect(found).toMatchObject({ messages: [], conflation: true, conflationConflict: true });
      },
    },
  ],
};

export const policyExamples: ContractTable = {
  section: 'message-plane 14',
  rows: [
    {
      row: 'empty conflating pop',
      does: 'as it stands in the example',
      send: 'GET /api/v1/pop/queue/{queue}?consumerGroup=calc&conflation=true',
      answer: {
        status: 200,
        text:
          '{"success":true,"queue":"{queue}","partition":"","partitionId":"","leaseId":"",' +
          '"consumerGroup":"calc","messages":[],"partitionsClaimed":0,"conflation":true}',
      },
    },
  ],
};

export const policyScenarios: ContractTable = {
  section: 'message-plane 14.1',
  rows: [
    {
      row: '25',
      does: 'conflating pop of a,b,c; completed c: one message, cursor 2',
      run: async (broker) => {
        const { api, queue } = broker;
        const { partitionId, leaseId } = await lastOfThree(broker);
        const acks = await api.ack('g', [{ transactionId: 'c', partitionId, leaseId }]);
        expect(acks).toMatchObject([{ success: true, leaseReleased: true }]);
        expect(await api.depth(queue, 'g')).toMatchObject({ pending: 0, conflation: true });
      },
    },
  ],
};

/** A node of its own, for what its settings decide (decisions 19). */
export const policySettings: ContractTable = {
  section: 'message-plane 3.1',
  environment: {
    ...SHARED,
    DEFAULT_SUBSCRIPTION_MODE: 'new-only',
    SVC_RAFT_AUTOPILOT_BATCH_MIN: '7',
  },
  rows: [
    {
      row: 'subscriptionMode',
      does: 'DEFAULT_SUBSCRIPTION_MODE decides for groups that do not say, but for queue mode',
      run: async (broker) => {
        const { api, queue } = broker;
        await api.pushIds(queue, 'p', ['a']);
        expect(await api.popQueue(queue, G)).toBeNull();
        const all = { consumerGroup: 'all', subscriptionMode: 'all' };
        expect(idsOf(await popped(broker, all))).toEqual(['a']);
        await api.pushIds(queue, 'p', ['b']);
        expect(idsOf(await popped(broker, G))).toEqual(['b']);
        expect(idsOf(await popped(broker, {}))).toEqual(['a', 'b']);
      },
    },
    {
      row: 'autopilot',
      does: 'SVC_RAFT_AUTOPILOT_BATCH_MIN is the batch of a group that has acknowledged nothing',
      run: async (broker) => {
        await broker.api.pushIds(broker.queue, 'p', ['a']);
        const { autopilot } = await popped(broker, { autopilot: true });
        expect(autopilot).toEqual({ partitions: 1, batch: 7 });
      },
    },
  ],
};

export const commitOnDelivery: ContractTable = {
  section: 'message-plane 15',
  rows: [
    {
      row: 'commitOnDelivery',
      does: 'commits as autoAck does, whichever of the two is true',
      run: async (broker) => {
        await broker.api.pushIds(broker.queue, 'p', ['a', 'b']);
        const one = { ...G, batch: 1 };
        const first = await popped(broker, { ...one, commitOnDelivery: true });
        const second = await popped(broker, { ...one, commitOnDelivery: true, autoAck: false });
        expect([idsOf(first), first.leaseId]).toEqual([['a'], '']);
        expect([idsOf(second), second.leaseId]).toEqual([['b'], '']);
        expect(await broker.api.popQueue(broker.queue, G)).toBeNull();
      },
    },
    {
      row: 'commitOnDelivery',
      does: 'with conflation the refusal names both',
      send: 'GET /api/v1/pop/queue/{queue}?conflation=true&consumerGroup=g&commitOnDelivery=true',
      answer: {
        status: 400,
        error: 'conflation cannot be combined with autoAck or commitOnDelivery: ',
        body: { success: false, messages: [] },
      },
    },
  ],
};
