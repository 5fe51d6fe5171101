// Goal: last-value delivery (message-plane 11.4): what a conflating group gets, what its acks do,
// how the policy is fixed and told, and that it lives with delays, retries, dead letters,
// retention, seeks, other groups and changes of leader.
// Method: the planner driven turn by turn; scenarios with their expected messages and cursors.
import { beforeEach, describe, expect, test } from 'vitest';
import type { Outcome, PoppedOutcome } from '../base/commands/commands.js';
import { numberNameKey } from '../base/keys.js';
import { cursors, groups, partitions } from '../base/tables.js';
import { EngineRig, type PopOptions, type Request, TENANT } from '../testing/engine.fake.js';
import { ackOf, transact } from '../testing/transaction.fake.js';

let rig: EngineRig;

beforeEach(() => {
  rig = new EngineRig();
});

const LAST = { conflation: true, partitions: 64 } as const;

function last(options: PopOptions = {}): PoppedOutcome {
  return rig.pop({ ...LAST, ...options });
}

function advance(ms: number): void {
  rig.advance(ms);
  rig.drain();
}

function numberOf(name: string): number {
  return rig.rows(partitions).find((row) => row.name === name)?.number ?? -1;
}

function cursor(name = 'p', group = 'g') {
  return rig.planner.state.get(cursors, numberNameKey(numberOf(name), group));
}

function terms(outcome: Outcome | null): unknown {
  if (outcome?.kind !== 'popped') throw new Error('not the answer of a pop');
  return outcome.terms;
}

const CONFLATES = { conflation: true, conflationConflict: false, autopilot: null };
const CONFLICT = { conflation: true, conflationConflict: true, autopilot: null };
const PLAIN_CONFLICT = { conflation: false, conflationConflict: true, autopilot: null };

