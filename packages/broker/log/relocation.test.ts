/**
 * Goal: what is live in the oldest part of a log that is too long comes to stand at its end, the
 * same bytes, and the rest of it is never touched; damage, a slow disk, trims meanwhile and changes
 * of leaders spoil nothing. A move reads as many small appends as there are without
 * taking stack or a whole turn for them. Method: a real planner over a state and a log in memory,
 * whose reads answer at once or later, in any order of events; after each move every message is
 * read from where its row names it.
 */

import { crc32 } from 'node:zlib';
import {
  type AppendLocation,
  applyEntry,
  type Key,
  MapState,
  PLANNER_LIMITS,
  Planner,
  TABLES,
  type Table,
} from '@svc/engine';
import { describe, expect, test } from 'vitest';
import { AtOnce } from '../testing/call-loop.fake.js';
import { MovedClock } from '../testing/moved-clock.fake.js';
import { seededRandom } from '../testing/recovery.fake.js';
import { LogBudget } from './budget.js';
import { LogRelocation } from './relocation.js';

const TENANT = '00000000-0000-0000-0000-000000000001';

interface AppendRow extends AppendLocation {
  readonly stampUs: number;
}

function tableOf<Row>(name: string): Table<Row> {
  return TABLES.find((table) => table.name === name) as unknown as Table<Row>;
}

const appends = tableOf<AppendRow>('appends');

class Rig {
  readonly clock = new MovedClock();
  readonly state = new MapState();
  readonly bodies: Uint8Array[] = [new Uint8Array(0)];
  readonly relocation: LogRelocation;
  readonly budget: LogBudget;
  /** One for each leadership. */
  planner: Planner;
  leads = true;
  firstIndex = 1;
  damaged = new Set<number>();
  /** Reads that end later. */
  readonly reads: (() => void)[] = [];
  slow = false;
  /** Since this was last set. */
  readsOfTurn = 0;
  /** Where a standby reads. */
  readFrom: number | null = null;
  readonly #atOnce = new AtOnce();

  constructor(slackBytes = 0) {
    this.planner = this.#newPlanner();
    const rig = this;
    this.budget = new LogBudget({
      state: this.state,
      segments: () => this.segments(),
      slackBytes,
      readFrom: () => this.readFrom,
    });
    this.relocation = new LogRelocation({
      state: this.state,
      log: {
        get firstIndex() {
          return rig.firstIndex;
        },
        bodyRoom: (index) =>
          this.damaged.has(index) ? null : (this.bodies[index]?.length ?? 0) + 5,
        read: (slice, done) => {
          expect(slice.index).toBeGreaterThanOrEqual(this.firstIndex);
          const answer = () => done(null, this.#bytesAt(slice));
          this.readsOfTurn++;
          if (this.slow) this.reads.push(answer);
          else this.#atOnce.answer(answer);
        },
      },
      clock: this.clock,
      checksum: crc32,
      budget: this.budget,
      appliedIndex: () => this.bodies.length - 1,
      leader: () => (this.leads ? this.planner : null),
      bytesPerS: 10_000_000,
    });
  }

  /** Each entry is a file of its own. */
  segments() {
    return this.bodies
      .map((body, lastIndex) => ({ lastIndex, bytes: body.length }))
      .slice(this.firstIndex);
  }

  newLeader(): void {
    this.planner = this.#newPlanner();
  }

  push(queue: string, bytes: number): void {
    this.pushEach(queue, 1, bytes);
  }

  /** A message for each of so many partitions, in one entry. */
  pushEach(queue: string, partitions: number, bytes: number): void {
    const body = new Uint8Array(bytes).fill(48 + (this.bodies.length % 10));
    const each = Array.from({ length: partitions }, (_, i) => i);
    this.planner.enqueue(
      {
        kind: 'push',
        tenant: TENANT,
        producerSub: null,
        body,
        groups: each.map((i) => ({ queue, partition: `p${i}` })),
        itemGroup: each,
        transactionIds: each.map(() => null),
        payloadStart: each.map(() => 0),
        payloadEnd: each.map(() => bytes),
      },
      {},
    );
    this.turn();
  }

  remove(queue: string): void {
    this.planner.enqueue({ kind: 'delete-queue', tenant: TENANT, queue }, {});
    this.turn();
    this.turn();
  }

  turn(): void {
    const index = this.bodies.length;
    const wallUs = 1_800_000_000_000_000 + index * 1_000_000;
    const { body } = this.planner.turn({ index, wallUs, nowMs: this.clock.nowMs() });
    if (body === null) return;
    this.bodies.push(body);
    applyEntry(this.state, { insertBytes: () => {} }, index, body);
    this.planner.applied(index);
  }

  step(): void {
    this.budget.step();
    this.relocation.step();
    this.clock.move(100);
    do this.turn();
    while (this.planner.relocating);
  }

  rows(): AppendRow[] {
    return this.state.range(appends, '' as Key, '\xff\xff' as Key, 100_000).map(({ row }) => row);
  }

  lowest(): number {
    return Math.min(...this.rows().map(({ index }) => index));
  }

  /** Every append is whole where its row says. */
  check(): void {
    for (const row of this.rows()) {
      const bytes = Buffer.from(this.#bytesAt(row));
      expect(bytes.readUInt32BE(0)).toBe(crc32(bytes.subarray(4)));
    }
  }

  /** As a file has them: zeros behind the body. */
  #bytesAt({ index, position, length }: AppendLocation): Uint8Array {
    const bytes = new Uint8Array(length);
    bytes.set(this.bodies[index]?.subarray(position, position + length) ?? []);
    return bytes;
  }

  #newPlanner(): Planner {
    const surroundings = {
      nodeId: 1,
      checksum: crc32,
      newUuid: () => '01a2b3c4-0000-7000-8000-000000000001',
      readLog: (location: AppendLocation) => this.#bytesAt(location),
      cipher: null,
    };
    return new Planner(this.state, { find: () => [] }, surroundings, PLANNER_LIMITS);
  }
}

