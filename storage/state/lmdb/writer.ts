/**
 * The thread that writes checkpoints to LMDB. A transaction has to be made in one go, and 100,000
 * rows take a quarter of a second: on the event loop that would be a pause, on a thread of its own
 * it is none. The loop only packs rows, at 0.3 us each.
 *
 * The thread also keeps the digests (state/digest.ts): before a row is replaced or deleted, the old
 * one is looked up inside the same transaction. The applied row, with the digests in it, is the
 * last that a transaction puts; so rows, position and digests become durable together.
 *
 * The program of the thread is text because it has to load from the sources under test and from the
 * build alike. It gets chunks of packed rows (packed-rows.ts), then `{ commit }` with the head of
 * the applied row, answers with `{ error }` or the new digests, and ends on `{ close: true }`.
 * `transactionSync` returns when data and then meta page are synced; that is what the answer means.
 *
 * Two things that the library does are kept from it. It lets the file grow past the size that it
 * was opened with, and says nothing. And when a write fails it formats a message that can be longer
 * than the memory it has for it (mdb.c, `last_error = malloc(100)`): a node whose volume was full
 * ended in an abort, in one of ten stops on a busy machine. So a transaction that would outgrow the
 * map, or may not fit on the volume, is aborted before it is written. What it needs is not known
 * before: the rows themselves, a page for each that it puts, unless the file is smaller, and some
 * for the root and the list of free pages are enough; with more than SPARE_BYTES free nobody asks,
 * or large checkpoints would stop a node that has room.
 */
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import type { RootDatabaseOptionsWithPath } from 'lmdb';
import { assert, StateFullError } from '../../disk/faults.js';
import type { Applied } from '../backing.js';
import { DELETED_LENGTH } from '../packed-rows.js';

const PAGE_BYTES = 4096;
const PAGES_BESIDE_ROWS = 16;
const SPARE_BYTES = 64 << 20;

const PROGRAM = `
const { statSync, statfsSync } = require('node:fs');
const { parentPort, workerData } = require('node:worker_threads');
const { crc32 } = require('node:zlib');
const { open } = require(workerData.library);
const database = open(workerData.options);
const appliedKey = Buffer.from(workerData.appliedKey, 'latin1');
const isLocal = new Uint8Array(256);
for (const table of workerData.localTables) isLocal[table] = 1;
// Sum and exclusive or of the replicated rows, then of the local ones.
let digests = Int32Array.from(workerData.digests);
let chunks = [];
// Counters of the transaction under way.
let rows = 0;

function mixForSum(checksum) {
  let mixed = checksum ^ (checksum >>> 16);
  mixed = Math.imul(mixed, 0x45d9f3b);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d);
  return mixed ^ (mixed >>> 16);
}

function mixForExclusive(checksum) {
  let mixed = Math.imul(checksum ^ 0x5bd1e995, 0x297a2d39);
  mixed = Math.imul(mixed ^ (mixed >>> 14), 0x3d4d51cb);
  return mixed ^ (mixed >>> 17);
}

function checksumOf(bytes, at, length) {
  if (length >= 4) return bytes.readInt32LE(at);
  let checksum = 0;
  for (let i = 0; i < length; i++) checksum |= bytes[at + i] << (8 * i);
  return checksum;
}

function count(into, table, checksum, sign) {
  const at = isLocal[table] * 2;
  into[at] += sign * mixForSum(checksum);
  into[at + 1] ^= mixForExclusive(checksum);
}

function apply(bytes, into) {
  const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < chunk.length; ) {
    const keyEnd = at + 6 + chunk.readUInt16LE(at);
    const length = chunk.readUInt32LE(at + 2);
    const key = chunk.subarray(at + 6, keyEnd);
    rows++;
    const old = database.getBinaryFast(key);
    if (old !== undefined) count(into, key[0], checksumOf(old, 0, old.length), -1);
    if (length === ${DELETED_LENGTH}) {
      if (old !== undefined) database.remove(key);
      at = keyEnd;
    } else {
      database.put(key, chunk.subarray(keyEnd, keyEnd + length));
      count(into, key[0], checksumOf(chunk, keyEnd, length), 1);
      at = keyEnd + length;
    }
  }
}

function appliedRow(head, into) {
  const row = Buffer.alloc(head.length + 20);
  row.set(head);
  into.forEach((word, i) => row.writeInt32LE(word, head.length + 4 * i));
  row.writeUInt32LE(crc32(row.subarray(0, -4)), row.length - 4);
  return row;
}

function failure(code, message) {
  return Object.assign(new Error(message), { code });
}

function checkSpace() {
  const { bavail, bsize } = statfsSync(workerData.path);
  const free = bavail * bsize;
  if (free > ${SPARE_BYTES}) return;
  const bytes = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  const replaced = Math.min(rows * ${PAGE_BYTES}, statSync(workerData.path).size);
  const needed = bytes + replaced + ${PAGES_BESIDE_ROWS * PAGE_BYTES};
  if (free >= needed) return;
  throw failure('ENOSPC', free + ' bytes are free on the volume, ' + needed + ' may be needed');
}

function commit(head) {
  const changed = digests.slice();
  rows = 0;
  try {
    database.transactionSync(() => {
      for (const chunk of chunks) apply(chunk, changed);
      database.put(appliedKey, appliedRow(head, changed));
      const { mapSize } = database.getStats();
      if (mapSize > workerData.mapBytesMax) throw failure('MAP_FULL', 'the map is full');
      checkSpace();
    });
    digests = changed;
    return { error: null, digests };
  } catch (error) {
    return { error: String(error.message), code: String(error.code) };
  } finally {
    chunks = [];
  }
}

parentPort.on('message', (message) => {
  if (message instanceof Uint8Array) chunks.push(message);
  else if (message.commit) parentPort.postMessage(commit(message.commit));
  else database.close().then(() => parentPort.close());
});
`;

