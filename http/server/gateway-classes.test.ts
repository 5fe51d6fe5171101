// Goal: each route has the class that the contract gives it for a gateway. Method: the contract's
// own table (gateway 5) and what was decided beside it, as a second list on purpose, against the
// routes; a route that stands in no list is an error, for its class was a guess.
import { expect, test } from 'vitest';
import type { GatewayClass } from '../routing/gateway-class.js';
import { ROUTES } from './routes.js';

/** Families of routes, in which the first that fits counts. */
const FAMILIES: readonly [RegExp, GatewayClass][] = [
  [/^POST \/api\/v1\/(push|transaction)$/, 'produce'],
  [/^(GET|POST) \/api\/v1\/pop\/queue\//, 'consume'],
  [/^POST \/api\/v1\/(ack|ack\/batch|lease\/\{leaseId\}\/extend)$/, 'consume'],
  [/^POST \/api\/v1\/(fetch|fetch\/offsets|partitions\/changed)$/, 'consume'],
  [/^POST \/api\/v1\/consumer-groups\/positions$/, 'consume'],

  [/^POST \/api\/v1\/configure$/, 'queue-admin'],
  [/^DELETE \/api\/v1\/resources\/queues\//, 'queue-admin'],
  [/^(DELETE|POST) \/api\/v1\/(messages|dlq)\b/, 'queue-admin'],
  [/^(DELETE|POST) \/api\/v1\/consumer-groups\//, 'queue-admin'],

  [/^POST \/streams\/v1\//, 'streams-open'],
  [/^POST \/api\/v1\/traces$/, 'traces-open'],
  [/^POST \/api\/v1\/kv$/, 'kv-mixed'],
  [/^GET \/api\/v1\/kv\//, 'kv-read'],
  [/^PUT \/api\/v1\/kv\//, 'kv-grow'],
  [/^DELETE \/api\/v1\/kv\//, 'kv-open'],
  [/^POST \/api\/v1\/locks$/, 'kv-open'],
  [/^POST \/api\/v1\/timers$/, 'timers-mixed'],
  [/^GET \/api\/v1\/timers\//, 'timers-read'],
  [/^DELETE \/api\/v1\/timers\//, 'timers-open'],
  [/^POST \/api\/v1\/ephemeral\/push$/, 'ephemeral-grow'],
  [/^POST \/api\/v1\/ephemeral\/(ack|configure|reset)$/, 'ephemeral-open'],
  [/^GET \/api\/v1\/ephemeral\/pop$/, 'ephemeral-open'],
  [/^DELETE \/api\/v1\/ephemeral\/queue\//, 'ephemeral-open'],
  [/^GET \/api\/v1\/ephemeral\/queues(\/|$)/, 'ephemeral-read'],

  [/^GET \/api\/v1\/status$/, 'operator'],
  [/^GET \/api\/v1\/analytics\/(system|worker)-metrics$/, 'operator'],
  [/^GET \/api\/v1\/raft\//, 'operator'],
  [/^GET \/metrics(\/prometheus)?$/, 'metrics'],
  [/^GET \/health$/, 'public'],

  [/^GET \/api\/v1\/pop$/, 'blocked'],
  [/^POST \/api\/v1\/stats\/refresh$/, 'blocked'],
  [/^\w+ \/api\/v1\/system\//, 'blocked'],
  [/^DELETE \/api\/v1\/resources\/tenant$/, 'blocked'],
  [/^POST \/api\/v1\/resources\/quota$/, 'blocked'],
  [/^GET \/(status|auth\/me)$/, 'blocked'],

  [/^GET \/api\/v1\/(resources|status|analytics|consumer-groups|dlq|messages|traces)\b/, 'read'],
  [/^POST \/api\/v1\/resources\/kv\/list$/, 'read'],
  [/^GET \/openapi\.json$/, 'read'],
];

test.each(ROUTES.map((route) => [`${route.method} ${route.path}`, route.gateway] as const))(
  '%s is %s',
  (route, gateway) => {
    const listed = FAMILIES.find(([pattern]) => pattern.test(route))?.[1];
    expect(listed, 'the class that the contract states').toBe(gateway);
  },
);
