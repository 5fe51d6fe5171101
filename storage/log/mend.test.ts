/**
 * Goal: entries are put back only into the holes they stood in; a run of damaged headers as a
 * whole, bit by bit where that can be verified, and readable for every later open where it cannot.
 * Method: logs with runs of damaged headers, repaired with right and with wrong entries; crashes
 * between the writes of a long run.
 */
import { describe, expect, test } from 'vitest';
import { DIRECTORY, type Files, snapshot, text } from '../testing/damaged-log.fake.js';
import { SimulatedDisk } from '../testing/simulated-disk.js';
import type { RepairOutcome } from './damage.js';
import type { LogEntry } from './entry.js';
import { Log } from './log.js';

const FIRST = `${DIRECTORY}/segment-0000000001.log`;

function open(disk: SimulatedDisk, damage: 'refuse' | 'keep' = 'keep'): Log {
  return Log.open({
    disk,
    directory: DIRECTORY,
    identity: new Uint8Array(16).fill(7),
    segmentBytes: 20_000,
    recentBytesMax: 0,
    damage,
    onFailure: (error) => {
      throw error;
    },
  });
}

function entry(index: number, term: number): LogEntry {
  const data = new Uint8Array(Buffer.from(`body ${index}`.padEnd(60, '.')));
  return { index, term, type: 1, data };
}

/** `groups` of entries; every term is 1 unless `termOf` says otherwise. */
function written(groups: readonly number[], termOf: (index: number) => number = () => 1) {
  const disk = new SimulatedDisk({ seed: 1 });
  const log = open(disk, 'refuse');
  const entries: LogEntry[] = [];
  for (const count of groups) {
    const first = entries.length + 1;
    const group = Array.from({ length: count }, (_, i) => entry(first + i, termOf(first + i)));
    entries.push(...group);
    log.append(group, () => {});
    disk.settle();
  }
  log.tick();
  disk.settle();
  disk.crash('process');
  return { disk, entries, files: snapshot(disk) };
}

const RECORD_BYTES = 104;

function positionOf(index: number): number {
  return 64 + (index - 1) * RECORD_BYTES;
}

/** Overwrites the headers of these entries, whole. */
function wreck(disk: SimulatedDisk, indexes: readonly number[], filling = 0xff): void {
  const bytes = disk.contents(FIRST);
  for (const index of indexes) bytes.fill(filling, positionOf(index), positionOf(index) + 40);
  disk.plant(FIRST, bytes);
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}

function all(log: Log): string[] {
  return range(log.firstIndex, log.lastIndex).map((index) =>
    text(log.entries(index, index + 1, 0)[0] ?? entry(0, 0)),
  );
}

function sameFile(disk: SimulatedDisk, files: Files): boolean {
  return Buffer.compare(disk.contents(FIRST), files.get(FIRST) ?? new Uint8Array(0)) === 0;
}

