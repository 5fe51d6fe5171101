/**
 * Goal: dead letters are found by queue, group, address and id, go as one when they are dropped or
 * replayed, and what is kept beside them never differs from the rows. Method: directed cases over
 * a planner; then random filing, dropping, replaying and deleting of queues, after each of which
 * every index and count is compared with the heads.
 */
import { parseMessageId, REDRIVE_LETTERS_MAX } from '@svc/wire';
import { describe, expect, test } from 'vitest';
import type { Outcome } from '../../base/commands/commands.js';
import type {
  DropDeadLettersCommand,
  RedriveCommand,
  RedrivenOutcome,
  Replay,
  ReplayCommand,
} from '../../base/commands/dead-letters.js';
import { deadLetterId, parseDeadLetterId } from '../../base/dead-letter-id.js';
import { MapState } from '../../base/map-state.js';
import type { Key } from '../../base/state.js';
import { partitions } from '../../base/tables.js';
import { EngineRig, pushCommand, type Request, TENANT } from '../../testing/engine.fake.js';
import { walked } from '../../testing/page.fake.js';
import { SeededRandom } from '../../testing/random.fake.js';
import { type DeadLetterFilter, listDeadLetters } from '../../views/dead-letter-list.js';
import { signatureOf } from '../../views/dead-letter-signatures.js';
import { findPartition, findQueue } from '../catalog.js';
import { newRequestSession } from '../request-id.js';
import { TABLES } from '../table-list.js';
import {
  deadLetterBodies,
  deadLetterCounts,
  deadLetterIdInKey,
  deadLetterOffsets,
  deadLetters,
  deadLetterTransactions,
} from './tables.js';

const FIRST = '' as Key;
const LAST = '\xff'.repeat(60) as Key;
const OTHER_TENANT = '11111111-1111-1111-1111-111111111111';

/** An entry always stays in flight, so that many rows are not compared as text each turn. */
const asStored = (payload: Uint8Array) => payload;

function largeRig(): EngineRig {
  const rig = new EngineRig();
  rig.lag = 1;
  return rig;
}

/** Pushes messages to queue `q` and files all of them for the group. */
function file(rig: EngineRig, partition: string, ids: readonly string[], group = 'g', queue = 'q') {
  rig.push(queue, partition, ids);
  fileAgain(rig, partition, group, queue);
}

function fileAgain(rig: EngineRig, partition: string, group: string, queue = 'q'): void {
  const popped = rig.pop({ queue, partition, consumerGroup: group });
  const number = popped.claims[0]?.partitionNumber ?? 0;
  const ids = rig.messages(popped).map(({ text }) => text);
  rig.ack(
    number,
    popped.leaseId,
    ids.map((id) => [id, 'dlq', `no ${id}`] as const),
    group,
  );
}

function number(rig: EngineRig, partition: string, queue = 'q'): number {
  const { state } = rig.planner;
  return findPartition(state, findQueue(state, TENANT, queue)?.number ?? 0, partition)?.number ?? 0;
}

function list(rig: EngineRig, filter: Partial<DeadLetterFilter> = {}) {
  const all = { tenant: TENANT, queue: null, group: null, limit: 100, offset: 0 };
  const found = walked(listDeadLetters(rig.planner.state, { ...all, ...filter }, asStored));
  return { total: found.total, ids: found.letters.map(({ transactionId }) => transactionId) };
}

function call(rig: EngineRig, command: DropDeadLettersCommand | ReplayCommand): Outcome | null {
  const request = rig.send(command);
  for (let turn = 0; turn < 100 && request.outcome === null; turn++) rig.turn();
  return request.outcome;
}

function drop(rig: EngineRig, target: DropDeadLettersCommand['target'], tenant = TENANT): number {
  const outcome = call(rig, { kind: 'drop-dead-letters', tenant, target });
  return outcome?.kind === 'dead-letters-dropped' ? outcome.deleted : -1;
}

