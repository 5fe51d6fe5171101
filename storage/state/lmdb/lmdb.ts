/**
 * The backing on LMDB, and the only file besides its writer thread and its view that knows the
 * library. One environment with one database; reads on the event loop, writes on the thread.
 *
 * `overlappingSync` is off: with it a commit is reported before it is on the medium, and a
 * checkpoint that claims an applied position must be durable first.
 */
import { open, type RootDatabase, type RootDatabaseOptionsWithPath } from 'lmdb';
import type { Disk } from '../../disk/disk.js';
import { assert, DamageError, DiskError, StateFullError } from '../../disk/faults.js';
import {
  type Applied,
  type Backing,
  type BackingFigures,
  type BackingRow,
  type BackingTransaction,
  type BackingView,
  NO_ROWS_DIGEST,
  NOTHING_APPLIED,
  VIEWS_MAX,
} from '../backing.js';
import { RowsDigest } from '../digest.js';
import { PackedRows } from '../packed-rows.js';
import {
  APPLIED_KEY,
  decodeApplied,
  encodeAppliedHead,
  isOf,
  type StoredApplied,
} from './applied.js';
import { LmdbMarks } from './marks.js';
import { verifyLmdb } from './verify.js';
import { LmdbView } from './view.js';
import { LmdbWriter } from './writer.js';

const FILE_NAME = 'state.mdb';
const LOCK_SUFFIX = '-lock';
/** Address space, not memory or disk: large enough never to be mapped anew under a reader. */
const MAP_BYTES_STANDARD = 2 ** 38;
/** The library's limit with its page size of 4 KiB; the engine's own limits are far below. */
const KEY_BYTES_MAX = 1978;
/** What the library says of a file whose pages contradict each other. */
const CORRUPTION_CODES = new Set([-30797, -30796, -30795, -30793, -30782, -30779]);
const REPORTED_ROWS = 1_000_000;

const ADVICE =
  'Nothing was changed. Stop this node, move the state directory away and start it again: the ' +
  'state is rebuilt from the log, or taken from another node';

export interface LmdbOptions {
  readonly disk: Disk;
  /** For the state alone; created when missing. */
  readonly directory: string;
  /** 16 bytes: the directory id. */
  readonly identity: Uint8Array;
  /** Ids of the tables that stay out of `digest`. */
  readonly localTables: readonly number[];
  /** The most that the file may grow to; 256 GiB unless given. */
  readonly mapBytes?: number;
  /** Told of what takes long, for the operator who waits. */
  readonly report?: (text: string) => void;
}

type Database = RootDatabase<Buffer, string>;

/**
 * Verifies the file before the library maps it. Throws DamageError when it cannot be trusted,
 * StateFullError when it is larger than it may be, and DiskError. The caller holds the directory's
 * lock.
 */
export function openLmdb(options: LmdbOptions): Backing {
  const { disk, directory } = options;
  const path = `${directory}/${FILE_NAME}`;
  disk.makeDirectorySync(directory);
  const marks = new LmdbMarks(disk, directory);
  const reason = marks.damage();
  if (reason !== null) throw new DamageError('state_marked', path, 0, reason, ADVICE);
  const existed = disk.existsSync(path);
  const isVerified = existed && verifyFile(options, path, marks.suspicious);
  // The table of readers of a process that is gone; no other process is there.
  if (disk.existsSync(path + LOCK_SUFFIX)) disk.removeSync(path + LOCK_SUFFIX);
  const undo = marks.begin(isVerified);
  const settings: RootDatabaseOptionsWithPath = {
    path,
    noSubdir: true,
    encoding: 'binary',
    mapSize: options.mapBytes ?? MAP_BYTES_STANDARD,
    maxDbs: 1,
    overlappingSync: false,
  };
  const database = guarded(path, () =>
    open<Buffer, string>({ ...settings, keyEncoder: latin1Keys }),
  );
  if (!existed) disk.syncDirectorySync(directory);
  try {
    const mapBytesMax = mapBytesOf(database, path, options);
    const applied = guarded(path, () => openApplied(database, path, options));
    const startWriter = (from: Applied) =>
      new LmdbWriter({
        path,
        options: { ...settings, keyEncoding: 'binary' },
        mapBytesMax,
        appliedKey: APPLIED_KEY,
        applied: from,
        localTables: options.localTables,
      });
    return new LmdbBacking(path, options.identity, database, startWriter, applied, marks);
  } catch (error) {
    void database.close();
    undo();
    throw error;
  }
}

