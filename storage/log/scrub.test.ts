/**
 * Goal: what rots in sealed segments while the log is open is found by going round, once and in
 * bounded portions, and mended where that needs nobody; a read that meets damage registers it; what
 * peers are told of it is true. Method: a small log of several segments; bytes changed under the
 * open log.
 */
import { describe, expect, test } from 'vitest';
import { DamageError } from '../disk/faults.js';
import {
  build,
  content,
  DIRECTORY,
  diskWith,
  ENTRIES,
  entry,
  LAST,
  open,
  SUBJECT,
  text,
  WHOLE,
} from '../testing/damaged-log.fake.js';
import { SimulatedDisk } from '../testing/simulated-disk.js';
import type { LogEntry } from './entry.js';
import type { Log } from './log.js';

const SECOND = `${DIRECTORY}/segment-0000000002.log`;

function opened(damage: 'refuse' | 'keep' = 'refuse') {
  const disk = diskWith(build(SUBJECT, 'close'));
  const log = open(disk, SUBJECT, damage);
  const [first, second] = log.segments();
  if (first === undefined || second === undefined) throw new Error('too few segments');
  return { disk, log, first, second };
}

function round(disk: SimulatedDisk, log: Log, bytesMax = 200) {
  const found = [];
  for (let call = 0; call < 60; call++) {
    const slot = log.scrub(bytesMax);
    if (slot !== null) found.push(slot.index);
    disk.settle();
  }
  return found;
}

/** Where the record of `index` stands, read from the intact file. */
function positionOf(disk: SimulatedDisk, path: string, index: number): number {
  const bytes = disk.contents(path);
  const view = new DataView(bytes.buffer);
  for (let at = 64; ; at += 40 + Math.ceil(view.getUint32(at + 12, true) / 8) * 8) {
    if (view.getUint32(at + 16, true) === index) return at;
  }
}

