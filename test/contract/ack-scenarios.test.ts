/**
 * Goal: the ack scenarios of message-plane 14.1, numbers 1 to 18, and the item outcomes of 4.2.
 * Method: each scenario has a queue of its own with a, b, c at offsets 0..2 of partition `p`,
 * leased as one batch by one group; the cursor is read from the group's depth, dead letters from
 * the detail.
 */
import type { AckResult, PopAnswer } from '@svc/wire';
import { describe, expect, it } from 'vitest';
import { sleep } from '../process/node-under-test.js';
import { type AckItem, idsOf, type Parameters } from './broker-api.js';
import { uniqueQueue, useNode } from './node-fixture.js';

const GROUP = 'g';
const node = useNode();

class Scenario {
  readonly queue: string;
  lease: PopAnswer;

  constructor(queue: string, lease: PopAnswer) {
    this.queue = queue;
    this.lease = lease;
  }

  /** Acks of the batch: `['a', 'failed']` is status `failed` of message `a`. */
  ack(...acks: readonly (readonly [id: string, status?: string])[]): Promise<AckResult[]> {
    return this.ackWith(this.lease.leaseId, acks);
  }

  ackWith(
    leaseId: string,
    acks: readonly (readonly [id: string, status?: string])[],
  ): Promise<AckResult[]> {
    const { partitionId } = this.lease;
    const items = acks.map(
      ([transactionId, status = 'completed']): AckItem => ({
        transactionId,
        partitionId,
        leaseId,
        status,
      }),
    );
    return node.api.ack(GROUP, items);
  }

  /** The next pop of the group; its lease becomes the scenario's. */
  async pop(parameters: Parameters = {}): Promise<PopAnswer | null> {
    const popped = await node.api.popQueue(this.queue, { consumerGroup: GROUP, ...parameters });
    if (popped !== null) this.lease = popped;
    return popped;
  }

  /** The group's committed offset, -1 for none. */
  async cursor(): Promise<number> {
    const { pending } = await node.api.depth(this.queue, GROUP);
    return 2 - pending;
  }

  async leased(): Promise<number> {
    return (await node.api.depth(this.queue, GROUP)).processing;
  }

  async deadLetters(): Promise<number> {
    return (await node.api.detail(this.queue)).totals.deadLetter;
  }
}

async function scenario(options: Parameters = {}, pop: Parameters = {}): Promise<Scenario> {
  const queue = uniqueQueue('ack');
  await node.api.configure(queue, options);
  await node.api.pushIds(queue, 'p', ['a', 'b', 'c']);
  const lease = await node.api.popQueue(queue, { consumerGroup: GROUP, batch: 10, ...pop });
  if (lease === null) throw new Error('nothing was delivered');
  expect(idsOf(lease)).toEqual(['a', 'b', 'c']);
  expect(lease.messages.map(({ deliveryAttempt }) => deliveryAttempt)).toEqual([1, 1, 1]);
  return new Scenario(queue, lease);
}

/** A carried out instruction. */
function done(index: number, transactionId: string, changes: Partial<AckResult> = {}): AckResult {
  return {
    index,
    transactionId,
    success: true,
    error: null,
    leaseReleased: true,
    dlq: false,
    noop: false,
    ...changes,
  };
}

function refused(index: number, transactionId: string, error: string): AckResult {
  const text: unknown = expect.stringContaining(error);
  return done(index, transactionId, {
    success: false,
    leaseReleased: false,
    error: text as string,
  });
}

function attempts(popped: PopAnswer | null): number[] {
  return [...new Set((popped?.messages ?? []).map(({ deliveryAttempt }) => deliveryAttempt))];
}

