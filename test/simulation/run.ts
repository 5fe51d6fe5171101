/**
 * One run of the simulation: machines, their clients, a time of faults, then a time without any in
 * which everything must come to its end; then the checkers. A run is a function of its plan.
 */
import { type Ack, type Delivery, groupBy, type ReadRecord } from '../checkers/history.js';
import { checkLog } from '../checkers/log-checker.js';
import { checkQueue } from '../checkers/queue-checker.js';
import { SeededRandom } from '../seeded-random.js';
import { readValue } from './client-messages.js';
import type { Caller } from './client-network.js';
import { Cluster, type ClusterOptions, SKEW_SAFE_US } from './cluster.js';
import { Course } from './course.js';
import { FadingClients } from './fading-clients.js';
import { type Fault, type FaultCounts, noFaults } from './faults.js';
import { type Figures, figuresOf } from './figures.js';
import { JOINED_GROUP, JoinedConsumers } from './joined-consumers.js';
import { BOOT_BACK_US } from './machine-options.js';
import type { Reduction } from './minimise.js';
import { MovingGroups } from './moving-groups.js';
import { DensePace, type Pace, SparsePace, SteadyPace } from './pace.js';
import { Probe } from './probe.js';
import { QueueTurnover } from './queue-turnover.js';
import { checkResults, RELAY_GROUP, RELAYED_QUEUE, RelayClients } from './relay-clients.js';
import { drawShape, type Shape, type ShapeName, scheduledOf } from './shape.js';
import { GROUPS, SimulatedClients } from './simulated-clients.js';
import type { SimulatedLoop } from './simulated-loop.js';
import { runStandby } from './standby-run.js';
import { LIFETIME_MS, Surfaces, TIMER_MS_MAX } from './surfaces.js';
import { describeFailure } from './violation.js';

export interface RunPlan {
  readonly seed: number;
  readonly shape: ShapeName;
  /** Simulated time with faults. */
  readonly simMs: number;
  /** After the last fault everything has to be consumed within it. */
  readonly settleMsMax?: number;
  /** What a shrunk trace leaves out of the seed. */
  readonly without?: Reduction['without'];
  readonly skip?: Reduction['skip'];
  /** Called with every event. */
  readonly trace?: (line: string) => void;
  readonly traceFrame?: (from: number, to: number, frame: Uint8Array, fate: string) => string;
}

export interface Injected {
  readonly ordinal: number;
  readonly atMs: number;
  readonly fault: Fault;
}

export interface RunResult {
  readonly seed: number;
  readonly machines: number;
  /** Digest of all events in their order: two runs of one plan have the same. */
  readonly digest: string;
  readonly figures: Figures;
  readonly faults: FaultCounts;
  /** The kinds that this seed has switched on. */
  readonly kinds: ReadonlySet<Fault>;
  readonly injected: readonly Injected[];
  /** Simulated time at which the run ended. */
  readonly endedMs: number;
  /** Empty when the run is right. */
  readonly violations: readonly string[];
}

export const SETTLE_MS_MAX = 60_000;
const FORGIVE_MS = 500;
/** Share of seeds whose messages are also relayed by transactions. */
const RELAY_SHARE = 0.6;
/** Share of seeds that have queues with retention. */
const FADING_SHARE = 0.5;
/** Share of seeds in which a client moves a group about. */
const MOVING_SHARE = 0.5;

/**
 * An ack is told that its message was acknowledged before only if somebody else may have done that:
 * one that was repeated on its way is answered with what it did the first time.
 */
function checkOwnAcks(acks: readonly Ack[]): string[] {
  const wrong: string[] = [];
  for (const own of groupBy(acks, ({ group, partition }) => `${group} ${partition}`).values()) {
    for (const ack of own) {
      if (ack.outcome !== 'noop') continue;
      const { offset, endedMs, group, partition } = ack;
      const other = own.some(
        (each) => each !== ack && each.offset >= offset && each.beganMs <= endedMs,
      );
      if (!other) wrong.push(`own_ack_forgotten: ${group} on ${partition} at ${offset}`);
    }
  }
  return wrong;
}

