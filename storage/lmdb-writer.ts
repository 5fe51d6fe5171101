/**
 * The thread that writes checkpoints to LMDB. A transaction has to be made in one go, and 100,000
 * rows take a quarter of a second: on the event loop that would be a pause, on a thread of its own
 * it is none. The loop only packs rows, at 0.3 us each.
 *
 * The program of the thread is text because it has to load from the sources under test and from the
 * build alike. It gets chunks of packed rows (packed-rows.ts), then `{ commit: true }`, answers
 * with `{ error }`, and ends on `{ close: true }`. `transactionSync` returns when data and then
 * meta page are synced; that is what the answer means.
 */
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import type { RootDatabaseOptionsWithPath } from 'lmdb';
import { assert } from './faults.js';
import { DELETED_LENGTH } from './packed-rows.js';

const PROGRAM = `
const { parentPort, workerData } = require('node:worker_threads');
const { open } = require(workerData.library);
const database = open(workerData.options);
let chunks = [];

function apply(bytes) {
  const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < chunk.length; ) {
    const keyEnd = at + 6 + chunk.readUInt16LE(at);
    const length = chunk.readUInt32LE(at + 2);
    const key = chunk.subarray(at + 6, keyEnd);
    if (length === ${DELETED_LENGTH}) database.remove(key);
    else database.put(key, chunk.subarray(keyEnd, keyEnd + length));
    at = length === ${DELETED_LENGTH} ? keyEnd : keyEnd + length;
  }
}

function commit() {
  try {
    database.transactionSync(() => {
      for (const chunk of chunks) apply(chunk);
    });
    return { error: null };
  } catch (error) {
    return { error: String(error.message), code: String(error.code) };
  } finally {
    chunks = [];
  }
}

parentPort.on('message', (message) => {
  if (message instanceof Uint8Array) chunks.push(message);
  else if (message.commit) parentPort.postMessage(commit());
  else database.close().then(() => parentPort.close());
});
`;

/** The answer of the thread. */
interface Answer {
  readonly error: string | null;
  readonly code?: string;
}

export class CommitError extends Error {
  readonly code: string;

  constructor(code: string, what: string) {
    super(`the checkpoint could not be stored: ${what} (${code})`);
    this.name = 'CommitError';
    this.code = code;
  }
}

export class LmdbWriter {
  readonly #worker: Worker;
  #done: ((error: Error | null) => void) | null = null;
  #ended: Error | null = null;

  constructor(options: RootDatabaseOptionsWithPath) {
    const library = createRequire(import.meta.url).resolve('lmdb');
    this.#worker = new Worker(PROGRAM, {
      eval: true,
      workerData: { library, options },
      execArgv: [],
    });
    // Only a commit under way keeps the process alive.
    this.#worker.unref();
    this.#worker.on('message', (answer: Answer) => this.#finish(errorOf(answer)));
    this.#worker.on('error', (error) => this.#end(error));
    this.#worker.on('exit', () => this.#end(new CommitError('EXITED', 'its thread has ended')));
  }

  /** Takes the buffer of the chunk over. */
  send(chunk: Uint8Array): void {
    this.#worker.postMessage(chunk, [chunk.buffer as ArrayBuffer]);
  }

  /** Makes all that was sent since the last commit durable, or none of it. */
  commit(done: (error: Error | null) => void): void {
    assert(this.#done === null, 'one commit at a time');
    this.#done = done;
    this.#worker.ref();
    if (this.#ended !== null) setImmediate(() => this.#finish(this.#ended));
    else this.#worker.postMessage({ commit: true });
  }

  #finish(error: Error | null): void {
    this.#worker.unref();
    const done = this.#done;
    this.#done = null;
    if (done !== null) done(error);
  }

  #end(error: Error): void {
    this.#ended ??= error;
    this.#finish(this.#ended);
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

function errorOf({ error, code }: Answer): Error | null {
  return error === null ? null : new CommitError(code ?? 'UNKNOWN', error);
}