describe('completed', () => {
  it('1: completing the last one completes the batch', async () => {
    const s = await scenario();
    expect(await s.ack(['c'])).toEqual([done(0, 'c')]);
    expect(await s.cursor()).toBe(2);
    expect(await s.leased()).toBe(0);
    expect(await s.pop()).toBeNull();
  });

  it('2: completing the middle keeps the lease, the rest releases it', async () => {
    const s = await scenario();
    expect(await s.ack(['b'])).toEqual([done(0, 'b', { leaseReleased: false })]);
    expect(await s.cursor()).toBe(1);
    expect(await s.leased()).toBe(1);
    expect(await s.ack(['c'])).toEqual([done(0, 'c')]);
    expect(await s.cursor()).toBe(2);
    expect(await s.leased()).toBe(0);
  });

  it('14: below the cursor a completed is a no-op and a signal is refused', async () => {
    const s = await scenario();
    await s.ack(['b']);
    expect(await s.ack(['a'])).toEqual([done(0, 'a', { leaseReleased: false, noop: true })]);
    expect(await s.ack(['a', 'failed'])).toEqual([refused(0, 'a', 'already committed')]);
    expect(await s.cursor()).toBe(1);
    expect(await s.leased()).toBe(1);
  });

  it('15: what the window does not know moves nothing', async () => {
    const s = await scenario();
    expect(await s.ack(['zzz'])).toEqual([refused(0, 'zzz', 'unresolvable')]);
    expect(await s.cursor()).toBe(-1);
    expect(await s.leased()).toBe(3);
  });

  it('16: another lease id moves nothing', async () => {
    const s = await scenario();
    const other = '01a2b3c4-1111-7000-8000-00000000000a';
    expect(await s.ackWith(other, [['a']])).toEqual([refused(0, 'a', 'invalid or expired lease')]);
    expect(await s.ackWith('x', [['a']])).toEqual([refused(0, 'a', 'invalid or expired lease')]);
    expect(await s.cursor()).toBe(-1);
    expect(await s.leased()).toBe(3);
  });

  it('17: without a lease id there is no check', async () => {
    const s = await scenario();
    expect(await s.ackWith('', [['c']])).toEqual([done(0, 'c')]);
    expect(await s.cursor()).toBe(2);
    expect(await s.leased()).toBe(0);
  });

  it('repeating the ack that released the lease succeeds as a no-op', async () => {
    const s = await scenario();
    await s.ack(['a'], ['b'], ['c']);
    expect(await s.ack(['a'], ['b'], ['c'])).toEqual([
      done(0, 'a', { noop: true }),
      done(1, 'b', { noop: true }),
      done(2, 'c', { noop: true }),
    ]);
  });

  it.each(['completed', 'success', 'acked', 'ok', 'COMPLETED', 'Ok'])(
    'status %s means completed',
    async (status) => {
      const s = await scenario();
      expect(await s.ack(['c', status])).toEqual([done(0, 'c')]);
      expect(await s.cursor()).toBe(2);
    },
  );
});

