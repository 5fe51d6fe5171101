/**
 * One machine of the table: the broker's own node over a simulated disk, state place and clock, as
 * in the simulator, but without faults of its own, and with everything it says kept. A node that
 * ends by itself is started again, as a supervisor would.
 */
import {
  createLogger,
  type Logger,
  Node,
  type NodeOptions,
  type OpenDirectory,
  openDirectory,
  type PeerPort,
  readConfig,
  StateStore,
} from '@svc/broker';
import { randomSource } from '@svc/broker/testing';
import type { Status } from '@svc/raft';
import { DamageError, type LogEntry } from '@svc/storage';
import type { SeededRandom } from '../seeded-random.js';
import type { View } from '../simulation/judge.js';
import { ProcessClock, type SimulatedLoop } from '../simulation/simulated-loop.js';
import type { Stored } from './image.js';

/** Unwinds a process that ends itself. */
class ProcessEnded extends Error {
  readonly code = 'process_ended';
}

export interface MachineOptions {
  readonly number: number;
  readonly environment: Readonly<Record<string, string>>;
  readonly loop: SimulatedLoop;
  readonly random: SeededRandom;
  /** null: alone. */
  readonly connect: () => PeerPort | null;
  readonly onBegan: (machine: Machine) => void;
  readonly onEnded: (machine: Machine) => void;
  readonly onObserved: (machine: Machine) => void;
}

const AGAIN_MS = 20;
/** A node that ends more often is taken for one that will not start. */
const ENDS_MAX = 4;
const GEOMETRY = { pageBits: 3, idsPerPage: 10 };
const DIGEST_EVERY = 32;
const PURGE_STEP = 8;

export class Machine implements Stored {
  readonly number: number;
  disk: Stored['disk'];
  place: Stored['place'];
  node: Node | null = null;
  parts: OpenDirectory | null = null;
  /** It leads, or has caught up with the leader, in this life. */
  serving = false;
  /** Why its directory is of no use to it. */
  refusal: DamageError | null = null;
  /** Why processes here ended by themselves. */
  readonly ends: string[] = [];
  /** What the node says at `warn` and above. */
  readonly lines: string[] = [];
  snapshots = 0;
  indexesRebuilt = 0;
  headersRebuilt = 0;
  sawRecovering = false;
  readonly #options: MachineOptions;
  #clock: ProcessClock | null = null;
  #pumping = false;

  constructor(options: MachineOptions, stored: (defer: (run: () => void) => void) => Stored) {
    this.number = options.number;
    this.#options = options;
    const { random } = options;
    const { disk, place } = stored((run) => {
      this.#clock?.after(random.between(10, 2000) / 1000, run);
    });
    this.disk = disk;
    this.place = place;
  }

  get status(): Status | null {
    return this.node?.parts.consensus.status() ?? null;
  }

  get running(): boolean {
    return this.#clock !== null;
  }

  boot(): void {
    const { loop } = this.#options;
    const clock = new ProcessClock(loop, { wallSkewUs: 0, rate: 1 }, (work) => this.#guard(work));
    this.#clock = clock;
    this.#guard(() => {
      const options = this.#nodeOptions(clock);
      openDirectory(options, new StateStore(this.place), (parts) => {
        const { recovery } = parts.log;
        this.parts = parts;
        this.indexesRebuilt += recovery.indexesRebuilt;
        this.headersRebuilt += recovery.headersRebuilt;
        this.node = new Node(options, parts);
        this.#options.onBegan(this);
        this.node.join(() => {
          this.serving = true;
        });
      });
    });
  }

  /** Runs what comes from outside inside the process; false when none runs. */
  enter(work: () => void): boolean {
    if (this.#clock === null) return false;
    this.#clock.enter(work);
    return true;
  }

  /** The process is gone, or the machine. It is not started again. */
  end(loss: 'process' | 'power'): void {
    this.#clock?.kill();
    this.#clock = null;
    this.node = null;
    this.parts = null;
    this.serving = false;
    this.disk.crash(loss);
    this.place.crash();
    this.#options.onEnded(this);
  }

  // --- the process -----------------------------------------------------------------------------

  #guard(work: () => void): void {
    if (this.#clock === null) return;
    try {
      work();
    } catch (error) {
      if (!(error instanceof ProcessEnded) && !(error instanceof DamageError)) throw error;
      this.#endOf(error);
    }
    if (this.#clock !== null) {
      this.sawRecovering ||= this.status?.recovering === true;
      this.#options.onObserved(this);
    }
    this.#pump();
  }

  #endOf(error: ProcessEnded | DamageError): void {
    const wasOpen = this.node !== null;
    this.ends.push(error.message);
    this.end('process');
    const refused = error instanceof DamageError && !wasOpen;
    if (refused || this.ends.length > ENDS_MAX) {
      this.refusal =
        error instanceof DamageError ? error : new DamageError('', '', 0, error.message, '');
      return;
    }
    this.#options.loop.schedule(AGAIN_MS, null, () => {
      if (this.#clock === null) this.boot();
    });
  }

  #pump(): void {
    if (this.#pumping || this.disk.waitingCount === 0) return;
    this.#pumping = true;
    const { loop, random } = this.#options;
    loop.schedule(random.between(10, 300) / 1000, null, () => {
      this.#pumping = false;
      if (this.#clock === null) return;
      this.#guard(() => void this.disk.step());
    });
  }

  #nodeOptions(clock: ProcessClock): NodeOptions {
    const { random, environment, connect } = this.#options;
    const config = readConfig(environment);
    if (config.kind === 'refused') throw new Error(config.error);
    return {
      config,
      disk: this.disk,
      clock,
      random: randomSource(() => random.next()),
      logger: this.#logger(),
      crash: { kind: 'unarmed', reach: () => {} },
      transactionIndex: { geometry: GEOMETRY },
      peers: connect(),
      digestEvery: DIGEST_EVERY,
      logSpace: { purgeStep: PURGE_STEP },
      onReopen: () => {
        clock.after(0, () => {
          this.snapshots++;
          throw new ProcessEnded('a snapshot was received');
        });
      },
      founding: 'found',
      onFatal: (error) => {
        throw error instanceof DamageError ? error : new ProcessEnded(error.message);
      },
    };
  }

  #logger(): Logger {
    const keep = (target: string, text: string) => void this.lines.push(`${target} ${text}`);
    const silent = createLogger({ level: 'off', json: false }, () => {});
    return { ...silent, warn: keep, error: keep };
  }

  /** For the judge; null while consensus does not run. */
  view(): View | null {
    const { status, parts } = this;
    if (status === null || parts === null) return null;
    const { log, state, backing, self } = parts;
    const { term, role, commit, applied } = status;
    return {
      member: self,
      term,
      leads: role === 'leader',
      commit,
      applied,
      durable: log.durableIndex,
      mending: this.node?.repairing === true,
      firstIndex: log.firstIndex,
      checkpoint: state.appliedIndex,
      digest: backing.applied.index === state.appliedIndex ? backing.applied.digest : null,
      entry: (index) => entryAt(log, index),
    };
  }
}

/** undefined when it is not there, or not readable now. */
function entryAt(log: OpenDirectory['log'], index: number): LogEntry | undefined {
  if (index < log.firstIndex || index > log.lastIndex) return undefined;
  try {
    return log.entries(index, index + 1, 0)[0];
  } catch (error) {
    if (error instanceof DamageError) return undefined;
    throw error;
  }
}
