/**
 * A node whose usage is counted, for tests: what outlives its processes (store, disk, clock), the
 * process that runs and can be killed, and beside it what its clients were told.
 */
import { minuteOf } from '../metering/calendar.js';
import type { OpClass } from '../metering/samples.js';
import { MINUTES, minuteOfKey, type Usage, usageOf } from '../metering/usage-rows.js';
import { MemoryStore } from '../store/memory-kv.fake.js';
import { UsageJournal } from './journal.js';
import { MemorySpool } from './memory-spool.fake.js';
import { UsageFlush } from './usage-flush.js';

const NODE = 'cell/1';

export class UsageNode {
  wallUs: number;
  #ms = 0;
  readonly clock = { wallUs: () => this.wallUs, nowMs: () => this.#ms };
  readonly spool = new MemorySpool();
  readonly store: MemoryStore;
  readonly keepDays: number;
  readonly late = new Set<string>();
  readonly said: string[] = [];
  /** Messages by cluster, minute and operation: what clients know of, and what may be besides. */
  readonly told = new Map<string, number>();
  readonly doubtful = new Map<string, number>();
  #boots = 0;
  #deferred: (() => void)[] = [];
  /** Requests whose answers wait for `settle`. */
  #waiting: { readonly place: string; readonly msgs: number }[] = [];
  #process: { readonly journal: UsageJournal; readonly flush: UsageFlush };

  constructor(startUs: number, keepDays = 90) {
    this.wallUs = startUs;
    this.keepDays = keepDays;
    this.store = new MemoryStore(this.clock);
    this.#process = this.#boot();
  }

  advance(ms: number): void {
    this.#ms += ms;
    this.wallUs += ms * 1000;
  }

  /** Its answer leaves with the next `settle`, unless the process is killed before. */
  request(clusterId: string, op: OpClass, msgs: number): void {
    const place = this.#add(clusterId, op, msgs);
    this.#waiting.push({ place, msgs });
    this.#process.journal.whenWritten(() => add(this.told, place, msgs));
  }

  /** No answer of it waits for the count. */
  countOnly(clusterId: string, op: OpClass): void {
    this.#add(clusterId, op, 0);
  }

  /** The end of a turn of the loop. */
  settle(): void {
    const deferred = this.#deferred;
    this.#deferred = [];
    this.#waiting = [];
    for (const work of deferred) work();
  }

  async tick(): Promise<void> {
    await this.#process.flush.tick();
  }

  /** The process ends. Requests of its last turn may be in a file, and their answers never left. */
  async kill(): Promise<void> {
    for (const { place, msgs } of this.#waiting) add(this.doubtful, place, msgs);
    this.#waiting = [];
    this.#deferred = [];
    this.#process = this.#boot();
    await this.#process.flush.start();
  }

  /** The process ends while it writes: the answer never left, and the row may be there. */
  async killInWrite(clusterId: string, op: OpClass, msgs: number, written: number): Promise<void> {
    this.settle();
    const place = this.#add(clusterId, op, msgs);
    add(this.doubtful, place, msgs);
    this.#process.journal.whenWritten(() => {});
    this.spool.tearsAfter = written;
    this.settle();
    this.spool.tearsAfter = null;
    await this.kill();
  }

  /** An orderly end. With neither a store nor a disk it would lose what it holds: it has one. */
  async close(): Promise<void> {
    this.settle();
    if (this.spool.broken || this.spool.tearsAfter !== null) {
      this.store.down = false;
      this.store.losesNextAnswer = false;
    }
    await this.#process.flush.close();
    this.#process = this.#boot();
    await this.#process.flush.start();
  }

  /** As an orderly end does it; the process lives on. */
  async lastFlush(): Promise<void> {
    await this.#process.flush.close();
  }

  /** Ends well: what can reach the store has reached it. */
  async drain(): Promise<void> {
    this.store.down = false;
    this.store.losesNextAnswer = false;
    this.spool.broken = false;
    this.spool.tearsAfter = null;
    await this.close();
    for (let i = 0; i < 4; i++) {
      this.advance(31_000);
      await this.tick();
    }
  }

  /** Messages in the store by cluster, minute and operation. */
  async stored(): Promise<Map<string, number>> {
    const found = new Map<string, number>();
    for (const key of this.store.keys(MINUTES)) {
      const minute = minuteOfKey(key);
      const usage = await this.#usageAt(key);
      if (minute === null || usage === null) throw new Error(`no row of usage: ${key}`);
      const clusterId = key.slice(1).split('/')[0];
      add(found, `${clusterId} ${minute.minuteUs} ${minute.op}`, usage.msgs);
    }
    return found;
  }

  async #usageAt(key: string): Promise<Usage | null> {
    const row = await this.store.get(MINUTES, key);
    return row === null ? null : usageOf(row.value);
  }

  #add(clusterId: string, op: OpClass, msgs: number): string {
    const sample = { clusterId, op, reqs: 1, msgs, bytesIn: 2 * msgs, bytesOut: 3 };
    this.#process.journal.add(sample, this.wallUs);
    return `${clusterId} ${minuteOf(this.wallUs)} ${op}`;
  }

  #boot(): { readonly journal: UsageJournal; readonly flush: UsageFlush } {
    const boot = `boot${++this.#boots}`;
    const log = {
      warn: (text: string) => this.said.push(text),
      error: (text: string) => this.said.push(text),
    };
    const shared = { files: this.spool, clock: this.clock, log, node: NODE, boot };
    const defer = (work: () => void) => this.#deferred.push(work);
    const journal = new UsageJournal({ ...shared, writer: `1-${boot}`, defer });
    const flush = new UsageFlush({
      ...shared,
      journal,
      store: this.store,
      keepDays: this.keepDays,
      onLate: (clusterId) => this.late.add(clusterId),
      pause: async () => {},
    });
    return { journal, flush };
  }
}

function add(counts: Map<string, number>, place: string, msgs: number): void {
  counts.set(place, (counts.get(place) ?? 0) + msgs);
}