/** True when everything in it was looked at. */
function verifyFile(options: LmdbOptions, path: string, suspicious: boolean): boolean {
  if (suspicious) {
    options.report?.(`${path}: this node ended without a stop more than once: reading all of it`);
  }
  const file = options.disk.openSync(path, 'read');
  try {
    // A file that was created but never written to: the library starts it anew.
    if (file.sizeSync() === 0) return true;
    const { localTables } = options;
    return verifyLmdb({ file, advice: ADVICE, localTables, everything: suspicious });
  } catch (error) {
    if (!(error instanceof DiskError) || error.code !== 'EIO') throw error;
    throw new DamageError('state_unreadable', path, 0, error.message, ADVICE);
  } finally {
    file.closeSync();
  }
}

interface Stats {
  readonly mapSize: number;
  readonly pageSize: number;
  readonly lastPageNumber: number;
  readonly numReaders: number;
  readonly maxReaders: number;
}

function statsOf(database: Database): Stats {
  return database.getStats() as Stats;
}

function usedBytesOf({ pageSize, lastPageNumber }: Stats): number {
  return pageSize * (lastPageNumber + 1);
}

/** The library maps what is there whatever size it was asked for. */
function mapBytesOf(database: Database, path: string, options: LmdbOptions): number {
  const wanted = options.mapBytes ?? MAP_BYTES_STANDARD;
  const stats = statsOf(database);
  if (usedBytesOf(stats) > wanted) throw new StateFullError(path, wanted);
  return stats.mapSize;
}

/** A fault of the library that means a damaged file becomes one of ours. */
function guarded<Result>(path: string, run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? Number(error.code) : 0;
    if (!CORRUPTION_CODES.has(code)) throw error;
    throw new DamageError('state_page', path, 0, `the library says: ${String(error)}`, ADVICE);
  }
}

const latin1Keys = {
  writeKey: (key: string, target: Buffer, position: number): number =>
    position + target.write(key, position, 'latin1'),
  readKey: (source: Buffer, start: number, end: number): string =>
    source.toString('latin1', start, end),
};

function openApplied(database: Database, path: string, options: LmdbOptions): Applied {
  const bytes = database.getBinary(APPLIED_KEY);
  if (bytes === undefined) {
    const [row] = database.getRange({ start: '\x01', limit: 1 });
    if (row === undefined) return NOTHING_APPLIED;
    const what = 'it has rows, but not the log position that they belong to';
    throw new DamageError('state_applied', path, 0, what, ADVICE);
  }
  const stored = appliedOf(bytes, path);
  if (!isOf(stored, options.identity)) {
    throw new DamageError('state_foreign', path, 0, 'it belongs to another data directory', ADVICE);
  }
  const { index, term } = stored;
  return { index, term, ...(stored.digests ?? computeDigests(database, path, options)) };
}

function appliedOf(bytes: Uint8Array, path: string): StoredApplied {
  const stored = decodeApplied(bytes);
  if (!('problem' in stored)) return stored;
  if (stored.problem === 'damaged') {
    const what = 'its log position is not what was written';
    throw new DamageError('state_applied', path, 0, what, ADVICE);
  }
  const what = `format version ${stored.version} is not one this program reads`;
  throw new DamageError('state_format_version', path, 0, what, ADVICE);
}

/** Reads every row, once in the life of a store that an earlier version wrote. */
function computeDigests(
  database: Database,
  path: string,
  options: LmdbOptions,
): Pick<Applied, 'digest' | 'localDigest'> {
  const digests = [new RowsDigest(NO_ROWS_DIGEST), new RowsDigest(NO_ROWS_DIGEST)] as const;
  let count = 0;
  for (const { key, value } of database.getRange({ start: '\x01' })) {
    digests[options.localTables.includes(key.charCodeAt(0)) ? 1 : 0].add(value);
    count++;
    if (count % REPORTED_ROWS === 0) {
      options.report?.(`${path}: read ${count} rows for the digest that it does not have yet`);
    }
  }
  return { digest: digests[0].toString(), localDigest: digests[1].toString() };
}

interface RangeBounds {
  readonly start?: string;
  readonly end?: string;
  readonly exclusiveStart?: boolean;
  readonly inclusiveEnd?: boolean;
}

