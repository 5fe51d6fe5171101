/** How management routes read queries and paths (inspection 0.2). */
import { expect } from 'vitest';
import { bodyOf } from '../broker-api.js';
import { GROUP, LeasedBatch } from '../leased-batch.js';
import type { ContractTable } from '../table.js';

export const managementQueries: ContractTable = {
  section: 'inspection 0.2',
  rows: [
    {
      row: 'form decoding',
      does: '+ is a space, %XX a byte, unknown keys are ignored, empty means absent',
      run: async ({ api, client, queue }) => {
        await api.pushIds(queue, 'p', ['a', 'b']);
        await api.popQueue(queue, { consumerGroup: 'a b+c', autoAck: true, batch: 1 });
        const depthOf = async (query: string) => {
          const answer = await client.get(`/api/v1/resources/queues/${queue}/depth${query}`);
          return bodyOf(answer, 200) as { group: string | null; pending: number };
        };
        expect(await depthOf('?group=a+b%2Bc&nobody=1')).toMatchObject({
          group: 'a b+c',
          pending: 1,
        });
        expect(await depthOf('?group=')).toMatchObject({ group: null, pending: 1 });
      },
    },
    {
      row: 'last duplicate wins',
      does: 'of two groups',
      before: async ({ api, queue }) => {
        await api.pushIds(queue, 'p', ['a']);
      },
      send: 'GET /api/v1/resources/queues/{queue}/depth?group=x&group=y',
      answer: { status: 200, body: { group: 'y' } },
    },
    ...['limit=many', 'limit=', 'limit=1.5', 'offset=-x', 'limit=1e3'].map((query) => ({
      row: 'numbers that do not parse',
      does: `${query} falls back to the default`,
      send: `GET /api/v1/dlq?${query}`,
      answer: { status: 200, body: { pagination: { limit: 100, offset: 0 } } },
    })),
    ...['true', '1', 'yes'].map((value) => ({
      row: 'booleans',
      does: `${value} is true`,
      send: `DELETE /api/v1/consumer-groups/g?deleteMetadata=${value}`,
      answer: { status: 200, body: { metadataDeleted: true } },
    })),
    ...['false', '0', 'no'].map((value) => ({
      row: 'booleans',
      does: `${value} is false`,
      send: `DELETE /api/v1/consumer-groups/g?deleteMetadata=${value}`,
      answer: { status: 200, body: { metadataDeleted: false } },
    })),
    {
      row: 'uuid or digits',
      does: 'both address a partition; one of another tenant reads as absent',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        const [row] = (await broker.api.detail(broker.queue)).partitions.filter(
          ({ name }) => name === 'p',
        );
        const { stranger } = broker;
        for (const id of [batch.lease.partitionId, row?.id ?? '']) {
          const path = `/api/v1/messages/${id}/a`;
          const found = bodyOf(await broker.client.get(path), 200);
          expect(found).toMatchObject({ partition: 'p', transactionId: 'a', status: 'processing' });
          expect((await stranger.client.get(path)).status).toBe(404);
        }
        expect(await batch.ack(['c'])).toMatchObject([{ success: true }]);
        const popped = await broker.api.popQueue(broker.queue, { consumerGroup: GROUP });
        expect(popped).toBeNull();
      },
    },
  ],
};