describe('signals', () => {
  it('3: failed a with completed c redelivers all', async () => {
    const s = await scenario();
    expect(await s.ack(['a', 'failed'], ['c'])).toEqual([done(0, 'a'), done(1, 'c')]);
    expect(await s.cursor()).toBe(-1);
    expect(await s.leased()).toBe(0);
    const again = await s.pop();
    expect(idsOf(again)).toEqual(['a', 'b', 'c']);
    expect(attempts(again)).toEqual([2]);
    expect(again?.messages[0]?.retryCount).toBe(1);
  });

  it('4: at one offset dlq beats failed', async () => {
    const s = await scenario();
    expect(await s.ack(['a', 'failed'], ['a', 'dlq'])).toEqual([
      done(0, 'a', { dlq: true }),
      done(1, 'a', { dlq: true }),
    ]);
    expect(await s.cursor()).toBe(0);
    expect(await s.deadLetters()).toBe(1);
  });

  it('5: dlq a files it and redelivers the rest as new', async () => {
    const s = await scenario();
    expect(await s.ack(['a', 'dlq'])).toEqual([done(0, 'a', { dlq: true })]);
    expect(await s.cursor()).toBe(0);
    const again = await s.pop();
    expect(idsOf(again)).toEqual(['b', 'c']);
    expect(attempts(again)).toEqual([1]);
  });

  it('6: with a retry limit of 1 the second failure files it and clears the counter', async () => {
    const s = await scenario({ retryLimit: 1 });
    expect(await s.ack(['a', 'failed'])).toEqual([done(0, 'a')]);
    await s.pop();
    expect(await s.ack(['a', 'failed'])).toEqual([done(0, 'a', { dlq: true })]);
    expect(await s.cursor()).toBe(0);
    expect(await s.deadLetters()).toBe(1);
    await s.pop();
    expect(await s.ack(['b', 'failed'])).toEqual([done(0, 'b')]);
    expect(await s.deadLetters()).toBe(1);
  });

  it('7: with a retry limit of 2 the third round files all three', async () => {
    const s = await scenario({ retryLimit: 2 });
    for (const round of [1, 2]) {
      const acks = await s.ack(['a', 'failed'], ['b', 'failed'], ['c', 'failed']);
      expect(acks.map(({ dlq }) => dlq)).toEqual([false, false, false]);
      expect(await s.cursor()).toBe(-1);
      const again = await s.pop();
      expect(idsOf(again)).toEqual(['a', 'b', 'c']);
      expect(attempts(again)).toEqual([round + 1]);
    }
    const acks = await s.ack(['a', 'failed'], ['b', 'failed'], ['c', 'failed']);
    expect(acks.map(({ dlq }) => dlq)).toEqual([true, true, true]);
    expect(await s.cursor()).toBe(2);
    expect(await s.deadLetters()).toBe(3);
    expect(await s.pop()).toBeNull();
  });

  it('8: retry limit 0, failed a with b and c completed', async () => {
    const s = await scenario({ retryLimit: 0 });
    expect(await s.ack(['a', 'failed'], ['b'], ['c'])).toEqual([
      done(0, 'a', { dlq: true }),
      done(1, 'b'),
      done(2, 'c'),
    ]);
    expect(await s.cursor()).toBe(2);
    expect(await s.deadLetters()).toBe(1);
  });

  it('9: retry limit 0, failed a, retry b, failed c', async () => {
    const s = await scenario({ retryLimit: 0 });
    await s.ack(['a', 'failed'], ['b', 'retry'], ['c', 'failed']);
    expect(await s.cursor()).toBe(0);
    expect(await s.deadLetters()).toBe(1);
    expect(idsOf(await s.pop())).toEqual(['b', 'c']);
  });

  it('10: retry limit 0, failed a and c with b silent', async () => {
    const s = await scenario({ retryLimit: 0 });
    await s.ack(['a', 'failed'], ['c', 'failed']);
    expect(await s.cursor()).toBe(0);
    expect(await s.deadLetters()).toBe(1);
  });

  it('11: retry limit 3, dlq a, failed b, dlq c stops at b and charges nothing', async () => {
    const s = await scenario({ retryLimit: 3 });
    await s.ack(['a', 'dlq'], ['b', 'failed'], ['c', 'dlq']);
    expect(await s.cursor()).toBe(0);
    expect(await s.deadLetters()).toBe(1);
    for (const _ of [1, 2, 3]) {
      expect(idsOf(await s.pop())).toEqual(['b', 'c']);
      expect(await s.ack(['b', 'failed'])).toEqual([done(0, 'b')]);
    }
    await s.pop();
    expect(await s.ack(['b', 'failed'])).toEqual([done(0, 'b', { dlq: true })]);
  });

  it('12: with dead letters off a spent message is dropped', async () => {
    const off = { deadLetterQueue: false, dlqAfterMaxRetries: false };
    const s = await scenario({ retryLimit: 0, ...off });
    expect(await s.ack(['a', 'failed'])).toEqual([done(0, 'a')]);
    expect(await s.cursor()).toBe(0);
    expect(await s.deadLetters()).toBe(0);
    expect(idsOf(await s.pop())).toEqual(['b', 'c']);
  });

  it('13: retry releases without a charge', async () => {
    const s = await scenario({ retryLimit: 1 });
    expect(await s.ack(['a', 'retry'])).toEqual([done(0, 'a')]);
    expect(await s.cursor()).toBe(-1);
    const again = await s.pop();
    expect(idsOf(again)).toEqual(['a', 'b', 'c']);
    expect(attempts(again)).toEqual([2]);
    expect(await s.ack(['a', 'failed'])).toEqual([done(0, 'a')]);
    expect(await s.deadLetters()).toBe(0);
  });

  it('an unknown status is a failure', async () => {
    const s = await scenario({ retryLimit: 0 });
    expect(await s.ack(['a', 'nonsense'])).toEqual([done(0, 'a', { dlq: true })]);
    expect(await s.deadLetters()).toBe(1);
  });

  it('a failure in mid-batch completes what lies below it', async () => {
    const s = await scenario();
    await s.ack(['a'], ['b', 'failed'], ['c']);
    expect(await s.cursor()).toBe(0);
    const again = await s.pop();
    expect(idsOf(again)).toEqual(['b', 'c']);
    expect(attempts(again)).toEqual([1]);
  });
});

