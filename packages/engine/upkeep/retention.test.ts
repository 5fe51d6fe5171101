/**
 * Goal: what a rule of its queue says goes, when it says so, and nothing else ever does. Method:
 * directed cases for each rule; then random queues, rules, pushes, pops, acks, seeks back, groups
 * and leaders, where every trim is judged by all cursors as they were before it, and what is due
 * must have gone when nothing more happens.
 */
import { describe, expect, test } from 'vitest';
import type { OptionChanges } from '../base/commands/commands.js';
import { appendKey, appendKeyOffset, nameInKey, numberKey, numberRange } from '../base/keys.js';
import type { AppendRow, PartitionRow } from '../base/rows.js';
import type { KeyedRow } from '../base/state.js';
import { appends, cursors, groups, partitions } from '../base/tables.js';
import { cursorOf } from '../state/subscription.js';
import { EngineRig, pushCommand, TENANT } from '../testing/engine.fake.js';
import { wrongCounts } from '../testing/log-use.fake.js';
import { SeededRandom } from '../testing/random.fake.js';

const RETAINED = { retentionEnabled: true };

function rigWith(changes: OptionChanges, batchAppends = 1000): EngineRig {
  const retention = { intervalMs: 5000, batchAppends };
  const rig = new EngineRig(undefined, { retention });
  rig.configure('q', changes);
  return rig;
}

/** Lets time pass in steps of a second, each with a turn, as the leader's timer does. */
function wait(rig: EngineRig, seconds: number): void {
  for (let i = 0; i < seconds; i++) {
    rig.advance(1000);
    const dueMs = rig.planner.nextDueMs();
    if (dueMs !== null && dueMs <= rig.nowMs) rig.turn();
  }
}

function partitionOf(rig: EngineRig, name = 'p'): PartitionRow {
  const row = rig.rows(partitions).find((each) => each.name === name);
  if (row === undefined) throw new Error(`no partition ${name}`);
  return row;
}

function pushSome(rig: EngineRig, ids: readonly string[], name = 'p'): void {
  for (const id of ids) rig.push('q', name, [id]);
}