/** The answer of the thread. */
type Answer =
  | { readonly error: string; readonly code: string }
  | { readonly error: null; readonly digests: Int32Array };

/** What the thread needs to know of the store. */
export interface LmdbWriterOptions {
  readonly path: string;
  readonly options: RootDatabaseOptionsWithPath;
  /** The size of the map when it was opened; it only grows when the file would outgrow it. */
  readonly mapBytesMax: number;
  readonly appliedKey: string;
  readonly applied: Applied;
  readonly localTables: readonly number[];
}

export class CommitError extends Error {
  readonly code: string;

  constructor(code: string, what: string) {
    super(`the checkpoint could not be stored: ${what} (${code})`);
    this.name = 'CommitError';
    this.code = code;
  }
}

export type Digests = Pick<Applied, 'digest' | 'localDigest'>;

export type CommitDone = (error: Error | null, digests: Digests | null) => void;

export class LmdbWriter {
  readonly #options: LmdbWriterOptions;
  readonly #worker: Worker;
  #done: CommitDone | null = null;
  #ended: Error | null = null;

  constructor(options: LmdbWriterOptions) {
    this.#options = options;
    const library = createRequire(import.meta.url).resolve('lmdb');
    const { digest, localDigest } = options.applied;
    this.#worker = new Worker(PROGRAM, {
      eval: true,
      workerData: { ...options, library, digests: wordsOf(digest + localDigest) },
      execArgv: [],
    });
    // Only a commit under way keeps the process alive.
    this.#worker.unref();
    this.#worker.on('message', (answer: Answer) => this.#answered(answer));
    this.#worker.on('error', (error) => this.#end(error));
    this.#worker.on('exit', () => this.#end(new CommitError('EXITED', 'its thread has ended')));
  }

  /** Takes the buffer of the chunk over. */
  send(chunk: Uint8Array): void {
    this.#worker.postMessage(chunk, [chunk.buffer as ArrayBuffer]);
  }

  /** Makes all that was sent since the last commit durable, with the applied row, or none of it. */
  commit(appliedHead: Uint8Array, done: CommitDone): void {
    assert(this.#done === null, 'one commit at a time');
    this.#done = done;
    this.#worker.ref();
    if (this.#ended !== null) setImmediate(() => this.#finish(this.#ended, null));
    else this.#worker.postMessage({ commit: appliedHead });
  }

  #answered(answer: Answer): void {
    if (answer.error === null) {
      const text = [...answer.digests].map(hex).join('');
      this.#finish(null, { digest: text.slice(0, 16), localDigest: text.slice(16) });
      return;
    }
    const { path, mapBytesMax } = this.#options;
    const { error, code } = answer;
    if (code === 'MAP_FULL') this.#finish(new StateFullError(path, mapBytesMax), null);
    else this.#finish(new CommitError(code, error), null);
  }

  #finish(error: Error | null, digests: Digests | null): void {
    this.#worker.unref();
    const done = this.#done;
    this.#done = null;
    if (done !== null) done(error, digests);
  }

  #end(error: Error): void {
    this.#ended ??= error;
    this.#finish(this.#ended, null);
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#ended !== null) {
        resolve();
        return;
      }
      this.#worker.ref();
      this.#worker.once('exit', () => resolve());
      this.#worker.postMessage({ close: true });
    });
  }
}

function wordsOf(digests: string): number[] {
  return (digests.match(/.{8}/g) ?? []).map((word) => Number.parseInt(word, 16) | 0);
}

function hex(word: number): string {
  return (word >>> 0).toString(16).padStart(8, '0');
}
