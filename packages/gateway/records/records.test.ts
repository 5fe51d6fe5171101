// Goal: each change of records is whole, or not there; repeated and made by several nodes at once
// it is made once. Method: the store in memory, its answers lost and its batches overtaken.
import { describe, expect, test } from 'vitest';
import { NIL_ID } from '../base/random.js';
import { BATCH_OPS_MAX, type Json, StoreUnavailableError } from '../store/kv.js';
import { CONTROL_PLANE, change, read, SYSTEM } from './batch.js';
import { type Bootstrap, bootstrap } from './bootstrap.js';
import {
  assignPlan,
  createCluster,
  loadClusterView,
  setClusterStatus,
  setOverrides,
} from './clusters.js';
import { findKeyByHash, keysOf, noteKeyUses, registerKey, revokeKey } from './keys.js';
import { acknowledgeEvents, eventsAfter, writeEventOnce } from './outbox.js';
import { giveUpQueues, noteQueues, queuesOf } from './queues.js';
import { done, fakeRecords, withCluster } from './records.fake.js';
import { CONSOLE_ROLES, grantRole, revokeRole, rolesOfCluster, rolesOfUser } from './roles.js';
import { CELLS, KEYS, TENANTS } from './rows.js';
import { LayoutError, seed } from './seed.js';
import { isRevoked, revokeSession } from './sessions.js';
import { createTenant, removeTenant, setTenantStatus } from './tenants.js';
import {
  createUser,
  findUserByEmail,
  findUserByIdentity,
  linkIdentity,
  noteLogin,
  setOperators,
} from './users.js';

const HASH = 'a'.repeat(64);
const OTHER_HASH = 'b'.repeat(64);

describe('seeding', () => {
  test('several nodes at once make one of each', async () => {
    const one = fakeRecords();
    const others = [2, 3, 4].map((id) => fakeRecords(one.store, id));
    await Promise.all([one, ...others].map(seed));
    expect(one.store.keys('px.plans.code')).toEqual(['#dedicated-s', '#dev', '#free', '#pro']);
    expect(one.store.keys('px.plans')).toHaveLength(4);
    expect(one.store.keys('px.cells')).toHaveLength(1);
    expect((await one.store.get('px.meta', '#schema'))?.value).toMatchObject({ version: 1 });
  });

  test('what is there stays', async () => {
    const records = fakeRecords();
    await seed(records);
    const before = await records.store.getPrefix('px.plans', { prefix: '#', limit: 10 });
    await seed(records);
    expect(await records.store.getPrefix('px.plans', { prefix: '#', limit: 10 })).toEqual(before);
  });

  test('a later layout is refused', async () => {
    const records = fakeRecords();
    const value = { version: 2, imported_rows: 0 };
    await records.store.batch([{ op: 'put', namespace: 'px.meta', key: '#schema', value }]);
    await expect(seed(records)).rejects.toThrow(LayoutError);
  });
});

const FIRST: Bootstrap = {
  tenantSlug: 'acme',
  clusterSlug: 'acme',
  planCode: 'dev',
  adminEmail: 'admin@localhost',
  keyName: 'default',
  keyHash: HASH,
};

