// Goal: the control plane's calls do what they say once, however often they come, and bad ones do
// nothing. Method: each route over a store in memory; the store's rows before and after.
import { beforeEach, describe, expect, test } from 'vitest';
import { hashOfKey } from '../credentials/api-key.js';
import { writeEventOnce } from '../records/outbox.js';
import { StoreUnavailableError } from '../store/kv.js';
import { codeOf, control, type RouteNode, routeNode, shown } from './routes.fake.js';

const HASH = 'a'.repeat(64);
const USER = '12345678-1234-4234-8234-123456789abc';
const MISSING = '99999999-9999-4999-8999-999999999999';

let node: RouteNode;

beforeEach(async () => {
  node = await routeNode();
});

const cp = (at: string, body?: unknown) => {
  const [method, path] = at.split(' ');
  return node.ask(`${method} /api/cp${path}`, body, control);
};
const json = async (at: string, body?: unknown) => shown(await cp(at, body));
const members = async (at: string, body?: unknown) => {
  const [, value] = await json(at, body);
  return value as { readonly [name: string]: unknown };
};

describe('bootstrap', () => {
  const wanted = {
    tenant_slug: 'beta',
    admin_email: 'Root@Beta.example',
    password: 'pass word',
  };

  test('hands out its key once, and that key works', async () => {
    const first = await members('POST /bootstrap', wanted);
    expect(first).toMatchObject({ password_set: true, can_login: true });
    expect(first.api_key).toMatch(/^qk_live_[\w-]{43}$/);
    const caller = await node.parts.credentials.caller({
      kind: 'key',
      text: String(first.api_key),
    });
    expect(caller).toMatchObject({ kind: 'key', clusterId: first.cluster_id });
    expect(await json('POST /bootstrap', wanted)).toEqual([200, { ...first, api_key: null }]);
    expect(node.granted).toHaveLength(2);
  });

  test('never answers that a password is set which is not in force', async () => {
    const { password, ...none } = wanted;
    const first = await members('POST /bootstrap', wanted);
    const other = await json('POST /bootstrap', { ...wanted, password: 'another password' });
    const error = 'the administrator has another password, or none';
    expect(other).toEqual([409, { error, code: 'conflict' }]);
    expect(await members('POST /bootstrap', none)).toEqual({ ...first, api_key: null });
    const second = { ...none, admin_email: 'second@beta.example' };
    const without = { password_set: false, can_login: false };
    expect(await members('POST /bootstrap', second)).toMatchObject(without);
    expect(codeOf(await cp('POST /bootstrap', { ...second, password }))).toBe('409 conflict');
    expect(await members('POST /bootstrap', second)).toMatchObject(without);
  });

  test('is not lost where the broker is away', async () => {
    node.broker.isAway = true;
    const { api_key } = await members('POST /bootstrap', wanted);
    expect(api_key).toMatch(/^qk_/);
    expect(node.logged).toEqual(['grants are set later']);
  });

  test('of what belongs to others is a wrong body', async () => {
    const cases = [
      { tenant_slug: 'beta', cluster_slug: 'acme', admin_email: 'a@b' },
      { tenant_slug: 'beta', admin_email: 'admin@acme.example' },
      { ...wanted, plan: 'none' },
      { ...wanted, password: '' },
      { ...wanted, password: 'x'.repeat(129) },
      { tenant_slug: 'beta' },
    ];
    for (const body of cases) expect(codeOf(await cp('POST /bootstrap', body))).toBe('400 invalid');
    expect(node.records.store.keys('px.tenants.slug')).toEqual(['#acme']);
  });
});

