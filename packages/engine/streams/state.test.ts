/**
 * Goal: a reader sees all rows that match at one moment, in the order of their keys, and is refused
 * what one answer cannot hold. Method: directed cases over a planner; cycles between the steps of a
 * walk.
 */
import { expect, test } from 'vitest';
import { partitions } from '../base/tables.js';
import { INLINE_VALUE_BYTES_MAX, streamValues } from '../state/streams/tables.js';
import { EngineRig } from '../testing/engine.fake.js';
import { walked } from '../testing/page.fake.js';
import {
  type CycleParts,
  cycle,
  filterOf,
  queryOf,
  readRows,
  roomOf,
  stateOf,
} from '../testing/stream.fake.js';
import { STREAM_STATE_BOUNDS, type StreamReadRoom } from './state.js';

const ROWS = 300;

function filled(rows = ROWS): { rig: EngineRig; queryId: string } {
  const rig = new EngineRig();
  rig.push('q', 'a', ['0']);
  rig.push('q', 'b', ['0']);
  const queryId = queryOf(rig);
  const state = Array.from({ length: rows }, (_, i) => [keyOf(i), String(i)] as const);
  cycle(rig, { queryId, partitionId: 1, state });
  cycle(rig, { queryId, partitionId: 2, state: [['elsewhere', '1']] });
  cycle(rig, { queryId: queryOf(rig, { name: 'two' }), partitionId: 1, state: [['two', '1']] });
  return { rig, queryId };
}

function keyOf(i: number): string {
  return `k${String(i).padStart(4, '0')}`;
}

test('rows come in the order of the bytes of their keys, those of this shard alone', () => {
  const { rig, queryId } = filled(0);
  const keys = ['b', 'a\u001fz', 'a', '\u{1F680}', 'é', 'Z', '', '\u0000', 'a\u001f', '~'];
  cycle(rig, { queryId, partitionId: 1, state: keys.map((key) => [key, '1']) });
  const sorted = [...keys].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const rows = stateOf(rig, filterOf(queryId, 1)) as [string, string][];
  expect(rows.map(([key]) => key)).toEqual(sorted);
  const { id } = rig.rows(partitions)[0] ?? { id: '' };
  expect(stateOf(rig, filterOf(queryId, id)), 'a partition has a UUID too').toEqual(rows);
});

test('filters are exact keys, a prefix, and ripe windows, all of them together', () => {
  const { rig, queryId } = filled(0);
  const window = (end: string) => `{"acc":1,"windowEnd":${end}}`;
  cycle(rig, {
    queryId,
    partitionId: 1,
    state: [
      ['a\u001f1', window('100')],
      ['a\u001f2', window('200')],
      ['a\u001f3', window('"100"')],
      ['a\u001f4', '{"acc":1}'],
      ['a\u001f5', '[100]'],
      ['b\u001f1', window('-5')],
      ['b', window('9007199254740991')],
    ],
  });
  const keys = (rest: Parameters<typeof filterOf>[2]) =>
    (stateOf(rig, filterOf(queryId, 1, rest)) as [string, string][]).map(([key]) => key);
  expect(keys({ keyPrefix: 'a\u001f' })).toHaveLength(5);
  expect(keys({ keyPrefix: 'b' })).toEqual(['b', 'b\u001f1']);
  expect(keys({ keyPrefix: 'a'.repeat(600) })).toEqual([]);
  expect(keys({ keys: ['b', 'none', 'a\u001f2', 'b', 'x'.repeat(600)] })).toEqual([
    'a\u001f2',
    'b',
  ]);
  expect(keys({ keys: ['b', 'a\u001f2'], keyPrefix: 'a' })).toEqual(['a\u001f2']);
  expect(keys({ ripeAtOrBefore: 100 })).toEqual(['a\u001f1', 'b\u001f1']);
  expect(keys({ ripeAtOrBefore: 100, keyPrefix: 'a\u001f' })).toEqual(['a\u001f1']);
  expect(keys({ ripeAtOrBefore: -6 })).toEqual([]);
  expect(keys({ ripeAtOrBefore: Number.MAX_SAFE_INTEGER })).toHaveLength(4);
  expect(keys({ ripeAtOrBefore: 250, keys: ['a\u001f2', 'a\u001f4'] })).toEqual(['a\u001f2']);
});

