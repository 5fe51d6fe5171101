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
import { readValue } from './client-messages.js';
import { type Caller, ClientNetwork } from './client-network.js';
import { Cluster, PATIENCE_MS } from './cluster.js';
import { Course } from './course.js';
import { type CutHistory, cutHistory } from './cut-history.js';
import { DirectReply } from './direct-reply.js';
import { type Fault, type FaultCounts, noFaults } from './faults.js';
import { type Figures, figuresOf } from './figures.js';
import { checkMirror, hasEffects } from './mirror-check.js';
import { type Pace, SparsePace, SteadyPace } from './pace.js';
import { Probe } from './probe.js';
import type { Injected, RunPlan, RunResult } from './run.js';
import { drawShape, FORGETFUL, type Shape, scheduledOf } from './shape.js';
import { GROUPS, SimulatedClients } from './simulated-clients.js';
import { SourceNetwork } from './source-network.js';
import { describeFailure, Violation } from './violation.js';

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
/** As long as any request may last. */
const ANSWERED_WITHIN_MS = 15_000;
const TOKEN = 'simulated';

export function runStandby(plan: RunPlan): RunResult {
  return new StandbyRun(plan).result();
}

class StandbyRun {
  readonly #plan: RunPlan;
  readonly #course: Course;
  readonly #shape: Shape;
  readonly #counts: FaultCounts = noFaults();
  readonly #injected: Injected[] = [];
  readonly #violations: string[] = [];
  readonly #source: Cluster;
  readonly #standby: Cluster;
  readonly #clients: SimulatedClients;
  #stored = 0;
  readonly #random: SeededRandom;
  readonly #network: SourceNetwork;
  readonly #doors: ClientNetwork;
  readonly #pace: Pace;
  readonly #switch: Switch;
  readonly #switchMs: number;
  /** When the source had committed so much for the first time. */
  readonly #commits: { readonly atMs: number; readonly commit: number }[] = [];

