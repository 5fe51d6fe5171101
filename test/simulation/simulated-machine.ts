/**
 * One machine: a disk, a state store and clocks that outlive the node processes that run on it, one
 * after the other. The node is the broker's own `Node` with its own log, raft, planner and
 * checkpoint; only what lies below them is simulated.
 *
 * A process ends by an exception that unwinds whatever was going on, as a kill would: from then on
 * its clock runs nothing, its files refuse everything, and its state is never looked at again.
 */

import {
  type Broker,
  CURRENT_STATE,
  createLogger,
  Node,
  type NodeOptions,
  type OpenDirectory,
  openDirectory,
  PeerCalls,
  type PeerPort,
  readConfig,
  StateStore,
} from '@svc/broker';
import { randomSource, SimulatedPlace } from '@svc/broker/testing';
import { TimerClock } from '@svc/engine';
import { REFUSED_REASONS, type RefusedReason, type Status } from '@svc/raft';
import { DamageError, DiskError, type LogEntry, writeIdentity } from '@svc/storage';
import { SimulatedDisk } from '@svc/storage/testing';
import { uuidV7 } from '@svc/wire';
import type { SeededRandom } from '../seeded-random.js';
import type { Fault } from './faults.js';
import type { View } from './judge.js';
import { armedPoint, ProcessEnded } from './life-ends.js';
import { BOOT_BACK_US, type MachineOptions } from './machine-options.js';
import { DIRECTORY, peerList } from './machine-settings.js';
import { expectRefusal } from './refusal-check.js';
import { type ClockError, ProcessClock } from './simulated-loop.js';
import { cutEnd, type Damage, flipSomewhere } from './stored-damage.js';
import { Violation } from './violation.js';

const DAMAGE_ENDS_MAX = 3;
/** Twice as long as the log takes to tell its witness of what is durable. */
const WITNESSED_MS = 500;
/** The log is verified at a segment a second while it runs. */
const SCRUB_SEGMENT_MS = 1100;
const SCRUB_MS = 5000;
/** Few enough for changes of groups to take several entries. */
const GROUP_CHANGE_ROWS_MAX = 2;
const SILENT = createLogger({ level: 'off', json: false }, () => {});

export class SimulatedMachine {
  readonly number: number;
  disk: SimulatedDisk;
  place: SimulatedPlace;
  starts = 0;
  /** Installed. */
  snapshots = 0;
  /** Found at an opening. */
  damagedRecords = 0;
  /** Lives that ended a recovery. */
  recoveries = 0;
  /** Count of its directories: 0 for a founder's first. */
  incarnation: number;
  readonly clockError: ClockError & { wallSkewUs: number };
  readonly #options: MachineOptions;
  #clock: ProcessClock | null = null;
  #parts: OpenDirectory | null = null;
  #node: Node | null = null;
  #calls: PeerCalls | null = null;
  #pumping = false;
  /** Operations of the disk take this many times as long. */
  #slowness = 1;
  /** Syncs of the disk that are left until power is lost; null: not planned. */
  #syncsLeft: number | null = null;
  #faultsOn = true;
  /** A disk fault was injected and the process has not ended of it yet. */
  #injected = false;
  #refusedBefore = 0;
  #recovering = false;
  #damageEnds = 0;
  #damage: Damage[] = [];
  #bootedMs = 0;
  /** The start of the process, or when it last went on. */
  #runsSinceMs = 0;
  /** When it was stopped last. */
  #pausedMs = 0;
  #durable = 0;
  /** When the log grew last. */
  #grewMs = 0;
  #wiped = false;
  /** A start was refused: the directory is of no use any more. */
  isRefused = false;

  constructor(options: MachineOptions) {
    const { random, number, founders, clockRate } = options;
    this.#options = options;
    this.number = number;
    this.clockError = { wallSkewUs: 0, rate: clockRate };
    this.incarnation = founders.includes(number) ? 0 : random.between(1, 2 ** 32 - 1);
    this.disk = this.#newDisk();
    this.place = this.#newPlace();
  }

  get node(): Node | null {
    return this.#node;
  }

  get parts(): OpenDirectory | null {
    return this.#parts;
  }

  /** What consensus says of itself; null while it does not run. */
  get status(): Status | null {
    return this.#node?.parts.consensus.status() ?? null;
  }