function replay(
  rig: EngineRig,
  letter: ReplayCommand['letter'],
  to: { readonly queue?: string; readonly partition?: string } = {},
  tenant = TENANT,
): Replay | null | undefined {
  const { queue = null, partition = null } = to;
  const outcome = call(rig, { kind: 'replay', tenant, letter, queue, partition });
  return outcome?.kind === 'replayed' ? outcome.replay : undefined;
}

/** Everything beside the heads says what the heads say. */
function expectConsistent(rig: EngineRig, hint: unknown): void {
  const { state } = rig.planner;
  const heads = state.range(deadLetters, FIRST, LAST, 100_000);
  const keys = heads.map(({ key }) => deadLetterIdInKey(key)).sort();
  const idsOf = (rows: readonly { readonly key: Key }[]) =>
    rows.map(({ key }) => deadLetterIdInKey(key)).sort();
  expect([hint, idsOf(state.range(deadLetterOffsets, FIRST, LAST, 100_000))]).toEqual([hint, keys]);
  expect([hint, idsOf(state.range(deadLetterTransactions, FIRST, LAST, 100_000))]).toEqual([
    hint,
    keys,
  ]);
  expect([hint, rig.deadLetters().length]).toEqual([hint, keys.length]);
  const counts = state.range(deadLetterCounts, FIRST, LAST, 100_000);
  const perGroup = new Map<string, number>();
  for (const { key, row } of heads) {
    const group = key.slice(0, 4) + row.group;
    perGroup.set(group, (perGroup.get(group) ?? 0) + 1);
  }
  expect([hint, counts.map(({ key, row }) => [key, row])]).toEqual([hint, [...perGroup].sort()]);
  for (const row of rig.rows(partitions)) {
    const own = heads.filter((head) => head.row.partition === row.number).length;
    expect([hint, row.number, row.deadLetters]).toEqual([hint, row.number, own]);
  }
}

describe('ids', () => {
  test('say when and where, and stand in the order of filing', () => {
    const stamps = [1_800_000_000_000_000, 1_800_000_000_000_001, 1_800_000_000_000_999];
    const ids = stamps.flatMap((stampUs) =>
      [0, 1, 4_194_303].map((i) => deadLetterId(stampUs, i, 7)),
    );
    expect([...ids].sort()).toEqual(ids);
    expect(ids.map((id) => parseDeadLetterId(id)?.failedAtUs)).toEqual(
      stamps.flatMap((stampUs) => [stampUs, stampUs, stampUs]),
    );
    expect(parseDeadLetterId(deadLetterId(5, 0, 0xffff_ffff))?.queue).toBe(0xffff_ffff);
  });
});

