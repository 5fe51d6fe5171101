/**
 * Goal: LMDB and the simulated backing keep the same promises. Method: one table of cases against
 * both, keys over all 256 bytes, random transactions beside a plain map; then what only LMDB does:
 * restarts and damaged files.
 */
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DamageError } from '../disk/faults.js';
import { RealDisk } from '../disk/real.js';
import { SeededRandom } from '../testing/random.js';
import { SimulatedBacking } from '../testing/simulated-backing.js';
import { type Backing, NOTHING_APPLIED } from './backing.js';
import { openLmdb } from './lmdb/lmdb.js';
import { checksummedRow } from './row.js';

const IDENTITY = new Uint8Array(16).fill(7);
/** The id of the table whose rows are a node's own. */
const LOCAL = 20;
let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'backing-'));
});

afterEach(() => rmSync(directory, { recursive: true }));

function lmdb(identity = IDENTITY): Backing {
  return openLmdb({ disk: new RealDisk(), directory, identity, localTables: [LOCAL] });
}

function simulated(): Backing {
  const defer = (run: () => void) => void setImmediate(run);
  return new SimulatedBacking({ seed: 1, localTables: [LOCAL], defer });
}

type Rows = { readonly [key: string]: string | null };

function commit(backing: Backing, index: number, rows: Rows): Promise<void> {
  const transaction = backing.begin();
  for (const [key, value] of Object.entries(rows)) {
    if (value === null) transaction.delete(key);
    else transaction.put(key, checksummedRow(key, new Uint8Array(Buffer.from(value, 'latin1'))));
  }
  return new Promise((resolve, reject) => {
    transaction.commit({ index, term: 1 }, (error) => (error ? reject(error) : resolve()));
  });
}

/** Without its checksum. */
const text = (bytes: Uint8Array | undefined) =>
  bytes === undefined ? undefined : Buffer.from(bytes.subarray(4)).toString('latin1');

function range(
  backing: Backing,
  from: string,
  to: string | null,
  limit = 1000,
  reverse = false,
): string[] {
  const rows = backing.range(from, to, limit, reverse);
  const keys = rows.map(({ key }) => key);
  expect(backing.keys(from, to, limit, reverse), 'the same rows by their keys').toEqual(keys);
  return rows.map(({ key, value }) => `${key}=${text(value)}`);
}