describe('creates are repeatable', () => {
  test.each([
    ['POST /tenants', { slug: 'Beta ', name: 'Beta' }, { name: 'Other' }],
    ['POST /clusters', { tenant_slug: 'beta', slug: 'b-1', plan: 'dev' }, { plan: 'pro' }],
    ['POST /clusters', { tenant_slug: 'beta', slug: 'b-1' }, { cell_id: MISSING }],
  ])('%s %j', async (at, body, otherwise) => {
    const [made, first] = await json(at, body);
    expect([made, await json(at, body)]).toEqual([201, [200, first]]);
    expect(codeOf(await cp(at, { ...body, ...otherwise }))).toBe('409 conflict');
  });

  test('a key is registered by its hash, and revoked', async () => {
    const key = { cluster_id: node.made.cluster.id, name: 'k', key_hash: HASH, scopes: ['read'] };
    const [status, made] = await json('POST /keys', key);
    expect([status, made]).toEqual([201, { id: expect.any(String), existed: false }]);
    const { id } = made as { readonly id: string };
    expect(await json('POST /keys', key)).toEqual([200, { id, existed: true }]);
    expect(codeOf(await cp('POST /keys', { ...key, name: 'other' }))).toBe('409 conflict');
    const lost = { ...key, cluster_id: MISSING, key_hash: 'b'.repeat(64) };
    expect(codeOf(await cp('POST /keys', lost))).toBe('404 cluster_unknown');
    expect(await json(`DELETE /keys/${id}`)).toEqual([200, { ok: true, already_revoked: false }]);
    expect(await json(`DELETE /keys/${id}`)).toEqual([200, { ok: true, already_revoked: true }]);
    expect(codeOf(await cp(`DELETE /keys/${MISSING}`))).toBe('404 key_unknown');
  });
});

describe('provision', () => {
  const wanted = {
    tenant_slug: 'beta',
    tenant_name: 'Beta',
    cluster_slug: 'b-1',
    plan: 'dev',
    user_id: USER,
    email: 'u@beta.example',
    role: 'producer',
    key_name: 'first',
    key_hash: hashOfKey('qk_live_x'),
    scopes: ['consume', 'produce'],
    overrides: { max_queues: 3, req_burst: null },
  };

  test('makes all of it in one batch, and the same again makes nothing', async () => {
    const first = await members('POST /provision', wanted);
    expect(first).toMatchObject({
      user_id: USER,
      plan_code: 'dev',
      overrides: { max_queues: 3, req_burst: null },
      created: { tenant: true, cluster: true, user: true, key: true },
    });
    const again = await members('POST /provision', wanted);
    const created = { tenant: false, cluster: false, user: false, key: false };
    expect(again).toEqual({ ...first, created });
    expect(await node.parts.credentials.role(USER, String(first.cluster_id))).toBe('producer');
    expect(node.granted).toContain(first.broker_tenant_uuid);
  });

  test('what is missing of it is added', async () => {
    await cp('POST /tenants', { slug: 'beta', name: 'Beta' });
    const first = await members('POST /provision', wanted);
    expect(first.created).toMatchObject({ tenant: false, cluster: true });
    const second = { ...wanted, key_hash: HASH };
    expect((await members('POST /provision', second)).created).toMatchObject({
      cluster: false,
      user: false,
      key: true,
    });
  });

  test.each([
    { role: 'admin' },
    { plan: 'pro' },
    { email: 'v@beta.example' },
    { user_id: MISSING },
    { key_name: 'second' },
    { overrides: {} },
    { email: 'admin@acme.example' },
  ])('otherwise is a conflict and changes nothing: %j', async (otherwise) => {
    await cp('POST /provision', wanted);
    const before = node.records.store.keys('px.ops');
    expect(codeOf(await cp('POST /provision', { ...wanted, ...otherwise }))).toBe('409 conflict');
    expect(node.records.store.keys('px.ops')).toEqual(before);
  });

  test('before there are plans', async () => {
    const keys = node.records.store.keys('px.plans');
    await node.records.store.batch(
      keys.map((key) => ({ op: 'delete', namespace: 'px.plans', key })),
    );
    const { status, headers } = await cp('POST /provision', wanted);
    expect([status, new Map(headers).get('Retry-After')]).toEqual([503, '1']);
  });
});