describe('listing', () => {
  test('newest first, by queue and group, with the total of all', () => {
    const rig = new EngineRig();
    file(rig, 'a', ['a1', 'a2']);
    file(rig, 'b', ['b1'], 'h');
    file(rig, 'c', ['c1'], 'g', 'other');
    expect(list(rig)).toEqual({ total: 4, ids: ['c1', 'b1', 'a2', 'a1'] });
    expect(list(rig, { queue: 'q' })).toEqual({ total: 3, ids: ['b1', 'a2', 'a1'] });
    expect(list(rig, { group: 'g' })).toEqual({ total: 3, ids: ['c1', 'a2', 'a1'] });
    expect(list(rig, { queue: 'q', group: 'h' })).toEqual({ total: 1, ids: ['b1'] });
    expect(list(rig, { offset: 1, limit: 2 })).toEqual({ total: 4, ids: ['b1', 'a2'] });
    expect(list(rig, { offset: 9 })).toEqual({ total: 4, ids: [] });
    expect(list(rig, { queue: 'none' })).toEqual({ total: 0, ids: [] });
    expect(list(rig, { tenant: OTHER_TENANT })).toEqual({ total: 0, ids: [] });
  });

  test('of several queues the failures are merged', () => {
    const rig = new EngineRig();
    for (let i = 0; i < 6; i++) file(rig, 'p', [`m${i}`], 'g', `q${i % 3}`);
    expect(list(rig).ids).toEqual(['m5', 'm4', 'm3', 'm2', 'm1', 'm0']);
    expect(list(rig, { offset: 1, limit: 3 }).ids).toEqual(['m4', 'm3', 'm2']);
  });

  test('crosses the pages in which heads are read', () => {
    const rig = largeRig();
    const ids = Array.from({ length: 600 }, (_, i) => `m${i}`);
    for (let at = 0; at < 600; at += 100) file(rig, 'p', ids.slice(at, at + 100));
    const newest = [...ids].reverse();
    expect(list(rig, { limit: 1000 })).toEqual({ total: 600, ids: newest });
    expect(list(rig, { limit: 3, offset: 511 }).ids).toEqual(newest.slice(511, 514));
  });

  test('an answer has room for so many payload bytes', () => {
    const rig = new EngineRig();
    file(rig, 'p', ['a', 'b']);
    const state = new MapState();
    for (const table of TABLES) {
      for (const { key, row } of rig.planner.state.range(table, FIRST, LAST, 1000)) {
        state.put(table, key, row);
      }
    }
    const payload = new Uint8Array(12 * 1024 * 1024);
    for (const { key, row } of state.range(deadLetters, FIRST, LAST, 10)) {
      state.put(deadLetters, key, { ...row, payloadBytes: payload.length });
      const [body] = state.range(deadLetterBodies, key, `${key}\0` as Key, 1);
      if (body !== undefined) state.put(deadLetterBodies, key, { ...body.row, payload });
    }
    const all = { tenant: TENANT, queue: 'q', group: null, limit: 10, offset: 0 };
    const { letters, total } = walked(listDeadLetters(state, all, asStored));
    expect(total).toBe(2);
    expect(letters.map((one) => [one.isPayloadShown, one.payload.length])).toEqual([
      [true, payload.length],
      [false, 0],
    ]);
  });
});

test('an error is kept up to a length, and never in half a character', () => {
  const rig = new EngineRig();
  const texts = [
    'e'.repeat(262_144),
    'e'.repeat(262_145),
    `${'e'.repeat(262_143)}\u{1F680}`,
    `${'e'.repeat(262_142)}\u{1F680}e`,
  ];
  for (const [i, text] of texts.entries()) {
    rig.push('q', 'p', [`m${i}`]);
    const popped = rig.pop({ queue: 'q', partition: 'p' });
    rig.ack(number(rig, 'p'), popped.leaseId, [[`m${i}`, 'dlq', text]]);
  }
  expect(rig.deadLetters().map(({ error }) => error)).toEqual([
    texts[0],
    texts[0],
    'e'.repeat(262_143),
    `${'e'.repeat(262_142)}\u{1F680}`,
  ]);
});

