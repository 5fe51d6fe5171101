/** What a window comes to: a fold over its values, kept as JSON between cycles. */
import { misuse } from '../base/checks.js';
import { writeJson } from '../base/write-json.js';
import type { StreamContext } from './windows.js';

export interface Reducer {
  /** JSON of the state of a window that has no value yet. */
  readonly initial: string;
  /** What `fold` gives may hold the value, or be it. */
  readonly keepsValue: boolean;
  readonly fold: (state: unknown, value: unknown, context: StreamContext) => unknown;
  /** The value that the window puts out when it closes. */
  readonly finish: (state: unknown) => unknown;
  /** What the configuration hash tells it by. */
  readonly shape: string;
}

export type Measures<Value> = Readonly<
  Record<string, (value: Value, context: StreamContext) => number>
>;

export function reducer(fold: Reducer['fold'], initial: unknown): Reducer {
  if (typeof fold !== 'function') {
    throw misuse('the first argument of reduce', fold, 'reduce((sum, value) => sum + value.n, 0)');
  }
  const text = writeJson(initial, 'the initial value of reduce');
  return { initial: text, keepsValue: true, fold, finish: (state) => state, shape: 'reduce' };
}

/** `min`, `max` and `avg` are what they say; under any other name the numbers are added up. */
export function aggregator(measures: Measures<never>): Reducer {
  const given = Object.entries(measures ?? {}) as [string, (...of: unknown[]) => number][];
  const isWrong = given.length === 0 || given.some(([, measure]) => typeof measure !== 'function');
  if (isWrong || typeof measures !== 'object') {
    const form = 'aggregate({ count: () => 1, sum: (value) => value.n })';
    throw misuse('the argument of aggregate', measures, form);
  }
  // The first counts the values, the other is no name in an object.
  const taken = given.find(([name]) => name === '#' || name === '__proto__');
  if (taken !== undefined) throw misuse('a name of aggregate', taken[0], 'another name');
  const fold: Reducer['fold'] = (state, value, context) => {
    const sums = state as Record<string, number>;
    sums['#'] = (sums['#'] ?? 0) + 1;
    for (const [name, measure] of given) {
      const number = measure(value, context);
      if (typeof number !== 'number' || !Number.isFinite(number)) {
        throw misuse(`${name} of aggregate`, number, 'a function that gives a number');
      }
      const sum = sums[name];
      if (sum === undefined) sums[name] = number;
      else if (name === 'min' || name === 'max') sums[name] = Math[name](sum, number);
      else sums[name] = sum + number;
    }
    return sums;
  };
  const finish = (state: unknown) => {
    const { '#': values = 1, ...sums } = state as Record<string, number>;
    return sums.avg === undefined ? sums : { ...sums, avg: sums.avg / values };
  };
  const shape = `aggregate:${given.map(([name]) => name)}`;
  return { initial: '{}', keepsValue: false, fold, finish, shape };
}
