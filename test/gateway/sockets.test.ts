/**
 * Goal: at the gateway's port front threads change no answer by a byte, whoever breaks off takes
 * nothing along, what is counted is what is stored, and strangers stop nobody's pushes (gateway 3,
 * 4, 7 and 10). Method: two nodes alike, one of which has a front thread, are sent the same bytes
 * over sockets; then they are started again with TLS, which has them write what they counted.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../cluster/cluster.js';
import type { ClusterNode } from '../cluster/cluster-node.js';
import { callerWith, type HttpClient } from '../process/http-client.js';
import {
  ALLOWED_ORIGIN,
  allRows,
  BODY_BYTES_MAX,
  comparable,
  LOGIN,
  type Row,
  someRows,
  type Tenants,
  WEB_BODY_BYTES_MAX,
} from './answer-table.js';
import { ATTACKS } from './attacks.js';
import {
  accessHeaders,
  CONTROL_TOKEN,
  GatewayNodes,
  signedSession,
  type TenantAccess,
  UNLIMITED,
} from './gateway-nodes.js';
import { mark } from './marked-tenant.js';
import { PushClient } from './metered-load.js';
import { memoryMb } from './node-memory.js';
import { type Place, RawConnection, requestText } from './raw-connection.js';

const CONNECTIONS_MAX = 300;
const PARKED_MAX = 3;
const WAIT_MS_MAX = 60_000;
const PUSHES = 30;
const GROWTH_MB_MAX = 300;

/** One of the two nodes. */
interface Side {
  readonly nodes: GatewayNodes;
  readonly node: ClusterNode;
  readonly gateway: HttpClient;
  readonly tenants: Tenants;
  /** With `max_parked_pops` of PARKED_MAX. */
  readonly leaver: TenantAccess;
  /** With one queue. */
  readonly narrow: TenantAccess;
  readonly reader: TenantAccess;
  readonly victim: TenantAccess;
  place: Place;
}

let sides: readonly Side[] = [];
let passed = 0;

beforeAll(async () => {
  sides = await Promise.all(['0', '1'].map(openSide));
});

afterAll(() => Promise.all(sides.map(({ nodes }) => nodes.close(passed < TESTS))));

async function openSide(threads: string): Promise<Side> {
  const nodes = await GatewayNodes.open(
    {
      SVC_HTTP_THREADS: threads,
      SVC_MAX_CONNECTIONS: String(CONNECTIONS_MAX),
      SVC_PROXY_METER_FLUSH_MS: '200',
      SVC_PROXY_MAX_BODY_BYTES: String(BODY_BYTES_MAX),
      SVC_EDGE_WEB_MAX_BODY_BYTES: String(WEB_BODY_BYTES_MAX),
      SVC_EDGE_CORS_ORIGINS: ALLOWED_ORIGIN,
      SVC_EDGE_TRUSTED_PROXIES: 'loopback',
      SVC_RAFT_SEGMENT_BYTES: '16777216',
    },
    1,
  );
  const [node] = nodes.cluster.nodes as [ClusterNode];
  const [gateway] = nodes.gateways as [HttpClient];
  const port = Number(node.variables.SVC_PROXY_PORT);
  const tenants = await newTenants(nodes, gateway);
  const limited = (slug: string, overrides: object) =>
    nodes.provision({ slug, overrides: { ...UNLIMITED, ...overrides } });
  const leaver = await limited('leaver', { max_parked_pops: PARKED_MAX });
  const narrow = await limited('narrow', { max_queues: 1 });
  const reader = await nodes.provision({ slug: 'reader' });
  const victim = await nodes.provision({ slug: 'victim' });
  const place = { port, isTls: false };
  return { nodes, node, gateway, tenants, leaver, narrow, reader, victim, place };
}