describe('bootstrap', () => {
  test('makes everything in one batch, and nothing the second time', async () => {
    const records = fakeRecords();
    await seed(records);
    const batches = records.store.calls.batch;
    const first = done(await bootstrap(records, CONTROL_PLANE, FIRST));
    expect(records.store.calls.batch).toBe(batches + 1);
    expect(first).toMatchObject({ keyIssued: true, hasPassword: false });
    const again = await bootstrap(records, CONTROL_PLANE, { ...FIRST, keyHash: OTHER_HASH });
    expect(again).toEqual({ ...first, keyIssued: false });
    expect(records.store.keys('px.keys')).toHaveLength(1);
    expect(await eventsAfter(records, null, 10)).toMatchObject([
      {
        event: { kind: 'tenant_bootstrapped', payload: { tenant_slug: 'acme', plan_code: 'dev' } },
      },
    ]);
  });

  test('nodes that boot at once make one tenant and one key', async () => {
    const records = fakeRecords();
    await seed(records);
    const nodes = [1, 2, 3, 4].map((id) => fakeRecords(records.store, id * 100));
    const all = await Promise.all(
      nodes.map((node, at) =>
        bootstrap(node, SYSTEM, { ...FIRST, keyHash: String(at).repeat(64) }),
      ),
    );
    expect(all.map((one) => done(one).keyIssued).filter(Boolean)).toHaveLength(1);
    expect(records.store.keys('px.tenants')).toHaveLength(1);
    expect(records.store.keys('px.keys')).toHaveLength(1);
    expect(records.store.keys('px.outbox')).toHaveLength(1);
  });

  test('two keys of one name are not made for a cluster that was there', async () => {
    const records = fakeRecords();
    await seed(records);
    done(await bootstrap(records, SYSTEM, FIRST));
    const all = await Promise.all(
      [1, 2].map((id) => {
        const second = { ...FIRST, keyName: 'second', keyHash: String(id).repeat(64) };
        return bootstrap(fakeRecords(records.store, id * 100), SYSTEM, second);
      }),
    );
    expect(all.map((one) => done(one).keyIssued).sort()).toEqual([false, true]);
  });

  test('an answer that was lost is found by the next try', async () => {
    const records = fakeRecords();
    await seed(records);
    records.store.losesNextAnswer = true;
    await expect(bootstrap(records, SYSTEM, FIRST)).rejects.toThrow(StoreUnavailableError);
    expect(await bootstrap(records, SYSTEM, FIRST)).toMatchObject({ keyIssued: false });
  });

  test.each([
    ['another plan', { planCode: 'gold' }, 'unknown plan gold'],
    ['the slug of another tenant', { tenantSlug: 'other' }, 'the slug is taken'],
  ])('%s is refused, and nothing is written', async (_name, wrong, error) => {
    const records = fakeRecords();
    await seed(records);
    done(await bootstrap(records, CONTROL_PLANE, FIRST));
    const before = records.store.calls.batch;
    const result = await bootstrap(records, CONTROL_PLANE, { ...FIRST, ...wrong });
    expect(result).toEqual({ refused: 'invalid', error });
    expect(records.store.calls.batch).toBe(before);
  });
});

/** Side by side on a node, and on three nodes at once. */
async function sideBySide<Result>(
  work: (records: ReturnType<typeof fakeRecords>, name: string) => Promise<Result>,
): Promise<Result[]> {
  const first = fakeRecords();
  await seed(first);
  const nodes = [first, fakeRecords(first.store, 1_000), fakeRecords(first.store, 2_000)];
  const names = Array.from({ length: 16 }, (_, at) => at);
  return Promise.all(nodes.flatMap((node, on) => names.map((at) => work(node, `n${on}-${at}`))));
}

describe('side by side', () => {
  test('clusters are made, and none is beaten by another', async () => {
    const all = await sideBySide((records, slug) =>
      createCluster(records, SYSTEM, { tenantSlug: slug, slug, planCode: 'pro' }),
    );
    expect(all.map((one) => done(one).held)).toEqual(all.map(() => null));
  });

  test('tenants are bootstrapped, each with its event in order', async () => {
    let store = fakeRecords().store;
    const all = await sideBySide((records, name) => {
      ({ store } = records);
      const of = { tenantSlug: name, clusterSlug: name, adminEmail: `a@${name}` };
      const keyHash = Buffer.from(name).toString('hex').padEnd(64, '0');
      return bootstrap(records, SYSTEM, { ...FIRST, ...of, keyHash });
    });
    expect(all.every((one) => done(one).keyIssued)).toBe(true);
    expect(store.keys('px.outbox')).toHaveLength(all.length);
  });

  test('a change whose turn comes too late is not begun', async () => {
    const records = fakeRecords();
    await seed(records);
    let answer = () => {};
    records.store.onBatch = () => new Promise<void>((resolve) => (answer = resolve));
    const first = bootstrap(records, SYSTEM, FIRST);
    const second = expect(
      bootstrap(records, SYSTEM, { ...FIRST, tenantSlug: 'b', clusterSlug: 'b' }),
    ).rejects.toThrow(StoreUnavailableError);
    await new Promise((resolve) => setImmediate(resolve));
    records.clock.advance(10_000);
    answer();
    done(await first);
    await second;
    expect(records.store.keys('px.tenants')).toHaveLength(1);
  });
});

