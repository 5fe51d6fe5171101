/**
 * The machines of one run with everything around them: the network between them, the clients, the
 * operator, the judge. Faults reach the machines through here, so that no more of them is broken
 * for good than a cluster of that size survives.
 */
import type { PeerPort, SourcePort } from '@svc/broker';
import type { DamageError } from '@svc/storage';
import { uuidV7 } from '@svc/wire';
import type { SeededRandom } from '../seeded-random.js';
import type { Beside } from './beside.js';
import { ClientNetwork } from './client-network.js';
import type { Fault, FaultCounts } from './faults.js';
import { Judge } from './judge.js';
import { drawSettings } from './machine-settings.js';
import { Operator } from './operator.js';
import { bothWays, type Cut, pathsOf } from './partitions.js';
import { PeerNetwork } from './peer-network.js';
import { pictureOf } from './picture.js';
import { checkPlanned, Replay } from './replay-check.js';
import type { ShapeName } from './shape.js';
import type { SimulatedLoop } from './simulated-loop.js';
import { SimulatedMachine } from './simulated-machine.js';
import type { Surroundings } from './surroundings.js';
import { Violation } from './violation.js';

export interface ClusterOptions {
  readonly loop: SimulatedLoop;
  readonly random: SeededRandom;
  readonly faults: ReadonlySet<Fault>;
  readonly counts: FaultCounts;
  /** Founders. */
  readonly machines: number;
  /** Machines that wait to be added. */
  readonly spares: number;
  readonly shape: ShapeName;
  /** As in `Shape`. */
  readonly tempo: number;
  readonly note: (text: string) => void;
  /** A step of the run, for its digest. */
  readonly mix: (machine: number) => void;
  readonly onFrame: ((from: number, to: number, frame: Uint8Array, fate: string) => void) | null;
  /** Absent: it is the only cluster. */
  readonly beside?: Beside;
}

export const PATIENCE_MS = 5000;
const BUSY_PATIENCE_MS = 300;
/** In two minutes two clocks part by a quarter of a second, half the leases' grace. */
const DRIFT_MAX = 0.001;
/** Ahead of what it was; less is what clocks are apart anyway. */
const SET_US = 100_000;
const SKEW_US_MAX = 50_000;
/** Below the grace of SVC_RAFT_MAX_CLOCK_SKEW_MS. */
export const SKEW_SAFE_US = 450_000;
/** The deadline of a request, which is sent on with what is left of it, and a clogged path. */
const REQUEST_MS_MAX = 8000;
/** An ambush is looked for once in so many milliseconds, so many times, and strikes soon after. */
const AMBUSH_LOOK_MS = 5;
const AMBUSH_LOOKS = 400;
const AMBUSH_MS_MAX = 30;

function patienceOf(shape: ShapeName, random: SeededRandom): number {
  if (shape === 'single') return Number.POSITIVE_INFINITY;
  return shape === 'busy' ? random.pick([BUSY_PATIENCE_MS, PATIENCE_MS]) : PATIENCE_MS;
}

interface Pause {
  readonly fromMs: number;
  readonly toMs: number;
}

export class Cluster implements Surroundings {
  /** Appends that left and that moved, over all entries of the run. */
  trimmed = 0;
  moved = 0;
  readonly machines: readonly SimulatedMachine[];
  readonly judge = new Judge();
  readonly peers: PeerNetwork | null;
  readonly clients: ClientNetwork;
  readonly operator: Operator | null;
  readonly electionMs: number;
  /**
   * When a wall clock was set, or a leader began while the wall clocks were further apart than the
   * grace: leases that stood then may end early, for nothing but the wall clock tells another node
   * how much of them is left.
   */
  readonly leaseBreaksMs: number[] = [];
  /**
   * These, and when a process began whose wall clock had been set since its last one did: the time
   * of timers begins with the wall clock of a process that nobody has told what time it is.
   */
  readonly timerBreaksMs: number[] = [];
  readonly #replay = new Replay(this.judge);
  /** While processes were stopped, in the order in which they went on. */
  readonly #pauses: Pause[] = [];
  refusals = 0;
  #doorsClosed = false;
  /** From here on nothing is injected, not even the second half of what began before. */
  #healed = false;
  /** Skew of the wall clock when the last process of the machine began. */
  readonly #skewUs = new Map<SimulatedMachine, number>();
  readonly #options: ClusterOptions;
  readonly #founders: readonly number[];

