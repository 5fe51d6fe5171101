/**
 * One run with two clusters: a source with its clients, and a standby that follows it, each with
 * faults of its own and some of the way between them; then the source is lost, or drained, the
 * standby is promoted, and the clients go on there.
 *
 *     both boot -> it follows -> clients and faults -> the switch -> promotion -> faults at what
 *     was the standby -> rest -> the checkers
 *
 * What must hold, beside what holds for every cluster:
 * - The standby has committed what the source has committed, entry for entry, once, in order, up to
 *   one of them, and nothing of its own before its promotion.
 * - What clients were answered before the source had committed more than that entry is there, for
 *   good. What they were answered later may be lost with the source, and only then.
 * - A standby whose source was drained loses nothing.
 * - It halts for a purged log only when a node of the source lost its directory, and with it what
 *   it knew of its readers.
 *
 * Clients ask the nodes of both clusters, as if they had all addresses: a standby refuses them.
 */
import type { SubmittedOutcome } from '@svc/http';
import type { ReadRecord } from '../checkers/history.js';
import { checkLog } from '../checkers/log-checker.js';
import { checkQueue } from '../checkers/queue-checker.js';
import { SeededRandom } from '../seeded-random.js';
import { ChainedStandby } from './chained-standby.js';
import { readValue } from './client-messages.js';
import { type Caller, ClientNetwork } from './client-network.js';
import { Cluster, PATIENCE_MS } from './cluster.js';
import { Course } from './course.js';
import { type CutHistory, cutHistory } from './cut-history.js';
import { DirectReply } from './direct-reply.js';
import { type Fault, type FaultCounts, noFaults } from './faults.js';
import { type Figures, figuresOf } from './figures.js';
import {
  followerOf,
  isHeld,
  SOURCE_ENVIRONMENT,
  standbyEnvironment,
  wayBetween,
} from './following.js';
import { Leftover } from './leftover.js';
import { checkMirror, lastWithEffects, nextWithEffects } from './mirror-check.js';
import { type Pace, SparsePace, SteadyPace } from './pace.js';
import { Probe } from './probe.js';
import type { RunPlan, RunResult } from './run.js';
import { drawShape, type Shape, scheduledOf } from './shape.js';
import { GROUPS, SimulatedClients } from './simulated-clients.js';
import type { SourceNetwork } from './source-network.js';
import { StandbyFaults } from './standby-faults.js';
import { standbySurfaces } from './standby-surfaces.js';
import type { Surfaces } from './surfaces.js';
import { describeFailure, Violation } from './violation.js';

type Place = readonly [queue: string, partition: string];

/** `lost`: with all that the standby does not have. `drained`: nothing is left at the source. */
type Switch = 'lost' | 'drained';

const SETTLE_MS_MAX = 60_000;
const FOLLOWS_WITHIN_MS = 60_000;
const PROMOTED_WITHIN_MS = 120_000;
const AGAIN_MS = 200;
/** Share of the runs, and how soon. */
const AMBUSH_SHARE = 0.4;
const AMBUSH_MS_MAX = 12;
/** Share of the promotions that wait until entries are in flight, and for how long. */
const IN_FLIGHT_SHARE = 0.5;
const AT_WORK_MS = 1000;
/** Share of the runs in which clients never rest. */
const STEADY_SHARE = 0.5;
/** Share of the runs in which another standby follows the standby. */
const CHAIN_SHARE = 0.2;
/** Events there have other ordinals. */
const CHAIN_ORDINAL = 1_000_000;
/** As long as any request may last. */
const ANSWERED_WITHIN_MS = 15_000;
/** Less than what a lease is granted beyond its time, and a timer may be early. */
const CLOCKS_APART_US = 250_000;

export function runStandby(plan: RunPlan): RunResult {
  return new StandbyRun(plan).result();
}

