// Goal: nobody comes to a route that is not theirs, and what they are told says nothing of what
// there is. Method: every route of the table with every kind of caller; the records say who may.
import { beforeAll, describe, expect, test } from 'vitest';
import { surfaceOf } from './own-routes.js';
import type { Guard } from './route.js';
import { type Brings, bearer, CONTROL_TOKEN, type RouteNode, routeNode } from './routes.fake.js';
import { OWN_ROUTES } from './table.js';

const CALLERS = ['nobody', 'wrong', 'wrong-token', 'key', 'viewer', 'admin', 'operator', 'control'];
type CallerName = (typeof CALLERS)[number];

/** What each caller is answered where they may not; those that are missing may. */
const REFUSED: { readonly [G in Guard]: { readonly [name: CallerName]: string } } = {
  everybody: {},
  'control-plane': {
    nobody: '401 bad control-plane token',
    wrong: '401 bad control-plane token',
    'wrong-token': '401 bad control-plane token',
    key: '401 bad control-plane token',
    viewer: '401 bad control-plane token',
    admin: '401 bad control-plane token',
    operator: '401 bad control-plane token',
  },
  member: {
    nobody: '401 missing bearer credential',
    wrong: '401 invalid credential',
    'wrong-token': '401 missing bearer credential',
    key: '403 operation not permitted for this credential',
    control: '401 missing bearer credential',
  },
  admin: {
    nobody: '401 missing bearer credential',
    wrong: '401 invalid credential',
    'wrong-token': '401 missing bearer credential',
    key: '403 operation not permitted for this credential',
    viewer: '403 admin role required',
    control: '401 missing bearer credential',
  },
  operator: {
    nobody: '401 missing bearer credential',
    wrong: '401 invalid credential',
    'wrong-token': '401 missing bearer credential',
    key: '404 not available',
    viewer: '404 not available',
    admin: '404 not available',
    control: '401 missing bearer credential',
  },
};

let node: RouteNode;
let bringsOf: { readonly [name: CallerName]: Brings };

beforeAll(async () => {
  node = await routeNode();
  const { users, apiKey } = node;
  bringsOf = {
    nobody: {},
    wrong: bearer('a.b.c'),
    'wrong-token': { 'x-svc-cp-token': `${CONTROL_TOKEN}x` },
    key: bearer(apiKey),
    viewer: bearer(users.viewer.bearer),
    admin: bearer(users.admin.bearer),
    operator: bearer(users.operator.bearer),
    control: { 'x-svc-cp-token': CONTROL_TOKEN },
  };
});

/** A body that no route takes: who comes so far was let in, and nothing is changed. */
const NO_BODY = '[';

describe.each(OWN_ROUTES.filter(({ guard }) => guard !== 'everybody'))('$at', ({ at, guard }) => {
  const path = at.replaceAll(/\{\w+\}/g, '99999999-9999-4999-8999-999999999999');

  test.each(CALLERS)('%s', async (caller) => {
    const { status, body } = await node.ask(path, NO_BODY, bringsOf[caller]);
    const text = `${status} ${JSON.parse(String(body)).error}`;
    const refused = REFUSED[guard][caller];
    if (refused !== undefined) expect(text).toBe(refused);
    else expect(Object.values(REFUSED[guard])).not.toContain(text);
  });
});

describe('a path that there is not', () => {
  const paths = { control: '/api/cp/no', console: '/api/console/no', operator: '/api/operator/no' };

  test.each(CALLERS)('%s', async (caller) => {
    const told = async (path: string) => {
      const { status, body } = await node.ask(`GET ${path}`, NO_BODY, bringsOf[caller]);
      return `${status} ${JSON.parse(String(body)).error}`;
    };
    expect(await told(paths.control)).toBe(REFUSED['control-plane'][caller] ?? '404 not found');
    const isKnown = caller === 'key';
    const ofConsole = isKnown ? undefined : REFUSED.member[caller];
    expect(await told(paths.console)).toBe(ofConsole ?? '404 not found');
    expect(await told(paths.operator)).toBe(REFUSED.operator[caller] ?? '404 not available');
  });
});

test('every record has the guard of its surface', () => {
  for (const { at, guard } of OWN_ROUTES) {
    const surface = surfaceOf(at.slice(at.indexOf('/')));
    const guards: { readonly [Name in typeof surface]: readonly Guard[] } = {
      'control-plane': ['control-plane'],
      console: ['member', 'admin'],
      operator: ['operator'],
      auth: ['everybody'],
    };
    expect(guards[surface], at).toContain(guard);
  }
});

test('what is not switched on is not there', async () => {
  const bare = await routeNode({ controlPlaneToken: null, operatorEnabled: false });
  const tokens = ['', 'null', CONTROL_TOKEN];
  for (const token of tokens) {
    const { status, body } = await bare.ask('GET /api/cp/clusters', '', {
      'x-svc-cp-token': token,
    });
    expect([status, body]).toEqual([404, '{"error":"not found","code":"not_found"}']);
  }
  for (const brings of [{}, bearer(bare.users.operator.bearer)]) {
    const { status, body } = await bare.ask('GET /api/operator/users', '', brings);
    expect([status, body]).toEqual([404, '{"error":"not available","code":"route_blocked"}']);
  }
});
