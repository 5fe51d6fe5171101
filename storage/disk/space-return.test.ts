/**
 * Goal: a removed file is given back little by little, never before its name is durably gone, and
 * whole or at once where that is asked for. Method: a simulated disk with files of several
 * portions, whose size is watched through a descriptor of the test's own; power losses at every
 * step of it, under seeds that a failure names.
 */
import { expect, test } from 'vitest';
import { SimulatedDisk } from '../testing/simulated-disk.js';
import type { DiskError } from './faults.js';
import { SpaceReturn } from './space-return.js';

const MIB = 1 << 20;
const NOT_READ = () => false;

class Fixture {
  readonly disk: SimulatedDisk;
  readonly failures: DiskError[] = [];
  readonly space: SpaceReturn;

  constructor(seed = 1) {
    this.disk = new SimulatedDisk({ seed });
    this.disk.makeDirectorySync('/d');
    this.space = new SpaceReturn(this.disk, '/d', (error) => this.failures.push(error));
  }

  remove(name: string, isRead = NOT_READ): { readonly done: boolean } {
    const state = { done: false };
    this.space.remove(`/d/${name}`, isRead, (error) => {
      expect(error).toBeNull();
      state.done = true;
    });
    return state;
  }
}

test('the name goes at once, the file a portion a step', () => {
  const { disk, space, remove } = bound(new Fixture());
  disk.plant('/d/f', new Uint8Array(3 * MIB + 5));
  const reader = disk.openSync('/d/f', 'read');
  const state = remove('f');
  disk.settle();
  expect([state.done, disk.existsSync('/d/f')]).toEqual([true, false]);
  const sizes: number[] = [];
  for (let step = 0; step < 5; step++) {
    sizes.push(reader.sizeSync());
    space.step();
    space.step();
    disk.settle();
  }
  expect(sizes).toEqual([3 * MIB + 5, 2 * MIB + 5, MIB + 5, 5, 0]);
  expect(space.bytes).toBe(0);
  reader.closeSync();
  expect(disk.openFiles).toBe(0);
});

test('as much goes as was written since the step before', () => {
  const { disk, space, remove } = bound(new Fixture());
  disk.plant('/d/f', new Uint8Array(9 * MIB));
  space.wrote(7 * MIB);
  space.step();
  remove('f');
  disk.settle();
  space.wrote(MIB);
  space.wrote(2 * MIB);
  space.step();
  disk.settle();
  expect(space.bytes).toBe(6 * MIB);
  space.step();
  disk.settle();
  expect(space.bytes).toBe(5 * MIB);
});

test('a loss of power finds the whole file or none', () => {
  const found = new Set<string>();
  for (let seed = 1; seed <= 200; seed++) {
    const { disk, space, remove } = bound(new Fixture(seed));
    disk.plant('/d/f', new Uint8Array(3 * MIB));
    const state = remove('f');
    for (let steps = seed % 7; steps > 0; steps--) {
      space.step();
      disk.step();
    }
    const wasDone = state.done;
    disk.crash('power');
    const size = disk.existsSync('/d/f') ? disk.contents('/d/f').length : 0;
    found.add(`${wasDone} ${size / MIB}`);
  }
  expect(found).toEqual(new Set(['false 3', 'false 0', 'true 0']));
});

test('a file that is being read is left to its reader', () => {
  const { disk, space, remove } = bound(new Fixture());
  disk.plant('/d/f', new Uint8Array(3 * MIB));
  const reader = disk.openSync('/d/f', 'read');
  remove('f', () => true);
  disk.settle();
  expect([space.bytes, reader.sizeSync(), disk.openFiles]).toEqual([0, 3 * MIB, 1]);
});

test('in a hurry, all of it goes without a step, and what is removed meanwhile', () => {
  const { disk, space, remove } = bound(new Fixture());
  for (const name of ['a', 'b', 'c']) disk.plant(`/d/${name}`, new Uint8Array(9 * MIB));
  remove('a');
  remove('b');
  disk.settle();
  space.step();
  space.hurry();
  const state = remove('c');
  let emptied = false;
  space.empty(() => {
    emptied = true;
  });
  expect(emptied).toBe(false);
  const { syncs } = disk;
  disk.settle();
  // One for the portion under way, one for the rest of each file, one more for the directory.
  expect(disk.syncs - syncs).toBe(4);
  expect([state.done, emptied, space.bytes, disk.openFiles]).toEqual([true, true, 0, 0]);
  space.empty(() => {
    emptied = false;
  });
  expect(emptied).toBe(false);
});

test('so many files wait at most; a small one never does', () => {
  const { disk, remove } = bound(new Fixture());
  disk.plant('/d/small', new Uint8Array(MIB));
  remove('small');
  disk.settle();
  expect(disk.openFiles).toBe(0);
  for (let i = 0; i < 70; i++) {
    disk.plant(`/d/${i}`, new Uint8Array(MIB + 1));
    remove(`${i}`);
    disk.settle();
  }
  expect([disk.openFiles, disk.paths()]).toEqual([64, []]);
});

test('a cut that fails is told, and the file let go', () => {
  for (const operation of ['truncate', 'fdatasync'] as const) {
    const { disk, space, remove, failures } = bound(new Fixture());
    disk.plant('/d/f', new Uint8Array(3 * MIB));
    remove('f');
    disk.settle();
    disk.failNext(operation, 'EIO');
    space.step();
    disk.settle();
    expect(failures.map(({ code }) => code)).toEqual(['EIO']);
    expect([space.bytes, disk.openFiles]).toEqual([0, 0]);
  }
});

function bound(fixture: Fixture) {
  const { disk, space, failures } = fixture;
  const remove = (name: string, isRead = NOT_READ) => fixture.remove(name, isRead);
  return { disk, space, failures, remove };
}
