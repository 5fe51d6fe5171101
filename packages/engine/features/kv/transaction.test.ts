/**
 * Goal: the key/value part of a transaction applies with the rest or not at all, is named in its
 * place among the guards, and is refused while the surface is switched off; a call with a check is
 * refused before the cluster's version knows it. Method: directed cases over a planner.
 */
import { expect, test } from 'vitest';
import { type KvOp, kvJson } from '../../base/commands/kv.js';
import type { TransactedOutcome, TransactionCommand } from '../../base/commands/transaction.js';
import { SINGLETON_KEY } from '../../base/keys.js';
import { clusterVersions, partitions } from '../../base/tables.js';
import { kvRows } from '../../state/kv/tables.js';
import { EngineRig, pushCommand, TENANT } from '../../testing/engine.fake.js';

const PLACE = { namespace: 'n', key: 'k' } as const;
const CHECK: KvOp = { op: 'check', ...PLACE, expect: 7, required: true };
const GET: KvOp = { op: 'get', ...PLACE };

function put(value: string, expect: number | null = null, required = false): KvOp {
  return { op: 'put', ...PLACE, value: kvJson(value), ttlSeconds: null, expect, required };
}

function transact(
  rig: EngineRig,
  ops: readonly KvOp[],
  more: Partial<TransactionCommand> = {},
): TransactedOutcome {
  const { outcome } = rig.call({
    kind: 'transaction',
    tenant: TENANT,
    acks: [],
    pushes: null,
    traceIds: null,
    positions: [],
    kv: { kind: 'kv', tenant: TENANT, ops },
    timers: null,
    flaw: null,
    ...more,
  });
  if (outcome?.kind !== 'transacted') throw new Error(`not an answer: ${JSON.stringify(outcome)}`);
  return outcome;
}

function pushing(): Partial<TransactionCommand> {
  const pushes = pushCommand('q', 'p', ['a'], true);
  return pushes.kind === 'push' ? { pushes } : {};
}

test('everything applies together, and its reads see it', () => {
  const rig = new EngineRig();
  const many: KvOp = { op: 'getMany', namespace: 'n', keys: ['k'] };
  const { rollback, kv, pushed } = transact(rig, [many, GET, put('"v"'), GET], pushing());
  expect([rollback, pushed?.messageIds.length]).toEqual([null, 1]);
  expect(kv?.results).toMatchObject([
    { kind: 'many', rows: [{ value: kvJson('"v"'), version: 1 }] },
    { kind: 'got', row: null },
    { kind: 'put', version: 1 },
    { kind: 'got', row: { value: kvJson('"v"') } },
  ]);
});

test.each([{}, pushing()])('a precondition that was required rolls all of it back', (more) => {
  const rig = new EngineRig();
  transact(rig, [put('1')]);
  const { rollback, kv, pushed } = transact(rig, [put('2'), CHECK], more);
  expect([kv, pushed]).toEqual([null, null]);
  // The put runs first, as it stands first: what the check sees is the row that it would leave.
  expect(rollback).toMatchObject({
    reason: 'kv_precondition',
    kv: { index: 1, loss: 'version', value: kvJson('2') },
  });
  expect(rig.rows(kvRows)).toMatchObject([{ value: kvJson('1'), version: 1 }]);
  expect(rig.rows(partitions)).toEqual([]);
});

test('one that was not required is told, and the rest applies', () => {
  const rig = new EngineRig();
  const { rollback, kv } = transact(rig, [put('1', 3)], pushing());
  expect(rollback).toBeNull();
  expect(kv?.results).toMatchObject([{ kind: 'judged', loss: 'absent', value: null, version: 0 }]);
  expect(rig.rows(partitions)).toHaveLength(1);
});

test('acks, pushes and positions are named before it', () => {
  const rig = new EngineRig();
  const position = { consumerGroup: 'g', partition: 'p', metadata: null } as const;
  const at = { ...position, queue: 'none', offset: 1, subscription: { mode: 'all' } } as const;
  const ack = { transactionId: 'x', partitionId: '9', leaseId: '', error: null } as const;
  const acks = [{ ...ack, status: 'completed', consumerGroup: 'g' }] as const;
  const reason = (more: Partial<TransactionCommand>) =>
    transact(rig, [CHECK], more).rollback?.reason;
  expect(reason({})).toBe('kv_precondition');
  expect(reason({ positions: [at] })).toBe('queue_not_found');
  expect(reason({ positions: [at], acks })).toBe('rejected_ack');
  rig.push('q', 'p', ['a']);
  expect(reason({ positions: [at], ...pushing() })).toBe('duplicate');
});

test('it is refused while key/value is switched off, whatever else it holds', () => {
  const rig = new EngineRig();
  const changes = { kv: false };
  rig.call({ kind: 'set-switches', tenant: TENANT, changes });
  const { rollback } = transact(rig, [GET], { acks: [], ...pushing() });
  expect(rollback?.reason).toBe('kv_disabled');
  expect(rig.rows(partitions)).toEqual([]);
  rig.call({ kind: 'set-switches', tenant: TENANT, changes: { kv: true } });
  expect(transact(rig, [GET]).rollback).toBeNull();
});

test('a check waits for the version of the cluster that knows it', () => {
  const rig = new EngineRig();
  rig.state.put(clusterVersions, SINGLETON_KEY, 4);
  const refused = transact(rig, [CHECK]).rollback;
  expect(refused).toMatchObject({
    reason: 'kv_check_needs_cluster_version_5',
    error: 'this cluster is at 4',
  });
  const { outcome } = rig.call({ kind: 'kv', tenant: TENANT, ops: [put('1'), CHECK] });
  expect(outcome).toMatchObject({
    kind: 'refused',
    refusal: { reason: 'kv_check_needs_cluster_version_5' },
  });
  expect(rig.rows(kvRows)).toEqual([]);
  rig.state.put(clusterVersions, SINGLETON_KEY, 5);
  expect(transact(rig, [CHECK]).rollback?.reason).toBe('kv_precondition');
});

test('a call that is larger than an entry may be is refused', () => {
  const rig = new EngineRig(undefined, { entryBytesMax: 1000 });
  const value = `"${'x'.repeat(1000)}"`;
  const { outcome } = rig.call({ kind: 'kv', tenant: TENANT, ops: [put(value)] });
  expect(outcome).toMatchObject({ kind: 'refused', refusal: { reason: 'too_large' } });
  expect(transact(rig, [put(value)]).rollback?.reason).toBe('too_large');
});