describe('by age', () => {
  test.each<[string, OptionChanges]>([
    ['retentionSeconds', { ...RETAINED, retentionSeconds: 10 }],
    ['maxWaitTimeSeconds', { maxWaitTimeSeconds: 10 }],
  ])('%s removes appends that are older, read or not', (_name, changes) => {
    const rig = rigWith(changes);
    pushSome(rig, ['a', 'b']);
    wait(rig, 6);
    rig.push('q', 'p', ['c', 'd']);
    wait(rig, 3);
    expect(partitionOf(rig).logStart).toBe(0);
    wait(rig, 7);
    expect(partitionOf(rig)).toMatchObject({ logStart: 2, nextOffset: 4, appends: 1 });
    expect(rig.texts(rig.pop())).toEqual(['c', 'd']);
    wait(rig, 20);
    expect(partitionOf(rig)).toMatchObject({ logStart: 4, appends: 0, retainedBytes: 0 });
    expect(rig.rows(cursors)).toHaveLength(1);
    expect(wrongCounts(rig.state)).toEqual([]);
  });

  test('retentionSeconds needs retentionEnabled, and a positive value', () => {
    for (const changes of [{ retentionSeconds: 5 }, { ...RETAINED, retentionSeconds: -5 }]) {
      const rig = rigWith(changes);
      pushSome(rig, ['a']);
      expect(rig.planner.nextDueMs()).toBeNull();
      wait(rig, 100);
      expect(partitionOf(rig).appends).toBe(1);
    }
  });

  test('an append goes as a whole', () => {
    const rig = rigWith({ maxWaitTimeSeconds: 10 });
    rig.push('q', 'p', ['a', 'b', 'c']);
    wait(rig, 9);
    expect(partitionOf(rig).logStart).toBe(0);
    wait(rig, 6);
    expect(partitionOf(rig).logStart).toBe(3);
  });

  test('a claim of everything that has gone seals the cursor and delivers nothing', () => {
    const rig = rigWith({ maxWaitTimeSeconds: 10 });
    pushSome(rig, ['a']);
    expect(rig.texts(rig.pop({ autoAck: true }))).toEqual(['a']);
    pushSome(rig, ['b']);
    wait(rig, 20);
    expect(rig.pop().claims).toEqual([]);
    expect(rig.rows(cursors)).toMatchObject([{ committed: 1, lease: null }]);
    pushSome(rig, ['c']);
    expect(rig.texts(rig.pop())).toEqual(['c']);
  });

  test('leases are no reason to stay: they run out', () => {
    const rig = rigWith({ maxWaitTimeSeconds: 10 });
    pushSome(rig, ['a', 'b']);
    const popped = rig.pop({ leaseSeconds: 60 });
    wait(rig, 20);
    const { number, logStart } = partitionOf(rig);
    expect(logStart).toBe(2);
    const { items } = rig.ack(number, popped.leaseId, [['b', 'completed']]);
    expect(items[0]?.error).toContain('unresolvable');
    expect(rig.pop().claims).toEqual([]);
    wait(rig, 60);
    expect(rig.pop().claims).toEqual([]);
    expect(rig.rows(cursors)).toMatchObject([{ committed: 1, lease: null }]);
  });

  test('a duplicate of what has gone is answered with the zero id', () => {
    const rig = rigWith({ maxWaitTimeSeconds: 10, dedupWindowSeconds: 100 });
    pushSome(rig, ['a']);
    wait(rig, 20);
    const again = rig.call(pushCommand('q', 'p', ['a'], true));
    expect(again.outcome).toMatchObject({
      status: new Uint8Array([2]),
      messageIds: ['00000000-0000-0000-0000-000000000000'],
    });
    wait(rig, 90);
    expect(rig.call(pushCommand('q', 'p', ['a'], true)).outcome).toMatchObject({
      status: new Uint8Array([0]),
    });
  });

  test('a sink that is waited for holds back retentionSeconds, but not maxWaitTimeSeconds', () => {
    const sink = { retentionSinkHold: 'lake', retentionSinkHoldMaxSeconds: 60 };
    const rig = rigWith({ ...RETAINED, ...sink, retentionSeconds: 10 });
    pushSome(rig, ['a']);
    wait(rig, 55);
    expect(partitionOf(rig).appends).toBe(1);
    wait(rig, 15);
    expect(partitionOf(rig).appends).toBe(0);
    rig.configure('q', { maxWaitTimeSeconds: 10 });
    pushSome(rig, ['b']);
    wait(rig, 20);
    expect(partitionOf(rig).appends).toBe(0);
  });

  test('a batch at a time, and at once again', () => {
    const rig = rigWith({ maxWaitTimeSeconds: 10 }, 3);
    for (let i = 0; i < 10; i++) pushSome(rig, [`a${i}`], 'p');
    pushSome(rig, ['b'], 'other');
    rig.advance(15_000);
    const trimmed: string[] = [];
    const { state } = rig.planner;
    const put = state.put.bind(state);
    state.put = (table, key, row) => {
      if (table.name === partitions.name) {
        const { name, logStart } = row as unknown as PartitionRow;
        trimmed.push(`${name} ${logStart}`);
      }
      put(table, key, row);
    };
    rig.turn();
    expect(trimmed).toEqual(['p 3', 'other 1', 'p 6', 'p 9', 'p 10']);
  });

  test('of many partitions that come of age at once, some in each turn', () => {
    const rig = rigWith({ ...RETAINED, retentionSeconds: 10 });
    for (let i = 0; i < 500; i++) rig.send(pushCommand('q', `p${i}`, ['m'], false));
    // New partitions take several turns.
    rig.turnAll();
    rig.advance(20_000);
    const left: number[] = [];
    for (let i = 0; i < 4; i++) {
      rig.turn();
      left.push(rig.rows(appends).length);
    }
    // A look and an append each, 400 a turn.
    expect(left).toEqual([300, 100, 0, 0]);
  });

  test('what goes is found by key: ranges cost more, the more is in flight', () => {
    const rig = rigWith({ maxWaitTimeSeconds: 10 }, 3);
    for (let i = 0; i < 50; i++) pushSome(rig, [`a${i}`, `b${i}`], `p${i % 25}`);
    rig.lag = 8;
    rig.advance(15_000);
    const ranged: string[] = [];
    const { state } = rig.planner;
    const range = state.range.bind(state);
    state.range = (table, ...rest) => {
      ranged.push(table.name);
      return range(table, ...rest);
    };
    rig.turn();
    const gone = rig.rows(partitions).filter(({ logStart }) => logStart === 4);
    expect(gone).toHaveLength(25);
    expect(ranged.filter((name) => name === appends.name)).toEqual([]);
  });

  test('what is not due costs no looks, however many partitions there are', () => {
    const rig = rigWith({ maxWaitTimeSeconds: 1000 });
    for (let i = 0; i < 50; i++) pushSome(rig, ['a'], `p${i}`);
    wait(rig, 1);
    const dueMs = rig.planner.nextDueMs() ?? 0;
    expect(dueMs - rig.nowMs).toBeGreaterThan(50_000);
  });
});

