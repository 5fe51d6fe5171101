/**
 * Goal: a cycle does all it asks for, in one entry, or nothing; a lease fences it; its
 * acknowledgement moves the cursor by position. Method: directed cases over a planner, one for each
 * line of the contract's table (streams 4.1, 4.2).
 */
import { messageId } from '@svc/wire';
import { expect, test } from 'vitest';
import { decodeAppend } from '../base/append.js';
import { findAppend } from '../base/append-search.js';
import type { AppendSlice, PoppedOutcome, PushCommand } from '../base/commands/commands.js';
import type { CursorRow } from '../base/rows.js';
import { cursors, queues } from '../base/tables.js';
import { streamShards, streamStates } from '../state/streams/tables.js';
import { EngineRig, pushCommand, TENANT } from '../testing/engine.fake.js';
import {
  type CycleParts,
  cycle,
  cycleCommand,
  filterOf,
  queryOf,
  stateOf,
} from '../testing/stream.fake.js';

const OTHER = '00000000-0000-0000-0000-0000000000aa';

/** Ten messages in partition 1 of `q`, all of them leased by group `g`. */
function leased(batch = 100): { rig: EngineRig; queryId: string; leaseId: string } {
  const rig = new EngineRig();
  rig.push('q', 'a', ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
  const queryId = queryOf(rig);
  const { leaseId } = rig.pop({ batch });
  return { rig, queryId, leaseId };
}

function cursor(rig: EngineRig): CursorRow {
  return rig.rows(cursors)[0] as CursorRow;
}

function offsets({ claims }: PoppedOutcome): number[] {
  const slices: readonly AppendSlice[] = claims[0]?.slices ?? [];
  return slices.flatMap(({ first, last }) =>
    Array.from({ length: last - first + 1 }, (_, i) => first + i),
  );
}

test('state, pushes and the acknowledgement are one entry', () => {
  const { rig, queryId, leaseId } = leased();
  const entries = rig.entries;
  const verdict = cycle(rig, {
    queryId,
    partitionId: 1,
    state: [
      ['b', '{"acc":1.0}'],
      ['a', '"x"'],
      ['b', '{"acc":12345678901234567890}'],
      ['c', '1'],
      ['c', null],
      ['d', null],
    ],
    pushes: [
      ['out', 'p', 't1'],
      ['out', 'Default', null],
    ],
    ack: { leaseId, count: 10 },
  });
  expect(verdict).toMatchObject({
    result: 'committed',
    partition: 1,
    queue: 'q',
    ack: { count: 10, released: true },
  });
  expect(rig.entries).toBe(entries + 1);
  expect(stateOf(rig, filterOf(queryId, 1))).toEqual([
    ['a', '"x"'],
    ['b', '{"acc":12345678901234567890}'],
  ]);
  expect(rig.rows(streamShards)).toMatchObject([{ rows: 2, bytes: 2 + 3 + 28 }]);
  expect(cursor(rig)).toMatchObject({ committed: 9, lease: null, totalConsumed: 10, retries: 0 });
  const sink = rig.pop({ queue: 'out', partitions: 2 });
  expect(rig.texts(sink)).toEqual(['0', '1']);
});

test('a cycle that costs more than what applies as a whole may does nothing', () => {
  const { rig, queryId, leaseId } = leased();
  const { entries } = rig;
  const pushes = Array.from({ length: 7000 }, (_, i) => ['out', `p${i}`, null] as const);
  const ack = { leaseId, count: 10 };
  const wide = rig.call(cycleCommand({ queryId, partitionId: 1, pushes, ack }));
  expect(wide.outcome).toMatchObject({ kind: 'refused', refusal: { reason: 'too_large' } });
  const state = Array.from({ length: 100_000 }, (_, i) => [`k${i}`, null] as const);
  const keys = rig.call(cycleCommand({ queryId, partitionId: 1, state, ack }));
  expect(keys.outcome).toMatchObject({ kind: 'refused', refusal: { reason: 'too_large' } });
  expect([rig.entries, cursor(rig).committed]).toEqual([entries, -1]);
  expect(cycle(rig, { queryId, partitionId: 1, ack })).toMatchObject({ result: 'committed' });
});

test('the whole of a leased batch is done, whatever the count says', () => {
  const { rig, queryId, leaseId } = leased(6);
  const verdict = cycle(rig, { queryId, partitionId: 1, ack: { leaseId, count: 2 } });
  expect(verdict).toMatchObject({ ack: { count: 2, released: true } });
  expect(cursor(rig)).toMatchObject({ committed: 5, lease: null, totalConsumed: 2 });
  expect(offsets(rig.pop())).toEqual([6, 7, 8, 9]);
});

test('a partial acknowledgement moves by its count and keeps the lease as it is', () => {
  const { rig, queryId, leaseId } = leased(8);
  const before = cursor(rig).lease;
  const part = (count: number) =>
    cycle(rig, { queryId, partitionId: 1, ack: { leaseId, count }, releaseLease: false });
  expect(part(3)).toMatchObject({ ack: { count: 3, released: false } });
  expect(cursor(rig)).toMatchObject({ committed: 2, totalConsumed: 3, lease: before });
  expect(part(0)).toMatchObject({ ack: { count: 0, released: false } });
  expect(part(2)).toMatchObject({ ack: { count: 2, released: false } });
  expect(cursor(rig)).toMatchObject({ committed: 4, totalConsumed: 5, lease: before });
  expect(rig.pop().claims, 'the rest of the batch stays leased').toEqual([]);
  rig.advance(31_000);
  const again = rig.pop();
  expect(offsets(again), 'and comes again, in order').toEqual([5, 6, 7, 8, 9]);
  expect(again.claims[0]?.deliveryAttempt).toBe(2);
});

test('a partial acknowledgement ends with its batch, and passes what retention removed', () => {
  const { rig, queryId, leaseId } = leased(8);
  const verdict = cycle(rig, {
    queryId,
    partitionId: 1,
    ack: { leaseId, count: 500 },
    releaseLease: false,
  });
  expect(verdict).toMatchObject({ ack: { count: 8, released: false } });
  expect(cursor(rig)).toMatchObject({ committed: 7, totalConsumed: 8 });

  const trimmed = new EngineRig();
  trimmed.configure('q', { retentionEnabled: true, retentionSeconds: 10 });
  trimmed.push('q', 'a', ['0', '1', '2']);
  trimmed.advance(6000);
  trimmed.push('q', 'a', ['3', '4', '5']);
  const id = queryOf(trimmed);
  const lease = trimmed.pop().leaseId;
  for (let i = 0; i < 6; i++) {
    trimmed.advance(1000);
    trimmed.turn();
  }
  const ack = { leaseId: lease, count: 1 };
  // The queue came with a partition of its own.
  cycle(trimmed, { queryId: id, partitionId: 2, ack, releaseLease: false });
  expect(cursor(trimmed)).toMatchObject({ committed: 3, totalConsumed: 1 });
});

test('a batch that is given back comes again whole, without a charge', () => {
  for (const releaseLease of [true, false]) {
    const { rig, queryId, leaseId } = leased(4);
    const ack = { leaseId, completed: false, count: 3 };
    const verdict = cycle(rig, { queryId, partitionId: 1, ack, releaseLease, state: [['k', '1']] });
    expect(verdict).toMatchObject({ result: 'committed', ack: { count: 0, released: true } });
    expect(cursor(rig)).toMatchObject({ committed: -1, lease: null, retries: 0, totalConsumed: 0 });
    expect(stateOf(rig, filterOf(queryId, 1))).toEqual([['k', '1']]);
    expect(offsets(rig.pop({ batch: 4 }))).toEqual([0, 1, 2, 3]);
  }
});

test('a lease on last values is passed whole by a partial acknowledgement of one', () => {
  const rig = new EngineRig();
  rig.push('q', 'a', ['0', '1', '2']);
  const queryId = queryOf(rig);
  const { leaseId } = rig.pop({ conflation: true });
  const part = (count: number) =>
    cycle(rig, { queryId, partitionId: 1, ack: { leaseId, count }, releaseLease: false });
  expect(part(0)).toMatchObject({ ack: { count: 0 } });
  expect(cursor(rig).committed).toBe(-1);
  expect(part(5)).toMatchObject({ ack: { count: 1, released: false } });
  expect(cursor(rig)).toMatchObject({ committed: 2, totalConsumed: 1 });
});

test('only the current lease lets a cycle through, and a refused one leaves nothing', () => {
  const { rig, queryId, leaseId } = leased();
  const parts = {
    queryId,
    partitionId: 1,
    state: [['k', '1']],
    pushes: [['fresh', 'p', null]],
  } as const;
  const entries = rig.entries;
  const strange = '01a2b3c4-0000-7000-8000-000000000001';
  for (const wrong of ['', strange, 'no lease']) {
    expect(cycle(rig, { ...parts, ack: { leaseId: wrong, count: 1 } })).toMatchObject({
      result: 'refused',
      reason: 'bad_lease',
    });
  }
  expect(cycle(rig, { ...parts, group: 'other', ack: { leaseId, count: 1 } })).toMatchObject({
    reason: 'bad_lease',
  });
  rig.advance(31_000);
  expect(cycle(rig, { ...parts, ack: { leaseId, count: 1 } })).toMatchObject({
    reason: 'bad_lease',
  });
  expect(rig.entries).toBe(entries);
  expect(rig.rows(streamStates)).toEqual([]);
  expect(rig.rows(queues).map(({ name }) => name)).toEqual(['q']);
});

test('without an acknowledgement nothing is fenced, and repeating applies again', () => {
  const { rig, queryId } = leased();
  const idle: CycleParts = {
    queryId,
    partitionId: 1,
    state: [['k', null]],
    pushes: [['out', 'p', 't']],
  };
  expect(cycle(rig, idle)).toMatchObject({ result: 'committed', ack: null });
  expect(cursor(rig).lease).not.toBe(null);
  expect(cycle(rig, idle)).toMatchObject({ result: 'refused', reason: 'duplicate' });
  const entries = rig.entries;
  cycle(rig, { queryId, partitionId: 1, state: [['none', null]] });
  expect(rig.entries, 'what is not there is deleted without an entry').toBe(entries);
});

test('the repetition of a committed cycle changes nothing', () => {
  const { rig, queryId, leaseId } = leased();
  const ack = { leaseId, count: 10 };
  const once: CycleParts = { queryId, partitionId: 1, state: [['n', '1']], ack };
  expect(cycle(rig, once)).toMatchObject({ result: 'committed' });
  rig.restart(2);
  const entries = rig.entries;
  expect(cycle(rig, once)).toMatchObject({ result: 'refused', reason: 'bad_lease' });
  expect(rig.entries).toBe(entries);
  // The two may even meet in one turn.
  const again = leased();
  const twice = { ...once, queryId: again.queryId, ack: { leaseId: again.leaseId, count: 10 } };
  const requests = [cycleCommand(twice), cycleCommand(twice)].map((one) => again.rig.send(one));
  again.rig.turn();
  expect(requests.map(({ outcome }) => outcome)).toMatchObject([
    { verdict: { result: 'committed' } },
    { verdict: { result: 'refused', reason: 'bad_lease' } },
  ]);
});

test('a sink item that is known refuses the whole, and so do two of one id', () => {
  const { rig, queryId, leaseId } = leased();
  rig.push('out', 'p', ['old']);
  const entries = rig.entries;
  const send = (pushes: readonly (readonly [string, string, string | null])[]) =>
    cycle(rig, {
      queryId,
      partitionId: 1,
      state: [['k', '1']],
      pushes,
      ack: { leaseId, count: 10 },
    });
  expect(
    send([
      ['out', 'p', 'new'],
      ['out', 'p', 'old'],
    ]),
  ).toEqual({
    result: 'refused',
    reason: 'duplicate',
    error: 'a pushed message to out/p is a duplicate (original offset 0); nothing was applied',
  });
  expect(
    send([
      ['out', 'p', 'n'],
      ['out', 'r', 'n'],
      ['out', 'p', 'n'],
    ]),
  ).toEqual({
    result: 'refused',
    reason: 'duplicate',
    error: 'two messages to out/p have the transaction id n; nothing was applied',
  });
  expect(rig.entries).toBe(entries);
  expect(stateOf(rig, filterOf(queryId, 1))).toEqual([]);
  expect(
    send([
      ['out', 'p', 'n'],
      ['out', 'r', 'n'],
    ]),
  ).toMatchObject({ result: 'committed' });
});

test('a cycle is judged against the pushes of its own turn', () => {
  const { rig, queryId } = leased();
  const pushes = [['out', 'p', 't']] as const;
  const [first, second] = [1, 2].map((n) =>
    rig.send(cycleCommand({ queryId, partitionId: 1, state: [[`k${n}`, '1']], pushes })),
  );
  rig.turn();
  expect(first?.outcome).toMatchObject({ verdict: { result: 'committed' } });
  expect(second?.outcome).toMatchObject({ verdict: { reason: 'duplicate' } });
  expect(stateOf(rig, filterOf(queryId, 1))).toEqual([['k1', '1']]);
});

test('what is larger than an entry is refused', () => {
  const rig = new EngineRig(undefined, { entryBytesMax: 4096 });
  rig.push('q', 'a', ['0']);
  const queryId = queryOf(rig);
  const long = `"${'x'.repeat(4000)}"`;
  const verdict = cycle(rig, { queryId, partitionId: 1, state: [['k', long]] });
  expect(verdict).toMatchObject({ result: 'refused', reason: 'too_large' });
  expect(rig.rows(streamStates)).toEqual([]);
});

test('an unknown or foreign query or partition is missing', () => {
  const { rig, queryId } = leased();
  const strange = '01a2b3c4-0000-7000-8000-000000000001';
  for (const parts of [
    { queryId: strange, partitionId: 1 },
    { queryId, partitionId: 2 },
    { queryId, partitionId: 'x' },
    { queryId, partitionId: strange },
    { queryId, partitionId: 1, tenant: OTHER },
  ]) {
    expect(cycle(rig, parts)).toEqual({ result: 'missing' });
    const { tenant = TENANT, partitionId } = { tenant: TENANT, ...parts };
    expect(stateOf(rig, filterOf(parts.queryId, partitionId, { tenant }))).toBe('missing');
  }
});

test('a sink message wakes whoever waits for it, in the same entry', () => {
  const { rig, queryId, leaseId } = leased();
  const waiter = rig.wait({ queue: 'out' });
  const entries = rig.entries;
  cycle(rig, {
    queryId,
    partitionId: 1,
    pushes: [['out', 'p', null]],
    ack: { leaseId, count: 10 },
  });
  expect(rig.texts(waiter.outcome)).toEqual(['0']);
  expect(rig.entries).toBe(entries + 1);
});

test('a message has the id that the cycle gives it, and others that of their place', () => {
  const { rig, queryId } = leased();
  const own = '01a2b3c4-0000-4000-8000-0000000000ff';
  const command = cycleCommand({
    queryId,
    partitionId: 1,
    pushes: [
      ['out', 'p', 't'],
      ['out', 'p', null],
      ['out', 'r', null],
    ],
  });
  const pushes = { ...(command.pushes as PushCommand), messageIds: [own, null, null] };
  const { outcome } = rig.call({ ...command, pushes });
  const verdict = outcome?.kind === 'stream-cycled' ? outcome.verdict : null;
  const told = verdict?.result === 'committed' ? verdict.pushed?.messageIds : null;
  expect(told?.[0]).toBe(own);
  const { claims } = rig.pop({ queue: 'out', partitions: 2, consumerGroup: 'h' });
  const stored = claims.flatMap(({ slices }) => slices.map((slice) => rig.bytesAt(slice)));
  expect(stored.map((bytes) => decodeAppend(bytes).messageIds)).toEqual([[own, null], null]);
  // A push that repeats the transaction id is told the id that the message has.
  const repeated = rig.call(pushCommand('out', 'p', ['t'], true)).outcome;
  expect(repeated?.kind === 'pushed' && repeated.messageIds).toEqual([own]);
  expect(told?.[1]).toBe(messageId(appendStampUs(rig), 2, true, 1));
});

function appendStampUs(rig: EngineRig): number {
  const row = findAppend(rig.planner.state, 2, 1)?.row;
  return row?.stampUs ?? 0;
}
