/**
 * Goal: a node that runs the gateway serves tenants by their keys, each its own queues and nobody
 * else's, also after a restart; and a node that runs none has not loaded it. Method: one real node,
 * which makes a tenant at each start, asked as clients of those tenants would.
 */
import { readFileSync } from 'node:fs';
import type { PopAnswer } from '@svc/wire';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Answer, HttpClient } from '../process/http-client.js';
import {
  type NodeUnderTest,
  startNode,
  type TemporaryDirectory,
  temporaryDirectory,
} from '../process/node-under-test.js';
import { freePorts } from '../process/ports.js';

const ACME_KEY = 'qk_acme';
const OTHER_KEY = 'qk_other';
const TOKEN = 'control';

let directory: TemporaryDirectory;
let node: NodeUnderTest;
let gateway: HttpClient;

/** `isFronting`: the gateway takes the node's own port, and the plain API has none. */
async function start(tenant: string, key: string, isFronting: boolean): Promise<void> {
  const [port = 0, ownPort = 0] = await freePorts(2);
  const gatewayPort = isFronting ? port : ownPort;
  node = await startNode({
    directory: directory.path,
    port,
    environment: {
      SVC_PROXY_EMBEDDED: 'true',
      // So that the broker asks for the grants that the gateway sets.
      SVC_TENANCY_HEADER: 'true',
      SVC_KV_TRUSTED_PROXY: 'true',
      SVC_PROXY_ENFORCE: 'true',
      SVC_PROXY_PORT: isFronting ? '' : String(gatewayPort),
      SVC_PROXY_CP_TOKEN: TOKEN,
      SVC_PROXY_SPOOL_DIR: `${directory.path}/spool`,
      SVC_PROXY_BOOTSTRAP_TENANT: tenant,
      SVC_PROXY_BOOTSTRAP_EMAIL: `admin@${tenant}.example`,
      SVC_PROXY_BOOTSTRAP_API_KEY: key,
      SVC_PROXY_JWT_SECRET: 'a secret of the sessions of a test',
    },
  });
  gateway = new HttpClient(gatewayPort);
  await until(async () => (await ask(tenant, key, 'GET', 'resources/queues')).status === 200);
}

/** Until the records are there requests are refused; a test waits for them. */
async function until(isThere: () => Promise<boolean>): Promise<void> {
  while (!(await isThere())) await new Promise((resolve) => setTimeout(resolve, 50));
}

async function stop(): Promise<void> {
  gateway.close();
  expect((await node.signal('SIGTERM')).code).toBe(0);
}

function ask(
  cluster: string,
  key: string | null,
  method: 'GET' | 'POST',
  path: string,
  body?: object,
): Promise<Answer> {
  const headers: Record<string, string> = { host: `${cluster}.example` };
  if (key !== null) headers.authorization = `Bearer ${key}`;
  const bytes = body === undefined ? undefined : JSON.stringify(body);
  return gateway.send(method, `/api/v1/${path}`, bytes, { headers });
}

const codeOf = ({ status, text }: Answer): string => `${status} ${JSON.parse(text).code}`;

beforeAll(async () => {
  directory = temporaryDirectory();
  await start('acme', ACME_KEY, false);
}, 60_000);

afterAll(async () => {
  await stop();
  directory.remove();
});

test('a key pushes, pops and acknowledges', async () => {
  const items = [1, 2, 3].map((payload) => ({ queue: 'orders', payload }));
  expect((await ask('acme', ACME_KEY, 'POST', 'push', { items })).status).toBe(201);
  const popped = await ask('acme', ACME_KEY, 'GET', 'pop/queue/orders?batch=10');
  const { messages, leaseId } = JSON.parse(popped.text) as PopAnswer;
  expect(messages.map(({ data }) => data)).toEqual([1, 2, 3]);
  const acknowledgments = messages.map(({ transactionId, partitionId }) => ({
    transactionId,
    partitionId,
    leaseId,
    status: 'completed',
  }));
  const acked = await ask('acme', ACME_KEY, 'POST', 'ack/batch', { acknowledgments });
  expect(acked.status).toBe(200);
  expect((await ask('acme', ACME_KEY, 'GET', 'pop/queue/orders')).status).toBe(204);
});

test('no key, a wrong one, and a cluster that there is not are refused', async () => {
  const asked = ['POST', 'push', { items: [{ queue: 'orders', payload: 0 }] }] as const;
  expect(codeOf(await ask('acme', null, ...asked))).toBe('401 unauthorized');
  expect(codeOf(await ask('acme', 'qk_wrong', ...asked))).toBe('401 unauthorized');
  expect(codeOf(await ask('nobody', ACME_KEY, ...asked))).toBe('421 cluster_unknown');
  expect(codeOf(await ask('acme', ACME_KEY, 'POST', 'system/kv-timers', {}))).toBe(
    '404 route_blocked',
  );
});

test('its own paths, and metrics for the control plane alone', async () => {
  const own = await gateway.get('/healthz');
  expect(JSON.parse(own.text)).toEqual({
    status: 'ok',
    enforce: true,
    tenant_header: true,
    shared_hosts: 0,
  });
  expect((await gateway.get('/.well-known/jwks.json')).text).toBe('{"keys":[]}');
  expect((await gateway.get('/metrics')).status).toBe(404);
  const headers = { 'x-svc-cp-token': TOKEN };
  const metrics = await gateway.send('GET', '/metrics/prometheus', undefined, { headers });
  expect(metrics.text).toContain('svc_');
});

