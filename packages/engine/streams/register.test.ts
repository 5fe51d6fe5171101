/**
 * Goal: a name is one query, whoever registers it and when; another configuration needs `reset`,
 * which takes all state away in the entry that accepts it; and a tenant gets as many as it was
 * granted. Method: directed cases over a planner, with entries in flight and new leaders.
 */
import { GRANT_LIMITS } from '@svc/wire';
import { expect, test } from 'vitest';
import type { GrantLimits } from '../base/grants.js';
import {
  doomedStreams,
  streamCounts,
  streamNames,
  streamPartitions,
  streamQueries,
  streamShards,
  streamStates,
  streamValues,
} from '../state/streams/tables.js';
import { EngineRig, TENANT } from '../testing/engine.fake.js';
import {
  cycle,
  filterOf,
  queryOf,
  register,
  registerCommand,
  stateOf,
} from '../testing/stream.fake.js';

const OTHER = '00000000-0000-0000-0000-0000000000aa';

function grant(rig: EngineRig, enabled: boolean, maxQueries: number | null): void {
  const none = Object.fromEntries(GRANT_LIMITS.map((limit) => [limit, null]));
  const row = { enabled, ...(none as unknown as GrantLimits), maxQueries };
  rig.call({ kind: 'set-grant', tenant: OTHER, surface: 'streams', grant: row });
}

test('a name is registered once, and found again with the same hash', () => {
  const rig = new EngineRig();
  const first = register(rig);
  expect(first).toMatchObject({ result: 'registered', fresh: true, reset: false });
  const entries = rig.entries;
  expect(register(rig)).toEqual({ ...first, fresh: false });
  expect(register(rig, { reset: true })).toEqual({ ...first, fresh: false });
  expect(rig.entries, 'what changes nothing is not written').toBe(entries);
  expect(register(rig, { sinkQueue: null, sourceQueue: 'p' })).toEqual({ ...first, fresh: false });
  expect(rig.rows(streamQueries)).toMatchObject([{ sourceQueue: 'p', sinkQueue: null }]);
});

test('of two first registrations in one turn, or in flight, the second finds the first', () => {
  const rig = new EngineRig();
  rig.lag = 3;
  const two = [rig.send(registerCommand()), rig.send(registerCommand())];
  rig.turn();
  const verdicts = two.map(
    ({ outcome }) => outcome?.kind === 'stream-registered' && outcome.verdict,
  );
  expect(verdicts[0]).toMatchObject({ fresh: true });
  expect(verdicts[1]).toEqual({ ...verdicts[0], fresh: false });
  expect(register(rig)).toEqual(verdicts[1]);
  rig.restart(2);
  expect(register(rig)).toEqual(verdicts[1]);
  expect(rig.rows(streamNames)).toHaveLength(1);
});

test('another hash is a mismatch that changes nothing, until reset takes the state away', () => {
  const rig = new EngineRig();
  rig.push('q', 'a', ['1'], false);
  const queryId = queryOf(rig);
  cycle(rig, { queryId, partitionId: 1, state: [['k', '{"acc":1}']] });
  const before = rig.rows(streamQueries);
  expect(register(rig, { configHash: 'h2', sourceQueue: 'p' })).toEqual({
    result: 'mismatch',
    queryId,
  });
  expect(rig.rows(streamQueries)).toEqual(before);
  expect(stateOf(rig, filterOf(queryId, 1))).toEqual([['k', '{"acc":1}']]);
  const reset = register(rig, { configHash: 'h2', reset: true });
  expect(reset).toEqual({ result: 'registered', queryId, fresh: false, reset: true });
  expect(stateOf(rig, filterOf(queryId, 1))).toEqual([]);
  expect(register(rig, { configHash: 'h1' })).toEqual({ result: 'mismatch', queryId });
});

