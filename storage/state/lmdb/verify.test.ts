/**
 * Goal: a file that was written in order is accepted, and a file with a flipped bit is refused
 * unless the bit means nothing: an accepted file never ends the process, reads as it was written,
 * and can be written to. Method: random workloads, each commit of which is verified, with views
 * open meanwhile; then one file with pages of every kind, of which every bit of both meta pages and
 * thousands of seeded others are flipped. What verification accepts is opened with the library in
 * a process of its own, whose end would be seen, and which reads every row in both ways, writes,
 * and reads again. Failures print the seed or the bit.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DamageError } from '../../disk/faults.js';
import { RealDisk } from '../../disk/real.js';
import { SeededRandom } from '../../testing/random.js';
import type { Backing, BackingView } from '../backing.js';
import { checksummedRow } from '../row.js';
import { openLmdb } from './lmdb.js';
import { verifyLmdb } from './verify.js';

const PAGE_BYTES = 4096;
const META_BYTES = 168;
const META_TRANSACTION_AT = 152;
const META_FREE_ROOT_AT = 88;
const META_BRANCH_PAGES_AT = 104;
const LOCAL = 20;
let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'verify-'));
});

afterEach(() => rmSync(directory, { recursive: true }));

const path = () => join(directory, 'state.mdb');

function open(): Backing {
  const identity = new Uint8Array(16);
  return openLmdb({ disk: new RealDisk(), directory, identity, localTables: [LOCAL] });
}

/** The refusal; null when the file is accepted. */
function verify(file: string, allPagesMax?: number): string | null {
  const opened = new RealDisk().openSync(file, 'read');
  try {
    const options = { file: opened, advice: '', localTables: [LOCAL] };
    const all =
      allPagesMax === undefined
        ? verifyLmdb({ ...options, everything: true })
        : verifyLmdb({ ...options, everything: false, allPagesMax });
    expect(all).toBe(allPagesMax === undefined);
    return null;
  } catch (error) {
    if (!(error instanceof DamageError)) throw error;
    return `${error.code}: ${error.message}`;
  } finally {
    opened.closeSync();
  }
}

interface Load {
  readonly keys: number;
  readonly changes: number;
  readonly deletions: number;
  readonly large: number;
}

function commit(backing: Backing, index: number, random: SeededRandom, load: Load): Promise<void> {
  const transaction = backing.begin();
  for (let i = random.below(load.changes + 1); i > 0; i--) {
    const table = random.chance(0.2) ? LOCAL : random.between(1, 3);
    const key =
      String.fromCharCode(table) + random.below(load.keys).toString(36).padStart(150, '.');
    const length = random.chance(load.large) ? random.below(30_000) : random.below(120);
    if (random.chance(load.deletions)) transaction.delete(key);
    else transaction.put(key, checksummedRow(key, random.bytes(length)));
  }
  return new Promise((resolve, reject) => {
    transaction.commit({ index, term: 1 }, (error) => (error === null ? resolve() : reject(error)));
  });
}

test('random workloads are accepted, also while views are open', { timeout: 240_000 }, async () => {
  for (let seed = 1; seed <= 2; seed++) {
    rmSync(path(), { force: true });
    const random = new SeededRandom(seed);
    let backing = open();
    const views: BackingView[] = [];
    for (let index = 1; index <= 60; index++) {
      const load = {
        keys: 1 + random.below(4000),
        changes: random.chance(0.2) ? 2000 : 60,
        deletions: random.below(10) / 10,
        large: random.chance(0.5) ? 0 : 0.1,
      };
      await commit(backing, index, random, load);
      expect(verify(path()), `seed ${seed}, commit ${index}`).toBeNull();
      const turn = random.below(10);
      const view = turn === 0 ? backing.snapshot() : null;
      if (view !== null) views.push(view);
      if (turn === 1) views.shift()?.release();
      if (turn !== 2) continue;
      views.length = 0;
      await backing.close();
      backing = open();
    }
    await backing.close();
  }
});

