/**
 * The front threads of a node: they are started, served, watched, started again and stopped here.
 *
 * What must hold:
 * - Ports that no other process has: before the first thread listens, each port is asked for
 *   exclusively, for threads share it in a way that would let another process share it too.
 * - Threads that start together listen together, once all of them can: a client keeps the thread
 *   that it has found, and one that listens alone would get all clients.
 * - A thread that has gone takes its own clients with it and nothing else. Another takes its place,
 *   after a pause that doubles while they do not last. The same holds when the system refuses a
 *   thread: the node goes on with those that it has.
 * - When the process exits, for whatever reason, the threads close their sockets first: Node aborts
 *   a process in which a thread is ended with sockets of the native layer open.
 * - A thread that hangs holds up nobody for ever. A stop gives it up HANGS_MS after the drain: its
 *   requests are left, and the node closes its log and its store in order. When the process exits,
 *   it is waited for END_MS_MAX. If it still has its sockets then, the process ends by SIGKILL, for
 *   the one other end is that abort, with a dump of all memory. Rejected: to end the thread by
 *   force (`terminate`) in the stop, which aborts the process while the node is open.
 * - A thread that hangs while the node runs is told to the log after SILENT_MS. After HANGING_MS
 *   the node ends as by a signal, leadership and the answers of the others first; its supervisor
 *   starts it again. Nothing less helps. Its sockets are in its loop, so neither can its clients be
 *   told nor its listener be closed, and the kernel goes on giving it its part of new connections.
 *   Rejected: a `/health` of 503 alone. Balancers would leave the node, for good; but clients that
 *   reach it directly would hang on, the processor would burn on, a node alone would serve nobody
 *   until somebody came, and a request that hangs a thread would find the next. Rejected: to go on
 *   with the threads that are left, for one new client in so many would wait for ever.
 */
import { Worker } from 'node:worker_threads';
import { type ConnectionBounds, ListenError, portTaken } from '@svc/http';
import type { Meters } from '@svc/wire';
import type { Config } from '../config/config.js';
import type { Cancel, Clock } from '../system/clock.js';
import type { Logger } from '../system/logging.js';
import { Channel } from './channel.js';
import { partOfBounds } from './connection-bounds.js';
import type { Callee } from './passed-calls.js';
import { ringMemory } from './ring.js';
import { HANGING_MS, LOOK_MS, SILENT_MS, Silence } from './silence.js';
import {
  FRONT_TIMES,
  type Listening,
  type Place,
  type Places,
  type ThreadData,
  type ThreadOrder,
  type ThreadReport,
  WAKE,
} from './thread-data.js';
import { type CoreService, type ThreadFront, ThreadServer } from './thread-server.js';

export interface FrontThreadsOptions {
  readonly config: Config;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly meters: Meters;
  /** The core's own front. */
  readonly front: ThreadFront;
  /** null: it is not open, or there is none. */
  readonly gateway: () => Callee | null;
  readonly threads: number;
  /** The program that a thread runs. */
  readonly program: URL;
  readonly bounds: ConnectionBounds;
  /** A thread has as many as it may. */
  readonly onConnectionsFull: (max: number, open: number, refused: number) => void;
  /** A thread hangs: the node must end, by `stop`, and be started again. */
  readonly onHang: (error: FrontThreadHangsError) => void;
}

export class FrontThreadHangsError extends Error {
  constructor() {
    super(`a front thread has said nothing for ${HANGING_MS / 1000} s: its clients wait for ever`);
  }
}

/** A turn's commands or answers at full rate are some 50 KiB. */
const RING_BYTES = 1024 * 1024;
const RESTART_MS = 100;
const RESTART_MS_MAX = 10_000;
/** A thread that has lasted so long was no failure at its start. */
const LASTING_MS = 60_000;
const END_MS_MAX = 500;
/** A thread ends within a second behind its drain, unless the machine stands still. */
export const HANGS_MS = 5000;

