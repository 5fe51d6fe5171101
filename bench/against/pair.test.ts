// Goal: two systems get the same in turns, and what they did is added up. Method: load programs
// that write down when they are told what, and answer with invented figures.

import { expect, test } from 'vitest';
import type { LoadResult } from '../native/load-result.js';
import type { LoadWindow } from '../native/load-turns.js';
import { measurePair, planTurns, type Side } from './pair.js';

const QUANTILES = { p50Ms: 0, p90Ms: 0, p99Ms: 0, p999Ms: 0, maxMs: 0 };

/** Turn `n`, from 0, brings `messages * (n + 1)` messages, and takes that long at the median. */
function sideOf(name: string, told: [string, LoadWindow][], messages: number, rest: number): Side {
  let turns = 0;
  const turn = async (window: LoadWindow): Promise<LoadResult> => {
    turns += 1;
    told.push([name, window]);
    return {
      messages: messages * turns,
      seconds: window.seconds,
      processorSeconds: 0,
      whole: { messages: 2 * messages * turns, processorSeconds: 0.5, restSeconds: rest },
      latency: { ...QUANTILES, p50Ms: turns, maxMs: 10 * turns },
      lateness: QUANTILES,
      delivery: QUANTILES,
    };
  };
  return { turns: { turn, close: async () => undefined }, pids: [] };
}

test('turns last as long as the slower one needs', () => {
  const quick = { window: { warmUpSeconds: 0.01, seconds: 0.05 }, count: 20 };
  expect(planTurns([0.001, 0.002], 1)).toEqual(quick);
  const busy = { window: { warmUpSeconds: 0.015, seconds: 0.12 }, count: 9 };
  expect(planTurns([0.015, 0.002], 1)).toEqual(busy);
  const fifth = { window: { warmUpSeconds: 0.04, seconds: 0.2 }, count: 5 };
  expect(planTurns([0.001, 0.04], 1)).toEqual(fifth);
  const slow = { window: { warmUpSeconds: 0.125, seconds: 0.5 }, count: 2 };
  expect(planTurns([0.001, 0.125], 1)).toEqual(slow);
  const slower = { window: { warmUpSeconds: 0.4, seconds: 1 }, count: 1 };
  expect(planTurns([0.4, 0.001], 1)).toEqual(slower);
  // No time for two waves: all of a turn counts.
  const slowest = { window: { warmUpSeconds: 0, seconds: 1 }, count: 1 };
  expect(planTurns([7, 0.001], 1)).toEqual(slowest);
  // However little is asked for, there is a turn, and it is as long as any.
  expect(planTurns([0, 0], 0.01)).toEqual({ ...quick, count: 1 });
});

test('both have their turns side by side, and the first does not count', async () => {
  const told: [string, LoadWindow][] = [];
  const sides = [sideOf('a', told, 10, 0.05), sideOf('b', told, 30, 0.02)] as const;
  const [a, b] = await measurePair(sides, { warmUpSeconds: 0.25, seconds: 0.6 });
  const first = { warmUpSeconds: 0, seconds: 0.25 };
  const window = { warmUpSeconds: 0.05, seconds: 0.2 };
  const order = ['a', 'b', 'b', 'a', 'a', 'b'].map((name) => [name, window]);
  expect(told).toEqual([['a', first], ['b', first], ...order]);
  const hasty: [string, LoadWindow][] = [];
  const quick = [sideOf('a', hasty, 1, 0), sideOf('b', hasty, 1, 0)] as const;
  await measurePair(quick, { warmUpSeconds: 0, seconds: 0.05 });
  expect(hasty[0]).toEqual(['a', { warmUpSeconds: 0, seconds: 0.05 }]);
  expect(a.turns).toBe(3);
  expect(a.messages).toBe(10 * (2 + 3 + 4));
  expect(a.messagesPerSecond).toBeCloseTo(90 / 0.6, 6);
  expect(b.messagesPerSecond).toBeCloseTo(270 / 0.6, 6);
  expect(a.latency).toEqual({ ...QUANTILES, p50Ms: 3, maxMs: 40 });
  expect(a.loadMicrosecondsPerMessage).toBeCloseTo((1e6 * 1.5) / 180, 6);
});
