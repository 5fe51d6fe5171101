// Goal: every route that acts on a tenant's rows reads the tenant header by the rules, and the
// others do not (message-plane 1.2, inspection 0.1). Method: a walk of all routes over sockets,
// with the documents' list of those that belong to no tenant.
import { RESERVED_TENANT } from '@svc/wire';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Route } from '../routing/route.js';
import { TestFront } from '../testing/front.fake.js';
import type { RawAnswer, RawClient } from '../testing/raw-client.fake.js';
import { ROUTES } from './routes.js';

const OF_NO_TENANT: readonly string[] = [
  'GET /health',
  'GET /metrics',
  'GET /metrics/prometheus',
  'GET /status',
  'GET /auth/me',
  'GET /openapi.json',
  'GET /api/v1/raft/status',
  'GET /api/v1/raft/members',
  'GET /api/v1/raft/liveness',
  'GET /api/v1/analytics/system-metrics',
  'GET /api/v1/analytics/worker-metrics',
  'POST /api/v1/stats/refresh',
  'GET /api/v1/system/kv-timers',
  'POST /api/v1/system/kv-timers',
  'GET /api/v1/system/ephemeral',
  'POST /api/v1/system/ephemeral',
  'GET /api/v1/system/shared-state',
  'GET /api/v1/system/link',
  'POST /api/v1/system/link/promote',
];

let front: TestFront;
let client: RawClient;

beforeAll(async () => {
  front = await TestFront.start({ tenancyHeader: true });
  client = front.client();
});

afterAll(() => front.stop());

function ask(route: Route, tenant: string): Promise<RawAnswer> {
  const path = route.path.replaceAll(/\{[^}]+\}/g, '1');
  const headers = { 'x-svc-tenant': tenant };
  const request = { method: route.method, headers };
  return client.request(path, route.body === null ? request : { ...request, body: '{}' });
}

const MALFORMED = '{"error":"invalid x-svc-tenant header (must be a UUID)"}';
const RESERVED =
  '{"error":"this tenant is reserved: no route acts on it","code":"reserved_tenant"}';
const named = ROUTES.map((route) => [`${route.method} ${route.path}`, route] as const);

describe.each(named)('%s', (name, route) => {
  const scoped = !OF_NO_TENANT.includes(name);

  test(`${scoped ? 'reads' : 'does not read'} the tenant`, () => {
    expect(route.scoped).toBe(scoped);
  });

  test.each(['x', '1', '00000000-0000-0000-0000-00000000000', 'default'])(
    'malformed: %s',
    async (tenant) => {
      const { status, body } = await ask(route, tenant);
      if (scoped) expect([status, body]).toEqual([400, MALFORMED]);
      else expect(body).not.toBe(MALFORMED);
    },
  );

  test('reserved', async () => {
    const { status, body } = await ask(route, RESERVED_TENANT);
    if (scoped) expect([status, body]).toEqual([403, RESERVED]);
    else expect(body).not.toBe(RESERVED);
  });
});
