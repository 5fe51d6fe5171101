/** POST /api/v1/transaction (message-plane 6), on a batch a, b, c that group `g` has leased. */
import { expect } from 'vitest';
import { sleep } from '../../process/node-under-test.js';
import { idsOf } from '../broker-api.js';
import { GROUP, LeasedBatch } from '../leased-batch.js';
import type { ContractRow, ContractTable } from '../table.js';
import {
  ack,
  expectCommit,
  expectPushed,
  expectRollback,
  PATH,
  position,
  push,
  refused,
} from '../transaction-calls.js';
import { NO_PARTS, TOP_LEVEL, transactionRefusals } from './transaction-refusals.js';

const pushes: readonly ContractRow[] = [
  {
    row: 'push op',
    does: 'items of several operations and inline ones, each with its own result',
    run: async (broker) => {
      const { queue } = broker;
      const items = [push(queue, 'a'), push(queue, 'b', { partition: null })];
      const operations = [{ type: 'push', items }, push(queue, 'c')];
      const { results } = await expectCommit(broker, { operations });
      expect(results.map((one) => [one.index, one.type])).toEqual([
        [0, 'push'],
        [1, 'push'],
        [2, 'push'],
      ]);
      await expectPushed(broker, ['a', 'c']);
      expect(idsOf(await broker.api.popPartition(queue, 'Default'))).toEqual(['b']);
    },
  },
  {
    row: 'push op traceId',
    does: 'a UUID pops in lower case, anything else is ignored',
    run: async (broker) => {
      const { queue } = broker;
      const id = '01A2B3C4-0000-7000-8000-00000000CAFE';
      const traces = [id, 'no uuid', 7, null];
      const operations = traces.map((traceId, i) => push(queue, `${i}`, { traceId }));
      await expectCommit(broker, { operations });
      const popped = await broker.api.popPartition(queue, 'out');
      const seen = popped?.messages.map(({ traceId }) => traceId);
      expect(seen).toEqual([id.toLowerCase(), null, null, null]);
    },
  },
  {
    row: 'result push',
    does: 'keys in order; without an id the message id; an in-call repeat names its leader',
    run: async ({ client, queue }) => {
      const items = [push(queue, 'a'), push(queue, 'a'), { queue, payload: 1 }];
      const { text } = await client.post(PATH, { operations: [{ type: 'push', items }] });
      const { transactionId, results } = JSON.parse(text);
      const [first, , third] = results.map((one: { messageId: string }) => one.messageId);
      expect(text).toBe(
        `{"transactionId":"${transactionId}","success":true,"results":[` +
          '{"index":0,"type":"push","success":true,"transactionId":"a",' +
          `"messageId":"${first}","queueName":"${queue}"},` +
          '{"index":1,"type":"push","success":true,"transactionId":"a",' +
          `"messageId":"${first}","queueName":"${queue}","duplicate":true},` +
          `{"index":2,"type":"push","success":true,"transactionId":"${third}",` +
          `"messageId":"${third}","queueName":"${queue}"}]}`,
      );
    },
  },
  {
    row: 'duplicate',
    does: 'an id in the window rolls everything back, and names the original',
    run: async (broker) => {
      const batch = await LeasedBatch.take(broker);
      const operations = [
        ack(batch, 'c'),
        push(broker.queue, 'new'),
        push(broker.queue, 'b', { partition: 'p' }),
      ];
      const error =
        `^QDUP a pushed message to ${broker.queue}/p is a duplicate ` +
        '\\(original offset 1\\); the transaction rolled back$';
      await expectRollback(broker, { operations }, 'duplicate', error);
      await batch.expectCursor(-1, 3);
      await expectPushed(broker, []);
    },
  },
];

