// Loads beside each other in time: the one way in which this folder compares anything.
//
// The job: a ratio of two rates that repeats, on a machine whose speed changes while it is
// measured. A processor of a rented machine may be half of a core, which slows down for seconds
// while somebody else computes on the other half, and its disk takes bursts. Windows of a second,
// one system after the other, had ratios with a standard deviation of 0.24; short turns, 0.08.
//
// So all contestants are connected at the same time, on queues that are empty at the beginning of
// a round, and have turns of half a second in a rotation that changes its direction each time: what
// a turn leaves behind (dirty pages, garbage) meets all alike. A turn ends when its server has
// nothing left to do (load.c). A contestant's rate in a round is that of its turns together, and a
// ratio is one of two rates of the same round. The processor time for a message stands beside each
// rate: it does not depend on who else gets the processor, only on what is shared with them.

import type { LatencySummary, Load, LoadProgram, RunningLoad } from '../native/load-program.js';
import { median } from '../report/percentiles.js';
import { mainThreadSeconds, processorSeconds } from '../rig/processor-time.js';

export interface Contestant {
  readonly name: string;
  /** Rounds count from 0; the one that warms up is -1. */
  readonly loadOf: (round: number) => Load;
  /** Its servers, whose processor time counts with that of their children; none: it is unknown. */
  readonly pids: readonly number[];
  /** Nodes of ours among them: their first thread is told by itself. */
  readonly nodePids?: readonly number[] | undefined;
  /** Before a round, and after it. */
  readonly create?: () => Promise<void>;
  readonly remove?: () => Promise<void>;
}

export interface RoundsPlan {
  readonly rounds: number;
  /** The measured time of a contestant in a round. */
  readonly seconds: number;
  /** Before the first round: a server that has just started is compiling. */
  readonly warmUpSeconds: number;
}

/** What one contestant did in one round. Latencies are medians of its turns. */
export interface Round {
  readonly messagesPerSecond: number;
  readonly latency: LatencySummary;
  readonly delivery: LatencySummary;
  /** How late the load program itself was; all 0 in a closed loop. */
  readonly lateness: LatencySummary;
  /** Processor time for a message. NaN: it is unknown. */
  readonly serverUs: number;
  /** The broker's threads alone. */
  readonly brokerUs: number;
  readonly loadUs: number;
}

export interface Tally {
  readonly name: string;
  readonly rounds: readonly Round[];
}

/** Long beside a wave of answers, short beside the seconds for which a machine stays as it is. */
const TURN_SECONDS = 0.5;
const LEAD_IN_SECONDS = 0.1;

/** One tally for each contestant, in their order. */
export async function sideBySide(
  program: LoadProgram,
  contestants: readonly Contestant[],
  { rounds, seconds, warmUpSeconds }: RoundsPlan,
): Promise<readonly Tally[]> {
  const tallies = contestants.map(({ name }) => ({ name, rounds: [] as Round[] }));
  for (let round = warmUpSeconds > 0 ? -1 : 0; round < rounds; round += 1) {
    const loads = contestants.map(({ loadOf }) => loadOf(round));
    const roundSeconds = round < 0 ? warmUpSeconds : seconds;
    const measured = await oneRound(program, contestants, loads, roundSeconds);
    // The first round warms up.
    if (round < 0) continue;
    for (const [place, tally] of tallies.entries()) {
      const one = measured[place];
      if (one !== undefined) tally.rounds.push(one);
    }
  }
  return tallies;
}