describe('scrub', () => {
  test('finds nothing in a whole log, however small its portions', () => {
    for (const bytesMax of [1, 100, 1000, 1 << 20]) {
      const { disk, log } = opened();
      const before = disk.contents(SECOND);
      expect(round(disk, log, bytesMax)).toEqual([]);
      expect(log.isWhole).toBe(true);
      expect(disk.contents(SECOND)).toEqual(before);
    }
  });

  test('finds every flipped bit of every record of a sealed segment, once', () => {
    const { first, second } = opened();
    for (const { file, firstIndex, lastIndex } of [first, second]) {
      for (let index = firstIndex; index <= lastIndex; index++) {
        for (const at of [0, 6, 10, 14, 17, 25, 33, 36, 38, 44]) {
          const { disk, log } = opened();
          const position = positionOf(disk, file, index);
          if (ENTRIES[index - 1]?.data.length === 0 && at >= 40) continue;
          disk.flipBit(file, position + at, 2);
          expect(round(disk, log), `${index} at ${at}`).toEqual([index]);
          expect(log.damage()).toMatchObject([{ index, kind: 'record', file, offset: position }]);
          const good = ENTRIES[index - 1] ?? entry(0, 0);
          expect(log.repair(good, () => {})).toBe('repairing');
          disk.settle();
          expect(round(disk, log)).toEqual([]);
          expect(content(log)).toEqual(WHOLE);
        }
      }
    }
  });

  test('a record of many megabytes is read a part per call', () => {
    const disk = new SimulatedDisk({ seed: 1 });
    const log = open(disk, SUBJECT, 'refuse');
    const data = new Uint8Array(5 * 1024 * 1024 + 5).map((_, at) => at % 251);
    const large: LogEntry = { index: 2, term: 1, type: 0, data };
    for (const each of [entry(1, 1), large, entry(3, 1), ...[4, 5, 6].map((i) => entry(i, 1))]) {
      log.append([each], () => {});
      disk.settle();
    }
    const file = log.segments().find(({ firstIndex, lastIndex }) => {
      return firstIndex <= 2 && lastIndex >= 2;
    })?.file;
    if (file === undefined) throw new Error('the large record is in no segment');
    const calls = (): number => {
      for (let call = 1; call <= 40; call++) if (log.scrub(1 << 20) !== null) return call;
      return Number.POSITIVE_INFINITY;
    };
    disk.flipBit(file, positionOf(disk, file, 2) + 40 + data.length - 1, 2);
    expect(calls()).toBeGreaterThanOrEqual(6);
    expect(log.damage()).toMatchObject([{ index: 2, kind: 'record' }]);
    log.repair(large, () => {});
    for (let turn = 0; turn < 5; turn++) disk.settle();
    expect(log.isWhole).toBe(true);
    expect(calls()).toBe(Number.POSITIVE_INFINITY);
  });

  test('what is damaged before the floor is dead, and what is damaged after it is found', () => {
    const { disk, log, second } = opened('keep');
    const slot = second.firstIndex;
    disk.flipBit(second.file, positionOf(disk, second.file, slot) + 3, 2);
    expect(round(disk, log)).toEqual([slot]);
    expect([log.isDamagedBefore(slot), log.isDamagedBefore(slot + 1)]).toEqual([false, true]);
    log.removeBefore(slot + 1, () => {});
    disk.settle();
    log.buryBefore(slot);
    expect([log.isWhole, log.firstIndex]).toEqual([false, slot]);
    log.buryBefore(slot + 1);
    expect([log.isWhole, log.firstIndex]).toEqual([true, slot + 1]);
    expect(log.term(slot)).toBe(ENTRIES[slot - 1]?.term);
    expect(log.term(slot - 1)).toBeUndefined();
    expect(log.answerFor({ index: slot, term: null, bodyCrc: null }).kind).toBe('cannot-tell');
    expect(log.entries(slot + 1, slot + 2, 0).map(text)).toEqual([WHOLE[slot]]);
    expect(round(disk, log)).toEqual([]);
    disk.flipBit(second.file, positionOf(disk, second.file, second.lastIndex) + 3, 2);
    expect(round(disk, log)).toEqual([second.lastIndex]);
    // A log that is opened anew looks at it again, and is told the floor again.
    const again = open(disk, SUBJECT, 'keep');
    expect(round(disk, again)).toContain(slot);
  });

  test('one call with room for all segments reads all, and none twice', () => {
    const { disk, log, first, second } = opened();
    let bytes = 0;
    const openSync = disk.openSync.bind(disk);
    disk.openSync = (path, mode) => {
      const file = openSync(path, mode);
      const readSync = file.readSync.bind(file);
      file.readSync = (into, position) => {
        if (path.endsWith('.log') && position >= 64) bytes += into.length;
        return readSync(into, position);
      };
      return file;
    };
    expect(log.scrub(1 << 30)).toBeNull();
    expect(bytes).toBe(first.bytes + second.bytes - 128);
  });

  test('goes on behind what it found, and on to the next segment', () => {
    const { disk, log, first, second } = opened();
    for (const { file, lastIndex } of [first, second]) {
      disk.flipBit(file, positionOf(disk, file, lastIndex) + 3, 2);
    }
    disk.flipBit(first.file, positionOf(disk, first.file, 2) + 3, 2);
    expect(round(disk, log)).toEqual([2, second.lastIndex]);
    expect(log.damage().map(({ index }) => index)).toEqual([2, first.lastIndex, second.lastIndex]);
  });

  test('mends a segment header and an index file without anybody', () => {
    const { disk, log, second } = opened();
    const path = second.file.replace('.log', '.index');
    const wanted = [disk.contents(second.file), disk.contents(path)];
    for (const [file, bytes] of [
      [second.file, 64],
      [path, wanted[1]?.length ?? 0],
    ] as const) {
      for (let at = 0; at < bytes; at++) {
        disk.flipBit(file, at, at % 8);
        expect(round(disk, log, 1000)).toEqual([]);
        expect(disk.contents(file)).toEqual(file === path ? wanted[1] : wanted[0]);
      }
    }
    disk.removeSync(path);
    round(disk, log);
    expect(disk.contents(path)).toEqual(wanted[1]);
  });

  test('an index file that is damaged on disk and in use serves right entries', () => {
    const { disk, log, second } = opened();
    const path = second.file.replace('.log', '.index');
    disk.flipBit(path, disk.contents(path).length - 3, 1);
    expect(content(log)).toEqual(WHOLE);
  });

  test('follows a log that changes under it', () => {
    const { disk, log, second } = opened();
    log.scrub(100);
    log.removeBefore(second.firstIndex, () => {});
    disk.settle();
    expect(round(disk, log)).toEqual([]);
    log.append([entry(second.firstIndex + 1, 9)], () => {});
    disk.settle();
    expect(log.scrub(100)).toBeNull();
    log.reset(100, 9, () => {});
    expect(log.scrub(100)).toBeNull();
    disk.settle();
    expect(round(disk, log)).toEqual([]);
  });
});

