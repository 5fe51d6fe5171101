/**
 * One machine: a disk, a state store and a wall clock that outlive the node processes that run on
 * it, one after the other. The node is the broker's own `Node` with its own log, raft, planner and
 * checkpoint; only what lies below them is simulated.
 *
 * A process ends by an exception that unwinds whatever was going on, as a kill would: from then on
 * its clock runs nothing, its files refuse everything, and its state is never looked at again.
 */
import {
  type Broker,
  CRASH_POINTS,
  type CrashPoint,
  createLogger,
  Node,
  type NodeOptions,
  type OpenDirectory,
  openDirectory,
  readConfig,
} from '@svc/broker';
import { applyEntry, MapState, type TransactionSink } from '@svc/engine';
import {
  DamageError,
  DiskError,
  SimulatedBacking,
  SimulatedDisk,
  writeIdentity,
} from '@svc/storage';
import { uuidV7 } from '@svc/wire';
import type { SeededRandom } from '../seeded-random.js';
import { type Fault, type FaultCounts, noFaults } from './faults.js';
import type { ProcessClock, SimulatedLoop } from './simulated-loop.js';
import { digestOf } from './state-digest.js';

/** Unwinds a process that has been killed or has ended itself. */
export class ProcessEnded extends Error {
  readonly code = 'process_ended';
}

/** What the machine cannot explain by the faults that it injected. */
export class Violation extends Error {
  readonly code: string;

  constructor(code: string, text: string) {
    super(text);
    this.name = 'Violation';
    this.code = code;
  }
}

const DIRECTORY = '/data';
const LOG_DIRECTORY = `${DIRECTORY}/log`;

const SILENT = createLogger({ level: 'off', json: false }, () => {});

export interface MachineOptions {
  readonly loop: SimulatedLoop;
  readonly random: SeededRandom;
  readonly faults: ReadonlySet<Fault>;
  /** Notes an event for the digest of the run. */
  readonly note: (text: string) => void;
  readonly onUp: (broker: Broker) => void;
  readonly onDown: () => void;
}

export class SimulatedMachine {
  readonly disk: SimulatedDisk;
  readonly store: SimulatedBacking;
  readonly counts: FaultCounts = noFaults();
  starts = 0;
  readonly #options: MachineOptions;
  readonly #environment: Readonly<Record<string, string>>;
  readonly #geometry: { readonly pageBits: number; readonly idsPerPage: number };
  #clock: ProcessClock | null = null;
  #parts: OpenDirectory | null = null;
  #node: Node | null = null;
  #wallSkewUs = 0;
  #pumping = false;
  /** Syncs of the disk that are left until power is lost; null: not planned. */
  #syncsLeft: number | null = null;
  #faultsOn = true;
  /** A disk fault was injected and the process has not ended of it yet. */
  #injected = false;

  constructor(options: MachineOptions) {
    const { random } = options;
    this.#options = options;
    this.disk = new SimulatedDisk({ seed: random.between(0, 2 ** 31) });
    this.store = new SimulatedBacking({
      seed: random.between(0, 2 ** 31),
      defer: (run) => {
        const delayMs = random.between(10, 3000) / 1000;
        options.loop.after(delayMs, () => this.#guard(run));
      },
    });
    this.disk.makeDirectorySync(DIRECTORY);
    writeIdentity(this.disk, DIRECTORY, {
      nodeId: 1,
      clusterId: uuidV7(1, random.between(0, 2 ** 31), 2, 3),
      directoryId: uuidV7(2, random.between(0, 2 ** 31), 4, 5),
    });
    this.#geometry = { pageBits: random.between(1, 4), idsPerPage: random.between(4, 20) };
    this.#environment = {
      SVC_RAFT_DIR: DIRECTORY,
      SVC_SERVER_ID: 'simulated',
      SVC_RAFT_SEGMENT_BYTES: `${random.pick([4096, 8192, 32_768, 262_144])}`,
      SVC_RAFT_DURABLE_EVERY_MS: `${random.pick([5, 20, 100, 400])}`,
      SVC_RAFT_DURABLE_EVERY_BYTES: `${random.pick([2000, 20_000, 1_000_000])}`,
      SVC_RAFT_PIPELINE: `${random.pick([1, 2, 8])}`,
      SVC_RAFT_BATCH_MAX_BYTES: `${random.pick([500, 4000, 4_194_304])}`,
    };
  }

  get up(): boolean {
    return this.#node?.broker.leader != null;
  }