describe('by age and reading', () => {
  const CHANGES = { ...RETAINED, completedRetentionSeconds: 10 };

  test('what no group has touched stays', () => {
    const rig = rigWith(CHANGES);
    pushSome(rig, ['a']);
    wait(rig, 100);
    expect(partitionOf(rig).appends).toBe(1);
  });

  test('what the slowest group has read goes, when it is old enough', () => {
    const rig = rigWith(CHANGES);
    pushSome(rig, ['a', 'b', 'c']);
    const { number } = partitionOf(rig);
    for (const consumerGroup of ['g', 'slow']) {
      const { leaseId } = rig.pop({ consumerGroup });
      const last = consumerGroup === 'slow' ? 'b' : 'c';
      rig.ack(number, leaseId, [[last, 'completed']], consumerGroup);
    }
    wait(rig, 9);
    expect(partitionOf(rig).logStart).toBe(0);
    wait(rig, 10);
    expect(partitionOf(rig).logStart).toBe(2);
    wait(rig, 30);
    expect(partitionOf(rig).logStart).toBe(2);
    const { leaseId } = rig.pop({ consumerGroup: 'slow' });
    rig.ack(number, leaseId, [['c', 'completed']], 'slow');
    wait(rig, 10);
    expect(partitionOf(rig).logStart).toBe(3);
  });

  test('a group that has registered and not read keeps what it has been promised', () => {
    const rig = rigWith(CHANGES);
    pushSome(rig, ['x'], 'first');
    // Registers for the whole queue, and takes from one partition only.
    rig.pop({ consumerGroup: 'late', autoAck: true });
    pushSome(rig, ['a', 'b']);
    rig.pop({ partition: 'p', autoAck: true });
    wait(rig, 100);
    expect(partitionOf(rig).logStart).toBe(0);
    expect(rig.texts(rig.pop({ consumerGroup: 'late', autoAck: true }))).toEqual(['a', 'b']);
    wait(rig, 10);
    expect(partitionOf(rig).logStart).toBe(2);
  });

  test('a group that reads only what is new does not keep what came before it', () => {
    const rig = rigWith(CHANGES);
    pushSome(rig, ['a', 'b']);
    rig.advance(1000);
    rig.pop({ consumerGroup: 'late', subscription: { mode: 'new' } });
    rig.advance(1000);
    pushSome(rig, ['c']);
    rig.pop({ partition: 'p', autoAck: true });
    wait(rig, 30);
    expect(partitionOf(rig).logStart).toBe(2);
    expect(rig.texts(rig.pop({ consumerGroup: 'late' }))).toEqual(['c']);
  });

  test('a new leader goes on, from the rows alone', () => {
    const rig = rigWith(CHANGES);
    pushSome(rig, ['a', 'b']);
    rig.pop({ autoAck: true });
    rig.restart(2);
    expect(rig.planner.nextDueMs()).toBe(0);
    rig.turn();
    wait(rig, 15);
    expect(partitionOf(rig).logStart).toBe(2);
  });

  test('a million unread partitions are passed once, not every round', () => {
    const rig = rigWith(CHANGES);
    for (let i = 0; i < 200; i++) pushSome(rig, ['a'], `p${i}`);
    wait(rig, 20);
    let reads = 0;
    const { state } = rig.planner;
    const range = state.range.bind(state);
    state.range = (...args) => {
      reads++;
      return range(...args);
    };
    wait(rig, 20);
    expect(reads).toBeLessThan(30);
    rig.pop({ partition: 'p7', autoAck: true });
    wait(rig, 10);
    expect(partitionOf(rig, 'p7').logStart).toBe(1);
  });
});

// --- random -------------------------------------------------------------------------------------

interface Before {
  readonly row: PartitionRow;
  readonly appends: readonly KeyedRow<AppendRow>[];
  /** null: no group has touched it. */
  readonly lowest: number | null;
}

function look(rig: EngineRig): Before[] {
  const { state } = rig.planner;
  return rig.rows(partitions).map((row) => {
    const [from, to] = numberRange(row.number);
    const places: number[] = [];
    for (const one of state.range(cursors, from, to, 1000)) places.push(one.row.committed);
    const [first, end] = numberRange(row.queue);
    for (const { key, row: policy } of state.range(groups, first, end, 1000)) {
      const cursor = cursorOf(state, row, nameInKey(key), policy, 0);
      if (cursor !== undefined) places.push(cursor.committed);
    }
    const own = state.range(appends, appendKey(row.number, row.logStart), to, 1000);
    return { row, appends: own, lowest: places.length === 0 ? null : Math.min(...places) };
  });
}

const RULES: readonly [OptionChanges, ...OptionChanges[]] = [
  { retentionEnabled: true, retentionSeconds: 20, completedRetentionSeconds: 0 },
  { retentionEnabled: true, retentionSeconds: 0, completedRetentionSeconds: 10 },
  { retentionEnabled: true, retentionSeconds: 30, completedRetentionSeconds: 10 },
  { retentionEnabled: false, retentionSeconds: 5, completedRetentionSeconds: 5 },
];

