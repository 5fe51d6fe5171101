/**
 * Goal: calls on the key/value store answer what the contract says and leave rows, expiries and
 * counts that agree with each other, through leader changes, entries in flight and expiry. Method:
 * random calls against a naive store, then directed cases for order, budgets, paging, sweeps and
 * what a repeated request is told.
 */
import { expect, test } from 'vitest';
import {
  type KvCall,
  type KvOp,
  type KvOutcome,
  type KvPut,
  kvJson,
} from '../../base/commands/kv.js';
import type { Key } from '../../base/state.js';
import { decodeForwarded, encodeForwarded } from '../../forwarding/command-codec.js';
import {
  isLiveAt,
  keyOfExpiry,
  kvExpiries,
  kvNamespaces,
  kvRows,
  kvUseOf,
  stampOfExpiry,
} from '../../state/kv/tables.js';
import { newRequestSession } from '../../state/request-id.js';
import { EngineRig, TENANT } from '../../testing/engine.fake.js';
import { KvModel, randomKvCall } from '../../testing/kv.fake.js';
import { walked } from '../../testing/page.fake.js';
import { SeededRandom } from '../../testing/random.fake.js';
import { readKv } from './plan.js';
import { walkPage } from './read.js';

const LAST_KEY = '\xff'.repeat(700) as Key;
const OTHER = '00000000-0000-0000-0000-00000000000a';

function call(rig: EngineRig, ops: readonly KvOp[], tenant = TENANT): KvOutcome {
  const { outcome } = rig.call({ kind: 'kv', tenant, ops });
  if (outcome?.kind !== 'kv') throw new Error(`not an answer: ${JSON.stringify(outcome)}`);
  return outcome;
}

function read(rig: EngineRig, ops: readonly KvOp[]): KvOutcome {
  const outcome = walked(readKv(rig.state, rig.wallUs, { kind: 'kv', tenant: TENANT, ops }));
  if (outcome.kind !== 'kv') throw new Error(outcome.refusal.error);
  return outcome;
}

function put(key: string, value: string, more: Partial<KvPut> = {}): KvOp {
  const base = { namespace: 'n', ttlSeconds: null, expect: null, required: false } as const;
  return { op: 'put', key, value: kvJson(value), ...base, ...more };
}

function get(key: string): KvOp {
  return { op: 'get', namespace: 'n', key };
}

/** Expiries and counts follow from the rows. */
function checkBooks(rig: EngineRig): void {
  const { state } = rig.planner;
  const rows = state.range(kvRows, '' as Key, LAST_KEY, 10_000);
  const expiries = state.range(kvExpiries, '' as Key, LAST_KEY, 10_000);
  const expiring = rows.filter(({ row }) => row.expiresAtUs !== 0);
  expect(expiries.map(({ key }) => [stampOfExpiry(key), keyOfExpiry(key)])).toEqual(
    expiring
      .map(({ key, row }) => [row.expiresAtUs, key] as const)
      .sort(([a, x], [b, y]) => a - b || (x < y ? -1 : 1)),
  );
  const bytes = rows.reduce((sum, { row }) => sum + row.value.length, 0);
  expect(kvUseOf(state, TENANT)).toEqual({ rows: rows.length, bytes });
  const counts = state.range(kvNamespaces, '' as Key, LAST_KEY, 10_000);
  expect(counts.reduce((sum, { row }) => sum + row, 0)).toBe(rows.length);
}

test.each([1, 2, 3, 4])('random calls and a naive store, seed %i', (seed) => {
  const random = new SeededRandom(seed);
  const rig = new EngineRig();
  const model = new KvModel();
  for (let step = 0; step < 1500; step++) {
    rig.lag = random.below(3);
    if (random.below(40) === 0) rig.restart();
    // Never by nothing: the stamp of an entry would then be above the clock.
    rig.advance(1 + (random.below(3) === 0 ? random.below(1500) : 0));
    const version = (namespace: string, key: string) =>
      model.rows.get(`${namespace}\0${key}`)?.version ?? 0;
    const asked = randomKvCall(random, TENANT, version);
    const outcome = call(rig, asked.ops);
    expect(outcome, `seed ${seed}, step ${step}: ${JSON.stringify(asked)}`).toEqual(
      model.call(asked, rig.wallUs),
    );
    if (step % 50 === 0) checkBooks(rig);
  }
  // Rows that nobody sees any more go by themselves.
  rig.lag = 0;
  rig.advance(20_000);
  for (let i = 0; i < 3; i++) {
    rig.turn();
    rig.advance(2000);
  }
  checkBooks(rig);
  const left = rig.planner.state.range(kvRows, '' as Key, LAST_KEY, 10_000);
  expect(left.every(({ row }) => isLiveAt(row, rig.wallUs))).toBe(true);
});

