// Goal: people see and change what is their cluster's and no other's, and a cluster keeps its last
// administrator. Method: each route over a store in memory, by users of two tenants.
import { beforeEach, describe, expect, test } from 'vitest';
import { CONTROL_PLANE } from '../records/batch.js';
import { createCluster } from '../records/clusters.js';
import { keysOf } from '../records/keys.js';
import { done } from '../records/records.fake.js';
import { createUser, setOperators } from '../records/users.js';
import { type Brings, bearer, codeOf, type RouteNode, routeNode, shown } from './routes.fake.js';

const MISSING = '99999999-9999-4999-8999-999999999999';

let node: RouteNode;
let admin: Brings;
let operator: Brings;

beforeEach(async () => {
  node = await routeNode();
  admin = bearer(node.users.admin.bearer);
  operator = bearer(node.users.operator.bearer);
});

const ask = async (at: string, body: unknown = {}, brings = admin) => {
  const [method, path] = at.split(' ');
  return shown(await node.ask(`${method} /api${path}`, body, brings));
};
const code = async (at: string, body: unknown = {}, brings = admin) => {
  const [method, path] = at.split(' ');
  return codeOf(await node.ask(`${method} /api${path}`, body, brings));
};

interface ListedUsers {
  readonly users: readonly { readonly email: string }[];
  readonly nextAfter?: string | null;
}

/** Another tenant, with a cluster and a user. */
async function other() {
  const { records } = node.parts;
  const made = done(
    await createCluster(records, CONTROL_PLANE, {
      tenantSlug: 'beta',
      slug: 'beta',
      planCode: 'dev',
    }),
  );
  const user = done(
    await createUser(records, CONTROL_PLANE, {
      tenantId: made.tenant.id,
      email: 'u@beta.example',
      roles: [{ clusterId: made.cluster.id, role: 'admin' }],
      action: 'user_created',
    }),
  );
  return { made, user };
}

describe('where a session acts', () => {
  test('by the header, by the host, and nowhere else', async () => {
    await other();
    const at = 'GET /console/overview';
    const id = node.made.cluster.id;
    for (const named of ['acme', 'ACME', id]) {
      const brings = { ...admin, host: 'no.example', 'x-svc-act-cluster': named };
      expect((await ask(at, {}, brings))[0]).toBe(200);
    }
    expect(await code(at, {}, { ...admin, host: 'no.example' })).toBe('421 cluster_unknown');
    expect(await code(at, {}, { ...admin, host: 'beta.svc.example' })).toBe('403 forbidden');
    expect(await code(at, {}, { ...admin, 'x-svc-act-cluster': 'beta' })).toBe('403 forbidden');
    const onOne = bearer(await node.parts.tokens.sign(node.users.admin.id, 60, MISSING));
    expect(await ask(at, {}, onOne)).toEqual([
      403,
      { error: 'key/cluster mismatch', code: 'forbidden' },
    ]);
  });

  test('on a shared host the header has to say it', async () => {
    node = await routeNode({ sharedHosts: new Set(['acme.svc.example']), defaultCluster: 'acme' });
    const brings = bearer(node.users.admin.bearer);
    const at = 'GET /console/overview';
    expect(await code(at, {}, brings)).toBe('421 cluster_unknown');
    expect((await ask(at, {}, { ...brings, 'x-svc-act-cluster': 'acme' }))[0]).toBe(200);
  });

  test('not from an address that a browser was sent to', async () => {
    const cookie = { cookie: `svc_session=${node.users.admin.bearer}` };
    expect((await ask('GET /console/overview', {}, cookie))[0]).toBe(200);
    const sent = { ...cookie, 'sec-fetch-mode': 'navigate' };
    expect(await code('GET /console/overview', {}, sent)).toBe('401 unauthorized');
  });
});

test('the overview', async () => {
  expect(await ask('GET /console/overview')).toEqual([
    200,
    {
      slug: 'acme',
      status: 'active',
      role: 'admin',
      plan: { code: 'pro', monthly_msgs_quota: null },
      usage: { month: '2026-01', msgs: 0 },
      push_block: null,
      storage: { max_retained_bytes: 21_474_836_480, over_quota: false },
      limits: {
        max_req_per_sec: 50,
        req_burst: 200,
        max_msgs_per_sec: 200,
        msgs_burst: 800,
        max_queues: 200,
        max_partitions_per_queue: 32,
        max_parked_pops: 1_000,
        max_payload_bytes: 1_048_576,
        max_batch_items: 5_000,
        max_retained_bytes: 21_474_836_480,
        max_retention_seconds: 2_592_000,
      },
      features: { streams: true, traces: true, kv: true, timers: true, ephemeral: true },
    },
  ]);
  expect(await ask('GET /console/usage?hours=9999')).toEqual([200, []]);
  expect(await code('GET /console/usage?hours=x')).toBe('400 invalid_request');
});

