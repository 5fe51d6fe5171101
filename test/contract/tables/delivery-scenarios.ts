/** Scenarios 19 to 24, 29 and 30: leases, starts, delays, deduplication (message-plane 14.1). */
import { expect } from 'vitest';
import { sleep } from '../../process/node-under-test.js';
import { rawMembers } from '../../process/raw-json.js';
import { idsOf } from '../broker-api.js';
import { GROUP, LeasedBatch } from '../leased-batch.js';
import type { ContractTable } from '../table.js';

const G = { consumerGroup: GROUP };
const PAYLOAD = '{"b":1,"a":1.0,"x":12345678901234567890}';

export const deliveryScenarios: ContractTable = {
  section: 'message-plane 14.1',
  rows: [
    {
      row: '19',
      does: 'second pop of the group during the lease: 204; another group gets all',
      run: async (broker) => {
        await LeasedBatch.take(broker);
        const { api, queue } = broker;
        expect(await api.popQueue(queue, G)).toBeNull();
        expect(await api.popPartition(queue, 'p', G)).toBeNull();
        const other = await api.popQueue(queue, { consumerGroup: 'h' });
        expect(idsOf(other)).toEqual(['a', 'b', 'c']);
      },
    },
    {
      row: '20',
      does: '8 partitions × 3, pops batch 2 partitions 3: each offset and partition once',
      run: async ({ api, queue }) => {
        const partitions = Array.from({ length: 8 }, (_, i) => `p${i}`);
        for (const partition of partitions) await api.pushIds(queue, partition, ['a', 'b', 'c']);
        const seen = new Set<string>();
        const leased = new Set<string>();
        for (let pops = 0; pops < 8; pops++) {
          const popped = await api.popQueue(queue, { ...G, batch: 2, partitions: 3 });
          const claimed = new Set(popped?.messages.map(({ partition }) => partition));
          for (const partition of claimed) expect(leased.has(partition)).toBe(false);
          for (const partition of claimed) leased.add(partition);
          for (const { partition, offset } of popped?.messages ?? []) {
            expect(seen.has(`${partition} ${offset}`)).toBe(false);
            seen.add(`${partition} ${offset}`);
          }
        }
        expect([...leased].sort()).toEqual(partitions);
        expect(await api.popQueue(queue, G)).toBeNull();
      },
    },
    {
      row: '21',
      does: 'two partitions, 2 each, batch=3&partitions=2: 3 messages, one leaseId',
      run: async ({ api, queue }) => {
        await api.pushIds(queue, 'p', ['a', 'b']);
        await api.pushIds(queue, 'q', ['c', 'd']);
        const popped = await api.popQueue(queue, { ...G, batch: 3, partitions: 2 });
        expect(idsOf(popped)).toEqual(['a', 'b', 'c']);
        const leases = new Set(popped?.messages.map(({ leaseId }) => leaseId));
        expect(leases).toEqual(new Set([popped?.leaseId]));
      },
    },
    {
      row: '22',
      does: 'a group with new on a backlog: skipped, and a new partition is read from 0',
      run: async ({ api, queue }) => {
        const parameters = { ...G, subscriptionMode: 'new' };
        await api.pushIds(queue, 'old', ['a', 'b']);
        expect(await api.popQueue(queue, parameters)).toBeNull();
        await api.pushIds(queue, 'fresh', ['c']);
        const popped = await api.popQueue(queue, { ...parameters, partitions: 2 });
        expect(popped?.messages.map((one) => [one.partition, one.offset])).toEqual([['fresh', 0]]);
      },
    },
    {
      row: '23',
      does: 'pinned plain pop of group g, then wildcard: other partitions’ backlog delivered',
      run: async ({ api, queue }) => {
        await api.pushIds(queue, 'p', ['a']);
        await api.pushIds(queue, 'q', ['b']);
        expect(idsOf(await api.popPartition(queue, 'p', G))).toEqual(['a']);
        expect(idsOf(await api.popQueue(queue, { ...G, partitions: 5 }))).toEqual(['b']);
      },
    },
    {
      row: '24',
      does: 'delayedProcessing / windowBuffer: 204 before, delivered after',
      run: async ({ api }) => {
        const options = { delayedProcessing: 4, windowBuffer: 4 };
        const waits = Object.entries(options).map(async ([name, seconds]) => {
          await api.configure(name, { [name]: seconds });
          await api.pushIds(name, 'p', ['a']);
          expect(await api.popQueue(name, G)).toBeNull();
          const popped = await api.popQueue(name, { ...G, wait: true, timeout: 9000 });
          const ageMs = Date.now() - Date.parse(popped?.messages[0]?.createdAt ?? '');
          expect(ageMs).toBeGreaterThanOrEqual(3990);
        });
        await Promise.all(waits);
      },
    },
    {
      row: '29',
      does: 'push same txn before/after the window; same txn other partition',
      run: async ({ api, queue }) => {
        await api.configure(queue, { dedupWindowSeconds: 4 });
        const push = async (partition: string) => (await api.pushIds(queue, partition, ['t']))[0];
        const first = await push('p');
        expect(first?.status).toBe('queued');
        expect(await push('p')).toEqual({ ...first, status: 'duplicate' });
        expect((await push('q'))?.status).toBe('queued');
        await sleep(4500);
        expect((await push('p'))?.status).toBe('queued');
      },
    },
    {
      row: '30',
      does: 'popped and fetched byte-identical',
      run: async (broker) => {
        const { client, queue } = broker.sameNode;
        const body = `{"items":[{"queue":"${queue}","payload":${PAYLOAD}}]}`;
        expect((await client.post('/api/v1/push', body)).status).toBe(201);
        const popped = await client.get(`/api/v1/pop/queue/${queue}`);
        expect(rawMembers(popped.text, 'data')).toEqual([PAYLOAD]);
        const fetched = await client.post('/api/v1/fetch', { entries: [{ queue, offset: 0 }] });
        expect(rawMembers(fetched.text, 'payload')).toEqual([PAYLOAD]);
      },
    },
  ],
};