  constructor(options: ClusterOptions) {
    const { loop, random, faults, counts, shape, tempo } = options;
    // One machine, no peers, no clock that runs apart.
    const dense = shape === 'single';
    this.#options = options;
    const total = options.machines + options.spares;
    this.#founders = Array.from({ length: options.machines }, (_, i) => i + 1);
    const settings = drawSettings(random, shape, faults);
    this.electionMs = settings.electionMs;
    const clusterId = uuidV7(1, random.between(0, 2 ** 31), 2, 3);
    this.machines = Array.from({ length: total }, (_, i) => {
      const drift = faults.has('clock-drift') ? (random.next() * 2 - 1) * DRIFT_MAX : 0;
      if (drift !== 0) counts['clock-drift']++;
      return new SimulatedMachine({
        number: i + 1,
        founders: this.#founders,
        clusterId,
        settings,
        environment: options.beside?.environment ?? {},
        loop,
        random: random.fork(),
        faults,
        counts,
        clockRate: 1 + drift,
        tempo,
        surroundings: this,
      });
    });
    const [peers, clients, operator] = [random.fork(), random.fork(), random.fork()];
    const enter = (machine: number, work: () => void) => this.machine(machine).enter(work);
    this.peers = dense ? null : this.#network(peers, total, enter);
    this.clients =
      options.beside?.clients ??
      new ClientNetwork({
        loop,
        random: clients,
        machines: total,
        faults,
        counts,
        patienceMs: patienceOf(shape, random),
        owesAnswer: (machine, sinceMs) => this.machine(machine).ranSince(sinceMs),
        enter,
      });
    this.operator = dense ? null : this.#newOperator(operator);
    if (dense) return;
    for (const { clockError } of this.machines) {
      clockError.wallSkewUs = random.between(-SKEW_US_MAX, SKEW_US_MAX);
    }
  }