async function newTenants(nodes: GatewayNodes, gateway: HttpClient): Promise<Tenants> {
  const { email, password } = LOGIN;
  const owner = await nodes.provision({ slug: 'owner' });
  const person = { tenant_slug: 'owner', plan: 'dedicated-s', admin_email: email, password };
  const { user_id } = (await nodes.controlled('POST', 'bootstrap', person)) as { user_id: string };
  const named = await mark(callerWith(gateway, accessHeaders(owner)), owner.brokerTenant);
  const limits = { ...UNLIMITED, max_queues: 1, max_parked_pops: 0, max_payload_bytes: 1000 };
  const small = await nodes.provision({ slug: 'small', plan: 'free', overrides: limits });
  const none = { ...UNLIMITED, max_req_per_sec: 0, req_burst: 0 };
  const slow = await nodes.provision({ slug: 'slow', overrides: none });
  const withStatus = async (slug: string, status: string) => {
    const access = await nodes.provision({ slug });
    await nodes.controlled('PUT', `clusters/${access.clusterId}/status`, { status });
    return access;
  };
  const suspended = await withStatus('suspended', 'suspended');
  const blocked = await withStatus('blocked', 'push_blocked');
  const cookie = `svc_session=${await signedSession(user_id)}`;
  return { owner, named, slow, small, suspended, blocked, cookie };
}

// --- the same answers ----------------------------------------------------------------------------

/** All that a connection is answered, and whether it can go on. */
async function told({ place, tenants }: Side, row: Row): Promise<string> {
  const connection = new RawConnection(place);
  const answers: string[] = [];
  try {
    for (const text of row.sent) {
      connection.send(text);
      const answer = await connection.answer(row.isHeadOnly);
      answers.push(answer === null ? 'ended' : comparable(answer, tenants.named, row));
      if (answer === null) break;
    }
    const isOpen = !row.isLast && !/(^ended|\r\nconnection: close\r\n)/i.test(answers.at(-1) ?? '');
    if (isOpen) connection.send(requestText('/healthz', { headers: [['Host', 'a.example']] }));
    const next = isOpen ? await connection.answer() : null;
    return [...answers, next === null ? 'it ends' : 'it goes on'].join('\n---\n');
  } finally {
    connection.destroy();
  }
}

async function sameAnswers(rowsOf: (tenants: Tenants) => Row[]): Promise<Map<string, number>> {
  const seen = await Promise.all(
    sides.map(async (side) => {
      const answers = new Map<string, string>();
      const rows = rowsOf(side.tenants);
      for (const row of rows) answers.set(row.name, await told(side, row));
      expect(answers.size, 'rows of different names').toBe(rows.length);
      return answers;
    }),
  );
  const [without, withThreads] = seen as [Map<string, string>, Map<string, string>];
  const different = [...without].filter(([name, answer]) => withThreads.get(name) !== answer);
  expect(
    different.map(([name, answer]) => [name, answer, withThreads.get(name)]),
    'rows with other answers',
  ).toEqual([]);
  const statuses = new Map<string, number>();
  for (const [, answer] of without) {
    const status = answer.startsWith('HTTP/1.1 ') ? answer.slice(9, 12) : 'ended';
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }
  return statuses;
}

test('front threads change no answer', async () => {
  const statuses = await sameAnswers(allRows);
  const expected = ['200', '201', '204', '303', '400', '401', '403', '404', '413', '414', '415'];
  const others = ['421', '429', '431', '501'];
  expect([...statuses.keys()]).toEqual(expect.arrayContaining([...expected, ...others]));
  passed++;
});

test('a connection too many is refused by the same answer, and silent ones make room', async () => {
  const refusals = await Promise.all(
    sides.map(async ({ place, tenants }) => {
      const headers = Object.entries(accessHeaders(tenants.owner));
      const park = requestText('/api/v1/pop/queue/none?wait=true&timeout=60000', { headers });
      const open: RawConnection[] = [];
      const refused = () => open.find(({ unread }) => unread > 0);
      for (let i = 0; i < 4 * CONNECTIONS_MAX && refused() === undefined; i++) {
        const connection = new RawConnection(place);
        open.push(connection);
        await connection.sent(park);
      }
      const answer = await refused()?.answer();
      for (const connection of open) connection.destroy();
      return answer;
    }),
  );
  expect(refusals[0]).toContain('503 Service Unavailable');
  const [without, withThreads] = refusals.map((one) => one?.replace(/\r\ndate: .*/i, ''));
  expect(withThreads).toBe(without);
  for (const { place } of sides) {
    const silent = Array.from({ length: 2 * CONNECTIONS_MAX }, () => new RawConnection(place));
    await Promise.all(silent.map((connection) => connection.sent('')));
    await until(WAIT_MS_MAX, 'an answer', () => healthOf(place));
    for (const connection of silent) connection.destroy();
  }
  passed++;
});