test('a flipped bit is refused, or means nothing', { timeout: 240_000 }, async () => {
  const random = new SeededRandom(77);
  const before = await makeFile(random);
  const whole = readFileSync(path());
  expect(verify(path())).toBeNull();
  const seen = kindsOf(whole);
  expect(Object.keys(seen).sort()).toEqual(['branch', 'leaf', 'meta', 'never written', 'overflow']);
  const flips: number[] = [];
  for (let bit = 0; bit < META_BYTES * 8; bit++) flips.push(bit, PAGE_BYTES * 8 + bit);
  const pages = whole.length / PAGE_BYTES;
  for (let i = 0; i < 1500; i++) {
    // Half of them where a page says what it is and where its rows are.
    const at = random.chance(0.5) ? random.below(64) : random.below(PAGE_BYTES);
    flips.push((random.below(pages) * PAGE_BYTES + at) * 8 + random.below(8));
  }
  const isAccepted = (bit: number) => {
    writeFileSync(path(), flipped(whole, bit));
    return verify(path()) === null;
  };
  const accepted = flips.filter(isAccepted);
  // The older meta page, free pages, and room between rows are most of what means nothing.
  expect(accepted.length).toBeLessThan(flips.length * 0.7);
  const reader = new Reader();
  // One bit makes the older meta page the newer one: that is the state of one commit before.
  const expected = [await reader.read(whole), await reader.read(before)];
  expect(expected.join()).toMatch(/^[0-9a-f]{64},[0-9a-f]{64}$/);
  const older = flipped(whole, (PAGE_BYTES + META_TRANSACTION_AT) * 8 + 1);
  expect(await reader.read(older)).toBe(expected[1]);
  // All that is accepted among the random ones would take minutes.
  const read = Array.from({ length: 80 }, () => accepted[random.below(accepted.length)] ?? 0);
  // Lists of free pages fill the end of a page.
  const lists = newerMeta(whole).getUint32(META_FREE_ROOT_AT, true) * PAGE_BYTES;
  const inLists = Array.from({ length: 600 }, () => lists * 8 + random.below(PAGE_BYTES * 8));
  for (const bit of [...read, ...inLists.filter(isAccepted).slice(0, 60)]) {
    expect(expected, `bit ${bit}`).toContain(await reader.read(flipped(whole, bit)));
  }
  reader.end();
});

test('of a large file, what leads to rows is looked at', async () => {
  await makeFile(new SeededRandom(78));
  const whole = readFileSync(path());
  const view = new DataView(whole.buffer, whole.byteOffset, whole.byteLength);
  const looked = { branch: 0, leaf: 0 };
  const refused = { branch: 0, leaf: 0 };
  for (let page = 2; page < whole.length / PAGE_BYTES; page++) {
    const at = page * PAGE_BYTES;
    const kind = view.getUint16(at + 18, true) === 1 ? 'branch' : 'leaf';
    if (view.getUint16(at + 18, true) > 2 || view.getUint32(at, true) !== page) continue;
    // The first letters of the second key, past the head of its node.
    const node = at + 24 + view.getUint16(at + 26, true);
    const bytes = new Uint8Array(whole);
    bytes.fill(0xff, node + 8, node + 12);
    writeFileSync(path(), bytes);
    looked[kind]++;
    if (verify(path(), 1) !== null) refused[kind]++;
  }
  // The others are free by now, and the last separator of the last branch has nothing above it.
  const used = newerMeta(whole).getUint32(META_BRANCH_PAGES_AT, true);
  expect(used).toBeGreaterThan(5);
  expect(refused.branch).toBeGreaterThanOrEqual(used - 1);
  expect([looked.leaf > 100, refused.leaf]).toEqual([true, 0]);
});