function pick<Item>(random: SeededRandom, items: readonly [Item, ...Item[]]): Item {
  return items[random.below(items.length)] ?? items[0];
}

describe('random', () => {
  test.each(Array.from({ length: 12 }, (_, seed) => seed))('seed %i', (seed) => {
    const random = new SeededRandom(seed);
    const rig = rigWith({ ...pick(random, RULES) }, 2 + random.below(4));
    let changes = { ...pick(random, RULES), maxWaitTimeSeconds: pick(random, [0, 0, 40]) };
    rig.configure('q', changes);
    let gone = 0;
    for (let step = 0; step < 200; step++) {
      const before = look(rig);
      const beforeUs = rig.wallUs;
      act(rig, random, step);
      if (random.next() < 0.01) {
        changes = { ...pick(random, RULES), maxWaitTimeSeconds: pick(random, [0, 0, 40]) };
        rig.configure('q', changes);
        continue;
      }
      rig.advance(random.below(3000));
      gone += judge(rig, [seed, step], changes, before, Math.max(beforeUs, rig.wallUs));
      expect([seed, step, wrongCounts(rig.state)]).toEqual([seed, step, []]);
    }
    wait(rig, 100);
    const left = look(rig);
    wait(rig, 10);
    for (const { row, appends: own, lowest } of left) {
      const [oldest] = own;
      if (oldest === undefined) continue;
      expect([seed, row.name, isDue(changes, oldest, lowest, rig.wallUs - 10_000_000)]).toEqual([
        seed,
        row.name,
        false,
      ]);
    }
    expect(gone).toBeGreaterThanOrEqual(0);
  });
});

function act(rig: EngineRig, random: SeededRandom, step: number): void {
  const partition = `p${random.below(5)}`;
  const consumerGroup = pick(random, ['g', 'h', '__QUEUE_MODE__']);
  const kind = random.below(10);
  if (kind < 4) {
    const ids = Array.from({ length: 1 + random.below(3) }, (_, i) => `${step}.${i}`);
    rig.push('q', partition, ids);
  } else if (kind < 6) {
    rig.pop({ consumerGroup, batch: 3, partitions: 2, autoAck: true });
  } else if (kind < 7) {
    const mode = pick(random, ['all', 'new'] as const);
    rig.pop({ consumerGroup, partition, batch: 2, autoAck: true, subscription: { mode } });
  } else if (kind < 8) {
    const popped = rig.pop({ consumerGroup, batch: 4 });
    const messages = rig.messages(popped);
    const last = messages[random.below(Math.max(messages.length, 1))];
    if (last === undefined) return;
    rig.ack(last.number, popped.leaseId, [[last.text, 'completed']], consumerGroup);
  } else if (kind < 9 && random.next() < 0.2) rig.restart();
  else rig.turn();
}

/** Every append that is gone was due; how many. */
function judge(
  rig: EngineRig,
  where: readonly number[],
  changes: OptionChanges,
  before: readonly Before[],
  nowUs: number,
): number {
  let gone = 0;
  const after = look(rig);
  for (const { row, appends: own } of before) {
    const now = rig.planner.state.get(partitions, numberKey(row.number));
    const lowest = after.find((each) => each.row.number === row.number)?.lowest ?? null;
    for (const one of own) {
      if (now === undefined || appendKeyOffset(one.key) >= now.logStart) continue;
      gone++;
      expect([...where, row.name, isDue(changes, one, lowest, nowUs)]).toEqual([
        ...where,
        row.name,
        true,
      ]);
    }
  }
  return gone;
}

/** The rules as the contract states them. */
function isDue(
  changes: OptionChanges,
  { key, row }: KeyedRow<AppendRow>,
  lowest: number | null,
  nowUs: number,
): boolean {
  const older = (option: string) => {
    const seconds = Number(changes[option] ?? 0);
    return seconds > 0 && row.stampUs < nowUs - seconds * 1_000_000;
  };
  const last = appendKeyOffset(key) + row.count - 1;
  if (older('maxWaitTimeSeconds')) return true;
  if (changes.retentionEnabled !== true) return false;
  if (older('retentionSeconds')) return true;
  return older('completedRetentionSeconds') && lowest !== null && last <= lowest;
}

test('another queue, a deleted one and its successor are left alone', () => {
  const rig = rigWith({ maxWaitTimeSeconds: 10 });
  rig.push('keeps', 'p', ['a']);
  pushSome(rig, ['b']);
  rig.call({ kind: 'delete-queue', tenant: TENANT, queue: 'q' });
  rig.push('q', 'p', ['c']);
  wait(rig, 30);
  expect(rig.rows(partitions).map((row) => row.appends)).toEqual([1, 1]);
  expect(rig.planner.nextDueMs()).toBeNull();
});
