// Goal: a lease id tells its first partition and whether it is shared, and the keys of its cursors
// are found by its range alone.
// Method: ids minted by a draft over an empty state, and keys of neighbouring ids.
import { isUuid } from '@svc/wire';
import { expect, test } from 'vitest';
import { numberNameKey } from '../base/keys.js';
import { MapState } from '../base/map-state.js';
import { mintLeaseId } from '../delivery/lease.js';
import { Draft } from '../draft/draft.js';
import { PlannedState } from '../draft/planned-state.js';
import { PlannedTransactions } from '../draft/planned-transaction-ids.js';
import { isShared, parseLeaseId, sharedLeaseKey, sharedLeaseRange } from './lease-id.js';

test.each([
  [1, false],
  [63, true],
  [64, false],
  [0xffff_ffff, true],
])('partition %i, shared %s', (partition, shared) => {
  const draft = new Draft(
    new PlannedState(new MapState()),
    new PlannedTransactions({ find: () => [] }),
    {
      nodeId: 1,
      checksum: () => 0,
      newUuid: () => '01a2b3c4-0000-7fff-bfff-ffffffffffff',
      readLog: () => new Uint8Array(0),
      cipher: null,
    },
    { index: 1, wallUs: 1_800_000_000_000_000, nowMs: 0 },
    64,
  );
  const id = mintLeaseId(draft, partition, shared);
  expect(isUuid(id)).toBe(true);
  expect(parseLeaseId(id)).toEqual({ partition, shared });
  expect(isShared(id)).toBe(shared);
});

test('what is not a lease id', () => {
  expect(parseLeaseId('')).toBe(null);
  expect(parseLeaseId('01a2b3c4-0000-4000-8000-000000000000')).toBe(null);
});

test('the range of an id holds all its cursors and no others', () => {
  const id = '01a2b3c4-0000-7000-8000-0000000000af';
  const [from, to] = sharedLeaseRange(id);
  for (const key of [numberNameKey(0, ''), numberNameKey(0xffff_ffff, '\u{10ffff}')]) {
    expect(sharedLeaseKey(id, key) >= from && sharedLeaseKey(id, key) < to).toBe(true);
    for (const other of ['a', 'b0', 'ae'].map((end) => id.slice(0, 36 - end.length) + end)) {
      if (other === id) continue;
      expect(sharedLeaseKey(other, key) >= from && sharedLeaseKey(other, key) < to).toBe(false);
    }
  }
});