describe('a replay', () => {
  test('is a new message at the tail, and the row is gone with the same entry', () => {
    const rig = new EngineRig();
    file(rig, 'p', ['a', 'b']);
    const [first] = rig.deadLetters();
    const entries = rig.entries;
    const moved = replay(rig, { kind: 'id', id: (first?.id ?? '').toUpperCase() });
    expect(rig.entries).toBe(entries + 1);
    expect(moved).toMatchObject({
      result: 'moved',
      queue: 'q',
      partition: 'p',
      group: 'g',
      deadLetterId: first?.id,
      transactionId: 'a',
    });
    expect(parseMessageId(moved?.messageId ?? '')).toMatchObject({ offset: 2, implicit: false });
    const again = rig.pop({ queue: 'q', partition: 'p' });
    expect(rig.texts(again)).toEqual(['a']);
    rig.ack(number(rig, 'p'), again.leaseId, [[`dlq:${first?.id}`, 'completed']]);
    expect(rig.rows(partitions)[0]?.deadLetters).toBe(1);
    expect(replay(rig, { kind: 'id', id: first?.id ?? '' })).toBeNull();
    expectConsistent(rig, 'after a replay');
  });

  test('by address takes the first row, and another tenant finds none', () => {
    const rig = new EngineRig();
    file(rig, 'p', ['a'], 'g');
    fileAgain(rig, 'p', 'h');
    const row = rig.rows(partitions)[0];
    const address = (partitionId: string, transactionId = 'a') =>
      ({ kind: 'address', partitionId, transactionId }) as const;
    expect(replay(rig, address(String(row?.number)), {}, OTHER_TENANT)).toBeNull();
    expect(replay(rig, address(String(row?.number), 'b'))).toBeNull();
    expect(replay(rig, address('99'))).toBeNull();
    expect(replay(rig, address('not a partition'))).toBeNull();
    expect(replay(rig, address(row?.id.toUpperCase() ?? ''))).toMatchObject({ group: 'g' });
    expect(replay(rig, address(String(row?.number)))).toMatchObject({ group: 'h' });
    expect(rig.deadLetters()).toEqual([]);
  });

  test('goes where it is told, and makes what is missing there', () => {
    const rig = new EngineRig();
    file(rig, 'p', ['a']);
    const id = rig.deadLetters()[0]?.id ?? '';
    expect(replay(rig, { kind: 'id', id }, { queue: 'new', partition: 'there' })).toMatchObject({
      result: 'moved',
      queue: 'new',
      partition: 'there',
    });
    expect(rig.texts(rig.pop({ queue: 'new', partition: 'there' }))).toEqual(['a']);
  });

  test('that is a duplicate leaves the row', () => {
    const rig = new EngineRig();
    file(rig, 'p', ['a']);
    const id = rig.deadLetters()[0]?.id ?? '';
    rig.push('q', 'p', [`dlq:${id}`]);
    expect(replay(rig, { kind: 'id', id })).toMatchObject({ result: 'duplicate', messageId: '' });
    expect(rig.deadLetters()).toHaveLength(1);
    expect(replay(rig, { kind: 'id', id }, { queue: 'elsewhere' })?.result).toBe('moved');
  });

  test('of which the names do not fit together is refused, and leaves the row', () => {
    const rig = new EngineRig();
    file(rig, 'p'.repeat(200), ['a']);
    const id = rig.deadLetters()[0]?.id ?? '';
    const refused = replay(rig, { kind: 'id', id }, { queue: 'q'.repeat(220) });
    expect(refused?.result).toBe('name_too_long');
    expect(rig.deadLetters()).toHaveLength(1);
  });

  test('of two in one turn one moves', () => {
    const rig = new EngineRig();
    file(rig, 'p', ['a']);
    const letter = { kind: 'id', id: rig.deadLetters()[0]?.id ?? '' } as const;
    const command = {
      kind: 'replay',
      tenant: TENANT,
      letter,
      queue: null,
      partition: null,
    } as const;
    const requests = [rig.send(command), rig.send(command)];
    rig.turn();
    const results = requests.map(({ outcome }) =>
      outcome?.kind === 'replayed' ? (outcome.replay?.result ?? 'gone') : 'none',
    );
    expect(results).toEqual(['moved', 'gone']);
  });

  test('large ones go into entries of bounded size', () => {
    const rig = new EngineRig(undefined, { turnBytesMax: 1000 });
    for (let i = 0; i < 5; i++) file(rig, 'p', [`${'y'.repeat(600)}${i}`]);
    const commands = rig.deadLetters().map(({ id }): ReplayCommand => {
      return {
        kind: 'replay',
        tenant: TENANT,
        letter: { kind: 'id', id },
        queue: null,
        partition: null,
      };
    });
    const before = rig.entries;
    const requests = commands.map((command) => rig.send(command));
    for (let turn = 0; turn < 10; turn++) rig.turn();
    expect(requests.every(({ outcome }) => outcome?.kind === 'replayed')).toBe(true);
    expect(rig.entries - before).toBe(5);
  });
});

