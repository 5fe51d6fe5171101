/**
 * Goal: a checkpoint that may not fit on the volume is refused before any of it is written, the
 * store stays what it was and can be closed, and with room again the next one is stored. Method: a
 * real store on a real file system of a few MiB, which the test fills to some pages.
 */
import { type Backing, CommitError, checksummedRow, openLmdb, RealDisk } from '@svc/storage';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openPrivateVolume, type PrivateVolume, volumesWork } from '../cluster/private-volume.js';
import { type TemporaryDirectory, temporaryDirectory } from './node-under-test.js';

const MEBIBYTES = 8;
const ROWS = 500;
const ROW_BYTES = 500;
/** Some pages, but fewer than the rows of a checkpoint take. */
const LEFT_BYTES = 48 << 10;

const reason = await volumesWork();
let directory: TemporaryDirectory;
let volume: PrivateVolume;
let backing: Backing;

function open(): Backing {
  const identity = new Uint8Array(16).fill(3);
  const disk = new RealDisk();
  return openLmdb({ disk, directory: volume.outsidePath, identity, localTables: [] });
}

beforeEach(async () => {
  if (reason !== null) return;
  directory = temporaryDirectory();
  volume = await openPrivateVolume(directory.path, MEBIBYTES);
  backing = open();
});

afterEach(async () => {
  if (reason !== null) return;
  await backing.close();
  await volume.close();
  directory.remove();
});

const keyOf = (number: number) => `\x01${String(number).padStart(6, '0')}`;

function commit(index: number, from: number): Promise<unknown> {
  const transaction = backing.begin();
  for (let i = from; i < from + ROWS; i++) {
    transaction.put(keyOf(i), checksummedRow(keyOf(i), new Uint8Array(ROW_BYTES).fill(i)));
  }
  return new Promise((resolve) => transaction.commit({ index, term: 1 }, resolve));
}

const stored = () => backing.range('\x01', null, 1e6, false).length;

test.runIf(reason !== null)('a volume without room', (context) => {
  console.log(`skipped: ${reason}`);
  context.skip();
});

test.runIf(reason === null)('a checkpoint without room is refused, not begun', async () => {
  expect(await commit(1, 0)).toBeNull();
  const { applied } = backing;
  volume.fill(LEFT_BYTES);
  for (const from of [0, ROWS]) {
    const error = await commit(2, from);
    expect(error).toBeInstanceOf(CommitError);
    expect(error).toMatchObject({ code: 'ENOSPC' });
    expect(String(error)).toMatch(/: \d+ bytes are free on the volume, \d+ may be needed/);
  }
  expect(backing.applied).toEqual(applied);
  expect(stored()).toBe(ROWS);
  // Nothing was written: the space that was left still is.
  expect(volume.freeBytes()).toBeGreaterThanOrEqual(LEFT_BYTES);
  await backing.close();
  backing = open();
  expect(backing.applied).toEqual(applied);
  volume.free();
  expect(await commit(2, ROWS)).toBeNull();
  expect(stored()).toBe(2 * ROWS);
  await backing.close();
  backing = open();
  expect(backing.applied.index).toBe(2);
  expect(stored()).toBe(2 * ROWS);
});