export function run(plan: RunPlan): RunResult {
  return plan.shape === 'standby' ? runStandby(plan) : new Run(plan).result();
}

function paceOf(shape: ShapeName, loop: SimulatedLoop, random: SeededRandom): Pace {
  switch (shape) {
    case 'single':
      return new DensePace();
    case 'cluster':
    case 'standby':
      return new SparsePace(loop, random.fork());
    case 'busy':
    case 'joined':
      return new SteadyPace(random.fork());
  }
}

class Run {
  readonly #plan: RunPlan;
  readonly #shape: Shape;
  readonly #random: SeededRandom;
  readonly #course: Course;
  readonly #loop: SimulatedLoop;
  readonly #counts = noFaults();
  readonly #cluster: Cluster;
  readonly #clients: SimulatedClients;
  readonly #pace: Pace;
  readonly #reader: Caller;
  /** null: there is one machine. */
  readonly #probe: Probe | null = null;
  /** null: one queue is used from the beginning to the end. */
  readonly #turnover: QueueTurnover | null = null;
  /** null: everything that is stored stays. */
  readonly #fading: FadingClients | null = null;
  /** null: no group is moved but by what it consumes. */
  readonly #moving: MovingGroups | null = null;
  /** null: nobody settles by transactions. */
  readonly #relay: RelayClients | null = null;
  /** null: acknowledgements are requests of their own. */
  readonly #joined: JoinedConsumers | null = null;
  readonly #surfaces: Surfaces;
  readonly #injected: Injected[] = [];
  readonly #violations: string[] = [];
  #stored = 0;