  get paused(): boolean {
    return this.#clock?.held === true;
  }

  /** One process has run here since then, and was never stopped for a while. */
  ranSince(atMs: number): boolean {
    return this.#clock !== null && !this.#clock.held && this.#runsSinceMs < atMs;
  }

  /** The node takes part with all that it should hold. */
  get isWhole(): boolean {
    return this.status?.recovering === false && this.#node?.repairing === false;
  }

  /** Something that was stored here was changed and is not put right, or is gone. */
  get impaired(): boolean {
    if (this.#damage.length === 0) return this.#wiped;
    this.#damage = this.#damage.filter((damage) => !damage.isMended());
    return this.#wiped || this.isRefused || this.#damage.length > 0;
  }

  /** The member that the machine is now has caught up. */
  caughtUp(): void {
    this.#wiped = false;
    const { node, parts } = this;
    if (node === null || parts === null || node.repairing) return;
    const readMs = this.#options.loop.nowMs - this.#bootedMs;
    // Everything that a node verifies by itself has been read: what was damaged is where nobody
    // looks, such as behind the end of the log.
    if (readMs > SCRUB_MS + parts.log.segments().length * SCRUB_SEGMENT_MS) this.#damage = [];
  }

  /** A message that no member that keeps the rules can have sent; null: none arrived. */
  get foulMessage(): RefusedReason | null {
    const counters = {
      ...this.#node?.parts.consensus.counters(),
      ...this.#node?.parts.link?.counters(),
    };
    return REFUSED_REASONS.find((reason) => (counters[reason] ?? 0) > 0) ?? null;
  }

  /** Frames that the node of this life did not take. */
  get refusedFrames(): number {
    return (this.#node?.parts.link?.refused ?? 0) + (this.#calls?.refused ?? 0);
  }

  get refusedFramesOfAllLives(): number {
    return this.#refusedBefore + this.refusedFrames;
  }

  get broker(): Broker | null {
    return this.#node?.broker ?? null;
  }

  /** The process may end of a fault of its disk. */
  get #mayFail(): boolean {
    return this.#injected || this.disk.capacityBytes < Number.MAX_SAFE_INTEGER;
  }

  // --- lives -----------------------------------------------------------------------------------

  boot(): void {
    const { random, loop, surroundings, faults, counts, number, founders } = this.#options;
    if (this.#clock !== null || this.isRefused) return;
    this.starts++;
    // Set back a little while the node was down. A clock set forward would end leases early: after
    // a restart nothing but the wall clock tells how much of a lease is left. Among several nodes
    // the clocks stay within the grace for leases of others.
    const { clockError } = this;
    const backUs = founders.length === 1 || clockError.wallSkewUs > 0 ? BOOT_BACK_US : 0;
    if (random.chance(0.3)) clockError.wallSkewUs -= random.between(0, backUs);
    const clock = new ProcessClock(loop, this.clockError, (work) => this.#guard(work));
    this.#clock = clock;
    this.#bootedMs = loop.nowMs;
    this.#runsSinceMs = loop.nowMs;
    surroundings.note(`boot ${number} life ${this.starts} skew ${this.clockError.wallSkewUs} us`);
    this.#guard(() => {
      const options = this.#nodeOptions(clock);
      const alone = options.peers === null;
      if (alone && this.#faultsOn && faults.has('bit-flip')) {
        const open = () => openDirectory(options, new StateStore(this.place), () => {});
        if (expectRefusal(this.disk, random, open)) counts['bit-flip']++;
      }
      this.#open(options);
    });
  }

  /** Runs what comes from outside inside the process; false when none runs. */
  enter(work: () => void): boolean {
    if (this.#clock === null) return false;
    this.#clock.enter(work);
    return true;
  }

  /** Ends the process, and starts the next one a little later. */
  kill(fault: Fault): void {
    this.#options.counts[fault]++;
    const loss = fault === 'kill' || fault === 'point' ? 'process' : 'power';
    this.#end(loss, fault);
  }

  /** Runs the rest of the simulation without faults of this machine. */
  heal(): void {
    this.#faultsOn = false;
    this.#syncsLeft = null;
    this.#slowness = 1;
    this.disk.stalled = false;
    this.disk.capacityBytes = Number.MAX_SAFE_INTEGER;
    this.#goOn();
    this.pump();
  }

  /** The directory is gone. What is started here next is another member. */
  wipe(): void {
    const { random, surroundings, number } = this.#options;
    this.#end('power', 'wipe', false);
    this.incarnation = random.between(1, 2 ** 32 - 1);
    this.disk = this.#newDisk();
    this.place = this.#newPlace();
    this.#wiped = true;
    this.#damage = [];
    this.#damageEnds = 0;
    this.isRefused = false;
    surroundings.note(`wipe ${number} incarnation ${this.incarnation}`);
  }

  /** The machine is gone for good. */
  abandon(): void {
    this.isRefused = true;
    this.#end('power', 'abandoned', false);
  }

  #newDisk(): SimulatedDisk {
    const { random, clusterId, number } = this.#options;
    const disk = new SimulatedDisk({ seed: random.between(0, 2 ** 31) });
    disk.makeDirectorySync(DIRECTORY);
    const identity = {
      nodeId: number,
      clusterId,
      directoryId: uuidV7(2, random.between(0, 2 ** 31), number, 5),
      incarnation: this.incarnation,
    };
    writeIdentity(disk, DIRECTORY, identity);
    return disk;
  }

  #newPlace(): SimulatedPlace {
    const { random } = this.#options;
    return new SimulatedPlace({
      seed: random.between(0, 2 ** 31),
      defer: (run) => this.#clock?.after(random.between(10, 3000) / 1000, run),
      onChange: () => this.#changeOfStores(),
    });
  }