describe('redriving', () => {
  const REDRIVE: RedriveCommand = {
    kind: 'redrive',
    tenant: TENANT,
    queue: 'q',
    group: null,
    fromUs: 0,
    place: null,
    limit: REDRIVE_LETTERS_MAX,
  };
  const outcomeOf = (request: Request): RedrivenOutcome => {
    if (request.outcome?.kind !== 'redriven') throw new Error('no redrive');
    return request.outcome;
  };
  function redrive(rig: EngineRig, more: Partial<RedriveCommand> = {}): RedrivenOutcome {
    return outcomeOf(rig.call({ ...REDRIVE, ...more }));
  }
  /** The originals of what was pushed again, in the order of the partition. */
  function redriven(rig: EngineRig, partition: string): string[] {
    const popped = rig.pop({ queue: 'q', partition, consumerGroup: 'later', batch: 10_000 });
    return rig.messages(popped).map(({ text }) => text);
  }

  test('goes on by its cursor, oldest first, each once', () => {
    const rig = new EngineRig();
    file(rig, 'p', ['a', 'b', 'c', 'd', 'e']);
    file(rig, 'r', ['f']);
    const first = redrive(rig, { limit: 2 });
    expect(first).toMatchObject({ moved: 2, duplicates: 0, refused: 0 });
    expect(rig.deadLetters()).toHaveLength(4);
    const second = redrive(rig, { limit: 3, place: first.next });
    expect(second.moved).toBe(3);
    // The client lost the second answer, and says it again.
    expect(redrive(rig, { limit: 3, place: first.next })).toMatchObject({ moved: 1, next: null });
    expect(redrive(rig, { place: second.next })).toMatchObject({ moved: 0, next: null });
    expect(redriven(rig, 'p').slice(5)).toEqual(['a', 'b', 'c', 'd', 'e']);
    expectConsistent(rig, 'redriven');
  });

  test('of one group and of a time; an unknown queue and another tenant have none', () => {
    const rig = new EngineRig();
    file(rig, 'p', ['a'], 'g');
    fileAgain(rig, 'p', 'h');
    const [g] = rig.deadLetters();
    const atUs = parseDeadLetterId(g?.id ?? '')?.failedAtUs ?? 0;
    expect(redrive(rig, { place: { after: '', endUs: atUs } }).moved).toBe(0);
    expect(redrive(rig, { group: 'h', fromUs: atUs + 1 }).moved).toBe(1);
    expect(redrive(rig, { fromUs: atUs + 1 }).moved).toBe(0);
    expect(redrive(rig, { tenant: OTHER_TENANT }).moved).toBe(0);
    expect(redrive(rig, { queue: 'none' }).moved).toBe(0);
    expect(redrive(rig, { fromUs: atUs, place: { after: '', endUs: atUs + 1 } }).moved).toBe(1);
    expect(rig.deadLetters()).toEqual([]);
  });

  test('leaves duplicates, and ends although what it moved fails again', () => {
    const rig = new EngineRig();
    file(rig, 'p', ['a', 'b']);
    rig.push('q', 'p', [`dlq:${rig.deadLetters()[0]?.id}`]);
    const first = redrive(rig, { limit: 1 });
    expect(first).toMatchObject({ moved: 0, duplicates: 1 });
    fileAgain(rig, 'p', 'g');
    expect(redrive(rig, { place: first.next })).toMatchObject({ moved: 1, next: null });
    expect(rig.deadLetters()).toHaveLength(2);
  });

  test('of eight at once each turn does one slice, and a push between them waits for one', () => {
    const rig = largeRig();
    const ids = Array.from({ length: 2400 }, (_, i) => `m${i}`);
    for (let at = 0; at < 2400; at += 100) file(rig, `p${at % 8}`, ids.slice(at, at + 100));
    const requests = Array.from({ length: 8 }, () => rig.send(REDRIVE));
    const answered = () => requests.filter(({ outcome }) => outcome !== null).length;
    for (let turn = 1; turn <= 8; turn++) {
      const push = rig.send(pushCommand('other', 'p', [`x${turn}`], true));
      rig.turn();
      expect([turn, answered(), push.outcome?.kind]).toEqual([turn, turn, 'pushed']);
      expect(rig.deadLetters()).toHaveLength(2400 - turn * REDRIVE_LETTERS_MAX);
    }
    expect(requests.map((one) => outcomeOf(one).moved)).toEqual(Array(8).fill(200));
  });

  test('passes so many of other groups in a call', () => {
    const rig = largeRig();
    const ids = Array.from({ length: 4200 }, (_, i) => `m${i}`);
    for (let at = 0; at < 4200; at += 100) file(rig, 'p', ids.slice(at, at + 100), 'other');
    file(rig, 'x', ['a']);
    const first = redrive(rig, { group: 'g' });
    expect(first.moved).toBe(0);
    expect(redrive(rig, { group: 'g', place: first.next })).toMatchObject({ moved: 1, next: null });
  });

  test('takes so many bytes in a call, and one message however long', () => {
    const rig = largeRig();
    const long = 'y'.repeat(400_000);
    file(rig, 'x', [`${long}1`, `${long}2`, `${long}3`, long.repeat(3), 'a']);
    const first = redrive(rig);
    const second = redrive(rig, { place: first.next });
    const third = redrive(rig, { place: second.next });
    expect([first.moved, second.moved, third.moved]).toEqual([2, 1, 1]);
    expect(redrive(rig, { place: third.next })).toMatchObject({ moved: 1, next: null });
  });

  test('is answered by the next leader as it was, and nothing is done twice', () => {
    const rig = new EngineRig();
    file(rig, 'p', ['a', 'b', 'c']);
    const origin = {
      session: newRequestSession(1, 2, 3),
      sequence: 1,
      settledBelow: 0,
      settled: [],
    };
    const first: Request = { outcome: null };
    rig.planner.enqueue({ ...REDRIVE, limit: 2 }, first, origin);
    rig.turn();
    rig.restart(2);
    const again: Request = { outcome: null };
    rig.planner.enqueue({ ...REDRIVE, limit: 2 }, again, origin);
    rig.turn();
    expect(again.outcome).toEqual(first.outcome);
    expect(outcomeOf(again).moved).toBe(2);
    expect(rig.deadLetters()).toHaveLength(1);
  });
});