/** A cluster of its own, made as a control plane does. */
async function bootstrap(slug: string, more: object = {}) {
  const body = { tenant_slug: slug, admin_email: `admin@${slug}.example`, ...more };
  const headers = { 'x-svc-cp-token': TOKEN };
  const { status, text } = await gateway.send('POST', '/api/cp/bootstrap', JSON.stringify(body), {
    headers,
  });
  expect(status, text).toBe(200);
  return JSON.parse(text) as { api_key: string | null; cluster_id: string };
}

test('the control plane makes a cluster whose key works, and nobody else does', async () => {
  const refused = await gateway.send('POST', '/api/cp/bootstrap', '{}');
  expect(codeOf(refused)).toBe('401 unauthorized');
  const { api_key: key } = await bootstrap('made');
  expect((await bootstrap('made')).api_key).toBeNull();
  const items = [{ queue: 'orders', payload: 1 }];
  expect((await ask('made', key, 'POST', 'push', { items })).status).toBe(201);
});

test('the broker grants what the plan has, and the gateway refuses what it has not', async () => {
  const { api_key: key } = await bootstrap('stores', { plan: 'free' });
  const operations = [{ op: 'put', ns: 'n', key: 'k', value: 1, forever: true }];
  const put = await ask('stores', key, 'POST', 'kv', { operations });
  expect([put.status, JSON.parse(put.text)]).toMatchObject([200, { results: [{ applied: true }] }]);
  const headers = { host: 'stores.example', authorization: `Bearer ${key}` };
  const query = await gateway.send('POST', '/streams/v1/queries', '{}', { headers });
  expect(codeOf(query)).toBe('403 feature_gated');
});

test('a compressed timer is held to the payload that it becomes', async () => {
  const { api_key: key } = await bootstrap('timers', { plan: 'free' });
  const statuses: number[] = [];
  for (const blocks of [2, 3]) {
    const names = { op: 'schedule', queue: 'q', timerKey: `${blocks}`, txn: `${blocks}` };
    const payload = repeated(blocks).toString('base64');
    const operations = [{ ...names, delayMs: 60_000, payload, payloadZstd: true }];
    statuses.push((await ask('timers', key, 'POST', 'timers', { operations })).status);
  }
  expect(statuses).toEqual([200, 413]);
});

/** A zstd frame of a few bytes, of so many blocks of 128 KiB; the plan allows two of them. */
function repeated(blocks: number): Buffer {
  const head = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 0]);
  head.writeUInt32LE(blocks * 131_072, 5);
  const parts = Array.from({ length: blocks }, (_, i) => {
    const block = Buffer.from([0, 0, 0, 0x31]);
    const isLast = i === blocks - 1;
    block.writeUIntLE(131_072 * 8 + 2 + (isLast ? 1 : 0), 0, 3);
    return block;
  });
  return Buffer.concat([head, ...parts]);
}

test('a person logs in, makes a key that works, and takes it back', async () => {
  const password = 'a good password';
  await bootstrap('people', { password });
  const host = 'people.example';
  const origin = `http://${host}`;
  const form = new URLSearchParams({ email: 'admin@people.example', password, next: '/here' });
  const type = 'application/x-www-form-urlencoded';
  const login = (body: string) =>
    gateway.send('POST', '/auth/login', body, {
      headers: { host, origin, 'content-type': type },
    });
  expect((await login('email=admin@people.example&password=wrong')).status).toBe(401);
  const { status, headers: answered } = await login(form.toString());
  expect([status, answered.location]).toEqual([303, '/here']);
  const [cookie = ''] = String(answered['set-cookie']).split(';');
  expect(cookie).toMatch(/^svc_session=./);
  const headers = { host, origin, cookie };
  const me = await gateway.get('/auth/me', { headers });
  expect(JSON.parse(me.text)).toMatchObject({
    email: 'admin@people.example',
    acting_cluster: { slug: 'people' },
  });
  const wanted = JSON.stringify({ name: 'n', scopes: ['read'] });
  const made = await gateway.send('POST', '/api/console/keys', wanted, { headers });
  const { id, key } = JSON.parse(made.text) as { id: string; key: string };
  expect((await ask('people', key, 'GET', 'resources/queues')).status).toBe(200);
  const gone = await gateway.send('DELETE', `/api/console/keys/${id}`, undefined, { headers });
  expect(gone.status, gone.text).toBe(200);
  const after = await ask('people', key, 'GET', 'resources/queues');
  expect(codeOf(after)).toBe('401 unauthorized');
});

test('another tenant sees nothing of it, and what there was outlives a restart', async () => {
  const loaded = (pid: number | undefined) => readFileSync(`/proc/${pid}/maps`, 'utf8');
  expect(loaded(node.pid), 'the gateway is loaded').toContain('bcrypt');
  await stop();
  await start('other', OTHER_KEY, true);
  const seen = await ask('other', OTHER_KEY, 'GET', 'resources/queues');
  expect(JSON.parse(seen.text).queues).toEqual([]);
  expect((await ask('other', OTHER_KEY, 'GET', 'pop/queue/orders')).status).toBe(204);
  expect(codeOf(await ask('acme', OTHER_KEY, 'GET', 'resources/queues'))).toBe('403 forbidden');
  const own = await ask('acme', ACME_KEY, 'GET', 'resources/queues');
  expect(JSON.parse(own.text).queues.map(({ name }: { name: string }) => name)).toEqual(['orders']);
});

test('a node without a gateway has not loaded it', async () => {
  const plain = temporaryDirectory();
  try {
    const [port = 0] = await freePorts(1);
    const other = await startNode({ directory: plain.path, port });
    expect(readFileSync(`/proc/${other.pid}/maps`, 'utf8')).not.toContain('bcrypt');
    await other.signal('SIGTERM');
  } finally {
    plain.remove();
  }
});