describe('delivery', () => {
  test('the newest message, and its ack completes what lies before it', () => {
    rig.push('q', 'p', ['a', 'b']);
    rig.push('q', 'p', ['c']);
    const popped = last();
    expect(rig.messages(popped)).toMatchObject([{ text: 'c', offset: 2, attempt: 1 }]);
    expect(cursor()).toMatchObject({
      committed: -1,
      attemptOffset: 2,
      lease: { batchEnd: 2, conflation: true },
    });
    const [item] = rig.ack(numberOf('p'), popped.leaseId, [['c', 'completed']]).items;
    expect(item).toMatchObject({ success: true, leaseReleased: true, noop: false });
    expect(cursor()).toMatchObject({ committed: 2, lease: null, totalConsumed: 3 });
    expect(rig.texts(last())).toEqual([]);
  });

  test('one message of each partition, within batch and width', () => {
    for (const p of ['p1', 'p2', 'p3', 'p4']) rig.push('q', p, [`${p}-old`, `${p}-new`]);
    expect(rig.texts(last({ batch: 3 }))).toEqual(['p1-new', 'p2-new', 'p3-new']);
    expect(rig.texts(last({ partitions: 1 }))).toEqual(['p4-new']);
  });

  test('a live lease holds newer messages back, and they come when it ends', () => {
    rig.push('q', 'p', ['a']);
    const first = last({ leaseSeconds: 5 });
    rig.push('q', 'p', ['b', 'c']);
    const waiting = rig.wait({ ...LAST, timeoutMs: 60_000 });
    expect(waiting.outcome).toBe(null);
    rig.ack(numberOf('p'), first.leaseId, [['a', 'completed']]);
    expect(rig.messages(waiting.outcome)).toMatchObject([{ text: 'c', attempt: 1 }]);
  });

  test('the attempt is that of the message that is delivered', () => {
    rig.push('q', 'p', ['a', 'b']);
    last({ leaseSeconds: 5 });
    advance(5001);
    expect(rig.messages(last({ leaseSeconds: 5 }))).toMatchObject([{ text: 'b', attempt: 2 }]);
    rig.push('q', 'p', ['c']);
    advance(5001);
    expect(rig.messages(last())).toMatchObject([{ text: 'c', attempt: 1 }]);
  });

  test('a claim that nobody received is undone, attempt included', () => {
    rig.push('q', 'p', ['a', 'b']);
    rig.giveBack(last());
    expect(rig.messages(last())).toMatchObject([{ text: 'b', attempt: 1 }]);
  });

  test('only what the queue shows counts', () => {
    rig.configure('q', { delayedProcessing: 10 });
    rig.push('q', 'p', ['a']);
    rig.push('q', 'p', ['b']);
    advance(6000);
    rig.push('q', 'p', ['c']);
    const waiting = rig.wait({ ...LAST, timeoutMs: 60_000 });
    expect(waiting.outcome).toBe(null);
    advance(4001);
    expect(rig.texts(waiting.outcome)).toEqual(['b']);
    const { leaseId } = waiting.outcome as PoppedOutcome;
    const next = rig.wait({ ...LAST, timeoutMs: 60_000 });
    rig.ack(numberOf('p'), leaseId, [['b', 'completed']]);
    expect([next.outcome, cursor()?.committed]).toEqual([null, 1]);
    advance(6000);
    expect(rig.texts(next.outcome)).toEqual(['c']);
  });

  test('a window hides the whole partition', () => {
    rig.configure('q', { windowBuffer: 5 });
    rig.push('q', 'p', ['a']);
    advance(3000);
    rig.push('q', 'p', ['b']);
    advance(3000);
    expect(rig.texts(last())).toEqual([]);
    advance(2001);
    expect(rig.texts(last())).toEqual(['b']);
  });

  test('autoAck on a group that conflates moves the cursor past everything', () => {
    last();
    rig.push('q', 'p', ['a', 'b', 'c']);
    expect(rig.texts(rig.pop({ autoAck: true }))).toEqual(['c']);
    expect(cursor()).toMatchObject({ committed: 2, lease: null, totalConsumed: 3 });
  });

  test('other groups get everything', () => {
    rig.push('q', 'p', ['a', 'b']);
    const popped = last();
    rig.ack(numberOf('p'), popped.leaseId, [['b', 'completed']]);
    expect(rig.texts(rig.pop({ consumerGroup: 'other' }))).toEqual(['a', 'b']);
    expect(rig.texts(rig.pop({ consumerGroup: '__QUEUE_MODE__' }))).toEqual(['a', 'b']);
  });

  test('another leader goes on with the same', () => {
    rig.push('q', 'p', ['a', 'b']);
    const popped = last({ leaseSeconds: 5 });
    rig.restart(2);
    expect(rig.texts(rig.pop())).toEqual([]);
    const [item] = rig.ack(numberOf('p'), popped.leaseId, [['b', 'completed']]).items;
    expect(item?.leaseReleased).toBe(true);
    expect(cursor()?.committed).toBe(1);
    rig.push('q', 'p', ['c', 'd']);
    expect(rig.texts(rig.pop())).toEqual(['d']);
  });

  test('a span of many appends costs no more than its last one', () => {
    last();
    for (let i = 0; i < 300; i++) rig.push('q', 'p', [`m${i}`]);
    const popped = last();
    expect(popped.claims[0]?.slices).toHaveLength(1);
    expect(rig.texts(popped)).toEqual(['m299']);
  });
});

