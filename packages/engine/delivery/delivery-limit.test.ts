// Goal: with `deliveryLimit` a message that is never completed becomes a dead letter, however its
// deliveries end, and nothing that merely came with it does; order is kept, and the next leader
// goes on with the count.
// Method: the planner driven turn by turn. A worker that dies is a lease of one second that ends.
import { beforeEach, describe, expect, test } from 'vitest';
import type { AckStatus, PoppedOutcome } from '../base/commands/commands.js';
import { DEAD_LETTER_BYTES_MAX } from '../base/delivery-limits.js';
import type { CursorRow } from '../base/rows.js';
import { cursors } from '../base/tables.js';
import { EngineRig, type PopOptions, type Request, TENANT } from '../testing/engine.fake.js';
import { cycle, queryOf } from '../testing/stream.fake.js';
import { transactionCommand } from '../testing/transaction.fake.js';

let rig: EngineRig;

beforeEach(() => {
  rig = new EngineRig();
  rig.configure('q', { deliveryLimit: 4 });
  rig.push('q', 'p', ['a', 'b', 'c']);
});

function advance(ms: number): void {
  rig.advance(ms);
  rig.drain();
}

/** A pop whose worker dies; what it was given. */
function die(options: PopOptions = {}): string[] {
  const popped = rig.pop({ leaseSeconds: 1, ...options });
  advance(1002);
  return rig.texts(popped);
}

function answer(popped: PoppedOutcome, ...words: [string, AckStatus, string?][]) {
  const { claims, leaseId, consumerGroup } = popped;
  return rig.ack(claims[0]?.partitionNumber ?? 0, leaseId, words, consumerGroup);
}

/** A pop whose worker completes what it was given. */
function complete(options: PopOptions = {}): string[] {
  const popped = rig.pop(options);
  const texts = rig.texts(popped);
  for (const { partitionNumber } of popped.claims) {
    const last = rig.messages(popped).findLast(({ number }) => number === partitionNumber);
    rig.ack(
      partitionNumber,
      popped.leaseId,
      [[last?.text ?? '', 'completed']],
      popped.consumerGroup,
    );
  }
  return texts;
}

function filed(): [string, string | null][] {
  return rig.deadLetters().map(({ transactionId, reason }) => [transactionId, reason]);
}

function cursor(): CursorRow {
  return rig.rows(cursors)[0] as CursorRow;
}

function texts(request: Request): string[] | null {
  return request.outcome === null ? null : rig.texts(request.outcome);
}

test('half the deliveries are batches; then all of the batch comes alone, and one is filed', () => {
  expect([die(), die()]).toEqual([
    ['a', 'b', 'c'],
    ['a', 'b', 'c'],
  ]);
  expect(complete()).toEqual(['a']);
  rig.push('q', 'p', ['d', 'e']);
  expect([die(), die(), die(), die()]).toEqual([['b'], ['b'], ['b'], ['b']]);
  expect(filed()).toEqual([]);
  expect(complete()).toEqual(['c']);
  expect(filed()).toEqual([['b', 'delivery_limit']]);
  expect(rig.deadLetters()[0]?.error).toBe('Delivered 4 times without being completed');
  expect(complete()).toEqual(['d', 'e']);
});

test('a limit of one needs a delivery alone all the same', () => {
  rig.configure('q', { deliveryLimit: 1 });
  expect([die(), die(), complete(), complete(), complete()]).toEqual([
    ['a', 'b', 'c'],
    ['a'],
    ['b'],
    ['c'],
    [],
  ]);
  expect(filed()).toEqual([['a', 'delivery_limit']]);
});

test('a message of another partition is never filed for its company', () => {
  rig.push('q', 'r', ['x', 'y']);
  const wide = { partitions: 9 };
  expect([die(wide), die(wide)]).toEqual([
    ['a', 'b', 'c', 'x', 'y'],
    ['a', 'b', 'c', 'x', 'y'],
  ]);
  rig.push('q', 's', ['z']);
  expect([die(wide), complete(wide)]).toEqual([['a'], ['x']]);
  // The answer ends before what comes alone, and the next one begins with it.
  expect([complete(wide), die(wide), complete(wide)]).toEqual([['z'], ['a'], ['y']]);
  expect([complete(wide), complete(wide), complete(wide)]).toEqual([['b'], ['c'], []]);
  expect(filed()).toEqual([['a', 'delivery_limit']]);
});