  constructor(plan: RunPlan) {
    const { seed, shape, without } = plan;
    this.#plan = plan;
    this.#course = new Course(plan.trace);
    this.#loop = this.#course.loop;
    const random = new SeededRandom(seed);
    this.#random = random;
    this.#shape = drawShape(plan, random);
    const { machines, spares, faults, tempo } = this.#shape;
    const loop = this.#loop;
    const note = (text: string) => this.#course.note(text);
    const { traceFrame } = plan;
    this.#cluster = new Cluster({
      loop,
      random: random.fork(),
      faults: new Set([...faults].filter((fault) => without?.has(fault) !== true)),
      counts: this.#counts,
      machines,
      spares,
      shape,
      tempo,
      note,
      mix: (machine) => this.#course.mix(machine),
      onFrame: this.#tracing(traceFrame),
    });
    this.#pace = paceOf(shape, loop, random);
    const { clients } = this.#cluster;
    this.#clients = new SimulatedClients({
      loop,
      random: random.fork(),
      network: clients,
      pace: this.#pace,
      turnover: shape === 'busy',
      note,
    });
    if (shape === 'busy') {
      this.#turnover = new QueueTurnover({
        loop,
        random: random.fork(),
        clients: this.#clients,
        caller: clients.caller(),
        note,
      });
    }
    // A generator of its own: whether there are such queues changes nothing else of the seed.
    const fading = new SeededRandom(seed ^ 0x5eed_fade);
    const pace = this.#pace;
    if (fading.chance(FADING_SHARE)) {
      this.#fading = new FadingClients({ loop, random: fading, network: clients, pace });
    }
    // Queues that follow each other would keep the results of those that have gone.
    const relay = new SeededRandom(seed ^ 0x7e1a_7e1a);
    if (shape !== 'busy' && relay.chance(RELAY_SHARE)) {
      const queue = this.#clients.queues.newest;
      this.#relay = new RelayClients({ loop, random: relay, network: clients, pace, queue, note });
    }
    const moving = new SeededRandom(seed ^ 0x5eed_30de);
    if (shape !== 'busy' && moving.chance(MOVING_SHARE)) {
      const { partitions, queues } = this.#clients;
      const parts = { loop, random: moving, network: clients, pace, note };
      this.#moving = new MovingGroups({ ...parts, queue: queues.newest, partitions });
    }
    if (shape === 'joined') this.#joined = this.#newJoined(random.fork(), note);
    this.#surfaces = this.#newSurfaces(note);
    this.#reader = clients.caller();
    if (shape !== 'single') {
      const until = (done: () => boolean, withinMs: number) => this.#course.until(done, withinMs);
      this.#probe = new Probe(this.#cluster, loop, random.fork(), until);
    }
  }

  #tracing(traceFrame: RunPlan['traceFrame']): ClusterOptions['onFrame'] {
    if (traceFrame === undefined) return null;
    return (from, to, frame, fate) => this.#course.tell(traceFrame(from, to, frame, fate));
  }

  #newJoined(random: SeededRandom, note: (text: string) => void): JoinedConsumers {
    const queue = this.#clients.queues.newest;
    const parts = { loop: this.#loop, network: this.#cluster.clients, pace: this.#pace };
    return new JoinedConsumers({ ...parts, random, note, queue });
  }

  #newSurfaces(note: (text: string) => void): Surfaces {
    const { seed, shape } = this.#plan;
    const { clients: network, leaseBreaksMs: clockBreaksMs, timerBreaksMs } = this.#cluster;
    const apartMs = LIFETIME_MS + (shape === 'single' ? 0 : SKEW_SAFE_US / 1000);
    return new Surfaces(seed, {
      loop: this.#loop,
      network,
      pace: this.#pace,
      note,
      delayMsMax: TIMER_MS_MAX[shape],
      clockBreaksMs,
      earlyMsMax: apartMs,
      lateMs: () => {
        const restarts = this.#cluster.starts - this.#cluster.machines.length;
        return apartMs + (BOOT_BACK_US / 1000) * restarts;
      },
      effectUntilMs: (beganMs) => this.#cluster.effectUntilMs(beganMs),
      isAhead: (machine) => this.#cluster.isAhead(machine),
      timerBreaksMs: shape === 'single' ? [] : timerBreaksMs,
      voters: () => this.#cluster.voters,
      isDoubtful: () => false,
      losses: () => 0,
    });
  }

  result(): RunResult {
    try {
      const records = this.#simulate();
      this.#stored = records.length + (this.#turnover?.records.length ?? 0);
      this.#judge(records);
    } catch (error) {
      this.#violations.push(describeFailure(error));
    }
    if (this.#plan.shape !== 'single') this.#course.tell(this.#cluster.picture());
    return {
      seed: this.#plan.seed,
      machines: this.#shape.machines,
      digest: this.#course.digest(),
      figures: this.#figures(),
      faults: this.#counts,
      kinds: this.#shape.faults,
      injected: this.#injected,
      endedMs: this.#loop.nowMs,
      violations: this.#violations,
    };
  }

  #figures(): Figures {
    return {
      ...figuresOf([this.#cluster]),
      events: this.#course.events,
      simMs: this.#loop.nowMs,
      stored: this.#stored,
      deliveries: this.#clients.deliveries.length,
    };
  }

  #simulate(): ReadRecord[] {
    const { simMs } = this.#plan;
    this.#cluster.boot();
    this.#loop.schedule(this.#shape.quietUntilMs, null, () => this.#clients.start());
    this.#loop.schedule(this.#shape.quietUntilMs, null, () => this.#fading?.start());
    this.#loop.schedule(this.#shape.quietUntilMs, null, () => this.#moving?.start());
    this.#loop.schedule(this.#shape.quietUntilMs, null, () => this.#relay?.start());
    this.#loop.schedule(this.#shape.quietUntilMs, null, () => this.#joined?.start());
    this.#loop.schedule(this.#shape.quietUntilMs, null, () => this.#surfaces.start());
    if (this.#shape.quietUntilMs > 0) this.#clients.churnAlone();
    this.#schedule(0);
    this.#scheduleCheck();
    while (this.#loop.nowMs < simMs) this.#course.step();
    this.#course.note('heal');
    this.#cluster.heal();
    this.#clients.settle();
    this.#turnover?.end();
    this.#fading?.end();
    this.#moving?.end();
    this.#relay?.end();
    this.#joined?.end();
    this.#surfaces.end();
    return this.#settle();
  }

  /**
   * The injected events. Each draws from a generator of its own, known by its ordinal, so that one
   * that is left out does not change what the others are.
   */
  #schedule(ordinal: number): void {
    const { seed, shape, simMs, without, skip } = this.#plan;
    const kinds = scheduledOf(this.#shape, shape);
    if (kinds.length === 0) return;
    const random = new SeededRandom(
      Math.imul(seed, 0x9e3779b1) ^ Math.imul(ordinal + 1, 0x85ebca6b),
    );
    const { everyMs } = this.#shape;
    const delayMs =
      shape === 'single' ? random.between(2, 2 * everyMs) : everyMs * -Math.log(1 - random.next());
    const fault = random.pick(kinds);
    const meetsWork = random.chance(0.5) && fault !== 'truncate' && fault !== 'bit-flip';
    const busyMs = meetsWork ? this.#pace.busyMs(random) : null;
    const atMs = Math.max(this.#loop.nowMs + delayMs / 10, busyMs ?? this.#loop.nowMs + delayMs);
    this.#loop.schedule(atMs - this.#loop.nowMs, null, () => {
      if (this.#loop.nowMs >= simMs) return;
      const left = without?.has(fault) === true || skip?.has(ordinal) === true;
      if (!left && this.#cluster.inject(fault, random)) {
        this.#course.note(`fault ${ordinal} ${fault}`);
        this.#injected.push({ ordinal, atMs: this.#loop.nowMs, fault });
      }
      this.#schedule(ordinal + 1);
    });
  }

  #scheduleCheck(): void {
    const dense = this.#plan.shape === 'single';
    this.#loop.schedule(dense ? this.#random.between(50, 300) : FORGIVE_MS, null, () => {
      if (dense) this.#cluster.checkPlanned();
      else this.#cluster.forgive();
      this.#scheduleCheck();
    });
  }

  /** Runs until all agree and the groups have consumed everything, and returns what is stored. */
  #settle(): ReadRecord[] {
    const untilMs = this.#loop.nowMs + (this.#plan.settleMsMax ?? SETTLE_MS_MAX);
    const wait = (done: () => boolean, what: () => string) => {
      this.#course.wait(done, what, untilMs);
    };
    const unrest = () => this.#cluster.unrest();
    const clients = this.#clients;
    wait(
      () => clients.producersLeft === 0,
      () => `pushes do not end; ${unrest()}`,
    );
    wait(
      () => unrest() === null,
      () => `${unrest()}`,
    );
    let records = this.#readAll(this.#cluster.speaker, untilMs);
    wait(
      () => clients.haveConsumed(records) && clients.acksOpen === 0,
      () => 'not everything is consumed',
    );
    const relay = this.#relay;
    wait(
      () => relay === null || (relay.haveConsumed(records) && relay.idle),
      () => 'not everything is relayed',
    );
    const joined = this.#joined;
    wait(
      () => joined === null || (joined.haveConsumed(records) && joined.idle),
      () => 'not everything is acknowledged with pops',
    );
    wait(
      () => this.#surfaces.unfinished() === null,
      () => `${this.#surfaces.unfinished()}`,
    );
    wait(
      () => unrest() === null && this.#probe?.run() !== false,
      () => `${unrest()}`,
    );
    wait(
      () => unrest() === null,
      () => `${unrest()}`,
    );
    records = this.#readAll(this.#cluster.speaker, untilMs);
    for (const number of this.#cluster.voters)
      this.#clients.reads.push(...this.#readAll(number, untilMs));
    this.#cluster.checkAll();
    if (relay !== null) this.#checkRelay(relay, records, untilMs);
    if (joined !== null) this.#checkJoined(joined, records);
    const { speaker } = this.#cluster;
    this.#violations.push(
      ...this.#surfaces.judge((places) => this.#readPlaces(speaker, places, untilMs)),
    );
    return records;
  }

  /** Acks, results and positions of transactions are in step. */
  #checkRelay(relay: RelayClients, records: readonly ReadRecord[], untilMs: number): void {
    const { partitions } = this.#clients;
    const places = partitions.map((name) => [RELAYED_QUEUE, name] as const);
    const relayed = this.#readPlaces(this.#cluster.speaker, places, untilMs);
    this.#violations.push(...relay.wrong, ...checkResults(records, relayed, relay.acks));
    const followed = this.#course.ask<boolean>(untilMs, (done) =>
      relay.hasFollowed(this.#reader, done),
    );
    if (!followed) this.#violations.push('relay: positions do not follow the acks');
    const deliveries = relay.deliveries.map((delivery) => this.#leased(delivery));
    const history = { sends: this.#clients.sends, records, deliveries, acks: relay.acks };
    for (const { kind, text } of checkQueue({ ...history, groups: [RELAY_GROUP] })) {
      this.#violations.push(`${kind}: ${text}`);
    }
  }

  #checkJoined({ deliveries, acks, wrong }: JoinedConsumers, records: readonly ReadRecord[]): void {
    const leased = deliveries.map((delivery) => this.#leased(delivery));
    const history = { sends: this.#clients.sends, records, deliveries: leased, acks };
    this.#violations.push(...wrong, ...checkOwnAcks(acks));
    for (const { kind, text } of checkQueue({ ...history, groups: [JOINED_GROUP] })) {
      this.#violations.push(`${kind}: ${text}`);
    }
  }

  #readAll(machine: number, untilMs: number): ReadRecord[] {
    const { queues, partitions } = this.#clients;
    const places = queues.live.flatMap((queue) => partitions.map((name) => [queue, name] as const));
    return this.#readPlaces(machine, places, untilMs);
  }

  #readPlaces(
    machine: number,
    places: readonly (readonly [queue: string, partition: string])[],
    untilMs: number,
  ): ReadRecord[] {
    this.#reader.moveTo(machine);
    return places.flatMap(([queue, partition]) =>
      this.#course.ask<ReadRecord[]>(untilMs, (done) => {
        this.#clients.readAll(this.#reader, queue, partition, done);
      }),
    );
  }

  #judge(left: readonly ReadRecord[]): void {
    const records = [...(this.#turnover?.records ?? []), ...left];
    const { sends, acks, reads } = this.#clients;
    const deliveries = this.#clients.deliveries.map((delivery) => this.#leased(delivery));
    const otherReads = [...reads, ...deliveries];
    const anomalies = [
      ...checkLog({ sends, records, otherReads, readValue }),
      ...checkQueue({ sends, records, groups: GROUPS, deliveries, acks }),
    ];
    this.#violations.push(...this.#clients.wrong, ...checkOwnAcks(acks));
    this.#violations.push(...(this.#fading?.wrong ?? []), ...(this.#moving?.wrong ?? []));
    for (const { kind, text } of anomalies) this.#violations.push(`${kind}: ${text}`);
  }

  /** A lease holds until the wall clocks or a change of leader may have ended it early. */
  #leased(delivery: Delivery): Delivery {
    if (this.#plan.shape === 'single') return delivery;
    const { beganMs, endedMs, leaseMs } = delivery;
    const breakMs = this.#cluster.leaseBreaksMs.find(
      (atMs) => atMs >= beganMs && atMs <= endedMs + leaseMs,
    );
    if (breakMs === undefined) return delivery;
    return { ...delivery, leaseMs: Math.min(leaseMs, breakMs - beganMs) };
  }
}
