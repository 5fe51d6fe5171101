// Goal: the ledger finds every anomaly it names and invents none. Method: one clean run of two
// messages in a partition, and planted deviations from it, one at a time.

import { expect, test } from 'vitest';
import type { OutgoingMessage } from './input.js';
import { type GroupResult, isClean, Ledger } from './ledger.js';
import type { DeliveredMessage } from './pop-answer.js';

const SENT: readonly OutgoingMessage[] = ['a', 'b'].map((transactionId) => ({
  queue: 'q',
  partition: 'p',
  transactionId,
  payload: Buffer.from(`{"id":"${transactionId}","n":1.0}`),
}));

function delivered(transactionId: string, offset: number, data?: string): DeliveredMessage {
  const payload = data ?? `{"id":"${transactionId}","n":1.0}`;
  const place = { queue: 'q', partition: 'p', partitionId: '1', leaseId: 'l' };
  return { ...place, transactionId, offset, data: Buffer.from(payload) };
}

/** A ledger of one group to which both messages are acknowledged. */
function ledgerOfBoth(): Ledger {
  const ledger = new Ledger(SENT, ['g']);
  ledger.acknowledge('a');
  ledger.acknowledge('b');
  return ledger;
}

function give(ledger: Ledger, ...messages: readonly DeliveredMessage[]): void {
  const tick = ledger.nextTick();
  for (const message of messages) {
    ledger.deliver('g', message, tick);
  }
}

function onlyVerdict(ledger: Ledger): GroupResult {
  const [verdict] = ledger.verdicts();
  if (verdict === undefined) {
    throw new Error('no verdict');
  }
  return verdict;
}

const CLEAN = { lost: 0, duplicated: 0, outOfOrder: 0, altered: 0 };

test('a clean run', () => {
  const ledger = ledgerOfBoth();
  give(ledger, delivered('a', 0), delivered('b', 1));
  expect(ledger.finished).toBe(false);
  ledger.complete('g', 'q', 'p', 1);
  expect(ledger.finished).toBe(true);
  const counts = { sent: 2, acknowledged: 2, delivered: 2, redelivered: 0 };
  expect(onlyVerdict(ledger)).toEqual({ queue: 'q', group: 'g', ...counts, ...CLEAN });
  expect(isClean(ledger.verdicts())).toBe(true);
});

test('lost: acknowledged and never delivered', () => {
  const ledger = ledgerOfBoth();
  give(ledger, delivered('b', 1));
  expect(onlyVerdict(ledger)).toMatchObject({ ...CLEAN, lost: 1 });
  expect(isClean(ledger.verdicts())).toBe(false);
  expect(ledger.examples[0]).toBe('g: lost: a at q/p');
});

test('not lost, but not clean: never acknowledged', () => {
  const ledger = new Ledger(SENT, ['g']);
  ledger.acknowledge('b');
  ledger.acknowledge('b');
  give(ledger, delivered('b', 0));
  expect(onlyVerdict(ledger)).toMatchObject({ ...CLEAN, acknowledged: 1 });
  expect(isClean(ledger.verdicts())).toBe(false);
});

test('redelivered: again, without an acknowledgement known to have succeeded', () => {
  const ledger = ledgerOfBoth();
  give(ledger, delivered('a', 0), delivered('b', 1));
  give(ledger, delivered('a', 0), delivered('b', 1));
  ledger.complete('g', 'q', 'p', 1);
  expect(onlyVerdict(ledger)).toMatchObject({ ...CLEAN, delivered: 2, redelivered: 2 });
});

test('redelivered: by a pop that began before the acknowledgement was answered', () => {
  const ledger = ledgerOfBoth();
  give(ledger, delivered('a', 0), delivered('b', 1));
  const popTick = ledger.nextTick();
  ledger.complete('g', 'q', 'p', 0);
  ledger.deliver('g', delivered('a', 0), popTick);
  expect(onlyVerdict(ledger)).toMatchObject({ ...CLEAN, redelivered: 1 });
});

test('duplicated: again, below an acknowledgement that succeeded', () => {
  const ledger = ledgerOfBoth();
  give(ledger, delivered('a', 0), delivered('b', 1));
  ledger.complete('g', 'q', 'p', 1);
  give(ledger, delivered('a', 0));
  expect(onlyVerdict(ledger)).toMatchObject({ ...CLEAN, duplicated: 1 });
  expect(isClean(ledger.verdicts())).toBe(false);
});

test('duplicated: one message at two offsets', () => {
  const ledger = ledgerOfBoth();
  give(ledger, delivered('a', 0), delivered('b', 1), delivered('b', 2));
  expect(onlyVerdict(ledger)).toMatchObject({ ...CLEAN, delivered: 2, duplicated: 1 });
});

test('out of order: a lower offset after a higher one', () => {
  const ledger = ledgerOfBoth();
  give(ledger, delivered('a', 1));
  give(ledger, delivered('b', 0));
  expect(onlyVerdict(ledger)).toMatchObject({ ...CLEAN, outOfOrder: 1 });
});

test('out of order: stored in another order than sent', () => {
  const ledger = ledgerOfBoth();
  give(ledger, delivered('b', 0), delivered('a', 1));
  expect(onlyVerdict(ledger)).toMatchObject({ ...CLEAN, outOfOrder: 1 });
});

test.each([
  ['another spelling of the same value', delivered('a', 0, '{"id":"a","n":1}')],
  ['another partition', { ...delivered('a', 0), partition: 'other' }],
  ['never sent', delivered('z', 0)],
])('altered: %s', (_what, message) => {
  const ledger = ledgerOfBoth();
  give(ledger, message);
  expect(onlyVerdict(ledger).altered).toBe(1);
});

test('altered: an offset holds another message for another group', () => {
  const ledger = new Ledger(SENT, ['g', 'h']);
  ledger.deliver('g', delivered('a', 0), ledger.nextTick());
  ledger.deliver('h', delivered('b', 0), ledger.nextTick());
  expect(ledger.verdicts().map((verdict) => verdict.altered)).toEqual([0, 1]);
});

test('groups are judged apart', () => {
  const ledger = new Ledger(SENT, ['g', 'h']);
  ledger.acknowledge('a');
  ledger.deliver('g', delivered('a', 0), ledger.nextTick());
  ledger.complete('g', 'q', 'p', 0);
  ledger.deliver('h', delivered('a', 0), ledger.nextTick());
  expect(ledger.verdicts().map((verdict) => verdict.duplicated)).toEqual([0, 0]);
});