export class FrontThreads {
  readonly #options: FrontThreadsOptions;
  #service: CoreService | null = null;
  #running: (FrontThread | null)[];
  /** By place: another thread is started there after a pause, or was. */
  readonly #restarts = new Map<number, Cancel>();
  #isRetired = false;
  #isStopping = false;
  #places: Places = { plain: null, gateway: null };
  #lookedMs = 0;
  #stopLooking: Cancel = () => {};
  readonly #onExit = () => this.#endAll();

  constructor(options: FrontThreadsOptions) {
    this.#options = options;
    this.#running = new Array<null>(options.threads).fill(null);
  }

  get count(): number {
    return this.#options.threads;
  }

  serve(service: CoreService | null): void {
    this.#service = service;
  }

  /**
   * Resolves with the ports when all threads listen, or with null when they are stopped before;
   * rejects with `ListenError`.
   */
  async listen(places: Places): Promise<Listening | null> {
    try {
      const found = await this.#listen(places);
      return this.#isStopping ? null : found;
    } catch (error) {
      // A thread that was told to stop before it listened has ended.
      if (this.#isStopping) return null;
      throw error;
    }
  }

  async #listen(places: Places): Promise<Listening | null> {
    const named = [places.plain, places.gateway].filter((one) => one !== null && one.port !== 0);
    for (const { host, port } of named as Place[]) {
      const taken = await portTaken(host, port);
      if (taken !== null) throw taken;
    }
    if (this.#isStopping) return null;
    process.on('exit', this.#onExit);
    this.#lookedMs = this.#options.clock.nowMs();
    this.#stopLooking = this.#options.clock.every(LOOK_MS, () => this.#look());
    this.#places = places;
    const [first, ...others] = [...this.#running.keys()].map((place) => this.#start(place, 0));
    if (first === undefined) throw new Error('there are no front threads');
    await Promise.all([first, ...others].map(({ ready }) => ready));
    // The first one finds free ports where none are named.
    const found = await first.listen(places);
    this.#places = {
      plain: places.plain && { ...places.plain, port: found.plain ?? 0 },
      gateway: places.gateway && { ...places.gateway, port: found.gateway ?? 0 },
    };
    await Promise.all(others.map((thread) => thread.listen(this.#places)));
    return found;
  }

  retire(): void {
    this.#isRetired = true;
    for (const thread of this.#running) thread?.tell({ kind: 'retire' });
  }

  /**
   * Resolves when every request in flight has its answer, after `drainMs` at the latest, and all
   * threads have ended; HANGS_MS later if one does not end. Those that have said nothing for
   * SILENT_MS are not waited for.
   */
  async stop(drainMs: number): Promise<void> {
    this.#isStopping = true;
    this.#stopLooking();
    for (const cancel of this.#restarts.values()) cancel();
    for (const thread of this.#here()) thread.tell({ kind: 'stop', drainMs });
    const awaited = this.#here().filter((thread) => !thread.silence.isSilent);
    const ended = Promise.all(awaited.map((thread) => thread.exited));
    await this.#atMost(drainMs + HANGS_MS, ended);
    const left = this.#here();
    if (left.length === 0) {
      process.off('exit', this.#onExit);
      return;
    }
    this.#options.logger.error('http', `front threads hang: ${left.length} have not ended`);
    for (const thread of left) thread.giveUp();
  }

  /** Resolves with `work`, or after so long. */
  #atMost(ms: number, work: Promise<unknown>): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#options.clock.after(ms, resolve);
      void work.then(() => {
        cancel();
        resolve();
      });
    });
  }

  /** Threads that have not ended. */
  #here(): readonly FrontThread[] {
    return this.#running.filter((thread) => thread !== null);
  }

  #look(): void {
    const { clock, logger, meters, onHang } = this.#options;
    const nowMs = clock.nowMs();
    const sinceMs = nowMs - this.#lookedMs;
    this.#lookedMs = nowMs;
    const listening = this.#here().filter((thread) => thread.isListening);
    const found = listening.map((thread) => [thread.silence.look(sinceMs), thread] as const);
    meters.frontThreads.silent = listening.filter(({ silence }) => silence.isSilent).length;
    for (const [finding, { place, open }] of found) {
      const fields = { thread: place, requests: open };
      if (finding === 'speaks') logger.info('http', 'a front thread speaks again', fields);
      else if (finding === 'silent') {
        const seconds = SILENT_MS / 1000;
        const text = `a front thread has said nothing for ${seconds} s: its clients wait`;
        logger.error('http', text, fields);
      }
    }
    if (found.some(([finding]) => finding === 'hanging')) onHang(new FrontThreadHangsError());
  }

  /** Throws where the system has no room for one more. */
  #start(place: number, pauseMs: number): FrontThread {
    const { clock } = this.#options;
    const startedMs = clock.nowMs();
    const thread = new FrontThread(this.#options, place, () => this.#service, this.#places);
    this.#running[place] = thread;
    if (this.#isRetired) thread.tell({ kind: 'retire' });
    void thread.exited.then((error) => {
      this.#running[place] = null;
      if (this.#isStopping) return;
      const hasLasted = clock.nowMs() - startedMs >= LASTING_MS;
      this.#startLater(place, hasLasted ? 0 : pauseMs, error);
    });
    return thread;
  }

  /** `pauseMs`: the pause before the life that has ended, or did not begin. */
  #startLater(place: number, pauseMs: number, error: string): void {
    const { clock, logger, meters } = this.#options;
    const nextMs = Math.min(2 * pauseMs || RESTART_MS, RESTART_MS_MAX);
    meters.frontThreads.restarts++;
    logger.error('http', `a front thread has ended, and is started again in ${nextMs} ms`, {
      error,
    });
    this.#restarts.set(
      place,
      clock.after(nextMs, () => this.#startAgain(place, nextMs)),
    );
  }

  #startAgain(place: number, pauseMs: number): void {
    let next: FrontThread;
    try {
      next = this.#start(place, pauseMs);
    } catch (error) {
      this.#startLater(place, pauseMs, String(error));
      return;
    }
    next.ready
      .then(() => next.listen(this.#places))
      .catch((failure) => {
        if (this.#isStopping) return;
        this.#options.logger.error('http', 'a front thread does not listen', {
          error: String(failure),
        });
      });
  }

  /** The process exits: nothing runs here any more but this. */
  #endAll(): void {
    const running = this.#here();
    for (const thread of running) thread.tell({ kind: 'end' });
    const untilMs = performance.now() + END_MS_MAX;
    const left = running.filter((one) => !one.awaitEnd(Math.max(0, untilMs - performance.now())));
    if (!left.some(({ mayHoldSockets }) => mayHoldSockets)) return;
    this.#options.logger.error('http', 'a front thread hangs: the process ends by SIGKILL');
    process.kill(process.pid, 'SIGKILL');
  }
}

/** One life of a thread. */
class FrontThread {
  readonly #worker: Worker;
  readonly #ended = new SharedArrayBuffer(4);
  readonly #server: ThreadServer;
  readonly #channel: Channel;
  readonly #options: FrontThreadsOptions;
  readonly #bounds: ThreadData['connections'];
  readonly place: number;
  readonly silence = new Silence();
  /** Resolves once the thread can listen; rejects with `ListenError`. */
  readonly ready: Promise<void>;
  /** null: it has not ended. */
  #end: ListenError | null = null;
  #onReady = () => {};
  #onListening: (ports: Listening) => void = () => {};
  #onFailure: (error: Error) => void = () => {};
  /** Resolves with the reason, as far as there is one. */
  readonly exited: Promise<string>;
  #reason = '';
  #isListening = false;
  #mayHoldSockets = false;

  constructor(
    options: FrontThreadsOptions,
    place: number,
    service: () => CoreService | null,
    places: Places,
  ) {
    const { clock, config, meters, front, gateway, threads, program, bounds } = options;
    this.#options = options;
    this.place = place;
    this.#bounds = partOfBounds(bounds, threads, place);
    const toCore = ringMemory(RING_BYTES);
    const toThread = ringMemory(RING_BYTES);
    const data: ThreadData = {
      isFrontThread: true,
      config,
      threads,
      places,
      connections: this.#bounds,
      toCore,
      toThread,
      ended: this.#ended,
    };
    this.#worker = new Worker(program, { workerData: data });
    this.#channel = new Channel({
      outward: toThread,
      inward: toCore,
      wake: () => this.tell(WAKE),
      soon: (work) => clock.soon(work),
      nowMs: () => clock.nowMs(),
      onFrame: (kind, id, content) => this.#server.received(kind, id, content),
    });
    this.#server = new ThreadServer({
      service,
      send: (kind, id, parts) => this.#channel.send(kind, id, parts),
      nowMs: () => clock.nowMs(),
      front,
      gateway,
      meters,
    });
    this.#worker.on('message', (report: ThreadReport) => this.#hear(report));
    this.#worker.once('exit', () => {
      const { host, port } = places.plain ?? places.gateway ?? { host: '', port: 0 };
      this.#end = new ListenError(host, port, 'listen_failed', 'its thread has ended');
      this.#onFailure(this.#end);
    });
    this.ready = new Promise((resolve, reject) => {
      this.#onReady = resolve;
      this.#onFailure = reject;
    });
    this.exited = new Promise((resolve) => {
      this.#worker.on('error', (error) => {
        this.#reason = String(error);
      });
      this.#worker.once('exit', () => {
        this.#leave();
        resolve(this.#reason);
      });
    });
    this.#channel.open();
  }

  /** Resolves with the ports; rejects with `ListenError`. */
  listen(places: Places): Promise<Listening> {
    if (this.#end !== null) return Promise.reject(this.#end);
    this.#mayHoldSockets = true;
    this.tell({ kind: 'listen', places });
    return new Promise((resolve, reject) => {
      this.#onListening = resolve;
      this.#onFailure = reject;
    });
  }

  tell(order: ThreadOrder): void {
    this.#worker.postMessage(order);
  }

  /** It was told to listen. */
  get mayHoldSockets(): boolean {
    return this.#mayHoldSockets;
  }

  /** True: it holds no socket any more. */
  awaitEnd(msMax: number): boolean {
    return Atomics.wait(new Int32Array(this.#ended), 0, 0, msMax) !== 'timed-out';
  }

  /** It hangs: what it has asked for is asked by nobody any more. */
  giveUp(): void {
    this.#leave();
  }

  get isListening(): boolean {
    return this.#isListening;
  }

  /** Its requests that have no answer yet. */
  get open(): number {
    return this.#server.open;
  }

  #hear(report: ThreadReport): void {
    this.silence.heard();
    if (report === WAKE) {
      this.#channel.woken();
      return;
    }
    switch (report.kind) {
      case 'ready':
        this.#onReady();
        break;
      case 'listening':
        this.#options.meters.frontThreads.running++;
        this.#isListening = true;
        this.#onListening(report.ports);
        break;
      case 'not-listening':
        this.#reason = report.why;
        this.#onFailure(new ListenError(report.host, report.port, report.code, report.why));
        break;
      case 'full':
        this.#options.onConnectionsFull(this.#bounds.max, report.open, report.refused);
        break;
      case 'times': {
        const { pipeline } = this.#options.meters;
        FRONT_TIMES.forEach((name, at) => {
          const part = report.parts[at];
          if (part !== undefined) pipeline[name].add(part);
        });
        break;
      }
      case 'failed':
        this.#reason = report.error;
        this.#leave();
        break;
    }
  }

  /** Nothing that the thread was sent counts any more. */
  #leave(): void {
    if (this.#isListening) this.#options.meters.frontThreads.running--;
    this.#isListening = false;
    this.#channel.close();
    this.#server.close();
  }
}
