/** The overview, sums by label, sizes, and what is cut (inspection 6; message-plane 15). */
import type { Answer } from '@svc/http/api';
import { expect } from 'vitest';
import type { BrokerUnderTest } from '../broker-under-test.js';
import { figures, RESOURCES, readResource as read } from '../resources.js';
import type { ContractTable } from '../table.js';

type DepthAnswer = Answer<'GET /api/v1/resources/queues/{queue}/depth'>;
type NamespacesAnswer = Answer<'GET /api/v1/resources/namespaces'>;
type OverviewAnswer = Answer<'GET /api/v1/resources/overview'>;
type PartitionRankingAnswer = Answer<'GET /api/v1/resources/partitions'>;
type QueueDetailAnswer = Answer<'GET /api/v1/resources/queues/{queue}'>;
type QueueListAnswer = Exclude<Answer<'GET /api/v1/resources/queues'>, { readonly stats: string }>;
type QueueSizesAnswer = Answer<'GET /api/v1/resources/queues/{queue}/sizes'>;
type TasksAnswer = Answer<'GET /api/v1/resources/tasks'>;

const NOT_FOUND = '{"error":"Queue not found"}';

/** Three queues: two of namespace `a<n>`, of which one has messages that nobody has consumed. */
async function labelled({ api, queue }: BrokerUnderTest): Promise<void> {
  await api.pushIds(`${queue}.one`, 'p', ['a', 'b', 'c']);
  await api.popQueue(`${queue}.one`, { consumerGroup: 'g', batch: 2 });
  await api.pushIds(`${queue}.two`, 'p', ['a']);
  await api.popQueue(`${queue}.two`, { autoAck: true });
  await api.configure('unlabelled', { namespace: '', task: '' });
}

export const inspectedResources: ContractTable = {
  section: 'inspection 6',
  rows: [
    {
      row: '6.1 overview',
      does: 'sums of all queues; pending excludes leased; averages over queues that lag',
      run: async (broker) => {
        await labelled(broker);
        const overview = await read<OverviewAnswer>(broker, '/overview');
        expect(overview).toEqual({
          queues: 3,
          partitions: 3,
          namespaces: 1,
          tasks: 1,
          messages: {
            total: 4,
            pending: 1,
            processing: 2,
            completed: 1,
            failed: 0,
            deadLetter: 0,
          },
          lag: {
            time: { avg: expect.any(Number), median: 0, min: 0, max: expect.any(Number) },
            offset: { avg: 3, median: 0, min: 0, max: 3 },
          },
          timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
          statsAge: 0,
        });
      },
    },
    {
      row: '6.1 overview',
      does: 'of a tenant without queues',
      send: `GET ${RESOURCES}/overview`,
      answer: {
        status: 200,
        body: { queues: 0, partitions: 0, messages: { total: 0 }, lag: { time: { avg: 0 } } },
      },
    },
    {
      row: '6.2 namespaces',
      does: 'not the empty one; pending excludes leased',
      run: async (broker) => {
        await labelled(broker);
        expect(await read<NamespacesAnswer>(broker, '/namespaces')).toEqual({
          namespaces: [
            {
              namespace: 'row',
              queues: 2,
              partitions: 2,
              messages: { total: 4, pending: 1 },
            },
          ],
        });
      },
    },
    {
      row: '6.2 tasks',
      does: 'ordered',
      run: async (broker) => {
        const { api } = broker;
        for (const name of ['x.mail', 'y.mail', 'z.bill', 'plain']) {
          await api.pushIds(name, 'p', ['a']);
        }
        const { tasks } = await read<TasksAnswer>(broker, '/tasks');
        expect(tasks).toEqual([
          { task: 'bill', queues: 1, partitions: 1, messages: { total: 1, pending: 1 } },
          { task: 'mail', queues: 2, partitions: 2, messages: { total: 2, pending: 2 } },
        ]);
      },
    },
    {
      row: '6.3 partitions',
      does: 'the same as message-plane 8',
      run: async (broker) => {
        await figures(broker);
        const path = `/partitions?queue=${broker.queue}&limit=1`;
        expect(await read<PartitionRankingAnswer>(broker, path)).toMatchObject({
          partitions: [{ queue: broker.queue, partition: 'p', pending: 3, processing: 2 }],
          walked: 2,
          truncated: false,
        });
      },
    },
    {
      row: '6.4 depth',
      does: 'without `group`, a registered group that never came has consumed nothing',
      run: async (broker) => {
        const { api, queue } = broker;
        await api.popQueue(queue, { consumerGroup: 'early' });
        await api.pushIds(queue, 'p', ['a', 'b']);
        await api.popQueue(queue, { consumerGroup: 'other', autoAck: true });
        const depth = await read<DepthAnswer>(broker, `/queues/${queue}/depth`);
        expect([depth.pending, depth.ready]).toEqual([2, 2]);
      },
    },
    {
      row: '6.5 queues',
      does: 'one row per queue of the tenant, and of no other',
      run: async (broker) => {
        await labelled(broker);
        const { queues } = await read<QueueListAnswer>(broker, '/queues');
        expect(queues.map(({ name }) => name)).toEqual([
          'unlabelled',
          `${broker.queue}.two`,
          `${broker.queue}.one`,
        ]);
      },
    },
    {
      row: '6.6 detail',
      does: 'totalConsumed is that of the reader who consumed most',
      run: async ({ api, queue }) => {
        await api.pushIds(queue, 'p', ['a', 'b', 'c']);
        await api.popQueue(queue, { consumerGroup: 'g', autoAck: true, batch: 1 });
        await api.popQueue(queue, { consumerGroup: 'h', autoAck: true });
        const { partitions } = await api.detail(queue);
        expect(partitions[0]?.cursor).toEqual({ totalConsumed: 3, batchesConsumed: 0 });
      },
    },
  ],
};

