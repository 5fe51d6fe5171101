/**
 * Goal: a view shows the rows and the digests of one moment, in portions, whatever is committed
 * meanwhile; there are only so many, and none lives for ever. Method: one table of cases against
 * both backings; the rows that a view gave are compared with those that were there, and its digests
 * with those of its rows.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { RealDisk } from '../disk/real.js';
import { SeededRandom } from '../testing/random.js';
import { SimulatedBacking } from '../testing/simulated-backing.js';
import {
  type Backing,
  type BackingRow,
  type BackingView,
  NO_ROWS_DIGEST,
  NOTHING_APPLIED,
  VIEW_COMMITS_MAX,
  VIEW_ROWS_MAX,
  VIEWS_MAX,
} from './backing.js';
import { RowsDigest } from './digest.js';
import { openLmdb } from './lmdb/lmdb.js';
import { checksummedRow } from './row.js';

const LOCAL = 20;
let directory: string;
let backing: Backing;

function lmdb(): Backing {
  const identity = new Uint8Array(16);
  return openLmdb({ disk: new RealDisk(), directory, identity, localTables: [LOCAL] });
}

function simulated(): Backing {
  const defer = (run: () => void) => void setImmediate(run);
  return new SimulatedBacking({ seed: 1, localTables: [LOCAL], defer });
}

function commit(index: number, keys: readonly string[], bytes: Uint8Array | null): Promise<void> {
  const transaction = backing.begin();
  for (const key of keys) {
    if (bytes === null) transaction.delete(key);
    else transaction.put(key, checksummedRow(key, bytes));
  }
  return new Promise((resolve, reject) => {
    transaction.commit({ index, term: 1 }, (error) => (error === null ? resolve() : reject(error)));
  });
}

function opened(): BackingView {
  const view = backing.snapshot();
  if (view === null) throw new Error('there is no room for a view');
  return view;
}

/** All rows of the view, read on from `after`. */
function read(view: BackingView, bytesMax: number, after: string | null = null): BackingRow[] {
  const rows: BackingRow[] = [];
  for (let last = after; ; last = rows.at(-1)?.key ?? null) {
    const portion = view.rows(last, bytesMax);
    if (portion === null) throw new Error('the view was given up');
    rows.push(...portion.rows);
    if (portion.isLast) return rows;
    expect(portion.rows.length).toBeGreaterThan(0);
  }
}

const current = () => plain(backing.range('\x01', null, 1e6, false));

function expectWhole(view: BackingView, rows: readonly BackingRow[]): void {
  const digests = [new RowsDigest(NO_ROWS_DIGEST), new RowsDigest(NO_ROWS_DIGEST)] as const;
  for (const { key, value } of rows) digests[key.charCodeAt(0) === LOCAL ? 1 : 0].add(value);
  const { digest, localDigest } = view.applied;
  expect(digests.map(String)).toEqual([digest, localDigest]);
}

/** Rows as text, which is quick to compare. */
const plain = (rows: readonly BackingRow[]) =>
  rows.map(({ key, value }) => `${key}=${Buffer.from(value).toString('latin1')}`);

describe.each([
  ['LMDB', lmdb],
  ['simulated', simulated],
])('%s', (_name, open) => {
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'views-'));
    backing = open();
  });

  afterEach(async () => {
    await backing.close();
    rmSync(directory, { recursive: true });
  });

  test('of an empty store', () => {
    const view = opened();
    expect(view.applied).toEqual(NOTHING_APPLIED);
    expect(view.rows(null, 100)).toEqual({ rows: [], isLast: true });
    view.release();
  });

  test('shows one moment in portions of any size, all tables, while others commit', async () => {
    const random = new SeededRandom(3);
    const keys = Array.from({ length: 900 }, (_, i) => {
      return String.fromCharCode([1, LOCAL, 255][i % 3] ?? 1, random.below(256)) + i;
    });
    await commit(7, keys, random.bytes(30));
    await commit(8, keys.slice(0, 3), random.bytes(50_000));
    const before = current();
    const applied = backing.applied;
    const view = opened();
    for (let index = 9; index < 40; index++) {
      const some = keys.filter(() => random.chance(0.2));
      await commit(index, some, random.chance(0.5) ? null : random.bytes(random.below(300)));
      await commit(index, [`\x02new ${index}`], random.bytes(5));
      const bytesMax = [1, 100, 5000, 1e9][index % 4] ?? 1;
      const from = random.below(before.length);
      const after = before[from]?.slice(0, before[from]?.indexOf('=')) ?? null;
      const rows = plain(read(view, bytesMax, after));
      expect(rows.join()).toBe(before.slice(from + 1).join());
    }
    const rows = read(view, 10_000);
    expect(plain(rows).join()).toBe(before.join());
    expect(view.applied).toEqual(applied);
    expect(backing.applied.index).toBe(39);
    expectWhole(view, rows);
    view.release();
    expect(view.rows(null, 100)).toBeNull();
    const newer = opened();
    expect(newer.applied).toEqual(backing.applied);
    expect(plain(read(newer, 1000)).join()).toBe(current().join());
    newer.release();
  });

  test('portions hold so many rows and bytes', async () => {
    const keys = Array.from({ length: VIEW_ROWS_MAX + 10 }, (_, i) => `\x01${1e6 + i}`);
    await commit(1, keys, new Uint8Array(6));
    const view = opened();
    expect(view.rows(null, 1e9)?.rows.length).toBe(VIEW_ROWS_MAX);
    // Keys of 8 bytes, values of 10.
    expect(view.rows(null, 180)?.rows.length).toBe(10);
    expect(view.rows(keys.at(-1) ?? null, 180)).toEqual({ rows: [], isLast: true });
    expect(view.rows(keys.at(-2) ?? null, 180)?.isLast).toBe(true);
    view.release();
  });

  test('are few, of their own moments, and released by closing', async () => {
    const views: BackingView[] = [];
    for (let index = 1; index <= VIEWS_MAX; index++) {
      await commit(index, [`\x01${index}`], new Uint8Array(1));
      views.push(opened());
      views.push(...(index === 2 ? [opened()] : []));
      if (index === 2) views.pop()?.release();
    }
    expect(backing.snapshot()).toBeNull();
    expect(views.map((view) => view.rows(null, 1e6)?.rows.length)).toEqual([1, 2, 3, 4]);
    views[1]?.release();
    views[1]?.release();
    const again = opened();
    expect(again.rows(null, 1e6)?.rows.length).toBe(4);
    expect(backing.snapshot()).toBeNull();
    await backing.close();
    expect(again.rows(null, 1e6)).toBeNull();
    backing = open();
  });

  test('a view is given up after so many commits', { timeout: 120_000 }, async () => {
    await commit(1, ['\x01a'], new Uint8Array(1));
    const view = opened();
    for (let index = 2; index <= VIEW_COMMITS_MAX; index++) await commit(index, [], null);
    expect(view.rows(null, 100)?.rows.length).toBe(1);
    await commit(VIEW_COMMITS_MAX + 1, [], null);
    expect(view.rows(null, 100)).toBeNull();
    view.release();
    const views = Array.from({ length: VIEWS_MAX }, opened);
    for (const each of views) each.release();
  });
});
