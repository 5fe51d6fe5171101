/**
 * One run of the simulation: a machine, its clients, a time of faults, then a time without any in
 * which everything must come to its end; then the checkers.
 */
import { createHash } from 'node:crypto';
import type { ReadRecord } from '../checkers/history.js';
import { checkLog } from '../checkers/log-checker.js';
import { checkQueue } from '../checkers/queue-checker.js';
import { SeededRandom } from '../seeded-random.js';
import { FAULT_NAMES, type Fault, type FaultCounts } from './faults.js';
import { GROUPS, readValue, SimulatedClients } from './simulated-clients.js';
import { SimulatedLoop } from './simulated-loop.js';
import { SimulatedMachine, Violation } from './simulated-machine.js';
import { SimulatedNetwork } from './simulated-network.js';

export interface RunOptions {
  readonly seed: number;
  /** Simulated time with faults. */
  readonly faultMs: number;
  /** Called with every event. */
  readonly trace?: (line: string) => void;
}

export interface RunResult {
  readonly seed: number;
  /** Of all events in their order: two runs of one seed have the same. */
  readonly digest: string;
  readonly events: number;
  readonly starts: number;
  readonly faults: FaultCounts;
  readonly stored: number;
  readonly deliveries: number;
  /** Empty when the run is right. */
  readonly violations: readonly string[];
}

/** 2025-06-01, so that stamps look like stamps. */
const START_US = 1_748_736_000_000_000;
/** After the last fault everything has to be consumed within it. */
const SETTLE_MS_MAX = 60_000;
const EVENTS_MAX = 3_000_000;

const LIVE_FAULTS: readonly Fault[] = [
  'kill',
  'power',
  'power-at-sync',
  'stall',
  'write-error',
  'sync-error',
  'store-error',
  'disk-full',
  'clock-jump',
];

export function run(options: RunOptions): RunResult {
  return new Run(options).result();
}

class Run {
  readonly #options: RunOptions;
  readonly #random: SeededRandom;
  readonly #loop = new SimulatedLoop(START_US);
  readonly #hash = createHash('sha256');
  readonly #machine: SimulatedMachine;
  readonly #network: SimulatedNetwork;
  readonly #clients: SimulatedClients;
  readonly #faults: ReadonlySet<Fault>;
  readonly #violations: string[] = [];
  #events = 0;

