/** Acknowledgements in the body of a pop (docs/api.md, "Acknowledge and pop in one request"). */
import type { AckedPopAnswer } from '@svc/wire';
import { expect } from 'vitest';
import { type AckItem, bodyOf, idsOf } from '../broker-api.js';
import type { BrokerUnderTest } from '../broker-under-test.js';
import { attemptsOf, done, GROUP, LeasedBatch, refused } from '../leased-batch.js';
import type { ContractRow, ContractTable } from '../table.js';

const QUERY = `consumerGroup=${GROUP}`;

async function post(
  { client, queue }: BrokerUnderTest,
  acks: readonly AckItem[],
  query = QUERY,
  path = `/queue/${queue}`,
): Promise<AckedPopAnswer> {
  const answer = await client.post(`/api/v1/pop${path}?${query}`, { acks });
  return bodyOf(answer, 200) as AckedPopAnswer;
}

function ackOf({ lease }: LeasedBatch, transactionId: string, more: Partial<AckItem> = {}) {
  const { partitionId, leaseId } = lease;
  return { transactionId, partitionId, leaseId, ...more };
}

function refusedRow(
  does: string,
  send: string,
  body: unknown,
  answer: { readonly status: number; readonly error: string },
): ContractRow {
  return { row: 'acks with a pop', does, send: `POST ${send}`, body, answer };
}

const POP = '/api/v1/pop/queue/{queue}';

export const acksWithPop: ContractTable = {
  section: 'message-plane 15',
  rows: [
    {
      row: 'acks with a pop',
      does: 'a batch that is completed: 200 with verdicts, and no messages when there are none',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        const answer = await post(broker, [ackOf(batch, 'c')]);
        expect(answer).toEqual({
          success: true,
          acks: [done(0, 'c')],
          queue: broker.queue,
          partition: '',
          partitionId: '',
          leaseId: '',
          consumerGroup: GROUP,
          messages: [],
          partitionsClaimed: 0,
        });
        await batch.expectCursor(2, 0);
      },
    },
    {
      row: 'acks with a pop',
      does: 'what an ack gives back, its pop gets',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        const acks = [ackOf(batch, 'a'), ackOf(batch, 'b', { status: 'retry' })];
        const answer = await post(broker, acks);
        expect(answer.acks).toEqual([done(0, 'a'), done(1, 'b')]);
        expect(idsOf(answer)).toEqual(['b', 'c']);
        expect(answer.leaseId).not.toBe(batch.lease.leaseId);
      },
    },
    {
      row: 'acks with a pop',
      does: 'an item that is refused stops neither the others nor the pop',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        await broker.api.pushIds(broker.queue, 'p', ['d']);
        const stale = ackOf(batch, 'c', { leaseId: '0193f2a0-7b1c-7000-8000-000000000001' });
        const answer = await post(broker, [stale, ackOf(batch, 'c')]);
        expect(answer.acks).toEqual([refused(0, 'c', 'invalid or expired lease'), done(1, 'c')]);
        expect([idsOf(answer), attemptsOf(answer)]).toEqual([['d'], [1]]);
      },
    },
    {
      row: 'acks with a pop',
      does: 'at the pinned route; without acks it is a pop that answers 200',
      run: async (broker) => {
        const { api, queue } = broker;
        await api.pushIds(queue, 'p', ['a']);
        await api.pushIds(queue, 'q', ['b']);
        const pinned = await post(broker, [], QUERY, `/queue/${queue}/partition/p`);
        expect([idsOf(pinned), pinned.acks]).toEqual([['a'], []]);
        const { partitionId, leaseId } = pinned;
        const ack = { transactionId: 'a', partitionId, leaseId };
        const other = await post(broker, [ack], QUERY, `/queue/${queue}/partition/q`);
        expect([idsOf(other), other.acks]).toEqual([['b'], [done(0, 'a')]]);
        expect((await post(broker, [], QUERY, `/queue/${queue}/partition/none`)).acks).toEqual([]);
      },
    },
    {
      row: 'acks with a pop',
      does: 'acks of another group than the pop’s are named in the body',
      run: async (broker) => {
        const { client, queue } = broker;
        const batch = await LeasedBatch.take(broker);
        const body = { consumerGroup: GROUP, acks: [ackOf(batch, 'c')] };
        const answer = await client.post(`/api/v1/pop/queue/${queue}?consumerGroup=h`, body);
        const both = bodyOf(answer, 200) as AckedPopAnswer;
        expect(both.acks).toEqual([done(0, 'c')]);
        expect(both.consumerGroup).toBe('h');
        expect(idsOf(both)).toEqual(['a', 'b', 'c']);
      },
    },
    {
      row: 'acks with a pop',
      does: 'acks do not wait with a pop that waits',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        const waiting = post(broker, [ackOf(batch, 'c')], `${QUERY}&wait=true&timeout=20000`);
        for (;;) {
          const { pending } = await broker.api.depth(broker.queue, GROUP);
          if (pending === 0) break;
        }
        await broker.api.pushIds(broker.queue, 'p', ['d']);
        const answer = await waiting;
        expect([answer.acks, idsOf(answer)]).toEqual([[done(0, 'c')], ['d']]);
      },
    },
    refusedRow(
      'a body of another shape',
      POP,
      { acks: {} },
      { status: 400, error: 'bad pop body' },
    ),
    refusedRow(
      '257 acks',
      POP,
      { acks: Array.from({ length: 257 }, () => ({})) },
      { status: 400, error: 'more than 256 acks' },
    ),
    refusedRow(
      'more than 64 KiB of acks',
      POP,
      { acks: [{ error: 'x'.repeat(65_536) }] },
      { status: 413, error: '65536 bytes at most' },
    ),
    refusedRow('a query of the wrong kind', `${POP}?wait=1`, {}, { status: 400, error: 'wait' }),
  ],
};
