// Goal: planned keys come in order, whatever came, went and came again between two looks, and many
// looks do not pass through all keys each. Method: random changes and looks against a sorted copy,
// with enough keys and looks that lists are made, merged and dropped; then looks over many rows,
// with the passes through all of them counted.
import { expect, test, vi } from 'vitest';
import { appendKey } from '../base/keys.js';
import type { Key } from '../base/state.js';
import { SeededRandom } from '../testing/random.fake.js';
import { type KeyWalk, PlannedKeys, walkFew } from './planned-keys.js';

function all(walk: KeyWalk): Key[] {
  const found: Key[] = [];
  for (let key = walk.next(); key !== undefined; key = walk.next()) found.push(key);
  return found;
}

test.each(Array.from({ length: 8 }, (_, seed) => seed))('seed %i', (seed) => {
  const random = new SeededRandom(seed);
  const rows = new Map<Key, true>();
  const keys = new PlannedKeys(rows);
  const width = 20 + random.below(100);
  const anyKey = () => appendKey(random.below(8), random.below(width));
  for (let step = 0; step < 200; step++) {
    // Now and then all that is there goes, as when everything in flight has been applied.
    const isEnd = random.below(60) === 0;
    for (const key of rows.keys()) if (isEnd || random.below(20) === 0) rows.delete(key);
    for (let i = random.below(60); i > 0; i--) {
      const key = anyKey();
      if (rows.has(key)) continue;
      rows.set(key, true);
      keys.add(key);
    }
    for (let i = random.below(40); i > 0; i--) {
      const [from, to] = [anyKey(), anyKey()];
      const expected = [...rows.keys()].filter((key) => key >= from && key < to).sort();
      const reverse = random.below(2) === 0;
      if (reverse) expected.reverse();
      expect(all(keys.walk(from, to, reverse)).join()).toBe(expected.join());
      expect(all(walkFew(rows, from, to, reverse)).join()).toBe(expected.join());
    }
  }
});

const PARTITIONS = 4000;

function manyRows(): Map<Key, true> {
  const rows = new Map<Key, true>();
  for (let partition = 0; partition < PARTITIONS; partition++) {
    rows.set(appendKey(partition, 5), true);
  }
  return rows;
}

test('many looks pass through all keys only a few times', () => {
  const rows = manyRows();
  const keys = new PlannedKeys(rows);
  const passes = vi.spyOn(rows, 'keys');
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const look = keys.walk(appendKey(partition, 0), appendKey(partition, 9), true);
    expect(all(look)).toEqual([appendKey(partition, 5)]);
    rows.set(appendKey(partition, 7), true);
    keys.add(appendKey(partition, 7));
  }
  expect(passes.mock.calls.length).toBeLessThan(20);
});

test('a few looks do not pay for an order', () => {
  const rows = manyRows();
  const keys = new PlannedKeys(rows);
  const passes = vi.spyOn(rows, 'keys');
  for (let i = 0; i < 8; i++) keys.walk(appendKey(1, 0), appendKey(1, 9), false);
  expect(passes.mock.calls.length).toBe(8);
});
