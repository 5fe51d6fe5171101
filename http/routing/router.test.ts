// Goal: a path finds its route with the right method only, and its segments are decoded once.
// Method: a small table of routes, and the real one for names that must not meet.
import { describe, expect, test } from 'vitest';
import { isFault } from '../exchange/query.js';
import { ROUTES } from '../server/routes.js';
import { ROUTE_DEFAULTS, type Route } from './route.js';
import { Router } from './router.js';

function route(method: Route['method'], path: string, consumes = false): Route {
  return {
    ...ROUTE_DEFAULTS,
    method,
    path,
    level: 'public',
    gateway: 'public',
    consumes,
    handle: () => {},
  };
}

const router = new Router([
  route('GET', '/health'),
  route('POST', '/api/push'),
  route('GET', '/api/q/{queue}'),
  route('DELETE', '/api/q/{queue}'),
  route('GET', '/api/q/{queue}/p/{partition}'),
  route('GET', '/api/pop/{queue}', true),
  route('GET', '/api/kv/{ns}/{key...}'),
  route('GET', '/api/kv/{ns}/only/this'),
]);

function found(method: string, path: string): string | null {
  const match = router.match(method, path);
  if (match === null) return null;
  if (isFault(match)) return match.fault;
  return `${match.route.method} ${match.route.path} ${JSON.stringify(Object.values(match.params))}`;
}

describe('matching', () => {
  test.each([
    ['GET', '/health', 'GET /health []'],
    ['HEAD', '/health', 'GET /health []'],
    ['POST', '/health', null],
    ['get', '/health', null],
    ['GET', '/health/', null],
    ['GET', '//health', null],
    ['GET', '/%68ealth', null],
    ['POST', '/api/push', 'POST /api/push []'],
    ['GET', '/api/push', null],
    ['GET', '/api/q/orders', 'GET /api/q/{queue} ["orders"]'],
    ['DELETE', '/api/q/orders', 'DELETE /api/q/{queue} ["orders"]'],
    ['HEAD', '/api/q/orders', 'GET /api/q/{queue} ["orders"]'],
    ['GET', '/api/pop/q', 'GET /api/pop/{queue} ["q"]'],
    ['HEAD', '/api/pop/q', null],
    ['HEAD', '/api/push', null],
    ['PUT', '/api/q/orders', null],
    ['GET', '/api/q/', null],
    ['GET', '/api/q', null],
    ['GET', '/api/q/a/b', null],
    ['GET', '/api/q/a/p/b', 'GET /api/q/{queue}/p/{partition} ["a","b"]'],
    ['GET', '/api/q/a/p/', null],
    ['GET', '/api/q/a%2Fb/p/%25%20%c3%bc', 'GET /api/q/{queue}/p/{partition} ["a/b","% ü"]'],
    ['GET', '/api/q/%2525', 'GET /api/q/{queue} ["%25"]'],
    ['GET', '/api/q/a+b', 'GET /api/q/{queue} ["a+b"]'],
    ['GET', '/api/q/ü', 'GET /api/q/{queue} ["ü"]'],
    ['GET', '/api/q/{queue}', 'GET /api/q/{queue} ["{queue}"]'],
    ['GET', '/api/kv/n/k', 'GET /api/kv/{ns}/{key...} ["n","k"]'],
    ['HEAD', '/api/kv/n/k', 'GET /api/kv/{ns}/{key...} ["n","k"]'],
    ['GET', '/api/kv/n/a/b//c/', 'GET /api/kv/{ns}/{key...} ["n","a/b//c/"]'],
    ['GET', '/api/kv/n/a%2Fb/c%20d', 'GET /api/kv/{ns}/{key...} ["n","a/b/c d"]'],
    ['GET', '/api/kv/n/only/this', 'GET /api/kv/{ns}/only/this ["n"]'],
    ['GET', '/api/kv/n/only/that', 'GET /api/kv/{ns}/{key...} ["n","only/that"]'],
    ['PUT', '/api/kv/n/k', null],
    ['GET', '/api/kv/n/', null],
    ['GET', '/api/kv/n', null],
    ['GET', '/api/kv//k', null],
    ['GET', '/api/kv/n/a/%zz', 'path: malformed percent escape'],
    ['GET', '/api/q/%', 'path: malformed percent escape'],
    ['GET', '/api/q/%4', 'path: malformed percent escape'],
    ['GET', '/api/q/%zz', 'path: malformed percent escape'],
    ['GET', '/api/q/%ff', 'path: invalid UTF-8'],
    ['GET', '/api/q/%c3', 'path: invalid UTF-8'],
    ['GET', '/api/q/%ed%a0%80', 'path: invalid UTF-8'],
    ['GET', '/api/q/\ufffd', 'path: invalid UTF-8'],
    ['GET', '/api/q/a%00b', 'path: NUL is not allowed'],
  ])('%s %s', (method, path, expected) => {
    expect(found(method, path)).toBe(expected);
  });
});

test('segments are handed over by their names, and literal ones count before named ones', () => {
  const named = router.match('GET', '/api/q/a/p/b');
  expect(named).toMatchObject({ params: { queue: 'a', partition: 'b' } });
  const either = new Router([route('GET', '/t/{id}/{key}'), route('GET', '/t/by-name/{name}')]);
  expect(either.match('GET', '/t/by-name/x')).toMatchObject({ params: { name: 'x' } });
});

test('the routes of the front do not shadow one another', () => {
  const all = new Router(ROUTES);
  for (const route of ROUTES) {
    const match = all.match(route.method, route.path.replaceAll(/\{\w+\}/g, 'x'));
    expect(match, route.path).toMatchObject({ route });
  }
});

test('HEAD is answered by each GET of the API that takes nothing, and by nothing else', () => {
  const all = new Router(ROUTES);
  for (const { method, path } of ROUTES) {
    const asked = path.replaceAll('...}', '}').replaceAll(/\{[^}]+\}/g, 'x');
    const isRead = method === 'GET' && !path.includes('/pop');
    const known = all.match('GET', asked) !== null;
    if (isRead) expect(all.match('HEAD', asked), path).not.toBeNull();
    else if (!known) expect(all.match('HEAD', asked), path).toBeNull();
  }
  expect(ROUTES.filter(({ consumes }) => consumes).map(({ path }) => path)).toHaveLength(4);
});
