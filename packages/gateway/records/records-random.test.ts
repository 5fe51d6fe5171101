// Goal: whatever nodes do at the same time, rows and what points to them agree, and a cluster that
// has an administrator keeps one. Method: random changes of several nodes side by side, some with
// lost answers; then every index is followed there and back.
import { expect, test } from 'vitest';
import { ROLES } from '../base/access.js';
import { SeededRandom } from '../base/random.fake.js';
import { StoreUnavailableError } from '../store/kv.js';
import type { MemoryStore } from '../store/memory-kv.fake.js';
import { type Records, SYSTEM } from './batch.js';
import { bootstrap } from './bootstrap.js';
import { createCluster } from './clusters.js';
import { registerKey, revokeKey } from './keys.js';
import { giveUpQueues, noteQueues } from './queues.js';
import { fakeRecords } from './records.fake.js';
import { CONSOLE_ROLES, grantRole, revokeRole, rolesOfCluster } from './roles.js';
import { seed } from './seed.js';
import { removeTenant, setTenantStatus } from './tenants.js';
import { createUser, setOperators } from './users.js';

const SEEDS = 40;
const STEPS = 60;

/** Namespace of a table, then of its indexes and lists. */
const TABLES: { readonly [table: string]: readonly string[] } = {
  'px.tenants': ['px.tenants.slug'],
  'px.users': ['px.users.email', 'px.users.tenant'],
  'px.clusters': ['px.clusters.slug', 'px.clusters.tenant', 'px.clusters.cell'],
  'px.roles': ['px.roles.cluster'],
  'px.keys': ['px.keys.hash', 'px.keys.cluster'],
  'px.identities': ['px.identities.provider', 'px.identities.user'],
};

test.each(Array.from({ length: SEEDS }, (_, at) => at + 1))('seed %i', async (seedOfRun) => {
  const first = fakeRecords(undefined, seedOfRun);
  const { store } = first;
  const nodes = [first, ...[1, 2].map((at) => fakeRecords(store, seedOfRun * 1_000 + at))];
  await seed(first);
  const random = new SeededRandom(seedOfRun);
  const upTo = (max: number) => (random.bytes(1)[0] ?? 0) % max;
  const hadAdmin = new Set<string>();
  for (let step = 0; step < STEPS; step++) {
    if (upTo(8) === 0) store.losesNextAnswer = true;
    const many = 1 + upTo(3);
    await Promise.all(
      Array.from({ length: many }, () => changed(nodes[upTo(3)] ?? first, store, upTo)),
    );
    store.losesNextAnswer = false;
    for (const cluster of idsOf(store, 'px.clusters')) {
      const roles = await rolesOfCluster(first, cluster);
      const hasAdmin = roles.some(({ value }) => value.role === 'admin');
      if (hasAdmin) hadAdmin.add(cluster);
      const isGoing = (await statusOf(store, cluster)) === 'deleting';
      if (hadAdmin.has(cluster) && !isGoing) expect(hasAdmin, `cluster ${cluster}`).toBe(true);
    }
  }
  for (const slug of ['t0', 't1']) await finished(first, slug);
  for (const [table, indexes] of Object.entries(TABLES)) {
    for (const index of indexes) {
      expect(store.keys(index).length, `${index} and ${table}`).toBe(store.keys(table).length);
    }
  }
  const clusters = idsOf(store, 'px.clusters');
  for (const list of ['px.keys.cluster', 'px.roles.cluster', 'px.queues.name']) {
    for (const key of store.keys(list)) {
      expect(clusters, `${list} ${key}`).toContain(key.slice(1, 37));
    }
  }
  for (const key of store.keys('px.clusters.slug')) {
    const id = (await store.get('px.clusters.slug', key))?.value;
    expect((await store.get('px.clusters', `#${id}`))?.value).toMatchObject({ slug: key.slice(1) });
  }
});

type UpTo = (max: number) => number;

/** One change; that its answer is lost, or others were faster, is nothing wrong. */
async function changed(node: Records, store: MemoryStore, upTo: UpTo): Promise<void> {
  const pick = (namespace: string) => {
    const ids = idsOf(store, namespace);
    return ids[upTo(Math.max(1, ids.length))] ?? '';
  };
  const tenantSlug = `t${upTo(3)}`;
  const role = ROLES[upTo(ROLES.length)] ?? 'viewer';
  const keyHash = String(upTo(10)).repeat(64);
  const [userId, clusterId] = [pick('px.users'), pick('px.clusters')];
  const at = { tenantSlug, clusterSlug: `c${upTo(4)}`, planCode: 'pro' };
  const changes: (() => Promise<unknown>)[] = [
    () => bootstrap(node, SYSTEM, { ...at, adminEmail: `${tenantSlug}@b`, keyName: 'k', keyHash }),
    () => createCluster(node, SYSTEM, { tenantSlug, slug: `c${upTo(6)}`, planCode: 'pro' }),
    async () => {
      const tenantId = pick('px.tenants');
      const roles = [{ clusterId, role }];
      const user = { tenantId, email: `u${upTo(6)}@b`, passwordHash: 'x', roles };
      await createUser(node, SYSTEM, { ...user, action: 'user_created' });
    },
    () => grantRole(node, SYSTEM, { userId, clusterId, role }, CONSOLE_ROLES),
    () => revokeRole(node, SYSTEM, userId, clusterId, CONSOLE_ROLES),
    () => registerKey(node, SYSTEM, { clusterId, name: 'k', keyHash, scopes: ['read'] }),
    () => revokeKey(node, SYSTEM, pick('px.keys')),
    () => noteQueues(node, clusterId, [{ name: `q${upTo(3)}`, partitions: upTo(5) }]),
    () => giveUpQueues(node, clusterId, [`q${upTo(3)}`]),
    () => setOperators(node, [`u${upTo(6)}@b`]),
  ];
  // A tenant that goes ends the others' changes in the middle.
  if (upTo(4) === 0) {
    changes.push(() => finished(node, tenantSlug));
  }
  try {
    await changes[upTo(changes.length)]?.();
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
  }
}

async function finished(node: Records, slug: string): Promise<void> {
  await setTenantStatus(node, SYSTEM, slug, 'deleting');
  await removeTenant(node, SYSTEM, slug);
}

function idsOf(store: MemoryStore, namespace: string): string[] {
  return store.keys(namespace).map((key) => key.slice(1));
}

async function statusOf(store: MemoryStore, clusterId: string): Promise<unknown> {
  const cluster = (await store.get('px.clusters', `#${clusterId}`))?.value;
  const owner = (cluster as { readonly tenant_id?: string } | undefined)?.tenant_id;
  const tenant = (await store.get('px.tenants', `#${owner}`))?.value;
  return (tenant as { readonly status?: string } | undefined)?.status;
}