/** null: another answer than that all is well, or none. */
async function healthOf(place: Place): Promise<true | null> {
  const connection = new RawConnection(place);
  connection.send(requestText('/healthz', { headers: [['Host', 'a.example']] }));
  const answer = await connection.answer();
  connection.destroy();
  return answer?.startsWith('HTTP/1.1 200') ? true : null;
}

// --- clients that break off ----------------------------------------------------------------------

const BATCHES = [1, 20, 700];

function pushText(access: TenantAccess, queue: string, count: number, chunks?: readonly number[]) {
  const items = Array.from({ length: count }, () => ({ queue, payload: 'x'.repeat(40) }));
  const headers = Object.entries(accessHeaders(access));
  const body = JSON.stringify({ items });
  return requestText('/api/v1/push', { headers, body, ...(chunks && { chunks }) });
}

/** Each is a request that is stored if it came whole, and the queue that shows it. */
function wholeWrites(access: TenantAccess): string[] {
  const headers = Object.entries(accessHeaders(access));
  const operations = [{ type: 'push', items: [{ queue: 'by-transaction', payload: 1 }] }];
  const transaction = { headers, body: JSON.stringify({ operations }) };
  return [
    ...BATCHES.map((count) => pushText(access, 'by-push', count)),
    ...BATCHES.map((count) => pushText(access, 'by-push', count, [10, 100, 1000])),
    requestText('/api/v1/transaction', transaction),
  ];
}

/** In the middle of the body, behind it, at the first byte of the answer, and not at all. */
async function writes({ place, leaver }: Side): Promise<void> {
  for (let round = 0; round < 5; round++) {
    for (const text of wholeWrites(leaver)) {
      const half = new RawConnection(place);
      await half.sent(text.slice(0, -20).replaceAll('by-push', 'by-half'));
      const gone = new RawConnection(place);
      await gone.sent(text);
      gone.destroy();
      const began = new RawConnection(place);
      began.send(text);
      await began.received(1);
      began.destroy();
      const stays = new RawConnection(place);
      stays.send(text);
      expect(await stays.answer()).toMatch(/^HTTP\/1.1 20[01] /);
      half.destroy();
      stays.destroy();
    }
  }
}

const DELIVERED = 200;

/** Pops of a large answer by groups of their own: read whole, in part, and not at all. */
async function deliveries({ place, reader }: Side): Promise<number> {
  const headers = Object.entries(accessHeaders(reader));
  const item = { queue: 'read', payload: 'x'.repeat(2000) };
  const items = Array.from({ length: DELIVERED }, () => item);
  const filling = new RawConnection(place);
  filling.send(requestText('/api/v1/push', { headers, body: JSON.stringify({ items }) }));
  await filling.answer();
  filling.destroy();
  const pop = (group: string) => {
    const query = `batch=${DELIVERED}&autoAck=true&consumerGroup=${group}`;
    return requestText(`/api/v1/pop/queue/read?${query}`, { headers });
  };
  let read = 0;
  for (let round = 0; round < 5; round++) {
    for (const characters of [0, 1, 100_000, 400_000]) {
      const client = new RawConnection(place);
      await client.sent(pop(`group-${round}-${characters}`));
      await client.received(characters);
      if (client.unread > 0) read += DELIVERED;
      client.destroy();
    }
  }
  return read;
}

/** 204: there is a place for one more waiting pop; 429: there is none. */
async function probe({ place, leaver }: Side): Promise<string> {
  const headers = Object.entries(accessHeaders(leaver));
  const client = new RawConnection(place);
  client.send(requestText('/api/v1/pop/queue/woken?wait=true&timeout=1', { headers }));
  const answer = await client.answer();
  client.destroy();
  return answer?.slice(9, 12) ?? 'ended';
}

