/**
 * Decompresses what clients have compressed with zstd, beside the loop (state-surfaces 3.4).
 *
 * The job: a payload of a megabyte may come compressed, and its bytes are wanted.
 *
 * Why it is hard: a payload can be made to cost anything. The frame header names a size that is
 * allocated, a block of four bytes can stand for two megabytes, and ten bytes can describe a block
 * with a hundred thousand matches of sixty-five thousand bytes each, seconds of work, that the
 * library carries out before it looks at what came of it.
 *
 * What must hold:
 * - Declared sizes and windows are judged before anything is decompressed (zstd-frames.ts). Frames
 *   are decompressed block by block, and given up when there is too much.
 * - It runs in a thread of its own, one payload at a time. One that takes longer than JOB_MS_MAX
 *   is refused, and its thread ended with it. Nobody waits longer than WAIT_MS_MAX and one job.
 * - Tenants take turns, each with its oldest, and a full line loses what the tenant with the most
 *   in it sent last: whoever sends payloads that take long waits for them itself, and others for
 *   one of them.
 * - What cannot be decompressed is 'corrupt'; the contract makes an empty payload of it. The
 *   library compares no checksums: of a frame with a flipped bit only the length is known to be
 *   right.
 *
 * Rejected: decompressing on the loop, in slices between blocks: one block can hold it for seconds.
 */
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import { zstdFrames } from './zstd-frames.js';

export type Decompressed = Uint8Array | 'corrupt' | 'too-large' | 'too-slow' | 'overloaded';

export type DecompressedDone = (result: Decompressed) => void;

/** The longest payload takes about 0.2 s, and twice that where the machine is busy. */
export const JOB_MS_MAX = 1000;
const WAIT_MS_MAX = 10_000;
/** Those that wait hold a body each, which was admitted by its bytes. */
const WAITING_MAX = 1024;

/** Runs in the thread: plain JavaScript, for it is started from a text. */
const PROGRAM = `
const { parentPort, workerData } = require('node:worker_threads');
const { Decompress } = require(workerData.library);

function decompress(payload, declaredBytes, bytesMax) {
  const chunks = [];
  let bytes = 0;
  const stream = new Decompress((chunk) => {
    bytes += chunk.length;
    if (bytes > bytesMax) throw 'too-large';
    chunks.push(chunk.slice());
  });
  stream.push(payload, true);
  if (declaredBytes !== null && bytes !== declaredBytes) throw 'corrupt';
  return Buffer.concat(chunks, bytes);
}

parentPort.on('message', ({ payload, declaredBytes, bytesMax }) => {
  let result;
  try {
    result = decompress(payload, declaredBytes, bytesMax);
  } catch (error) {
    result = error === 'too-large' ? error : 'corrupt';
  }
  if (typeof result === 'string') parentPort.postMessage(result);
  else {
    const own = new Uint8Array(result);
    parentPort.postMessage(own, [own.buffer]);
  }
});
`;

interface Job {
  readonly payload: Uint8Array;
  /** null: it does not say. */
  readonly declaredBytes: number | null;
  readonly bytesMax: number;
  readonly done: DecompressedDone;
  readonly tenant: string;
  readonly sinceMs: number;
}

export class Zstd {
  readonly #nowMs: () => number;
  #worker: Worker | null = null;
  /** What waits, by tenant: whose turn is next stands first. No list is empty. */
  readonly #lines = new Map<string, Job[]>();
  #waiting = 0;
  /** Under way; with a timer. */
  #running: Job | null = null;
  #timer: NodeJS.Timeout | null = null;