describe('many small appends that are all in memory', () => {
  /** Each in a partition of its own, as many in one entry. */
  function rigWith(entries: number, partitions: number): Rig {
    const rig = new Rig();
    for (let i = 0; i < entries; i++) rig.pushEach(`quiet${i}`, partitions, 20);
    for (let i = 0; i < 20; i++) rig.push('gone', 1_000_000);
    rig.remove('gone');
    return rig;
  }

  test.each([
    [150, 100],
    [2, 7500],
  ])('of %i entries with %i each move, and no turn reads all of them', (entries, partitions) => {
    const rig = rigWith(entries, partitions);
    const appendsTotal = entries * partitions;
    const end = rig.bodies.length;
    let steps = 0;
    let mostReads = 0;
    let mostMoves = 0;
    while (rig.lowest() < end && steps++ < 100) {
      rig.readsOfTurn = 0;
      const { moved } = rig.relocation;
      rig.step();
      mostReads = Math.max(mostReads, rig.readsOfTurn);
      mostMoves = Math.max(mostMoves, rig.relocation.moved - moved);
    }
    expect(rig.rows()).toHaveLength(appendsTotal);
    expect(rig.lowest()).toBeGreaterThanOrEqual(end);
    // Those that were moved into the stretch that is walked are moved once more.
    expect(rig.relocation.moved).toBeLessThan(1.5 * appendsTotal);
    // BATCH_APPENDS and the rest of a window; and the windows.
    expect(mostMoves).toBeLessThan(1024 + 1600);
    expect(mostReads).toBeLessThan(1024 + 1600 + 64);
    rig.check();
  });
});

