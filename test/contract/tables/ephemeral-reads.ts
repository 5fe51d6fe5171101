/** Ephemeral queues: what the status reads show (state-surfaces 4.2). */
import type { EphemeralQueuesAnswer } from '@svc/wire';
import { expect } from 'vitest';
import { bodyOf } from '../broker-api.js';
import { ack, configure, depth, EPHEMERAL, pop, push, shown } from '../ephemeral-calls.js';
import type { ContractTable } from '../table.js';

export const ephemeralReads: ContractTable = {
  section: 'state-surfaces 4.2',
  rows: [
    {
      row: 'queues',
      does: 'all of a queue in one row',
      run: async (broker) => {
        await configure(broker, { maxLength: 1000, windowBuffer: { ms: 20, count: 50 } });
        await push(broker, ['four'], { partition: 'p' });
        await pop(broker, { partition: 'p', group: 'g' });
        const view = await shown(broker);
        expect(Object.keys(view).join()).toBe(
          'queue,tier,depth,bytes,partitions,groups,drops,options',
        );
        expect(view).toMatchObject({ tier: 'declared', depth: 1, bytes: 6, partitions: 1 });
        expect(view).toMatchObject({ groups: 1, options: { windowBuffer: { ms: 20, count: 50 } } });
      },
    },
    {
      row: 'queues',
      does: 'in pages, when they are asked for',
      run: async ({ sameNode }) => {
        const names = ['a', 'b', 'ü'];
        for (const queue of names) {
          const options = { queue, options: {} };
          bodyOf(await sameNode.client.post(`${EPHEMERAL}/configure`, options), 201);
        }
        let after: string | null = '';
        for (const name of names) {
          const path = `${EPHEMERAL}/queues?limit=1&after=${encodeURIComponent(after ?? '')}`;
          const page = bodyOf(await sameNode.client.get(path), 200) as EphemeralQueuesAnswer;
          expect(page).toMatchObject({ queues: [{ queue: name }], count: 1 });
          expect(page.nodeId, 'the node that was asked').toBeGreaterThan(0);
          after = page.nextAfter;
        }
        expect(after, 'there is no more').toBeNull();
      },
    },
    {
      row: 'depth',
      does: 'partitions and groups',
      run: async (broker) => {
        await push(broker, ['a', 'b'], { partition: 'p' });
        const [one] = await pop(broker, { partition: 'p', group: 'widget' });
        await ack(broker, [{ id: one?.id }], { group: 'widget' });
        expect(await depth(broker)).toMatchObject({
          group: null,
          pending: 1,
          partitionsPending: 1,
          bytes: 3,
          partitions: [{ partition: 'p', pending: 1, bytes: 3 }],
          groups: [{ group: 'widget', pending: 1, skipped: 0 }],
        });
      },
    },
    {
      row: 'depth: group',
      does: 'what it has to read, and what it lost to dropping',
      run: async (broker) => {
        await configure(broker, { maxLength: 2, policy: 'dropOldest' });
        await pop(broker, { partition: 'Default', group: 'g' });
        await push(broker, [1, 2]);
        await push(broker, [3]);
        expect(await depth(broker, '?group=g')).toMatchObject({
          group: 'g',
          pending: 2,
          groups: [{ group: 'g', pending: 2, skipped: 1 }],
        });
      },
    },
    {
      row: 'depth: 404',
      does: 'where nobody knows it',
      send: `GET ${EPHEMERAL}/queues/{queue}/depth`,
      answer: {
        status: 404,
        text:
          '{"error":"no ephemeral queue by that name exists on this broker",' +
          '"code":"ephemeral_queue_not_found"}',
      },
    },
  ],
};