class StandbyRun {
  readonly #plan: RunPlan;
  readonly #course: Course;
  readonly #shape: Shape;
  readonly #counts: FaultCounts = noFaults();
  readonly #violations: string[] = [];
  readonly #source: Cluster;
  readonly #standby: Cluster;
  readonly #clients: SimulatedClients;
  #stored = 0;
  /** When clients were answered by the source for the last time. */
  #switchedMs = Number.POSITIVE_INFINITY;
  #losses = 0;
  /** Nothing is left to consume, as the standby itself says. */
  #isEmptied = false;
  /** Asked for when the standby is promoted and at rest; null: it was not. */
  #intact: number | null = null;
  readonly #random: SeededRandom;
  readonly #network: SourceNetwork;
  /** null: nobody follows the standby. */
  readonly #chain: ChainedStandby | null;
  /** Clusters of which a node may not know its readers any more. */
  readonly #forgetful = new Set<Cluster>();
  readonly #trouble: StandbyFaults;
  readonly #chainTrouble: StandbyFaults | null;
  readonly #doors: ClientNetwork;
  readonly #pace: Pace;
  readonly #surfaces: Surfaces;
  readonly #switch: Switch;
  readonly #switchMs: number;
  /** When the source had committed so much for the first time. */
  readonly #commits: { readonly atMs: number; readonly commit: number }[] = [];

  constructor(plan: RunPlan) {
    const random = new SeededRandom(plan.seed ^ 0x57a_4db1);
    this.#plan = plan;
    const course = new Course(plan.trace);
    const { loop } = course;
    this.#course = course;
    this.#shape = drawShape(plan, random);
    this.#random = random;
    this.#switch = random.pick(['lost', 'lost', 'drained']);
    this.#switchMs = plan.simMs * (0.3 + 0.4 * random.next());
    const { machines, spares } = this.#shape;
    const others = random.pick([1, 3, 3]);
    const firstDoor = machines + spares;
    this.#doors = this.#newDoors(firstDoor, firstDoor + others, random.fork());
    const [source, standby] = [() => this.#source, () => this.#standby];
    this.#network = wayBetween(loop, random.fork(), source, standby);
    const chain = new SeededRandom(plan.seed ^ 0xc4a1_4ed5);
    this.#chain = chain.chance(CHAIN_SHARE)
      ? new ChainedStandby(this.#common('chained', 32, chain.fork()), chain, standby, others)
      : null;
    this.#source = this.#newSource(random.fork());
    this.#standby = this.#newStandby(random.fork(), others, firstDoor);
    this.#trouble = this.#newTrouble(this.#source, this.#standby, this.#network);
    this.#chainTrouble =
      this.#chain === null
        ? null
        : this.#newTrouble(this.#standby, this.#chain.cluster, this.#chain.network);
    const isSteady = random.chance(STEADY_SHARE);
    const pace = random.fork();
    this.#pace = isSteady ? new SteadyPace(pace) : new SparsePace(loop, pace);
    const note = (text: string) => course.note(text);
    const parts = { loop, network: this.#doors, pace: this.#pace, note };
    this.#clients = new SimulatedClients({ ...parts, random: random.fork(), turnover: false });
    this.#surfaces = standbySurfaces({
      seed: plan.seed,
      loop,
      pace: this.#pace,
      note,
      doors: this.#doors,
      source: this.#source,
      standby: this.#standby,
      isDoubtful: (endedMs) => endedMs > this.#intactMs && endedMs <= this.#switchedMs,
      losses: () => this.#losses,
    });
  }

  #newDoors(firstDoor: number, doors: number, random: SeededRandom): ClientNetwork {
    const machine = (door: number) => {
      return door > firstDoor
        ? this.#standby.machine(door - firstDoor)
        : this.#source.machine(door);
    };
    return new ClientNetwork({
      loop: this.#course.loop,
      random,
      machines: doors,
      faults: this.#faults,
      counts: this.#counts,
      patienceMs: PATIENCE_MS,
      owesAnswer: (door, sinceMs) => machine(door).ranSince(sinceMs),
      enter: (door, work) => machine(door).enter(work),
    });
  }