test('a cell with an end takes as many clusters as it has places', async () => {
  const { made, ...records } = await withCluster();
  const cell = async () => (await read(records, CELLS, made.cluster.cell_id))?.value;
  const value = { ...(await cell()), capacity_slots: 2 } as unknown as Json;
  const key = `#${made.cluster.cell_id}`;
  await records.store.batch([{ op: 'put', namespace: 'px.cells', key, value }]);
  const made2 = await Promise.all(
    ['b', 'c'].map((slug) =>
      createCluster(records, SYSTEM, { tenantSlug: 'acme', slug, planCode: 'pro' }),
    ),
  );
  expect(made2.filter((one) => 'refused' in one)).toEqual([
    { refused: 'conflict', error: 'the cell is full' },
  ]);
  expect((await cell())?.used_slots).toBe(2);
});

describe('clusters', () => {
  test('the same again answers what is there, another is a conflict', async () => {
    const { made, ...records } = await withCluster();
    const same = { tenantSlug: 'acme', slug: 'acme', planCode: 'pro' };
    expect(done(await createCluster(records, SYSTEM, same)).cluster).toEqual(made.cluster);
    for (const other of [{ planCode: 'free' }, { tenantSlug: 'b' }, { cellId: NIL_ID }]) {
      expect(await createCluster(records, SYSTEM, { ...same, ...other })).toMatchObject({
        refused: 'conflict',
      });
    }
    expect(records.store.keys('px.clusters')).toHaveLength(1);
  });

  test('are seen with plan, overrides and the worse of two statuses', async () => {
    const { made, ...records } = await withCluster();
    const { id } = made.cluster;
    done(await setOverrides(records, SYSTEM, id, { max_queues: 3, max_parked_pops: null }));
    done(await setTenantStatus(records, SYSTEM, 'acme', 'grace'));
    expect(await loadClusterView(records, { slug: 'acme' })).toMatchObject({
      id,
      status: 'push_blocked',
      planCode: 'pro',
      limits: { max_queues: 3, max_parked_pops: null, max_batch_items: 5_000 },
      features: { streams: true, kv: true },
    });
    done(await setClusterStatus(records, SYSTEM, id, 'suspended'));
    done(await assignPlan(records, SYSTEM, id, 'free'));
    expect(await loadClusterView(records, { id })).toMatchObject({
      status: 'suspended',
      planCode: 'free',
      features: { streams: false, kv: true },
    });
    expect(await loadClusterView(records, { slug: 'none' })).toBe(null);
  });

  test('each change is marked, counted and in the audit, in the batch of the change', async () => {
    const { made, ...records } = await withCluster();
    const { id, tenant_id } = made.cluster;
    const counter = async () => (await records.store.get('px.meta', '#inval'))?.value;
    const before = Number(await counter());
    const batches = records.store.calls.batch;
    done(await setClusterStatus(records, SYSTEM, id, 'suspended'));
    expect(records.store.calls.batch).toBe(batches + 1);
    expect(await counter()).toBe(before + 1);
    expect(records.store.keys('px.meta')).toContain(`#inval/${id}`);
    expect(records.invalidated.at(-1)).toBe(id);
    const [newest] = (await records.store.getPrefix('px.ops', { prefix: '#', limit: 9 })).rows;
    expect(newest?.value).toMatchObject({ action: 'cluster_status_changed', tenant_id });
    expect(records.store.keys('px.ops.cluster')[0]).toMatch(new RegExp(`^#${id}/\\d{19}/`));
    done(await setClusterStatus(records, SYSTEM, id, 'suspended'));
    expect(await counter(), 'no change, no mark').toBe(before + 1);
  });

  test('somebody faster makes a change read anew, five times at most', async () => {
    const { made, ...records } = await withCluster();
    const { id } = made.cluster;
    records.store.onBatch = () => setOverrides(records, SYSTEM, id, { max_queues: 1 });
    done(await setClusterStatus(records, SYSTEM, id, 'suspended'));
    const { value } = (await records.store.get('px.clusters', `#${id}`)) ?? {};
    expect(value).toMatchObject({ status: 'suspended', limit_overrides: { max_queues: 1 } });

    let runs = 0;
    const beaten = change(records, SYSTEM, async (batch) => {
      runs++;
      batch.add({
        op: 'put',
        namespace: 'px.meta',
        key: '#k',
        value: runs,
        expect: 99,
        required: true,
      });
    });
    await expect(beaten).rejects.toThrow(StoreUnavailableError);
    expect(runs).toBe(5);
  });

  test('a tenant that is being deleted takes no more clusters', async () => {
    const records = await withCluster();
    done(await setTenantStatus(records, SYSTEM, 'acme', 'deleting'));
    const more = { tenantSlug: 'acme', slug: 'more', planCode: 'pro' };
    expect(await createCluster(records, SYSTEM, more)).toMatchObject({ refused: 'deleting' });
  });

  test('a tenant that is deleted while its cluster is made gets none', async () => {
    const records = await withCluster();
    records.store.onBatch = () => setTenantStatus(records, SYSTEM, 'acme', 'deleting');
    const more = { tenantSlug: 'acme', slug: 'more', planCode: 'pro' };
    expect(await createCluster(records, SYSTEM, more)).toMatchObject({ refused: 'deleting' });
    expect(records.store.keys('px.clusters')).toHaveLength(1);
  });
});