describe('clusters', () => {
  test('are shown by slug and by id, and listed by plan', async () => {
    const { cluster, tenant } = node.made;
    const acme = {
      id: cluster.id,
      slug: 'acme',
      tenant_id: tenant.id,
      tenant_slug: 'acme',
      tenant_status: 'active',
      broker_tenant_uuid: cluster.broker_tenant_uuid,
      cell_id: cluster.cell_id,
      plan_code: 'pro',
      status: 'active',
      overrides: {},
      created_at: '2026-01-01T00:00:00.000000Z',
    };
    expect(await json('GET /clusters/acme')).toEqual([200, acme]);
    expect(await json(`GET /clusters/${cluster.id}`)).toEqual([200, acme]);
    await cp('POST /clusters', { tenant_slug: 'beta', slug: 'b-1', plan: 'dev' });
    expect(await json('GET /clusters?plan=pro')).toEqual([200, { clusters: [acme] }]);
    expect((await members('GET /clusters')).clusters).toHaveLength(2);
    expect(codeOf(await cp('GET /clusters?plan=Pro'))).toBe('400 invalid');
    for (const name of ['none', MISSING, '%ff', '%2e%2e%2f']) {
      expect((await cp(`GET /clusters/${name}`)).status, name).toBe(404);
    }
  });

  test('change status and overrides, null clears', async () => {
    const { id } = node.made.cluster;
    const limits = { max_queues: 1, monthly_msgs_quota: null };
    expect(await json(`PUT /clusters/${id}/overrides`, limits)).toEqual([200, { ok: true }]);
    expect(await json(`PUT /clusters/${id}/status`, { status: 'suspended' })).toEqual([
      200,
      { ok: true },
    ]);
    const changed = { overrides: limits, status: 'suspended' };
    expect(await members('GET /clusters/acme')).toMatchObject(changed);
    expect(await json(`PUT /clusters/${id}/overrides`, 'null')).toEqual([200, { ok: true }]);
    expect(await members('GET /clusters/acme')).toMatchObject({ overrides: {} });
    for (const body of [{ max_queues: -1 }, { max_queue: 1 }, [], '1', '{"a":']) {
      expect(codeOf(await cp(`PUT /clusters/${id}/overrides`, body))).toBe('400 invalid');
    }
    const error = 'max_queues must be a whole number from 0 to 9007199254740991, or null';
    const refusal = [400, { error, code: 'invalid' }];
    expect(await json(`PUT /clusters/${id}/overrides`, { max_queues: -1 })).toEqual(refusal);
    expect(codeOf(await cp(`PUT /clusters/${id}/status`, { status: 'x' }))).toBe('400 invalid');
    expect(codeOf(await cp(`PUT /clusters/${MISSING}/status`, { status: 'active' }))).toBe(
      '404 cluster_unknown',
    );
  });
});

test.each(['PUT', 'GET', 'DELETE'])('%s of a sink says that none runs here', async (method) => {
  expect(codeOf(await cp(`${method} /clusters/acme/s3`))).toBe('404 s3_unavailable');
});