describe.each([
  ['LMDB', lmdb],
  ['simulated', simulated],
])('%s', (_name, open) => {
  let backing: Backing;

  beforeEach(() => {
    backing = open();
  });

  afterEach(() => backing.close());

  test('takes rows without their checksums, and copies them, as it takes values', async () => {
    const shared = new Uint8Array(5000);
    const rows = new Map<string, string>();
    const transaction = backing.begin();
    for (const length of [0, 1, 63, 64, 65, 400, 5000]) {
      for (const key of ['', 'a', `\x80\xff\x00${length}`, 'k'.repeat(200)]) {
        const row = `${length}${key}`.padEnd(length, '.').slice(0, length);
        shared.fill(0).set(Buffer.from(row, 'latin1'));
        transaction.putRow(LOCAL, `${length}${key}`, shared, length);
        rows.set(`${String.fromCharCode(LOCAL)}${length}${key}`, row);
      }
    }
    await new Promise<void>((resolve, reject) => {
      transaction.commit({ index: 1, term: 1 }, (error) => (error ? reject(error) : resolve()));
    });
    for (const [key, row] of rows) {
      const value = backing.get(key) as Uint8Array;
      expect(new Uint8Array(value)).toEqual(
        checksummedRow(key, new Uint8Array(Buffer.from(row, 'latin1'))),
      );
    }
    const whole = Object.fromEntries(rows);
    const { localDigest } = backing.applied;
    await commit(backing, 2, whole);
    expect(backing.applied.localDigest).toBe(localDigest);
  });

  test('starts empty', () => {
    expect(backing.applied).toEqual(NOTHING_APPLIED);
    expect(backing.get('\x01a')).toBeUndefined();
    expect(range(backing, '\x01', null)).toEqual([]);
    expect(range(backing, '\x01', null, 5, true)).toEqual([]);
  });

  test('puts, replaces and deletes, with the applied position', async () => {
    await commit(backing, 5, { '\x01a': '1', '\x01b': '2', '\x02': 'empty key' });
    expect(backing.applied).toMatchObject({ index: 5, term: 1 });
    await commit(backing, 9, { '\x01a': null, '\x01b': '3', '\x01none': null, '\x01e': '' });
    expect(backing.applied.index).toBe(9);
    expect(range(backing, '\x01', null)).toEqual(['\x01b=3', '\x01e=', '\x02=empty key']);
    expect(text(backing.get('\x01b'))).toBe('3');
    expect(backing.get('\x01a')).toBeUndefined();
    await commit(backing, 10, {});
    expect(backing.applied.index).toBe(10);
  });

  test('ranges: bounds, limits, both directions', async () => {
    await commit(backing, 1, {
      '\x01a': '1',
      '\x01b': '2',
      '\x01c': '3',
      '\x02a': '4',
      '\xffz': '5',
    });
    expect(range(backing, '\x01b', '\x02')).toEqual(['\x01b=2', '\x01c=3']);
    expect(range(backing, '\x01b', '\x01c')).toEqual(['\x01b=2']);
    expect(range(backing, '\x01bb', null)).toEqual(['\x01c=3', '\x02a=4', '\xffz=5']);
    expect(range(backing, '\x01', null, 2)).toEqual(['\x01a=1', '\x01b=2']);
    expect(range(backing, '\x01a', '\x01c', 9, true)).toEqual(['\x01b=2', '\x01a=1']);
    expect(range(backing, '\x01a', '\x01cc', 2, true)).toEqual(['\x01c=3', '\x01b=2']);
    expect(range(backing, '\x01aa', null, 2, true)).toEqual(['\xffz=5', '\x02a=4']);
    expect(range(backing, '\x01b', '\x01bz', 9, true)).toEqual(['\x01b=2']);
    expect(range(backing, '\x03', '\x04', 9, true)).toEqual([]);
  });

  test('the values of a range are all there at once', async () => {
    const rows: { [key: string]: string } = {};
    for (let i = 100; i < 300; i++) rows[`\x01${i}`] = `value ${i}`.repeat(i % 40);
    await commit(backing, 1, rows);
    const found = range(backing, '\x01', null);
    expect(found).toEqual(Object.entries(rows).map(([key, value]) => `${key}=${value}`));
  });

  test('large values and long keys', async () => {
    const key = `\x01${'k'.repeat(1500)}`;
    await commit(backing, 1, { [key]: 'v'.repeat(1_000_000), '\x01small': 's' });
    expect(text(backing.get(key))?.length).toBe(1_000_000);
    expect(text(backing.get('\x01small'))).toBe('s');
  });

  test('random transactions agree with a map, keys over all bytes', async () => {
    const random = new SeededRandom(4);
    const model = new Map<string, string>();
    const randomKey = () => {
      const length = random.between(1, 3);
      const codes = Array.from({ length }, () => random.below(256));
      return String.fromCharCode(random.between(1, 255), ...codes);
    };
    for (let index = 1; index <= 40; index++) {
      const rows: { [key: string]: string | null } = {};
      for (let i = random.below(200); i > 0; i--) {
        const key = randomKey();
        const value = random.chance(0.3) ? null : 'x'.repeat(random.below(300));
        rows[key] = value;
        if (value === null) model.delete(key);
        else model.set(key, value);
      }
      await commit(backing, index, rows);
      const sorted = [...model.keys()].sort();
      for (let i = 0; i < 20; i++) {
        const [a, b] = [randomKey(), randomKey()].sort() as [string, string];
        const within = sorted
          .filter((key) => key >= a && key < b)
          .map((k) => `${k}=${model.get(k)}`);
        const limit = random.between(1, 30);
        expect(range(backing, a, b, limit)).toEqual(within.slice(0, limit));
        expect(range(backing, a, b, limit, true)).toEqual(within.reverse().slice(0, limit));
      }
    }
    expect(range(backing, '\x01', null, 1e6).length).toBe(model.size);
  });
});