test('a reset hides all rows at once, and they are deleted in bounded steps by any leader', () => {
  const rig = new EngineRig();
  for (const name of ['a', 'b', 'c']) rig.push('q', name, ['1'], false);
  const queryId = queryOf(rig);
  const long = `"${'x'.repeat(2000)}"`;
  for (const partitionId of [1, 2, 3]) {
    const state = Array.from({ length: 450 }, (_, i) => [`k${i}`, i % 50 ? '1' : long] as const);
    cycle(rig, { queryId, partitionId, state });
  }
  expect(rig.rows(streamValues)).toHaveLength(3 * 9);
  rig.lag = 2;
  register(rig, { configHash: 'h2', reset: true });
  cycle(rig, { queryId, partitionId: 2, state: [['new', '2']] });
  let before = rig.rows(streamStates).length;
  for (let turns = 0; rig.rows(doomedStreams).length > 0; turns++) {
    expect(turns).toBeLessThan(40);
    expect(stateOf(rig, filterOf(queryId, 1))).toEqual([]);
    expect(stateOf(rig, filterOf(queryId, 2))).toEqual([['new', '2']]);
    rig.advance(60);
    rig.turn();
    const left = rig.rows(streamStates).length;
    expect(before - left).toBeLessThanOrEqual(1000);
    before = left;
    if (turns === 1) rig.restart(2);
  }
  expect(rig.rows(streamStates)).toHaveLength(1);
  expect(rig.rows(streamValues)).toEqual([]);
  expect(rig.rows(streamShards)).toMatchObject([{ rows: 1, bytes: 4 }]);
  expect(rig.rows(streamPartitions)).toHaveLength(1);
  rig.advance(60);
  rig.turn();
  expect(rig.planner.nextDueMs(), 'nobody looks for what is not there').toBe(null);
});

test('what a deleted queue was remembered by goes with its partitions, and nothing else', () => {
  const rig = new EngineRig();
  rig.push('q', 'a', ['1'], false);
  rig.push('other', 'a', ['1'], false);
  const [one, two] = [queryOf(rig), queryOf(rig, { name: 'two' })];
  for (const queryId of [one, two]) {
    for (const partitionId of [1, 2]) cycle(rig, { queryId, partitionId, state: [['k', '1']] });
  }
  const request = rig.send({ kind: 'delete-queue', tenant: TENANT, queue: 'q' });
  rig.turn();
  expect(stateOf(rig, filterOf(one, 1))).toBe('missing');
  for (let i = 0; i < 6; i++) {
    rig.advance(60);
    rig.turn();
  }
  expect(request.outcome).toEqual({ kind: 'deleted', existed: true });
  expect(rig.rows(streamStates)).toHaveLength(2);
  expect(stateOf(rig, filterOf(two, 2))).toEqual([['k', '1']]);
  expect(rig.rows(streamPartitions)).toHaveLength(2);
  expect(rig.rows(doomedStreams)).toEqual([]);
});

test('a tenant needs a grant for a new name, and none for one that it has', () => {
  const rig = new EngineRig();
  const tenant = OTHER;
  expect(register(rig, { tenant })).toEqual({ result: 'denied', quota: null });
  grant(rig, false, null);
  expect(register(rig, { tenant })).toEqual({ result: 'denied', quota: null });
  grant(rig, true, 1);
  expect(register(rig, { tenant })).toMatchObject({ result: 'registered', fresh: true });
  expect(register(rig, { tenant, name: 'b' })).toEqual({ result: 'denied', quota: 1 });
  grant(rig, true, null);
  expect(register(rig, { tenant, name: 'b' })).toMatchObject({ fresh: true });
  grant(rig, false, null);
  expect(register(rig, { tenant, configHash: 'h2', reset: true })).toMatchObject({ reset: true });
  expect(rig.rows(streamCounts)).toEqual([2]);
  expect(register(rig), 'the default tenant needs none').toMatchObject({ fresh: true });
});

test('a purge takes queries and state of its tenant, in steps, and of no other', () => {
  const rig = new EngineRig();
  rig.push('q', 'a', ['1'], false);
  const kept = queryOf(rig);
  const state = Array.from({ length: 50 }, (_, i) => [`k${i}`, '1'] as const);
  cycle(rig, { queryId: kept, partitionId: 1, state });
  grant(rig, true, null);
  for (const name of ['a', 'b', 'c']) register(rig, { tenant: OTHER, name });
  rig.call({ kind: 'purge-tenant', tenant: OTHER });
  for (let i = 0; i < 8; i++) {
    rig.advance(60);
    rig.turn();
  }
  expect(rig.rows(streamNames)).toEqual([kept]);
  expect(rig.rows(streamCounts)).toEqual([1]);
  expect(rig.rows(streamStates)).toHaveLength(50);
});