  get #faults(): ReadonlySet<Fault> {
    const { without } = this.#plan;
    return new Set([...this.#shape.faults].filter((fault) => without?.has(fault) !== true));
  }

  #newSource(random: SeededRandom): Cluster {
    const { machines, spares } = this.#shape;
    return new Cluster({
      ...this.#common('source', 0, random),
      machines,
      spares,
      beside: {
        environment: SOURCE_ENVIRONMENT,
        clients: this.#doors,
        firstDoor: 0,
        sourcePort: () => null,
        began: (machine) => this.#network.serve(machine),
        ended: (machine) => this.#network.sourceEnded(machine),
      },
    });
  }

  #newStandby(random: SeededRandom, machines: number, firstDoor: number): Cluster {
    const own = standbyEnvironment(firstDoor, random);
    return new Cluster({
      ...this.#common('standby', 16, random),
      machines,
      spares: 0,
      beside: {
        environment: this.#chain === null ? own : { ...own, ...SOURCE_ENVIRONMENT },
        clients: this.#doors,
        firstDoor,
        sourcePort: (machine) => this.#network.open(machine),
        began: (machine) => this.#chain?.network.serve(machine),
        ended: (machine) => {
          this.#network.standbyEnded(machine);
          this.#chain?.network.sourceEnded(machine);
        },
      },
    });
  }

  #newTrouble(source: Cluster, standby: Cluster, network: SourceNetwork): StandbyFaults {
    const { seed, skip } = this.#plan;
    return new StandbyFaults({
      seed,
      skip,
      kinds: scheduledOf(this.#shape, 'standby').filter((fault) => this.#faults.has(fault)),
      everyMs: this.#shape.everyMs,
      course: this.#course,
      source,
      standby,
      network,
      forgetful: this.#forgetful,
    });
  }

  #common(name: string, firstMix: number, random: SeededRandom) {
    const course = this.#course;
    return {
      loop: course.loop,
      random,
      faults: this.#faults,
      counts: this.#counts,
      shape: 'standby' as const,
      tempo: this.#shape.tempo,
      note: (text: string) => course.note(`${name}: ${text}`),
      mix: (machine: number) => course.mix(firstMix + machine),
      onFrame: null,
    };
  }

  get #clusters(): readonly Cluster[] {
    const chained = this.#chain === null ? [] : [this.#chain.cluster];
    return [this.#source, this.#standby, ...chained];
  }

  get #settleMs(): number {
    return this.#plan.settleMsMax ?? SETTLE_MS_MAX;
  }

  result(): RunResult {
    try {
      this.#simulate();
    } catch (error) {
      this.#violations.push(describeFailure(error));
    }
    const course = this.#course;
    course.tell(`source:\n${this.#source.picture()}\nstandby:\n${this.#standby.picture()}`);
    if (this.#chain !== null) course.tell(`chained:\n${this.#chain.cluster.picture()}`);
    course.tell(`ways: ${JSON.stringify(this.#network.counts)}`);
    return {
      seed: this.#plan.seed,
      machines: this.#clusters.reduce((sum, { machines }) => sum + machines.length, 0),
      digest: course.digest(),
      figures: this.#figures(),
      faults: this.#counts,
      kinds: this.#shape.faults,
      injected: [...this.#trouble.injected, ...(this.#chainTrouble?.injected ?? [])],
      endedMs: course.loop.nowMs,
      violations: this.#violations,
    };
  }

  #figures(): Figures {
    return {
      ...figuresOf(this.#clusters),
      events: this.#course.events,
      simMs: this.#course.loop.nowMs,
      stored: this.#stored,
      deliveries: this.#clients.deliveries.length,
    };
  }

  // --- the course --------------------------------------------------------------------------------

  #simulate(): void {
    const { simMs } = this.#plan;
    const course = this.#course;
    course.onStep = () => this.#observe();
    this.#source.boot();
    this.#standby.boot();
    this.#chain?.cluster.boot();
    this.#establish();
    this.#clients.start();
    this.#surfaces.start();
    const fromMs = course.loop.nowMs;
    this.#trouble.schedule(0, fromMs + simMs);
    this.#chainTrouble?.schedule(CHAIN_ORDINAL, fromMs + simMs);
    this.#scheduleForgiving();
    const switchMs = fromMs + this.#switchMs;
    while (course.loop.nowMs < switchMs) course.step();
    // Where clients rest now and then, while they do not.
    const busyMs = Math.min(this.#pace.busyMs(this.#random) ?? 0, fromMs + simMs);
    while (course.loop.nowMs < busyMs) course.step();
    this.#switchedMs = this.#leaveSource();
    const promotedMs = this.#promote();
    course.note(`promoted after ${(promotedMs - this.#switchedMs).toFixed(0)} ms`);
    while (course.loop.nowMs < fromMs + simMs) course.step();
    course.note('heal');
    this.#isResting = true;
    this.#standby.heal();
    this.#clients.settle();
    this.#surfaces.end();
    this.#judge(this.#settle());
  }

  #observe(): void {
    const { commit } = this.#source.judge;
    const last = this.#commits.at(-1)?.commit ?? 0;
    if (commit > last) this.#commits.push({ atMs: this.#course.loop.nowMs, commit });
  }

  /** The standby follows, and every node of the source knows of it. */
  #establish(): void {
    const isThere = () =>
      isHeld(this.#source) &&
      this.#follower()?.state === 'following' &&
      this.#chain?.follows !== false;
    if (this.#course.until(isThere, FOLLOWS_WITHIN_MS)) return;
    throw new Violation('not_followed', this.#follower()?.error ?? 'nobody leads the standby');
  }

  /** What the leader of the standby says of itself. */
  #follower() {
    return followerOf(this.#standby, this.#positionOf(this.#standby));
  }

  #positionOf({ judge }: Cluster): number {
    return checkMirror(this.#source.judge, judge).position;
  }

  /** Once a wiped machine holds everything again, another may be lost. */
  #scheduleForgiving(): void {
    this.#course.loop.schedule(500, null, () => {
      if (!this.#trouble.isSourceLost) this.#source.forgive();
      this.#standby.forgive();
      this.#chain?.cluster.forgive();
      this.#scheduleForgiving();
    });
  }

  set #isResting(value: boolean) {
    this.#trouble.isResting = value;
    if (this.#chainTrouble !== null) this.#chainTrouble.isResting = value;
  }

  // --- the switch --------------------------------------------------------------------------------

  /** Returns when clients were answered by the source for the last time. */
  #leaveSource(): number {
    const source = this.#source;
    const { loop } = this.#course;
    this.#course.note(`the source is ${this.#switch}`);
    if (this.#switch === 'drained') {
      source.closeDoors(true);
      this.#course.until(() => !source.isAwaited, ANSWERED_WITHIN_MS);
      this.#drain();
      this.#abandonSource();
      return loop.nowMs;
    }
    source.closeDoors(false);
    this.#losses++;
    // What it is doing may still reach the standby, or not.
    const agonyMs = this.#random.pick([0, 5, 50]) * this.#random.next();
    loop.schedule(agonyMs, null, () => this.#abandonSource());
    return loop.nowMs;
  }

  #abandonSource(): void {
    const [source, standby] = [this.#source, this.#standby];
    this.#trouble.isSourceLost = true;
    source.heal();
    this.#network.sever();
    source.abandon();
    standby.leaseBreaksMs.push(...source.leaseBreaksMs);
    standby.timerBreaksMs.push(...source.timerBreaksMs);
    // What stands is measured by another cluster's clocks from here on.
    const { nowMs } = this.#course.loop;
    const wallsUs = [source, standby].flatMap(({ machines }) =>
      machines.map(({ clockError: { rate, wallSkewUs } }) => nowMs * 1000 * rate + wallSkewUs),
    );
    if (Math.max(...wallsUs) - Math.min(...wallsUs) <= CLOCKS_APART_US) return;
    standby.leaseBreaksMs.push(nowMs);
    standby.timerBreaksMs.push(nowMs);
  }

  /** Without faults the standby gets to the source's end. */
  #drain(): void {
    const [source, standby] = [this.#source, this.#standby];
    const course = this.#course;
    this.#isResting = true;
    source.heal();
    standby.heal();
    this.#network.heal();
    const untilMs = course.loop.nowMs + this.#settleMs;
    const isThere = () =>
      source.unrest() === null && this.#positionOf(standby) === lastWithEffects(this.#source.judge);
    const what = () => {
      const { state, error, scanned } = this.#follower() ?? {};
      return (
        `not drained: at ${this.#positionOf(standby)} of ${lastWithEffects(source.judge)}, ` +
        `scanned ${scanned}, ${state} ${error}; ` +
        `source: ${source.unrest()}; standby: ${standby.unrest()}`
      );
    };
    course.wait(() => isThere() || this.#isHaltedRightly(), what, untilMs);
    this.#isResting = false;
  }

  /** It needs a new seed, as a node of the source forgot that it is there. */
  #isHaltedRightly(): boolean {
    const { state, error } = this.#follower() ?? {};
    return (
      state === 'halted' &&
      this.#forgetful.has(this.#source) &&
      error?.includes('it needs a new seed') === true
    );
  }

  /** Through any node of the standby, until one says that it is done. */
  #promote(): number {
    const { loop } = this.#course;
    const { state = 'idle', error = null } = this.#follower() ?? {};
    if (state === 'halted' && !this.#isHaltedRightly()) throw new Violation('halted', `${error}`);
    const waits = this.#random.chance(IN_FLIGHT_SHARE);
    if (waits) this.#course.until(() => this.#isAtWork, AT_WORK_MS);
    let isPromoted = false;
    const ask = () => {
      if (isPromoted) return;
      const machine = this.#random.pick(this.#standby.machines);
      const reply = new DirectReply<SubmittedOutcome>(({ kind }) => {
        this.#course.note(`promote at ${machine.number}: ${kind}`);
        if (isPromoted || kind !== 'promoted') return;
        isPromoted = true;
        if (this.#random.chance(AMBUSH_SHARE)) this.#ambush(0);
      });
      machine.enter(() => machine.broker?.submit({ kind: 'promote' }, reply));
      loop.schedule(AGAIN_MS, null, ask);
    };
    ask();
    if (this.#random.chance(AMBUSH_SHARE)) this.#ambush(this.#random.next() * AMBUSH_MS_MAX);
    if (!this.#course.until(() => isPromoted, PROMOTED_WITHIN_MS)) {
      throw new Violation('not_promoted', `${this.#standby.unrest()}`);
    }
    return loop.nowMs;
  }

  /** Entries of the source are in flight at the leader of the standby. */
  get #isAtWork(): boolean {
    const { lastIndex = 0, applied = 0 } = this.#standby.operator?.leader?.status ?? {};
    return lastIndex > applied;
  }

  /** The leader of the standby dies while it is promoted, or as soon as a client is told so. */
  #ambush(delayMs: number): void {
    this.#course.loop.schedule(delayMs, null, () => {
      this.#standby.operator?.leader?.kill(this.#random.pick(['kill', 'power']));
    });
  }

  get #firstDoor(): number {
    return this.#source.machines.length;
  }

  // --- the end -----------------------------------------------------------------------------------

  #settle(): ReadRecord[] {
    const [standby, clients] = [this.#standby, this.#clients];
    const course = this.#course;
    const untilMs = course.loop.nowMs + this.#settleMs;
    const unrest = () => standby.unrest();
    const wait = (done: () => boolean, what: () => string) => course.wait(done, what, untilMs);
    wait(
      () => clients.producersLeft === 0,
      () => `pushes do not end; ${unrest()}`,
    );
    wait(
      () => unrest() === null,
      () => `${unrest()}`,
    );
    const caller = this.#doors.caller();
    const records = this.#readAll(caller, untilMs);
    const left = GROUPS.map((group) => new Leftover(caller, clients.queues.newest, group));
    const isConsumed = () => {
      if (clients.acksOpen > 0) return false;
      if (clients.haveConsumed(records, this.#history(records).acks)) return true;
      // An ack that was answered when it may have been lost need not have been.
      this.#isEmptied = clients.haveConsumed(records) && left.every((one) => one.isEmpty());
      return this.#isEmptied;
    };
    wait(isConsumed, () => 'not everything is consumed');
    const until = (done: () => boolean, withinMs: number) => course.until(done, withinMs);
    wait(
      () => this.#surfaces.unfinished() === null,
      () => `${this.#surfaces.unfinished()}; ${unrest()}`,
    );
    const probe = new Probe(standby, course.loop, this.#random.fork(), until);
    wait(
      () => unrest() === null && probe.run(),
      () => `${unrest()}`,
    );
    wait(
      () => unrest() === null,
      () => `${unrest()}`,
    );
    standby.checkAll();
    this.#settleChain(untilMs);
    const wrong = this.#surfaces.judge((places) => this.#readPlaces(caller, places, untilMs));
    this.#violations.push(...wrong);
    return this.#readAll(caller, untilMs);
  }

  #settleChain(untilMs: number): void {
    const chain = this.#chain;
    if (chain === null) return;
    chain.heal();
    const isDone = () => {
      return chain.unrest() === null || (chain.isHalted && this.#forgetful.has(this.#standby));
    };
    this.#course.wait(isDone, () => `chained: ${chain.unrest()}`, untilMs);
    this.#violations.push(...chain.judge().map((text) => `chained: ${text}`));
  }

  #readAll(caller: Caller, untilMs: number): ReadRecord[] {
    const { queues, partitions } = this.#clients;
    const places = queues.live.flatMap((queue) => {
      return partitions.map((partition) => [queue, partition] as const);
    });
    return this.#readPlaces(caller, places, untilMs);
  }

  #readPlaces(caller: Caller, places: readonly Place[], untilMs: number): ReadRecord[] {
    caller.moveTo(this.#standby.speaker + this.#firstDoor);
    return places.flatMap(([queue, partition]) =>
      this.#course.ask<ReadRecord[]>(untilMs, (done) => {
        this.#clients.readAll(caller, queue, partition, done);
      }),
    );
  }

  #judge(records: readonly ReadRecord[]): void {
    const mirror = checkMirror(this.#source.judge, this.#standby.judge);
    this.#violations.push(...mirror.wrong);
    if (mirror.promotedAt === null) this.#violations.push('promotion: no entry says so');
    const { position, entries } = mirror;
    this.#course.note(
      `position ${position} of ${lastWithEffects(this.#source.judge)}, ${entries} entries`,
    );
    this.#stored = records.length;
    const history = this.#history(records);
    const { sends, acks, deliveries, otherReads, wrong } = history;
    const anomalies = [
      ...checkLog({ sends, records, otherReads, readValue }),
      ...checkQueue({ sends, records, groups: GROUPS, deliveries, acks }),
    ];
    this.#violations.push(...wrong);
    for (const { kind, text } of anomalies) {
      if (kind === 'unfinished' && this.#isEmptied) continue;
      this.#violations.push(`${kind}: ${text}`);
    }
  }

  /** What clients saw, as the checkers are to see it. */
  #history(records: readonly ReadRecord[]): CutHistory {
    const [intactMs, switchedMs] = [this.#intactMs, this.#switchedMs];
    const { leaseBreaksMs } = this.#standby;
    return cutHistory(this.#clients, { records, intactMs, switchedMs, leaseBreaksMs });
  }

  /** When the source had committed more than what came to be at the standby. */
  get #intactMs(): number {
    if (this.#intact !== null) return this.#intact;
    const lost = nextWithEffects(this.#source.judge, this.#positionOf(this.#standby));
    const beyond = this.#commits.find(({ commit }) => lost !== null && commit >= lost);
    this.#intact = beyond?.atMs ?? Number.POSITIVE_INFINITY;
    return this.#intact;
  }
}