async function oneRound(
  program: LoadProgram,
  contestants: readonly Contestant[],
  loads: readonly Load[],
  seconds: number,
): Promise<readonly Round[]> {
  const opened: Turns[] = [];
  try {
    for (const [place, { create, pids, nodePids = [] }] of contestants.entries()) {
      await create?.();
      const load = loads[place];
      if (load !== undefined) opened.push(new Turns(await program.open(load), pids, nodePids));
    }
    // A p99 is that of the slowest hundredth of a turn: an open loop has its time in one piece.
    const whole = loads.length === 1 || loads.some((load) => load.ratePerSecond !== undefined);
    const turnSeconds = whole ? seconds : Math.min(TURN_SECONDS, seconds);
    const turns = Math.ceil(seconds / turnSeconds);
    for (let turn = 0; turn < turns; turn += 1) {
      for (const one of turn % 2 === 0 ? opened : [...opened].reverse()) {
        await one.take(turnSeconds);
      }
    }
    for (const one of opened) await one.close();
    for (const { remove } of contestants) await remove?.();
    return opened.map((one) => one.round());
  } catch (error) {
    // What failed first is told; the other programs have to end as well, and the queues to go.
    await Promise.allSettled(opened.map((one) => one.close()));
    await Promise.allSettled(contestants.map(({ remove }) => remove?.()));
    throw error;
  }
}

/** The turns of one contestant in one round. */
class Turns {
  readonly #load: RunningLoad;
  readonly #pids: readonly number[];
  readonly #nodePids: readonly number[];
  readonly #latencies: LatencySummary[] = [];
  readonly #deliveries: LatencySummary[] = [];
  readonly #latenesses: LatencySummary[] = [];
  #messages = 0;
  #seconds = 0;
  #wholeMessages = 0;
  #loadSeconds = 0;
  #serverSeconds = 0;
  #brokerSeconds = 0;

  constructor(load: RunningLoad, pids: readonly number[], nodePids: readonly number[]) {
    this.#load = load;
    this.#pids = pids;
    this.#nodePids = nodePids;
  }

  async take(seconds: number): Promise<void> {
    const before = processorSeconds(this.#pids);
    const brokerBefore = this.#brokerThreads();
    const result = await this.#load.turn({ warmUpSeconds: LEAD_IN_SECONDS, seconds });
    this.#serverSeconds += processorSeconds(this.#pids) - before;
    this.#brokerSeconds += this.#brokerThreads() - brokerBefore;
    this.#messages += result.messages;
    this.#seconds += result.seconds;
    this.#wholeMessages += result.whole.messages;
    this.#loadSeconds += result.whole.processorSeconds;
    this.#latencies.push(result.latency);
    this.#deliveries.push(result.delivery);
    this.#latenesses.push(result.lateness);
  }

  #brokerThreads(): number {
    return this.#nodePids.reduce((seconds, pid) => seconds + mainThreadSeconds(pid), 0);
  }

  round(): Round {
    const perMessage = 1e6 / this.#wholeMessages;
    const known = (pids: readonly number[], seconds: number) =>
      pids.length === 0 ? Number.NaN : seconds * perMessage;
    return {
      messagesPerSecond: this.#messages / this.#seconds,
      latency: medianOf(this.#latencies),
      delivery: medianOf(this.#deliveries),
      lateness: medianOf(this.#latenesses),
      serverUs: known(this.#pids, this.#serverSeconds),
      brokerUs: known(this.#nodePids, this.#brokerSeconds),
      loadUs: this.#loadSeconds * perMessage,
    };
  }

  close(): Promise<void> {
    return this.#load.close();
  }
}

function medianOf(all: readonly LatencySummary[]): LatencySummary {
  const of = (name: keyof LatencySummary): number => median(all.map((one) => one[name]));
  return { p50Ms: of('p50Ms'), p99Ms: of('p99Ms'), maxMs: Math.max(...all.map((a) => a.maxMs)) };
}

/** What of a round is compared. */
export type Value = (round: Round) => number;

export const rateOf: Value = ({ messagesPerSecond }) => messagesPerSecond;
export const costOf: Value = ({ serverUs }) => serverUs;
export const brokerCostOf: Value = ({ brokerUs }) => brokerUs;

/** `over` divided by `under` in each round. */
export function ratios(over: Tally, under: Tally, value: Value): readonly number[] {
  return over.rounds.flatMap((round, i) => {
    const other = under.rounds[i];
    return other === undefined ? [] : [value(round) / value(other)];
  });
}
