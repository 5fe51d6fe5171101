// Goal: dead letters, which copy what they file, cannot make an entry that no node can store, and
// whatever finds no room says so and is filed when it is sent again.
// Method: leased messages of some MiB are all dead-lettered at once, in one target and in several;
// entries are counted in bytes, and each step must leave rows from which the next one goes on.
import { beforeEach, expect, test } from 'vitest';
import type { AckCommand, AckItem, Outcome } from '../base/commands/commands.js';
import { DEAD_LETTER_BYTES_MAX } from '../base/delivery-limits.js';
import { numberNameKey } from '../base/keys.js';
import type { CursorRow } from '../base/rows.js';
import { cursors } from '../base/tables.js';
import { EngineRig, pushCommand, type Request, TENANT } from '../testing/engine.fake.js';
import { UNFILED } from './ack-target.js';

const MIB = 1024 * 1024;
const TEXT_BYTES = 5 * MIB;

let rig: EngineRig;

beforeEach(() => {
  rig = new EngineRig();
  // An entry always stays in flight, so the rig does not compare rows of this size as text.
  rig.lag = 1;
});

function pushLong(partition: string, count: number): void {
  for (let i = 0; i < count; i++) rig.push('q', partition, ['x'.repeat(TEXT_BYTES)], false);
}

function dlq(leaseId: string, partition: number, ids: readonly string[]): AckItem[] {
  return ids.map((transactionId) => ({
    transactionId,
    partitionId: String(partition),
    leaseId,
    status: 'dlq',
    error: null,
  }));
}

function ackCommand(items: readonly AckItem[]): AckCommand {
  return { kind: 'ack', tenant: TENANT, consumerGroup: 'g', items };
}

function filedBy(outcome: Outcome | null): boolean[] {
  if (outcome?.kind !== 'acked') throw new Error('the ack was not answered');
  return outcome.items.map((item) => item.dlq);
}

function errors(outcome: Outcome | null): (string | null)[] {
  if (outcome?.kind !== 'acked') throw new Error('the ack was not answered');
  return outcome.items.map((item) => item.error);
}

function cursor(partition: number): CursorRow {
  const row = rig.planner.state.get(cursors, numberNameKey(partition, 'g'));
  if (row === undefined) throw new Error('no cursor');
  return row;
}

function letterBytes(): number {
  return rig.deadLetters().reduce((sum, { payload }) => sum + payload.length, 0);
}

test('a row says whether the client asked for it or the retries were spent', () => {
  const options = { kind: 'configure', tenant: TENANT, queue: 'q', replace: false } as const;
  rig.call({ ...options, changes: { retryLimit: 0 } });
  rig.push('q', 'p', ['a', 'b', 'c']);
  const popped = rig.pop();
  const number = popped.claims[0]?.partitionNumber ?? 0;
  const words = [
    ['a', 'failed'],
    ['b', 'dlq'],
    ['a', 'retry'],
    ['c', 'failed'],
    ['c', 'dlq'],
  ];
  rig.ack(number, popped.leaseId, words as [string, 'failed'][]);
  const reasons = rig.deadLetters().map(({ transactionId, reason }) => [transactionId, reason]);
  expect(reasons).toEqual([
    ['a', 'retry_limit'],
    ['b', 'dlq'],
    ['c', 'dlq'],
  ]);
});

test('past the room of the entry the lease goes on, and the rest is filed by another ack', () => {
  pushLong('p', 4);
  const first = rig.pop();
  const number = first.claims[0]?.partitionNumber ?? 0;
  expect(first.claims[0]?.slices).toHaveLength(4);
  const all = rig.minted('p', [0, 1, 2, 3]);
  const request = rig.call(ackCommand(dlq(first.leaseId, number, all)));
  expect(filedBy(request.outcome)).toEqual([true, true, true, false]);
  expect(letterBytes()).toBeLessThanOrEqual(DEAD_LETTER_BYTES_MAX);
  expect(errors(request.outcome)).toEqual([null, null, null, UNFILED]);
  expect(cursor(number)).toMatchObject({ committed: 2, lease: { id: first.leaseId }, retries: 0 });
  const again = rig.call(ackCommand(dlq(first.leaseId, number, all.slice(3))));
  expect(filedBy(again.outcome)).toEqual([true]);
  expect(cursor(number)).toMatchObject({ committed: 3, lease: null });
  const offsets = rig.deadLetters().map(({ offset }) => offset);
  expect(offsets.sort()).toEqual([0, 1, 2, 3]);
});