describe('keys', () => {
  test('are registered once, revoked once, and marked', async () => {
    const { made, ...records } = await withCluster();
    const clusterId = made.cluster.id;
    const wanted = { clusterId, name: 'ci', keyHash: HASH, scopes: ['read'] as const };
    const { key } = done(await registerKey(records, CONTROL_PLANE, wanted));
    expect(await registerKey(records, CONTROL_PLANE, wanted)).toEqual({ key, existed: true });
    const wider = { ...wanted, scopes: ['read', 'admin'] as const };
    expect(await registerKey(records, SYSTEM, wider)).toMatchObject({ refused: 'conflict' });
    expect(await revokeKey(records, SYSTEM, key.id, NIL_ID)).toMatchObject({
      refused: 'key_unknown',
    });
    const marks = records.invalidated.length;
    expect(await revokeKey(records, SYSTEM, key.id)).toMatchObject({ alreadyRevoked: false });
    expect(records.invalidated.slice(marks)).toEqual([clusterId]);
    expect(await revokeKey(records, SYSTEM, key.id)).toMatchObject({ alreadyRevoked: true });
    const found = await findKeyByHash(records, HASH);
    expect(found?.value.revoked_at_us).toBeDefined();
    expect((await keysOf(records, clusterId)).map(({ id }) => id)).toEqual([key.id]);
  });

  test('their last use is noted, to ten minutes', async () => {
    const { made, ...records } = await withCluster();
    const scopes = ['read'] as const;
    const wanted = { clusterId: made.cluster.id, name: 'ci', keyHash: HASH, scopes };
    const { key } = done(await registerKey(records, SYSTEM, wanted));
    const batches = records.store.calls.batch;
    const used = async (atUs: number) => {
      await noteKeyUses(
        records,
        new Map([
          [key.id, atUs],
          [NIL_ID, 9],
        ]),
      );
      return (await read(records, KEYS, key.id))?.value.last_used_at_us;
    };
    expect(await used(5)).toBe(5);
    expect(await used(4)).toBe(5);
    expect(await used(600_000_004)).toBe(5);
    expect(records.store.calls.batch, 'one write').toBe(batches + 1);
    expect(await used(600_000_005)).toBe(600_000_005);
  });
});

