// Goal: addresses lead to their page or to none, old ones go on with their span of time, and a name
// of any kind comes back out of the path. Method: tables of paths.
import { expect, test } from 'vitest';
import { matchRoute, pathOfQueue, redirectOf, withQuery } from './routes.js';
import { rangeOf, rangeQuery } from './time-range.js';

const PAGES = ['/', '/queues', '/queues/:queue', '/dlq'].map((path) => ({ path }));
const found = (path: string) => {
  const match = matchRoute(PAGES, path);
  return match === null ? null : [match.page.path, match.params];
};

test.each([
  ['/', '/', {}],
  ['/queues', '/queues', {}],
  ['/queues/', '/queues', {}],
  ['/queues/a%2Fb%20c', '/queues/:queue', { queue: 'a/b c' }],
  ['/queues/%D7%90', '/queues/:queue', { queue: 'א' }],
])('%s', (path, page, params) => expect(found(path)).toEqual([page, params]));

test.each(['/nothing', '/queues/a/b', '/queues/%zz', '/%', '/dlq/x'])('no page: %s', (path) =>
  expect(found(path)).toBeNull(),
);

/** As a browser has it. */
const urlOfQueue = (name: string) => new URL(pathOfQueue(name), 'http://localhost');

test.each(['orders', 'a/b', '?#%', '"<i>', ' ', '...', './..', 'א'])(
  'a queue %j by its path',
  (name) => expect(found(urlOfQueue(name).pathname)?.[1]).toEqual({ queue: name }),
);

test.each(['.', '..'])('a queue %j, which no path names, by its messages', (name) => {
  const { pathname, searchParams } = urlOfQueue(name);
  expect([pathname, searchParams.get('queue')]).toEqual(['/messages', name]);
});

test.each([
  ['/analytics', '', '/workload'],
  ['/operations', 'range=6h&x=1', '/workload?range=6h'],
  ['/analytics', 'queue=a/b&from=1&to=2', '/queues/a%2Fb?from=1&to=2'],
  ['/queues', 'range=6h', null],
])('%s?%s leads to %s', (path, query, to) =>
  expect(redirectOf(path, new URLSearchParams(query))).toBe(to),
);

test('what is empty is left out of a query', () => {
  expect(withQuery('/kv', { namespace: 'a b', prefix: '', after: null })).toBe('/kv?namespace=a+b');
  expect(withQuery('/kv', { prefix: undefined })).toBe('/kv');
});

const NOW = Date.parse('2026-10-12T10:00:00Z');

test.each([
  ['', '1h', '2026-10-12T09:00:00.000Z', '2026-10-12T10:00:00.000Z'],
  ['range=6h', '6h', '2026-10-12T04:00:00.000Z', '2026-10-12T10:00:00.000Z'],
  ['range=nonsense', '1h', '2026-10-12T09:00:00.000Z', '2026-10-12T10:00:00.000Z'],
  ['from=2026-10-01&to=2026-10-02', null, '2026-10-01T00:00:00.000Z', '2026-10-02T00:00:00.000Z'],
  ['from=2026-10-12T09:30Z', null, '2026-10-12T09:30:00.000Z', '2026-10-12T10:00:00.000Z'],
  ['from=2026-10-02&to=2026-10-01', '1h', '2026-10-12T09:00:00.000Z', '2026-10-12T10:00:00.000Z'],
])('the span of %j', (query, key, from, to) => {
  const range = rangeOf(new URLSearchParams(query), NOW);
  expect([range.key, rangeQuery(range)]).toEqual([key, { from, to }]);
});

test('where the query names no span, the one of the settings is shown', () => {
  expect(rangeOf(new URLSearchParams(), NOW, '6h').key).toBe('6h');
  expect(rangeOf(new URLSearchParams('range=24h'), NOW, '6h').key).toBe('24h');
  expect(rangeOf(new URLSearchParams(), NOW, 'nonsense').key).toBe('1h');
});