class LmdbBacking implements Backing {
  readonly path: string;
  readonly #identity: Uint8Array;
  readonly #database: Database;
  readonly #startWriter: (applied: Applied) => LmdbWriter;
  readonly #marks: LmdbMarks;
  readonly #views = new Set<LmdbView>();
  /** Started by the first transaction. */
  #writer: LmdbWriter | null = null;
  #applied: Applied;

  constructor(
    path: string,
    identity: Uint8Array,
    database: Database,
    startWriter: (applied: Applied) => LmdbWriter,
    applied: Applied,
    marks: LmdbMarks,
  ) {
    this.path = path;
    this.#identity = identity;
    this.#database = database;
    this.#startWriter = startWriter;
    this.#applied = applied;
    this.#marks = marks;
  }

  get applied(): Applied {
    return this.#applied;
  }

  get(key: string): Uint8Array | undefined {
    return guarded(this.path, () => this.#database.getBinary(key));
  }

  range(from: string, to: string | null, limit: number, reverse: boolean): BackingRow[] {
    const options = { ...boundsOf(from, to, reverse), limit, reverse };
    const rows: BackingRow[] = [];
    guarded(this.path, () => {
      for (const { key, value } of this.#database.getRange(options)) rows.push({ key, value });
    });
    return rows;
  }

  keys(from: string, to: string | null, limit: number, reverse: boolean): string[] {
    const options = { ...boundsOf(from, to, reverse), limit, reverse };
    const keys: string[] = [];
    guarded(this.path, () => {
      for (const key of this.#database.getKeys(options)) keys.push(key);
    });
    return keys;
  }

  begin(): BackingTransaction {
    this.#writer ??= this.#startWriter(this.#applied);
    const writer = this.#writer;
    const rows = new PackedRows((chunk) => writer.send(chunk));
    return {
      put: (key, value) => {
        assert(key.length <= KEY_BYTES_MAX, `a key of ${key.length} bytes is too long`);
        rows.add(key, value);
      },
      putRow: (table, key, bytes, length) => {
        assert(key.length < KEY_BYTES_MAX, `a key of ${key.length + 1} bytes is too long`);
        rows.addRow(table, key, bytes, length);
      },
      delete: (key) => rows.add(key, null),
      commit: ({ index, term }, done) => {
        rows.flush();
        writer.commit(encodeAppliedHead(this.#identity, { index, term }), (error, digests) => {
          // Reads go on in the snapshot they began with until they are told.
          this.#database.resetReadTxn();
          if (digests !== null) this.#applied = { index, term, ...digests };
          for (const view of this.#views) view.grewOlder();
          done(error);
        });
      },
    };
  }

  snapshot(): BackingView | null {
    if (this.#views.size >= VIEWS_MAX) return null;
    // The library would go on with the transaction of earlier reads in this turn.
    this.#database.resetReadTxn();
    const transaction = this.#database.useReadTransaction();
    // A commit of the thread may be there whose answer is not: what the view holds counts.
    const bytes = this.#database.get(APPLIED_KEY, { transaction });
    const stored = bytes === undefined ? null : appliedOf(bytes, this.path);
    const applied =
      stored === null || stored.digests === null
        ? this.#applied
        : { index: stored.index, term: stored.term, ...stored.digests };
    const view = new LmdbView(this.#database, transaction, applied, (released) =>
      this.#views.delete(released),
    );
    this.#views.add(view);
    return view;
  }

  markDamaged(reason: string): void {
    this.#marks.markDamaged(reason);
  }

  figures(): BackingFigures {
    const stats = statsOf(this.#database);
    return {
      mapBytes: stats.mapSize,
      usedBytes: usedBytesOf(stats),
      readersInUse: stats.numReaders,
      maxReaders: stats.maxReaders,
    };
  }

  async close(): Promise<void> {
    for (const view of this.#views) view.release();
    await this.#writer?.close();
    await this.#database.close();
    this.#marks.end();
  }
}

/** The range of keys with from <= key < to, in the words of the library. */
function boundsOf(from: string, to: string | null, reverse: boolean): RangeBounds {
  return reverse
    ? { ...(to !== null && { start: to }), exclusiveStart: true, end: from, inclusiveEnd: true }
    : { start: from, ...(to !== null && { end: to }) };
}