/** With pages of all kinds, some of them free; what it was before the last commit is returned. */
async function makeFile(random: SeededRandom): Promise<Uint8Array> {
  const backing = open();
  const fill = { keys: 500, changes: 2000, deletions: 0, large: 0.01 };
  const change = { keys: 500, changes: 120, deletions: 0.5, large: 0.05 };
  await commit(backing, 1, random, fill);
  let before = new Uint8Array(0);
  for (let index = 2; index <= 6; index++) {
    before = new Uint8Array(readFileSync(path()));
    await commit(backing, index, random, change);
  }
  await backing.close();
  return before;
}

function newerMeta(bytes: Uint8Array): DataView {
  const [first, second] = [0, PAGE_BYTES].map((at) => {
    return new DataView(bytes.buffer, bytes.byteOffset + at, META_BYTES);
  }) as [DataView, DataView];
  const isFirst =
    first.getUint32(META_TRANSACTION_AT, true) > second.getUint32(META_TRANSACTION_AT, true);
  return isFirst ? first : second;
}

function kindsOf(bytes: Uint8Array): Readonly<Record<string, number>> {
  const names = new Map([
    [1, 'branch'],
    [2, 'leaf'],
    [4, 'overflow'],
    [8, 'meta'],
  ]);
  const counts: Record<string, number> = {};
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < bytes.length; at += PAGE_BYTES) {
    const isOwn = view.getUint32(at, true) === at / PAGE_BYTES;
    const kind = isOwn ? names.get(view.getUint16(at + 18, true)) : undefined;
    const name = kind ?? 'never written';
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

function flipped(whole: Uint8Array, bit: number): Uint8Array {
  const bytes = new Uint8Array(whole);
  bytes[bit >>> 3] = (bytes[bit >>> 3] ?? 0) ^ (1 << (bit & 7));
  return bytes;
}

/** Opens the file whose path it is given and answers with a digest of all that it sees. */
const READER = `
const { createHash } = require('node:crypto');
const { open } = require(process.argv[1]);
const settings = { noSubdir: true, encoding: 'binary', keyEncoding: 'binary', maxDbs: 1,
  mapSize: 2 ** 30, overlappingSync: false };

function look(database, hash) {
  const keys = [];
  for (const { key, value } of database.getRange({ start: Buffer.from([1]) })) {
    keys.push(Buffer.from(key));
    hash.update(key).update(value);
  }
  for (const key of keys) hash.update(database.get(key) ?? 'missing');
  return keys;
}

async function visit(path) {
  const hash = createHash('sha256');
  const database = open({ ...settings, path });
  for (let round = 0; round < 3; round++) {
    const keys = look(database, hash);
    database.transactionSync(() => {
      keys.forEach((key, i) => {
        if (i % 5 === round) database.remove(key);
        if (i % 7 === round) database.put(key, Buffer.alloc((i * 37) % 9000, i));
      });
      for (let i = 0; i < 50; i++) {
        database.put(Buffer.from('\\x05' + i), Buffer.alloc(i * 100, round));
      }
    });
  }
  look(database, hash);
  await database.close();
  return hash.digest('hex');
}

process.on('message', (path) => {
  visit(path).then((digest) => process.send(digest), (error) => process.send(String(error)));
});
`;

class Reader {
  #child: ReturnType<typeof spawn> | null = null;

  /** Its digest; or how the process ended, or what the library said. */
  read(bytes: Uint8Array): Promise<string> {
    writeFileSync(path(), bytes);
    rmSync(`${path()}-lock`, { force: true });
    this.#child ??= spawn(process.execPath, ['-e', READER, library()], {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    const child = this.#child;
    return new Promise((resolve) => {
      const onExit = (code: number | null, signal: string | null) => {
        this.#child = null;
        resolve(`ended with ${code ?? signal}`);
      };
      child.once('exit', onExit);
      child.once('message', (answer) => {
        child.off('exit', onExit);
        resolve(String(answer));
      });
      child.send(path());
    });
  }

  end(): void {
    this.#child?.kill();
  }
}

function library(): string {
  return createRequire(import.meta.url).resolve('lmdb');
}
