/**
 * Goal: a failing run shrinks to what it needs, and to nothing that does not fail. Method: planted
 * predicates stand in for runs, so that what is needed is known; one gives up for lack of time.
 */
import { describe, expect, it } from 'vitest';
import type { Fault } from './faults.js';
import { type Attempt, minimise, type Reduction } from './minimise.js';

const KINDS: readonly Fault[] = ['kill', 'loss', 'partition', 'pause', 'stall'];
const EVENTS = Array.from({ length: 40 }, (_, i) => i);
const START: Reduction = { simMs: 60_000, without: new Set(), skip: new Set() };

interface Need {
  readonly kinds: readonly Fault[];
  readonly events: readonly number[];
  readonly untilMs: number;
}

/** A run that fails when everything that it needs is there; event n happens at second n. */
function planted(need: Need): (reduction: Reduction) => Attempt {
  return ({ simMs, without, skip }) => {
    const faults = new Set(KINDS.filter((kind) => !without.has(kind)));
    const injected = EVENTS.filter((event) => !skip.has(event) && event * 1000 < simMs);
    const failed =
      need.kinds.every((kind) => faults.has(kind)) &&
      need.events.every((event) => injected.includes(event)) &&
      simMs >= need.untilMs;
    return { failed, endedMs: failed ? Math.max(need.untilMs, 1) : simMs, faults, injected };
  };
}

const needs: Need[] = [
  { kinds: [], events: [], untilMs: 0 },
  { kinds: ['loss'], events: [], untilMs: 10_000 },
  { kinds: ['kill', 'stall'], events: [3, 4, 17], untilMs: 20_500 },
  { kinds: KINDS, events: [0, 9, 18, 27, 36], untilMs: 36_100 },
];

describe('a failing run shrinks to what it needs', () => {
  it.each(needs)('$kinds $events', (need) => {
    const { reduction, complete } = minimise({
      start: START,
      attempt: planted(need),
      goOn: () => true,
    });
    expect(complete).toBe(true);
    expect(KINDS.filter((kind) => !reduction.without.has(kind))).toEqual(need.kinds);
    const left = planted(need)(reduction).injected;
    expect(left).toEqual(need.events);
    expect(reduction.simMs).toBeGreaterThanOrEqual(need.untilMs);
    expect(reduction.simMs).toBeLessThan(need.untilMs + 100);
  });
});

it('gives back what it has when time is up', () => {
  const need: Need = { kinds: ['loss'], events: [5, 6], untilMs: 9000 };
  let left = 12;
  const { reduction, complete, attempts } = minimise({
    start: START,
    attempt: planted(need),
    goOn: () => left-- > 0,
  });
  expect(complete).toBe(false);
  expect(attempts).toBeLessThanOrEqual(13);
  expect(planted(need)(reduction).failed).toBe(true);
});

it('leaves alone what does not fail', () => {
  const never: Attempt = { failed: false, endedMs: 60_000, faults: new Set(KINDS), injected: [] };
  const { reduction, attempts } = minimise({
    start: START,
    attempt: () => never,
    goOn: () => true,
  });
  expect(reduction).toBe(START);
  expect(attempts).toBe(1);
});