describe('expiry', () => {
  it('18: an expired lease redelivers and raises the attempt alone', async () => {
    const s = await scenario({ retryLimit: 1 }, { leaseSeconds: 1 });
    const before = s.lease.leaseId;
    const again = await s.pop({ wait: true, timeout: 5000, leaseSeconds: 30 });
    expect(idsOf(again)).toEqual(['a', 'b', 'c']);
    expect(attempts(again)).toEqual([2]);
    expect(await s.ackWith(before, [['c']])).toEqual([refused(0, 'c', 'invalid or expired lease')]);
    expect(await s.ack(['a', 'failed'])).toEqual([done(0, 'a')]);
    expect(await s.deadLetters()).toBe(0);
  });

  it('an ack after the expiry is refused even before anybody popped again', async () => {
    const s = await scenario({}, { leaseSeconds: 1 });
    await sleep(1200);
    expect(await s.ack(['c'])).toEqual([refused(0, 'c', 'invalid or expired lease')]);
    expect(await s.cursor()).toBe(-1);
  });

  it('an extended lease outlives its time', async () => {
    const s = await scenario({}, { leaseSeconds: 1 });
    const extended = await node.api.extend(s.lease.leaseId, { seconds: 30 });
    expect(extended.success).toBe(true);
    expect(extended.renewed).toBe(1);
    await sleep(1200);
    expect(await s.pop()).toBeNull();
    expect(await s.ack(['c'])).toEqual([done(0, 'c')]);
  });

  it('an extension never shortens', async () => {
    const s = await scenario({}, { leaseSeconds: 600 });
    const { newExpiresAt } = await node.api.extend(s.lease.leaseId, { seconds: 1 });
    expect(Date.parse(newExpiresAt ?? '')).toBeGreaterThan(Date.now() + 500_000);
  });
});

describe('targets', () => {
  it('judges each partition and lease apart', async () => {
    const s = await scenario();
    const { partitionId, leaseId } = s.lease;
    const acks = await node.api.ack(GROUP, [
      { transactionId: 'a', partitionId: 'twelve', leaseId },
      { transactionId: 'a', partitionId: '4000000000', leaseId },
      { transactionId: 'a', partitionId, leaseId: 'other' },
      { transactionId: 'c', partitionId, leaseId },
    ]);
    expect(acks).toEqual([
      refused(0, 'a', 'partitionId is not a partition id'),
      refused(1, 'a', 'no partition 4000000000'),
      refused(2, 'a', 'invalid or expired lease'),
      done(3, 'c'),
    ]);
    expect(await s.cursor()).toBe(2);
  });

  it('refuses a group that never touched the partition', async () => {
    const s = await scenario();
    const { partitionId } = s.lease;
    const acks = await node.api.ack('stranger', [{ transactionId: 'a', partitionId }]);
    expect(acks.map(({ success }) => success)).toEqual([false]);
    expect(await s.cursor()).toBe(-1);
  });

  it('answers an empty list with an empty list', async () => {
    expect(await node.api.ack(GROUP, [])).toEqual([]);
  });
});