describe('a run of damaged headers', () => {
  test.each([
    ['each its own group', [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]],
    ['one group', [2, 7, 1]],
    ['a group that reaches out of the run in front', [6, 1, 1, 2]],
    ['a group that reaches out of the run behind', [1, 1, 2, 6]],
    ['several groups', [1, 3, 2, 1, 3]],
  ])('is verified and restored bit by bit: %s', (_name, groups) => {
    for (const last of [4, 5, 6, 7]) {
      const { disk, entries, files } = written(groups);
      wreck(disk, range(4, last));
      const log = open(disk);
      expect(log.damage().map(({ index }) => index)).toEqual(range(4, last));
      const outcomes: RepairOutcome[] = [];
      // In any order; the last one given completes it.
      for (const index of range(4, last).reverse()) {
        const verdict = log.repair(entries[index - 1] ?? entry(0, 0), (outcome) =>
          outcomes.push(outcome),
        );
        expect(verdict).toBe(index === 4 ? 'repairing' : 'kept');
      }
      expect(log.damage()).toEqual([]);
      expect(log.isWhole).toBe(false);
      disk.settle();
      expect(outcomes).toEqual(range(4, last).map(() => 'repaired'));
      expect(log.isWhole).toBe(true);
      expect(sameFile(disk, files)).toBe(true);
      expect(all(log)).toEqual(entries.map(text));
    }
  });

  test('a wrong entry in it is noticed, and all of it is asked for again', () => {
    const { disk, entries, files } = written([1, 3, 2, 1, 3]);
    wreck(disk, range(4, 6));
    const log = open(disk);
    const outcomes: RepairOutcome[] = [];
    const give = (each: LogEntry | undefined) =>
      log.repair(each ?? entry(0, 0), (outcome) => outcomes.push(outcome));
    const [, , , four, five, six] = entries;
    expect(give(four)).toBe('kept');
    expect(give(four)).toBe('intact');
    expect(give({ ...entry(5, 1), data: new Uint8Array(60).fill(1) })).toBe('kept');
    expect(give(six)).toBe('different');
    expect(outcomes).toEqual(['different', 'different']);
    expect(log.damage().map(({ index }) => index)).toEqual([4, 5, 6]);
    for (const each of [four, five]) expect(give(each)).toBe('kept');
    expect(give(six)).toBe('repairing');
    disk.settle();
    expect(sameFile(disk, files)).toBe(true);
  });

  test.each([
    ['another body', { data: new Uint8Array(60).fill(1) }],
    ['another length', { data: new Uint8Array(61) }],
    ['another type', { type: 2 }],
    ['another term', { term: 2 }],
  ])('a single slot refuses %s', (_name, change) => {
    for (const damage of ['header', 'body']) {
      const { disk, entries } = written([3, 3, 3]);
      if (damage === 'header') wreck(disk, [5]);
      else disk.flipBit(FIRST, positionOf(5) + 45, 1);
      const before = disk.contents(FIRST);
      const log = open(disk);
      const five = entries[4] ?? entry(0, 0);
      expect(log.repair({ ...five, ...change }, () => expect.unreachable())).toBe('different');
      disk.settle();
      expect(disk.contents(FIRST)).toEqual(before);
      expect(log.repair(five, () => {})).toBe('repairing');
      disk.settle();
      expect(log.isWhole).toBe(true);
    }
  });

  test('across a change of terms: the CRC decides where the terms cannot', () => {
    const { disk, entries, files } = written([2, 3, 5], (index) => (index < 5 ? 1 : 4));
    wreck(disk, [4, 5]);
    const log = open(disk);
    expect(log.damage().map(({ term }) => term)).toEqual([null, null]);
    expect([3, 4, 5, 6].map((index) => log.term(index))).toEqual([1, undefined, undefined, 4]);
    const [, , , four, five] = entries;
    expect(log.repair({ ...entry(4, 2) }, () => {})).toBe('kept');
    expect(log.repair(five ?? entry(0, 0), () => {})).toBe('different');
    for (const each of [four, five]) log.repair(each ?? entry(0, 0), () => {});
    disk.settle();
    expect(sameFile(disk, files)).toBe(true);
    expect([3, 4, 5, 6].map((index) => log.term(index))).toEqual([1, 1, 4, 4]);
  });
});