describe('damage met while the log is open', () => {
  test('a read registers the slot; everything around it is served', () => {
    const { disk, log, second } = opened();
    const index = second.firstIndex + 1;
    disk.flipBit(second.file, positionOf(disk, second.file, index) + 20, 0);
    expect(() => log.entries(index, index + 1, 1)).toThrow(DamageError);
    expect(log.damage().map((slot) => slot.index)).toEqual([index]);
    const served = log.entries(second.firstIndex, LAST, 100_000);
    expect(served.map(text)).toEqual([WHOLE[second.firstIndex - 1]]);
    expect(log.term(index)).toBe(ENTRIES[index - 1]?.term);
    expect(() => log.readSync({ index, position: 0, length: 0 })).toThrow(DamageError);
    let seen: unknown = null;
    log.read({ index, position: 0, length: 0 }, (error) => {
      seen = error;
    });
    expect(seen).toBeInstanceOf(DamageError);
  });

  test('a transient misread registers nothing', () => {
    const { disk, log, second } = opened();
    log.entries(second.firstIndex, second.firstIndex + 1, 1);
    disk.readCorruption = 1;
    let thrown = 0;
    for (let i = 0; i < 20; i++) {
      try {
        log.entries(second.firstIndex, second.lastIndex, 100_000);
      } catch (error) {
        if (!(error instanceof DamageError)) throw error;
        thrown++;
        disk.readCorruption = 0;
        log.suspect(second.firstIndex);
        disk.readCorruption = 1;
      }
      disk.readCorruption = 0;
      log.suspect(second.firstIndex);
      expect(log.isWhole).toBe(true);
      disk.readCorruption = 1;
    }
    expect(thrown).toBeGreaterThan(5);
  });

  test('suspect and examine see the active segment too, up to what is durable', () => {
    const { disk, log } = opened();
    const active = log.segments().at(-1);
    if (active === undefined) throw new Error('no segment');
    disk.flipBit(active.file, positionOf(disk, active.file, LAST - 1) + 1, 0);
    log.append([entry(LAST + 1, 9)], () => {});
    log.suspect(LAST);
    expect(log.damage().map(({ index }) => index)).toEqual([LAST - 1]);
    disk.settle();
    expect(log.examine(1).map(({ index }) => index)).toEqual([LAST - 1]);
    expect(log.repair(ENTRIES[LAST - 2] ?? entry(0, 0), () => {})).toBe('repairing');
    log.append([entry(LAST + 2, 9)], () => {});
    disk.settle();
    expect(content(log)).toEqual([...WHOLE, text(entry(LAST + 1, 9)), text(entry(LAST + 2, 9))]);
    disk.crash('power');
    expect(open(disk, SUBJECT, 'refuse').lastIndex).toBe(LAST + 2);
  });

  test('a truncation takes holes with it, and does not cut a run in two', () => {
    const { disk, log, second } = opened();
    const { file, firstIndex } = second;
    for (const index of [firstIndex + 1, firstIndex + 2]) {
      disk.flipBit(file, positionOf(disk, SECOND, index), 0);
    }
    log.suspect(firstIndex);
    expect(log.damage().map(({ index }) => index)).toEqual([firstIndex + 1, firstIndex + 2]);
    expect(() => log.append([entry(firstIndex + 2, 9)], () => {})).toThrow(DamageError);
    // Right behind the run its own last CRC is the chain.
    log.append([entry(firstIndex + 3, 9)], () => {});
    disk.settle();
    for (const index of [firstIndex + 1, firstIndex + 2]) {
      log.repair(ENTRIES[index - 1] ?? entry(0, 0), () => {});
    }
    disk.settle();
    disk.crash('power');
    const again = open(disk, SUBJECT, 'refuse');
    expect(content(again)).toEqual([
      ...WHOLE.slice(0, firstIndex + 2),
      text(entry(firstIndex + 3, 9)),
    ]);
    again.append([entry(firstIndex, 10)], () => {});
    disk.settle();
    expect(again.isWhole).toBe(true);
  });

  test('repairs and removals do not meet', () => {
    for (let seed = 1; seed <= 60; seed++) {
      const { disk, log, first, second } = opened();
      const index = first.firstIndex + 1;
      disk.flipBit(first.file, positionOf(disk, first.file, index) + 1, 0);
      log.suspect(index);
      let outcome = 'none';
      log.repair(ENTRIES[index - 1] ?? entry(0, 0), (is) => {
        outcome = is;
      });
      for (let steps = seed % 7; steps > 0; steps--) disk.step();
      if (seed % 2 === 0) log.removeBefore(second.firstIndex, () => {});
      else log.append([entry(first.firstIndex, 9)], () => {});
      disk.settle();
      expect(['repaired', 'gone']).toContain(outcome);
      expect(log.isWhole).toBe(true);
      disk.crash('power');
      expect(open(disk, SUBJECT, 'refuse').examine(1)).toEqual([]);
    }
  });
});