describe('where it is given back', () => {
  beforeEach(() => {
    rig.configure('q', { deliveryLimit: 2, retryLimit: 9, retryBackoffMs: 1000 });
    expect(die()).toEqual(['a', 'b', 'c']);
  });

  test.each(['failed', 'retry'] as const)(
    '%s files it, with its text, and waits for nothing',
    (word) => {
      const { items } = answer(rig.pop(), ['a', word, 'boom']);
      expect(items).toMatchObject([{ success: true, dlq: true, leaseReleased: true }]);
      expect(rig.deadLetters()).toMatchObject([
        { transactionId: 'a', error: 'boom', reason: 'delivery_limit' },
      ]);
      expect(rig.texts(rig.pop())).toEqual(['b']);
    },
  );

  test('so does a transaction; a message that is completed then is not', () => {
    const { leaseId, claims } = rig.pop();
    const partitionId = `${claims[0]?.partitionNumber}`;
    const ack = { transactionId: 'a', partitionId, leaseId, error: null, consumerGroup: 'g' };
    rig.call(transactionCommand({ acks: [{ ...ack, status: 'retry' }] }));
    expect([complete(), complete(), filed()]).toEqual([['b'], ['c'], [['a', 'delivery_limit']]]);
  });

  test('a queue that keeps none drops it', () => {
    rig.configure('q', { deadLetterQueue: false, dlqAfterMaxRetries: false });
    expect([die(), die(), die(), complete()]).toEqual([['a'], ['b'], ['b'], ['c']]);
    expect(filed()).toEqual([]);
  });
});

describe('the pop that finds it', () => {
  beforeEach(() => {
    rig.configure('q', { deliveryLimit: 2 });
    expect(die()).toEqual(['a', 'b', 'c']);
  });

  test('may wait, by any partition or by its name, and is served what comes behind', () => {
    const held = rig.pop({ leaseSeconds: 1 });
    expect(rig.texts(held)).toEqual(['a']);
    const [any, pinned] = [rig.wait({ timeoutMs: 60_000 }), rig.wait({ partition: 'p' })];
    advance(1002);
    expect([texts(any), texts(pinned), filed()]).toEqual([['b'], null, [['a', 'delivery_limit']]]);
    answer(any.outcome as PoppedOutcome, ['b', 'completed']);
    expect(texts(pinned)).toEqual(['c']);
  });

  test('may gather, but not for what comes alone', () => {
    rig.configure('q', { minPopWaitTime: 5000 });
    const wait = { timeoutMs: 60_000, leaseSeconds: 1 };
    expect(texts(rig.wait(wait))).toEqual(['a']);
    advance(1002);
    expect([texts(rig.wait(wait)), filed()]).toEqual([['b'], [['a', 'delivery_limit']]]);
  });

  test('may take without a lease', () => {
    expect(die()).toEqual(['a']);
    const auto = { autoAck: true } as const;
    expect([die(auto), die(auto), die(auto)]).toEqual([['b'], ['c'], []]);
    expect(filed()).toEqual([['a', 'delivery_limit']]);
  });

  test('may come to another leader, and after the option was taken back it delivers', () => {
    expect(die()).toEqual(['a']);
    rig.restart(2);
    // It grants the lease of another node some time.
    advance(10_000);
    rig.configure('q', { deliveryLimit: 0 });
    expect(die()).toEqual(['a', 'b', 'c']);
    expect([cursor().aloneTo, cursor().aloneAt, filed()]).toEqual([-1, -1, []]);
    // Turned on again it asks for one more batch, and one delivery alone.
    rig.configure('q', { deliveryLimit: 2 });
    expect([die(), die()]).toEqual([['a', 'b', 'c'], ['a']]);
    rig.restart();
    expect([complete(), filed()]).toEqual([['b'], [['a', 'delivery_limit']]]);
  });

  test('delivers what the log cannot give back to a dead letter', () => {
    expect(die()).toEqual(['a']);
    rig.damaged = true;
    expect(rig.texts(rig.pop())).toEqual(['a']);
    expect(filed()).toEqual([]);
  });
});

describe('no count is kept', () => {
  beforeEach(() => {
    rig.configure('q', { deliveryLimit: 2 });
    expect([die(), die()]).toEqual([['a', 'b', 'c'], ['a']]);
  });

  test('over a seek', () => {
    const changeId = '01a2b3c4-1111-7000-8000-00000000000a';
    const base = { tenant: TENANT, changeId, consumerGroup: 'g', queue: 'q' } as const;
    rig.call({ kind: 'seek', ...base, partition: 'p', targetUs: 0 });
    expect([die(), filed()]).toEqual([['a', 'b', 'c'], []]);
  });

  test('over the deletion of the group, and no other group has one', () => {
    expect(complete({ consumerGroup: 'h' })).toEqual(['a', 'b', 'c']);
    const changeId = '01a2b3c4-1111-7000-8000-00000000000a';
    const base = { tenant: TENANT, changeId, consumerGroup: 'g', queue: 'q' } as const;
    rig.call({ kind: 'delete-group', ...base, deleteMetadata: true });
    expect([die(), filed()]).toEqual([['a', 'b', 'c'], []]);
  });
});