async function places(side: Side): Promise<void> {
  const { place, leaver } = side;
  const headers = Object.entries(accessHeaders(leaver));
  const pop = requestText('/api/v1/pop/queue/woken?wait=true&timeout=60000', { headers });
  const isProbed = async (status: string) => ((await probe(side)) === status ? true : null);
  for (let round = 0; round < 3; round++) {
    const parked = Array.from({ length: PARKED_MAX }, () => new RawConnection(place));
    for (const connection of parked) connection.send(pop);
    await until(WAIT_MS_MAX, 'all places are taken', () => isProbed('429'));
    expect(parked.map(({ unread }) => unread)).toEqual(parked.map(() => 0));
    for (const connection of parked) connection.destroy();
    await until(WAIT_MS_MAX, 'a place is free', () => isProbed('204'));
  }
  // A client that has gone takes no message of those who stay.
  const push = new RawConnection(place);
  push.send(pushText(leaver, 'woken', 1));
  expect(await push.answer()).toMatch(/^HTTP\/1.1 201 /);
  push.send(pop);
  expect(await push.answer()).toMatch(/^HTTP\/1.1 200 /);
  push.destroy();
}

/** A queue that nobody made has no place. */
async function queues({ place, narrow }: Side): Promise<void> {
  for (let i = 0; i < 5; i++) {
    const half = new RawConnection(place);
    await half.sent(pushText(narrow, 'by-half', 20).slice(0, -20));
    half.destroy();
  }
  const push = new RawConnection(place);
  push.send(pushText(narrow, 'first', 1));
  expect(await push.answer()).toMatch(/^HTTP\/1.1 201 /);
  push.send(pushText(narrow, 'second', 1));
  expect(await push.answer()).toMatch(/^HTTP\/1.1 403 /);
  push.destroy();
}

/** Messages that the readers of a node saw the first byte of. */
const readBy = new Map<Side, number>();

test('whoever breaks off holds no place', async () => {
  await Promise.all(
    sides.map(async (side) => {
      await writes(side);
      readBy.set(side, await deliveries(side));
      await places(side);
      await queues(side);
    }),
  );
  passed++;
});

// --- attacks -------------------------------------------------------------------------------------

test('strangers and a greedy tenant stop nobody', async () => {
  await Promise.all(
    sides.map(async (side) => {
      const { place, gateway, victim: access, leaver: tenant, node } = side;
      const cookie = `svc_session=${await signedSession(tenant.userId)}`;
      const [mb, term] = [memoryMb(node), (await node.status())?.term];
      let pushes = 0;
      const mayGoOn = () => pushes < PUSHES;
      const victim = new PushClient({
        access,
        gateway,
        batch: 1,
        queue: 'honest',
        mayGoOn: () => pushes++ < PUSHES,
      });
      const attacked = { place, tenant, cookie, parkedMax: PARKED_MAX, connections: 3, mayGoOn };
      await Promise.all(ATTACKS.map(({ run }) => run(attacked)));
      await victim.done;
      expect([victim.acknowledged, victim.refused, victim.unanswered]).toEqual([PUSHES, 0, 0]);
      expect((await node.status())?.term).toBe(term);
      expect(memoryMb(node) - mb).toBeLessThan(GROWTH_MB_MAX);
    }),
  );
  passed++;
});

// --- with TLS ------------------------------------------------------------------------------------

/** null: none can be made. */
function certificateIn(directory: string): { readonly cert: string; readonly key: string } | null {
  const [cert, key] = [join(directory, 'tls.crt'), join(directory, 'tls.key')];
  const asked = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-subj', '/CN=a.example'];
  const made = spawnSync('openssl', ['req', ...asked, '-keyout', key, '-out', cert]);
  return made.status === 0 ? { cert, key } : null;
}

