/** Scenarios 1 to 18: acknowledging one leased batch a, b, c (message-plane 14.1). */
import { expect } from 'vitest';
import { idsOf } from '../broker-api.js';
import { attemptsOf, done, LeasedBatch, refused } from '../leased-batch.js';
import type { ContractTable } from '../table.js';

const DLQ_OFF = { deadLetterQueue: false, dlqAfterMaxRetries: false };
const A_STRANGER = '01a2b3c4-1111-7000-8000-00000000000a';

export const ackScenarios: ContractTable = {
  section: 'message-plane 14.1',
  rows: [
    {
      row: '1',
      does: 'completed c only: cursor 2, released, all done',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        expect(await batch.ack(['c', 'completed'])).toEqual([done(0, 'c')]);
        await batch.expectCursor(2, 0);
        await batch.expectPop([]);
      },
    },
    {
      row: '2',
      does: 'completed b only: cursor 1, lease kept; then completed c releases',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        expect(await batch.ack(['b'])).toEqual([done(0, 'b', { leaseReleased: false })]);
        await batch.expectCursor(1, 1);
        expect(await batch.ack(['c'])).toEqual([done(0, 'c')]);
        await batch.expectCursor(2, 0);
      },
    },
    {
      row: '3',
      does: 'failed a + completed c: cursor -1, counter 1, released; a, b, c again',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker, { retryLimit: 1 });
        expect(await batch.ack(['a', 'failed'], ['c'])).toEqual([done(0, 'a'), done(1, 'c')]);
        await batch.expectCursor(-1, 0);
        await batch.expectPop(['a', 'b', 'c'], 2);
        // The counter is 1: the limit is reached.
        expect(await batch.ack(['a', 'failed'])).toEqual([done(0, 'a', { dlq: true })]);
      },
    },
    {
      row: '4',
      does: 'failed a + dlq a: dlq wins, 1 dead letter',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        expect(await batch.ack(['a', 'failed'], ['a', 'dlq'])).toEqual([
          done(0, 'a', { dlq: true }),
          done(1, 'a', { dlq: true }),
        ]);
        await batch.expectCursor(0, 0);
        await batch.expectDeadLetters(1);
      },
    },
    {
      row: '5',
      does: 'dlq a: cursor 0, released, b, c redelivered, attempt 1',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        expect(await batch.ack(['a', 'dlq'])).toEqual([done(0, 'a', { dlq: true })]);
        await batch.expectCursor(0, 0);
        await batch.expectPop(['b', 'c'], 1);
      },
    },
    {
      row: '6',
      does: 'retryLimit 1: failed a, pop, failed a: second files a, counter 0',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker, { retryLimit: 1 });
        expect(await batch.ack(['a', 'failed'])).toEqual([done(0, 'a')]);
        await batch.expectPop(['a', 'b', 'c'], 2);
        expect(await batch.ack(['a', 'failed'])).toEqual([done(0, 'a', { dlq: true })]);
        await batch.expectCursor(0, 0);
        await batch.expectDeadLetters(1);
        await batch.pop();
        expect(await batch.ack(['b', 'failed'])).toEqual([done(0, 'b')]);
        await batch.expectDeadLetters(1);
      },
    },
    {
      row: '7',
      does: 'retryLimit 2: failed a, b, c three rounds: the third files all three, cursor 2',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker, { retryLimit: 2 });
        const failAll = () => batch.ack(['a', 'failed'], ['b', 'failed'], ['c', 'failed']);
        for (const round of [1, 2]) {
          expect((await failAll()).map(({ dlq }) => dlq)).toEqual([false, false, false]);
          await batch.expectCursor(-1, 0);
          await batch.expectPop(['a', 'b', 'c'], round + 1);
        }
        expect((await failAll()).map(({ dlq }) => dlq)).toEqual([true, true, true]);
        await batch.expectCursor(2, 0);
        await batch.expectDeadLetters(3);
        await batch.expectPop([]);
      },
    },
    {
      row: '8',
      does: 'retryLimit 0: failed a, completed b, c: 1 dead letter, cursor 2',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker, { retryLimit: 0 });
        const acks = await batch.ack(['a', 'failed'], ['b'], ['c']);
        expect(acks).toEqual([done(0, 'a', { dlq: true }), done(1, 'b'), done(2, 'c')]);
        await batch.expectCursor(2, 0);
        await batch.expectDeadLetters(1);
      },
    },
    {
      row: '9',
      does: 'retryLimit 0: failed a, retry b, failed c: 1 dead letter, cursor 0, b, c again',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker, { retryLimit: 0 });
        await batch.ack(['a', 'failed'], ['b', 'retry'], ['c', 'failed']);
        await batch.expectCursor(0, 0);
        await batch.expectDeadLetters(1);
        await batch.expectPop(['b', 'c']);
      },
    },
    {
      row: '10',
      does: 'retryLimit 0: failed a, failed c (b silent): 1 dead letter, cursor 0',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker, { retryLimit: 0 });
        await batch.ack(['a', 'failed'], ['c', 'failed']);
        await batch.expectCursor(0, 0);
        await batch.expectDeadLetters(1);
      },
    },
    {
      row: '11',
      does: 'retryLimit 3: dlq a, failed b, dlq c: 1 dead letter, cursor 0, counter unchanged',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker, { retryLimit: 3 });
        await batch.ack(['a', 'dlq'], ['b', 'failed'], ['c', 'dlq']);
        await batch.expectCursor(0, 0);
        await batch.expectDeadLetters(1);
        for (const attempt of [1, 2, 3]) {
          await batch.expectPop(['b', 'c'], attempt);
          expect(await batch.ack(['b', 'failed'])).toEqual([done(0, 'b')]);
        }
        await batch.pop();
        expect(await batch.ack(['b', 'failed'])).toEqual([done(0, 'b', { dlq: true })]);
      },
    },
    {
      row: '12',
      does: 'DLQ off, retryLimit 0: failed a: cursor 0, no dead letter, dlq false',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker, { retryLimit: 0, ...DLQ_OFF });
        expect(await batch.ack(['a', 'failed'])).toEqual([done(0, 'a')]);
        await batch.expectCursor(0, 0);
        await batch.expectDeadLetters(0);
        await batch.expectPop(['b', 'c']);
      },
    },
    {
      row: '13',
      does: 'retry a: cursor -1, counter 0, next delivery attempt 2',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker, { retryLimit: 1 });
        expect(await batch.ack(['a', 'retry'])).toEqual([done(0, 'a')]);
        await batch.expectCursor(-1, 0);
        await batch.expectPop(['a', 'b', 'c'], 2);
        // The counter is 0: one failure is left.
        expect(await batch.ack(['a', 'failed'])).toEqual([done(0, 'a')]);
        await batch.expectDeadLetters(0);
      },
    },
    {
      row: '14',
      does: 'after cursor 1: completed a / failed a: noop success / already committed',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        await batch.ack(['b']);
        const kept = { leaseReleased: false, noop: true };
        expect(await batch.ack(['a'])).toEqual([done(0, 'a', kept)]);
        expect(await batch.ack(['a', 'failed'])).toEqual([refused(0, 'a', 'already committed')]);
        await batch.expectCursor(1, 1);
      },
    },
    {
      row: '15',
      does: 'completed "zzz": unresolvable, nothing moves',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        expect(await batch.ack(['zzz'])).toEqual([refused(0, 'zzz', 'unresolvable')]);
        await batch.expectCursor(-1, 3);
      },
    },
    {
      row: '16',
      does: 'completed a with another lease id: invalid or expired lease, nothing moves',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        for (const lease of [A_STRANGER, 'x']) {
          const [result] = await batch.ackWith(lease, ['a']);
          expect(result).toEqual(refused(0, 'a', 'invalid or expired lease'));
        }
        await batch.expectCursor(-1, 3);
      },
    },
    {
      row: '17',
      does: 'lease-less completed c: cursor 2, lease released',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        expect(await batch.ackWith('', ['c'])).toEqual([done(0, 'c')]);
        await batch.expectCursor(2, 0);
      },
    },
    {
      row: '18',
      does: 'lease 1 s expires, pop: same batch, attempt 2, counter 0',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker, { retryLimit: 1 }, { leaseSeconds: 1 });
        const before = batch.lease.leaseId;
        const again = await batch.pop({ wait: true, timeout: 8000, leaseSeconds: 30 });
        expect(idsOf(again)).toEqual(['a', 'b', 'c']);
        expect(attemptsOf(again)).toEqual([2]);
        const [late] = await batch.ackWith(before, ['c']);
        expect(late).toEqual(refused(0, 'c', 'invalid or expired lease'));
        expect(await batch.ack(['a', 'failed'])).toEqual([done(0, 'a')]);
        await batch.expectDeadLetters(0);
      },
    },
  ],
};