test('a position ends it, also where the group stands already', () => {
  rig.configure('q', { deliveryLimit: 2 });
  expect([die(), rig.texts(rig.pop({ autoAck: true }))]).toEqual([['a', 'b', 'c'], ['a']]);
  const place = { queue: 'q', partition: 'p', offset: 1, consumerGroup: 'g', metadata: null };
  rig.call(transactionCommand({ positions: [{ ...place, subscription: { mode: 'all' } }] }));
  expect(die()).toEqual(['b', 'c']);
});

test('retention that removes it first files nothing, and what is then in front begins anew', () => {
  const retention = { intervalMs: 5000, batchAppends: 1000 };
  rig = new EngineRig(undefined, { retention });
  rig.configure('q', { deliveryLimit: 2, maxWaitTimeSeconds: 10 });
  rig.push('q', 'p', ['a']);
  advance(8000);
  rig.push('q', 'p', ['b', 'c']);
  expect([die(), die()]).toEqual([['a', 'b', 'c'], ['a']]);
  for (let i = 0; i < 6; i++) advance(1000);
  expect([die(), filed()]).toEqual([['b'], []]);
  expect(cursor()).toMatchObject({ attemptOffset: 1, attempt: 1 });
});

test('a delivery that no client received does not count, nor as one alone', () => {
  rig.configure('q', { deliveryLimit: 2 });
  die();
  rig.giveBack(rig.pop());
  expect(cursor()).toMatchObject({ attempt: 1, aloneAt: -1 });
  expect([die(), complete(), filed()]).toEqual([['a'], ['b'], [['a', 'delivery_limit']]]);
});

test('of a group that gets the last value, the value that was delivered is filed', () => {
  const last = { consumerGroup: 'last', conflation: true };
  expect([die(last), die(last)]).toEqual([['c'], ['c']]);
  rig.push('q', 'p', ['d']);
  expect([die(last), die(last), die(last), die(last)]).toEqual([['d'], ['d'], ['d'], ['d']]);
  rig.push('q', 'p', ['e']);
  // It was superseded before anybody asked.
  expect([complete(last), filed()]).toEqual([['e'], []]);
  rig.push('q', 'p', ['f']);
  for (let i = 0; i < 4; i++) expect(die(last)).toEqual(['f']);
  expect([die(last), filed()]).toEqual([[], [['f', 'delivery_limit']]]);
});

test('a stream that goes on under its lease has not delivered what follows', () => {
  rig.configure('q', { deliveryLimit: 1 });
  expect(die()).toEqual(['a', 'b', 'c']);
  const queryId = queryOf(rig);
  const { leaseId, claims } = rig.pop({ leaseSeconds: 1 });
  const partitionId = claims[0]?.partitionNumber ?? 0;
  cycle(rig, { queryId, partitionId, ack: { leaseId, count: 1 }, releaseLease: false });
  expect(cursor().committed).toBe(0);
  advance(1002);
  expect([complete(), complete(), filed()]).toEqual([['b'], ['c'], []]);
});

test('where the entry has no room left, the next ones file the rest', () => {
  rig = new EngineRig(undefined, { entryBytesMax: 18 * 1024 * 1024 });
  rig.lag = 1;
  rig.configure('q', { deliveryLimit: 1 });
  const names = ['p1', 'p2', 'p3', 'p4'];
  for (const name of names) rig.push('q', name, ['x'.repeat(5 * 1024 * 1024)], false);
  for (const partition of names) rig.pop({ partition, leaseSeconds: 1 });
  rig.advance(1002);
  rig.pop({ partitions: 9 });
  const bytes = rig.deadLetters().reduce((sum, { payload }) => sum + payload.length, 0);
  expect(rig.deadLetters()).toHaveLength(3);
  expect(bytes).toBeLessThanOrEqual(DEAD_LETTER_BYTES_MAX);
  rig.advance(2);
  rig.pop({ partitions: 9 });
  expect(rig.deadLetters()).toHaveLength(4);
});