describe('dropping', () => {
  test('by address takes every group, and says how many', () => {
    const rig = new EngineRig();
    file(rig, 'p', ['a', 'b'], 'g');
    fileAgain(rig, 'p', 'h');
    const partitionId = String(number(rig, 'p'));
    const at = (transactionId: string) =>
      ({ kind: 'address', partitionId, transactionId }) as const;
    expect(drop(rig, at('a'), OTHER_TENANT)).toBe(0);
    expect(drop(rig, at('a'))).toBe(2);
    expect(drop(rig, at('a'))).toBe(0);
    expect(list(rig).ids).toEqual(['b', 'b']);
    expectConsistent(rig, 'after a drop');
  });

  test('by queue and group goes through many entries and is answered at the end', () => {
    const rig = largeRig();
    const ids = Array.from({ length: 1300 }, (_, i) => `m${i}`);
    for (let at = 0; at < 1300; at += 100) file(rig, 'p', ids.slice(at, at + 100));
    file(rig, 'x', ['kept'], 'other');
    const before = rig.entries;
    expect(drop(rig, { kind: 'queue', queue: 'q', group: 'g' })).toBe(1300);
    expect(rig.entries - before).toBeGreaterThan(2);
    expect(list(rig)).toEqual({ total: 1, ids: ['kept'] });
    expect(drop(rig, { kind: 'queue', queue: 'q', group: null })).toBe(1);
    expect(drop(rig, { kind: 'queue', queue: 'q', group: null })).toBe(0);
    expect(drop(rig, { kind: 'queue', queue: 'none', group: null })).toBe(0);
    expectConsistent(rig, 'after purges');
  });

  test('passes what belongs to other groups, however much that is', () => {
    const rig = largeRig();
    const ids = Array.from({ length: 600 }, (_, i) => `m${i}`);
    for (let at = 0; at < 600; at += 100) file(rig, 'p', ids.slice(at, at + 100), 'other');
    file(rig, 'x', ['a', 'b']);
    expect(drop(rig, { kind: 'queue', queue: 'q', group: 'g' })).toBe(2);
    expect(list(rig).total).toBe(600);
  });

  test('goes on with the next leader, and counts what the last one removed', () => {
    const rig = largeRig();
    const ids = Array.from({ length: 1300 }, (_, i) => `m${i}`);
    for (let at = 0; at < 1300; at += 100) file(rig, 'p', ids.slice(at, at + 100));
    const target = { kind: 'queue', queue: 'q', group: null } as const;
    const command = { kind: 'drop-dead-letters', tenant: TENANT, target } as const;
    const session = newRequestSession(1, 2, 3);
    const origin = { session, sequence: 1, settledBelow: 0, settled: [] };
    const first: Request = { outcome: null };
    rig.planner.enqueue(command, first, origin);
    rig.turn();
    const left = list(rig).total;
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThan(1300);
    rig.restart(2);
    const second: Request = { outcome: null };
    rig.planner.enqueue(command, second, origin);
    for (let turn = 0; turn < 10; turn++) rig.turn();
    const dropped = { kind: 'dead-letters-dropped', deleted: 1300, isDone: true };
    expect([first.outcome, second.outcome]).toEqual([null, dropped]);
    const third: Request = { outcome: null };
    rig.planner.enqueue(command, third, origin);
    rig.turn();
    expect(third.outcome).toEqual(dropped);
  });

  test('ends with its queue', () => {
    const rig = largeRig();
    const ids = Array.from({ length: 1100 }, (_, i) => `m${i}`);
    for (let at = 0; at < 1100; at += 100) file(rig, 'p', ids.slice(at, at + 100));
    const target = { kind: 'queue', queue: 'q', group: null } as const;
    const request = rig.send({ kind: 'drop-dead-letters', tenant: TENANT, target });
    rig.turn();
    expect(request.outcome).toBeNull();
    rig.call({ kind: 'delete-queue', tenant: TENANT, queue: 'q' });
    for (let turn = 0; turn < 20; turn++) rig.turn();
    expect(request.outcome).toMatchObject({ kind: 'dead-letters-dropped', isDone: true });
    expect(rig.deadLetters()).toEqual([]);
    expectConsistent(rig, 'after the queue');
  });
});

