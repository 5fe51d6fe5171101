/** How acknowledgements move a cursor, and what each of them is told (message-plane 4.1, 4.2). */
import { expect } from 'vitest';
import { sleep } from '../../process/node-under-test.js';
import { attemptsOf, done, GROUP, LeasedBatch, refused } from '../leased-batch.js';
import type { ContractTable } from '../table.js';

const LEASE_REFUSED = 'invalid or expired lease';
const KEPT = { leaseReleased: false };

export const ackAlgorithm: ContractTable = {
  section: 'message-plane 4.1',
  rows: [
    {
      row: '1 no cursor row',
      does: 'a group that never popped has nothing to acknowledge',
      run: async ({ api, queue }) => {
        await api.pushIds(queue, 'p', ['a']);
        const popped = await api.popQueue(queue, { consumerGroup: 'other' });
        const partitionId = popped?.partitionId ?? '';
        const [result] = await api.ack(GROUP, [{ transactionId: 'a', partitionId }]);
        expect(result).toMatchObject({ success: false, leaseReleased: false, noop: false });
        expect((await api.depth(queue, GROUP)).pending).toBe(1);
      },
    },
    {
      row: '2 not the lease',
      does: 'an expired lease is refused before anybody popped again',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker, {}, { leaseSeconds: 1 });
        await sleep(1200);
        expect(await batch.ack(['c'])).toEqual([refused(0, 'c', LEASE_REFUSED)]);
        await batch.expectCursor(-1, 0);
      },
    },
    {
      row: '2 no leaseId',
      does: 'without a lease id another worker’s batch can be released',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        expect(await batch.ackWith('', ['a', 'retry'])).toEqual([done(0, 'a')]);
        await batch.expectPop(['a', 'b', 'c'], 2);
      },
    },
    {
      row: '2 the released lease repeated',
      does: 'the items of the settled batch succeed again, as no-ops',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        await batch.ack(['a'], ['b'], ['c']);
        const again = ['a', 'b', 'c'].map((id, index) => done(index, id, { noop: true }));
        expect(await batch.ack(['a'], ['b'], ['c'])).toEqual(again);
        expect(await batch.ackWith('x', ['a'])).toEqual([refused(0, 'a', LEASE_REFUSED)]);
      },
    },
    {
      row: '3 resolved above the cursor',
      does: 'of two messages of one id the one above the cursor is meant',
      run: async ({ api, queue }) => {
        await api.configure(queue, { dedupWindowSeconds: 0 });
        await api.pushIds(queue, 'p', ['a']);
        await api.pushIds(queue, 'p', ['a']);
        const popped = await api.popQueue(queue, { consumerGroup: GROUP });
        const { leaseId = '', partitionId = '' } = popped ?? {};
        const ack = () => api.ack(GROUP, [{ transactionId: 'a', partitionId, leaseId }]);
        expect(await ack()).toEqual([done(0, 'a', KEPT)]);
        expect((await api.depth(queue, GROUP)).pending).toBe(1);
        expect(await ack()).toEqual([done(0, 'a')]);
        expect((await api.depth(queue, GROUP)).pending).toBe(0);
      },
    },
    {
      row: '4 dlq > failed > retry',
      does: 'at one offset failed beats retry: the counter is charged',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker, { retryLimit: 0 });
        await batch.ack(['a', 'retry'], ['a', 'failed']);
        await batch.expectCursor(0, 0);
        await batch.expectDeadLetters(1);
      },
    },
    {
      row: '4 dlq > failed > retry',
      does: 'the lowest signal is the head, whatever order they are named in',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        await batch.ack(['c', 'dlq'], ['b', 'retry']);
        await batch.expectCursor(-1, 0);
        await batch.expectDeadLetters(0);
      },
    },
    {
      row: '5 completed, named or not',
      does: 'a completed below the signal passes what lies below it',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        await batch.ack(['b'], ['c', 'failed']);
        await batch.expectCursor(1, 0);
        await batch.expectPop(['c']);
      },
    },
    {
      row: 'no signal, p = B',
      does: 'the counter starts anew',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker, { retryLimit: 1 });
        await batch.ack(['a', 'failed']);
        await batch.pop();
        expect(await batch.ack(['c'])).toEqual([done(0, 'c')]);
        await broker.api.pushIds(broker.queue, 'p', ['d']);
        await batch.expectPop(['d']);
        expect(await batch.ack(['d', 'failed'])).toEqual([done(0, 'd')]);
        await batch.expectDeadLetters(0);
      },
    },
    {
      row: 'no signal, p < B',
      does: 'the lease stays, the counter too, and a redelivery from there counts on',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker, { retryLimit: 1 }, { leaseSeconds: 4 });
        expect(await batch.ack(['a'])).toEqual([done(0, 'a', KEPT)]);
        await batch.expectCursor(0, 2);
        const again = await batch.pop({ wait: true, timeout: 8000, leaseSeconds: 30 });
        expect(attemptsOf(again)).toEqual([2]);
        expect(again?.messages.map(({ offset }) => offset)).toEqual([1, 2]);
      },
    },
    {
      row: 'failed, n < retryLimit',
      does: 'once per call, however many items failed',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker, { retryLimit: 2 });
        await batch.ack(['a', 'failed'], ['b', 'failed'], ['c', 'failed']);
        await batch.expectPop(['a', 'b', 'c'], 2);
        await batch.ack(['a', 'failed']);
        await batch.expectDeadLetters(0);
        await batch.expectPop(['a', 'b', 'c'], 3);
        await batch.ack(['a', 'failed']);
        await batch.expectDeadLetters(1);
      },
    },
    {
      row: 'failed, n < retryLimit',
      does: 'in mid-batch with a completed prefix: redelivered from there, attempt 1',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        await batch.ack(['a'], ['b', 'failed'], ['c']);
        await batch.expectCursor(0, 0);
        await batch.expectPop(['b', 'c'], 1);
      },
    },
    {
      row: 'failed, n >= retryLimit, DLQ on',
      does: 'files s, and a negative limit acts as 0',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker, { retryLimit: -5 });
        expect(await batch.ack(['b', 'failed'])).toEqual([done(0, 'b', { dlq: true })]);
        await batch.expectCursor(1, 0);
        await batch.expectDeadLetters(1);
      },
    },
    {
      row: 'failed, n >= retryLimit, DLQ off',
      does: 'drops s without a dead letter',
      run: async (broker) => {
        const off = { deadLetterQueue: false, dlqAfterMaxRetries: false };
        const batch = await LeasedBatch.take(broker, { retryLimit: 0, ...off });
        expect(await batch.ack(['a', 'failed'], ['b'])).toEqual([done(0, 'a'), done(1, 'b')]);
        await batch.expectCursor(1, 0);
        await batch.expectDeadLetters(0);
      },
    },
    {
      row: 'retry',
      does: 'keeps what is completed below it and the counter',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker, { retryLimit: 1 });
        await batch.ack(['a', 'failed']);
        await batch.pop();
        await batch.ack(['a'], ['b', 'retry']);
        await batch.expectCursor(0, 0);
        await batch.expectPop(['b', 'c'], 1);
        // The counter is still 1.
        expect(await batch.ack(['b', 'failed'])).toEqual([done(0, 'b', { dlq: true })]);
      },
    },
    {
      row: 'dlq',
      does: 'files whatever the budget, and passes what lies below it unnamed',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker, { retryLimit: 9 });
        expect(await batch.ack(['b', 'dlq'])).toEqual([done(0, 'b', { dlq: true })]);
        await batch.expectCursor(1, 0);
        await batch.expectDeadLetters(1);
        await batch.expectPop(['c']);
      },
    },
    {
      row: 'signal without any lease',
      does: 'reports success and moves no further than what is completed',
      run: async ({ api, queue }) => {
        await api.configure(queue, { retryLimit: 0 });
        await api.pushIds(queue, 'p', ['a', 'b']);
        const parameters = { consumerGroup: GROUP, autoAck: true, batch: 1 };
        const popped = await api.popQueue(queue, parameters);
        const partitionId = popped?.partitionId ?? '';
        const [result] = await api.ack(GROUP, [
          { transactionId: 'b', partitionId, status: 'failed' },
        ]);
        expect(result).toMatchObject({ success: true, dlq: false, noop: false });
        expect((await api.depth(queue, GROUP)).pending).toBe(1);
        expect((await api.detail(queue)).totals.deadLetter).toBe(0);
      },
    },
    {
      row: '7 settling',
      does: 'dlq, then failed with budget left stops it',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker, { retryLimit: 3 });
        await batch.ack(['a', 'dlq'], ['b', 'failed']);
        await batch.expectCursor(0, 0);
        await batch.expectPop(['b', 'c']);
      },
    },
    {
      row: '7 settling',
      does: 'unnamed below a higher completed is completed',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        await batch.ack(['a', 'dlq'], ['c']);
        await batch.expectCursor(2, 0);
        await batch.expectDeadLetters(1);
      },
    },
    {
      row: '8 DLQ on',
      does: 'one of the two options is enough',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker, { retryLimit: 0, deadLetterQueue: false });
        expect(await batch.ack(['a', 'failed'])).toEqual([done(0, 'a', { dlq: true })]);
        await batch.expectDeadLetters(1);
      },
    },
    {
      row: '8 DLQ on',
      does: 'dlq files though the options are off',
      run: async (broker) => {
        const off = { deadLetterQueue: false, dlqAfterMaxRetries: false };
        const batch = await LeasedBatch.take(broker, off);
        expect(await batch.ack(['a', 'dlq'])).toEqual([done(0, 'a', { dlq: true })]);
        await batch.expectDeadLetters(1);
      },
    },
    {
      row: '8 dead letter',
      does: 'has payload, ids, group, counter before the ack and the error of its item',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker, { retryLimit: 1 });
        await batch.ack(['a', 'failed', 'first']);
        const again = await batch.pop();
        await batch.ack(['a', 'failed', 'jam']);
        expect(await deadLettersOf(broker)).toMatchObject([
          {
            queue: broker.queue,
            partition: 'p',
            consumerGroup: GROUP,
            offset: 0,
            messageId: again?.messages[0]?.id,
            transactionId: 'a',
            data: { id: 'a' },
            errorMessage: 'jam',
            retryCount: 1,
          },
        ]);
      },
    },
    {
      row: '8 dead letter',
      does: 'error of the first item that did not complete, else Retries exhausted',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker, { retryLimit: 0 });
        await batch.ack(['a', 'failed'], ['b', 'failed', 'of b']);
        await batch.pop();
        await batch.ack(['c', 'failed']);
        const letters = await deadLettersOf(broker);
        expect(letters.map((one) => [one.transactionId, one.errorMessage]).sort()).toEqual([
          ['a', 'of b'],
          ['b', 'of b'],
          ['c', 'Retries exhausted'],
        ]);
      },
    },
    {
      row: 'targets are apart',
      does: 'a bad target does not affect others',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        const { partitionId, leaseId } = batch.lease;
        const item = (partition: string, lease: string) => ({
          transactionId: 'c',
          partitionId: partition,
          leaseId: lease,
        });
        const acks = await broker.api.ack(GROUP, [
          item('seven', leaseId),
          item(partitionId, 'x'),
          item(partitionId, leaseId),
        ]);
        expect(acks.map(({ success }) => success)).toEqual([false, false, true]);
        await batch.expectCursor(2, 0);
      },
    },
  ],
};

