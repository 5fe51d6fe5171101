/**
 * Goal: a standby refuses every call that would change something and serves every other one
 * (standby-link 4), whatever route is added.
 *
 * Method: a standby with a queue, keys and a timer of its source, behind the real front; each route
 * that the front serves is asked over a socket with a body that an ordinary cluster accepts.
 */
import { once } from 'node:events';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { createServer, type HttpServer, methodsOf, ROUTES } from '@svc/http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FakeGroup } from '../testing/group.fake.js';

const LOCK = { operations: [{ op: 'acquire', name: 'l', owner: 'o', ttlSeconds: 5 }] };
const PLACE = { queue: 'q', partition: 'p' };
const QUOTA = { kind: 'streams', maxQueries: 3 };
const ACK = { partitionId: '1', transactionId: 'm', leaseId: LEASE() };
const TIMER = { op: 'schedule', queue: 'q', timerKey: 't', txn: 't', delayMs: 5, payload: 'MQ==' };

function LEASE(): string {
  return '01a2b3c4-0000-7000-8000-000000000001';
}

/** By method and path: a body, and whether it is refused. GET is served unless it stands here. */
const CALLS: { readonly [call: string]: readonly [body: unknown, isRefused: boolean] } = {
  'GET /api/v1/pop': [null, true],
  'GET /api/v1/pop/queue/{queue}': [null, true],
  'GET /api/v1/pop/queue/{queue}/partition/{partition}': [null, true],
  'POST /api/v1/pop/queue/{queue}': [{ acks: [ACK] }, true],
  'POST /api/v1/pop/queue/{queue}/partition/{partition}': [{ acks: [ACK] }, true],
  'POST /api/v1/push': [{ items: [{ queue: 'q', payload: 1 }] }, true],
  'POST /api/v1/ack': [{ ...ACK, status: 'completed' }, true],
  'POST /api/v1/ack/batch': [{ acknowledgments: [{ ...ACK, status: 'completed' }] }, true],
  'POST /api/v1/lease/{leaseId}/extend': [{ seconds: 5 }, true],
  'DELETE /api/v1/messages/{partitionId}/{transactionId}': [null, true],
  'POST /api/v1/messages/{partitionId}/{transactionId}/retry': [{}, true],
  'POST /api/v1/transaction': [
    { operations: [{ type: 'push', items: [{ queue: 'q', payload: 1 }] }] },
    true,
  ],
  'POST /api/v1/configure': [{ queue: 'q', options: { priority: 1 } }, true],
  'DELETE /api/v1/resources/queues/{queue}': [null, true],
  'POST /api/v1/fetch': [{ entries: [{ ...PLACE, offset: 0 }] }, false],
  'POST /api/v1/fetch/offsets': [{ entries: [PLACE] }, false],
  'POST /api/v1/partitions/changed': [{ queue: 'q' }, false],
  'POST /api/v1/consumer-groups/positions': [
    { positions: [{ ...PLACE, consumerGroup: 'g' }] },
    false,
  ],
  'DELETE /api/v1/consumer-groups/{group}': [null, true],
  'DELETE /api/v1/consumer-groups/{group}/queues/{queue}': [null, true],
  'POST /api/v1/consumer-groups/{group}/queues/{queue}/partitions/{partition}/seek': [{}, true],
  'POST /api/v1/consumer-groups/{group}/queues/{queue}/seek': [{ toEnd: true }, true],
  'POST /api/v1/consumer-groups/{group}/subscription': [
    { subscriptionTimestamp: '2026-01-01T00:00:00Z' },
    true,
  ],
  'DELETE /api/v1/dlq': [null, true],
  'POST /api/v1/dlq/redrive': [{ queue: 'q' }, true],
  'POST /api/v1/dlq/{id}/replay': [{}, true],
  'POST /api/v1/traces': [{ transactionId: 'm', traceNames: ['n'], data: {} }, true],
  'POST /api/v1/kv': [{ operations: [{ op: 'get', ns: 'n', key: 'k' }] }, false],
  'PUT /api/v1/kv/{ns}/{key...}': [{ value: 1, forever: true }, true],
  'DELETE /api/v1/kv/{ns}/{key...}': [null, true],
  'POST /api/v1/resources/kv/list': [{ namespace: 'n' }, false],
  'POST /api/v1/timers': [{ operations: [TIMER] }, true],
  'DELETE /api/v1/timers/{queue}/{timerKey...}': [null, true],
  'POST /api/v1/locks': [LOCK, true],
  'POST /streams/v1/cycle': [{ query_id: LEASE(), partition_id: '1' }, true],
  'POST /streams/v1/queries': [{ name: 's', source_queue: 'q', config_hash: 'c' }, true],
  'POST /streams/v1/state/get': [{ query_id: LEASE(), partition_id: '1', keys: [] }, false],
  // Queues in the memory of nodes go on; declaring one is an entry of the log.
  'POST /api/v1/ephemeral/ack': [{ queue: 'e', acks: [] }, false],
  'POST /api/v1/ephemeral/push': [{ queue: 'e', items: [{ payload: 1 }] }, false],
  'POST /api/v1/ephemeral/reset': [{ queue: 'e' }, false],
  'POST /api/v1/ephemeral/configure': [{ queue: 'e', options: {} }, true],
  'DELETE /api/v1/ephemeral/queue/{queue}': [null, true],
  'POST /api/v1/resources/quota': [QUOTA, true],
  'DELETE /api/v1/resources/tenant': [{ tenant: LEASE() }, true],
  'POST /api/v1/system/ephemeral': [{ enabled: true }, true],
  'POST /api/v1/system/kv-timers': [{ kv: true }, true],
  'POST /api/v1/system/quota': [QUOTA, true],
  'POST /api/v1/system/quotas': [QUOTA, true],
  // Members are entries of consensus.
  'POST /api/v1/stats/refresh': [null, false],
  'POST /api/v1/system/raft/membership/learners': [{}, false],
  'DELETE /api/v1/system/raft/membership/members/{id}': [null, false],
  'POST /api/v1/system/raft/membership/promote': [{}, false],
  'PUT /api/v1/system/raft/membership/voters': [{}, false],
  'POST /api/v1/system/raft/transfer': [{ to: 1 }, false],
};