const acks: readonly ContractRow[] = [
  {
    row: 'ack op',
    does: 'each status; one that is unknown is completed',
    run: async (broker) => {
      const batch = await LeasedBatch.take(broker, { retryLimit: 0 });
      const operations = [
        ack(batch, 'a', { status: 'dlq', error: 'jam' }),
        ack(batch, 'b', { status: 'whatever' }),
        ack(batch, 'c', { status: 'retry' }),
      ];
      const { results } = await expectCommit(broker, { operations });
      expect(results.map((one) => 'dlq' in one && one.dlq)).toEqual([true, false, false]);
      await batch.expectCursor(1, 0);
      await batch.expectDeadLetters(1);
      await batch.expectPop(['c']);
    },
  },
  {
    row: 'ack op',
    does: 'consumerGroup "" is the default group, which has leased nothing',
    run: async (broker) => {
      const batch = await LeasedBatch.take(broker);
      const operations = [ack(batch, 'a', { consumerGroup: '' })];
      await expectRollback(broker, { operations }, 'rejected_ack', /^QTXN 1 acked message/);
    },
  },
  {
    row: 'lease of an ack',
    does: 'its own, else the only one that requiredLeases and acks name',
    run: async (broker) => {
      const batch = await LeasedBatch.take(broker);
      const { leaseId } = batch.lease;
      const bare = (id: string) => ack(batch, id, { leaseId: undefined });
      const other = leaseId.replace(/.$/, (digit) => (digit === '0' ? '1' : '0'));
      const required = { operations: [bare('a')], requiredLeases: [other] };
      await expectRollback(broker, required, 'rejected_ack', /^QTXN 1 acked message/);
      await expectCommit(broker, { operations: [bare('a')], requiredLeases: [leaseId, leaseId] });
      await expectCommit(broker, { operations: [bare('b'), ack(batch, 'b')] });
      await batch.expectCursor(1, 1);
      const two = { operations: [bare('c')], requiredLeases: [leaseId, other] };
      await expectCommit(broker, two);
      await batch.expectCursor(2, 0);
    },
  },
  {
    row: 'acks on shadow cursors',
    does: 'several acks of one cursor, under a lease and without, are judged in turn',
    run: async (broker) => {
      const batch = await LeasedBatch.take(broker);
      const other = await broker.api.popQueue(broker.queue, { consumerGroup: 'h' });
      const second = { leaseId: other?.leaseId, consumerGroup: 'h' };
      const operations = [
        ack(batch, 'b'),
        ack(batch, 'a', second),
        ack(batch, 'c', { leaseId: '' }),
        ack(batch, 'a', { leaseId: '' }),
      ];
      await expectCommit(broker, { operations });
      await batch.expectCursor(2, 0);
      const { pending } = await broker.api.depth(broker.queue, 'h');
      expect(pending).toBe(2);
    },
  },
  {
    row: 'completed at or below the cursor',
    does: 'is a no-op and does not roll back; a signal there does',
    run: async (broker) => {
      const batch = await LeasedBatch.take(broker);
      await batch.ack(['b']);
      await expectCommit(broker, {
        operations: [ack(batch, 'a', { leaseId: '' }), ack(batch, 'b')],
      });
      await batch.expectCursor(1, 1);
      const operations = [ack(batch, 'a', { status: 'failed' })];
      await expectRollback(broker, { operations }, 'rejected_ack', /^QTXN 1 acked message/);
    },
  },
  {
    row: 'rejected_ack',
    does: 'another lease, a released one, a message outside the batch or nowhere, no cursor',
    run: async (broker) => {
      const { api, queue } = broker;
      await api.pushIds(queue, 'p', ['a', 'b', 'c']);
      const lease = await api.popQueue(queue, { consumerGroup: 'h', batch: 2 });
      const { partitionId = '', leaseId = '' } = lease ?? {};
      const one = (transactionId: string, changes: object = {}) => {
        const operation = { type: 'ack', transactionId, partitionId, consumerGroup: 'h', leaseId };
        return { operations: [{ ...operation, ...changes }, push(queue, 'r')] };
      };
      const error = (count: number) =>
        `^QTXN ${count} acked message\\(s\\) on partition ${partitionId} are not leased by this ` +
        'worker or were already acked; the transaction rolled back$';
      await expectRollback(broker, one('c'), 'rejected_ack', error(1));
      await expectRollback(broker, one('a', { leaseId: 'L' }), 'rejected_ack', error(1));
      await expectRollback(broker, one('zzz', { leaseId: '' }), 'rejected_ack', error(1));
      await expectRollback(broker, one('a', { consumerGroup: 'no' }), 'rejected_ack', error(1));
      await expectCommit(broker, { operations: one('b').operations.slice(0, 1) });
      await expectRollback(broker, one('b'), 'rejected_ack', error(1));
      await expectPushed(broker, []);
    },
  },
  {
    row: 'rejected_ack',
    does: 'a lease that has expired',
    run: async (broker) => {
      const batch = await LeasedBatch.take(broker, {}, { leaseSeconds: 1 });
      await sleep(1200);
      const operations = [ack(batch, 'a'), ack(batch, 'b')];
      await expectRollback(broker, { operations }, 'rejected_ack', /^QTXN 2 acked message/);
    },
  },
  {
    row: 'rejected_ack',
    does: 'no such partition, also where it is another tenant’s',
    run: async (broker) => {
      const batch = await LeasedBatch.take(broker);
      const { partitionId } = batch.lease;
      const operations = [ack(batch, 'a', { partitionId: '4294967295' })];
      const error = '^QTXN no partition 4294967295; the transaction rolled back$';
      await expectRollback(broker, { operations }, 'rejected_ack', error);
      const stranger = broker.stranger;
      const theirs = `^QTXN no partition ${partitionId}; the transaction rolled back$`;
      await expectRollback(stranger, { operations: [ack(batch, 'a')] }, 'rejected_ack', theirs);
    },
  },
  {
    row: 'a lease-less ack of a failed message',
    does: 'of one failed, retried or filed rolls back; of one completed it is a no-op',
    run: async (broker) => {
      const batch = await LeasedBatch.take(broker);
      await batch.ack(['a'], ['b', 'failed']);
      const bare = (id: string) => ({ operations: [ack(batch, id, { leaseId: '' })] });
      await expectRollback(broker, bare('b'), 'rejected_ack', /^QTXN 1 acked message/);
      await expectCommit(broker, bare('a'));
      await batch.expectPop(['b', 'c']);
      await batch.ack(['b', 'dlq']);
      await expectRollback(broker, bare('b'), 'rejected_ack', /^QTXN 1 acked message/);
      await batch.expectPop(['c']);
      await expectCommit(broker, bare('c'));
      await expectCommit(broker, bare('c'));
    },
  },
];

