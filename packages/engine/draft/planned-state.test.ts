// Goal: PlannedState shows the applied state plus everything in flight, and lets go of it in time.
// Method: random puts, deletes, ranges and applications, compared with one naive map of the future.
import { expect, test } from 'vitest';
import { numberKey } from '../base/keys.js';
import { MapState } from '../base/map-state.js';
import type { State } from '../base/state.js';
import { partitionNumbers as table } from '../base/tables.js';
import { SeededRandom } from '../testing/random.fake.js';
import { PlannedState } from './planned-state.js';

interface Change {
  readonly key: number;
  readonly row: number | undefined;
}

function change(state: State, { key, row }: Change): void {
  if (row === undefined) state.delete(table, numberKey(key));
  else state.put(table, numberKey(key), row);
}

const SEEDS = 300;
const KEYS = 12;

test.each(Array.from({ length: SEEDS }, (_, seed) => seed))('seed %i', (seed) => {
  const random = new SeededRandom(seed);
  const applied = new MapState();
  const future = new MapState();
  const planned = new PlannedState(applied);
  const entries: { index: number; changes: Change[] }[] = [];
  let index = 0;
  for (let step = 0; step < 60; step++) {
    if (random.below(3) > 0 || entries.length === 0) {
      index++;
      planned.begin(index);
      const changes: Change[] = [];
      for (let i = random.below(4); i >= 0; i--) {
        const row = random.below(3) === 0 ? undefined : random.below(1000);
        const made = { key: random.below(KEYS), row };
        change(planned, made);
        change(future, made);
        changes.push(made);
      }
      entries.push({ index, changes });
    } else {
      const oldest = entries.shift();
      for (const made of oldest?.changes ?? []) change(applied, made);
      planned.applied(oldest?.index ?? 0);
    }
    for (let key = 0; key < KEYS; key++) {
      expect(planned.get(table, numberKey(key))).toBe(future.get(table, numberKey(key)));
    }
    const from = numberKey(random.below(KEYS));
    const to = numberKey(random.below(KEYS + 1));
    const limit = 1 + random.below(KEYS);
    for (const reverse of [false, true]) {
      const expected = future.range(table, from, to, limit, reverse);
      expect(planned.range(table, from, to, limit, reverse)).toEqual(expected);
    }
  }
});

test.each([1, 2, 3])('many rows in flight, seed %i', (seed) => {
  const random = new SeededRandom(seed);
  const [applied, future] = [new MapState(), new MapState()];
  const planned = new PlannedState(applied);
  const entries: { index: number; changes: Change[] }[] = [];
  for (let index = 1; index <= 100; index++) {
    planned.begin(index);
    const changes: Change[] = [];
    for (let i = random.below(100); i > 0; i--) {
      const row = random.below(3) > 0 ? undefined : random.below(1000);
      const made = { key: random.below(600), row };
      change(planned, made);
      change(future, made);
      changes.push(made);
      if (i % 4 > 0) continue;
      const from = numberKey(random.below(600));
      const to = numberKey(random.below(600));
      const limit = 1 + random.below(20);
      const reverse = random.below(2) === 0;
      const expected = future.range(table, from, to, limit, reverse);
      expect(planned.range(table, from, to, limit, reverse)).toEqual(expected);
    }
    entries.push({ index, changes });
    const inFlightMax = index % 40 === 0 ? 0 : 8;
    while (entries.length > inFlightMax) {
      const oldest = entries.shift();
      for (const made of oldest?.changes ?? []) change(applied, made);
      planned.applied(oldest?.index ?? 0);
    }
  }
});

test('an applied entry leaves nothing behind', () => {
  const applied = new MapState();
  const planned = new PlannedState(applied);
  planned.begin(5);
  planned.put(table, numberKey(1), 10);
  planned.applied(5);
  expect(planned.get(table, numberKey(1))).toBeUndefined();
});
