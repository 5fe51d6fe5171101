// Goal: the broker grants what the plan has, and leaves what an operator limited. Method: grants in
// memory.
import { expect, test } from 'vitest';
import { SYSTEM } from '../records/batch.js';
import { assignPlan } from '../records/clusters.js';
import { withCluster } from '../records/records.fake.js';
import { BrokerUnavailableError } from './inventory.js';
import { type BrokerGrants, type Grant, grantFor, TenantGrants } from './tenant-grants.js';

const ALL = { streams: true, traces: true, kv: true, timers: true, ephemeral: true };
const grant = (more: Partial<Grant> = {}): Grant => {
  return { enabled: true, maxRows: null, maxTimers: null, ...more };
};

test.each<[string, Parameters<typeof grantFor>, Grant | null]>([
  ['none, and the plan has it', [ALL, 'kv', null], grant()],
  ['as it should be', [ALL, 'kv', grant()], null],
  ['an operator limits it', [ALL, 'kv', grant({ maxRows: 5 })], null],
  ['it was off', [ALL, 'kv', grant({ enabled: false, maxRows: 5 })], grant({ maxRows: 5 })],
  ['without timers', [{ ...ALL, timers: false }, 'kv', grant()], grant({ maxTimers: 0 })],
  ['timers alone', [{ ...ALL, kv: false }, 'kv', grant({ maxRows: 5 })], grant({ maxRows: 0 })],
  ['timers again', [ALL, 'kv', grant({ maxTimers: 0 })], grant()],
  ['the plan lacks it', [{ ...ALL, streams: false }, 'streams', null], grant({ enabled: false })],
  [
    'it is taken away',
    [{ ...ALL, ephemeral: false }, 'ephemeral', grant({ maxRows: 5 })],
    grant({ enabled: false, maxRows: 5 }),
  ],
  ['it is off', [{ ...ALL, ephemeral: false }, 'ephemeral', grant({ enabled: false })], null],
])('%s', (_name, asked, wanted) => {
  expect(grantFor(...asked)).toEqual(wanted);
});

test('a new cluster, and one with another plan, get their grants, once', async () => {
  const records = await withCluster('acme', 'free');
  const held = new Map<string, Grant>();
  const { cluster } = records.made;
  const logged: string[] = [];
  let sets = 0;
  let isDown = false;
  const broker: BrokerGrants = {
    held: (tenant, kind) => held.get(`${tenant} ${kind}`) ?? null,
    set: async (tenant, kind, one) => {
      if (isDown) throw new BrokerUnavailableError();
      sets++;
      held.set(`${tenant} ${kind}`, one);
    },
  };
  const grants = new TenantGrants({
    records,
    broker,
    clock: records.clock,
    log: { warn: () => {}, error: (line) => void logged.push(line) },
    reconcileMs: 60_000,
  });
  const enabled = (kind: string) => held.get(`${cluster.broker_tenant_uuid} ${kind}`)?.enabled;
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  grants.start();
  await settle();
  expect([enabled('kv'), enabled('ephemeral'), enabled('streams')]).toEqual([true, true, false]);
  await grants.reconcile();
  expect(sets, 'nothing is set twice').toBe(3);
  await assignPlan(records, SYSTEM, cluster.id, 'pro');
  isDown = true;
  records.clock.advance(60_000);
  await settle();
  isDown = false;
  records.clock.advance(60_000);
  await settle();
  expect([enabled('streams'), sets]).toEqual([true, 4]);
  expect(logged).toEqual([]);
  grants.close();
  expect(records.clock.waiting).toBe(0);
});
