/**
 * What most rows about acknowledgements begin with: partition `p` with a, b, c at offsets 0..2, of
 * which one group has leased a batch. The cursor is read from the group's depth, dead letters from
 * the queue's detail.
 */
import type { AckResult, PopAnswer } from '@svc/wire';
import { expect } from 'vitest';
import { type AckItem, idsOf, type Parameters } from './broker-api.js';
import type { BrokerUnderTest } from './broker-under-test.js';

export const GROUP = 'g';

/** A message and the status of its ack, `completed` when absent. */
export type Ack = readonly [id: string, status?: string, error?: string];

export class LeasedBatch {
  readonly broker: BrokerUnderTest;
  lease: PopAnswer;

  private constructor(broker: BrokerUnderTest, lease: PopAnswer) {
    this.broker = broker;
    this.lease = lease;
  }

  static async take(
    broker: BrokerUnderTest,
    options: Parameters = {},
    pop: Parameters = {},
  ): Promise<LeasedBatch> {
    const { api, queue } = broker;
    await api.configure(queue, options);
    await api.pushIds(queue, 'p', ['a', 'b', 'c']);
    const lease = await api.popQueue(queue, { consumerGroup: GROUP, batch: 10, ...pop });
    if (lease === null) throw new Error('nothing was delivered');
    expect(idsOf(lease)).toEqual(['a', 'b', 'c']);
    expect(attemptsOf(lease)).toEqual([1]);
    return new LeasedBatch(broker, lease);
  }

  ack(...acks: readonly Ack[]): Promise<AckResult[]> {
    return this.ackWith(this.lease.leaseId, ...acks);
  }

  /** With another lease id, or "" for none. */
  ackWith(leaseId: string, ...acks: readonly Ack[]): Promise<AckResult[]> {
    const { partitionId } = this.lease;
    const items = acks.map(
      ([transactionId, status, error]): AckItem => ({
        transactionId,
        partitionId,
        leaseId,
        ...(status === undefined ? {} : { status }),
        ...(error === undefined ? {} : { error }),
      }),
    );
    return this.broker.api.ack(GROUP, items);
  }

  /** The next pop of the group; its lease becomes this one's. */
  async pop(parameters: Parameters = {}): Promise<PopAnswer | null> {
    const { api, queue } = this.broker;
    const popped = await api.popQueue(queue, { consumerGroup: GROUP, ...parameters });
    if (popped !== null) this.lease = popped;
    return popped;
  }

  /** What the next pop delivers, and on which attempt. */
  async expectPop(ids: readonly string[], attempt = 1): Promise<void> {
    const popped = await this.pop();
    expect(idsOf(popped)).toEqual(ids);
    expect(attemptsOf(popped)).toEqual(ids.length === 0 ? [] : [attempt]);
  }

  /** The group's committed offset, -1 for none, and how many messages it holds leased. */
  async expectCursor(offset: number, leased: number): Promise<void> {
    const { pending, processing } = await this.broker.api.depth(this.broker.queue, GROUP);
    expect({ offset: 2 - pending, leased: processing }).toEqual({ offset, leased });
  }

  async expectDeadLetters(expected: number): Promise<void> {
    const { totals } = await this.broker.api.detail(this.broker.queue);
    expect(totals.deadLetter).toBe(expected);
  }
}

/** A carried out instruction that released the lease, but for `changes`. */
export function done(
  index: number,
  transactionId: string,
  changes: Partial<AckResult> = {},
): AckResult {
  const settled = { success: true, error: null, leaseReleased: true, dlq: false, noop: false };
  return { index, transactionId, ...settled, ...changes };
}

export function refused(index: number, transactionId: string, error: string): AckResult {
  const text: unknown = expect.stringContaining(error);
  const changes = { success: false, leaseReleased: false, error: text as string };
  return done(index, transactionId, changes);
}

/** The different delivery attempts of a pop's messages. */
export function attemptsOf(popped: PopAnswer | null): number[] {
  return [...new Set((popped?.messages ?? []).map(({ deliveryAttempt }) => deliveryAttempt))];
}
