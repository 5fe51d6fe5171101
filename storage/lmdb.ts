/**
 * The backing on LMDB, and the only file besides its writer thread that knows the library. One
 * environment with one database; reads on the event loop, writes on the thread.
 *
 * `overlappingSync` is off: with it a commit is reported before it is on the medium, and a
 * checkpoint that claims an applied position must be durable first.
 */
import { crc32 } from 'node:zlib';
import { open, type RootDatabase, type RootDatabaseOptionsWithPath } from 'lmdb';
import {
  type Applied,
  type Backing,
  type BackingFigures,
  type BackingRow,
  type BackingTransaction,
  NOTHING_APPLIED,
} from './backing.js';
import type { Disk } from './disk.js';
import { assert, DamageError } from './faults.js';
import { verifyLmdb } from './lmdb-verify.js';
import { LmdbWriter } from './lmdb-writer.js';
import { FORMAT_VERSION, getU64, IDENTITY_BYTES, putU64, sameBytes, viewOf } from './log-format.js';
import { PackedRows } from './packed-rows.js';

const FILE_NAME = 'state.mdb';
const LOCK_SUFFIX = '-lock';
/** Below the keys of all tables, whose ids begin at 1. */
const APPLIED_KEY = '\0';
const APPLIED_BYTES = 40;
/** Address space, not memory or disk: large enough never to be mapped anew under a reader. */
const MAP_BYTES_STANDARD = 2 ** 38;
/** The library's limit with its page size of 4 KiB; the engine's own limits are far below. */
const KEY_BYTES_MAX = 1978;

const ADVICE =
  'Nothing was changed. Stop this node, move the state directory away and start it again: the ' +
  'state is rebuilt from the log';

export interface LmdbOptions {
  readonly disk: Disk;
  /** For the state alone; created when missing. */
  readonly directory: string;
  /** 16 bytes: the directory id. */
  readonly identity: Uint8Array;
  /** The most that the file may grow to; 256 GiB unless given. */
  readonly mapBytes?: number;
}

/**
 * Verifies the file before the library maps it. Throws DamageError when it cannot be trusted, and
 * DiskError. The caller holds the directory's lock.
 */
export function openLmdb(options: LmdbOptions): Backing {
  const { disk, directory, identity } = options;
  const path = `${directory}/${FILE_NAME}`;
  disk.makeDirectorySync(directory);
  const existed = disk.existsSync(path);
  if (existed) verifyFile(disk, path);
  // The table of readers of a process that is gone; no other process is there.
  if (disk.existsSync(path + LOCK_SUFFIX)) disk.removeSync(path + LOCK_SUFFIX);
  const settings: RootDatabaseOptionsWithPath = {
    path,
    noSubdir: true,
    encoding: 'binary',
    mapSize: options.mapBytes ?? MAP_BYTES_STANDARD,
    maxDbs: 1,
    overlappingSync: false,
  };
  const database = open<Buffer, string>({ ...settings, keyEncoder: latin1Keys });
  if (!existed) disk.syncDirectorySync(directory);
  let applied: Applied;
  try {
    applied = readApplied(database, path, identity);
  } catch (error) {
    void database.close();
    throw error;
  }
  const startWriter = () => new LmdbWriter({ ...settings, keyEncoding: 'binary' });
  return new LmdbBacking(path, identity, database, startWriter, applied);
}

function verifyFile(disk: Disk, path: string): void {
  const file = disk.openSync(path, 'read');
  try {
    // A file that was created but never written to: the library starts it anew.
    if (file.sizeSync() > 0) verifyLmdb(file, ADVICE);
  } finally {
    file.closeSync();
  }
}

const latin1Keys = {
  writeKey: (key: string, target: Buffer, position: number): number =>
    position + target.write(key, position, 'latin1'),
  readKey: (source: Buffer, start: number, end: number): string =>
    source.toString('latin1', start, end),
};

