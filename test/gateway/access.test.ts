/**
 * Goal: who is let through to what, and the words in which everybody else is refused, on a node as
 * it is deployed (gateway 4, 5 and 11). Method: the table that `access-table.ts` makes of the
 * description that the gateway decides by, asked of one node with its store, keys, users and
 * statuses made by the routes that make them; once with operators and once without. By default as
 * many requests as have each pair of values in one; `SVC_ACCESS_TABLE=all` asks all of them.
 * `decide.test.ts` holds the same rules against the specification's own table.
 */
import { ROUTES } from '@svc/http';
import type { PopAnswer } from '@svc/wire';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Caller, callerWith } from '../process/http-client.js';
import {
  type Asked,
  answerTo,
  CREDENTIALS,
  everything,
  PLANS,
  type PlanName,
  pairs,
  STATUSES,
  type Status,
} from './access-table.js';
import {
  accessHeaders,
  CONTROL_TOKEN,
  GatewayNodes,
  signedSession,
  type TenantAccess,
} from './gateway-nodes.js';
import { ASKED, mark, type Named, viewOf } from './marked-tenant.js';

const SCOPES = ['produce', 'consume', 'admin', 'read'] as const;
const ROLES = ['producer', 'consumer', 'admin', 'viewer'] as const;

/** A cluster, and the header of each credential. */
interface Place {
  readonly slug: string;
  readonly credentials: ReadonlyMap<string, Readonly<Record<string, string>>>;
}

let nodes: GatewayNodes;
let passed = 0;
const places = new Map<string, Place>();
let operator: TenantAccess;

const placeKey = (status: Status, plan: PlanName) => `${status}/${plan}`;
const bearer = (text: string) => ({ authorization: `Bearer ${text}` });
const session = async ({ userId }: TenantAccess) => bearer(await signedSession(userId));

beforeAll(async () => {
  nodes = await GatewayNodes.open({}, 1);
  operator = await nodes.provision({ slug: 'operators' });
  for (const [i, status] of STATUSES.entries()) {
    for (const [j, plan] of PLANS.entries()) {
      places.set(placeKey(status, plan), await newPlace(`c${i}-${j}`, `t${i}-${j}`, status, plan));
    }
  }
});

afterAll(() => nodes?.close(passed < RUNS.length));

async function newPlace(
  slug: string,
  tenant: string,
  status: Status,
  plan: PlanName,
): Promise<Place> {
  const made: TenantAccess[] = [];
  for (const [i, scope] of SCOPES.entries()) {
    const role = ROLES[i] as string;
    made.push(await nodes.provision({ slug, tenant, plan, scopes: [scope], role }));
  }
  const [first] = made as [TenantAccess];
  const beside = await nodes.provision({ slug: `${slug}-beside`, tenant, plan });
  const revoked = await nodes.newKey(first, SCOPES);
  await nodes.controlled('DELETE', `keys/${revoked.id}`);
  const [own = '', ofTenant = ''] = status.split(' ');
  await nodes.controlled('PUT', `clusters/${first.clusterId}/status`, { status: own });
  await nodes.controlled('PUT', `tenants/${tenant}/status`, { status: ofTenant });
  const credentials = new Map<string, Readonly<Record<string, string>>>([
    ['none', {}],
    ['bad key', bearer('qk_live_of_nobody')],
    ['bad token', bearer('a.b.c')],
    ['revoked key', bearer(revoked.key)],
    ['key of another cluster', accessHeaders(beside)],
    ['session without a role', await session(beside)],
    ['session of an operator', await session(operator)],
    ['control-plane token', { 'x-svc-cp-token': CONTROL_TOKEN }],
  ]);
  for (const [i, access] of made.entries()) {
    credentials.set(`${SCOPES[i]} key`, accessHeaders(access));
    credentials.set(`${ROLES[i]} session`, await session(access));
  }
  return { slug, credentials };
}

const NAMED = { queue: 'q', ephemeral: 'e', partition: 'p', group: 'g', timer: 't' };
const NAMES = new Proxy(NAMED, {
  get: (target, name) =>
    target[name as keyof typeof NAMED] ?? '0199d0c4-7b1e-7c7e-9a10-111111111111',
}) as unknown as Named;

