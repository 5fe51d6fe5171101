/**
 * Goal: what only the store on disk has to do: stores of an earlier version, a map that is full,
 * marks, and a node that dies again and again. Method: directed cases on real files, with tiny maps
 * and planted files.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { open as openLibrary } from 'lmdb';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DamageError, StateFullError } from '../../disk/faults.js';
import { RealDisk } from '../../disk/real.js';
import type { Backing } from '../backing.js';
import { checksummedRow } from '../row.js';
import { type LmdbOptions, openLmdb } from './lmdb.js';

const LOCAL = 20;
let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'lmdb-'));
});

afterEach(() => rmSync(directory, { recursive: true }));

const path = () => join(directory, 'state.mdb');

function open(options: Partial<LmdbOptions> = {}): Backing {
  const identity = new Uint8Array(16).fill(3);
  return openLmdb({ disk: new RealDisk(), directory, identity, localTables: [LOCAL], ...options });
}

function commit(backing: Backing, index: number, from: number, count: number): Promise<unknown> {
  const transaction = backing.begin();
  for (let i = from; i < from + count; i++) {
    const key = `${i % 4 === 0 ? String.fromCharCode(LOCAL) : '\x01'}${i}`;
    transaction.put(key, checksummedRow(key, new Uint8Array(500).fill(i)));
  }
  return new Promise((resolve) => transaction.commit({ index, term: 1 }, resolve));
}

const count = (backing: Backing) => backing.range('\x01', null, 1e6, false).length;

test('a store of the version without digests gets them when it is opened', async () => {
  const backing = open();
  await commit(backing, 1, 0, 300);
  const { digest, localDigest } = backing.applied;
  await backing.close();
  const database = openLibrary<Buffer, Buffer>({
    path: path(),
    noSubdir: true,
    encoding: 'binary',
    keyEncoding: 'binary',
    overlappingSync: false,
  });
  const key = Buffer.from([0]);
  const row = database.getBinary(key) ?? Buffer.alloc(0);
  const old = Buffer.alloc(40);
  row.copy(old, 0, 0, 36);
  old.writeUInt32LE(1, 0);
  old.writeUInt32LE(crc32(old.subarray(0, 36)), 36);
  database.transactionSync(() => void database.put(key, old));
  await database.close();
  const again = open();
  expect(again.applied).toEqual({ index: 1, term: 1, digest, localDigest });
  expect(again.snapshot()?.applied).toEqual(again.applied);
  await commit(again, 2, 300, 10);
  const newer = again.applied;
  expect(newer.digest).not.toBe(digest);
  await again.close();
  const last = open();
  expect(last.applied).toEqual(newer);
  await last.close();
});

test('a full map is named with its sizes; a larger one goes on where it was', async () => {
  let backing = open({ mapBytes: 1 << 20 });
  let error: unknown = null;
  let index = 0;
  while (error === null) {
    index++;
    expect(index).toBeLessThan(200);
    error = await commit(backing, index, index * 100, 100);
  }
  expect(error).toBeInstanceOf(StateFullError);
  expect(String(error)).toMatch(/1048576 bytes of SVC_RAFT_MAP_BYTES.*such as 2097152/);
  expect(index).toBeGreaterThan(10);
  const { applied } = backing;
  expect(applied.index).toBe(index - 1);
  // It stays so: nothing more is written.
  expect(await commit(backing, index, 0, 1)).toBeInstanceOf(StateFullError);
  await backing.close();
  backing = open({ mapBytes: 1 << 20 });
  expect(backing.applied).toEqual(applied);
  await backing.close();
  backing = open({ mapBytes: 2 << 20 });
  expect(backing.applied).toEqual(applied);
  expect(count(backing)).toBe((index - 1) * 100);
  expect(await commit(backing, index, index * 100, 100)).toBeNull();
  await backing.close();
  expect(() => open({ mapBytes: 1 << 19 })).toThrow(StateFullError);
});

test('a marked store is refused, with the reason', async () => {
  const backing = open();
  await commit(backing, 1, 0, 10);
  backing.markDamaged('its digest differs from that of the others');
  await backing.close();
  expect(() => open()).toThrow(/its digest differs from that of the others/);
  expect(() => open()).toThrow(DamageError);
});

test('a store that is refused is left as it is', async () => {
  const backing = open();
  await commit(backing, 1, 0, 10);
  await backing.close();
  const before = readdirSync(directory);
  expect(() => open({ identity: new Uint8Array(16).fill(4) })).toThrow(/another data directory/);
  expect(() => open({ mapBytes: 8192 })).toThrow(StateFullError);
  expect(readdirSync(directory)).toEqual(before);
  writeFileSync(join(directory, 'lives'), '1');
  expect(() => open({ identity: new Uint8Array(16).fill(4) })).toThrow(/another data directory/);
  expect(readFileSync(join(directory, 'lives'), 'utf8')).toBe('1');
});

test('after two lives without a stop all of it is read, once', async () => {
  const lives = () => readFileSync(join(directory, 'lives'), 'utf8');
  const reports: string[] = [];
  const report = (text: string) => reports.push(text);
  const backing = open({ report });
  await commit(backing, 1, 0, 10);
  expect(lives()).toBe('1');
  await backing.close();
  expect(existsSync(join(directory, 'lives'))).toBe(false);
  // A small store is read as a whole each time, which begins the count anew.
  writeFileSync(join(directory, 'lives'), '1');
  let next = open({ report });
  expect([lives(), reports.length]).toEqual(['1', 0]);
  await next.close();
  for (const text of ['2', '17', 'garbage']) {
    writeFileSync(join(directory, 'lives'), text);
    next = open({ report });
    expect([lives(), reports.length]).toEqual(['1', 1]);
    reports.length = 0;
    await next.close();
  }
});