describe('the end of a tenant', () => {
  const purged = (done: boolean) => ({
    status: 200,
    body: { success: true, partitionsDeleted: 4, done },
  });

  test('in its order, each step repeatable', async () => {
    const { cluster, tenant } = node.made;
    const named = { slug: 'acme', broker_tenant_uuid: cluster.broker_tenant_uuid };
    expect(codeOf(await cp('POST /tenants/acme/purge'))).toBe('409 not_deleting');
    expect(codeOf(await cp('DELETE /tenants/acme'))).toBe('409 not_deleting');
    expect(await json('PUT /tenants/acme/status', { status: 'deleting' })).toEqual([
      200,
      { ok: true, tenant_id: tenant.id, clusters: [{ id: cluster.id, ...named }] },
    ]);
    node.broker.answer = purged(false);
    expect(await json('POST /tenants/acme/purge')).toEqual([
      200,
      {
        existed: true,
        done: false,
        clusters: [{ ...named, done: false, partitions_deleted: 4 }],
      },
    ]);
    expect(codeOf(await cp('DELETE /tenants/acme'))).toBe('409 not_purged');
    const lost = { op: 'put', namespace: 'px.clusters.tenant', key: `#${tenant.id}/lost` } as const;
    await node.records.store.batch([{ ...lost, value: '' }]);
    expect(await members('POST /tenants/acme/purge')).toMatchObject({ missing_clusters: ['lost'] });
    await node.records.store.batch([{ op: 'delete', namespace: lost.namespace, key: lost.key }]);
    node.broker.answer = purged(true);
    expect(await members('POST /tenants/acme/purge')).toMatchObject({ done: true });
    expect(node.broker.calls.at(-1)).toMatchObject({
      method: 'DELETE',
      target: `/api/v1/resources/tenant?tenant=${cluster.broker_tenant_uuid}`,
    });
    expect(await json('DELETE /tenants/acme')).toEqual([
      200,
      { existed: true, clusters: [{ cluster_id: cluster.id, ...named }] },
    ]);
    expect(await json('DELETE /tenants/acme')).toEqual([200, { existed: false, clusters: [] }]);
    expect(await members('POST /tenants/acme/purge')).toMatchObject({ existed: false });
  });

  test('a purge counts no more once the tenant was something else', async () => {
    const status = (to: string) => cp('PUT /tenants/acme/status', { status: to });
    await status('deleting');
    node.broker.answer = purged(true);
    await cp('POST /tenants/acme/purge');
    await status('active');
    await status('deleting');
    expect(codeOf(await cp('DELETE /tenants/acme'))).toBe('409 not_purged');
    expect((await cp('DELETE /tenants/acme?force=true')).status).toBe(200);
  });

  test('a broker that is away, or refuses, leaves it undone', async () => {
    await cp('PUT /tenants/acme/status', { status: 'deleting' });
    node.broker.answer = { status: 503, body: {} };
    const failed = async () => (await members('POST /tenants/acme/purge')).clusters;
    expect(await failed()).toMatchObject([{ done: false, error: 'the broker answered 503' }]);
    node.broker.isAway = true;
    expect(await failed()).toMatchObject([{ done: false, error: 'the broker did not answer' }]);
  });

  test('nothing is made for it meanwhile', async () => {
    await cp('PUT /tenants/acme/status', { status: 'deleting' });
    const body = { tenant_slug: 'acme', slug: 'acme-2' };
    expect(codeOf(await cp('POST /clusters', body))).toBe('409 deleting');
  });

  test('where all share a tenant of the broker, nothing is done as it', async () => {
    node = await routeNode({ hasTenants: false });
    await cp('PUT /tenants/acme/status', { status: 'deleting' });
    for (const at of [
      'POST /tenants/acme/purge',
      'GET /clusters/acme/queues',
      'POST /clusters/acme/configure',
    ]) {
      expect(codeOf(await cp(at))).toBe('409 system_tenant');
    }
    expect(node.broker.calls).toEqual([]);
  });
});

describe('what is asked of the broker', () => {
  test('goes as the tenant of the cluster, and comes back as it is', async () => {
    const tenant = node.made.cluster.broker_tenant_uuid;
    node.broker.answer = { status: 418, body: { queues: [] } };
    expect(await json('GET /clusters/acme/queues?limit=2')).toEqual([418, { queues: [] }]);
    await cp('POST /clusters/acme/configure', '{"queue":"q"}');
    expect(node.broker.calls).toMatchObject([
      { tenant, target: '/api/v1/resources/queues?limit=2', body: null },
      { tenant, target: '/api/v1/configure', body: Buffer.from('{"queue":"q"}') },
    ]);
    node.broker.isAway = true;
    expect(codeOf(await cp('GET /clusters/acme/queues'))).toBe('502 bad_gateway');
    expect(codeOf(await cp('GET /clusters/none/queues'))).toBe('404 cluster_unknown');
  });

  test('usage and activity', async () => {
    const { clock, store } = node.records;
    const { id } = node.made.cluster;
    const nowUs = clock.wallUs();
    const minute = (agoMinutes: number) => nowUs - agoMinutes * 60_000_000;
    const usage = { msgs: 2, reqs: 1, bytes_in: 5, bytes_out: 7 };
    for (const [ago, op, writer] of [
      [90, 'push', 'n1'],
      [2, 'read', 'n1'],
      [2, 'read', 'n2'],
    ] as const) {
      const key = `#${id}/${minute(ago)}/${op}/${writer}`;
      await store.batch([{ op: 'put', namespace: 'px.usage.min', key, value: usage }]);
    }
    expect(await json(`GET /clusters/${id}/usage`)).toEqual([
      200,
      {
        minutes: [
          {
            minute: '2025-12-31T23:58:00Z',
            op: 'read',
            msgs: 4,
            reqs: 2,
            bytes_in: 10,
            bytes_out: 14,
          },
        ],
      },
    ]);
    node.broker.retained = 77;
    expect(await json('POST /activity', { clusters: ['acme', 'none'] })).toEqual([
      200,
      {
        clusters: [
          {
            slug: 'acme',
            found: true,
            cluster_id: id,
            last_activity_at: '2025-12-31T23:58:00.000000Z',
            first_push_at: '2025-12-31T22:30:00.000000Z',
            last_key_used_at: null,
            retained_bytes: 77,
          },
          {
            slug: 'none',
            found: false,
            cluster_id: null,
            last_activity_at: null,
            first_push_at: null,
            last_key_used_at: null,
            retained_bytes: null,
          },
        ],
      },
    ]);
    const many = Array.from({ length: 257 }, () => 'acme');
    expect(codeOf(await cp('POST /activity', { clusters: many }))).toBe('400 invalid');
  });
});

