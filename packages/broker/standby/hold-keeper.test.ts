// Goal: the holds of a node survive it as the contract says (standby-link 8): written at once for a
// reader that is new or lower, else rarely; whole after any crash; given up while the volume is too
// full. Method: a simulated disk, a clock that a test moves, a fullness that is only a number.
import { SimulatedDisk } from '@svc/storage/testing';
import { beforeEach, expect, test } from 'vitest';
import { createLogger } from '../system/logging.js';
import { MovedClock } from '../testing/moved-clock.fake.js';
import { HoldKeeper } from './hold-keeper.js';

const PATH = '/d/raft/link_holds.json';
const HOLD_MS = 3_600_000;

let disk: SimulatedDisk;
let clock: MovedClock;
let lines: string[];
let usedPct: number;
let firstIndex: number;

beforeEach(() => {
  disk = new SimulatedDisk({ seed: 1 });
  disk.makeDirectorySync('/d/raft');
  clock = new MovedClock();
  lines = [];
  usedPct = 10;
  firstIndex = 1;
});

function newKeeper(diskPct = 80): HoldKeeper {
  return new HoldKeeper({
    disk,
    directory: '/d/raft',
    holdMs: HOLD_MS,
    diskPct,
    usedPct: () => usedPct,
    firstIndex: () => firstIndex,
    bytesFrom: (index) => 1000 - index,
    clock,
    logger: createLogger({ level: 'info', json: false }, (line) => lines.push(line)),
  });
}

/** What a node that starts now would find. */
function stored(): { [name: string]: number } {
  const { readers } = JSON.parse(Buffer.from(disk.contents(PATH)).toString()) as {
    readers: { [name: string]: { after: number } };
  };
  return Object.fromEntries(Object.entries(readers).map(([name, { after }]) => [name, after]));
}

test('a reader that is new or lower is written at once, the others every ten seconds', () => {
  const keeper = newKeeper();
  keeper.note('east', 50);
  disk.settle();
  expect(stored()).toEqual({ east: 50 });
  const { wallUs } = { wallUs: clock.wallUs() };
  expect(Buffer.from(disk.contents(PATH)).toString()).toBe(
    `{"readers":{"east":{"after":50,"seenMs":${wallUs / 1000}}}}\n`,
  );
  clock.move(9999);
  keeper.note('east', 60);
  expect(disk.waitingCount).toBe(0);
  clock.move(1);
  keeper.note('east', 61);
  disk.settle();
  expect(stored()).toEqual({ east: 61 });
  keeper.note('west', 70);
  disk.settle();
  expect(stored()).toEqual({ east: 61, west: 70 });
  keeper.note('west', 30);
  disk.settle();
  expect(stored()).toEqual({ east: 61, west: 30 });
});

test('what comes while a file is written is written after it, once', () => {
  const keeper = newKeeper();
  keeper.note('a', 1);
  keeper.note('b', 2);
  keeper.note('c', 3);
  const { syncs } = disk;
  disk.settle();
  expect(stored()).toEqual({ a: 1, b: 2, c: 3 });
  // Two files, and the directory for each.
  expect(disk.syncs - syncs).toBe(4);
});

test.each(['process', 'power'] as const)('a crash (%s) leaves the old file or the new', (kind) => {
  const seen = new Set<number | undefined>();
  for (let seed = 0; seed < 200; seed++) {
    disk = new SimulatedDisk({ seed });
    disk.makeDirectorySync('/d/raft');
    disk.syncDirectorySync('/d');
    const keeper = newKeeper();
    keeper.note('east', 50);
    disk.settle();
    keeper.note('east', 40);
    for (let steps = seed % 5; steps > 0; steps--) disk.step();
    disk.crash(kind);
    const again = newKeeper();
    expect(lines).toEqual([]);
    seen.add(again.readers()[0]?.after);
    // And it can be written again.
    again.note('west', 9);
    disk.settle();
    expect(stored()).toMatchObject({ west: 9 });
  }
  expect([...seen].sort()).toEqual([40, 50]);
});