describe('acknowledgement', () => {
  function leased(ids: readonly string[]): (words: Words) => unknown[] {
    rig.push('q', 'p', ids);
    const { leaseId } = last();
    return (words) => [...rig.ack(numberOf('p'), leaseId, words).items];
  }
  type Words = Parameters<EngineRig['ack']>[2];

  test('completing any message of the span completes the span', () => {
    const ack = leased(['a', 'b', 'c']);
    expect(ack([['a', 'completed']])).toMatchObject([{ success: true, leaseReleased: true }]);
    expect(cursor()).toMatchObject({ committed: 2, lease: null });
  });

  test('without a lease id too', () => {
    leased(['a', 'b', 'c']);
    expect(rig.ack(numberOf('p'), '', [['c', 'completed']]).items[0]?.leaseReleased).toBe(true);
    expect(cursor()?.committed).toBe(2);
  });

  test('an unknown id moves nothing', () => {
    const ack = leased(['a', 'b', 'c']);
    expect(ack([['zzz', 'completed']])).toMatchObject([{ success: false, leaseReleased: false }]);
    expect(cursor()).toMatchObject({ committed: -1, lease: { batchEnd: 2 } });
  });

  test('the repeated ack of a released lease', () => {
    const ack = leased(['a', 'b', 'c']);
    ack([['c', 'completed']]);
    expect(ack([['c', 'completed']])).toMatchObject([{ success: true, noop: true }]);
  });

  test('failed, retry and the retry budget', () => {
    rig.configure('q', { retryLimit: 1 });
    const ack = leased(['a', 'b']);
    expect(ack([['b', 'failed']])).toMatchObject([{ success: true, leaseReleased: true }]);
    expect(cursor()).toMatchObject({ committed: -1, retries: 1 });
    const second = last();
    expect(rig.messages(second)).toMatchObject([{ text: 'b', attempt: 2 }]);
    rig.ack(numberOf('p'), second.leaseId, [['b', 'retry']]);
    rig.push('q', 'p', ['c']);
    const third = last();
    expect(rig.messages(third)).toMatchObject([{ text: 'c', attempt: 1 }]);
    rig.ack(numberOf('p'), third.leaseId, [['c', 'failed', 'broken']]);
    expect(rig.deadLetters()).toMatchObject([{ transactionId: 'c', error: 'broken' }]);
    expect(cursor()).toMatchObject({ committed: 2, retries: 0, lease: null });
  });

  test('dlq files the delivered message alone', () => {
    const ack = leased(['a', 'b', 'c']);
    expect(ack([['c', 'dlq']])).toMatchObject([{ success: true, dlq: true }]);
    expect(rig.deadLetters()).toMatchObject([{ transactionId: 'c', offset: 2 }]);
    expect(cursor()?.committed).toBe(2);
  });

  test('an id that several messages carry means the delivered one', () => {
    rig.configure('q', { dedupWindowSeconds: 0 });
    for (const id of ['same', 'other', 'same']) rig.push('q', 'p', [id]);
    const { leaseId } = last();
    rig.ack(numberOf('p'), leaseId, [['same', 'dlq']]);
    expect(rig.deadLetters()).toMatchObject([{ transactionId: 'same', offset: 2 }]);
    expect(cursor()).toMatchObject({ committed: 2, lease: null });
  });

  test('an id that the index has forgotten is looked for in the delivered append alone', () => {
    rig.push('q', 'p', ['a', 'b']);
    rig.push('q', 'p', ['c']);
    advance(1_000_000);
    rig.transactions.clear();
    rig.restart();
    const { leaseId } = last();
    const ack = (id: string) => rig.ack(numberOf('p'), leaseId, [[id, 'completed']]).items[0];
    expect(ack('a')).toMatchObject({ success: false });
    expect(ack('c')).toMatchObject({ success: true, leaseReleased: true });
  });
});

