/** Errors that management routes share, and how messages are counted (inspection 0.3, 0.4). */
import type { Answer } from '@svc/http/api';
import { expect } from 'vitest';
import type { BrokerUnderTest } from '../broker-under-test.js';
import { readResource } from '../resources.js';
import type { ContractTable } from '../table.js';

type OverviewAnswer = Answer<'GET /api/v1/resources/overview'>;
type PartitionRankingAnswer = Answer<'GET /api/v1/resources/partitions'>;
type QueueListAnswer = Exclude<Answer<'GET /api/v1/resources/queues'>, { readonly stats: string }>;
type TasksAnswer = Answer<'GET /api/v1/resources/tasks'>;

export const inspectionErrors: ContractTable = {
  section: 'inspection 0.3',
  rows: [
    {
      row: 'Queue not found',
      does: 'of the detail',
      send: 'GET /api/v1/resources/queues/{queue}',
      answer: { status: 404, text: '{"error":"Queue not found"}' },
    },
    {
      row: 'Message not found',
      does: 'of one message',
      send: 'GET /api/v1/messages/1/none',
      answer: { status: 404, text: '{"error":"Message not found"}' },
    },
    {
      row: 'Consumer group not found',
      does: 'of one group',
      send: 'GET /api/v1/consumer-groups/none',
      answer: { status: 404, text: '{"error":"Consumer group not found"}' },
    },
    {
      row: 'no_such_route',
      does: 'names the path',
      send: 'GET /api/v1/x',
      answer: {
        status: 404,
        body: { error: 'no_such_route', code: 'no_such_route', path: '/api/v1/x' },
      },
    },
    {
      row: 'bad_body',
      does: 'a body that is no JSON',
      send: 'POST /api/v1/push',
      body: '{',
      answer: { status: 400, code: 'bad_body' },
    },
    {
      row: 'bad_request',
      does: 'a field that is not as it must be',
      send: 'POST /api/v1/consumer-groups/g/subscription',
      body: { subscriptionTimestamp: 'soon' },
      answer: {
        status: 400,
        error: 'subscriptionTimestamp is invalid',
        code: 'bad_request',
      },
    },
  ],
};

/** p holds 4 messages: `slow` has leased two, `fast` has read three. */
async function counted({ api, queue }: BrokerUnderTest): Promise<void> {
  await api.pushIds(queue, 'p', ['a', 'b', 'c', 'd']);
  await api.popQueue(queue, { consumerGroup: 'fast', batch: 3, autoAck: true });
  await api.popQueue(queue, { consumerGroup: 'slow', batch: 2 });
}

export const countingRules: ContractTable = {
  section: 'inspection 0.4',
  rows: [
    {
      row: 'pending',
      does: 'from the lowest cursor of the named groups; queue mode counts where there is none',
      run: async (broker) => {
        const { api, queue } = broker;
        await api.pushIds(queue, 'p', ['a', 'b', 'c', 'd']);
        const pending = async () => (await api.detail(queue)).totals.pending;
        expect(await pending()).toBe(4);
        await api.popQueue(queue, { batch: 1, autoAck: true });
        expect(await pending()).toBe(3);
        await api.popQueue(queue, { consumerGroup: 'fast', batch: 3, autoAck: true });
        expect(await pending()).toBe(1);
        await api.popQueue(queue, { consumerGroup: 'slow', batch: 2, autoAck: true });
        expect(await pending()).toBe(2);
      },
    },
    {
      row: 'processing',
      does: 'the sum over live leases, never more than pending',
      run: async (broker) => {
        const { api, queue } = broker;
        await counted(broker);
        await api.popQueue(queue, { consumerGroup: 'third', batch: 4 });
        const { totals } = await api.detail(queue);
        expect([totals.pending, totals.processing]).toEqual([4, 4]);
      },
    },
    {
      row: 'completed',
      does: 'total less pending less dead letters',
      run: async (broker) => {
        const { api, queue } = broker;
        await api.pushIds(queue, 'p', ['a', 'b', 'c', 'd']);
        const popped = await api.popQueue(queue, { consumerGroup: 'g', batch: 3 });
        await api.ack(
          'g',
          (popped?.messages ?? []).map(({ transactionId, partitionId, leaseId }, i) => ({
            transactionId,
            partitionId,
            leaseId,
            status: i === 1 ? 'dlq' : 'completed',
          })),
        );
        const { total, pending, completed, deadLetter } = (await api.detail(queue)).totals;
        expect([total, pending, completed, deadLetter]).toEqual([4, 1, 2, 1]);
      },
    },
    {
      row: 'which pending is shown',
      does: 'list, overview and labels without what is leased, the others with it',
      run: async (broker) => {
        await counted(broker);
        const { queues } = await readResource<QueueListAnswer>(broker, '/queues');
        const { messages } = await readResource<OverviewAnswer>(broker, '/overview');
        const { tasks } = await readResource<TasksAnswer>(broker, '/tasks');
        const without = [queues[0]?.messages, messages, tasks[0]?.messages];
        expect(without.map((figures) => figures?.pending)).toEqual([2, 2, 2]);
        const { partitions } = await readResource<PartitionRankingAnswer>(broker, '/partitions');
        const { totals } = await broker.api.detail(broker.queue);
        const depth = await broker.api.depth(broker.queue, 'slow');
        const withLeased = [totals.pending, partitions[0]?.pending, depth.pending];
        expect(withLeased).toEqual([4, 4, 4]);
      },
    },
  ],
};