describe('users and roles', () => {
  const user = (tenantId: string, email: string) =>
    ({ tenantId, email, roles: [], action: 'user_created' }) as const;

  test('an email belongs to one user of all tenants', async () => {
    const { made, ...records } = await withCluster();
    const one = done(await createUser(records, SYSTEM, user(made.tenant.id, 'a@b')));
    const other = done(await createTenant(records, SYSTEM, 'other', 'Other')).tenant;
    expect(await createUser(records, SYSTEM, user(other.id, 'a@b'))).toMatchObject({
      refused: 'conflict',
    });
    expect((await findUserByEmail(records, 'a@b'))?.value).toEqual(one);
    const foreign = {
      ...user(other.id, 'c@d'),
      roles: [{ clusterId: made.cluster.id, role: 'admin' as const }],
    };
    expect(await createUser(records, SYSTEM, foreign)).toMatchObject({
      refused: 'cluster_unknown',
    });
  });

  test('an identity belongs to one user', async () => {
    const { made, ...records } = await withCluster();
    const one = done(await createUser(records, SYSTEM, user(made.tenant.id, 'a@b')));
    const two = done(await createUser(records, SYSTEM, user(made.tenant.id, 'c@d')));
    done(await linkIdentity(records, one.id, 'github', '77'));
    done(await linkIdentity(records, one.id, 'github', '77'));
    expect(await linkIdentity(records, two.id, 'github', '77')).toMatchObject({
      refused: 'conflict',
    });
    expect((await findUserByIdentity(records, 'github', '77'))?.value.id).toBe(one.id);
    expect(done(await noteLogin(records, one.id, 'github')).last_login_at_us).toBeGreaterThan(0);
  });

  test('the last administrator stays, also when two go for each other', async () => {
    const { made, ...records } = await withCluster();
    const clusterId = made.cluster.id;
    const [a, b] = await Promise.all(
      ['a@b', 'c@d'].map(async (email) => {
        const made1 = done(await createUser(records, SYSTEM, user(made.tenant.id, email)));
        const wanted = { userId: made1.id, clusterId, role: 'admin' as const };
        done(await grantRole(records, SYSTEM, wanted, CONSOLE_ROLES));
        return made1;
      }),
    );
    const results = await Promise.all(
      [a, b].map((one) => revokeRole(records, SYSTEM, one?.id ?? '', clusterId, CONSOLE_ROLES)),
    );
    expect(results.filter((one) => 'refused' in one)).toMatchObject([{ refused: 'last_admin' }]);
    const left = await rolesOfCluster(records, clusterId);
    expect(left.map(({ value }) => value.role)).toEqual(['admin']);
    const userId = left[0]?.value.user_id ?? '';
    const demoted = { userId, clusterId, role: 'viewer' as const };
    expect(await grantRole(records, SYSTEM, demoted, CONSOLE_ROLES)).toMatchObject({
      refused: 'last_admin',
    });
    expect(await rolesOfUser(records, userId)).toMatchObject([
      { role: 'admin', cluster: { slug: 'acme' } },
    ]);
  });

  test('a user of another tenant gets no role', async () => {
    const { made, ...records } = await withCluster();
    const other = done(await createTenant(records, SYSTEM, 'other', 'Other')).tenant;
    const { id } = done(await createUser(records, SYSTEM, user(other.id, 'a@b')));
    const wanted = { userId: id, clusterId: made.cluster.id, role: 'viewer' as const };
    expect(await grantRole(records, SYSTEM, wanted, CONSOLE_ROLES)).toMatchObject({
      refused: 'not_found',
    });
  });

  test('exactly the listed users are operators', async () => {
    const { made, ...records } = await withCluster();
    for (const email of ['a@b', 'c@d', 'e@f']) {
      done(await createUser(records, SYSTEM, user(made.tenant.id, email)));
    }
    const operators = async () => {
      const all = ['a@b', 'c@d', 'e@f'].map((email) => findUserByEmail(records, email));
      const found = await Promise.all(all);
      return found.filter((one) => one?.value.is_operator).map((one) => one?.value.email);
    };
    const nodes = [records, fakeRecords(records.store, 7)];
    await Promise.all(nodes.map((node) => setOperators(node, ['a@b', 'c@d', 'x@y'])));
    expect(await operators()).toEqual(['a@b', 'c@d']);
    const { id } = (await findUserByEmail(records, 'a@b'))?.value ?? {};
    expect(records.store.keys('px.meta')).toContain(`#inval/${id}`);
    await setOperators(records, ['e@f']);
    expect(await operators()).toEqual(['e@f']);
    await setOperators(records, []);
    expect(await operators()).toEqual([]);
  });
});

