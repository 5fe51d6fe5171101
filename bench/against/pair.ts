// Two systems under one load, side by side in time.
//
// The job: a ratio of two rates that repeats, on a machine whose speed changes while it is
// measured. A processor of a rented machine may be half of a core, and gets two thirds of what it
// gets alone while somebody else computes on the other half; that changes every few seconds. The
// disk takes bursts. Single pushes to those of Redis, in windows of a second one after the other,
// had ratios with a standard deviation of 0.24 of themselves; the same second in turns of a
// twentieth has 0.08 to 0.15.
//
// The difficulty: a turn must contain the work of its system, all of it and nothing else. So a turn
// ends when its system has nothing left to do (load.c), which may take longer than that: some
// answer thousands of publishes at a time. How long is seen in a first turn, which does not count.
// The turns after it begin with as much time that does not count, so that the system is as busy as
// it gets, and last several times as long. A wave of answers is in such a window or it is not: its
// ends are moments at which all connections have had as many (load.c), or else it could have one
// too many or too few. Where there is no time for two waves all of a turn counts, from nothing to
// do to nothing left to do.
//
// Invariants: both have as many turns, planned alike, with the same connections and one queue
// that was empty before the first. Who begins alternates, so that what a turn leaves behind (dirty
// pages, garbage) meets both alike.
//
// Rejected: whole turns for all (in a twentieth of a second their ends, where not all connections
// are busy, are a fifth of it: consumed at batches of 100, ours to Redis 1.8 instead of 1.2);
// leaving out windows in which the processors were slower than usual, or scaling by their speed
// (the first leaves out half of them, the second takes for granted that a disk waits for
// processors); turns of a fortieth, or with the load program on each processor in turn (no better);
// a tenth or a fifth of a second for all (single publishes, which need no more than a twentieth,
// differ by twice as much from round to round), and twice the rest (the others do, by half as much
// again).

import { median } from '../load/percentiles.js';
import type { LoadResult } from '../native/load-result.js';
import type { LoadTurns, LoadWindow } from '../native/load-turns.js';
import { processorSeconds } from './processor-time.js';
import type { Round } from './result.js';

export type RoundOfOne = Omit<Round, 'number'>;

/** One of the two, connected. */
export interface Side {
  readonly turns: Pick<LoadTurns, 'turn' | 'close'>;
  /** Of its servers. */
  readonly pids: readonly number[];
}

/** Short beside the seconds that a machine stays as it is, long beside a cycle of answers. */
const TURN_SECONDS = { least: 0.05, enough: 0.2 } as const;
/** A window in rests, unless fewer of them are long enough, and at least. */
const RESTS = { wanted: 8, least: 4 } as const;
const WARM_UP_SECONDS_MIN = 0.01;

/**
 * What turns are to be like after first ones with these rests: their length, and how many of them
 * make up `seconds` at least. Without a warm-up: all of it counts.
 */
export function planTurns(
  restsSeconds: readonly number[],
  seconds: number,
): { readonly window: LoadWindow; readonly count: number } {
  const rest = Math.max(...restsSeconds);
  const most = Math.max(seconds, TURN_SECONDS.least);
  if (2 * rest > most) return { window: { warmUpSeconds: 0, seconds: most }, count: 1 };
  const wanted = Math.min(RESTS.wanted * rest, TURN_SECONDS.enough);
  const window = {
    warmUpSeconds: Math.max(rest, WARM_UP_SECONDS_MIN),
    seconds: Math.min(Math.max(wanted, RESTS.least * rest, TURN_SECONDS.least), most),
  };
  return { window, count: Math.ceil(seconds / window.seconds) };
}

/** What both did in `seconds` of turns each, after a first turn of `warmUpSeconds` at least. */
export async function measurePair(
  sides: readonly [Side, Side],
  { warmUpSeconds, seconds }: LoadWindow,
): Promise<readonly [RoundOfOne, RoundOfOne]> {
  const rests: number[] = [];
  for (const { turns } of sides) {
    const first = { warmUpSeconds: 0, seconds: Math.max(warmUpSeconds, TURN_SECONDS.least) };
    const { whole } = await turns.turn(first);
    rests.push(whole.restSeconds);
  }
  const { window, count } = planTurns(rests, seconds);
  const tallies = [new TurnTally(sides[0]), new TurnTally(sides[1])] as const;
  for (let turn = 0; turn < count; turn += 1) {
    const [first, second] = turn % 2 === 0 ? tallies : [tallies[1], tallies[0]];
    await first.take(window);
    await second.take(window);
  }
  return [tallies[0].round(), tallies[1].round()];
}

class TurnTally {
  readonly #side: Side;
  readonly #results: LoadResult[] = [];
  #serverSeconds = 0;

  constructor(side: Side) {
    this.#side = side;
  }

  async take(window: LoadWindow): Promise<void> {
    const { turns, pids } = this.#side;
    const before = processorSeconds(pids);
    this.#results.push(await turns.turn(window));
    this.#serverSeconds += processorSeconds(pids) - before;
  }

  round(): RoundOfOne {
    const sum = (value: (result: LoadResult) => number): number =>
      this.#results.map(value).reduce((total, one) => total + one, 0);
    const middle = (name: keyof LoadResult['latency']): number =>
      median(this.#results.map(({ latency }) => latency[name]));
    const [messages, seconds] = [sum((one) => one.messages), sum((one) => one.seconds)];
    const microsecondsPerMessage = 1e6 / sum(({ whole }) => whole.messages);
    return {
      turns: this.#results.length,
      messages,
      seconds,
      messagesPerSecond: messages / seconds,
      latency: {
        p50Ms: middle('p50Ms'),
        p90Ms: middle('p90Ms'),
        p99Ms: middle('p99Ms'),
        p999Ms: middle('p999Ms'),
        maxMs: Math.max(...this.#results.map(({ latency }) => latency.maxMs)),
      },
      loadMicrosecondsPerMessage:
        sum(({ whole }) => whole.processorSeconds) * microsecondsPerMessage,
      serverMicrosecondsPerMessage: this.#serverSeconds * microsecondsPerMessage,
    };
  }
}
