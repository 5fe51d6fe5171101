/** Deduplication (message-plane 11.1), but for what retention does to it. */
import type { PushResult } from '@svc/wire';
import { expect } from 'vitest';
import { sleep } from '../../process/node-under-test.js';
import { bodyOf } from '../broker-api.js';
import type { BrokerUnderTest } from '../broker-under-test.js';
import type { ContractTable } from '../table.js';

/** What one push of one id is told. */
async function pushed({ api, queue }: BrokerUnderTest, id: string, partition = 'p') {
  const [result] = await api.pushIds(queue, partition, [id]);
  return result as PushResult;
}

export const deduplication: ContractTable = {
  section: 'message-plane 11.1',
  rows: [
    {
      row: 'scope',
      does: 'one partition: the same id elsewhere is another message',
      run: async (broker) => {
        const first = await pushed(broker, 't');
        expect(await pushed(broker, 't')).toEqual({ ...first, status: 'duplicate' });
        expect((await pushed(broker, 't', 'q')).status).toBe('queued');
        expect((await pushed(broker, 'T')).status).toBe('queued');
      },
    },
    {
      row: 'scope',
      does: 'the empty id is an id, and a minted id is one too',
      run: async (broker) => {
        const empty = await pushed(broker, '');
        expect(await pushed(broker, '')).toEqual({ ...empty, status: 'duplicate' });
        const items = [{ queue: broker.queue, partition: 'p', payload: 1 }];
        const [minted] = await broker.api.push(items);
        const id = minted?.message_id ?? '';
        expect(await pushed(broker, id)).toMatchObject({ message_id: id, status: 'duplicate' });
      },
    },
    {
      row: 'scope',
      does: 'concurrent pushes of one id, on any node, store it once',
      run: async (broker) => {
        const results = await Promise.all(
          Array.from({ length: 20 }, () => broker.api.pushIds(broker.queue, 'p', ['t', 'u'])),
        );
        const all = results.flat();
        expect(all.filter(({ status }) => status === 'queued').length).toBe(2);
        expect(new Set(all.map((result) => result.message_id)).size).toBe(2);
        const popped = await broker.api.popQueue(broker.queue);
        expect(popped?.messages.map((one) => one.transactionId)).toEqual(['t', 'u']);
      },
    },
    {
      row: 'window',
      does: 'after it the id is new',
      run: async (broker) => {
        await broker.api.configure(broker.queue, { dedupWindowSeconds: 4 });
        const first = await pushed(broker, 't');
        expect((await pushed(broker, 't')).status).toBe('duplicate');
        await sleep(4500);
        const later = await pushed(broker, 't');
        expect(later.status).toBe('queued');
        expect(later.message_id).not.toBe(first.message_id);
      },
    },
    {
      row: 'the original is the lowest',
      does: 'of several inside the window',
      run: async (broker) => {
        const configure = (dedupWindowSeconds: number) =>
          broker.api.configure(broker.queue, { dedupWindowSeconds });
        await configure(0);
        const first = await pushed(broker, 't');
        expect((await pushed(broker, 't')).status).toBe('queued');
        await configure(3600);
        expect(await pushed(broker, 't')).toEqual({ ...first, status: 'duplicate' });
      },
    },
    {
      row: 'changing the window',
      does: 'applies at once, both ways',
      run: async (broker) => {
        const configure = (dedupWindowSeconds: number) =>
          broker.api.configure(broker.queue, { dedupWindowSeconds });
        const first = await pushed(broker, 't');
        await sleep(1500);
        await configure(1);
        expect((await pushed(broker, 't')).status).toBe('queued');
        await configure(3600);
        expect((await pushed(broker, 't')).message_id).toBe(first.message_id);
      },
    },
    {
      row: 'consuming does not forget',
      does: 'popped, acknowledged, dead-lettered',
      run: async (broker) => {
        const { api, queue } = broker;
        const first = await pushed(broker, 't');
        const second = await pushed(broker, 'u');
        const popped = await api.popQueue(queue, { consumerGroup: 'g' });
        const { leaseId = '', partitionId = '' } = popped ?? {};
        await api.ack('g', [
          { transactionId: 't', partitionId, leaseId },
          { transactionId: 'u', partitionId, leaseId, status: 'dlq' },
        ]);
        expect(await pushed(broker, 't')).toEqual({ ...first, status: 'duplicate' });
        expect(await pushed(broker, 'u')).toEqual({ ...second, status: 'duplicate' });
      },
    },
    {
      row: 'window 0',
      does: 'no probe; the collapse inside one request stays',
      run: async (broker) => {
        const { api, queue } = broker;
        await api.configure(queue, { dedupWindowSeconds: 0 });
        const results = await api.pushIds(queue, 'p', ['t', 't']);
        expect(results.map(({ status }) => status)).toEqual(['queued', 'duplicate']);
        expect(results[1]?.message_id).toBe(results[0]?.message_id);
        expect((await pushed(broker, 't')).status).toBe('queued');
      },
    },
    {
      row: 'a duplicate creates nothing',
      does: 'neither does it wake a waiting pop',
      run: async (broker) => {
        const { api, queue } = broker;
        await pushed(broker, 't');
        await api.popQueue(queue, { consumerGroup: 'g', autoAck: true });
        const wait = { consumerGroup: 'g', wait: true, timeout: 1500 };
        const waiting = api.popQueue(queue, wait);
        await sleep(100);
        expect((await pushed(broker, 't')).status).toBe('duplicate');
        expect(await waiting).toBeNull();
        const detail = await api.detail(queue);
        expect([detail.partitions.length, detail.totals.total]).toEqual([1, 1]);
      },
    },
    {
      row: 'deletion forgets',
      does: 'of the queue',
      run: async (broker) => {
        const first = await pushed(broker, 't');
        const path = `/api/v1/resources/queues/${broker.queue}`;
        bodyOf(await broker.client.send('DELETE', path, undefined), 200);
        const again = await pushed(broker, 't');
        expect(again.status).toBe('queued');
        expect(again.message_id).not.toBe(first.message_id);
      },
    },
  ],
};