/** Batches that make the store grow; else as a client would ask. */
const GROWING: Readonly<Record<string, object>> = {
  'POST /api/v1/kv': [{ op: 'put', ns: 'n', key: 'k', value: 1, forever: true }],
  'POST /api/v1/timers': [
    { op: 'schedule', queue: 'q', timerKey: 't', txn: 't', delayMs: 3_600_000, payload: 'MQ==' },
  ],
};

async function told({ route, credential, status, plan }: Asked): Promise<string> {
  const at = `${route.method} ${route.path}`;
  const { slug, credentials } = places.get(placeKey(status, plan)) as Place;
  const [first] = ASKED[at]?.(NAMES) ?? [];
  const path = first?.path ?? route.path.replaceAll(/\{.*?\}/g, '1');
  const sent = GROWING[at] ?? first?.body;
  const headers = { ...credentials.get(credential), host: `${slug}.example` };
  const [gateway] = nodes.gateways;
  const text = sent === undefined ? undefined : JSON.stringify(sent);
  const answer = await gateway?.send(route.method, path, text, { headers });
  return `${answer?.status} ${answer?.text}`;
}

/** Words of the gateway alone, by which it is seen that a request did not reach the broker. */
const OF_THE_GATEWAY = new RegExp(
  '^4\\d\\d \\{"error":"[^"]*","code":"(unauthorized|forbidden|cluster_suspended|push_blocked' +
    '|feature_gated|route_blocked|cluster_unknown|rate_limited)"\\}$',
);

/** null: the broker was asked, and answered in its own words. */
function isAsSaid(answer: string, expected: string | null): boolean {
  if (expected !== null) return answer === expected;
  return !OF_THE_GATEWAY.test(answer) && !answer.startsWith('5');
}