test('signatures', () => {
  const id = '0199d0d0-1111-7000-8000-0000000000aa';
  expect(signatureOf(`order ${id} failed at 2026-10-12T09:40:00Z after 3 tries`)).toBe(
    'order <id> failed at <date> after <n> tries',
  );
  expect(signatureOf('  ')).toBe('(no message)');
  expect(signatureOf(`hash ${'ab01'.repeat(5)}\n\n on 2026-01-02`)).toBe('hash <id> on <date>');
  expect(signatureOf('a1 12b 7')).toBe('a1 12b <n>');
  expect(signatureOf('x'.repeat(300))).toHaveLength(120);
});

test.each([1, 2, 3, 4, 5, 6])('rows and what stands beside them agree (seed %i)', (seed) => {
  const random = new SeededRandom(seed);
  const rig = new EngineRig();
  rig.lag = random.below(2);
  let pushed = 0;
  for (let step = 0; step < 60; step++) {
    const queue = `q${random.below(2)}`;
    const partition = `p${random.below(3)}`;
    const letters = rig.deadLetters();
    const letter = letters[random.below(Math.max(1, letters.length))];
    const what = random.below(10);
    if (what < 5) {
      const ids = Array.from({ length: 1 + random.below(4) }, () => `m${pushed++}`);
      file(rig, partition, ids, `g${random.below(2)}`, queue);
    } else if (what < 7 && letter !== undefined) replay(rig, { kind: 'id', id: letter.id });
    else if (what < 8 && letter !== undefined) {
      const { transactionId, partition: home } = letter;
      drop(rig, { kind: 'address', partitionId: String(home), transactionId });
    } else if (what < 9) drop(rig, { kind: 'queue', queue, group: `g${random.below(2)}` });
    else {
      rig.call({ kind: 'delete-queue', tenant: TENANT, queue });
      for (let turn = 0; turn < 5; turn++) rig.turn();
    }
    expectConsistent(rig, [seed, step, what]);
  }
});