  /** The process may end of a fault of its disk. */
  get #mayFail(): boolean {
    return this.#injected || this.disk.capacityBytes < Number.MAX_SAFE_INTEGER;
  }

  get lastIndex(): number {
    return this.#parts?.log.lastIndex ?? 0;
  }

  // --- lives -----------------------------------------------------------------------------------

  boot(): void {
    const { random, loop, note } = this.#options;
    this.starts++;
    // Set back a little while the node was down. A clock set forward would end leases early: after
    // a restart nothing but the wall clock tells how much of a lease is left.
    if (random.chance(0.3)) this.#wallSkewUs -= random.between(0, 200_000);
    const clock = loop.newClock(
      () => this.#wallSkewUs,
      (work) => this.#guard(work),
    );
    this.#clock = clock;
    note(`boot ${this.starts} skew ${this.#wallSkewUs} us`);
    this.#guard(() => {
      const options = this.#nodeOptions(clock);
      const parts = this.#open(options);
      this.#parts = parts;
      this.#node = new Node(options, { release: () => Promise.resolve() }, parts);
      this.#node.join(() => this.#leading());
    });
  }

  /** Runs what a client asks for inside the process. */
  inProcess(work: () => void): void {
    this.#guard(work);
    this.pump();
  }

  kill(fault: Fault): void {
    this.counts[fault]++;
    this.#end(fault === 'kill' || fault === 'point' ? 'process' : 'power', fault);
  }

  /** Runs the rest of the simulation without faults of this machine. */
  heal(): void {
    this.#faultsOn = false;
    this.#syncsLeft = null;
    this.disk.stalled = false;
    this.disk.capacityBytes = Number.MAX_SAFE_INTEGER;
  }

  // --- faults that a living process meets ------------------------------------------------------

  inject(fault: Fault): void {
    const { random, loop, note } = this.#options;
    note(`fault ${fault}`);
    switch (fault) {
      case 'kill':
      case 'power':
        this.kill(fault);
        return;
      case 'power-at-sync':
        this.#syncsLeft = random.between(0, 6);
        return;
      case 'stall':
        this.counts.stall++;
        this.disk.stalled = true;
        loop.after(random.between(20, 2500), () => {
          this.disk.stalled = false;
          this.pump();
        });
        return;
      case 'write-error':
        this.#failDisk(fault, 'write', random.pick(['EIO', 'ENOSPC']));
        return;
      case 'sync-error':
        this.#failDisk(fault, 'fdatasync', 'EIO');
        return;
      case 'store-error':
        this.counts[fault]++;
        this.#injected = true;
        this.store.failNextCommit('EIO');
        return;
      case 'disk-full':
        this.counts[fault]++;
        this.#injected = true;
        this.disk.capacityBytes = this.disk.usedBytes() + random.between(0, 30_000);
        loop.after(random.between(50, 800), () => {
          this.disk.capacityBytes = Number.MAX_SAFE_INTEGER;
        });
        return;
      case 'clock-jump':
        this.counts[fault]++;
        this.#wallSkewUs += random.pick([-1, 1]) * random.between(11_000, 288_000_000);
        return;
      case 'point':
      case 'bit-flip':
      case 'lost-answer':
      case 'client-gone':
        return;
    }
  }

  #failDisk(fault: Fault, operation: 'write' | 'fdatasync', code: string): void {
    this.counts[fault]++;
    this.#injected = true;
    this.disk.failNext(operation, code, this.#options.random.pick(['/log/', '/raft/', '']));
  }

  // --- disk ------------------------------------------------------------------------------------

  /** Sees to it that what the disk was asked for happens some time. */
  pump(): void {
    if (this.#pumping || this.disk.waitingCount === 0 || this.disk.stalled) return;
    this.#pumping = true;
    this.#options.loop.after(this.#options.random.between(10, 400) / 1000, () => {
      this.#pumping = false;
      this.#operate();
      this.pump();
    });
  }

  #operate(): void {
    const before = this.disk.syncs;
    if (this.#syncsLeft === 0 && this.#options.random.chance(0.5)) {
      this.kill('power-at-sync');
      return;
    }
    this.#guard(() => {
      this.disk.step();
    });
    if (this.#syncsLeft === null || this.#node === null) return;
    this.#syncsLeft -= Math.max(0, this.disk.syncs - before);
    if (this.#syncsLeft < 0) this.kill('power-at-sync');
  }

  // --- the process -----------------------------------------------------------------------------

  #nodeOptions(clock: ProcessClock): NodeOptions {
    const config = readConfig(this.#environment);
    if (config.kind === 'refused') throw new Violation('config', config.error);
    const { random } = this.#options;
    return {
      config,
      disk: this.disk,
      clock,
      random: {
        fraction: () => random.next(),
        newUuid: (nowUs) => {
          const words = [0, 1, 2].map(() => Math.floor(random.next() * 2 ** 32));
          return uuidV7(Math.floor(nowUs / 1000), words[0] ?? 0, words[1] ?? 0, words[2] ?? 0);
        },
      },
      logger: SILENT,
      crash: { kind: 'armed', reach: this.#armedPoint() },
      // Small generations, so that ids move from one to the next all the time.
      transactionIndex: { geometry: this.#geometry },
      onFatal: (error) => {
        if (!this.#mayFail) throw new Violation('fatal', `the process ended: ${error.message}`);
        throw new ProcessEnded(error.message);
      },
    };
  }

  /** Some lives end at a point; which, and at which pass, is drawn when they begin. */
  #armedPoint(): (point: CrashPoint) => void {
    const { random, faults, note } = this.#options;
    const points = Object.keys(CRASH_POINTS) as CrashPoint[];
    const armed = faults.has('point') && this.#faultsOn && random.chance(0.4);
    if (!armed) return () => {};
    const target = random.pick(points);
    let left = random.pick([1, 1, 2, 5, 20]);
    return (point) => {
      if (point !== target) return;
      left--;
      if (left > 0) return;
      note(`point ${point}`);
      this.counts.point++;
      throw new ProcessEnded(point);
    };
  }

  #open(options: NodeOptions): OpenDirectory {
    const flip = this.#faultsOn && this.#options.faults.has('bit-flip') ? this.#flip() : null;
    if (flip !== null) {
      this.#expectRefusal(options, flip);
      this.disk.flipBit(flip.path, flip.position, flip.bit);
    }
    return openDirectory(options, () => this.store);
  }

  /** A bit of a message that later, separately synced entries follow. */
  #flip(): { readonly path: string; readonly position: number; readonly bit: number } | null {
    const { random } = this.#options;
    if (!random.chance(0.5)) return null;
    const path = this.disk
      .paths()
      .filter((each) => each.startsWith(`${LOG_DIRECTORY}/`) && each.endsWith('.log'))
      .at(-1);
    if (path === undefined) return null;
    const bytes = this.disk.contents(path);
    const places: number[] = [];
    const marker = Buffer.from('{"value":');
    const content = Buffer.from(bytes);
    for (let at = content.indexOf(marker); at >= 0; at = content.indexOf(marker, at + 1)) {
      places.push(at);
    }
    // The last groups may rightly be taken for torn; what stands well before them may not.
    const early = places.slice(0, Math.max(0, places.length - 60));
    if (early.length === 0) return null;
    return { path, position: random.pick(early), bit: random.between(0, 7) };
  }

  #expectRefusal(
    options: NodeOptions,
    flip: { readonly path: string; readonly position: number; readonly bit: number },
  ): void {
    this.counts['bit-flip']++;
    this.disk.flipBit(flip.path, flip.position, flip.bit);
    const before = this.disk.paths().map((path) => Buffer.from(this.disk.contents(path)));
    try {
      openDirectory(options, () => this.store);
    } catch (error) {
      if (!(error instanceof DamageError)) throw error;
      const after = this.disk.paths().map((path) => Buffer.from(this.disk.contents(path)));
      const untouched = before.every((bytes, i) => bytes.equals(after[i] ?? Buffer.alloc(0)));
      if (!untouched) throw new Violation('touched', 'a refused log was changed');
      if (error.file !== flip.path) {
        throw new Violation('wrong_file', `${error.message} instead of ${flip.path}`);
      }
      return;
    }
    throw new Violation('cut', `a flipped bit at ${flip.path}@${flip.position} was accepted`);
  }

  #leading(): void {
    this.checkReplay();
    const node = this.#node;
    if (node === null) return;
    this.#options.note(`leading at ${this.lastIndex}`);
    this.#options.loop.after(0, () => {
      if (this.#node === node) this.#options.onUp(node.broker);
    });
  }

  /** What the checkpoint and the log after it gave is what the log alone gives. */
  checkReplay(): void {
    const parts = this.#parts;
    if (parts === null) return;
    const { log, state } = parts;
    const replayed = new MapState();
    const ignore: TransactionSink = { insertBytes: () => {} };
    const last = this.#node?.broker.raftFigures().applied ?? 0;
    for (let index = log.firstIndex; index <= last; index++) {
      const [entry] = log.entries(index, index + 1, 0);
      if (entry === undefined) throw new Violation('hole', `entry ${index} is missing`);
      if (entry.type === 0) applyEntry(replayed, ignore, index, entry.data);
    }
    if (digestOf(replayed) === digestOf(state)) return;
    throw new Violation('replay', `log and checkpoint differ at entry ${last}`);
  }

  /** What was planned is what was applied, once nothing is in flight. */
  checkPlanned(): void {
    const leader = this.#node?.broker.leader;
    const parts = this.#parts;
    if (leader == null || parts === null || leader.inFlight > 0) return;
    if (digestOf(leader.plannedState) === digestOf(parts.state)) return;
    throw new Violation('planned', `planned and applied state differ at entry ${this.lastIndex}`);
  }

  #guard(work: () => void): void {
    if (this.#clock === null) return;
    try {
      work();
    } catch (error) {
      if (error instanceof ProcessEnded) this.#end('process', error.message);
      else if (error instanceof DiskError && this.#mayFail) this.#end('process', error.message);
      else throw error;
    }
  }

  /** Ends the process that runs, and starts the next one a little later. */
  #end(loss: 'process' | 'power', why: string): void {
    const { random, loop, note, onDown } = this.#options;
    note(`end ${why}`);
    const wasDown = this.#clock === null;
    this.#clock?.kill();
    this.#clock = null;
    this.#node = null;
    this.#parts = null;
    this.#syncsLeft = null;
    this.#injected = false;
    this.disk.crash(loss);
    this.store.crash();
    // Power may be lost once more before the next start.
    if (wasDown) return;
    onDown();
    loop.after(random.between(1, 60), () => this.boot());
  }
}