test('a revoked session is on the list until its token ends', async () => {
  const { made, ...records } = await withCluster();
  const expiresAtUs = records.clock.wallUs() + 10_000_000;
  const session = { jti: 'j', expiresAtUs, tenantId: made.tenant.id };
  await revokeSession(records, SYSTEM, session);
  expect(await isRevoked(records, 'j')).toBe(true);
  expect(records.store.keys('px.meta')).toContain(`#inval/${NIL_ID}`);
  records.clock.advance(10_500);
  expect(await isRevoked(records, 'j')).toBe(false);
  const before = records.store.calls.batch;
  await revokeSession(records, SYSTEM, session);
  expect(records.store.calls.batch, 'a token that ended needs no row').toBe(before);
});

describe('events', () => {
  test('have places that rise whatever the clocks say; acknowledged they go', async () => {
    const late = await withCluster();
    const early = fakeRecords(late.store, 9);
    late.clock.advance(3_600_000);
    expect(await writeEventOnce(late, 'warning/c/2026-01', 'warning', { n: 1 })).toBe(true);
    expect(await writeEventOnce(early, 'warning/d/2026-01', 'warning', { n: 2 })).toBe(true);
    expect(await writeEventOnce(early, 'warning/c/2026-01', 'warning', { n: 3 })).toBe(false);
    const events = await eventsAfter(late, null, 10);
    expect(events.map(({ event }) => event.payload)).toEqual([{ n: 1 }, { n: 2 }]);
    const [first] = events;
    expect(await eventsAfter(late, first?.place ?? '', 10)).toHaveLength(1);
    expect(await acknowledgeEvents(late, first?.place ?? '')).toBe(1);
    expect(await eventsAfter(late, null, 10)).toHaveLength(1);
    expect(
      await writeEventOnce(late, 'warning/c/2026-01', 'warning', {}),
      'forgotten is not undone',
    ).toBe(false);
  });
});

test('queues come, grow and are given up, and their names are free again', async () => {
  const { made, ...records } = await withCluster();
  const { id } = made.cluster;
  const known = async () => {
    const all: [string, number][] = [];
    for await (const queues of queuesOf(records, id)) {
      for (const { name, partitions_count } of queues) all.push([name, partitions_count]);
    }
    return all.sort();
  };
  await noteQueues(records, id, [
    { name: 'a', partitions: 1 },
    { name: 'b/c', partitions: 2 },
  ]);
  await noteQueues(records, id, [{ name: 'a', partitions: 5 }]);
  expect(await known()).toEqual([
    ['a', 5],
    ['b/c', 2],
  ]);
  await giveUpQueues(records, id, ['a', 'none']);
  expect(await known()).toEqual([['b/c', 2]]);
  await noteQueues(records, id, [{ name: 'a', partitions: 1 }]);
  expect(await known()).toEqual([
    ['a', 1],
    ['b/c', 2],
  ]);
});