  constructor(options: RunOptions) {
    this.#options = options;
    this.#random = new SeededRandom(options.seed);
    this.#faults = drawFaults(this.#random);
    const note = (text: string) => this.#note(text);
    this.#machine = new SimulatedMachine({
      loop: this.#loop,
      random: this.#random.fork(),
      faults: this.#faults,
      note,
      onUp: (broker) => this.#network.up(broker),
      onDown: () => this.#network.down(),
    });
    const [network, clients] = [this.#random.fork(), this.#random.fork()];
    this.#network = new SimulatedNetwork(this.#loop, network, this.#machine, this.#faults);
    this.#clients = new SimulatedClients(this.#loop, clients, this.#network, note);
  }

  result(): RunResult {
    let records: ReadRecord[] = [];
    try {
      records = this.#simulate();
      this.#judge(records);
    } catch (error) {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.#violations.push(error instanceof Violation ? `${error.code}: ${error.message}` : text);
    }
    return {
      seed: this.#options.seed,
      digest: this.#hash.digest('hex'),
      events: this.#events,
      starts: this.#machine.starts,
      faults: this.#machine.counts,
      stored: records.length,
      deliveries: this.#clients.deliveries.length,
      violations: this.#violations,
    };
  }

  #simulate(): ReadRecord[] {
    const { faultMs } = this.#options;
    this.#machine.boot();
    this.#clients.start();
    this.#scheduleFault();
    this.#scheduleCheck();
    while (this.#loop.nowMs < faultMs) this.#step();
    this.#note('heal');
    this.#machine.heal();
    this.#network.heal();
    this.#clients.settle();
    return this.#settle();
  }

  #step(): void {
    this.#events++;
    if (this.#events > EVENTS_MAX) throw new Violation('endless', `${EVENTS_MAX} events`);
    if (!this.#loop.step()) throw new Violation('dead', 'nothing is going to happen any more');
    this.#machine.pump();
  }

  #scheduleFault(): void {
    const live = LIVE_FAULTS.filter((fault) => this.#faults.has(fault));
    if (live.length === 0) return;
    this.#loop.after(this.#random.between(2, 200), () => {
      if (this.#loop.nowMs >= this.#options.faultMs) return;
      this.#machine.inject(this.#random.pick(live));
      this.#scheduleFault();
    });
  }

  #scheduleCheck(): void {
    this.#loop.after(this.#random.between(50, 300), () => {
      this.#machine.checkPlanned();
      if (this.#loop.nowMs < this.#options.faultMs) this.#scheduleCheck();
    });
  }

  /** Runs until the groups have consumed everything, and returns what is stored. */
  #settle(): ReadRecord[] {
    const untilMs = this.#loop.nowMs + SETTLE_MS_MAX;
    while (this.#clients.producersLeft > 0 && this.#loop.nowMs < untilMs) this.#step();
    for (;;) {
      const records = this.#readAll(untilMs);
      if (this.#consumed(records)) {
        while (this.#clients.acksOpen > 0 && this.#loop.nowMs < untilMs) this.#step();
        this.#machine.checkReplay();
        this.#machine.checkPlanned();
        return records;
      }
      const pauseUntilMs = this.#loop.nowMs + 100;
      while (this.#loop.nowMs < pauseUntilMs) this.#step();
      if (this.#loop.nowMs > untilMs) {
        this.#violations.push(`stuck: not everything is consumed after ${SETTLE_MS_MAX} ms`);
        return records;
      }
    }
  }

  #readAll(untilMs: number): ReadRecord[] {
    const records: ReadRecord[] = [];
    for (const partition of this.#clients.partitions) {
      let read: ReadRecord[] | null = null;
      let asking = false;
      while (read === null) {
        if (!asking) {
          asking = true;
          this.#clients.readAll(partition, (answer) => {
            read = answer;
            asking = false;
          });
        }
        this.#step();
        if (this.#loop.nowMs > untilMs) throw new Violation('stuck', 'the log cannot be read');
      }
      records.push(...(read as ReadRecord[]));
    }
    return records;
  }

  #consumed(records: readonly ReadRecord[]): boolean {
    const acked = new Map<string, number>();
    for (const { group, partition, offset, outcome, signal } of this.#clients.acks) {
      const done = outcome === 'done' || outcome === 'noop' || (signal && outcome === 'unknown');
      const key = `${group} ${partition}`;
      if (done) acked.set(key, Math.max(acked.get(key) ?? -1, offset));
    }
    return records.every(({ partition, offset }) =>
      GROUPS.every((group) => (acked.get(`${group} ${partition}`) ?? -1) >= offset),
    );
  }

  #judge(records: readonly ReadRecord[]): void {
    const { sends, deliveries, acks, reads } = this.#clients;
    const otherReads = [...reads, ...deliveries];
    const anomalies = [
      ...checkLog({ sends, records, otherReads, readValue }),
      ...checkQueue({ sends, records, groups: GROUPS, deliveries, acks }),
    ];
    this.#violations.push(...this.#clients.wrong);
    for (const { kind, text } of anomalies) this.#violations.push(`${kind}: ${text}`);
  }

  #note(text: string): void {
    const line = `${this.#loop.nowMs.toFixed(3)} ${text}`;
    this.#hash.update(line);
    this.#options.trace?.(line);
  }
}

/** A jump of the clock is survived by a process, whose leases run on its monotonic clock. */
const FAULTS_WITH_CLOCK_JUMPS: readonly Fault[] = [
  'clock-jump',
  'stall',
  'lost-answer',
  'client-gone',
];

/** Some seeds have many kinds of faults, some few, some none: each mixture shows other things. */
function drawFaults(random: SeededRandom): Set<Fault> {
  if (random.chance(0.1)) return new Set(FAULTS_WITH_CLOCK_JUMPS);
  const share = random.pick([0, 0.2, 0.5, 0.8]);
  return new Set(FAULT_NAMES.filter((name) => name !== 'clock-jump' && random.chance(share)));
}