describe('with what else moves a cursor', () => {
  test('a seek releases the lease, and what is delivered next is a first delivery', () => {
    rig.push('q', 'p', ['a', 'b', 'c']);
    const popped = last();
    let changes = 0;
    const seek = (targetUs: number | null) => {
      const changeId = `01a2b3c4-0000-4000-8000-00000000000${changes++}`;
      const group = { tenant: TENANT, changeId, consumerGroup: 'g' };
      rig.call({ kind: 'seek', ...group, queue: 'q', partition: 'p', targetUs });
    };
    seek(null);
    const [item] = rig.ack(numberOf('p'), popped.leaseId, [['c', 'completed']]).items;
    expect(item).toMatchObject({ success: false, error: 'invalid or expired lease' });
    expect([rig.texts(last()), terms(last())]).toEqual([[], CONFLATES]);
    seek(0);
    expect(rig.messages(last())).toMatchObject([{ text: 'c', attempt: 1 }]);
  });

  test('retention below the newest message changes nothing', () => {
    rig.configure('q', { maxWaitTimeSeconds: 10 });
    rig.push('q', 'p', ['a', 'b']);
    advance(6000);
    rig.push('q', 'p', ['c']);
    const popped = last({ leaseSeconds: 60 });
    for (let i = 0; i < 7; i++) advance(1000);
    expect(rig.rows(partitions).find(({ name }) => name === 'p')?.logStart).toBe(2);
    const [item] = rig.ack(numberOf('p'), popped.leaseId, [['c', 'completed']]).items;
    expect(item).toMatchObject({ success: true, leaseReleased: true });
    expect(cursor()).toMatchObject({ committed: 2, lease: null });
  });

  test('retention of all that was leased leaves the newer ones to the next', () => {
    rig.configure('q', { maxWaitTimeSeconds: 10 });
    rig.push('q', 'p', ['a', 'b']);
    last({ leaseSeconds: 30 });
    for (let i = 0; i < 25; i++) advance(1000);
    rig.push('q', 'p', ['c', 'd']);
    expect(rig.texts(last())).toEqual([]);
    for (let i = 0; i < 6; i++) advance(1000);
    expect(rig.messages(last())).toMatchObject([{ text: 'd', attempt: 1 }]);
  });

  test('an acknowledgement in a transaction does what one alone does', () => {
    rig.push('q', 'p', ['a', 'b', 'c']);
    const { leaseId } = last();
    const outcome = transact(rig, { acks: [ackOf(numberOf('p'), 'a', leaseId)] });
    expect(outcome.rollback).toBe(null);
    expect(cursor()).toMatchObject({ committed: 2, lease: null });
  });
});