export const ackOutcomes: ContractTable = {
  section: 'message-plane 4.2',
  rows: [
    {
      row: 'resolved in range',
      does: 'success, no noop, no error',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        expect(await batch.ack(['a'])).toEqual([done(0, 'a', KEPT)]);
        expect(await batch.ack(['b', 'failed'])).toEqual([done(0, 'b')]);
      },
    },
    {
      row: 'completed, at or below cursor',
      does: 'success and noop',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        await batch.ack(['b']);
        const noop = { ...KEPT, noop: true };
        expect(await batch.ack(['a'], ['b'])).toEqual([done(0, 'a', noop), done(1, 'b', noop)]);
      },
    },
    {
      row: 'signal, at or below cursor',
      does: 'already committed, for each kind of signal',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        await batch.ack(['b']);
        for (const status of ['failed', 'retry', 'dlq']) {
          const [result] = await batch.ack(['a', status]);
          const text = 'already committed: the cursor moved past this message before this ack';
          expect(result).toEqual(refused(0, 'a', text));
        }
      },
    },
    {
      row: 'found nowhere',
      does: 'unresolvable; above B under a lease too',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        await broker.api.pushIds(broker.queue, 'p', ['d']);
        const text =
          'unresolvable: transaction not in the ack window (hash purged or never pushed); ' +
          'if leased, the message redelivers';
        expect(await batch.ack(['zzz'], ['d'])).toEqual([
          refused(0, 'zzz', text),
          refused(1, 'd', text),
        ]);
      },
    },
    {
      row: 'lease refused',
      does: 'every item of the target',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        expect(await batch.ackWith('x', ['a'], ['zzz'])).toEqual([
          refused(0, 'a', LEASE_REFUSED),
          refused(1, 'zzz', LEASE_REFUSED),
        ]);
      },
    },
    {
      row: 'partitionId not digits',
      does: 'names, signs, blanks and nothing at all',
      run: async ({ api }) => {
        for (const partitionId of ['', 'seven', '-1', '1.0', ' 1', '+1', '0x1']) {
          const [result] = await api.ack(GROUP, [{ transactionId: 'a', partitionId }]);
          expect(result).toEqual(refused(0, 'a', 'partitionId is not a partition id'));
        }
      },
    },
    {
      row: 'unknown partition',
      does: 'no partition <n>',
      run: async ({ api }) => {
        for (const partitionId of ['999999', '00999999', '18446744073709551616']) {
          const [result] = await api.ack(GROUP, [{ transactionId: 'a', partitionId }]);
          expect(result).toMatchObject({ success: false });
          expect(result?.error).toMatch(/^no partition \d+$/);
        }
      },
    },
    {
      row: 'leaseReleased is the target’s',
      does: 'repeated on each of its items',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        const acks = await batch.ack(['a'], ['zzz'], ['c']);
        expect(acks.map(({ leaseReleased }) => leaseReleased)).toEqual([true, true, true]);
        expect(acks.map(({ success }) => success)).toEqual([true, false, true]);
      },
    },
    {
      row: 'dlq only on what filed',
      does: 'not on the completed item beside it',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        const acks = await batch.ack(['a'], ['b', 'dlq'], ['c']);
        expect(acks.map(({ dlq }) => dlq)).toEqual([false, true, false]);
      },
    },
  ],
};

interface DeadLetter {
  readonly transactionId: string;
  readonly errorMessage: string;
}

async function deadLettersOf({
  client,
  queue,
}: Pick<LeasedBatch['broker'], 'client' | 'queue'>): Promise<readonly DeadLetter[]> {
  const answer = await client.get(`/api/v1/dlq?queue=${queue}`);
  expect(answer.status, answer.text).toBe(200);
  return (JSON.parse(answer.text) as { messages: readonly DeadLetter[] }).messages;
}