const positions: readonly ContractRow[] = [
  {
    row: 'position',
    does: 'the next offset that is read; the lease is gone and the counters begin anew',
    run: async (broker) => {
      const batch = await LeasedBatch.take(broker);
      await batch.ack(['a', 'failed']);
      await batch.expectPop(['a', 'b', 'c'], 2);
      const { leaseId } = batch.lease;
      await expectCommit(broker, { positions: [position(broker.queue, 1)] });
      expect((await batch.ackWith(leaseId, ['b']))[0]?.error).toContain('invalid or expired lease');
      await batch.expectPop(['b', 'c'], 1);
    },
  },
  {
    row: 'position',
    does: 'beyond the end it waits for what is written there',
    run: async (broker) => {
      const batch = await LeasedBatch.take(broker);
      const { api, queue } = broker;
      await expectCommit(broker, { positions: [position(queue, 4)] });
      expect((await api.depth(queue, GROUP)).pending).toBe(0);
      await api.pushIds(queue, 'p', ['d', 'e']);
      await batch.expectPop(['e']);
    },
  },
  {
    row: 'position null',
    does: 'forgets the cursor; on an unknown partition it does nothing',
    run: async (broker) => {
      const batch = await LeasedBatch.take(broker);
      const { queue } = broker;
      await batch.ack(['c']);
      const unknown = position(queue, null, { partition: 'nowhere' });
      const { results } = await expectCommit(broker, {
        positions: [unknown, position(queue, null)],
      });
      expect(results).toHaveLength(2);
      expect((await broker.api.detail(queue)).partitions.map(({ name }) => name)).not.toContain(
        'nowhere',
      );
      await batch.expectPop(['a', 'b', 'c']);
    },
  },
  {
    row: 'position unknown group',
    does: 'is registered with its mode; what it set counts',
    run: async (broker) => {
      const { api, queue } = broker;
      await api.pushIds(queue, 'p', ['a', 'b']);
      await api.pushIds(queue, 'q', ['c']);
      const fresh = { consumerGroup: 'fresh', subscriptionMode: 'new' };
      await expectCommit(broker, { positions: [position(queue, 1, fresh)] });
      const popped = await api.popQueue(queue, { consumerGroup: 'fresh', partitions: 9 });
      // Partition q was there before the group was: `new` skips it.
      expect(idsOf(popped)).toEqual(['b']);
    },
  },
  {
    row: 'position unknown partition',
    does: 'is created',
    run: async (broker) => {
      const { api, queue } = broker;
      await api.pushIds(queue, 'p', ['a']);
      await expectCommit(broker, { positions: [position(queue, 1, { partition: 'fresh' })] });
      await api.pushIds(queue, 'fresh', ['0', '1']);
      expect(idsOf(await api.popPartition(queue, 'fresh', { consumerGroup: GROUP }))).toEqual([
        '1',
      ]);
    },
  },
  {
    row: 'position identical',
    does: 'commits again, and leaves the lease that was taken since alone only if it differs',
    run: async (broker) => {
      const { api, queue } = broker;
      await api.pushIds(queue, 'p', ['a', 'b']);
      const positions = [position(queue, 1, { metadata: 'm' })];
      await expectCommit(broker, { positions });
      const { results } = await expectCommit(broker, { positions });
      expect(results).toEqual([{ index: 0, opIndex: 0, type: 'position', success: true }]);
      expect((await api.depth(queue, GROUP)).pending).toBe(1);
    },
  },
  {
    row: 'queue_not_found',
    does: 'a position on no queue, not even on one that the call itself would make',
    run: async (broker) => {
      const { queue } = broker;
      const parts = { operations: [push(queue, 'a')], positions: [position(queue, 0)] };
      await expectRollback(broker, parts, 'queue_not_found', `^queue ${queue} does not exist$`);
      expect((await broker.client.get(`/api/v1/resources/queues/${queue}`)).status).toBe(404);
    },
  },
  {
    row: 'too_large',
    does: 'metadata of more than 4096 bytes',
    run: async (broker) => {
      const { api, queue } = broker;
      await api.pushIds(queue, 'p', ['a']);
      const at = (metadata: string) => ({
        positions: [position(queue, 0), position(queue, 1, { metadata })],
      });
      const error = '^positions\\[1\\]: metadata of 4098 B exceeds 4096 B$';
      await expectRollback(broker, at('é'.repeat(2049)), 'too_large', error);
      await expectCommit(broker, at('é'.repeat(2048)));
    },
  },
  {
    row: 'name_too_long',
    does: 'the names of a position, after whatever else is wrong',
    run: async (broker) => {
      const { api, queue } = broker;
      await api.pushIds(queue, 'p', ['a']);
      const long = position(queue, 1, { partition: 'n'.repeat(500) });
      await expectRollback(
        broker,
        { positions: [position(queue, 0), long] },
        'name_too_long',
        /^positions\[1\]: partition name is 500 bytes; the composite store key limit leaves 447/,
      );
      const first = { positions: [position('missing', 0), long] };
      await expectRollback(broker, first, 'queue_not_found', 'queue missing does not exist');
    },
  },
];

