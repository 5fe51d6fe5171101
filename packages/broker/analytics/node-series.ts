/**
 * Keeps the series of this node: counts and measurements, minute by minute, in memory
 * and in a small file. It belongs to the process and outlives a node that is opened anew.
 *
 *     counters, once a second a sample -> sealed at the end of each minute, or flush -> store, file
 *
 * The job: answer what the node did over the last hours and days without anybody noticing that it
 * is kept. So counting is additions (`activity.ts`), and what a hundred thousand queues did in a
 * minute is put together in slices between other work, like all that reads it.
 *
 * What must hold:
 * - A bucket is sealed at once, by putting fresh counters in place of its own: what is counted
 *   while its rows are made belongs to the next one. Buckets are worked through one after another.
 * - A row belongs to the number of a queue, which no other queue ever gets. A name that stands for
 *   no queue when the bucket is worked through leaves no row.
 * - What cannot be kept costs figures, nothing else.
 *
 * Bounds: those of `series-store.ts`, `queue-meters.ts` and `series-file.ts`; of sealed buckets
 * BUCKETS_WAITING_MAX wait to be worked through.
 */
import { ByteWriter, findQueue, type PopCommand, type State } from '@svc/engine';
import type { LoopShare } from '@svc/http';
import type { Disk } from '@svc/storage';
import { type Meters, type QueueFigures, type RaftStatusAnswer, rotateSummaries } from '@svc/wire';
import type { Config } from '../config/config.js';
import { StateWalks } from '../reads/state-walks.js';
import type { Cancel, Clock } from '../system/clock.js';
import type { Logger } from '../system/logging.js';
import { LoopLag } from '../system/loop-lag.js';
import { harmless } from '../system/rim-timer.js';
import { Activity } from './activity.js';
import { minuteAt } from './series-buckets.js';
import { SeriesFile } from './series-file.js';
import { type ProcessRow, processRow } from './series-process.js';
import { writeRow } from './series-queues.js';
import { SeriesSampler } from './series-sampler.js';
import { type QueueBlock, type QueueName, SeriesStore } from './series-store.js';

/** The node that the figures are about, while one is open. */
export interface ObservedNode {
  readonly appliedState: State;
  raftStatus(): RaftStatusAnswer;
  /** Pops of clients of this node that have been waiting for some time. */
  eachParked(visit: (command: PopCommand) => void): void;
}

export interface NodeSeriesOptions {
  readonly config: Config;
  readonly disk: Disk;
  readonly clock: Clock;
  readonly loop: LoopShare;
  readonly logger: Logger;
  readonly meters: Meters;
}

interface Sealed {
  readonly minute: number;
  /** The flush is due with it. */
  readonly isLast: boolean;
  readonly process: ProcessRow;
  readonly figures: readonly QueueFigures[];
  readonly parkedSamples: number;
}

interface Finished {
  readonly process: ProcessRow;
  readonly block: QueueBlock | null;
  /** Queues that the file does not name yet. */
  readonly fresh: ReadonlyMap<number, QueueName>;
}

const SAMPLE_MS = 1000;
const MS_PER_MINUTE = 60_000;
const US_PER_MS = 1000;
const MINUTES_PER_HOUR = 60;
const BUCKETS_WAITING_MAX = 4;
/** Queues looked up and written between two yields, 3 us each. */
const QUEUES_PER_STEP = 256;
/** No client waits for these walks. */
const NOBODY = { gone: false, send: () => false };

export class NodeSeries {
  readonly activity: Activity;
  readonly store: SeriesStore;
  readonly loopLag = new LoopLag();
  readonly #options: NodeSeriesOptions;
  readonly #file: SeriesFile;
  readonly #sampler: SeriesSampler;
  readonly #walks: StateWalks;
  #node: ObservedNode | null = null;
  #stopTicking: Cancel = () => {};
  #minute: number;
  /** The wall clock when the open bucket began. */
  #sealedMs: number;
  #slot: number;
  #parkedSamples = 0;
  #waiting: Sealed[] = [];
  #working = false;
  /** Worked through, and not flushed yet: only where the flush is rarer than once a minute. */
  #finished: Finished[] = [];

