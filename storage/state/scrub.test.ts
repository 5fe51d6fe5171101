/**
 * Goal: a scrub looks at every row, in bounded steps, round after round, and names each damaged row
 * once a round. Method: bits flipped in rows of a simulated backing; a store that has a row which
 * it cannot look up; rows large enough that bytes bound a step.
 */
import type { Table } from '@svc/engine';
import { expect, test } from 'vitest';
import { DamageError } from '../disk/faults.js';
import { SimulatedBacking } from '../testing/simulated-backing.js';
import { Checkpoint } from './checkpoint.js';
import { checksummedRow } from './row.js';
import { StateScrub } from './scrub.js';

const TABLE: Table<unknown> = {
  id: 1,
  name: 'things',
  local: false,
  encode: () => new Uint8Array(0),
  decode: () => null,
};

const nameOf = (i: number) => `\x01${1000 + i}`;

function filled(count: number, bytes: number): SimulatedBacking {
  const backing = new SimulatedBacking({ seed: 1, localTables: [], defer: (run) => run() });
  const transaction = backing.begin();
  for (let i = 0; i < count; i++) {
    transaction.put(nameOf(i), checksummedRow(nameOf(i), new Uint8Array(bytes).fill(i)));
  }
  transaction.commit({ index: 1, term: 1 }, () => {});
  return backing;
}

function checkpointOn(backing: SimulatedBacking): Checkpoint {
  const onFailure = (error: Error) => {
    throw error;
  };
  return new Checkpoint({ backing, tables: [TABLE], onFailure });
}

test('every damaged row is named once a round, and the scrub goes on after it', () => {
  const backing = filled(100, 10);
  const state = checkpointOn(backing);
  const damaged = [0, 33, 34, 99].map(nameOf);
  for (const key of damaged) backing.flipBit(key, 7, 3);
  for (let round = 0; round < 3; round++) {
    const found: string[] = [];
    for (let isComplete = false, steps = 0; !isComplete; steps++) {
      expect(steps).toBeLessThan(40);
      try {
        isComplete = state.scrub(7);
      } catch (error) {
        if (!(error instanceof DamageError)) throw error;
        expect(error.code).toBe('state_row_damaged');
        found.push(error.message);
      }
    }
    expect(found.length).toBe(damaged.length);
    damaged.forEach((key, i) => {
      expect(found[i]).toContain(Buffer.from(key.slice(1)).toString('hex'));
      expect(found[i]).toContain('table things');
    });
  }
});

test('a step is bounded in rows and in bytes; rows that come and go are no damage', () => {
  const steps = (backing: SimulatedBacking, rowsMax: number) => {
    const state = checkpointOn(backing);
    let count = 1;
    for (; !state.scrub(rowsMax); count++) expect(count).toBeLessThan(1000);
    return count;
  };
  expect(steps(filled(100, 10), 10)).toBe(11);
  expect(steps(filled(100, 10), 1000)).toBe(1);
  // 32 rows of 20 KB are more than enough for a step.
  expect(steps(filled(100, 20_000), 1000)).toBe(4);
  const backing = filled(100, 10);
  const state = checkpointOn(backing);
  expect(state.scrub(50)).toBe(false);
  const transaction = backing.begin();
  for (let i = 40; i < 100; i++) transaction.delete(nameOf(i));
  transaction.commit({ index: 2, term: 1 }, () => {});
  expect(state.scrub(50)).toBe(true);
});

test('a row that is there and cannot be looked up is damage', () => {
  const backing = filled(10, 10);
  const hidden = nameOf(4);
  const scrub = new StateScrub(
    {
      range: (from, to, limit, reverse) => backing.range(from, to, limit, reverse),
      get: (key) => (key === hidden ? undefined : backing.get(key)),
    },
    (key, what) => new DamageError('state_row_damaged', key, 0, what, ''),
  );
  expect(() => scrub.step(100)).toThrow(/cannot be looked up/);
  expect(scrub.step(100)).toBe(true);
});

test('an empty store is a complete round', () => {
  expect(checkpointOn(filled(0, 0)).scrub(10)).toBe(true);
});