describe('keys', () => {
  test('are shown once, listed without their hash, and revoked once', async () => {
    const [status, made] = await ask('POST /console/keys', { name: 'k', scopes: ['read'] });
    const { id, key } = made as { readonly id: string; readonly key: string };
    expect([status, key]).toEqual([200, expect.stringMatching(/^qk_live_/)]);
    expect(await node.parts.credentials.caller({ kind: 'key', text: key })).toMatchObject({
      keyId: id,
      scopes: ['read'],
    });
    const [, listed] = await ask('GET /console/keys');
    expect(listed).toContainEqual({
      id,
      name: 'k',
      scopes: ['read'],
      created_at: '2026-01-01T00:00:00.000000Z',
      last_used_at: null,
      revoked_at: null,
    });
    expect(JSON.stringify(listed)).not.toMatch(/[0-9a-f]{64}/);
    expect(await ask(`DELETE /console/keys/${id}`)).toEqual([200, { ok: true }]);
    expect(await node.parts.credentials.caller({ kind: 'key', text: key })).toBeNull();
    expect(await code(`DELETE /console/keys/${id}`)).toBe('404 not_found');
  });

  test('of another cluster are not there', async () => {
    const { made } = await other();
    const brings = { ...operator, 'x-svc-act-cluster': 'beta' };
    await ask('POST /console/keys', { name: 'theirs', scopes: ['admin'] }, brings);
    const [key] = await keysOf(node.parts.records, made.cluster.id);
    expect(await code(`DELETE /console/keys/${key?.id}`)).toBe('404 not_found');
    const [, listed] = await ask('GET /console/keys');
    expect(JSON.stringify(listed)).not.toContain('theirs');
  });

  test.each([{}, { name: 'k' }, { name: 'k', scopes: [] }, { name: 'k', scopes: ['root'] }])(
    'with a bad body: %j',
    async (body) => expect(await code('POST /console/keys', body)).toBe('400 invalid_request'),
  );
});

describe('members', () => {
  test('are granted and revoked, and the last administrator stays', async () => {
    const change = (email: string, role: string) => ask('POST /console/members', { email, role });
    expect(await change('Viewer@acme.example', 'producer')).toEqual([
      200,
      { ok: true, email: 'viewer@acme.example', role: 'producer' },
    ]);
    const last = [
      400,
      { error: 'the cluster would have no administrator', code: 'invalid_request' },
    ];
    expect(await change('admin@acme.example', 'viewer')).toEqual(last);
    const gone = { email: 'admin@acme.example' };
    expect(await ask('DELETE /console/members', gone)).toEqual(last);
    await change('viewer@acme.example', 'admin');
    expect(await ask('DELETE /console/members', { email: 'viewer@acme.example' })).toEqual([
      200,
      { ok: true },
    ]);
    expect(await ask('GET /console/members')).toEqual([
      200,
      [
        {
          user_id: node.users.admin.id,
          email: 'admin@acme.example',
          role: 'admin',
          granted_at: '2026-01-01T00:00:00.000000Z',
        },
      ],
    ]);
  });

  test('of another tenant are as unknown as those who are not there', async () => {
    await other();
    for (const email of ['u@beta.example', 'x@y.example']) {
      expect(await ask('POST /console/members', { email, role: 'admin' })).toEqual([
        404,
        { error: 'no such user in the tenant', code: 'not_found' },
      ]);
      expect((await ask('DELETE /console/members', { email }))[0]).toBe(404);
    }
  });
});

