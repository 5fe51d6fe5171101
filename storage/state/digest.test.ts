/**
 * Goal: the digest of a store is that of its rows and of nothing else: not of their order, nor of
 * how they were divided over transactions; and any change of a row changes it. Method: random
 * transactions on both backings, of which the digests after each are compared with one computed
 * from all rows, and at the end with that of a store that was filled in another way; then single
 * changes, and pairs of changes that the checksums of rows alone would not tell.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { RealDisk } from '../disk/real.js';
import { SeededRandom } from '../testing/random.js';
import { SimulatedBacking } from '../testing/simulated-backing.js';
import { type Applied, type Backing, NO_ROWS_DIGEST } from './backing.js';
import { RowsDigest } from './digest.js';
import { openLmdb } from './lmdb/lmdb.js';
import { checksummedRow } from './row.js';

const LOCAL = 20;
let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'digest-'));
});

afterEach(() => rmSync(directory, { recursive: true }));

function lmdb(name: string): Backing {
  return openLmdb({
    disk: new RealDisk(),
    directory: join(directory, name),
    identity: new Uint8Array(16),
    localTables: [LOCAL],
  });
}

function simulated(): Backing {
  const defer = (run: () => void) => void setImmediate(run);
  return new SimulatedBacking({ seed: 1, localTables: [LOCAL], defer });
}

type Rows = ReadonlyMap<string, Uint8Array | null>;

function commit(backing: Backing, index: number, rows: Rows): Promise<unknown> {
  const transaction = backing.begin();
  for (const [key, value] of rows) {
    if (value === null) transaction.delete(key);
    else transaction.put(key, value);
  }
  return new Promise((resolve) => transaction.commit({ index, term: 1 }, resolve));
}

function computed(backing: Backing): Pick<Applied, 'digest' | 'localDigest'> {
  const replicated = new RowsDigest(NO_ROWS_DIGEST);
  const local = new RowsDigest(NO_ROWS_DIGEST);
  for (const { key, value } of backing.range('\x01', null, 1e6, false)) {
    (key.charCodeAt(0) === LOCAL ? local : replicated).add(value);
  }
  return { digest: `${replicated}`, localDigest: `${local}` };
}

function randomRows(random: SeededRandom): Map<string, Uint8Array | null> {
  const rows = new Map<string, Uint8Array | null>();
  for (let i = random.below(60); i > 0; i--) {
    const table = [1, 7, LOCAL, 255][random.below(4)] ?? 1;
    const key = String.fromCharCode(table, random.below(40), 200 + random.below(3));
    const row = random.bytes([0, 3, 40, 9000][random.below(4)] ?? 0);
    rows.set(key, random.chance(0.3) ? null : checksummedRow(key, row));
  }
  return rows;
}

describe.each([
  ['LMDB', lmdb],
  ['simulated', simulated],
])('%s', (_name, open) => {
  test('is that of all rows after any transactions, and after a restart', async () => {
    for (let seed = 1; seed <= 4; seed++) {
      const random = new SeededRandom(seed);
      let backing = open(`seed ${seed}`);
      const content = new Map<string, Uint8Array>();
      for (let index = 1; index <= 25; index++) {
        const rows = randomRows(random);
        await commit(backing, index, rows);
        for (const [key, value] of rows) {
          if (value === null) content.delete(key);
          else content.set(key, value);
        }
        expect(backing.applied, `seed ${seed}`).toEqual({ index, term: 1, ...computed(backing) });
        if (index % 10 !== 0 || backing instanceof SimulatedBacking) continue;
        const before = backing.applied;
        await backing.close();
        backing = open(`seed ${seed}`);
        expect(backing.applied, `seed ${seed}`).toEqual(before);
      }
      const other = open(`other ${seed}`);
      const entries = [...content].reverse();
      const middle = random.below(entries.length);
      await commit(other, 1, new Map(entries.slice(0, middle)));
      await commit(other, 25, new Map(entries.slice(middle)));
      expect(other.applied, `seed ${seed}`).toEqual(backing.applied);
      expect(other.applied.digest).not.toBe(NO_ROWS_DIGEST);
      await other.close();
      await backing.close();
    }
  });

  test('a row that is changed, missing or added shows, in the digest of its kind', async () => {
    const random = new SeededRandom(5);
    const backing = open('one');
    const rows = new Map<string, Uint8Array>();
    for (let i = 0; i < 50; i++) {
      const key = String.fromCharCode(i % 2 === 0 ? 1 : LOCAL, i);
      rows.set(key, checksummedRow(key, random.bytes(20)));
    }
    await commit(backing, 1, rows);
    const { digest, localDigest } = backing.applied;
    const keys = [...rows.keys(), '\x01new', `${String.fromCharCode(LOCAL)}new`];
    for (const key of keys) {
      const whole = rows.get(key) ?? null;
      const changes = whole === null ? [random.bytes(9)] : [random.bytes(20), null];
      for (const change of changes) {
        const value = change === null ? null : checksummedRow(key, change);
        await commit(backing, 2, new Map([[key, value]]));
        const isLocal = key.charCodeAt(0) === LOCAL;
        expect(backing.applied.digest === digest).toBe(isLocal);
        expect(backing.applied.localDigest === localDigest).toBe(!isLocal);
        await commit(backing, 3, new Map([[key, whole]]));
        expect(backing.applied).toMatchObject({ digest, localDigest });
      }
    }
    await backing.close();
  });
});

test('the same bits wrong in two rows of one length show', () => {
  const random = new SeededRandom(6);
  const missed = { sum: 0, both: 0 };
  for (let round = 0; round < 20_000; round++) {
    const [one, two] = [random.bytes(16), random.bytes(16)];
    const before = digestOf([one, two]);
    const at = random.below(16);
    const bits = 1 + random.below(255);
    for (const row of [one, two]) row[at] = (row[at] ?? 0) ^ bits;
    const after = digestOf([one, two]);
    if (after.slice(0, 8) === before.slice(0, 8)) missed.sum++;
    if (after === before) missed.both++;
  }
  expect(missed).toEqual({ sum: 0, both: 0 });
});

function digestOf(rows: readonly Uint8Array[]): string {
  const digest = new RowsDigest(NO_ROWS_DIGEST);
  for (const row of rows) digest.add(checksummedRow('\x01key', row));
  return digest.toString();
}