test('the order in which operations run, and what each sees', () => {
  const rig = new EngineRig();
  call(rig, [put('k', '1')]);
  const incr = { op: 'incr', namespace: 'n', key: 'k', delta: '1', min: null, max: null } as const;
  const { results } = call(rig, [
    { op: 'getMany', namespace: 'n', keys: ['k', 'z', 'k'] },
    get('k'),
    { ...incr, ttlSeconds: null, required: false },
    get('k'),
    put('a', '"first"'),
  ]);
  expect(results).toMatchObject([
    { kind: 'many', rows: [{ value: kvJson('2') }, { value: kvJson('2') }], missing: ['z'] },
    { kind: 'got', row: { value: kvJson('1'), version: 1 } },
    // `a` ran before `k`, so it got the version before.
    { kind: 'judged', value: kvJson('2'), version: 3 },
    { kind: 'got', row: { value: kvJson('2'), version: 3 } },
    { kind: 'put', version: 2 },
  ]);
  // The first that loses in the order of keys is named, and nothing is written.
  const lost = call(rig, [
    put('x', '1'),
    put('k', '9', { expect: 7, required: true }),
    put('a', '9', { expect: 0, required: true }),
  ]);
  expect(lost.failure).toEqual({ index: 2, loss: 'exists', version: 2, value: kvJson('"first"') });
  expect(read(rig, [get('x')]).results).toEqual([{ kind: 'got', row: null }]);
});

test('a call whose writes all lose writes no entry and answers its reads', () => {
  const rig = new EngineRig();
  call(rig, [put('k', '1')]);
  const { entries } = rig;
  const { results } = call(rig, [put('k', '2', { expect: 0 }), get('k')]);
  expect(results).toMatchObject([{ loss: 'exists' }, { row: { value: kvJson('1') } }]);
  expect(rig.entries).toBe(entries);
});

test('versions only rise: over deletion, expiry, a new leader', () => {
  const rig = new EngineRig();
  const versions: number[] = [];
  const write = (op: KvOp) => {
    const [result] = call(rig, [op]).results;
    versions.push(result?.kind === 'put' ? result.version : -1);
  };
  write(put('k', '1'));
  call(rig, [{ op: 'delete', namespace: 'n', key: 'k', expect: null, required: false }]);
  write(put('k', '1', { ttlSeconds: 1 }));
  rig.advance(5000);
  rig.turn();
  expect(rig.rows(kvRows)).toEqual([]);
  rig.restart(2);
  write(put('k', '1', { expect: 0 }));
  expect(versions).toEqual([1, 2, 3]);
});

test('an expired row is gone before it is swept; a delete takes it away', () => {
  const rig = new EngineRig();
  call(rig, [put('k', '1', { ttlSeconds: 1 }), put('l', '1', { ttlSeconds: 1 })]);
  rig.advance(1000);
  expect(read(rig, [get('k')]).results).toEqual([{ kind: 'got', row: null }]);
  const gone = { op: 'delete', namespace: 'n', key: 'k', expect: null, required: false } as const;
  expect(call(rig, [gone]).results).toMatchObject([{ loss: 'absent', value: null, version: 0 }]);
  expect(rig.rows(kvRows)).toHaveLength(1);
  checkBooks(rig);
});

test('a sweep goes in steps, and a row that was written again stays', () => {
  const rig = new EngineRig();
  for (let from = 0; from < 1200; from += 200) {
    const ops = Array.from({ length: 200 }, (_, i) => put(`k${from + i}`, '1', { ttlSeconds: 2 }));
    call(rig, ops);
  }
  call(rig, [put('k7', '2', { ttlSeconds: 60 })]);
  rig.advance(2500);
  rig.turn();
  expect(rig.rows(kvRows)).toHaveLength(1200 - 512);
  for (let i = 0; i < 3; i++) {
    rig.advance(25);
    rig.turn();
  }
  expect(rig.rows(kvRows)).toMatchObject([{ value: kvJson('2') }]);
  checkBooks(rig);
  // Nothing is due for a minute, and then it is.
  expect((rig.planner.nextDueMs() ?? 0) - rig.nowMs).toBeGreaterThan(50_000);
  rig.advance(61_000);
  rig.turn();
  expect(rig.rows(kvRows)).toEqual([]);
  expect(rig.planner.nextDueMs()).toBeNull();
});

test('the budget of reads is spent in the order in which they run', () => {
  const rig = new EngineRig();
  const large = `"${'x'.repeat(65_534)}"`;
  const names = Array.from({ length: 70 }, (_, i) => `k${String(i).padStart(2, '0')}`);
  call(
    rig,
    names.map((name) => put(name, large)),
  );
  const page = { namespace: 'n', prefix: 'k', after: '', limit: 1000, keysOnly: false } as const;
  const [only] = read(rig, [{ op: 'getPrefix', ...page }]).results;
  expect(only).toMatchObject({ kind: 'page', truncated: true, nextAfter: 'k63' });
  const gets = names.slice(0, 64).map(get);
  const spent = read(rig, [...gets, { op: 'getPrefix', ...page }]).results.at(-1);
  expect(spent).toEqual({ kind: 'page', rows: [], truncated: true, nextAfter: null });
  const keys = ['k00', 'k01', 'none'];
  const many = read(rig, [...gets, { op: 'getMany', namespace: 'n', keys }]).results.at(-1);
  expect(many).toEqual({ kind: 'many', rows: [], missing: ['none'], truncated: true });
  const bare = read(rig, [...gets, { op: 'getPrefix', ...page, keysOnly: true }]).results.at(-1);
  expect(bare).toMatchObject({ truncated: false, nextAfter: null });
});