  constructor(options: NodeSeriesOptions) {
    const { config, disk, clock, loop, logger, meters } = options;
    this.#options = options;
    this.activity = new Activity(meters.queues, clock);
    this.store = new SeriesStore({
      processMinutes: config.seriesNodeHours * MINUTES_PER_HOUR,
      queueMinutes: config.seriesQueueHours * MINUTES_PER_HOUR,
      queueRowsMax: config.seriesQueueRowsMax,
    });
    const directory = config.dataDirectory;
    this.#file = new SeriesFile({ disk, directory, store: this.store, logger });
    this.#sampler = new SeriesSampler({
      clock,
      raft: () => this.#node?.raftStatus() ?? null,
      takeLoopLag: () => this.loopLag.take(),
    });
    this.#walks = new StateWalks(clock, loop, ({ message }) => logger.error('boot', message));
    const nowMs = clock.wallUs() / 1000;
    this.#sealedMs = nowMs;
    this.#minute = Math.floor(nowMs / MS_PER_MINUTE);
    this.#slot = Math.floor(nowMs / config.seriesFlushMs);
  }

  /** The directory is this process's. */
  start(): void {
    this.#file.open();
    const tick = harmless(this.#options, 'taking a sample', () => this.#tick());
    this.#stopTicking = this.#options.clock.every(SAMPLE_MS, tick);
  }

  observe(node: ObservedNode | null): void {
    this.#node = node;
  }

  /** Reads the store in slices, beside whatever else there is to do. */
  read<Result>(walk: () => Generator<void, Result>, done: (result: Result) => void): void {
    this.#walks.walk(null, walk, NOBODY, done);
  }

  /** What was counted since the last flush is not kept. `done` when no file is open any more. */
  stop(done: () => void): void {
    this.#stopTicking();
    this.loopLag.stop();
    this.#node = null;
    this.#walks.stop();
    this.#file.close(done);
  }

  #tick(): void {
    const nowUs = this.#options.clock.wallUs();
    this.#sampler.sample();
    this.#sampleParked();
    const minute = minuteAt(nowUs);
    const slot = Math.floor(nowUs / 1000 / this.#options.config.seriesFlushMs);
    if (minute === this.#minute && slot === this.#slot) return;
    this.#seal(nowUs, slot !== this.#slot);
    this.#minute = minute;
    this.#slot = slot;
    this.#work();
  }

  #sampleParked(): void {
    this.#parkedSamples++;
    const node = this.#node;
    node?.eachParked((command) => this.activity.sawParked(node.appliedState, command));
  }

  #seal(nowUs: number, isLast: boolean): void {
    const counts = this.activity.rotate(nowUs);
    const nowMs = nowUs / US_PER_MS;
    const figures = this.activity.queues.rotate(nowMs, nowMs - this.#sealedMs);
    this.#sealedMs = nowMs;
    rotateSummaries(this.#options.meters);
    const { samples, gauges } = this.#sampler.take();
    const minute = this.#minute;
    const parkedSamples = this.#parkedSamples;
    this.#parkedSamples = 0;
    const process = processRow({ minute, samples, counts, gauges });
    this.#waiting.push({ minute, isLast, process, figures, parkedSamples });
    if (this.#waiting.length > BUCKETS_WAITING_MAX) this.#waiting.shift();
  }

  #work(): void {
    const next = this.#working ? undefined : this.#waiting.shift();
    if (next === undefined) return;
    this.#working = true;
    this.read(
      () => this.#workThrough(next),
      (finished) => {
        this.#finished.push(finished);
        if (next.isLast || this.#finished.length >= BUCKETS_WAITING_MAX) this.#flush();
        else this.#workOn();
      },
    );
  }

  #workOn(): void {
    this.#working = false;
    this.#work();
  }

  *#workThrough({ minute, process, figures, parkedSamples }: Sealed): Generator<void, Finished> {
    const state = this.#node?.appliedState ?? null;
    const found = new Set<number>();
    const fresh = new Map<number, QueueName>();
    const writer = new ByteWriter(Math.min(figures.length, QUEUES_PER_STEP) * 32);
    let steps = 0;
    for (const one of state === null ? [] : figures) {
      const { tenant, queue } = one;
      const number = state === null ? undefined : findQueue(state, tenant, queue)?.number;
      if (number !== undefined && !found.has(number)) {
        found.add(number);
        if (one.parkedSum > 0) one.parkedSamples = parkedSamples;
        writeRow(writer, number, one);
        this.store.name(number, { tenant, queue }, minute);
        if (!this.#file.names(number)) fresh.set(number, { tenant, queue });
      }
      if (++steps % QUEUES_PER_STEP === 0) yield;
    }
    const rows = found.size;
    // A copy of the exact size, for it stays in memory.
    const bytes = writer.bytes.slice(0, writer.length);
    return { process, block: rows === 0 ? null : { minute, rows, bytes }, fresh };
  }

  /** One after the other. */
  #flush(): void {
    const next = this.#finished.shift();
    if (next === undefined) {
      this.#workOn();
      return;
    }
    const { process, block, fresh } = next;
    this.store.addProcess(process);
    if (block !== null) this.store.addQueues(block);
    this.read(
      () => this.#file.append(process, block, fresh),
      () => this.#flush(),
    );
  }
}