  /** Nothing is injected at all. */
  #isResting = false;
  /** Nothing is injected into the source any more. */
  #isLost = false;
  /** A node of the source may not know its readers any more. */
  #mayForget = false;

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
    this.#network = new SourceNetwork({
      loop,
      random: random.fork(),
      source: {
        enter: (machine, work) => this.#source.machine(machine).enter(work),
        machineAt: (address) => Number(/^node-(\d+):/.exec(address)?.[1] ?? 0),
        read: (machine, request, sink) => {
          const reads = this.#source.machine(machine).node?.parts.sourceReads ?? null;
          return reads === null ? null : reads.read(request, sink);
        },
      },
      standby: { enter: (machine, work) => this.#standby.machine(machine).enter(work) },
    });
    this.#source = this.#newSource(random.fork());
    this.#standby = this.#newStandby(random.fork(), others, firstDoor);
    const isSteady = random.chance(STEADY_SHARE);
    const pace = random.fork();
    this.#pace = isSteady ? new SteadyPace(pace) : new SparsePace(loop, pace);
    const note = (text: string) => course.note(text);
    const parts = { loop, network: this.#doors, pace: this.#pace, note };
    this.#clients = new SimulatedClients({ ...parts, random: random.fork(), turnover: false });
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
        environment: {
          SVC_LINK_TOKEN: TOKEN,
          SVC_LINK_HOLD_DISK_PCT: '100',
        },
        clients: this.#doors,
        firstDoor: 0,
        sourcePort: () => null,
        began: (machine) => this.#network.serve(machine),
        ended: (machine) => this.#network.sourceEnded(machine),
      },
    });
  }

  #newStandby(random: SeededRandom, machines: number, firstDoor: number): Cluster {
    const nodes = Array.from({ length: firstDoor }, (_, i) => `node-${i + 1}:7400`);
    return new Cluster({
      ...this.#common('standby', 16, random),
      machines,
      spares: 0,
      beside: {
        environment: {
          SVC_LINK_SOURCE: nodes.join(','),
          SVC_LINK_SOURCE_TOKEN: TOKEN,
          SVC_LINK_STANDBY: 'true',
          SVC_LINK_PIPELINE: `${random.pick([1, 2, 3, 64])}`,
        },
        clients: this.#doors,
        firstDoor,
        sourcePort: (machine) => this.#network.open(machine),
        began: () => {},
        ended: (machine) => this.#network.standbyEnded(machine),
      },
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
    course.tell(`ways: ${JSON.stringify(this.#network.counts)}`);
    return {
      seed: this.#plan.seed,
      machines: this.#source.machines.length + this.#standby.machines.length,
      digest: course.digest(),
      figures: this.#figures(),
      faults: this.#counts,
      kinds: this.#shape.faults,
      injected: this.#injected,
      endedMs: course.loop.nowMs,
      violations: this.#violations,
    };
  }

  #figures(): Figures {
    return {
      ...figuresOf([this.#source, this.#standby]),
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
    this.#establish();
    this.#clients.start();
    const fromMs = course.loop.nowMs;
    this.#schedule(0, fromMs + simMs);
    this.#scheduleForgiving();
    const switchMs = fromMs + this.#switchMs;
    while (course.loop.nowMs < switchMs) course.step();
    // Where clients rest now and then, while they do not.
    const busyMs = Math.min(this.#pace.busyMs(this.#random) ?? 0, fromMs + simMs);
    while (course.loop.nowMs < busyMs) course.step();
    const switchedMs = this.#leaveSource();
    const promotedMs = this.#promote();
    course.note(`promoted after ${(promotedMs - switchedMs).toFixed(0)} ms`);
    while (course.loop.nowMs < fromMs + simMs) course.step();
    course.note('heal');
    this.#standby.heal();
    this.#clients.settle();
    const records = this.#settle(switchedMs);
    this.#judge(records, switchedMs);
  }

  #observe(): void {
    const { commit } = this.#source.judge;
    const last = this.#commits.at(-1)?.commit ?? 0;
    if (commit > last) this.#commits.push({ atMs: this.#course.loop.nowMs, commit });
  }

  /** The standby follows, and every node of the source knows of it. */
  #establish(): void {
    const isHeld = () =>
      this.#source.voters.every((number) => {
        const readers = this.#source.machine(number).node?.parts.holds?.readers();
        return readers !== undefined && readers.length > 0;
      });
    const isThere = () => isHeld() && this.#follower()?.state === 'following';
    if (this.#course.until(isThere, FOLLOWS_WITHIN_MS)) return;
    throw new Violation('not_followed', this.#follower()?.error ?? 'nobody leads the standby');
  }

  /** What the leader of the standby says of itself. */
  #follower() {
    const { node } = this.#standby.operator?.leader ?? {};
    const position = this.#positionOf(this.#standby);
    return node?.parts.follower?.view({ index: position, stampUs: 0 }) ?? null;
  }

  #positionOf({ judge }: Cluster): number {
    return checkMirror(this.#source.judge, judge).position;
  }

  #schedule(ordinal: number, untilMs: number): void {
    const { seed, skip } = this.#plan;
    const kinds = scheduledOf(this.#shape, 'standby').filter((fault) => this.#faults.has(fault));
    const random = new SeededRandom(
      Math.imul(seed, 0x9e3779b1) ^ Math.imul(ordinal + 1, 0x85ebca6b),
    );
    const { loop } = this.#course;
    const delayMs = this.#shape.everyMs * -Math.log(1 - random.next());
    loop.schedule(delayMs, null, () => {
      if (loop.nowMs >= untilMs) return;
      if (skip?.has(ordinal) !== true) this.#inject(ordinal, kinds, random);
      this.#schedule(ordinal + 1, untilMs);
    });
  }

  #inject(ordinal: number, kinds: readonly Fault[], random: SeededRandom): void {
    if (this.#isResting) return;
    if (random.chance(0.2)) {
      this.#cutApart(random);
      return;
    }
    const isAtSource = !this.#isLost && random.chance(0.5);
    if (kinds.length === 0) return;
    const fault = random.pick(kinds);
    const cluster = isAtSource ? this.#source : this.#standby;
    if (!cluster.inject(fault, random)) return;
    this.#course.note(`fault ${ordinal} ${fault} at the ${isAtSource ? 'source' : 'standby'}`);
    this.#injected.push({ ordinal, atMs: this.#course.loop.nowMs, fault });
    if (isAtSource && FORGETFUL.includes(fault)) this.#mayForget = true;
  }

  #cutApart(random: SeededRandom): void {
    const all = this.#source.machines.flatMap(({ number: to }) =>
      this.#standby.machines.map(({ number: from }) => [from, to] as const),
    );
    const paths = random.chance(0.4) ? all : all.filter(() => random.chance(0.5));
    const durationMs = random.pick([300, 3000, 15_000]) * (0.5 + random.next());
    this.#course.note(`cut ${paths.length} ways to the source for ${durationMs.toFixed(0)} ms`);
    this.#network.cut(paths, durationMs);
  }

  /** Once a wiped machine holds everything again, another may be lost. */
  #scheduleForgiving(): void {
    this.#course.loop.schedule(500, null, () => {
      if (!this.#isLost) this.#source.forgive();
      this.#standby.forgive();
      this.#scheduleForgiving();
    });
  }

  // --- the switch --------------------------------------------------------------------------------

  /** When clients were answered by the source for the last time. */
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
    // What it is doing may still reach the standby, or not.
    const agonyMs = this.#random.pick([0, 5, 50]) * this.#random.next();
    loop.schedule(agonyMs, null, () => this.#abandonSource());
    return loop.nowMs;
  }

  #abandonSource(): void {
    const [source, standby] = [this.#source, this.#standby];
    this.#isLost = true;
    source.heal();
    this.#network.sever();
    source.abandon();
    // Leases that stand are measured by another cluster's clocks from here on.
    standby.leaseBreaksMs.push(...source.leaseBreaksMs, this.#course.loop.nowMs);
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
    const isThere = () => source.unrest() === null && this.#positionOf(standby) === this.#last();
    const what = () => {
      const { state, error, scanned } = this.#follower() ?? {};
      return (
        `not drained: at ${this.#positionOf(standby)} of ${this.#last()}, scanned ${scanned}, ` +
        `${state} ${error}; source: ${source.unrest()}; standby: ${standby.unrest()}`
      );
    };
    course.wait(() => isThere() || this.#isHaltedRightly(), what, untilMs);
    this.#isResting = false;
  }

  /** It needs a new seed, as a node of the source forgot that it is there. */
  #isHaltedRightly(): boolean {
    const { state, error } = this.#follower() ?? {};
    return state === 'halted' && this.#mayForget && error?.includes('it needs a new seed') === true;
  }

  /** The last entry of the source that a standby is to hold. */
  #last(): number {
    const { judge } = this.#source;
    for (let index = judge.commit; index > 0; index--) {
      const entry = judge.committed(index);
      if (entry !== undefined && hasEffects(entry)) return index;
    }
    return 0;
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

  /** Who leads the standby dies while it is promoted, or as soon as somebody is told so. */
  #ambush(delayMs: number): void {
    this.#course.loop.schedule(delayMs, null, () => {
      this.#standby.operator?.leader?.kill(this.#random.pick(['kill', 'power']));
    });
  }

  get #firstDoor(): number {
    return this.#source.machines.length;
  }

  // --- the end -----------------------------------------------------------------------------------

  #settle(switchedMs: number): ReadRecord[] {
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
    wait(
      () =>
        clients.haveConsumed(records, this.#history(records, switchedMs).acks) &&
        clients.acksOpen === 0,
      () => 'not everything is consumed',
    );
    const until = (done: () => boolean, withinMs: number) => course.until(done, withinMs);
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
    return this.#readAll(caller, untilMs);
  }

  #readAll(caller: Caller, untilMs: number): ReadRecord[] {
    const { queues, partitions } = this.#clients;
    caller.moveTo(this.#standby.speaker + this.#firstDoor);
    return queues.live.flatMap((queue) =>
      partitions.flatMap((partition) =>
        this.#course.ask<ReadRecord[]>(untilMs, (done) => {
          this.#clients.readAll(caller, queue, partition, done);
        }),
      ),
    );
  }

  #judge(records: readonly ReadRecord[], switchedMs: number): void {
    const mirror = checkMirror(this.#source.judge, this.#standby.judge);
    this.#violations.push(...mirror.wrong);
    if (mirror.promotedAt === null) this.#violations.push('promotion: no entry says so');
    const { position, entries } = mirror;
    this.#course.note(`position ${position} of ${this.#last()}, ${entries} entries`);
    this.#stored = records.length;
    const history = this.#history(records, switchedMs);
    const { sends, acks, deliveries, otherReads, wrong } = history;
    const anomalies = [
      ...checkLog({ sends, records, otherReads, readValue }),
      ...checkQueue({ sends, records, groups: GROUPS, deliveries, acks }),
    ];
    this.#violations.push(...wrong);
    for (const { kind, text } of anomalies) this.#violations.push(`${kind}: ${text}`);
  }

  /** What clients saw, as the checkers are to see it. */
  #history(records: readonly ReadRecord[], switchedMs: number): CutHistory {
    const position = this.#positionOf(this.#standby);
    const beyond = this.#commits.find(({ commit }) => commit > position);
    const intactMs = beyond === undefined ? Number.POSITIVE_INFINITY : beyond.atMs;
    const { leaseBreaksMs } = this.#standby;
    return cutHistory(this.#clients, { records, intactMs, switchedMs, leaseBreaksMs });
  }
}
