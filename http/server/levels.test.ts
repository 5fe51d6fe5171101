// Goal: each route has the level that the contract gives it. Method: the documents' own lists
// (specification, Authentication 5 and 6; message-plane 12; inspection 0.1; cluster-and-config 2.7)
// against the routes; a route that stands in no list is an error, for its level was a guess.
import { expect, test } from 'vitest';
import type { AccessLevel } from '../exchange/access-level.js';
import { ROUTES } from './routes.js';

const LEVELS: { readonly [route: string]: AccessLevel } = {
  // Authentication 6, and what only describes the API
  'GET /health': 'public',
  'GET /metrics': 'public',
  'GET /metrics/prometheus': 'public',
  'GET /auth/me': 'known',
  'GET /openapi.json': 'read-only',
  // Authentication 5: exactly these
  'POST /api/v1/push': 'write-only',
  'POST /api/v1/timers': 'write-only',
  'POST /api/v1/ephemeral/push': 'write-only',
  // message-plane 12
  'GET /api/v1/pop': 'read-write',
  'GET /api/v1/pop/queue/{queue}': 'read-write',
  'GET /api/v1/pop/queue/{queue}/partition/{partition}': 'read-write',
  // beyond the contract: what either half of it needs
  'POST /api/v1/pop/queue/{queue}': 'read-write',
  'POST /api/v1/pop/queue/{queue}/partition/{partition}': 'read-write',
  'POST /api/v1/ack': 'read-write',
  'POST /api/v1/ack/batch': 'read-write',
  'POST /api/v1/transaction': 'read-write',
  'POST /api/v1/lease/{leaseId}/extend': 'read-write',
  'POST /api/v1/configure': 'read-write',
  'POST /api/v1/fetch': 'read-write',
  'POST /api/v1/fetch/offsets': 'read-write',
  'POST /api/v1/partitions/changed': 'read-write',
  'DELETE /api/v1/resources/queues/{queue}': 'admin',
  // inspection 0.1
  'GET /api/v1/messages': 'read-only',
  'GET /api/v1/messages/{partitionId}/{transactionId}': 'read-only',
  'DELETE /api/v1/messages/{partitionId}/{transactionId}': 'read-write',
  'POST /api/v1/messages/{partitionId}/{transactionId}/retry': 'read-write',
  'GET /api/v1/dlq': 'read-only',
  'DELETE /api/v1/dlq': 'admin',
  'POST /api/v1/dlq/redrive': 'read-write',
  'POST /api/v1/dlq/{id}/replay': 'read-write',
  'GET /api/v1/consumer-groups': 'read-only',
  'GET /api/v1/consumer-groups/lagging': 'read-only',
  'GET /api/v1/consumer-groups/{group}': 'read-only',
  'POST /api/v1/consumer-groups/positions': 'read-only',
  'DELETE /api/v1/consumer-groups/{group}': 'admin',
  'DELETE /api/v1/consumer-groups/{group}/queues/{queue}': 'admin',
  'GET /api/v1/status': 'read-only',
  'GET /status': 'read-only',
  // state-surfaces 1
  'POST /api/v1/kv': 'read-write',
  'GET /api/v1/kv/{ns}/{key...}': 'read-only',
  'PUT /api/v1/kv/{ns}/{key...}': 'read-write',
  'DELETE /api/v1/kv/{ns}/{key...}': 'read-write',
  'POST /api/v1/resources/kv/list': 'read-only',
  // state-surfaces 2
  'POST /api/v1/locks': 'read-write',
  // state-surfaces 3
  'GET /api/v1/resources/timers': 'read-only',
  'GET /api/v1/timers/{queue}': 'read-only',
  'GET /api/v1/timers/{queue}/{timerKey...}': 'read-only',
  'DELETE /api/v1/timers/{queue}/{timerKey...}': 'read-write',
  // state-surfaces 4
  'GET /api/v1/ephemeral/pop': 'read-write',
  'POST /api/v1/ephemeral/ack': 'read-write',
  'POST /api/v1/ephemeral/configure': 'read-write',
  'POST /api/v1/ephemeral/reset': 'read-write',
  'DELETE /api/v1/ephemeral/queue/{queue}': 'read-write',
  'GET /api/v1/ephemeral/queues': 'read-only',
  'GET /api/v1/ephemeral/queues/{queue}/depth': 'read-only',
  // state-surfaces 6
  'POST /api/v1/traces': 'read-write',
  'POST /api/v1/stats/refresh': 'admin',
  'POST /api/v1/resources/quota': 'admin',
  'DELETE /api/v1/resources/tenant': 'admin',
  // streams
  'POST /streams/v1/queries': 'read-write',
  'POST /streams/v1/state/get': 'read-only',
  'POST /streams/v1/cycle': 'read-write',
};

/** Families of routes, in which the first that fits counts. */
const FAMILIES: readonly [RegExp, AccessLevel][] = [
  [/^\w+ \/api\/v1\/system\//, 'admin'],
  [/^POST \/api\/v1\/consumer-groups\/.*\/(subscription|seek)$/, 'read-write'],
  [/^GET \/api\/v1\/resources\//, 'read-only'],
  [/^GET \/api\/v1\/(status|analytics)\//, 'read-only'],
  [/^GET \/api\/v1\/traces\//, 'read-only'],
  // no document names them: the level of a path that the table does not know
  [/^GET \/api\/v1\/raft\//, 'read-write'],
];

const listed = (route: string): AccessLevel | undefined =>
  LEVELS[route] ?? FAMILIES.find(([pattern]) => pattern.test(route))?.[1];

test.each(ROUTES.map((route) => [`${route.method} ${route.path}`, route.level] as const))(
  '%s is %s',
  (route, level) => {
    expect(listed(route), 'the level that the contract states').toBe(level);
  },
);

test('only these are for those who may only write', () => {
  const writing = ['POST /api/v1/push', 'POST /api/v1/timers', 'POST /api/v1/ephemeral/push'];
  for (const { method, path, level } of ROUTES) {
    if (level === 'write-only') expect(writing).toContain(`${method} ${path}`);
  }
});