  #network(
    random: SeededRandom,
    machines: number,
    enter: (machine: number, work: () => void) => boolean,
  ): PeerNetwork {
    const { loop, faults, counts, onFrame } = this.#options;
    const onCorrupt = (machine: number, deliver: () => void) => {
      this.#expectRefusal(machine, deliver);
    };
    return new PeerNetwork({
      loop,
      random,
      machines,
      faults,
      counts,
      enter,
      onCorrupt,
      onSend: onFrame,
    });
  }

  #newOperator(random: SeededRandom): Operator {
    const { loop, note } = this.#options;
    return new Operator({ loop, random, machines: this.machines, founders: this.#founders, note });
  }

  machine(number: number): SimulatedMachine {
    return this.machines[number - 1] as SimulatedMachine;
  }

  boot(): void {
    for (const machine of this.machines) machine.boot();
  }

  /** The end of all faults: what is lost is replaced, everything runs. */
  heal(): void {
    this.#healed = true;
    this.peers?.heal();
    this.clients.heal();
    for (const machine of this.machines) machine.heal();
  }

  // --- surroundings of the machines --------------------------------------------------------------

  note(text: string): void {
    this.#options.note(text);
  }

  connect(machine: number): PeerPort | null {
    return this.peers?.open(machine) ?? null;
  }

  sourcePort(machine: number): SourcePort | null {
    return this.#options.beside?.sourcePort(machine) ?? null;
  }

  /** No new client is served here. `isOrderly`: one that is served still gets an answer. */
  closeDoors(isOrderly: boolean): void {
    this.#doorsClosed = true;
    for (const door of this.machines.map(({ number }) => this.#door(number))) {
      if (isOrderly) this.clients.shut(door);
      else this.clients.down(door, true);
    }
  }

  /** Somebody waits for an answer of a machine. */
  get isAwaited(): boolean {
    return this.machines.some(({ number }) => this.clients.isAwaited(this.#door(number)));
  }

  /** All machines are gone for good. */
  abandon(): void {
    for (const machine of this.machines) machine.abandon();
  }

  #door(machine: number): number {
    return machine + (this.#options.beside?.firstDoor ?? 0);
  }

  #breakTime(): void {
    const { nowMs } = this.#options.loop;
    this.leaseBreaksMs.push(nowMs);
    this.timerBreaksMs.push(nowMs);
  }

  began(machine: SimulatedMachine): void {
    const { wallSkewUs } = machine.clockError;
    const lastUs = this.#skewUs.get(machine) ?? wallSkewUs;
    this.#skewUs.set(machine, wallSkewUs);
    if (wallSkewUs - lastUs > SET_US) this.timerBreaksMs.push(this.#options.loop.nowMs);
    this.#options.beside?.began(machine.number);
    if (this.peers !== null && machine.broker !== null && !this.#doorsClosed) {
      this.clients.up(this.#door(machine.number), machine.broker);
    }
  }

  serves(machine: SimulatedMachine): void {
    this.note(`serving ${machine.number} at ${machine.parts?.log.lastIndex}`);
    if (this.peers !== null) return;
    this.#replay.check(machine);
    const { node } = machine;
    this.#options.loop.schedule(0, null, () => {
      if (machine.node === node && node !== null) this.clients.up(machine.number, node.broker);
    });
  }

  observed(machine: SimulatedMachine): void {
    this.#options.mix(machine.number);
    const view = machine.view();
    if (view === null) return;
    const { elections } = this.judge;
    this.judge.observe(machine.number, view);
    if (this.judge.elections === elections) return;
    this.note(`elected ${machine.number} term ${view.term} commit ${view.commit}`);
    if (this.peers !== null) this.#lookAtClocks();
  }

  #lookAtClocks(): void {
    const isApart = this.machines.some(({ number }) => this.isAhead(number));
    if (isApart) this.#breakTime();
  }

  /** Its wall clock is ahead of another one's by more than the grace. */
  isAhead(machine: number): boolean {
    const { loop } = this.#options;
    const walls = this.machines.map(
      ({ clockError }) => loop.nowMs * 1000 * clockError.rate + clockError.wallSkewUs,
    );
    return (walls[machine - 1] as number) - Math.min(...walls) > SKEW_SAFE_US;
  }

  goesOn({ number }: SimulatedMachine, sinceMs: number): void {
    this.note(`go on ${number}`);
    this.#pauses.push({ fromMs: sinceMs, toMs: this.#options.loop.nowMs });
  }

  ending(machine: SimulatedMachine): void {
    const { foulMessage, number } = machine;
    if (foulMessage === null) return;
    throw new Violation('foul_message', `machine ${number} refused one as ${foulMessage}`);
  }

  ended(machine: SimulatedMachine): void {
    this.judge.end(machine.number);
    this.peers?.close(machine.number);
    this.clients.down(this.#door(machine.number));
    this.#options.beside?.ended(machine.number);
  }

  /** Its directory is of no use: the machine gets an empty one, and the operator replaces it. */
  refused(machine: SimulatedMachine, error: DamageError): void {
    const { loop, note } = this.#options;
    this.refusals++;
    note(`refused ${machine.number} ${error.code}`);
    loop.schedule(1000, null, () => {
      if (!machine.isRefused) return;
      machine.wipe();
      machine.boot();
    });
  }

  /**
   * A request that nobody answered has its effect before this, or never. What reached a process
   * that was stopped is taken when it goes on, whether or not its client still waits, and has all
   * of its time then.
   */
  effectUntilMs(beganMs: number): number {
    let untilMs = beganMs + REQUEST_MS_MAX;
    for (const { fromMs, toMs } of this.#pauses) {
      if (toMs > beganMs && fromMs < untilMs) untilMs = Math.max(untilMs, toMs + REQUEST_MS_MAX);
    }
    return untilMs;
  }

  #expectRefusal(number: number, deliver: () => void): void {
    const machine = this.machine(number);
    const { status, refusedFrames } = machine;
    deliver();
    // Before consensus runs, nothing listens.
    if (status === null || machine.node === null || machine.refusedFrames > refusedFrames) return;
    throw new Violation('corrupt_frame', `machine ${number} took a corrupted frame`);
  }

  // --- faults ----------------------------------------------------------------------------------

  /** False when it cannot happen now. */
  inject(fault: Fault, random: SeededRandom): boolean {
    switch (fault) {
      case 'power-all':
        this.#options.counts[fault]++;
        for (const machine of this.machines) machine.inject('power', random);
        return true;
      case 'clock-jump':
      case 'clock-strobe':
        return this.#setClock(fault, random);
      case 'partition':
      case 'one-way':
      case 'deaf':
      case 'bridge':
      case 'ring':
        return this.#cut(fault, random);
      case 'clog':
        return this.#clog(random);
      case 'wipe':
        return this.#wipe(random);
      case 'bit-flip':
      case 'truncate':
        return this.#damage(fault, random);
      case 'members':
      case 'other-members':
      case 'transfer':
        return this.#operate(fault, random);
      case 'comeback':
        return this.#comeback(random);
      case 'kill-behind':
        return this.#ambush(random);
      default:
        return this.#pickMachine(random).inject(fault, random);
    }
  }

  /** The leader more often than its share. */
  #pickMachine(random: SeededRandom): SimulatedMachine {
    const leader = random.chance(0.3) ? (this.operator?.leader ?? null) : null;
    return leader ?? random.pick(this.machines);
  }

  #operate(fault: 'members' | 'other-members' | 'transfer', random: SeededRandom): boolean {
    const { operator } = this;
    if (operator === null) return false;
    const done =
      fault === 'transfer'
        ? operator.transfer(random)
        : operator.changeWish(random, fault === 'other-members');
    if (done) this.#options.counts[fault]++;
    return done;
  }

  #cut(fault: Cut, random: SeededRandom): boolean {
    const { peers, operator } = this;
    const { tempo } = this.#options;
    const numbers = this.machines.map(({ number }) => number);
    const paths = pathsOf(fault, numbers, operator?.leader?.number ?? 0, random);
    if (peers === null || paths.length === 0) return false;
    this.#options.counts[fault]++;
    peers.cut(paths, random.pick([200, 2000, 8000]) * (0.5 + random.next()) * tempo);
    return true;
  }

  /**
   * A minority is cut off for a while and misses writes. Then one of the others loses power, and
   * the rest of them is cut off instead: the ones that missed the writes and the one that has to
   * have them on its disk are the majority now.
   */
  #comeback(random: SeededRandom): boolean {
    const { peers, operator } = this;
    const { loop, counts, tempo } = this.#options;
    const leader = operator?.leader ?? null;
    const voters = this.voters;
    if (peers === null || leader === null || voters.length < 3) return false;
    const others = random.shuffled(voters.filter((number) => number !== leader.number));
    const lag = others.slice(0, Math.floor((voters.length - 1) / 2));
    const rest = voters.filter((number) => !lag.includes(number));
    const all = this.machines.map(({ number }) => number);
    const awayMs = random.between(200, 4000) * tempo;
    counts.comeback++;
    peers.cut(bothWays(lag, all), awayMs);
    loop.schedule(awayMs, null, () => {
      if (this.#healed) return;
      const survivor = random.pick(rest);
      this.machine(survivor).inject('power', random);
      const gone = rest.filter((number) => number !== survivor);
      peers.cut(bothWays(gone, all), random.between(1000, 6000) * tempo);
      this.note(`comeback of ${lag} with ${survivor}, without ${gone}`);
    });
    return true;
  }

  /** Waits for a machine that is catching up, and kills it, or the leader that it follows. */
  #ambush(random: SeededRandom): boolean {
    const { loop, counts } = this.#options;
    let looks = AMBUSH_LOOKS;
    const look = () => {
      const behind = this.machines.find((machine) => machine.node?.repairing === true);
      looks--;
      if (this.#healed) return;
      if (behind === undefined) {
        if (looks > 0) loop.after(AMBUSH_LOOK_MS, look);
        return;
      }
      const leader = this.operator?.leader ?? behind;
      const target = random.chance(0.7) ? behind : leader;
      loop.after(random.next() * AMBUSH_MS_MAX, () => {
        target.inject(random.pick(['kill', 'power']), random);
      });
    };
    counts['kill-behind']++;
    look();
    return true;
  }

  #clog(random: SeededRandom): boolean {
    const { peers } = this;
    const [from, to] = random.shuffled(this.machines.map(({ number }) => number));
    if (peers === null || from === undefined || to === undefined) return false;
    this.#options.counts.clog++;
    const { tempo } = this.#options;
    const delayMs = random.pick([50, 500, 3000]) * tempo;
    peers.clog(from, to, delayMs, random.between(500, 8000) * tempo);
    return true;
  }

  #setClock(fault: 'clock-jump' | 'clock-strobe', random: SeededRandom): boolean {
    const { loop, counts, shape } = this.#options;
    const dense = shape === 'single';
    const machine = random.pick(this.machines);
    counts[fault]++;
    let left = fault === 'clock-jump' ? 1 : random.between(5, 40);
    const jump = () => {
      const forward = random.chance(0.5);
      const us = random.between(11_000, dense || random.chance(0.2) ? 288_000_000 : 400_000);
      machine.clockError.wallSkewUs += forward ? us : -us;
      this.#breakTime();
      this.note(`clock ${machine.number} by ${forward ? us : -us} us`);
      left--;
      if (left > 0) loop.schedule(random.between(1, 300), null, jump);
    };
    jump();
    return true;
  }

  /** How many machines may lack what they once stored, and the cluster still has it all. */
  get #mayBeImpaired(): number {
    let fewest = this.operator?.wished ?? 1;
    for (const { status } of this.machines) {
      const configuration = status?.configuration;
      if (configuration === undefined || configuration.voters.length === 0) continue;
      fewest = Math.min(fewest, configuration.voters.length);
      if (configuration.outgoing.length > 0) return 0;
    }
    return Math.floor((fewest - 1) / 2);
  }

  #mayImpair(machine: SimulatedMachine): boolean {
    const { operator } = this;
    if (operator === null || machine.impaired) return false;
    // A machine that mends itself still has not got back what it lost.
    const others = this.machines.filter(
      (other) => other.impaired || (operator.wishes(other.number) && !other.isWhole),
    );
    return others.length + 1 <= this.#mayBeImpaired && operator.content;
  }

  #wipe(random: SeededRandom): boolean {
    const { counts, loop } = this.#options;
    const machine = random.pick(this.machines);
    if (!this.#mayImpair(machine)) return false;
    counts.wipe++;
    machine.wipe();
    loop.schedule(random.between(10, 3000), null, () => machine.boot());
    return true;
  }

  #damage(fault: 'bit-flip' | 'truncate', random: SeededRandom): boolean {
    const machine = random.pick(this.machines);
    return this.#mayImpair(machine) && machine.injectDamage(fault, random);
  }

  // --- the end ---------------------------------------------------------------------------------

  /** Processes that began so far. */
  get starts(): number {
    return this.machines.reduce((sum, { starts }) => sum + starts, 0);
  }

  /** null when all members agree on everything; otherwise what is still missing. */
  unrest(): string | null {
    for (const machine of this.machines) {
      const { node, number } = machine;
      if (node === null) return `machine ${number} does not run`;
    }
    if (this.operator === null) return null;
    const { leader } = this.operator;
    if (leader === null) return 'nobody leads';
    if (!this.operator.content) return 'the operator has work to do';
    const last = leader.status;
    if (last === null) return 'nobody leads';
    for (const machine of this.machines) {
      if (!this.operator.wishes(machine.number)) continue;
      const { status } = machine;
      if (status === null) return `machine ${machine.number} does not take part`;
      const { term, applied, lastIndex, recovering } = status;
      if (machine.node?.repairing === true) return `machine ${machine.number} is repairing`;
      if (recovering) return `machine ${machine.number} is recovering`;
      if (term !== last.term) return `machine ${machine.number} is in term ${term}`;
      if (applied !== last.lastIndex || lastIndex !== applied) {
        return `machine ${machine.number} applied ${applied} of ${last.lastIndex}`;
      }
    }
    return null;
  }

  /** Once a wiped machine holds everything again, another may be lost. */
  forgive(): void {
    const leader = this.operator?.leader?.status;
    if (leader == null || this.operator?.content !== true) return;
    for (const machine of this.machines) {
      const { status } = machine;
      if (status !== null && status.applied >= leader.commit) machine.caughtUp();
    }
  }

  /** The machine to ask for everything that is stored. */
  get speaker(): number {
    return this.operator?.leader?.number ?? 1;
  }

  get voters(): number[] {
    const { operator } = this;
    const numbers = this.machines.map(({ number }) => number);
    return operator === null ? numbers : numbers.filter((number) => operator.wishes(number));
  }

  checkPlanned(): void {
    for (const machine of this.machines) checkPlanned(machine);
  }

  /** Every disk holds what was committed, and every state is what the entries make of it. */
  checkAll(): void {
    for (const machine of this.machines) {
      this.ending(machine);
      const view = machine.view();
      if (view === null) continue;
      this.judge.sweep(machine.number, view);
      const { trimmed = 0, moved = 0 } = this.#replay.check(machine) ?? {};
      this.trimmed = Math.max(this.trimmed, trimmed);
      this.moved = Math.max(this.moved, moved);
      checkPlanned(machine);
    }
  }

  /** For a failure. */
  picture(): string {
    return pictureOf(this.machines);
  }
}