test('long values come whole, and change places with short ones', () => {
  const { rig, queryId } = filled(0);
  const long = (size: number) => `"${'x'.repeat(size)}"`;
  for (const size of [2000, 3, 1022, 1023, 5000]) {
    cycle(rig, { queryId, partitionId: 1, state: [['k', long(size)]] });
    expect(stateOf(rig, filterOf(queryId, 1))).toEqual([['k', long(size)]]);
    const apart = size + 2 > INLINE_VALUE_BYTES_MAX ? 1 : 0;
    expect(rig.rows(streamValues), 'nothing is left behind').toHaveLength(apart);
  }
  cycle(rig, { queryId, partitionId: 1, state: [['k', null]] });
  expect(stateOf(rig, filterOf(queryId, 1))).toEqual([]);
  expect(rig.rows(streamValues)).toEqual([]);
});

test('a cycle that commits while rows are read shows whole or not at all', () => {
  const { rig, queryId } = filled();
  let changes = 0;
  const change = (parts: Partial<CycleParts>) => {
    changes++;
    const state = [[keyOf(0), 'null'] as const, [keyOf(ROWS - 1), 'null'] as const];
    cycle(rig, { queryId, partitionId: 1, state, ...parts });
  };
  const walk = () => readRows(rig.planner.state, filterOf(queryId, 1));
  const valuesOf = (answer: ReturnType<typeof stateOf>) =>
    (answer as [string, string][]).filter(([, value]) => value === 'null').length;
  const once = walked(walk(), () => {
    if (changes === 0) change({});
  });
  expect(once).toMatchObject({ result: 'rows' });
  expect(valuesOf(stateOf(rig, filterOf(queryId, 1)))).toBe(2);
  expect(once.result === 'rows' && once.pieces.flat().length).toBe(ROWS);
  expect(once.result === 'rows' && once.pieces[0]?.[0]?.value).toEqual(
    new Uint8Array(Buffer.from('null')),
  );
  // Changes of other shards disturb nobody.
  changes = 0;
  const other = walked(walk(), () => change({ partitionId: 2 }));
  expect(other.result).toBe('rows');
  expect(changes).toBeLessThan(5);
  expect(walked(walk(), () => change({})).result).toBe('unsteady');
});

test('a reset while rows are read shows the new store', () => {
  const { rig, queryId } = filled();
  let isReset = false;
  const answer = walked(readRows(rig.planner.state, filterOf(queryId, 1)), () => {
    if (!isReset) queryOf(rig, { configHash: 'h2', reset: true });
    isReset = true;
  });
  expect(answer).toEqual({ result: 'rows', pieces: [] });
});

test('more than one answer holds is refused whole; one row comes however long it is', () => {
  const { rig, queryId } = filled();
  const read = (bounds: Partial<typeof STREAM_STATE_BOUNDS>, rest = {}) =>
    walked(
      readRows(rig.planner.state, filterOf(queryId, 1, rest), roomOf(), {
        ...STREAM_STATE_BOUNDS,
        ...bounds,
      }),
    ).result;
  expect(read({ rowsWalked: ROWS })).toBe('rows');
  expect(read({ rowsWalked: ROWS - 1 })).toBe('too-large');
  expect(read({ rowsWalked: 10 }, { keyPrefix: 'k000' })).toBe('rows');
  expect(read({ answerBytes: 1000 })).toBe('too-large');
  expect(read({ answerBytes: 1000 }, { keys: [keyOf(1), keyOf(2)] })).toBe('rows');
  cycle(rig, { queryId, partitionId: 1, state: [['long', `"${'x'.repeat(5000)}"`]] });
  expect(read({ answerBytes: 1000 }, { keys: ['long'] })).toBe('rows');
  expect(read({ answerBytes: 1000 }, { keys: ['long', keyOf(1)] })).toBe('too-large');
});

test('all readers share one room, and give back what they held however they end', () => {
  const { rig, queryId } = filled();
  const read = (room: StreamReadRoom) => readRows(rig.planner.state, filterOf(queryId, 1), room);
  const room = roomOf(1_000_000);
  const first = read(room);
  first.next();
  const heldBytes = 1_000_000 - room.bytesLeft;
  expect(heldBytes).toBeGreaterThan(100 * 64);
  const narrow = roomOf(heldBytes);
  expect(walked(read(narrow))).toEqual({ result: 'no-room' });
  expect(narrow.bytesLeft).toBe(heldBytes);
  first.return({ result: 'missing' });
  expect(room.bytesLeft, 'a reader that is given up').toBe(1_000_000);
  expect(walked(read(room)).result).toBe('rows');
  expect(room.bytesLeft).toBe(1_000_000);
  const change = () => cycle(rig, { queryId, partitionId: 1, state: [['new', '1']] });
  expect(walked(read(room), change).result).toBe('unsteady');
  expect(room.bytesLeft).toBe(1_000_000);
});