const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const QUERIES: { readonly [call: string]: string } = {
  'GET /api/v1/pop': '?namespace=n',
  'GET /api/v1/ephemeral/pop': '?queue=e',
  'DELETE /api/v1/dlq': '?queue=q',
};

let group: FakeGroup;
let server: HttpServer;
let port = 0;
let pump: NodeJS.Timeout;

beforeAll(async () => {
  const environment = { SVC_LINK_SOURCE: 'a:7400', SVC_LINK_STANDBY: 'true' };
  group = new FakeGroup({ founders: 1, environment });
  group.until('a leader', () => group.leaders.length > 0);
  group.run(100);
  const { node } = group.machine(1);
  if (node === null) throw new Error('down');
  const warn = () => {};
  server = createServer({ logger: { error: warn } }, node.broker);
  port = await server.listen('127.0.0.1', 0);
  // Time passes for the group while a request waits.
  pump = setInterval(() => group.run(20), 1);
});

afterAll(async () => {
  agent.destroy();
  await server.stop(0);
  clearInterval(pump);
});

async function ask(method: string, path: string, given: unknown) {
  const body = given === null ? '' : JSON.stringify(given);
  const place = path
    .replace('{leaseId}', LEASE())
    .replace('{id}', '1')
    .replaceAll(/\{(queue|ns)\}/g, 'q')
    .replaceAll(/\{[^}]+\}/g, '1');
  const query = QUERIES[`${method} ${path}`] ?? '';
  const headers = { 'content-length': Buffer.byteLength(body), 'content-type': 'application/json' };
  const sent = httpRequest({ agent, port, method, path: place + query, headers }).end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  let text = '';
  for await (const piece of response.setEncoding('utf8')) text += piece;
  return { status: response.statusCode, retryAfter: response.headers['retry-after'], text };
}

const WALKED = ROUTES.flatMap((route) =>
  methodsOf(route)
    .filter((method) => method !== 'HEAD')
    .map((method) => [method, route.path] as const),
).filter(([, path]) => path !== '/api/v1/system/link/promote');

test('every call that is not a plain read is in the table', () => {
  const known = new Set(Object.keys(CALLS));
  const calls = WALKED.map(([method, path]) => `${method} ${path}`);
  const missing = calls.filter((call) => !call.startsWith('GET ') && !known.has(call));
  expect(missing).toEqual([]);
  expect([...known].filter((call) => !calls.includes(call))).toEqual([]);
});

const TEXT =
  '{"error":"this cluster is a standby: it replays its source and takes no writes until it is ' +
  'promoted","code":"standby"}';

describe.each(WALKED)('%s %s', (method, path) => {
  const [body, isRefused] = CALLS[`${method} ${path}`] ?? [null, false];

  test(isRefused ? 'is refused' : 'is served', async () => {
    const answer = await ask(method, path, body);
    if (isRefused) expect(answer).toEqual({ status: 503, retryAfter: '1', text: TEXT });
    else expect(answer.text).not.toContain('"code":"standby"');
  });
});

test.each([
  ['a check', { op: 'check', ns: 'n', key: 'k', expect: 0 }, false],
  ['many keys', { op: 'getMany', ns: 'n', keys: ['k'] }, false],
  ['a prefix', { op: 'getPrefix', ns: 'n', prefix: 'k' }, false],
  ['a put', { op: 'put', ns: 'n', key: 'k', value: 1, forever: true }, true],
  ['a delete', { op: 'delete', ns: 'n', key: 'k' }, true],
])('a call on keys with %s', async (_, op, isRefused) => {
  const answer = await ask('POST', '/api/v1/kv', { operations: [op] });
  if (isRefused) expect(answer).toEqual({ status: 503, retryAfter: '1', text: TEXT });
  else expect(answer.status).toBe(200);
});

test.each([
  ['get', {}, false],
  ['acquire', { owner: 'o', ttlSeconds: 5 }, true],
  ['release', { token: 1 }, true],
  ['renew', { token: 1, ttlSeconds: 5 }, true],
])('a lock: %s', async (op, fields, isRefused) => {
  const answer = await ask('POST', '/api/v1/locks', { operations: [{ op, name: 'l', ...fields }] });
  if (isRefused) expect(answer).toEqual({ status: 503, retryAfter: '1', text: TEXT });
  else expect(answer.status).toBe(200);
});

test('a promotion is answered with what the cluster is now, and it takes writes', async () => {
  const before = JSON.parse((await ask('GET', '/api/v1/system/link', null)).text);
  expect(before).toMatchObject({ role: 'standby', leader: true, name: `standby-${before.id}` });
  for (let asked = 0; asked < 2; asked++) {
    const promoted = await ask('POST', '/api/v1/system/link/promote', null);
    expect(promoted.status).toBe(200);
    expect(JSON.parse(promoted.text)).toMatchObject({
      role: 'promoted',
      leader: true,
      id: before.id,
      position: { index: 0, term: 0, nowUs: 0 },
    });
  }
  const pushed = await ask('POST', '/api/v1/push', { items: [{ queue: 'q', payload: 1 }] });
  expect(pushed.status).toBe(201);
});