test('pages: the byte order of keys, cursors, expired rows', () => {
  const rig = new EngineRig();
  const keys = ['a', 'a\u00e9', 'a\u{1F680}', 'az', 'b'];
  call(rig, [...keys.map((key) => put(key, '1')), put('a0', '1', { ttlSeconds: 1 })]);
  rig.advance(1500);
  const walk = (after: string, includeExpired: boolean) => {
    const place = { tenant: TENANT, namespace: 'n', prefix: 'a', after };
    const wish = { limit: 2, keysOnly: false, includeExpired };
    return walked(walkPage(rig.state, rig.wallUs, place, wish, { bytesLeft: 100 }));
  };
  const first = walk('', false);
  expect(first.rows.map(({ key }) => key)).toEqual(['a', 'az']);
  expect(first.nextAfter).toBe('az');
  const second = walk('az', false);
  expect(second.rows.map(({ key }) => key)).toEqual(['a\u00e9', 'a\u{1F680}']);
  expect(second).toMatchObject({ truncated: false, nextAfter: null });
  expect(walk('', true).rows).toMatchObject([{ key: 'a' }, { key: 'a0' }]);
});

test('tenants do not meet, and the longest names fit', () => {
  const rig = new EngineRig();
  const key = 'k'.repeat(512);
  const namespace = 'n'.repeat(64);
  call(rig, [put(key, '1', { namespace, ttlSeconds: 60 })]);
  call(rig, [put(key, '2', { namespace, ttlSeconds: 60 })], OTHER);
  const ops: KvOp[] = [{ op: 'get', namespace, key }];
  expect(call(rig, ops).results).toMatchObject([{ row: { value: kvJson('1'), key } }]);
  expect(call(rig, ops, OTHER).results).toMatchObject([{ row: { value: kvJson('2'), key } }]);
  expect(kvUseOf(rig.state, OTHER)).toEqual({ rows: 1, bytes: 1 });
});

test('a request that is sent again gets its first answer, from another leader too', () => {
  const rig = new EngineRig();
  const session = newRequestSession(1, 2, 3);
  const origin = { session, sequence: 1, settledBelow: 1, settled: [] };
  const command: KvCall = {
    kind: 'kv',
    tenant: TENANT,
    ops: [put('k', '"ä"'), get('other'), { op: 'getMany', namespace: 'n', keys: ['k'] }],
  };
  const send = () => {
    const request = { outcome: null };
    rig.planner.enqueue(command, request, origin);
    rig.turn();
    return request.outcome as KvOutcome | null;
  };
  const first = send();
  expect(first).toMatchObject({ results: [{ kind: 'put', version: 1 }, {}, { rows: [{}] }] });
  call(rig, [put('k', '2')]);
  expect(send()).toEqual(first);
  rig.restart(2);
  expect(send()).toEqual(first);
  expect(rig.rows(kvRows)).toMatchObject([{ value: kvJson('2'), version: 2 }]);
});

test('a turn takes calls by what they name, be it read or deleted', () => {
  const rig = new EngineRig();
  const page = { op: 'getPrefix', namespace: 'n', prefix: 'k', after: '', limit: 1000 } as const;
  const gone = { op: 'delete', namespace: 'n', expect: null, required: false } as const;
  const reading: KvOp[] = [put('k', '1'), { ...page, keysOnly: false }];
  const deleting: KvOp[] = Array.from({ length: 256 }, (_, i) => ({ ...gone, key: `k${i}` }));
  for (const ops of [reading, deleting]) {
    const requests = Array.from({ length: 100 }, () =>
      rig.send({ kind: 'kv', tenant: TENANT, ops }),
    );
    let turns = 0;
    for (; requests.some(({ outcome }) => outcome === null); turns++) rig.turn();
    // 12,000 units a turn: two pages of 1,000 rows at 5, or five calls of 256 keys at 8.
    expect(turns).toBe(ops === reading ? 50 : 20);
  }
});

test('a call without a namespace is refused by the node that leads', () => {
  const value = kvJson('x');
  const bad = { ...put('', '1'), value };
  const command: KvCall = { kind: 'kv', tenant: TENANT, ops: [bad] };
  const forwarded = { term: 3, deadlineMs: 1000, origin: null, command };
  expect(decodeForwarded(Buffer.concat(encodeForwarded(forwarded, 0)), 0)).toBe('content');
});
