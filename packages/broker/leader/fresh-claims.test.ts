// Goal: claims name places that can be read, whatever moved or went since they were made. Method:
// claims over a state in which one append stays, one has moved, and one is gone.
import { type Claim, type Key, MapState, TABLES, type Table } from '@svc/engine';
import { expect, test } from 'vitest';
import { freshClaims } from './fresh-claims.js';

const appends = TABLES.find(({ name }) => name === 'appends') as unknown as Table<object>;

function key(partition: number, offset: number): Key {
  return String.fromCharCode(0, 0, 0, partition, 0, 0, 0, 0, 0, offset) as Key;
}

function slice(index: number, baseOffset: number) {
  const place = { index, position: 10, length: 50 };
  return { ...place, baseOffset, stampUs: 1, first: baseOffset, last: baseOffset + 1 };
}

function claim(partitionNumber: number, slices: Claim['slices']): Claim {
  return { queue: 'q', partition: 'p', partitionNumber, deliveryAttempt: 1, skipped: 0, slices };
}

test('only what the log has given up is looked up anew', () => {
  const state = new MapState();
  state.put(appends, key(1, 0), { count: 2, stampUs: 1, index: 90, position: 77, length: 50 });
  const claims = [claim(1, [slice(5, 0), slice(40, 2)]), claim(2, [slice(6, 0)])];
  expect(freshClaims(state, 5, claims)).toBe(claims);
  const moved = { ...slice(5, 0), index: 90, position: 77 };
  expect(freshClaims(state, 6, claims)).toEqual([claim(1, [moved, slice(40, 2)]), claims[1]]);
  expect(freshClaims(state, 7, claims)).toEqual([claim(1, [moved, slice(40, 2)])]);
  state.delete(appends, key(1, 0));
  expect(freshClaims(state, 50, claims)).toEqual([]);
});