describe('what a peer is told', () => {
  const ask = (
    log: Log,
    index: number,
    term: number | null = null,
    bodyCrc: number | null = null,
  ) => log.answerFor({ index, term, bodyCrc }).kind;

  test('of a whole log', () => {
    const { log } = opened();
    const term = ENTRIES[4]?.term ?? 0;
    expect(log.answerFor({ index: 5, term: null, bodyCrc: null })).toEqual({
      kind: 'have',
      entry: ENTRIES[4],
    });
    expect(ask(log, 5, term)).toBe('have');
    expect(ask(log, 5, term + 1)).toBe('never-had');
    expect(ask(log, 5, term, 1)).toBe('never-had');
    expect(ask(log, LAST + 1)).toBe('never-had');
  });

  test('of what was given up with the start of the log: nothing', () => {
    const { disk, log, second } = opened();
    log.removeBefore(second.firstIndex, () => {});
    expect(ask(log, second.firstIndex - 1)).toBe('cannot-tell');
    disk.settle();
    expect(ask(log, 1, 99)).toBe('cannot-tell');
    expect(ask(log, second.firstIndex)).toBe('have');
  });

  test('of a damaged slot: nothing, unless its term says that it is another entry', () => {
    const { disk, log, second } = opened();
    const index = second.firstIndex + 1;
    const term = ENTRIES[index - 1]?.term ?? 0;
    disk.flipBit(second.file, positionOf(disk, second.file, index) + 1, 0);
    expect(ask(log, index, term)).toBe('cannot-tell');
    expect(ask(log, index)).toBe('cannot-tell');
    expect(ask(log, index, term + 1)).toBe('never-had');
    expect(ask(log, index + 1)).toBe('have');
  });

  test('of a lost tail: nothing until it is settled', () => {
    const { disk, log } = opened();
    const active = log.segments().at(-1)?.file ?? '';
    log.append([entry(LAST + 1, 9)], () => {});
    disk.settle();
    disk.crash('process');
    const bytes = disk.contents(active);
    bytes.fill(0xee, positionOf(disk, active, LAST + 1));
    disk.plant(active, bytes);
    const again = open(disk, SUBJECT, 'keep');
    expect(again.damage()).toMatchObject([{ kind: 'tail', index: LAST + 1 }]);
    expect([ask(again, LAST), ask(again, LAST + 1), ask(again, LAST + 9)]).toEqual([
      'have',
      'cannot-tell',
      'cannot-tell',
    ]);
    again.cutFrom(LAST + 1, () => {});
    disk.settle();
    expect(ask(again, LAST + 1)).toBe('never-had');
  });
});