test('events are read in order and forgotten when they are acknowledged', async () => {
  for (const kind of ['a', 'b', 'c']) {
    await writeEventOnce(node.parts.records, kind, kind, { kind });
  }
  const page = await members('GET /outbox?limit=2');
  const events = page.events as readonly { readonly kind: string; readonly place: string }[];
  expect(events.map(({ kind }) => kind)).toEqual(['a', 'b']);
  const rest = await members(`GET /outbox?after=${encodeURIComponent(String(page.nextAfter))}`);
  expect(rest).toMatchObject({ events: [{ kind: 'c' }], nextAfter: null });
  expect(await json('POST /outbox/ack', { upTo: events[1]?.place })).toEqual([
    200,
    { ok: true, acknowledged: 2 },
  ]);
  expect(await members('GET /outbox')).toMatchObject({ events: [{ kind: 'c' }] });
  for (const at of ['GET /outbox?after=x', 'GET /outbox?limit=0', 'GET /outbox?limit=1e9']) {
    expect(codeOf(await cp(at))).toBe('400 invalid');
  }
  expect(codeOf(await cp('POST /outbox/ack', { upTo: '#' }))).toBe('400 invalid');
});

describe('a bad body', () => {
  test.each([
    ['', 'the body is empty at byte 0'],
    ['[]', 'the body must be an object'],
    ['{"slug":"a","slug":"b"}', 'duplicate field "slug" at byte 19'],
    ['{"slug":"a","x":{"y":1,"\\u0079":2}}', 'duplicate field "y" at byte 32'],
    ['{"slug":"a"} x', 'trailing characters at byte 13'],
    ['{"slug":1}', 'slug must have 1 to 63 lower-case letters, digits and dashes, and no dash'],
    ['{"slug":"a","name":"\\u0000"}', 'name must have 1 to 160 characters'],
    ['{"__proto__":{"slug":"a"}}', 'slug must have'],
  ])('%s', async (body, error) => {
    const [status, told] = await json('POST /tenants', body);
    expect([status, told]).toEqual([
      400,
      { error: expect.stringContaining(error), code: 'invalid' },
    ]);
    expect(node.records.store.keys('px.tenants.slug')).toEqual(['#acme']);
  });

  test('a large one is not read', async () => {
    const body = `{"slug":"a"}${' '.repeat(1_048_576)}`;
    expect(await json('POST /tenants', body)).toEqual([
      413,
      { error: 'request body exceeds cap', code: 'payload_too_large' },
    ]);
  });

  test('what fails here tells others no detail, and a silent store is 503', async () => {
    const { store } = node.records;
    const get = store.get.bind(store);
    store.get = async () => {
      throw new TypeError('a detail');
    };
    expect(await json('POST /tenants', { slug: 'b' })).toEqual([
      500,
      { error: 'internal error', code: 'internal_error' },
    ]);
    expect(node.logged).toEqual(['a route failed']);
    store.get = async () => {
      throw new StoreUnavailableError('away');
    };
    const { status, headers } = await cp('POST /tenants', { slug: 'b' });
    expect([status, new Map(headers).get('Retry-After')]).toEqual([503, '1']);
    store.get = get;
  });
});