describe('a run too long for trying', () => {
  const groups = Array.from({ length: 40 }, (_, at) => 1 + (at % 5));
  const lost = range(11, 100);

  test('is restored, readable and chained to what follows', () => {
    const { disk, entries } = written(groups);
    wreck(disk, lost);
    const log = open(disk);
    for (const { index } of log.damage()) log.repair(entries[index - 1] ?? entry(0, 0), () => {});
    disk.settle();
    expect(log.isWhole).toBe(true);
    expect(all(log)).toEqual(entries.map(text));
    log.append([entry(entries.length + 1, 1)], () => {});
    disk.settle();
    disk.crash('power');
    const again = open(disk, 'refuse');
    expect(again.examine(1)).toEqual([]);
    expect(all(again)).toEqual([...entries, entry(entries.length + 1, 1)].map(text));
  });

  test('and can be damaged and repaired again, also its mended end', () => {
    const { disk, entries } = written(groups);
    wreck(disk, lost);
    const repair = () => {
      const log = open(disk);
      for (const { index } of log.damage()) {
        expect(log.repair(entries[index - 1] ?? entry(0, 0), () => {})).not.toBe('different');
      }
      disk.settle();
      expect(log.isWhole).toBe(true);
      expect(all(log)).toEqual(entries.map(text));
      disk.crash('power');
    };
    repair();
    for (const indexes of [[50], [101], range(20, 101)]) {
      wreck(disk, indexes);
      repair();
    }
    const flip = (index: number, at: number) => disk.flipBit(FIRST, positionOf(index) + at, 3);
    for (const at of [0, 5, 9, 20, 30, 36, 38]) {
      flip(101, at);
      repair();
      flip(101, at);
      flip(100, at);
      repair();
    }
  });

  test('of a mended end nobody knows its number, should that be what is lost', () => {
    const { disk, entries } = written(groups);
    wreck(disk, lost);
    const log = open(disk);
    for (const { index } of log.damage()) log.repair(entries[index - 1] ?? entry(0, 0), () => {});
    disk.settle();
    disk.crash('power');
    wreck(disk, [100]);
    const again = open(disk);
    expect(again.damage().map(({ index }) => index)).toEqual([100]);
    expect(again.repair(entry(100, 1), () => {})).toBe('different');
  });

  test('a crash at any point of the writing leaves less to do, never another content', () => {
    const { entries, files } = written(groups);
    for (let seed = 1; seed <= 150; seed++) {
      const disk = new SimulatedDisk({ seed });
      for (const [path, bytes] of files) disk.plant(path, bytes);
      wreck(disk, lost);
      for (let life = 0; life < 3; life++) {
        const log = open(disk);
        for (const { index } of log.damage())
          log.repair(entries[index - 1] ?? entry(0, 0), () => {});
        if (life === 2) disk.settle();
        else for (let steps = disk.random.below(6); steps > 0; steps--) disk.step();
        if (life === 2) expect(log.isWhole, `seed ${seed}`).toBe(true);
        disk.crash(disk.random.chance(0.8) ? 'power' : 'process');
      }
      expect(all(open(disk, 'refuse')), `seed ${seed}`).toEqual(entries.map(text));
    }
  });

  test('without the terms it is not believed', () => {
    const { disk, entries } = written(groups, (index) => (index < 50 ? 1 : 2));
    wreck(disk, lost);
    const log = open(disk);
    const verdicts = log
      .damage()
      .map(({ index }) => log.repair(entries[index - 1] ?? entry(0, 0), () => {}));
    expect(verdicts.at(-1)).toBe('different');
    log.cutFrom(lost[0] ?? 0, () => {});
    disk.settle();
    expect([log.isWhole, log.lastIndex]).toEqual([true, 10]);
  });
});

test('a torn repair of a medium that does not keep what is written is told', () => {
  const { disk, entries } = written([3, 3, 3]);
  wreck(disk, [5]);
  const log = open(disk);
  const outcomes: RepairOutcome[] = [];
  log.repair(entries[4] ?? entry(0, 0), (outcome) => outcomes.push(outcome));
  disk.writeCorruption = 1;
  disk.settle();
  disk.writeCorruption = 0;
  expect(outcomes).toEqual(['failed']);
  expect(log.damage().map(({ index }) => index)).toEqual([5]);
  log.repair(entries[4] ?? entry(0, 0), (outcome) => outcomes.push(outcome));
  disk.settle();
  expect(outcomes).toEqual(['failed', 'repaired']);
});
