/**
 * Goal: who is let through to what, and the words in which everybody else is refused, on a node as
 * it is deployed (gateway 4, 5 and 11). Method: the table that `access-table.ts` makes of the
 * description that the gateway decides by, asked of one node with its store, keys, users and
 * statuses made by the routes that make them; once with operators and once without. By default as
 * many requests as have each pair of values in one; `SVC_ACCESS_TABLE=all` asks all of them.
 * `decide.test.ts` holds the same rules against the specification's own table.
 */
import { randomBytes } from 'node:crypto';
import { SessionTokens } from '@svc/gateway';
import { ROUTES } from '@svc/http';
import { afterAll, beforeAll, expect, test } from 'vitest';
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
  SESSION_SECRET,
  type TenantAccess,
} from './gateway-nodes.js';
import { ASKED, type Named } from './marked-tenant.js';

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
let tokens: SessionTokens;

const placeKey = (status: Status, plan: PlanName) => `${status}/${plan}`;
const bearer = (text: string) => ({ authorization: `Bearer ${text}` });
const session = async ({ userId }: TenantAccess) => bearer(await tokens.sign(userId, 3600));

beforeAll(async () => {
  nodes = await GatewayNodes.open({}, 1);
  tokens = await SessionTokens.create({
    secret: SESSION_SECRET,
    issuer: 'svc-proxy',
    clock: {
      wallUs: () => Date.now() * 1000,
      nowMs: () => performance.now(),
      after: () => () => {},
    },
    random: { bytes: (length) => randomBytes(length) },
  });
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

async function asTheTableSays(table: readonly Asked[]): Promise<void> {
  const wrong: string[] = [];
  let next = 0;
  const worker = async () => {
    for (let one = table[next++]; one !== undefined; one = table[next++]) {
      const expected = answerTo(one);
      const answer = await told(one);
      const isAsSaid =
        expected === null
          ? !OF_THE_GATEWAY.test(answer) && !answer.startsWith('5')
          : answer === expected;
      if (isAsSaid) continue;
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
