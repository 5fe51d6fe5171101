/** Transactions as the rows of the tables send them, and what they expect of the answers. */
import type { TransactionAnswer } from '@svc/wire';
import { expect } from 'vitest';
import { bodyOf, idsOf } from './broker-api.js';
import type { BrokerUnderTest } from './broker-under-test.js';
import { GROUP, type LeasedBatch } from './leased-batch.js';
import type { ContractRow } from './table.js';

export const PATH = '/api/v1/transaction';

export interface Parts {
  readonly operations?: readonly unknown[];
  readonly requiredLeases?: readonly string[];
  readonly positions?: readonly unknown[];
}

export async function transact(
  { client }: BrokerUnderTest,
  parts: Parts,
): Promise<TransactionAnswer> {
  return bodyOf(await client.post(PATH, parts), 200) as TransactionAnswer;
}

/** Rolled back for this reason, with this in its error, and without results. */
export async function expectRollback(
  broker: BrokerUnderTest,
  parts: Parts,
  reason: string,
  error: string | RegExp,
): Promise<void> {
  const answer = await transact(broker, parts);
  expect(answer).toEqual({
    transactionId: expect.any(String),
    success: false,
    reason,
    error: expect.stringMatching(error),
    results: [],
  });
}

export async function expectCommit(
  broker: BrokerUnderTest,
  parts: Parts,
): Promise<TransactionAnswer> {
  const answer = await transact(broker, parts);
  expect(answer).toMatchObject({ success: true });
  return answer;
}

/** An ack of the batch under its lease, but for `changes`. */
export function ack(batch: LeasedBatch, id: string, changes: object = {}): object {
  const { partitionId, leaseId } = batch.lease;
  const named = { transactionId: id, partitionId, consumerGroup: GROUP, leaseId };
  return { type: 'ack', ...named, ...changes };
}

export function push(queue: string, id: string, changes: object = {}): object {
  return { type: 'push', queue, partition: 'out', transactionId: id, payload: { id }, ...changes };
}

export function position(queue: string, offset: number | null, changes: object = {}): object {
  return { queue, consumerGroup: GROUP, partition: 'p', offset, ...changes };
}

/** The messages in partition `out` of the row's queue. */
export async function expectPushed({ api, queue }: BrokerUnderTest, ids: string[]): Promise<void> {
  const popped = await api.popPartition(queue, 'out', { consumerGroup: 'reader', autoAck: true });
  expect(idsOf(popped)).toEqual(ids);
}

/** Refused with 400 in the shape of a rollback; the error is, or contains, this. */
export function refused(row: string, bodies: readonly (readonly [body: string, error: string])[]) {
  return bodies.map(
    ([body, error]): ContractRow => ({
      row,
      does: `${body.slice(0, 70)}: ${error.slice(0, 60)}`,
      send: `POST ${PATH}`,
      body,
      answer: {
        status: 400,
        body: { success: false, reason: 'bad_request', results: [] },
        error,
      },
    }),
  );
}