async function asTheTableSays(table: readonly Asked[]): Promise<void> {
  const wrong: string[] = [];
  let next = 0;
  const worker = async () => {
    for (let one = table[next++]; one !== undefined; one = table[next++]) {
      const expected = answerTo(one);
      const answer = await told(one);
      if (isAsSaid(answer, expected)) continue;
      const { route, credential, status, plan, operators } = one;
      const where = `${route.method} ${route.path} (${route.gateway}), ${credential}, ${status}`;
      wrong.push(`${where}, ${plan}, ${operators}: ${answer.slice(0, 160)}, not ${expected}`);
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  console.log(`${table.length} requests`);
  expect(wrong).toEqual([]);
}

// The gateway answers it itself.
const routes = ROUTES.filter(({ path }) => path !== '/auth/me');

const RUNS = [
  ['without operators', false],
  ['with operators', true],
] as const;

test.each(RUNS)('%s', async (_, operators) => {
  const [node] = nodes.cluster.nodes;
  await node?.stop();
  // A user who is listed at the start is one from then on.
  node?.start({
    SVC_PROXY_OPERATOR_ENABLED: String(operators),
    SVC_PROXY_OPERATORS: `${operator.userId}@operators.example`,
  });
  await nodes.cluster.ready();
  if (node !== undefined) await nodes.serving(node);
  const all = everything(routes, operators);
  await asTheTableSays(process.env.SVC_ACCESS_TABLE === 'all' ? all : pairs(all));
  passed++;
});

test('each value stands in the table', () => {
  const taken = pairs(everything(routes, true));
  const values = (of: (asked: Asked) => unknown) => new Set(taken.map(of)).size;
  expect(values(({ credential }) => credential)).toBe(CREDENTIALS.length);
  expect(values(({ status }) => status)).toBe(STATUSES.length);
  expect(values(({ plan }) => plan)).toBe(PLANS.length);
  expect(values(({ route }) => route)).toBe(routes.length);
  const outcomes = new Set(taken.map((one) => answerTo(one)));
  expect(outcomes.size, 'outcomes that the table has').toBe(11);
});

// --- what is done, and not only answered ---------------------------------------------------------

/** A client with one credential of a cluster. */
function as({ slug, credentials }: Place, credential: string, more = {}): Caller {
  const gateway = nodes.gateways[0] as Caller;
  const headers = { ...credentials.get(credential), host: `${slug}.example`, ...more };
  return callerWith(gateway, headers);
}

const WHOLE = { status: 'active active', plan: 'dedicated-s', operators: true } as const;

test('whoever is refused takes nothing and changes nothing, and a viewer never does', async () => {
  const place = await newPlace('whole', 'whole', WHOLE.status, WHOLE.plan);
  const owner = as(place, 'admin session');
  const named = await mark(owner, 'of nobody');
  const before = await viewOf(owner, named);
  const wrong: string[] = [];
  for (const [at, asking] of Object.entries(ASKED)) {
    const route = routes.find(({ method, path }) => at === `${method} ${path}`);
    if (route === undefined) throw new Error(`${at} is no route`);
    for (const credential of CREDENTIALS.filter((one) => /(key|session)/.test(one))) {
      const expected = answerTo({ ...WHOLE, route, credential });
      // The last two see, and the others would do what they may.
      if (expected === null && !/^(viewer session|read key)$/.test(credential)) continue;
      for (const { path, body } of asking(named)) {
        const text = body === undefined ? undefined : JSON.stringify(body);
        const answer = await as(place, credential).send(route.method, path, text);
        const told = `${answer.status} ${answer.text}`;
        if (!isAsSaid(told, expected))
          wrong.push(`${at}, ${credential}: ${told.slice(0, 160)}, not ${expected}`);
      }
    }
  }
  expect(wrong).toEqual([]);
  expect(await viewOf(owner, named)).toEqual(before);
});

/** Status and document. */
type Told = readonly [number, Record<string, unknown>];

async function ask(caller: Caller, at: string, body?: unknown): Promise<Told> {
  const [method = '', path = ''] = at.split(' ');
  const text = body === undefined ? undefined : JSON.stringify(body);
  const answer = await caller.send(method, path, text);
  return [answer.status, answer.text === '' ? {} : JSON.parse(answer.text)];
}

const CREWS = [
  ['sessions', 'producer session', 'consumer session', 'viewer session', 'admin session'],
  ['keys', 'produce key', 'consume key', 'read key', 'admin key'],
] as const;

interface Crew {
  readonly producer: Caller;
  readonly consumer: Caller;
  readonly viewer: Caller;
  readonly admin: Caller;
}

async function isRefused(who: Caller, at: string, body?: unknown): Promise<void> {
  expect(await ask(who, at, body), at).toMatchObject([403, { code: 'forbidden' }]);
}

test.each(CREWS)('%s: each does its part, and is refused the others’', async (kind, ...crew) => {
  const place = await newPlace(`crew-${kind}`, `crew-${kind}`, WHOLE.status, WHOLE.plan);
  const [one, other, third, fourth] = crew;
  const callers = {
    producer: as(place, one),
    consumer: as(place, other),
    viewer: as(place, third),
    admin: as(place, fourth),
  };
  await surfacesOf(callers, await messagesOf(callers));
});

/** Gives the id of the partition that it used. */
async function messagesOf({ producer, consumer, viewer, admin }: Crew): Promise<string> {
  const push = { items: [{ queue: 'orders', payload: { n: 1 } }] };
  const pop = 'GET /api/v1/pop/queue/orders?consumerGroup=g';
  for (const who of [consumer, viewer]) await isRefused(who, 'POST /api/v1/push', push);
  expect(await ask(producer, 'POST /api/v1/push', push)).toMatchObject([201, {}]);
  for (const who of [producer, viewer]) await isRefused(who, pop);
  const [status, popped] = await ask(consumer, pop);
  const { messages, leaseId } = popped as unknown as PopAnswer;
  expect([status, messages.map(({ data }) => data)], 'one that nobody took').toEqual([
    200,
    [{ n: 1 }],
  ]);
  const [{ transactionId = '', partitionId = '' } = {}] = messages;
  const ack = { transactionId, partitionId, leaseId, status: 'completed', consumerGroup: 'g' };
  for (const who of [producer, viewer]) {
    await isRefused(who, 'POST /api/v1/ack', ack);
    await isRefused(who, `POST /api/v1/lease/${leaseId}/extend`, { seconds: 1 });
  }
  expect(await ask(consumer, 'POST /api/v1/ack', ack)).toMatchObject([200, [{ success: true }]]);
  expect(await ask(consumer, pop)).toEqual([204, {}]);

  const transaction = { operations: [{ type: 'push', ...push }] };
  for (const who of [consumer, viewer]) {
    await isRefused(who, 'POST /api/v1/transaction', transaction);
  }
  const done = await ask(producer, 'POST /api/v1/transaction', transaction);
  expect(done).toMatchObject([200, { success: true }]);

  const configure = { queue: 'orders', options: { leaseTime: 77 } };
  for (const who of [producer, consumer, viewer]) {
    await isRefused(who, 'POST /api/v1/configure', configure);
    await isRefused(who, 'DELETE /api/v1/resources/queues/orders');
  }
  expect((await ask(admin, 'POST /api/v1/configure', configure))[0]).toBeLessThan(300);
  const [, shown] = await ask(viewer, 'GET /api/v1/resources/queues/orders');
  expect(JSON.stringify(shown)).toContain('"leaseTime":77');
  return partitionId;
}

async function surfacesOf({ producer, consumer, viewer }: Crew, partition: string): Promise<void> {
  const put = [{ op: 'put', ns: 'n', key: 'k', value: 7, forever: true }];
  const value = 'GET /api/v1/kv/n/k';
  await isRefused(viewer, 'POST /api/v1/kv', put);
  await isRefused(viewer, 'PUT /api/v1/kv/n/k?forever=true', { value: 8, forever: true });
  expect(await ask(viewer, value)).toMatchObject([200, { found: false }]);
  expect((await ask(producer, 'POST /api/v1/kv', put))[0]).toBe(200);
  expect(await ask(viewer, value)).toMatchObject([200, { value: 7 }]);
  await isRefused(viewer, 'DELETE /api/v1/kv/n/k');
  expect((await ask(consumer, 'DELETE /api/v1/kv/n/k'))[0]).toBeLessThan(300);
  expect(await ask(viewer, value)).toMatchObject([200, { found: false }]);

  const acquire = [{ op: 'acquire', name: 'l', owner: 'o', ttlSeconds: 60 }];
  for (const body of [acquire, [{ op: 'get', name: 'l' }]]) {
    await isRefused(viewer, 'POST /api/v1/locks', body);
  }
  const [, locked] = await ask(consumer, 'POST /api/v1/locks', acquire);
  expect(JSON.stringify(locked)).toContain('"acquired":true');

  const timer = { queue: 'orders', timerKey: 't', txn: 't', delayMs: 3_600_000, payload: 'MQ==' };
  const schedule = [{ op: 'schedule', ...timer }];
  await isRefused(viewer, 'POST /api/v1/timers', schedule);
  const shown = 'GET /api/v1/timers/orders/t';
  expect(await ask(viewer, shown)).toMatchObject([200, { found: false }]);
  expect((await ask(producer, 'POST /api/v1/timers', schedule))[0]).toBe(200);
  expect(await ask(viewer, shown)).toMatchObject([200, { found: true }]);
  await isRefused(viewer, 'DELETE /api/v1/timers/orders/t');
  expect(await ask(viewer, shown)).toMatchObject([200, { found: true }]);

  const ephemeral = { queue: 'e', messages: [{ payload: 1 }] };
  const depth = 'GET /api/v1/ephemeral/queues/e/depth';
  expect((await ask(producer, 'POST /api/v1/ephemeral/push', ephemeral))[0]).toBe(201);
  await isRefused(viewer, 'POST /api/v1/ephemeral/push', ephemeral);
  await isRefused(viewer, 'GET /api/v1/ephemeral/pop?queue=e');
  expect(await ask(viewer, depth)).toMatchObject([200, { pending: 1 }]);
  const [, taken] = await ask(consumer, 'GET /api/v1/ephemeral/pop?queue=e');
  expect(taken).toMatchObject({ messages: [{ payload: 1 }] });

  const query = { name: 'n', source_queue: 'orders', config_hash: 'h' };
  await isRefused(viewer, 'POST /streams/v1/queries', query);
  const [made, registered] = await ask(consumer, 'POST /streams/v1/queries', query);
  expect(made).toBe(200);
  const state = { query_id: registered.query_id, partition_id: partition };
  await isRefused(viewer, 'POST /streams/v1/state/get', state);
  expect((await ask(producer, 'POST /streams/v1/state/get', state))[0]).toBe(200);
}

test('a session acts on the cluster that it names, by its role there; a key on none', async () => {
  const a = await newPlace('acting-a', 'acting', WHOLE.status, WHOLE.plan);
  const b = await nodes.provision({ slug: 'acting-b', tenant: 'acting' });
  const person = await nodes.provision({ slug: 'acting-a', tenant: 'acting', role: 'producer' });
  const gateway = nodes.gateways[0] as Caller;
  const ofPerson = await session(person);
  const member = { email: `${person.userId}@acting.example`, role: 'viewer' };
  const ofAdmin = { ...(await session(b)), host: 'acting-b.example' };
  const granted = await ask(callerWith(gateway, ofAdmin), 'POST /api/console/members', member);
  expect(granted).toMatchObject([200, { ok: true }]);
  const at = (host: string, acts?: string, credential: Record<string, string> = ofPerson) =>
    callerWith(gateway, {
      ...credential,
      host: `${host}.example`,
      ...(acts === undefined ? {} : { 'x-svc-act-cluster': acts }),
    });
  const push = async (caller: Caller, queue: string) => {
    const items = [{ queue, payload: 1 }];
    const [status, told] = await ask(caller, 'POST /api/v1/push', { items });
    return status < 300 ? status : `${status} ${told.code}`;
  };
  const queuesOf = async (caller: Caller) => {
    const [, { queues }] = await ask(caller, 'GET /api/v1/resources/queues');
    return (queues as { name: string }[]).map(({ name }) => name).sort();
  };
  const outsider = await nodes.provision({ slug: 'outsider' });
  const cookie = { cookie: `svc_session=${await signedSession(person.userId)}` };
  const origin = { ...cookie, origin: 'http://acting-b.example' };
  expect(await push(at('acting-a'), 'host')).toBe(201);
  expect(await push(at('acting-b', 'acting-a'), 'slug')).toBe(201);
  expect(await push(at('acting-b', ' ACTING-A '), 'spelling')).toBe(201);
  expect(await push(at('acting-b', person.clusterId), 'id')).toBe(201);
  expect(await push(at('nobody', 'acting-a'), 'no-host')).toBe(201);
  expect(await push(at('acting-b', 'acting-a', origin), 'cookie')).toBe(201);
  const refusals: readonly (readonly [Caller, string])[] = [
    [at('acting-b'), '403 forbidden'],
    [at('acting-a', 'acting-b'), '403 forbidden'],
    [at('acting-a', b.clusterId), '403 forbidden'],
    [at('acting-a', 'outsider'), '403 forbidden'],
    [at('acting-a', outsider.clusterId), '403 forbidden'],
    [at('acting-a', 'of-nobody'), '421 cluster_unknown'],
    [at('acting-a', '../acting-a'), '421 cluster_unknown'],
    [at('acting-a', 'acting-a', {}), '401 unauthorized'],
    [at('acting-a', 'acting-a', bearer('a.b.c')), '401 unauthorized'],
    [at('acting-a', 'acting-a', bearer(person.key)), '403 forbidden'],
    [at('acting-b', 'acting-a', bearer(person.key)), '403 forbidden'],
    [at('acting-b', 'acting-a', cookie), '403 csrf_rejected'],
  ];
  for (const [i, [caller, expected]] of refusals.entries()) {
    expect(await push(caller, `refused-${i}`), `refusal ${i}`).toBe(expected);
  }
  const seen = await queuesOf(as(a, 'viewer session'));
  expect(seen).toEqual(['cookie', 'host', 'id', 'no-host', 'slug', 'spelling']);
  expect(await queuesOf(at('acting-b', 'acting-a'))).toEqual(seen);
  expect(await queuesOf(at('acting-a', 'acting-b')), 'a viewer there').toEqual([]);
  expect(await queuesOf(at('outsider', undefined, bearer(outsider.key)))).toEqual([]);
});