  /** `nowMs` is monotonic. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** `done` runs once, in this call when it is plain what comes of it. */
  decompress(tenant: string, payload: Uint8Array, bytesMax: number, done: DecompressedDone): void {
    const frames = zstdFrames(payload);
    if (frames === null) done('corrupt');
    else if (Math.max(frames.declaredBytes ?? 0, frames.windowBytes) > bytesMax) done('too-large');
    else {
      const { declaredBytes } = frames;
      this.#add({ payload, declaredBytes, bytesMax, done, tenant, sinceMs: this.#nowMs() });
      if (this.#waiting > WAITING_MAX) this.#dropOne();
      if (this.#running === null) this.#next();
    }
  }

  /** Jobs that are under way get no answer. */
  stop(): void {
    this.#lines.clear();
    this.#waiting = 0;
    this.#running = null;
    this.#end();
  }

  #add(job: Job): void {
    const line = this.#lines.get(job.tenant);
    if (line === undefined) this.#lines.set(job.tenant, [job]);
    else line.push(job);
    this.#waiting++;
  }

  /** The newest of the longest line; of lines alike, of the one whose turn is last. */
  #dropOne(): void {
    let longest: readonly [string, Job[]] | null = null;
    for (const entry of this.#lines) {
      if (longest === null || entry[1].length >= longest[1].length) longest = entry;
    }
    if (longest === null) return;
    const [tenant, line] = longest;
    const job = line.pop();
    if (line.length === 0) this.#lines.delete(tenant);
    this.#waiting--;
    job?.done('overloaded');
  }

  #next(): void {
    this.#dropOld();
    const first = this.#lines.entries().next().value;
    if (first === undefined || this.#running !== null) return;
    const [tenant, line] = first;
    const job = line.shift();
    this.#waiting--;
    if (line.length === 0) this.#lines.delete(tenant);
    if (job !== undefined) this.#start(job);
  }

  /** In each line the oldest stands first. */
  #dropOld(): void {
    const fromMs = this.#nowMs() - WAIT_MS_MAX;
    let dropped: readonly Job[] = [];
    for (const [tenant, line] of this.#lines) {
      const kept = line.findIndex(({ sinceMs }) => sinceMs >= fromMs);
      if (kept === 0) continue;
      dropped = dropped.concat(line.splice(0, kept < 0 ? line.length : kept));
      if (line.length === 0) this.#lines.delete(tenant);
    }
    this.#waiting -= dropped.length;
    for (const { done } of dropped) done('overloaded');
  }

  #start(job: Job): void {
    const { payload, declaredBytes, bytesMax } = job;
    this.#running = job;
    this.#worker ??= this.#newWorker();
    // A copy: the payload may share its memory with others.
    this.#worker.postMessage({ payload: payload.slice(), declaredBytes, bytesMax });
    this.#timer = setTimeout(() => {
      this.#end();
      this.#finish('too-slow');
    }, JOB_MS_MAX);
  }

  #newWorker(): Worker {
    const library = createRequire(import.meta.url).resolve('fzstd');
    const worker = new Worker(PROGRAM, { eval: true, workerData: { library }, execArgv: [] });
    // Whoever waits for it has a connection, which keeps the process alive.
    worker.unref();
    worker.on('message', (result: Decompressed) => {
      if (worker === this.#worker) this.#finish(result);
    });
    worker.on('error', () => this.#lost(worker));
    worker.on('exit', () => this.#lost(worker));
    return worker;
  }

  /** The thread has ended by itself, out of memory or worse. */
  #lost(worker: Worker): void {
    if (worker !== this.#worker) return;
    this.#end();
    if (this.#running !== null) this.#finish('corrupt');
  }

  #end(): void {
    const worker = this.#worker;
    this.#worker = null;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    worker?.terminate();
  }

  #finish(result: Decompressed): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const job = this.#running;
    if (job === null) return;
    this.#running = null;
    this.#turnOver(job.tenant);
    job.done(result);
    if (this.#running === null) this.#next();
  }

  /** Whoever has waited meanwhile comes before what the tenant has sent since. */
  #turnOver(tenant: string): void {
    const line = this.#lines.get(tenant);
    if (line === undefined) return;
    this.#lines.delete(tenant);
    this.#lines.set(tenant, line);
  }
}