/** version(4) identity(16) index(8) term(8) crc(4) */
function encodeApplied(identity: Uint8Array, applied: Applied): Uint8Array {
  const bytes = new Uint8Array(APPLIED_BYTES);
  const view = viewOf(bytes);
  view.setUint32(0, FORMAT_VERSION, true);
  bytes.set(identity, 4);
  putU64(view, 20, applied.index);
  putU64(view, 28, applied.term);
  view.setUint32(36, crc32(bytes.subarray(0, 36)), true);
  return bytes;
}

function readApplied(
  database: RootDatabase<Buffer, string>,
  path: string,
  identity: Uint8Array,
): Applied {
  const damage = (code: string, what: string) => new DamageError(code, path, 0, what, ADVICE);
  const bytes = database.getBinary(APPLIED_KEY);
  if (bytes === undefined) {
    const [row] = database.getRange({ start: '\x01', limit: 1 });
    if (row === undefined) return NOTHING_APPLIED;
    throw damage('state_applied', 'it has rows, but not the log position that they belong to');
  }
  const view = viewOf(bytes);
  const valid =
    bytes.length === APPLIED_BYTES && crc32(bytes.subarray(0, 36)) === view.getUint32(36, true);
  if (!valid) throw damage('state_applied', 'its log position is not what was written');
  const version = view.getUint32(0, true);
  if (version !== FORMAT_VERSION) {
    throw damage('state_format_version', `format version ${version} is not one this program reads`);
  }
  if (!sameBytes(bytes.subarray(4, 4 + IDENTITY_BYTES), identity)) {
    throw damage('state_foreign', 'it belongs to another data directory');
  }
  return { index: getU64(view, 20), term: getU64(view, 28) };
}

class LmdbBacking implements Backing {
  readonly path: string;
  readonly #identity: Uint8Array;
  readonly #database: RootDatabase<Buffer, string>;
  readonly #startWriter: () => LmdbWriter;
  /** Started by the first transaction. */
  #writer: LmdbWriter | null = null;
  #applied: Applied;

  constructor(
    path: string,
    identity: Uint8Array,
    database: RootDatabase<Buffer, string>,
    startWriter: () => LmdbWriter,
    applied: Applied,
  ) {
    this.path = path;
    this.#identity = identity;
    this.#database = database;
    this.#startWriter = startWriter;
    this.#applied = applied;
  }

  get applied(): Applied {
    return this.#applied;
  }

  get(key: string): Uint8Array | undefined {
    return this.#database.getBinary(key);
  }

  range(from: string, to: string | null, limit: number, reverse: boolean): BackingRow[] {
    const bounds = reverse
      ? { ...(to !== null && { start: to }), exclusiveStart: true, end: from, inclusiveEnd: true }
      : { start: from, ...(to !== null && { end: to }) };
    const rows: BackingRow[] = [];
    for (const { key, value } of this.#database.getRange({ ...bounds, limit, reverse })) {
      rows.push({ key, value });
    }
    return rows;
  }

  begin(): BackingTransaction {
    this.#writer ??= this.#startWriter();
    const writer = this.#writer;
    const rows = new PackedRows((chunk) => writer.send(chunk));
    return {
      put: (key, value) => {
        assert(key.length <= KEY_BYTES_MAX, `a key of ${key.length} bytes is too long`);
        rows.add(key, value);
      },
      delete: (key) => rows.add(key, null),
      commit: (applied, done) => {
        rows.add(APPLIED_KEY, encodeApplied(this.#identity, applied));
        rows.flush();
        writer.commit((error) => {
          // Reads go on in the snapshot they began with until they are told.
          this.#database.resetReadTxn();
          if (error === null) this.#applied = applied;
          done(error);
        });
      },
    };
  }

  figures(): BackingFigures {
    const stats = this.#database.getStats() as Partial<Record<string, number>>;
    const { pageSize, lastPageNumber } = stats;
    return {
      mapBytes: stats.mapSize ?? null,
      usedBytes:
        pageSize === undefined || lastPageNumber === undefined
          ? null
          : pageSize * (lastPageNumber + 1),
      readersInUse: stats.numReaders ?? null,
      maxReaders: stats.maxReaders ?? null,
    };
  }

  async close(): Promise<void> {
    await this.#writer?.close();
    await this.#database.close();
  }
}
