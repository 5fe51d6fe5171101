// Goal: with `retryBackoffMs` a partition waits before its message comes again, twice as long each
// time, and for nothing else: other partitions and groups go on, parked pops wake at the moment,
// order is kept, and the next leader waits as long.
// Method: the planner driven turn by turn, by instants.
import { beforeEach, describe, expect, test } from 'vitest';
import type { AckStatus, PoppedOutcome } from '../base/commands/commands.js';
import { EngineRig, type Request, TENANT } from '../testing/engine.fake.js';
import { transactionCommand } from '../testing/transaction.fake.js';

let rig: EngineRig;

beforeEach(() => {
  rig = new EngineRig();
  rig.configure('q', { retryBackoffMs: 1000, retryBackoffMaxMs: 3000, retryLimit: 9 });
  rig.push('q', 'p', ['a', 'b']);
});

function advance(ms: number): void {
  rig.advance(ms);
  rig.drain();
}

function texts(request: Request): string[] | null {
  return request.outcome === null ? null : rig.texts(request.outcome);
}

function answer(popped: PoppedOutcome, ...words: [string, AckStatus][]): void {
  rig.ack(popped.claims[0]?.partitionNumber ?? 0, popped.leaseId, words);
}

/** Pops and answers; a pop that is sent before `ms` gets nothing, one after it what is there. */
function expectWait(ms: number, then: readonly string[]): PoppedOutcome {
  advance(ms - 2);
  expect(rig.texts(rig.pop())).toEqual([]);
  advance(4);
  const popped = rig.pop();
  expect(rig.texts(popped)).toEqual(then);
  return popped;
}

test.each(['failed', 'retry'] as const)('%s waits, twice as long each time, to a bound', (word) => {
  let popped = rig.pop();
  for (const ms of [1000, 2000, 3000, 3000]) {
    answer(popped, ['a', word]);
    popped = expectWait(ms, ['a', 'b']);
  }
  answer(popped, ['a', 'completed'], ['b', word]);
  popped = expectWait(1000, ['b']);
  answer(popped, ['b', 'completed']);
  expect(rig.texts(rig.pop())).toEqual([]);
});

test('others go on, and a parked pop wakes at the end of the wait', () => {
  answer(rig.pop(), ['a', 'failed']);
  rig.push('q', 'other', ['c']);
  expect(rig.texts(rig.pop())).toEqual(['c']);
  expect(rig.texts(rig.pop({ consumerGroup: 'h', partition: 'p' }))).toEqual(['a', 'b']);
  const any = rig.wait({ timeoutMs: 60_000 });
  rig.push('q', 'p', ['late']);
  advance(990);
  expect(texts(any)).toBe(null);
  advance(12);
  expect(texts(any)).toEqual(['a', 'b', 'late']);
});

test('a pop of the partition and one that gathers wake too', () => {
  rig.configure('q', { minPopWaitTime: 5000 });
  answer(rig.pop(), ['a', 'retry']);
  const gathering = rig.wait({ timeoutMs: 60_000, batch: 2 });
  advance(990);
  expect(texts(gathering)).toBe(null);
  advance(12);
  expect(texts(gathering)).toEqual(['a', 'b']);
  rig.push('q', 'r', ['x']);
  const popped = rig.pop({ partition: 'r', consumerGroup: 'pinned' });
  rig.ack(popped.claims[0]?.partitionNumber ?? 0, popped.leaseId, [['x', 'failed']], 'pinned');
  const pinned = rig.wait({ partition: 'r', consumerGroup: 'pinned', timeoutMs: 60_000, batch: 1 });
  advance(990);
  expect(texts(pinned)).toBe(null);
  advance(12);
  expect(texts(pinned)).toEqual(['x']);
});

test('the next leader waits as long', () => {
  answer(rig.pop(), ['a', 'failed']);
  advance(600);
  rig.restart(2);
  expectWait(400, ['a', 'b']);
});

describe('nothing else waits', () => {
  test('what is behind a dead letter, a lease that ran out, a pop that was given back', () => {
    const first = rig.pop();
    answer(first, ['a', 'dlq']);
    const second = rig.pop({ leaseSeconds: 1 });
    expect(rig.texts(second)).toEqual(['b']);
    advance(1002);
    const third = rig.pop();
    expect(rig.texts(third)).toEqual(['b']);
    rig.giveBack(third);
    expect(rig.texts(rig.pop())).toEqual(['b']);
  });

  test('but the message behind a dead letter that failed in the same call', () => {
    answer(rig.pop(), ['a', 'dlq'], ['b', 'retry']);
    expectWait(1000, ['b']);
  });

  test('a place that is set, and a message that is completed without a lease, end the wait', () => {
    const popped = rig.pop();
    const number = popped.claims[0]?.partitionNumber ?? 0;
    answer(popped, ['a', 'failed']);
    const waiting = rig.wait({ timeoutMs: 60_000 });
    rig.ack(number, '', [['a', 'completed']]);
    expect(texts(waiting)).toEqual(['b']);
    rig.ack(number, (waiting.outcome as PoppedOutcome).leaseId, [['b', 'failed']]);
    rig.call({
      kind: 'seek',
      tenant: TENANT,
      changeId: '01a2b3c4-1111-7000-8000-00000000000a',
      consumerGroup: 'g',
      queue: 'q',
      partition: 'p',
      targetUs: 0,
    });
    expect(rig.texts(rig.pop())).toEqual(['a', 'b']);
  });

  test('a wait that was made longer or dropped by then goes on as it began', () => {
    answer(rig.pop(), ['a', 'failed']);
    rig.configure('q', { retryBackoffMs: 0 });
    const popped = expectWait(1000, ['a', 'b']);
    answer(popped, ['a', 'failed']);
    expect(rig.texts(rig.pop())).toEqual(['a', 'b']);
  });
});

test('a newer value waits with the one that failed, where a group gets the last only', () => {
  const last = { consumerGroup: 'last', conflation: true };
  const popped = rig.pop(last);
  rig.ack(popped.claims[0]?.partitionNumber ?? 0, popped.leaseId, [['b', 'failed']], 'last');
  rig.push('q', 'p', ['c']);
  advance(990);
  expect(rig.texts(rig.pop(last))).toEqual([]);
  advance(12);
  expect(rig.texts(rig.pop(last))).toEqual(['c']);
});

test('an acknowledgement in a transaction counts as any', () => {
  const { leaseId, claims } = rig.pop();
  const partitionId = `${claims[0]?.partitionNumber}`;
  const ack = { transactionId: 'b', partitionId, leaseId, error: null } as const;
  rig.call(
    transactionCommand({
      acks: [
        { ...ack, transactionId: 'a', consumerGroup: 'g', status: 'completed' },
        { ...ack, consumerGroup: 'g', status: 'retry' },
      ],
    }),
  );
  expectWait(1000, ['b']);
});
