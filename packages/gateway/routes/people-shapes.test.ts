// Goal: the routes of console and operators answer as their shapes say, on which the dashboard
// relies, and no route of theirs is without one. Method: each route over a store in memory, its
// answer against the schema.
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { CONSOLE_ROUTES } from './console.js';
import { OPERATOR_ROUTES } from './operator.js';
import * as shapes from './people-shapes.js';
import { bearer, routeNode, shown } from './routes.fake.js';

const SHAPES = Object.values(shapes);

test('every route has a shape, and every shape a route', () => {
  const routes = [...CONSOLE_ROUTES, ...OPERATOR_ROUTES].map(({ at }) => at);
  expect(SHAPES.map(({ at }) => at).sort()).toEqual(routes.sort());
});

test('answers have the shape of their route', async () => {
  const node = await routeNode();
  const { users, made } = node;
  const [cluster, tenant] = [made.cluster.id, made.tenant.id];
  const viewer = 'viewer@acme.example';
  const key = shown(await asked('POST /api/console/keys', { name: 'k', scopes: ['read'] }));
  const { id: keyId } = key[1] as { readonly id: string };
  const person = { tenant_id: tenant, email: 'new@acme.example', name: 'New' };
  const access = { provider: 'github', cluster_id: cluster, role: 'consumer' };
  const roles = '/api/operator/users/{id}/roles/{cluster}';
  const calls: Readonly<Record<string, object | undefined>> = {
    'GET /api/console/overview': undefined,
    'GET /api/console/usage': undefined,
    'GET /api/console/keys': undefined,
    'POST /api/console/keys': { name: 'another', scopes: ['produce', 'consume'] },
    'DELETE /api/console/keys/{id}': undefined,
    'GET /api/console/members': undefined,
    'POST /api/console/members': { email: viewer, role: 'producer' },
    'DELETE /api/console/members': { email: viewer },
    'GET /api/operator/users': undefined,
    'POST /api/operator/users': { ...person, ...access },
    'PATCH /api/operator/users/{id}': { name: 'Ada' },
    [`PUT ${roles}`]: { role: 'viewer' },
    [`DELETE ${roles}`]: undefined,
  };
  const ajv = new Ajv2020({ strict: false, formats: { uuid: true, 'date-time': true } });
  for (const { at, answers } of SHAPES) {
    const [status, body] = shown(await asked(at, calls[at]));
    const [[wanted, answer] = []] = Object.entries(answers);
    expect([at, String(status)]).toEqual([at, wanted]);
    const validate = ajv.compile(answer?.schema.json ?? false);
    expect([at, validate(body), validate.errors]).toEqual([at, true, null]);
  }

  function asked(at: string, body?: object) {
    const person = at.includes('/keys/') ? keyId : users.viewer.id;
    const path = at.replace('{id}', person).replace('{cluster}', cluster);
    return node.ask(path, body, bearer(users.operator.bearer));
  }
});