const whole: readonly ContractRow[] = [
  {
    row: 'commit',
    does: 'everything at once: the ack, the push and the position',
    run: async (broker) => {
      const batch = await LeasedBatch.take(broker);
      const { queue } = broker;
      const { transactionId, results } = await expectCommit(broker, {
        operations: [ack(batch, 'c'), push(queue, 'r')],
        positions: [position(queue, 2, { consumerGroup: 'audit' })],
      });
      expect(transactionId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
      expect(results.map(({ index, type }) => [index, type])).toEqual([
        [0, 'ack'],
        [1, 'push'],
        [2, 'position'],
      ]);
      const { partitions } = await broker.api.depth(queue, GROUP);
      const none = { pending: 0, processing: 0, ready: 0 };
      expect(partitions).toContainEqual({ partition: 'p', ...none });
      await expectPushed(broker, ['r']);
      const audit = await broker.api.popPartition(queue, 'p', { consumerGroup: 'audit' });
      expect(idsOf(audit)).toEqual(['c']);
    },
  },
  {
    row: 'rollback',
    does: 'nothing of it happened: cursor, messages, groups and partitions are as before',
    run: async (broker) => {
      const batch = await LeasedBatch.take(broker);
      const { queue } = broker;
      const parts = {
        operations: [ack(batch, 'c'), push(queue, 'r')],
        positions: [
          position(queue, 1, { consumerGroup: 'fresh', partition: 'fresh' }),
          position('missing', 0),
        ],
      };
      await expectRollback(broker, parts, 'queue_not_found', 'queue missing does not exist');
      await batch.expectCursor(-1, 3);
      await expectPushed(broker, []);
      const { partitions } = await broker.api.detail(queue);
      expect(partitions.map(({ name }) => name)).not.toContain('fresh');
    },
  },
  {
    row: 'verdict order',
    does: 'acks, then pushes, then positions',
    run: async (broker) => {
      const batch = await LeasedBatch.take(broker);
      const { queue } = broker;
      const twice = push(queue, 'a', { partition: 'p' });
      const bad = position('missing', 0);
      const wrong = ack(batch, 'zzz');
      const all = { operations: [twice, wrong], positions: [bad] };
      await expectRollback(broker, all, 'rejected_ack', /^QTXN/);
      await expectRollback(broker, { operations: [twice], positions: [bad] }, 'duplicate', /^QDUP/);
      await expectRollback(broker, { positions: [bad] }, 'queue_not_found', /^queue missing/);
    },
  },
  {
    row: 'result ack',
    does: 'its keys in order',
    run: async (broker) => {
      const batch = await LeasedBatch.take(broker);
      const { text } = await broker.client.post(PATH, { operations: [ack(batch, 'a')] });
      expect(text).toContain(
        '"results":[{"index":0,"type":"ack","success":true,"transactionId":"a","error":null,' +
          '"dlq":false}]',
      );
    },
  },
  {
    row: 'result position',
    does: 'its keys in order, its index behind the operations',
    run: async (broker) => {
      const { api, client, queue } = broker;
      await api.pushIds(queue, 'p', ['a']);
      const parts = { operations: [push(queue, 'r')], positions: [position(queue, 1)] };
      const { text } = await client.post(PATH, parts);
      expect(text).toContain(',{"index":1,"opIndex":0,"type":"position","success":true}]');
    },
  },
];

export const transactions: ContractTable = {
  section: 'message-plane 6',
  rows: [...transactionRefusals, ...pushes, ...acks, ...positions, ...whole],
};

/** Two parts of the examples (message-plane 14), with what the broker mints put in. */
export const transactionExamples: ContractTable = {
  section: 'message-plane 14',
  rows: [
    {
      row: 'transaction',
      does: 'the example, byte for byte; resent it is rejected; its push alone is a duplicate',
      run: async ({ client, api }) => {
        await api.pushIds('ship.labels', 'cust-7', ['lbl-1']);
        await api.pushIds('printed', 'cust-7', ['old']);
        const lease = await api.popQueue('ship.labels', { consumerGroup: 'printer' });
        const { partitionId, leaseId } = lease ?? {};
        const pushes =
          '{"type":"push","items":[{"queue":"printed","partition":"cust-7",' +
          '"transactionId":"pr-lbl-1","payload":{"ok":true}}]}';
        const body =
          `{"operations":[{"type":"ack","transactionId":"lbl-1","partitionId":"${partitionId}",` +
          `"consumerGroup":"printer","leaseId":"${leaseId}"},${pushes}],"positions":[` +
          '{"queue":"printed","consumerGroup":"audit","partition":"cust-7","offset":0}]}';
        const first = await client.post(PATH, body);
        const { transactionId, results } = JSON.parse(first.text);
        expect(first.text).toBe(
          `{"transactionId":"${transactionId}","success":true,"results":[` +
            '{"index":0,"type":"ack","success":true,"transactionId":"lbl-1","error":null,' +
            '"dlq":false},{"index":1,"type":"push","success":true,"transactionId":"pr-lbl-1",' +
            `"messageId":"${results[1].messageId}","queueName":"printed"},` +
            '{"index":2,"opIndex":0,"type":"position","success":true}]}',
        );
        const again = await client.post(PATH, body);
        expect(again.text).toBe(
          `{"transactionId":"${JSON.parse(again.text).transactionId}","success":false,` +
            '"reason":"rejected_ack","error":"QTXN 1 acked message(s) on partition ' +
            `${partitionId} are not leased by this worker or were already acked; ` +
            'the transaction rolled back","results":[]}',
        );
        const alone = await client.post(PATH, `{"operations":[${pushes}]}`);
        expect(JSON.parse(alone.text)).toMatchObject({ success: false, reason: 'duplicate' });
      },
    },
    {
      row: 'transaction resent',
      does: 'rejected_ack, see the row before; the messages are there once',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        const parts = { operations: [ack(batch, 'c'), push(broker.queue, 'r')] };
        await expectCommit(broker, parts);
        await expectRollback(broker, parts, 'rejected_ack', /^QTXN 1 acked message/);
        await expectPushed(broker, ['r']);
      },
    },
    ...refused('transaction errors', [
      ['{"operations":[{"type":"kv"}]}', TOP_LEVEL],
      ['{}', NO_PARTS],
    ]),
  ],
};

export const transactionQueues: ContractTable = {
  section: 'message-plane 7.2',
  rows: [
    {
      row: 'transaction push',
      does: 'creates its queue with the implicit options',
      run: async (broker) => {
        const { queue } = broker;
        await expectCommit(broker, { operations: [push(queue, 'a')] });
        const { namespace, task, options } = await broker.api.detail(queue);
        expect({ namespace, task, leaseTime: options.leaseTime }).toEqual({
          namespace: 'row',
          task: `q${broker.number}`,
          leaseTime: 60,
        });
      },
    },
  ],
};