test('the error text that every dead letter repeats counts', () => {
  const ids = Array.from({ length: 70 }, (_, i) => `m${i}`);
  rig.push('q', 'p', ids);
  const { leaseId, claims } = rig.pop();
  const number = claims[0]?.partitionNumber ?? 0;
  const long = dlq(leaseId, number, ids).map((item, i) =>
    i === 69 ? { ...item, error: 'x'.repeat(TEXT_BYTES) } : item,
  );
  // 256 KiB of the text are kept: 63 of them and 600 bytes each are less than 16 MiB.
  expect(filedBy(rig.call(ackCommand(long)).outcome).indexOf(false)).toBe(63);
  expect(cursor(number).committed).toBe(62);
});

test('targets share the room, and of a target without room nothing is carried out', () => {
  rig = new EngineRig(undefined, { entryBytesMax: 18 * MIB });
  rig.lag = 1;
  const items: AckItem[] = [];
  const numbers: number[] = [];
  for (const name of ['p1', 'p2', 'p3', 'p4', 'p5']) {
    pushLong(name, 1);
    const { leaseId, claims } = rig.pop({ partition: name });
    const number = claims[0]?.partitionNumber ?? 0;
    numbers.push(number);
    items.push(...dlq(leaseId, number, rig.minted(name, [0])));
  }
  const request = rig.call(ackCommand(items));
  expect(filedBy(request.outcome)).toEqual([true, true, true, false, false]);
  expect(numbers.map((number) => cursor(number).committed)).toEqual([0, 0, 0, -1, -1]);
  const isLeased = numbers.map((number) => cursor(number).lease !== null);
  expect(isLeased).toEqual([false, false, false, true, true]);
  expect(errors(request.outcome)).toEqual([null, null, null, UNFILED, UNFILED]);
});

test('a message beyond every bound is filed when it is the first of its entry', () => {
  rig = new EngineRig(undefined, { entryBytesMax: 6 * MIB });
  rig.lag = 1;
  rig.push('q', 'p', ['x'.repeat(5 * MIB)], false);
  const { leaseId, claims } = rig.pop();
  const number = claims[0]?.partitionNumber ?? 0;
  const items = dlq(leaseId, number, rig.minted('p', [0]));
  const long = items.map((item) => ({ ...item, error: 'x'.repeat(20 * MIB) }));
  expect(filedBy(rig.call(ackCommand(long)).outcome)).toEqual([true]);
});

test('a full entry takes small pushes and no further ack; the rest keeps its order', () => {
  const commands = ['p1', 'p2'].map((name) => {
    pushLong(name, 1);
    const { leaseId, claims } = rig.pop({ partition: name });
    return ackCommand(dlq(leaseId, claims[0]?.partitionNumber ?? 0, rig.minted(name, [0])));
  });
  const acks: Request[] = commands.map((command) => rig.send(command));
  acks.push(rig.send(ackCommand([])));
  const push = rig.send(pushCommand('q', 'p3', ['a'], true));
  rig.turn();
  expect(rig.answered).toEqual([acks[0], push]);
  expect(rig.planner.busy).toBe(true);
  rig.turn();
  expect(rig.answered).toEqual([acks[1]]);
  rig.turn();
  expect(rig.answered).toEqual([acks[2]]);
  expect(rig.planner.busy).toBe(false);
});

test('a partition number with zeros in front is the same target', () => {
  rig.push('q', 'p', ['a', 'b', 'c']);
  const { leaseId, claims } = rig.pop();
  const number = claims[0]?.partitionNumber ?? 0;
  const item = { leaseId, status: 'completed', error: null } as const;
  const { outcome } = rig.call(
    ackCommand([
      { ...item, transactionId: 'c', partitionId: `000${number}` },
      { ...item, transactionId: 'a', partitionId: String(number), status: 'retry' },
      { ...item, transactionId: 'a', partitionId: '0777' },
      { ...item, transactionId: 'a', partitionId: '99999999999' },
      { ...item, transactionId: 'a', partitionId: 'x' },
    ]),
  );
  if (outcome?.kind !== 'acked') throw new Error('the ack was not answered');
  expect(outcome.items.map(({ error }) => error)).toEqual([
    null,
    null,
    'no partition 0777',
    'no partition 99999999999',
    'partitionId is not a partition id',
  ]);
  expect(cursor(number)).toMatchObject({ committed: -1, lease: null });
});

test('a message that cannot be read is refused, and nothing moves', () => {
  rig.push('q', 'p', ['"a"'], false);
  const { leaseId, claims } = rig.pop();
  const number = claims[0]?.partitionNumber ?? 0;
  const items = dlq(leaseId, number, rig.minted('p', [0]));
  const before = cursor(number);
  rig.damaged = true;
  const refused = rig.call(ackCommand(items));
  expect(refused.outcome).toMatchObject({ items: [{ success: false, dlq: false }] });
  expect(JSON.stringify(refused.outcome)).toContain('the stored messages are damaged');
  expect(cursor(number)).toEqual(before);
  expect(letterBytes()).toBe(0);
  rig.damaged = false;
  expect(filedBy(rig.call(ackCommand(items)).outcome)).toEqual([true]);
});
