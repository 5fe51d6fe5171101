// Goal: every request has one target, and every route that needs its body read is known. Method:
// the front's own routes and router.
import { ROUTES, Router } from '@svc/http';
import { describe, expect, test } from 'vitest';
import { HANDLED_ROUTES } from './classes.js';
import { Targets } from './targets.js';

const targets = new Targets(ROUTES, new Router(ROUTES));

test.each([
  ['GET', '/healthz'],
  ['GET', '/.well-known/jwks.json'],
  ['GET', '/auth/me'],
  ['POST', '/auth/login'],
  ['GET', '/auth/unknown'],
  ['GET', '/api/console/overview'],
  ['DELETE', '/api/operator/users'],
  ['POST', '/api/cp/bootstrap'],
])("%s %s is the gateway's own", (method, path) => {
  expect(targets.of(method, path)).toEqual({ kind: 'own' });
});

test.each([
  ['GET', '/'],
  ['HEAD', '/queues/a'],
  ['GET', '/assets/app.js'],
  ['GET', '/login'],
  ['GET', '/console'],
  ['GET', '/streams'],
])('%s %s is the page', (method, path) => {
  expect(targets.of(method, path)).toEqual({ kind: 'page' });
});

test.each([
  ['POST', '/'],
  ['GET', '/api/v1/pop'],
  ['GET', '/api/v1/unknown'],
  ['GET', '/api'],
  ['GET', '/api/consol'],
  ['GET', '//api/cp/tenants'],
  ['PATCH', '/api/v1/push'],
  ['GET', '/api/v1/push'],
  ['GET', '/api/v1/resources/queues/%zz'],
  ['GET', '/api/v1/system/link'],
  ['POST', '/api/v1/system/raft/transfer'],
  ['GET', '/internal/api'],
  ['GET', '/migration'],
  ['GET', '/status'],
  ['GET', '/streams/v2'],
  ['POST', '/api/v1/stats/refresh'],
])('%s %s is closed, unless it is nothing', (method, path) => {
  const target = targets.of(method, path);
  const isPage = path.startsWith('//');
  expect(target).toMatchObject(isPage ? { kind: 'page' } : { gatewayClass: 'blocked' });
});

describe('routes', () => {
  const all = ROUTES.map((route) => `${route.method} ${route.path}`);

  test('that are more than let through are routes', () => {
    expect(all).toEqual(expect.arrayContaining([...HANDLED_ROUTES]));
  });

  test('that produce, or grow by their body, have it read', () => {
    for (const { method, path, gateway } of ROUTES) {
      const target = targets.of(method, path.replaceAll(/\{[^}]*\}/g, 'x'));
      if (target.kind !== 'route') continue;
      expect(target.at).toBe(`${method} ${path}`);
      if (gateway === 'produce' || gateway.endsWith('-mixed')) expect(target.body).not.toBe(null);
      if (/\/pop(\/|$)/.test(path) && gateway !== 'blocked') expect(target.isPop).toBe(true);
    }
  });

  test('HEAD has the class of GET', () => {
    expect(targets.of('HEAD', '/api/v1/resources/queues')).toMatchObject({ gatewayClass: 'read' });
  });

  test.each([
    ['POST', '/api/v1/push', 'push'],
    ['POST', '/api/v1/transaction', 'txn'],
    ['GET', '/api/v1/pop/queue/q', 'delivery'],
    ['POST', '/api/v1/configure', 'configure'],
    ['DELETE', '/api/v1/resources/queues/q', 'configure'],
    ['POST', '/api/v1/ack', 'read'],
    ['POST', '/api/v1/lease/x/extend', 'read'],
  ])('%s %s is counted as %s', (method, path, op) => {
    expect(targets.of(method, path)).toMatchObject({ op });
  });
});
