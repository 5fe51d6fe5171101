/**
 * Goal: a vote that was reported durable is never forgotten, whatever is torn or flipped. Method:
 * directed damage of one and of both slots, then random saves and crashes under seeds.
 */
import { describe, expect, test } from 'vitest';
import { DamageError, type DiskError } from '../disk/faults.js';
import { SeededRandom } from '../testing/random.js';
import { SimulatedDisk } from '../testing/simulated-disk.js';
import { type HardState, HardStateFile } from './hard-state.js';

const IDENTITY = new Uint8Array(16).fill(7);
const PATH = '/d/hard-state';

function open(disk: SimulatedDisk, failures: DiskError[] = []): HardStateFile {
  const onFailure = (error: DiskError) => failures.push(error);
  return HardStateFile.open({ disk, directory: '/d', identity: IDENTITY, onFailure });
}

function saved(...states: HardState[]): SimulatedDisk {
  const disk = new SimulatedDisk({ seed: 1 });
  const file = open(disk);
  for (const state of states) {
    file.save(state, () => {});
    disk.settle();
  }
  return disk;
}

describe('hard state', () => {
  test('is null in a fresh directory, and stays so', () => {
    const disk = new SimulatedDisk({ seed: 1 });
    expect(open(disk).state).toBeNull();
    expect(open(disk).state).toBeNull();
  });

  test('reports saves in order, the ones in between together', () => {
    const disk = new SimulatedDisk({ seed: 1 });
    const file = open(disk);
    const calls: string[] = [];
    for (let term = 1; term <= 4; term++) {
      file.save({ term, vote: 0 }, () => calls.push(`${term}:${file.state?.term}`));
    }
    expect(file.state).toBeNull();
    disk.settle();
    expect(calls).toEqual(['1:1', '2:4', '3:4', '4:4']);
  });

  test.each([0, 4096])('survives damage of the slot at %d, every byte', (position) => {
    for (let at = 0; at < 64; at++) {
      const disk = saved({ term: 3, vote: 1 }, { term: 4, vote: 2 });
      disk.flipBit(PATH, position + at, at % 8);
      expect(open(disk).state, `byte ${at}`).toEqual({ term: 4, vote: 2 });
      disk.flipBit(PATH, 4096 - position + 30, 1);
      expect(open(disk).state, 'the first slot was repaired').toEqual({ term: 4, vote: 2 });
    }
  });

  test.each([0, 4096])('what was reported stands in both slots: %d may rot at once', (position) => {
    for (let seed = 1; seed <= 100; seed++) {
      const disk = new SimulatedDisk({ seed });
      const file = open(disk);
      let reported = 0;
      file.save({ term: 3, vote: 1 }, () => {
        reported = 3;
      });
      while (reported === 0) disk.step();
      disk.crash('power');
      disk.flipBit(PATH, position + 32, seed % 8);
      expect(open(disk).state, `seed ${seed}`).toEqual({ term: 3, vote: 1 });
    }
  });

  test('refuses when both are damaged, empty or of another directory', () => {
    const disk = saved({ term: 3, vote: 1 });
    disk.flipBit(PATH, 30, 1);
    disk.flipBit(PATH, 4096 + 30, 1);
    const before = disk.contents(PATH);
    expect(() => open(disk)).toThrow(DamageError);
    expect(disk.contents(PATH)).toEqual(before);
    disk.plant(PATH, new Uint8Array(0));
    expect(() => open(disk)).toThrow(/vote twice/);
    const other = new Uint8Array(16).fill(8);
    const options = { disk: saved({ term: 1, vote: 1 }), directory: '/d', identity: other };
    expect(() => HardStateFile.open({ ...options, onFailure: () => {} })).toThrow(
      /another data directory/,
    );
  });

  test('a repair that is cut short has not touched the good slot', () => {
    for (let seed = 1; seed <= 100; seed++) {
      const disk = new SimulatedDisk({ seed });
      const first = open(disk);
      first.save({ term: 3, vote: 1 }, () => {});
      disk.settle();
      disk.flipBit(PATH, 4096 + 30, 1);
      disk.failNext('fdatasync', 'EIO');
      expect(() => open(disk)).toThrow();
      disk.crash('power');
      expect(open(disk).state).toEqual({ term: 3, vote: 1 });
    }
  });

  test('a vote is never changed, a term never lowered', () => {
    const file = open(saved({ term: 3, vote: 1 }));
    expect(() => file.save({ term: 3, vote: 2 }, () => {})).toThrow(/cannot follow/);
    expect(() => file.save({ term: 2, vote: 1 }, () => {})).toThrow(/cannot follow/);
    file.save({ term: 3, vote: 1 }, () => {});
  });

  test('a failed sync is reported once, and nothing is reported durable after it', () => {
    const disk = new SimulatedDisk({ seed: 1 });
    const failures: DiskError[] = [];
    const file = open(disk, failures);
    disk.failNext('fdatasync', 'EIO');
    file.save({ term: 1, vote: 1 }, () => expect.unreachable());
    file.save({ term: 2, vote: 1 }, () => expect.unreachable());
    disk.settle();
    expect(failures.map((error) => error.code)).toEqual(['EIO']);
    expect(() => file.save({ term: 9, vote: 0 }, () => {})).toThrow(/failed before/);
  });
});

test('500 seeds of crashes forget no vote', () => {
  for (let seed = 1; seed <= 500; seed++) {
    const random = new SeededRandom(seed);
    const disk = new SimulatedDisk({ seed: seed + 1_000_000 });
    let durable = 0;
    let asked = 0;
    for (let life = 0; life < 4; life++) {
      const file = open(disk);
      const term = file.state?.term ?? 0;
      expect(term, `seed ${seed}`).toBeGreaterThanOrEqual(durable);
      expect(term, `seed ${seed}`).toBeLessThanOrEqual(asked);
      if (term > 0) expect(file.state?.vote, `seed ${seed}`).toBe(term % 5);
      asked = durable = term;
      for (let step = random.below(30); step > 0; step--) {
        if (random.chance(0.3)) {
          const next = ++asked;
          file.save({ term: next, vote: next % 5 }, () => {
            durable = Math.max(durable, next);
          });
        } else if (random.chance(0.05)) {
          disk.failNext('fdatasync', 'EIO');
          break;
        } else {
          disk.step();
        }
      }
      for (let steps = random.below(4); steps > 0; steps--) disk.step();
      disk.crash(random.chance(0.7) ? 'power' : 'process');
    }
  }
});