  /** A step of installing a snapshot, which may be the last that this process does. */
  #changeOfStores(): void {
    const { faults, random, counts, surroundings, number } = this.#options;
    if (this.#clock === null || !this.#faultsOn || !faults.has('point')) return;
    if (!random.chance(0.1)) return;
    surroundings.note(`point ${number} change of stores`);
    counts.point++;
    throw new ProcessEnded('change of stores');
  }

  #open(options: NodeOptions): void {
    this.#guardOpening(() =>
      openDirectory(options, new StateStore(this.place), (parts) => {
        this.#guardOpening(() => this.#begin(options, parts));
      }),
    );
  }

  #begin(options: NodeOptions, parts: OpenDirectory): void {
    this.#parts = parts;
    this.damagedRecords += parts.log.damage().length;
    this.#node = new Node(options, parts);
    this.#options.surroundings.began(this);
    this.#node.join(() => this.#serving());
  }

  /** What the directory holds may be refused if it was damaged. */
  #guardOpening(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (!(error instanceof DamageError) || !this.impaired) throw error;
      this.#refuse(error);
    }
  }

  // --- faults ----------------------------------------------------------------------------------

  /** False when the machine is in no state for it. */
  inject(fault: Fault, random: SeededRandom): boolean {
    const { loop, counts, tempo } = this.#options;
    if (this.#clock === null) return false;
    switch (fault) {
      case 'kill':
      case 'power':
        this.kill(fault);
        return true;
      case 'power-at-sync':
        this.#syncsLeft = random.between(0, 6);
        return true;
      case 'pause':
        this.#pause(random.pick([50, 500, 3000, 10_000]) * (0.5 + random.next()) * tempo);
        return true;
      case 'stall':
        counts.stall++;
        this.disk.stalled = true;
        loop.after(random.between(20, 2500) * tempo, () => this.#unstall());
        return true;
      case 'slow-disk':
        counts[fault]++;
        this.#slowness = random.pick([10, 50, 200]);
        loop.after(random.between(500, 5000) * tempo, () => {
          this.#slowness = 1;
        });
        return true;
      case 'write-error':
        this.#failDisk(fault, 'write', random.pick(['EIO', 'ENOSPC']), random);
        return true;
      case 'sync-error':
        this.#failDisk(fault, 'fdatasync', 'EIO', random);
        return true;
      case 'store-error':
        counts[fault]++;
        this.#injected = true;
        this.place.store(CURRENT_STATE)?.failNextCommit('EIO');
        return true;
      case 'disk-full':
        counts[fault]++;
        this.#injected = true;
        this.disk.capacityBytes = this.disk.usedBytes() + random.between(0, 30_000);
        loop.after(random.between(50, 800), () => {
          this.disk.capacityBytes = Number.MAX_SAFE_INTEGER;
        });
        return true;
      default:
        return false;
    }
  }

  /** Damages what is stored while the node is down: it has to repair it, or to refuse. */
  injectDamage(fault: 'bit-flip' | 'truncate', random: SeededRandom): boolean {
    // The end of a log that its witness does not know yet looks like a torn write, whoever did it.
    const young = this.#options.loop.nowMs - this.#grewMs < WITNESSED_MS;
    if (this.#clock === null || (young && fault === 'truncate')) return false;
    this.#end(random.chance(0.5) ? 'process' : 'power', fault);
    const damage =
      fault === 'truncate'
        ? cutEnd(this.disk, random)
        : flipSomewhere(this.disk, this.place, !young, random);
    if (damage === null) return false;
    this.#options.counts[fault]++;
    this.#damage.push(damage);
    this.#options.surroundings.note(`damage ${this.number} ${damage.what}`);
    return true;
  }

  #unstall(): void {
    this.disk.stalled = false;
    this.pump();
  }

  #pause(durationMs: number): void {
    const clock = this.#clock;
    if (clock === null || clock.held) return;
    this.#options.counts.pause++;
    clock.hold();
    this.#pausedMs = this.#options.loop.nowMs;
    this.#options.loop.after(durationMs, () => {
      if (this.#clock === clock) this.#goOn();
      this.pump();
    });
  }

  #goOn(): void {
    if (!this.paused) return;
    this.#runsSinceMs = this.#options.loop.nowMs;
    this.#options.surroundings.goesOn(this, this.#pausedMs);
    this.#clock?.goOn();
  }

  #failDisk(
    fault: Fault,
    operation: 'write' | 'fdatasync',
    code: string,
    random: SeededRandom,
  ): void {
    this.#options.counts[fault]++;
    this.#injected = true;
    this.disk.failNext(operation, code, random.pick(['/log/', '/raft/', '']));
  }

  // --- disk ------------------------------------------------------------------------------------

  /** Sees to it that what the disk was asked for happens some time. */
  pump(): void {
    if (this.#pumping || this.disk.waitingCount === 0 || this.disk.stalled) return;
    this.#pumping = true;
    const delayMs = (this.#options.random.between(10, 400) / 1000) * this.#slowness;
    this.#options.loop.schedule(delayMs, null, this.#operateLater);
  }

  readonly #operateLater = () => {
    this.#pumping = false;
    // A stopped process hears of nothing; it finds everything done when it goes on.
    if (this.paused) return;
    this.#operate();
    this.pump();
  };

  #operate(): void {
    const before = this.disk.syncs;
    if (this.#syncsLeft === 0 && this.#options.random.chance(0.5)) {
      this.kill('power-at-sync');
      return;
    }
    this.#guard(this.#stepDisk);
    if (this.#syncsLeft === null || this.#node === null) return;
    this.#syncsLeft -= Math.max(0, this.disk.syncs - before);
    if (this.#syncsLeft < 0) this.kill('power-at-sync');
  }

  readonly #stepDisk = () => void this.disk.step();

  // --- the process -----------------------------------------------------------------------------

  #nodeOptions(clock: ProcessClock): NodeOptions {
    const { random, settings, environment: own, founders, number, surroundings } = this.#options;
    const port = surroundings.connect(number);
    const peers = port === null ? null : this.#newCalls(port, clock);
    const environment: Record<string, string> = { ...settings.environment, ...own };
    if (peers !== null) {
      environment.SVC_RAFT_NODE_ID = `${number}`;
      const named = founders.includes(number) ? founders : [...founders, number];
      environment.SVC_RAFT_PEERS = peerList(named);
    }
    const config = readConfig(environment);
    if (config.kind === 'refused') throw new Violation('config', config.error);
    return {
      config,
      disk: this.disk,
      clock,
      random: randomSource(() => random.next()),
      logger: SILENT,
      crash: { kind: 'armed', reach: armedPoint(this.#options, this.#faultsOn) },
      transactionIndex: { geometry: settings.geometry },
      peers,
      calls: peers,
      source: surroundings.sourcePort(number),
      digestEvery: settings.digestEvery,
      changedRowsMax: settings.changedRowsMax,
      logSpace: settings.logSpace,
      groupChangeRowsMax: GROUP_CHANGE_ROWS_MAX,
      timerClock: new TimerClock(),
      onReopen: () => this.#reopen(clock),
      founding: this.incarnation === 0 ? 'found' : 'join',
      onFatal: (error) => this.#fatal(error),
    };
  }

  /** Calls of the process: questions to other machines, and theirs. */
  #newCalls(port: PeerPort, clock: ProcessClock): PeerCalls {
    const { random } = this.#options;
    this.#calls = new PeerCalls({ port, clock, random: () => random.next() });
    return this.#calls;
  }

  #fatal(error: Error): never {
    const explained = this.#mayFail || (this.impaired && error instanceof DamageError);
    if (!explained) throw new Violation('fatal', `the process ended: ${error.message}`);
    throw new ProcessEnded(error.message);
  }

  #serving(): void {
    if (this.#node !== null) this.#options.surroundings.serves(this);
  }

  /** The node has received a snapshot: it is closed, and opened from it. */
  #reopen(clock: ProcessClock): void {
    clock.after(0, () => {
      this.snapshots++;
      throw new ProcessEnded('a snapshot was received');
    });
  }

  /** What the judge looks at; null while no node runs. */
  view(): View | null {
    const { status } = this;
    const parts = this.#parts;
    if (status === null || parts === null) return null;
    const { log, state, backing, self } = parts;
    const { term, role, commit, applied, recovering } = status;
    if (log.durableIndex !== this.#durable) {
      this.#durable = log.durableIndex;
      this.#grewMs = this.#options.loop.nowMs;
    }
    if (this.#recovering && !recovering) this.recoveries++;
    this.#recovering = recovering;
    return {
      member: self,
      term,
      leads: role === 'leader',
      commit,
      applied,
      durable: log.durableIndex,
      mending: this.#node?.repairing === true,
      firstIndex: log.firstIndex,
      checkpoint: state.appliedIndex,
      digest: backing.applied.index === state.appliedIndex ? backing.applied.digest : null,
      entry: (index) => this.#entryAt(log, index),
    };
  }

  #entryAt(log: OpenDirectory['log'], index: number): LogEntry | undefined {
    if (index < log.firstIndex || index > log.lastIndex) return undefined;
    try {
      return log.entries(index, index + 1, 0)[0];
    } catch (error) {
      // A bit that was flipped and that nobody has met yet.
      if (error instanceof DamageError && this.impaired) return undefined;
      throw error;
    }
  }

  #guard(work: () => void): void {
    if (this.#clock === null) return;
    try {
      work();
    } catch (error) {
      if (error instanceof ProcessEnded) this.#end('process', error.message);
      else if (error instanceof DiskError && this.#mayFail) this.#end('process', error.message);
      else if (error instanceof DamageError && this.impaired) this.#endOfDamage(error);
      else throw error;
    }
    if (this.#node !== null) this.#options.surroundings.observed(this);
    this.pump();
  }

  /** A node that ends of the same damage again and again is of no more use than a refused one. */
  #endOfDamage(error: DamageError): void {
    this.#damageEnds++;
    if (this.#damageEnds > DAMAGE_ENDS_MAX) this.#refuse(error);
    else this.#end('process', error.message);
  }

  #refuse(error: DamageError): void {
    this.isRefused = true;
    this.#end('process', `refused: ${error.message}`, false);
    this.#options.surroundings.refused(this, error);
  }

  #end(loss: 'process' | 'power', why: string, again = true): void {
    const { random, loop, surroundings, number } = this.#options;
    surroundings.note(`end ${number} ${why}`);
    surroundings.ending(this);
    const wasDown = this.#clock === null;
    this.#refusedBefore += this.refusedFrames;
    this.#clock?.kill();
    this.#clock = null;
    this.#node = null;
    this.#calls = null;
    this.#parts = null;
    this.#syncsLeft = null;
    this.#injected = false;
    this.#recovering = false;
    this.disk.crash(loss);
    this.place.crash();
    // Power may be lost once more before the next start.
    if (wasDown) return;
    surroundings.ended(this);
    if (again) loop.schedule(random.between(1, 60), null, () => this.boot());
  }
}