describe('operators', () => {
  const made = (more: object) => ({
    tenant_id: node.made.tenant.id,
    email: 'new@acme.example',
    name: 'New',
    provider: 'local',
    password: 'twelve letters',
    cluster_id: node.made.cluster.id,
    role: 'viewer',
    ...more,
  });

  test('make, rename and place users of the cell', async () => {
    const [status, user] = await ask('POST /operator/users', made({}), operator);
    const { id, ...rest } = user as { readonly id: string };
    expect([status, rest]).toEqual([
      201,
      {
        email: 'new@acme.example',
        name: 'New',
        tenant_id: node.made.tenant.id,
        cluster_id: node.made.cluster.id,
        role: 'viewer',
      },
    ]);
    expect(await code('POST /operator/users', made({}), operator)).toBe('409 conflict');
    expect(await ask(`PATCH /operator/users/${id}`, { name: ' Now ' }, operator)).toEqual([
      200,
      { ok: true, id, name: 'Now' },
    ]);
    const place = `/operator/users/${id}/roles/${node.made.cluster.id}`;
    expect(await ask(`PUT ${place}`, { role: 'admin' }, operator)).toEqual([
      200,
      { ok: true, role: 'admin' },
    ]);
    const [, listed] = await ask('GET /operator/users', {}, operator);
    expect(listed).toMatchObject({
      cell: { slug: 'local' },
      tenants: [{ id: node.made.tenant.id, slug: 'acme', name: 'acme' }],
      clusters: [{ slug: 'acme', status: 'active' }],
    });
    const { users } = listed as { readonly users: readonly object[] };
    expect(users).toHaveLength(4);
    expect(users).toContainEqual({
      id,
      email: 'new@acme.example',
      name: 'Now',
      tenant_id: node.made.tenant.id,
      tenant_slug: 'acme',
      is_operator: false,
      has_local_password: true,
      created_at: '2026-01-01T00:00:00.000000Z',
      last_login_at: null,
      roles: [{ cluster_id: node.made.cluster.id, cluster_slug: 'acme', role: 'admin' }],
    });
    expect(JSON.stringify(listed)).not.toContain('$2');
    expect(await ask(`DELETE ${place}`, {}, operator)).toEqual([200, { ok: true, role: null }]);
    expect(await code(`DELETE ${place}`, {}, operator)).toBe('404 not_found');
    const admins = `/operator/users/${node.users.admin.id}/roles/${node.made.cluster.id}`;
    expect(await code(`DELETE ${admins}`, {}, operator)).toBe('400 invalid_request');
  });

  test('list users by address, a page at a time where that is asked for', async () => {
    await other();
    const [, whole] = await ask('GET /operator/users', {}, operator);
    const { users: all, nextAfter, ...cell } = whole as ListedUsers;
    const emails = all.map(({ email }) => email);
    expect([emails, nextAfter]).toEqual([[...emails].sort(), undefined]);
    expect(emails).toContain('u@beta.example');
    const paged: object[] = [];
    for (let after: string | null = ''; after !== null; ) {
      const [, page] = await ask(`GET /operator/users?limit=3&after=${after}`, {}, operator);
      const { users, nextAfter: next, ...same } = page as ListedUsers;
      expect(same).toEqual(cell);
      expect(users.length).toBeLessThanOrEqual(3);
      paged.push(...users);
      after = next ?? null;
    }
    expect(paged).toEqual(all);
  });

  test.each([
    ['limit=0', 'limit must be a whole number between 1 and 1000'],
    ['limit=1001', 'limit must be a whole number between 1 and 1000'],
    ['limit=x', 'limit must be a whole number between 1 and 1000'],
    ['after=nobody', 'after must be the address of a user'],
  ])('a page that cannot be: %s', async (query, error) => {
    const refused = [400, { error, code: 'invalid_request' }];
    expect(await ask(`GET /operator/users?${query}`, {}, operator)).toEqual(refused);
  });

  test.each([
    [{ password: 'short' }, '400 invalid_request'],
    [{ password: null }, '400 invalid_request'],
    [{ password: 'x'.repeat(129) }, '400 invalid_request'],
    [{ provider: 'google' }, '400 invalid_request'],
    [{ provider: 'other' }, '400 invalid_request'],
    [{ name: ' ' }, '400 invalid_request'],
    [{ tenant_id: MISSING }, '404 not_found'],
    [{ cluster_id: MISSING }, '404 not_found'],
    [{ cluster_id: 'acme' }, '400 invalid_request'],
  ])('a user that cannot be: %j', async (more, told) => {
    expect(await code('POST /operator/users', made(more), operator)).toBe(told);
  });

  test('who is no operator any more is none from then on', async () => {
    expect((await ask('GET /operator/users', {}, operator))[0]).toBe(200);
    await setOperators(node.parts.records, []);
    expect(await code('GET /operator/users', {}, operator)).toBe('404 route_blocked');
  });
});
