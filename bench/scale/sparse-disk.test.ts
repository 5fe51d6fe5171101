/**
 * Goal: nobody can tell a file of the sparse disk from one that was written whole, and its zeros
 * take no space. Method: random writes of zeros and letters, cuts and reopenings, against a plain
 * array of bytes; then one long run of zeros, and what the file system says that it takes.
 */
import { lstatSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RealDisk } from '@svc/storage';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SparseDisk } from './sparse-disk.js';

const STEPS = 60;
const BYTES_MAX = 60_000;

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'sparse-'));
});

afterEach(() => {
  rmSync(directory, { recursive: true });
});

test.each([1, 2, 3, 4, 5, 6, 7, 8])('a file holds what was written, seed %i', async (seed) => {
  const below = generator(seed);
  const disk = new SparseDisk(new RealDisk());
  const path = join(directory, 'file');
  let file = disk.openSync(path, 'create');
  let model = new Uint8Array();
  for (let step = 0; step < STEPS; step++) {
    const act = below(10);
    if (act === 0) {
      model = model.slice(0, below(model.length + 1));
      file.truncateSync(model.length);
    } else if (act === 1) {
      file.closeSync();
      file = disk.openSync(path, 'write');
    } else {
      const position = below(model.length + 1);
      const buffers = Array.from({ length: 1 + below(3) }, () => someBytes(below));
      model = written(model, buffers, position);
      if (act < 4) file.writeSync(Buffer.concat(buffers), position);
      else if (act < 7) await new Promise((done) => file.writeSynced(buffers, position, done));
      else await new Promise((done) => file.write(buffers, position, done));
    }
    expect(file.sizeSync()).toBe(model.length);
    const stored = new Uint8Array(model.length);
    expect(file.readSync(stored, 0)).toBe(model.length);
    expect(Buffer.compare(stored, model), `step ${step}`).toBe(0);
  }
  file.closeSync();
  expect(lstatSync(path).size).toBe(model.length);
});

test('zeros take no space', () => {
  const disk = new SparseDisk(new RealDisk());
  const path = join(directory, 'file');
  const file = disk.openSync(path, 'create');
  file.writeSync(Buffer.from('head'), 0);
  file.writeSync(Buffer.alloc(8 << 20), 4);
  file.writeSync(Buffer.from('tail'), (8 << 20) + 4);
  file.closeSync();
  const { size, blocks } = lstatSync(path);
  expect(size).toBe((8 << 20) + 8);
  expect(blocks * 512).toBeLessThan(64 << 10);
});

/** Mostly one long run of zeros, with letters before, behind or in place of it. */
function someBytes(below: (end: number) => number): Buffer {
  const letters = () => Buffer.alloc(below(3) === 0 ? below(9000) : below(3), 0x61);
  const zeros = Buffer.alloc(below(3) === 0 ? 0 : below(BYTES_MAX / 3));
  return Buffer.concat([letters(), zeros, letters()]);
}

function written(model: Uint8Array, buffers: readonly Uint8Array[], position: number) {
  const bytes = Buffer.concat(buffers);
  const result = new Uint8Array(Math.max(model.length, position + bytes.length));
  result.set(model);
  result.set(bytes, position);
  return result;
}

function generator(seed: number): (end: number) => number {
  let state = seed * 0x9e3779b1;
  return (end) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x297a2d39) >>> 0;
    state ^= state >>> 12;
    return (state >>> 0) % end;
  };
}