describe('the policy', () => {
  test('is fixed by the first registering pop', () => {
    expect(terms(last())).toEqual(CONFLATES);
    expect(rig.rows(groups)).toMatchObject([{ conflation: true }]);
    rig.push('q', 'p', ['a', 'b']);
    const plain = rig.pop();
    expect([rig.texts(plain), terms(plain)]).toEqual([['b'], CONFLATES]);
    expect(terms(rig.pop({ conflation: false }))).toEqual(CONFLICT);
    rig.restart();
    expect(terms(rig.pop({ conflation: false }))).toEqual(CONFLICT);
    expect(rig.rows(groups)).toHaveLength(1);
  });

  test('a plain group stays plain', () => {
    expect(terms(rig.pop())).toBe(null);
    rig.push('q', 'p', ['a', 'b']);
    const popped = last();
    expect([rig.texts(popped), terms(popped)]).toEqual([['a', 'b'], PLAIN_CONFLICT]);
    expect(terms(rig.pop({ conflation: false }))).toBe(null);
    expect(terms(last({ partition: 'p' }))).toEqual(PLAIN_CONFLICT);
  });

  test('queue mode is never registered with it', () => {
    last({ consumerGroup: '__QUEUE_MODE__' });
    expect(rig.rows(groups)).toMatchObject([{ conflation: false }]);
  });

  test('a pinned pop registers the group for the whole queue', () => {
    rig.push('q', 'p', ['a', 'b']);
    rig.push('q', 'other', ['c', 'd']);
    const pinned = last({ partition: 'p', subscription: { mode: 'all' } });
    expect([rig.texts(pinned), terms(pinned)]).toEqual([['b'], CONFLATES]);
    expect(rig.rows(groups)).toMatchObject([{ conflation: true, isSeeded: true }]);
    const rest = rig.pop({ partitions: 64 });
    expect([rig.texts(rest), terms(rest)]).toEqual([['d'], CONFLATES]);
  });

  test('but not where the group has been: it reads on as it did', () => {
    rig.push('q', 'p', ['a', 'b']);
    const plain = rig.pop({ partition: 'p', autoAck: true, batch: 1 });
    expect(rig.texts(plain)).toEqual(['a']);
    rig.push('q', 'p', ['c']);
    const popped = last({ partition: 'p' });
    expect([rig.texts(popped), terms(popped)]).toEqual([['b', 'c'], PLAIN_CONFLICT]);
    expect(rig.rows(groups)).toEqual([]);
  });

  test('a lease from before the registration is what it was', () => {
    rig.push('q', 'p', ['a', 'b', 'c']);
    const plain = rig.pop({ partition: 'p' });
    last();
    rig.ack(numberOf('p'), plain.leaseId, [['a', 'completed']]);
    expect(cursor()).toMatchObject({ committed: 0, lease: { batchEnd: 2, conflation: false } });
    rig.ack(numberOf('p'), plain.leaseId, [['b', 'retry']]);
    expect(rig.texts(last())).toEqual(['c']);
  });

  test('what is not there says nothing, and creates nothing', () => {
    expect(terms(last({ partition: 'p' }))).toBe(null);
    rig.push('q', 'other', ['a']);
    expect(terms(last({ partition: 'p' }))).toBe(null);
    expect([rig.rows(groups), rig.rows(partitions)]).toMatchObject([[], [{ name: 'other' }]]);
    last();
    expect(terms(last({ partition: 'p' }))).toEqual(CONFLATES);
    expect(terms(rig.pop({ partition: 'p', conflation: false }))).toEqual(CONFLICT);
  });

  test('a pinned waiter registers with the first message', () => {
    const waiting = rig.wait({ ...LAST, partition: 'p' });
    expect(rig.rows(groups)).toEqual([]);
    rig.push('q', 'p', ['a', 'b']);
    expect([rig.texts(waiting.outcome), terms(waiting.outcome)]).toEqual([['b'], CONFLATES]);
    expect(rig.rows(groups)).toMatchObject([{ conflation: true }]);
  });

  test('waiters that are answered empty are told too', () => {
    const waiting: Request[] = [
      rig.wait({ ...LAST, timeoutMs: 1000 }),
      rig.wait({ timeoutMs: 1000, conflation: false }),
      rig.wait({ ...LAST, partition: 'missing', timeoutMs: 1000 }),
      rig.wait({ ...LAST, partition: 'missing', consumerGroup: 'unknown', timeoutMs: 1000 }),
    ];
    advance(1000);
    expect(waiting.map(({ outcome }) => terms(outcome))).toEqual([
      CONFLATES,
      CONFLICT,
      CONFLATES,
      null,
    ]);
  });

  test('a deleted queue has no policy to tell', () => {
    const waiting = rig.wait(LAST);
    rig.call({ kind: 'delete-queue', tenant: TENANT, queue: 'q' });
    rig.drain();
    expect(terms(waiting.outcome)).toBe(null);
  });

  test('discovery registers it everywhere, and tells of any difference', () => {
    rig.push('a.x', 'p', ['1', '2']);
    rig.pop({ queue: 'b.x' });
    rig.push('b.x', 'p', ['3', '4']);
    const popped = last({ task: 'x' });
    expect(rig.texts(popped)).toEqual(['2', '3', '4']);
    expect(terms(popped)).toEqual(CONFLICT);
    expect(terms(rig.pop({ task: 'x' }))).toEqual(CONFLATES);
    expect(rig.rows(groups).map(({ conflation }) => conflation)).toEqual([true, false]);
    expect(terms(last({ task: 'none' }))).toBe(null);
  });

  test('seeds are as for any group', () => {
    rig.push('q', 'p', ['a', 'b']);
    advance(1000);
    expect(rig.texts(last({ subscription: { mode: 'new' } }))).toEqual([]);
    rig.push('q', 'p', ['c', 'd']);
    const popped = last();
    expect(rig.texts(popped)).toEqual(['d']);
    rig.ack(numberOf('p'), popped.leaseId, [['d', 'completed']]);
    expect(cursor()).toMatchObject({ committed: 3, totalConsumed: 2 });
  });
});
