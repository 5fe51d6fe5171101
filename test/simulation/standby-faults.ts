/**
 * What goes wrong in a run with a source and a standby: the kinds of faults of its shape in either
 * cluster, cuts of the ways between them, and courses of several faults in one order, which chance
 * would hardly bring together:
 *
 *     lone leader         The leader of a cluster is cut off from its peers and goes on: what it
 *                         has alone is replaced by what another leader has. That of the source is
 *                         the only node of it that the standby reaches meanwhile.
 *     restart unheard     All ways are cut, and every node of the source dies: whom it keeps its
 *                         log for is known from its disk alone, while it gives up what it may.
 *     lost in flight      The disk of the leader of the standby hangs while it reads, and then its
 *                         power is lost: it has to find at the source what it had read.
 */
import type { SubmittedOutcome } from '@svc/http';
import { SeededRandom } from '../seeded-random.js';
import { pushCommand } from './client-messages.js';
import type { Cluster } from './cluster.js';
import type { Course } from './course.js';
import { DirectReply } from './direct-reply.js';
import type { Fault } from './faults.js';
import { bothWays } from './partitions.js';
import type { Injected } from './run.js';
import { FORGETFUL } from './shape.js';
import type { SimulatedMachine } from './simulated-machine.js';
import type { SourceNetwork } from './source-network.js';

export interface StandbyFaultsOptions {
  readonly seed: number;
  /** Ordinals of events that do not happen. */
  readonly skip: ReadonlySet<number> | undefined;
  readonly kinds: readonly Fault[];
  /** The mean time between two events. */
  readonly everyMs: number;
  readonly course: Course;
  readonly source: Cluster;
  readonly standby: Cluster;
  readonly network: SourceNetwork;
  /** Gets a cluster of which a node may not know its readers any more. */
  readonly forgetful: Set<Cluster>;
}

const CUT_SHARE = 0.15;
const COURSE_SHARE = 0.25;
/** Longer than an election takes, and than a standby takes to come to the one that it reaches. */
const ALONE_MS = [500, 4000, 8000] as const;
/** What a client gives a leader that is alone, soon after that begins. */
const PUSHES = 3;
const PUSHES_MS = 60;
const UNHEARD_MS = [500, 2000, 6000] as const;
const HANGS_MS_MAX = 800;

export class StandbyFaults {
  readonly injected: Injected[] = [];
  /** Nothing is injected at all. */
  isResting = false;
  /** Nothing is injected into the source any more. */
  isSourceLost = false;
  readonly #options: StandbyFaultsOptions;

  constructor(options: StandbyFaultsOptions) {
    this.#options = options;
  }

  /** Each event draws from a generator of its own, as in a run of one cluster. */
  schedule(ordinal: number, untilMs: number): void {
    const { seed, skip, everyMs, course } = this.#options;
    const random = new SeededRandom(
      Math.imul(seed, 0x9e3779b1) ^ Math.imul(ordinal + 1, 0x85ebca6b),
    );
    const { loop } = course;
    const delayMs = everyMs * -Math.log(1 - random.next());
    loop.schedule(delayMs, null, () => {
      if (loop.nowMs >= untilMs) return;
      if (!this.isResting && skip?.has(ordinal) !== true) this.#inject(ordinal, random);
      this.schedule(ordinal + 1, untilMs);
    });
  }

  #inject(ordinal: number, random: SeededRandom): void {
    const { course, forgetful, kinds, source, standby } = this.#options;
    const draw = random.next();
    if (draw < CUT_SHARE) this.#cutApart(random);
    else if (draw < CUT_SHARE + COURSE_SHARE) this.#takeCourse(random);
    else if (kinds.length > 0) {
      const isAtSource = !this.isSourceLost && random.chance(0.5);
      const fault = random.pick(kinds);
      const cluster = isAtSource ? source : standby;
      if (!cluster.inject(fault, random)) return;
      course.note(`fault ${ordinal} ${fault} at the ${isAtSource ? 'source' : 'standby'}`);
      this.injected.push({ ordinal, atMs: course.loop.nowMs, fault });
      if (FORGETFUL.includes(fault)) forgetful.add(cluster);
    }
  }

  #cutApart(random: SeededRandom): void {
    const all = this.#ways();
    const ways = random.chance(0.4) ? all : all.filter(() => random.chance(0.5));
    this.#cut(ways, random.pick([300, 3000, 15_000]) * (0.5 + random.next()), random.chance(0.5));
  }

  #ways() {
    const { source, standby } = this.#options;
    return source.machines.flatMap(({ number: to }) =>
      standby.machines.map(({ number: from }) => [from, to] as const),
    );
  }

  #cut(ways: readonly (readonly [number, number])[], durationMs: number, breaks: boolean): void {
    const { course, network } = this.#options;
    course.note(`cut ${ways.length} ways to the source for ${durationMs.toFixed(0)} ms`);
    network.cut(ways, durationMs, breaks);
  }

  // --- courses -----------------------------------------------------------------------------------

  #takeCourse(random: SeededRandom): void {
    const { source, standby } = this.#options;
    const courses = this.isSourceLost
      ? [() => this.#leaveAlone(standby, random)]
      : [
          () => this.#leaveAlone(standby, random),
          () => this.#leaveAlone(source, random),
          () => this.#restartUnheard(random),
          () => this.#loseInFlight(random),
        ];
    random.pick(courses)();
  }

  #leaveAlone(cluster: Cluster, random: SeededRandom): void {
    const { course, source } = this.#options;
    const leader = cluster.operator?.leader ?? null;
    const all = cluster.machines.map(({ number }) => number);
    if (leader === null || all.length === 1) return;
    const { number } = leader;
    const aloneMs = random.pick(ALONE_MS) * (0.5 + random.next());
    course.note(`${cluster === source ? 'source' : 'standby'}: ${number} leads alone`);
    cluster.peers?.cut(bothWays([number], all), aloneMs);
    if (cluster !== source) return;
    this.#cut(
      this.#ways().filter(([, to]) => to !== number),
      aloneMs,
      true,
    );
    for (let i = 0; i < PUSHES; i++) {
      course.loop.schedule(random.next() * PUSHES_MS, null, () => pushUnheard(leader));
    }
  }

  #restartUnheard(random: SeededRandom): void {
    const { source } = this.#options;
    this.#cut(this.#ways(), random.pick(UNHEARD_MS) * (0.5 + random.next()), true);
    source.inject('power-all', random);
  }

  #loseInFlight(random: SeededRandom): void {
    const { course, standby } = this.#options;
    const leader = standby.operator?.leader ?? null;
    if (leader === null) return;
    course.note(`standby: the disk of ${leader.number} hangs`);
    leader.inject('stall', random);
    course.loop.schedule(random.next() * HANGS_MS_MAX, null, () => {
      if (!this.isResting) leader.inject('power', random);
    });
  }
}

/** Into a queue that nobody checks, for nobody may ever hear of it. */
function pushUnheard(machine: SimulatedMachine): void {
  const message = { value: 'alone', partition: '0', transactionId: null, payload: '"alone"' };
  machine.enter(() => {
    machine.broker?.submit(pushCommand('alone', [message]), new DirectReply<SubmittedOutcome>());
  });
}