describe('removing a tenant', () => {
  test('needs its status, takes all that it has, and leaves what is others', async () => {
    const { made, ...records } = await withCluster('acme', 'pro');
    const { id } = made.cluster;
    const kept = done(
      await bootstrap(records, SYSTEM, {
        ...FIRST,
        tenantSlug: 'kept',
        clusterSlug: 'kept',
        adminEmail: 'kept@b',
        keyHash: OTHER_HASH,
      }),
    );
    const count = () => records.store.keys('px.keys').length;
    for (let at = 0; at < 300; at++) {
      const keyHash = at.toString(16).padStart(64, '0');
      const wanted = { clusterId: id, name: `k${at}`, keyHash, scopes: ['read'] as const };
      done(await registerKey(records, SYSTEM, wanted));
    }
    const roles = [{ clusterId: id, role: 'admin' as const }];
    const user = { tenantId: made.tenant.id, email: 'a@b', passwordHash: 'x', roles };
    done(await createUser(records, SYSTEM, { ...user, action: 'user_created' }));
    await noteQueues(records, id, [{ name: 'q', partitions: 1 }]);
    expect(await removeTenant(records, SYSTEM, 'acme')).toMatchObject({ refused: 'not_deleting' });
    done(await setTenantStatus(records, SYSTEM, 'acme', 'deleting'));
    // The store fails in the middle; the next removal goes on.
    records.store.losesNextAnswer = true;
    await expect(removeTenant(records, SYSTEM, 'acme')).rejects.toThrow(StoreUnavailableError);
    expect(count()).toBeLessThan(301);
    expect(await removeTenant(records, SYSTEM, 'acme')).toMatchObject([{ slug: 'acme' }]);
    expect(await removeTenant(records, SYSTEM, 'acme')).toBe(null);
    const left = ['tenants', 'clusters', 'clusters.tenant', 'users', 'users.email', 'identities']
      .concat(['roles', 'roles.cluster', 'keys', 'keys.hash', 'keys.cluster', 'queues.name'])
      .flatMap((name) => records.store.keys(`px.${name}`));
    expect(left.filter((key) => key.includes(made.tenant.id) || key.includes(id))).toEqual([]);
    expect(count()).toBe(1);
    expect((await read(records, TENANTS, kept.tenantId))?.value.slug).toBe('kept');
    expect(records.store.keys('px.ops').every((key) => key.includes(kept.tenantId))).toBe(true);
  });

  test('that begins while a key is made leaves no key behind', async () => {
    const { made, ...records } = await withCluster();
    records.store.onBatch = () => setTenantStatus(records, SYSTEM, 'acme', 'deleting');
    const wanted = { clusterId: made.cluster.id, name: 'k', keyHash: HASH, scopes: [] };
    expect(await registerKey(records, SYSTEM, wanted)).toMatchObject({ refused: 'deleting' });
    expect(records.store.keys('px.keys')).toEqual([]);
  });

  test('marks more clusters than one batch holds', async () => {
    const { made: _, ...records } = await withCluster('c0', 'pro');
    for (let at = 1; at < BATCH_OPS_MAX + 4; at++) {
      const wanted = { tenantSlug: 'c0', slug: `c${at}`, planCode: 'pro' };
      done(await createCluster(records, SYSTEM, wanted));
    }
    records.invalidated.length = 0;
    done(await setTenantStatus(records, SYSTEM, 'c0', 'suspended'));
    expect(new Set(records.invalidated).size).toBe(BATCH_OPS_MAX + 4);
  });
});
