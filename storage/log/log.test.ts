/**
 * Goal: the log behaves as a plain array of entries would, across segments, truncations, removals,
 * resets and restarts. Method: directed cases, then random operations beside a naive model on the
 * simulated disk without faults; a failing run names its seed.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { DiskError } from '../disk/faults.js';
import { RealDisk } from '../disk/real.js';
import { SeededRandom } from '../testing/random.js';
import { SimulatedDisk } from '../testing/simulated-disk.js';
import type { LogEntry } from './entry.js';
import { Log, type LogOptions } from './log.js';

const IDENTITY = new Uint8Array(16).fill(7);

function entry(index: number, term: number, data = `body-${index}-${term}`): LogEntry {
  return { index, term, type: index % 3, data: new Uint8Array(Buffer.from(data)) };
}

function entriesFrom(first: number, count: number, term: number): LogEntry[] {
  return Array.from({ length: count }, (_, i) => entry(first + i, term));
}

function text(bytes: Uint8Array | null): string {
  return Buffer.from(bytes ?? []).toString();
}

class Fixture {
  readonly disk = new SimulatedDisk({ seed: 5 });
  readonly failures: DiskError[] = [];
  log: Log;

  constructor(readonly options: Partial<LogOptions> = {}) {
    this.log = this.open();
  }

  open(): Log {
    return Log.open({
      disk: this.disk,
      directory: '/log',
      identity: IDENTITY,
      onFailure: (error) => this.failures.push(error),
      ...this.options,
    });
  }

  append(entries: readonly LogEntry[]): void {
    let done = false;
    this.log.append(entries, () => {
      done = true;
    });
    this.disk.settle();
    expect(done).toBe(true);
  }

  restart(): void {
    let closed = false;
    this.log.close(() => {
      closed = true;
    });
    this.disk.settle();
    expect(closed).toBe(true);
    this.log = this.open();
  }

  all(): string[] {
    const { firstIndex, lastIndex } = this.log;
    const found: string[] = [];
    for (let index = firstIndex; index <= lastIndex; ) {
      const some = this.log.entries(index, lastIndex + 1, 200);
      expect(some.length).toBeGreaterThan(0);
      for (const each of some)
        found.push(`${each.index}/${each.term}/${each.type}/${text(each.data)}`);
      index += some.length;
    }
    return found;
  }
}

describe('a log', () => {
  test('starts empty', () => {
    const { log } = new Fixture();
    expect([log.firstIndex, log.lastIndex, log.durableIndex]).toEqual([1, 0, 0]);
    expect([log.term(0), log.term(1)]).toEqual([0, undefined]);
  });

  test('serves entries before they are durable, and calls done in order when they are', () => {
    const { log, disk } = new Fixture();
    const calls: string[] = [];
    log.append(entriesFrom(1, 2, 1), () => calls.push(`a durable=${log.durableIndex}`));
    log.append([], () => calls.push('nothing'));
    log.append(entriesFrom(3, 1, 2), () => calls.push(`b durable=${log.durableIndex}`));
    expect(log.lastIndex).toBe(3);
    expect(log.durableIndex).toBe(0);
    expect(log.term(3)).toBe(2);
    expect(text(log.bodySync(3))).toBe('body-3-2');
    expect(calls).toEqual([]);
    disk.settle();
    expect(calls).toEqual(['a durable=2', 'nothing', 'b durable=3']);
  });

  test('an append of nothing to an empty log is done', () => {
    const fixture = new Fixture();
    fixture.append([]);
  });

  test('a batch of many bodies, copied and not, is read back as it was appended', () => {
    const fixture = new Fixture();
    const bodyOf = (index: number) => `${index} `.repeat(index % 50 === 0 ? 6000 : 400);
    const entries = Array.from({ length: 300 }, (_, i) => entry(i + 1, 1, bodyOf(i + 1)));
    fixture.append(entries);
    fixture.restart();
    expect(fixture.all()).toEqual(
      entries.map((each) => `${each.index}/1/${each.type}/${bodyOf(each.index)}`),
    );
  });

  test('what arrives during a sync is one group: one write and one sync', () => {
    const fixture = new Fixture();
    const { log, disk } = fixture;
    let done = 0;
    log.append(entriesFrom(1, 1, 1), () => done++);
    for (let i = 2; i <= 50; i++) log.append(entriesFrom(i, 1, 1), () => done++);
    const before = disk.syncs;
    disk.settle();
    expect(done).toBe(50);
    expect(disk.syncs - before).toBe(2);
  });

  test('tells how many bytes a body has in its record, zeros behind it included', () => {
    const fixture = new Fixture({ segmentBytes: 1000, recentBytesMax: 100 });
    const lengths = Array.from({ length: 40 }, (_, i) => i * 3);
    fixture.append(lengths.map((length, i) => entry(i + 1, 1, 'x'.repeat(length))));
    lengths.forEach((length, i) => {
      const room = fixture.log.bodyRoom(i + 1) ?? -1;
      expect(room - length).toBeGreaterThanOrEqual(0);
      expect(room - length).toBeLessThan(8);
      const bytes = fixture.log.readSync({ index: i + 1, position: 0, length: room });
      expect(text(bytes)).toBe('x'.repeat(length).padEnd(room, '\0'));
    });
  });

  test('rolls to new segments and finds everything again after a restart', () => {
    const fixture = new Fixture({ segmentBytes: 1000, recentBytesMax: 100 });
    for (let i = 1; i <= 100; i++) fixture.append(entriesFrom(i, 1, Math.ceil(i / 30)));
    const before = fixture.all();
    expect(fixture.log.segments().length).toBeGreaterThan(5);
    fixture.restart();
    expect(fixture.all()).toEqual(before);
    expect(fixture.log.recovery.recordsScanned).toBeLessThan(20);
    expect(fixture.log.recovery.indexesRebuilt).toBe(0);
    expect([0, 1, 30, 31, 100, 101].map((i) => fixture.log.term(i))).toEqual([
      0,
      1,
      1,
      2,
      4,
      undefined,
    ]);
  });

  test('rebuilds missing and damaged index files', () => {
    const fixture = new Fixture({ segmentBytes: 1000, recentBytesMax: 0 });
    for (let i = 1; i <= 40; i++) fixture.append(entriesFrom(i, 1, 1));
    const before = fixture.all();
    const indexes = fixture.disk.paths().filter((path) => path.endsWith('.index'));
    expect(indexes.length).toBeGreaterThan(1);
    fixture.disk.removeSync(indexes[0] ?? '');
    fixture.disk.flipBit(indexes[1] ?? '', 20, 3);
    fixture.restart();
    expect(fixture.log.recovery.indexesRebuilt).toBe(2);
    expect(fixture.all()).toEqual(before);
    fixture.restart();
    expect(fixture.log.recovery.indexesRebuilt).toBe(0);
  });

  test('an entry larger than a segment gets one for itself', () => {
    const fixture = new Fixture({ segmentBytes: 1000, recentBytesMax: 0 });
    fixture.append([entry(1, 1), entry(2, 1, 'x'.repeat(50_000)), entry(3, 1)]);
    fixture.restart();
    expect(text(fixture.log.bodySync(2))).toBe('x'.repeat(50_000));
    expect(text(fixture.log.bodySync(3))).toBe('body-3-1');
    expect(fixture.log.segments().map((each) => each.lastIndex)).toEqual([1, 2, 3]);
    const sizes = fixture.log.segments().map(({ bytes }) => bytes) as [number, number, number];
    expect([2, 3, 4].map((index) => fixture.log.bytesFrom(index))).toEqual([
      sizes[1] + sizes[2],
      sizes[2],
      0,
    ]);
  });

  test('reads slices from memory at once and from disk later', () => {
    const fixture = new Fixture({ segmentBytes: 1000, recentBytesMax: 60 });
    const { log, disk } = fixture;
    for (let i = 1; i <= 40; i++) fixture.append(entriesFrom(i, 1, 1));
    let seen = '';
    const slice = { index: 40, position: 5, length: 2 };
    log.read(slice, (_, bytes) => {
      seen = text(bytes);
    });
    expect(seen).toBe('40');
    const cold = { index: 7, position: 5, length: 1 };
    expect(log.recent(cold)).toBeUndefined();
    log.read(cold, (_, bytes) => {
      seen = text(bytes);
    });
    expect(seen).toBe('40');
    disk.settle();
    expect(seen).toBe('7');
    expect(text(log.readSync(cold))).toBe('7');
    expect(() => log.readSync({ index: 7, position: 0, length: 99 })).toThrow(/within/);
    expect(() => log.readSync({ index: 41, position: 0, length: 1 })).toThrow(/within/);
  });

  test('a read survives the removal of its segment', () => {
    const fixture = new Fixture({ segmentBytes: 1000, recentBytesMax: 0 });
    for (let i = 1; i <= 40; i++) fixture.append(entriesFrom(i, 1, 1));
    let seen: string | null = null;
    fixture.log.read({ index: 1, position: 0, length: 4 }, (_, bytes) => {
      seen = text(bytes);
    });
    fixture.log.removeBefore(35, () => {});
    fixture.disk.settle();
    expect(seen).toBe('body');
    expect(fixture.log.firstIndex).toBeGreaterThan(1);
  });

  test('keeps few files open however many segments are read', () => {
    const fixture = new Fixture({ segmentBytes: 500, recentBytesMax: 0 });
    for (let i = 1; i <= 700; i++) fixture.append(entriesFrom(i, 1, 1));
    expect(fixture.log.segments().length).toBeGreaterThan(90);
    for (let i = 1; i <= 700; i++) {
      fixture.log.read({ index: i, position: 5, length: 1 }, (error) => expect(error).toBeNull());
    }
    fixture.disk.settle();
    expect(fixture.disk.openFiles).toBeLessThan(70);
    fixture.restart();
    expect(fixture.disk.openFiles).toBe(2);
  });

  test('replaces a conflicting suffix, also across segments', () => {
    const fixture = new Fixture({ segmentBytes: 1000, recentBytesMax: 200 });
    for (let i = 1; i <= 60; i++) fixture.append(entriesFrom(i, 1, 1));
    fixture.append(entriesFrom(20, 5, 2));
    expect(fixture.log.lastIndex).toBe(24);
    expect(fixture.log.durableIndex).toBe(24);
    expect(fixture.log.term(19)).toBe(1);
    expect(fixture.log.term(20)).toBe(2);
    const before = fixture.all();
    fixture.restart();
    expect(fixture.all()).toEqual(before);
    expect(text(fixture.log.bodySync(24))).toBe('body-24-2');
  });

  test('durableIndex never counts what a later append replaces', () => {
    const { log, disk } = new Fixture();
    const durable: number[] = [];
    log.append(entriesFrom(1, 10, 1), () => durable.push(log.durableIndex));
    log.append(entriesFrom(5, 2, 2), () => durable.push(log.durableIndex));
    disk.settle();
    expect(durable).toEqual([4, 6]);
    expect(log.lastIndex).toBe(6);
  });

  test('truncation to the start of a segment, then of the log, and on', () => {
    const fixture = new Fixture({ segmentBytes: 1000 });
    for (let i = 1; i <= 40; i++) fixture.append(entriesFrom(i, 1, 1));
    const third = fixture.log.segments()[2]?.firstIndex ?? 0;
    fixture.append(entriesFrom(third, 1, 2));
    fixture.restart();
    expect(fixture.log.lastIndex).toBe(third);
    fixture.append(entriesFrom(1, 1, 3));
    fixture.restart();
    expect(fixture.all()).toEqual(['1/3/1/body-1-3']);
    fixture.append(entriesFrom(2, 60, 3));
    fixture.restart();
    expect(fixture.log.lastIndex).toBe(61);
  });

  test('gives up old segments and knows the term before the first entry', () => {
    const fixture = new Fixture({ segmentBytes: 1000 });
    for (let i = 1; i <= 60; i++) fixture.append(entriesFrom(i, 1, Math.ceil(i / 10)));
    const filesBefore = fixture.disk.paths().length;
    let done = false;
    fixture.log.removeBefore(45, () => {
      done = true;
    });
    const first = fixture.log.firstIndex;
    expect(first).toBeGreaterThan(20);
    expect(first).toBeLessThanOrEqual(45);
    fixture.disk.settle();
    expect(done).toBe(true);
    expect(fixture.disk.paths().length).toBeLessThan(filesBefore);
    expect(fixture.log.term(first - 1)).toBe(Math.ceil((first - 1) / 10));
    fixture.restart();
    expect(fixture.log.firstIndex).toBe(first);
    expect(fixture.log.term(first - 1)).toBe(Math.ceil((first - 1) / 10));
    expect(() => fixture.log.entries(first - 1, first, 10)).toThrow(/within/);
  });

  test('what removed segments held is given back by ticks, or when the log is closed', () => {
    const fixture = new Fixture({ segmentBytes: 4 << 20, recentBytesMax: 0 });
    const body = 'x'.repeat(1 << 20);
    for (let i = 1; i <= 9; i++) fixture.append([entry(i, 1, body)]);
    const { log, disk } = fixture;
    const before = disk.openFiles;
    log.removeBefore(9, () => {});
    disk.settle();
    // Its own descriptor of each has gone, and one that gives it back has come.
    expect(disk.openFiles).toBe(before);
    for (let i = 0; i < 12; i++) {
      log.tick();
      disk.settle();
    }
    const left = disk.openFiles;
    expect(left).toBeLessThan(before);
    for (let i = 10; i <= 14; i++) fixture.append([entry(i, 1, body)]);
    log.removeBefore(14, () => {});
    disk.settle();
    expect(disk.openFiles).toBeGreaterThan(left);
    log.close(() => {});
    disk.settle();
    expect(disk.openFiles).toBe(0);
  });

  test('old entries are kept until they are durable, fresh ones beyond that', () => {
    const { log, disk } = new Fixture();
    const isKept = (index: number) => log.recent({ index, position: 0, length: 1 }) !== undefined;
    log.append(entriesFrom(1, 3, 1), () => {});
    disk.settle();
    expect([1, 2, 3].map(isKept)).toEqual([true, true, true]);
    log.append(entriesFrom(4, 2, 1), () => {}, true);
    expect([1, 3, 4, 5].map(isKept)).toEqual([false, false, true, true]);
    expect(text(log.bodySync(5))).toBe('body-5-1');
    disk.settle();
    expect([4, 5].map(isKept)).toEqual([false, false]);
    expect(text(log.bodySync(5))).toBe('body-5-1');
    log.append(entriesFrom(6, 1, 1), () => {});
    disk.settle();
    expect(isKept(6)).toBe(true);
  });

  test('reset goes on after a snapshot', () => {
    const fixture = new Fixture({ segmentBytes: 1000 });
    for (let i = 1; i <= 30; i++) fixture.append(entriesFrom(i, 1, 1));
    let done = false;
    fixture.log.reset(500, 9, () => {
      done = true;
    });
    expect([fixture.log.firstIndex, fixture.log.lastIndex, fixture.log.term(500)]).toEqual([
      501, 500, 9,
    ]);
    fixture.log.append(entriesFrom(501, 2, 9), () => {});
    fixture.disk.settle();
    expect(done).toBe(true);
    fixture.restart();
    expect(fixture.all()).toEqual(['501/9/0/body-501-9', '502/9/1/body-502-9']);
    expect(fixture.log.term(500)).toBe(9);
    expect(fixture.log.segments().length).toBe(1);
  });

  test.each(['write', 'fdatasync', 'fsync', 'open'] as const)(
    'a failed %s is reported once, and then nothing is taken',
    (operation) => {
      const fixture = new Fixture({ segmentBytes: 1000 });
      fixture.append(entriesFrom(1, 8, 1));
      fixture.disk.failNext(operation, 'EIO');
      let done = 0;
      for (let i = 9; i <= 40; i++) fixture.log.append(entriesFrom(i, 1, 1), () => done++);
      fixture.disk.settle();
      expect(fixture.failures.map((error) => error.code)).toEqual(['EIO']);
      expect(done).toBeLessThan(32);
      expect(() => fixture.log.append(entriesFrom(41, 1, 1), () => {})).toThrow(/failed before/);
      fixture.disk.settle();
      expect(fixture.failures.length).toBe(1);
    },
  );

  test('a full disk is named and fails the append, and the log opens again', () => {
    const fixture = new Fixture({ segmentBytes: 100_000, zeroFillBytes: 0 });
    fixture.append(entriesFrom(1, 8, 1));
    fixture.disk.capacityBytes = fixture.disk.usedBytes() + 100;
    fixture.log.append(entriesFrom(9, 8, 1), () => expect.unreachable());
    fixture.disk.settle();
    expect(fixture.failures.map((error) => error.code)).toEqual(['ENOSPC']);
    fixture.disk.crash('process');
    fixture.log = fixture.open();
    expect(fixture.log.lastIndex).toBeGreaterThanOrEqual(8);
    expect(fixture.log.lastIndex).toBeLessThan(16);
  });

  test('bad input is a bug, not data', () => {
    const { log } = new Fixture();
    expect(() => log.append([entry(2, 1)], () => {})).toThrow(/follows/);
    log.append([entry(1, 5)], () => {});
    expect(() => log.append([entry(2, 4)], () => {})).toThrow(/term/);
  });
});

test('a log on the real disk', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'log-'));
  try {
    const options: LogOptions = {
      disk: new RealDisk(),
      directory: `${directory}/log`,
      identity: IDENTITY,
      segmentBytes: 100_000,
      recentBytesMax: 1000,
      onFailure: (error) => {
        throw error;
      },
    };
    const log = Log.open(options);
    const appended: Promise<void>[] = [];
    for (let i = 1; i <= 2000; i++) {
      const big = i % 100 === 0 ? entry(i, 1, `${i}:`.padEnd(40_000, 'x')) : entry(i, 1);
      appended.push(new Promise((resolve) => log.append([big], resolve)));
    }
    await Promise.all(appended);
    const cold = await new Promise((resolve) =>
      log.read({ index: 3, position: 0, length: 8 }, (_, bytes) => resolve(text(bytes))),
    );
    expect(cold).toBe('body-3-1');
    await new Promise<void>((resolve) => log.close(resolve));
    const again = Log.open(options);
    expect(again.lastIndex).toBe(2000);
    expect(text(again.bodySync(1300)).length).toBe(40_000);
    expect(text(again.bodySync(1301))).toBe('body-1301-1');
    await new Promise<void>((resolve) => again.append(entriesFrom(1500, 3, 2), resolve));
    await new Promise<void>((resolve) => again.removeBefore(1000, resolve));
    expect(again.lastIndex).toBe(1502);
    expect(again.firstIndex).toBeGreaterThan(1);
    await new Promise<void>((resolve) => again.close(resolve));
  } finally {
    rmSync(directory, { recursive: true });
  }
});

/** Random operations beside an array; steps of the disk in between, so groups form as they may. */
function runModel(seed: number): void {
  const random = new SeededRandom(seed);
  const fixture = new Fixture({
    segmentBytes: random.between(300, 3000),
    recentBytesMax: random.between(0, 2000),
    zeroFillBytes: random.chance(0.5) ? 700 : 0,
  });
  let base = 0;
  let baseTerm = 0;
  let model: LogEntry[] = [];
  let term = 1;
  let started = 0;
  let finished = 0;
  for (let turn = 0; turn < 60; turn++) {
    const { log, disk } = fixture;
    const next = base + model.length + 1;
    const choice = random.below(100);
    if (choice < 60) {
      const conflict = random.chance(0.15) && model.length > 0;
      if (conflict || random.chance(0.1)) term++;
      const first = conflict ? next - random.between(1, model.length) : next;
      const added = Array.from({ length: random.between(1, 6) }, (_, i) =>
        entry(first + i, term, 'd'.repeat(random.below(200))),
      );
      model = [...model.slice(0, first - base - 1), ...added];
      started++;
      log.append(added, () => finished++);
    } else if (choice < 68 && model.length > 0) {
      log.removeBefore(random.between(base + 1, next), () => {});
      model = model.slice(log.firstIndex - 1 - base);
      if (log.firstIndex - 1 !== base) baseTerm = log.term(log.firstIndex - 1) ?? -1;
      base = log.firstIndex - 1;
    } else if (choice < 70) {
      base = next + random.below(10);
      baseTerm = term;
      model = [];
      log.reset(base, term, () => {});
    } else if (choice < 75) {
      disk.settle();
      fixture.restart();
    } else {
      for (let i = random.below(20); i > 0; i--) disk.step();
      log.tick();
    }
    expect(fixture.log.firstIndex).toBe(base + 1);
    expect(fixture.log.lastIndex).toBe(base + model.length);
    expect(fixture.log.term(base)).toBe(baseTerm);
    const badTerm = model.find((each) => fixture.log.term(each.index) !== each.term);
    expect(badTerm).toBeUndefined();
    expect(fixture.all()).toEqual(
      model.map((each) => `${each.index}/${each.term}/${each.type}/${text(each.data)}`),
    );
  }
  fixture.disk.settle();
  expect(finished).toBe(started);
  expect(fixture.log.durableIndex).toBe(fixture.log.lastIndex);
  expect(fixture.failures).toEqual([]);
}

test('random operations agree with an array', () => {
  for (let seed = 1; seed <= 100; seed++) {
    try {
      runModel(seed);
    } catch (error) {
      throw new Error(`seed ${seed}`, { cause: error });
    }
  }
});