export const queueSizes: ContractTable = {
  section: 'message-plane 15',
  rows: [
    {
      row: 'sizes',
      does: 'retained bytes by partition, the same as in the detail',
      run: async (broker) => {
        await figures(broker);
        const sizes = await read<QueueSizesAnswer>(broker, `/queues/${broker.queue}/sizes`);
        const { partitions } = await broker.api.detail(broker.queue);
        expect(sizes).toEqual({
          queue: broker.queue,
          partitions: Object.fromEntries(partitions.map((row) => [row.name, row.retainedBytes])),
        });
      },
    },
    {
      row: 'sizes',
      does: 'an unknown queue',
      send: `GET ${RESOURCES}/queues/{queue}/sizes`,
      answer: { status: 404, text: NOT_FOUND },
    },
  ],
};

/** With two partitions shown at most. */
export const truncatedResources: ContractTable = {
  section: 'inspection 6',
  environment: {
    SVC_TENANCY_HEADER: 'true',
    SVC_KV_TRUSTED_PROXY: '1',
    SVC_DASH_SIZES_MAX: '2',
  },
  rows: [
    {
      row: 'SVC_DASH_SIZES_MAX',
      does: 'detail, sizes and ranking end there and say so; totals go on',
      run: async (broker) => {
        const { api, queue } = broker;
        const path = `/queues/${queue}`;
        for (const name of ['c', 'a']) await api.pushIds(queue, name, ['1', '2']);
        expect(await read<QueueDetailAnswer>(broker, path)).not.toHaveProperty(
          'partitionsTruncated',
        );
        expect(await read<QueueSizesAnswer>(broker, `${path}/sizes`)).not.toHaveProperty(
          'truncated',
        );
        await api.pushIds(queue, 'b', ['1', '2']);
        const detail = await read<QueueDetailAnswer>(broker, path);
        expect(detail.partitions.map(({ name }) => name)).toEqual(['a', 'b']);
        expect([detail.partitionsTruncated, detail.totals.total]).toEqual([true, 6]);
        const sizes = await read<QueueSizesAnswer>(broker, `${path}/sizes`);
        expect([Object.keys(sizes.partitions), sizes.truncated]).toEqual([['a', 'b'], true]);
        const ranking = await read<PartitionRankingAnswer>(broker, '/partitions');
        expect([ranking.walked, ranking.truncated]).toEqual([2, true]);
      },
    },
  ],
};