describe('the oldest part of a log', () => {
  test('is left alone while the log is not too long', () => {
    const rig = new Rig(1_000_000);
    rig.push('quiet', 100);
    for (let i = 0; i < 200; i++) rig.push('gone', 1000);
    rig.remove('gone');
    for (let i = 0; i < 20; i++) rig.step();
    expect(rig.lowest()).toBeLessThan(10);
    expect(rig.relocation.moved).toBe(0);
  });

  test('gives up what is live in it, and that alone moves', () => {
    const rig = new Rig();
    rig.push('quiet', 100);
    for (let i = 0; i < 200; i++) rig.push('gone', 1000);
    rig.push('late', 30_000);
    const before = rig.rows().find(({ length }) => length > 30_000);
    rig.remove('gone');
    const end = rig.bodies.length;
    for (let i = 0; i < 20; i++) rig.step();
    expect(rig.rows()).toHaveLength(2);
    expect(rig.rows().find(({ length }) => length < 30_000)?.index).toBeGreaterThanOrEqual(end);
    // It stands where the log behind it is short enough.
    expect(rig.rows().find(({ length }) => length > 30_000)).toEqual(before);
    rig.check();
  });

  test('stays at rest once everything left is live', () => {
    const rig = new Rig(100_000);
    for (let i = 0; i < 300; i++) rig.push('kept', 2000);
    for (let i = 0; i < 30; i++) rig.step();
    expect(rig.relocation.moved).toBe(0);
  });

  test('is no cause to move anything where it is kept for a standby that is behind', () => {
    const rig = new Rig();
    rig.push('quiet', 100);
    for (let i = 0; i < 200; i++) rig.push('gone', 1000);
    rig.remove('gone');
    rig.readFrom = 1;
    // Writes go on meanwhile, and what they leave is held too.
    for (let i = 0; i < 50; i++) {
      rig.push('gone', 5000);
      rig.step();
    }
    rig.remove('gone');
    expect(rig.relocation.moved).toBe(0);
    // What it has read is given up by one move, and what it has not read stays out of it.
    rig.readFrom = 190;
    for (let i = 0; i < 50; i++) rig.step();
    expect(rig.relocation.moved).toBe(1);
    expect(rig.lowest()).toBeGreaterThan(190);
    rig.check();
  });

  test('takes many rounds, large entries and slow reads', () => {
    const rig = new Rig(1000);
    for (let i = 0; i < 150; i++) {
      rig.push('kept', i % 50 === 0 ? 200_000 : 500);
      rig.push('gone', i % 70 === 0 ? 300_000 : 9000);
    }
    rig.remove('gone');
    rig.slow = true;
    for (let i = 0; i < 3000; i++) {
      if (i % 10 === 0) rig.step();
      rig.reads.shift()?.();
      rig.clock.move(1);
    }
    rig.check();
    const dead = rig.segments().filter(({ lastIndex }) => lastIndex >= rig.lowest());
    const bytes = dead.reduce((sum, segment) => sum + segment.bytes, 0);
    expect(bytes).toBeLessThanOrEqual(2.2 * (rig.budget.liveBytes ?? 0) + 1000);
  });

  test('keeps damage where it is, and goes on when it was repaired', () => {
    const rig = new Rig();
    rig.push('quiet', 100);
    for (let i = 0; i < 200; i++) rig.push('gone', 1000);
    rig.remove('gone');
    const { index } = rig.rows()[0] ?? { index: 0 };
    const body = rig.bodies[index] as Uint8Array;
    const flipped = body.slice();
    flipped[flipped.length - 1] = (flipped.at(-1) ?? 0) ^ 1;
    rig.bodies[index] = flipped;
    for (let i = 0; i < 20; i++) rig.step();
    expect(rig.lowest()).toBe(index);
    rig.bodies[index] = body;
    rig.damaged.add(index);
    for (let i = 0; i < 60; i++) rig.step();
    expect(rig.lowest()).toBe(index);
    rig.damaged.clear();
    for (let i = 0; i < 60; i++) rig.step();
    expect(rig.lowest()).toBeGreaterThan(index);
    rig.check();
  });

  test('is left to the successor of a leader that has gone in the middle of it', () => {
    const rig = new Rig();
    rig.push('quiet', 100);
    for (let i = 0; i < 200; i++) rig.push('gone', 1000);
    rig.remove('gone');
    rig.slow = true;
    rig.step();
    expect(rig.reads.length).toBe(1);
    rig.leads = false;
    rig.step();
    rig.newLeader();
    rig.leads = true;
    rig.slow = false;
    for (const read of rig.reads.splice(0)) read();
    for (let i = 0; i < 10; i++) rig.step();
    expect(rig.rows()[0]?.index).toBeGreaterThan(200);
    rig.check();
  });
});

test.each(Array.from({ length: 5 }, (_, seed) => seed))('random, seed %i', (seed) => {
  const random = seededRandom(seed);
  const rig = new Rig(5000);
  for (let step = 0; step < 400; step++) {
    const queue = `q${random.below(5)}`;
    if (random.chance(0.6)) rig.push(queue, random.chance(0.02) ? 150_000 : random.between(1, 900));
    if (random.chance(0.02)) rig.remove(queue);
    if (random.chance(0.3)) rig.step();
    if (random.chance(0.02)) rig.newLeader();
    rig.slow = random.chance(0.5);
    for (let i = random.below(6); i > 0; i--) rig.reads.shift()?.();
    rig.clock.move(1);
    if (step % 10 === 0) rig.check();
    if (random.chance(0.2) && rig.rows().length > 0) {
      rig.firstIndex = Math.max(rig.firstIndex, rig.lowest() - random.below(3));
    }
  }
  expect([seed, rig.relocation.moved > 10]).toEqual([seed, true]);
});
