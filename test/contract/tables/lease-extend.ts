/** POST /api/v1/lease/{leaseId}/extend (message-plane 5). */
import { expect } from 'vitest';
import { sleep } from '../../process/node-under-test.js';
import { bodyOf } from '../broker-api.js';
import type { BrokerUnderTest } from '../broker-under-test.js';
import { done, GROUP, LeasedBatch } from '../leased-batch.js';
import type { ContractTable } from '../table.js';

const NOTHING_LIVE = {
  success: false,
  renewed: 0,
  newExpiresAt: null,
  expiresAt: null,
  lease_expires_at: null,
};

/** Seconds from now to the end of a short lease that is extended by `body`, to the next ten. */
async function extendedTo(broker: BrokerUnderTest, body: string): Promise<number> {
  const batch = await LeasedBatch.take(broker, {}, { leaseSeconds: 10 });
  const path = `/api/v1/lease/${batch.lease.leaseId}/extend`;
  const answer = bodyOf(await broker.client.post(path, body), 200) as { expiresAt: string };
  return Math.round((Date.parse(answer.expiresAt) - Date.now()) / 1000 / 10) * 10;
}

export const leaseExtend: ContractTable = {
  section: 'message-plane 5',
  rows: [
    {
      row: 'seconds',
      does: 'from now, as an integer',
      run: async (broker) => {
        expect(await extendedTo(broker, '{"seconds":600}')).toBe(600);
      },
    },
    ...['', '{}', 'nonsense', '[]', '{"seconds":"x"}', '{"seconds":1.5}', '{"seconds":null}'].map(
      (body) => ({
        row: 'body absent, empty or unparseable',
        does: `${JSON.stringify(body)} is 60`,
        run: async (broker: BrokerUnderTest) => {
          expect(await extendedTo(broker, body)).toBe(60);
        },
      }),
    ),
    {
      row: 'below 1',
      does: 'is 1',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker, {}, { leaseSeconds: 4 });
        const extended = await broker.api.extend(batch.lease.leaseId, { seconds: -30 });
        expect(extended.success).toBe(true);
        const leftMs = Date.parse(extended.expiresAt ?? '') - Date.now();
        expect(leftMs).toBeLessThan(4100);
      },
    },
    {
      row: 'every live lease under the id',
      does: 'all partitions of a pop of two; the earliest end is told',
      run: async ({ api, queue }) => {
        await api.pushIds(queue, 'p', ['a']);
        await api.pushIds(queue, 'q', ['b']);
        const popped = await api.popQueue(queue, { partitions: 2, leaseSeconds: 4 });
        const extended = await api.extend(popped?.leaseId ?? '', { seconds: 90 });
        expect(extended).toMatchObject({ success: true, renewed: 2 });
        await sleep(4300);
        expect(await api.popQueue(queue, { partitions: 2 })).toBeNull();
      },
    },
    {
      row: 'never shortens',
      does: 'one second more than ten minutes is ten minutes',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker, {}, { leaseSeconds: 600 });
        const { newExpiresAt } = await broker.api.extend(batch.lease.leaseId, { seconds: 1 });
        expect(Date.parse(newExpiresAt ?? '')).toBeGreaterThan(Date.now() + 500_000);
      },
    },
    ...['none', '01a2b3c4-1111-7000-8000-00000000000a'].map((leaseId) => ({
      row: 'nothing live',
      does: `unknown: ${leaseId}`,
      send: `POST /api/v1/lease/${leaseId}/extend`,
      body: { seconds: 5 },
      answer: { status: 200, body: { leaseId, ...NOTHING_LIVE } },
    })),
    {
      row: 'nothing live',
      does: 'released',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        await batch.ack(['c']);
        const { leaseId } = batch.lease;
        expect(await broker.api.extend(leaseId, {})).toEqual({ leaseId, ...NOTHING_LIVE });
      },
    },
    {
      row: 'an expired lease',
      does: 'cannot be revived, though nobody popped again',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker, {}, { leaseSeconds: 1 });
        await sleep(1200);
        const { leaseId } = batch.lease;
        expect(await broker.api.extend(leaseId, {})).toEqual({ leaseId, ...NOTHING_LIVE });
        await batch.expectPop(['a', 'b', 'c'], 2);
      },
    },
    {
      row: 'answer',
      does: 'six keys, the three times are one value, and the lease lives on',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker, {}, { leaseSeconds: 4 });
        const { leaseId } = batch.lease;
        const { text } = await broker.client.post(`/api/v1/lease/${leaseId}/extend`, {});
        const { expiresAt } = JSON.parse(text);
        expect(text).toBe(
          `{"leaseId":"${leaseId}","success":true,"renewed":1,"newExpiresAt":"${expiresAt}",` +
            `"expiresAt":"${expiresAt}","lease_expires_at":"${expiresAt}"}`,
        );
        await sleep(4300);
        expect(await broker.api.popQueue(broker.queue, { consumerGroup: GROUP })).toBeNull();
        expect(await batch.ack(['c'])).toEqual([done(0, 'c')]);
      },
    },
  ],
};