test('after a restart the log is kept for those who were known', () => {
  newKeeper().note('east', 50);
  disk.settle();
  clock.move(5000);
  const keeper = newKeeper();
  const east = { name: 'east', after: 50, idleMs: 5000, heldBytes: 950 };
  expect(keeper.readers()).toEqual([east]);
  expect(keeper.limits).toEqual({ idleMs: HOLD_MS, diskPct: 80, usedPct: 10 });
  expect(keeper.heldFrom).toBe(50);
  clock.move(HOLD_MS - 5000);
  expect([keeper.heldFrom, keeper.readers()]).toEqual([null, []]);
});

test('after a restart what the log has left is kept, though the file names what it gave up', () => {
  const before = newKeeper();
  before.note('east', 50);
  disk.settle();
  clock.move(5000);
  before.note('east', 90);
  expect([disk.waitingCount, stored()]).toEqual([0, { east: 50 }]);
  firstIndex = 80;
  const keeper = newKeeper();
  expect(keeper.heldFrom).toBe(79);
  expect(keeper.note('east', 90)).toBe('kept');
  expect(keeper.heldFrom).toBe(90);
});

test.each(['', 'not JSON', '{"readers":{"east":7}}', 'x'.repeat(300_000)])(
  'a file that is none of ours is no reason not to start',
  (text) => {
    disk.plant(PATH, new Uint8Array(Buffer.from(text)));
    const keeper = newKeeper();
    expect(lines).toEqual([
      expect.stringMatching(/WARN +standby .*link_holds.json is not a list of readers/),
    ]);
    expect(keeper.heldFrom).toBeNull();
    keeper.note('east', 3);
    disk.settle();
    expect(stored()).toEqual({ east: 3 });
  },
);

test('a write that fails is told once, and tried again with the next', () => {
  const keeper = newKeeper();
  for (let i = 0; i < 3; i++) {
    disk.failNext('write', 'ENOSPC', 'link_holds');
    keeper.note(`r${i}`, 9);
    disk.settle();
  }
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/WARN +standby the readers of this log are not stored:.*ENOSPC/);
  keeper.note('r3', 9);
  disk.settle();
  expect(Object.keys(stored())).toEqual(['r0', 'r1', 'r2', 'r3']);
  expect(disk.openFiles).toBe(0);
});

test('nothing is kept while the volume is too full, and what is left of it again below', () => {
  const keeper = newKeeper(75);
  keeper.note('east', 50);
  keeper.note('west', 90);
  usedPct = 74.9;
  expect([keeper.heldFrom, keeper.holding]).toEqual([50, true]);
  usedPct = 75;
  for (let i = 0; i < 3; i++) expect([keeper.heldFrom, keeper.holding]).toEqual([null, false]);
  expect(keeper.readers()).toHaveLength(2);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/ERROR standby the volume is at 75 % or above: the log is kept for no/);
  // The log was given up meanwhile: one of them has lost its place.
  firstIndex = 71;
  usedPct = 70;
  expect([keeper.heldFrom, keeper.holding]).toEqual([90, true]);
  expect(keeper.readers().map(({ name }) => name)).toEqual(['west']);
  expect(lines).toHaveLength(2);
  expect(lines[1]).toMatch(/INFO +standby the log is kept for standbys again/);
});

test('at 100 % the disk is no limit, and without a reader it is nobody’s business', () => {
  const keeper = newKeeper(100);
  usedPct = 100;
  keeper.note('east', 50);
  expect([keeper.heldFrom, keeper.holding]).toEqual([50, true]);
  expect([newKeeper(50).heldFrom, newKeeper(50).holding]).toEqual([null, true]);
  expect(lines).toEqual([]);
});

test('closing waits for what is being written, and writes no more', () => {
  const keeper = newKeeper();
  keeper.note('a', 1);
  keeper.note('b', 2);
  let closed = false;
  keeper.close(() => {
    closed = true;
  });
  expect(closed).toBe(false);
  disk.settle();
  expect(closed).toBe(true);
  expect(stored()).toEqual({ a: 1 });
  keeper.close(() => {
    closed = false;
  });
  expect(closed).toBe(false);
});