describe('the simulated backing', () => {
  test('crashes to the last durable commit, or to the one under way', async () => {
    const outcomes = new Set<number>();
    for (let seed = 1; seed <= 40; seed++) {
      const backing = new SimulatedBacking({ seed, localTables: [] });
      const first = commit(backing, 1, { '\x01a': '1' });
      while (backing.step());
      await first;
      const transaction = backing.begin();
      transaction.put('\x01a', checksummedRow('\x01a', new Uint8Array([50])));
      transaction.commit({ index: 2, term: 1 }, () => expect.unreachable());
      if (seed % 2 === 0) backing.step();
      backing.crash();
      backing.step();
      outcomes.add(backing.applied.index);
      expect(text(backing.get('\x01a'))).toBe(String(backing.applied.index));
    }
    expect(outcomes).toEqual(new Set([1, 2]));
  });
});

describe('LMDB files', () => {
  const path = () => join(directory, 'state.mdb');

  async function filled(rows: number): Promise<void> {
    const backing = lmdb();
    const random = new SeededRandom(9);
    for (let index = 1; index <= 3; index++) {
      const changes: { [key: string]: string } = {};
      for (let i = 0; i < rows; i++) changes[`\x01${random.bits()}`] = 'v'.repeat(random.below(90));
      changes[`\x01large${index}`] = 'v'.repeat(20_000);
      await commit(backing, index, changes);
    }
    await backing.close();
  }

  function codeOfOpen(identity = IDENTITY): Promise<string> {
    try {
      const backing = lmdb(identity);
      for (const { key } of backing.range('\x01', null, 1e6, false)) backing.get(key);
      return backing.close().then(() => 'opened');
    } catch (error) {
      if (!(error instanceof DamageError)) throw error;
      expect(error.message).toContain('rebuilt from the log');
      return Promise.resolve(error.code);
    }
  }

  test('what was committed is there after a restart', async () => {
    await filled(500);
    const backing = lmdb();
    expect(backing.applied).toMatchObject({ index: 3, term: 1 });
    expect(range(backing, '\x01', null, 1e6).length).toBe(1503);
    await backing.close();
  });

  test('refuses truncated, foreign and strange files, and leaves them as they are', async () => {
    await filled(2000);
    copyFileSync(path(), join(directory, 'copy'));
    const whole = readFileSync(join(directory, 'copy'));
    const codes = new Map<string, string>();
    const attempt = async (name: string, bytes: Uint8Array) => {
      writeFileSync(path(), bytes);
      codes.set(name, await codeOfOpen());
      if (codes.get(name) !== 'opened') expect(statSync(path()).size).toBe(bytes.length);
    };
    await attempt('half', whole.subarray(0, Math.floor(whole.length / 2)));
    await attempt('one meta page', whole.subarray(0, 4096));
    await attempt('a little', whole.subarray(0, 100));
    await attempt('text', new Uint8Array(Buffer.from('hello '.repeat(5000))));
    await attempt('zeros', new Uint8Array(whole.length));
    await attempt('whole', whole);
    expect(Object.fromEntries(codes)).toEqual({
      half: 'state_truncated',
      'one meta page': 'state_truncated',
      'a little': 'state_truncated',
      text: 'state_meta',
      zeros: 'state_meta',
      whole: 'opened',
    });
    expect(await codeOfOpen(new Uint8Array(16).fill(8))).toBe('state_foreign');
  });

  test('an empty file is a fresh start, and so is a stale reader table', async () => {
    writeFileSync(path(), '');
    writeFileSync(`${path()}-lock`, 'garbage'.repeat(1000));
    expect(await codeOfOpen()).toBe('opened');
  });

  test('damaged page headers, node offsets and page numbers are named, not followed', async () => {
    await filled(2000);
    const whole = readFileSync(path());
    const pages = whole.length / 4096;
    const random = new SeededRandom(3);
    let refused = 0;
    for (let page = 0; page < pages; page++) {
      const bytes = Buffer.from(whole);
      bytes.fill(0xff, page * 4096 + 18, page * 4096 + 40);
      writeFileSync(path(), bytes);
      if ((await codeOfOpen()) !== 'opened') refused++;
    }
    // Pages that are free or overflow data are not looked at.
    expect(refused).toBeGreaterThan(pages / 4);
    for (let round = 0; round < 100; round++) {
      const bytes = Buffer.from(whole);
      const at = random.below(bytes.length);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8));
      writeFileSync(path(), bytes);
      await codeOfOpen();
    }
  });
});