async function startAgain(side: Side): Promise<void> {
  const { node, nodes, place } = side;
  expect(await node.stop()).toEqual({ code: 0, signal: null });
  const tls = certificateIn(nodes.cluster.scratch);
  node.start({
    SVC_PROXY_LONGPOLL_MAX_MS: '300',
    SVC_PROXY_LONGPOLL_MARGIN_MS: '1',
    ...(tls === null ? {} : { SVC_TLS_CERT: tls.cert, SVC_TLS_KEY: tls.key }),
  });
  side.place = { ...place, isTls: tls !== null };
  await nodes.cluster.ready();
  await until(WAIT_MS_MAX, 'the records are there', async () => {
    const answer = await controlled(side, 'clusters/of-nobody');
    return answer.startsWith('HTTP/1.1 404') ? true : null;
  });
}

async function controlled({ place }: Side, path: string): Promise<string> {
  const connection = new RawConnection(place);
  const headers = [
    ['Host', 'a.example'],
    ['x-svc-cp-token', CONTROL_TOKEN],
  ] as const;
  connection.send(requestText(`/api/cp/${path}`, { headers }));
  const answer = (await connection.answer()) ?? '';
  connection.destroy();
  return answer;
}

/** Messages of each kind that the usage of a cluster has. */
async function usageOf(side: Side, { clusterId }: TenantAccess): Promise<Record<string, number>> {
  const answer = await controlled(side, `clusters/${clusterId}/usage`);
  const { minutes } = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))) as {
    minutes: readonly { op: string; msgs: number }[];
  };
  const counted: Record<string, number> = {};
  for (const { op, msgs } of minutes) counted[op] = (counted[op] ?? 0) + msgs;
  return counted;
}

/** By the plain port: whom the broker knows is not counted there. */
async function storedIn({ node }: Side, access: TenantAccess, queue: string): Promise<number> {
  const headers = { 'x-svc-tenant': access.brokerTenant };
  const entries = [{ queue, offset: 0, maxBytes: 1 }];
  const { text } = await node.client.post('/api/v1/fetch', { entries }, { headers });
  const [found] = (JSON.parse(text) as { entries: { highWatermark?: number }[] }).entries;
  return found?.highWatermark ?? 0;
}

async function consumedBy({ node }: Side, access: TenantAccess): Promise<number> {
  const headers = { 'x-svc-tenant': access.brokerTenant };
  const groups = [0, 1, 2, 3, 4].flatMap((round) =>
    [0, 1, 100_000, 400_000].map((characters) => `group-${round}-${characters}`),
  );
  const at = { queue: 'read', partition: 'Default' };
  const positions = groups.map((consumerGroup) => ({ ...at, consumerGroup }));
  const path = '/api/v1/consumer-groups/positions';
  const { text } = await node.client.post(path, { positions }, { headers });
  const found = (JSON.parse(text) as { positions: { offset?: number }[] }).positions;
  return found.reduce((sum, { offset }) => sum + Math.max(0, offset ?? 0), 0);
}

test('after a restart all that was stored is counted, and TLS changes nothing', async () => {
  await Promise.all(
    sides.map(async (side) => {
      const { leaver, reader, victim } = side;
      const told = ['by-push', 'woken', 'greedy', 'unread'];
      const stored = async (queue: string) => storedIn(side, leaver, queue);
      await startAgain(side);
      const counted = await usageOf(side, leaver);
      let pushed = 0;
      for (const queue of told) pushed += await stored(queue);
      expect(counted.push, 'pushes that broke off').toBe(pushed);
      expect(counted.txn).toBe(await stored('by-transaction'));
      expect(await stored('by-half')).toBe(0);
      expect(counted.push).toBeGreaterThan(5 * 721 * 2);
      expect(await usageOf(side, victim)).toMatchObject({ push: PUSHES });
      // One who was gone before the answer is not counted, or it is, if it went at once.
      const { delivery = 0 } = await usageOf(side, reader);
      expect(delivery).toBeGreaterThanOrEqual(readBy.get(side) ?? 0);
      expect(delivery).toBeLessThanOrEqual(await consumedBy(side, reader));
    }),
  );
  const statuses = await sameAnswers(someRows);
  expect([...statuses.keys()]).toEqual(expect.arrayContaining(['200', '201', '303', '401', '504']));
  passed++;
});

const TESTS = 5;
