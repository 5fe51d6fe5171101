// Goal: the configuration as of any entry is found, and what is kept is bounded alike on every
// node. Method: rows over a map state, against a plain list.
import { expect, test } from 'vitest';
import { MapState } from '../base/map-state.js';
import { memberships } from '../base/tables.js';
import { applyMembership, MEMBERSHIPS_MAX, membershipAt } from './memberships.js';
import { TABLES } from './table-list.js';

test('the newest that an entry up to the index brought', () => {
  const state = new MapState();
  expect(membershipAt(state, 100)).toBeUndefined();
  for (const index of [1, 40, 0x1_0000_0007]) {
    applyMembership(state, index, Uint8Array.of(index % 251));
  }
  expect(membershipAt(state, 0)).toBeUndefined();
  for (const [at, index] of [
    [1, 1],
    [39, 1],
    [40, 40],
    [0x1_0000_0006, 40],
    [0x1_0000_0007, 0x1_0000_0007],
    [0x1f_ffff_0000_0000, 0x1_0000_0007],
  ] as const) {
    expect(membershipAt(state, at)).toEqual({ index, data: Uint8Array.of(index % 251) });
  }
});

test('the oldest give way, one by one', () => {
  const state = new MapState();
  for (let index = 1; index <= MEMBERSHIPS_MAX + 3; index++) {
    applyMembership(state, index, Uint8Array.of(1));
  }
  expect(membershipAt(state, 3)).toBeUndefined();
  expect(membershipAt(state, 4)?.index).toBe(4);
});

test('rows are replicated, and do not change with the memory they came from', () => {
  const state = new MapState();
  const data = Uint8Array.of(1, 2, 3);
  applyMembership(state, 9, data);
  data.fill(0);
  expect(membershipAt(state, 9)?.data).toEqual(Uint8Array.of(1, 2, 3));
  expect(memberships.local).toBe(false);
  expect(TABLES).toContain(memberships);
});
