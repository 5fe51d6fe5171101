// Goal: a walk reads through the view what it would read without it, begins far fewer ranges when
// it has an order, and hardly more when it has none. Method: random ranges against the state
// itself; counted ranges of walks up, down and at random.
import { expect, test } from 'vitest';
import { SeededRandom } from '../testing/random.fake.js';
import { numberKey, numberNameKey, numberRange } from './keys.js';
import { MapState } from './map-state.js';
import { ReadAhead } from './read-ahead.js';
import type { Key, KeyedRow, State, Table } from './state.js';
import { queueNumbers } from './tables.js';

const ROWS: Table<number> = queueNumbers;
const NUMBERS = 2000;

/** Counts the ranges that reach the state. */
class Counting implements State {
  readonly #state = new MapState();
  ranges = 0;

  get<Row>(table: Table<Row>, key: Key): Row | undefined {
    this.ranges++;
    return this.#state.get(table, key);
  }

  put<Row>(table: Table<Row>, key: Key, row: Row): void {
    this.#state.put(table, key, row);
  }

  delete<Row>(table: Table<Row>, key: Key): void {
    this.#state.delete(table, key);
  }

  range<Row>(...of: [Table<Row>, Key, Key, number, boolean?]): KeyedRow<Row>[] {
    this.ranges++;
    return this.#state.range(...of);
  }
}

/** A row for most numbers, several for some. */
function filled(random = new SeededRandom(3)): Counting {
  const state = new Counting();
  for (let number = 0; number < NUMBERS; number++) {
    for (let i = random.below(4) - 1; i > 0; i--) {
      state.put(ROWS, numberNameKey(number, `${i}`), number * 10 + i);
    }
  }
  return state;
}

function of(state: State, number: number): number[] {
  const [from, to] = numberRange(number);
  return state.range(ROWS, from, to, 100).map(({ row }) => row);
}

test('any range is what the state holds', () => {
  const random = new SeededRandom(5);
  const state = filled();
  let index = 1;
  const ahead = new ReadAhead(state, () => index);
  let at = 0;
  for (let i = 0; i < 5000; i++) {
    at = random.below(10) === 0 ? random.below(NUMBERS) : at + random.below(5) - 1;
    const from = numberKey(Math.max(0, at));
    const to = numberKey(Math.max(0, at) + random.below(4));
    const limit = 1 + random.below(5);
    const reverse = random.below(5) === 0;
    expect(ahead.range(ROWS, from, to, limit, reverse)).toEqual(
      state.range(ROWS, from, to, limit, reverse),
    );
    if (random.below(20) > 0) continue;
    state.put(ROWS, numberNameKey(random.below(NUMBERS), 'x'), i);
    index++;
  }
});

test.each([
  ['up', 1],
  ['down', -1],
] as const)('a walk %s begins a range for hundreds of numbers', (_, step) => {
  const state = filled();
  const ahead = new ReadAhead(state, () => 1);
  const order = Array.from({ length: NUMBERS }, (_, i) => (step > 0 ? i : NUMBERS - 1 - i));
  expect(order.map((number) => of(ahead, number))).toEqual(
    order.map((number) => of(state, number)),
  );
  expect(state.ranges - NUMBERS).toBeLessThan(40);
});

test('a walk without an order begins a tenth more ranges than without the view', () => {
  const state = filled();
  const ahead = new ReadAhead(state, () => 1);
  const random = new SeededRandom(9);
  for (let i = 0; i < 2400; i++) of(ahead, random.below(NUMBERS));
  expect(state.ranges).toBeLessThan(2400 * 1.1);
});

test('a row that was applied meanwhile is seen', () => {
  const state = filled();
  let index = 1;
  const ahead = new ReadAhead(state, () => index);
  for (let number = 0; number < 100; number++) of(ahead, number);
  state.put(ROWS, numberNameKey(101, 'new'), -1);
  index++;
  expect(of(ahead, 101)).toContain(-1);
});

test('a row that is got without an order is got, and no range is begun for it', () => {
  const state = filled();
  const counts = { gets: 0, ranges: 0 };
  const watched: State = {
    get: (table, key) => {
      counts.gets++;
      return state.get(table, key);
    },
    put: () => {},
    delete: () => {},
    range: (...of) => {
      counts.ranges++;
      return state.range(...of);
    },
  };
  const ahead = new ReadAhead(watched, () => 1);
  const random = new SeededRandom(11);
  for (let i = 0; i < 240; i++) {
    const key = numberNameKey(random.below(NUMBERS), '1');
    expect(ahead.get(ROWS, key)).toBe(state.get(ROWS, key));
  }
  expect(counts.gets).toBeGreaterThan(200);
  expect(counts.ranges).toBeLessThan(24);
});
