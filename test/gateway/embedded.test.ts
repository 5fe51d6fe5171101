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
      SVC_PROXY_ENFORCE: 'true',
      SVC_PROXY_PORT: isFronting ? '' : String(gatewayPort),
      SVC_PROXY_CP_TOKEN: TOKEN,
      SVC_PROXY_SPOOL_DIR: `${directory.path}/spool`,
      SVC_PROXY_BOOTSTRAP_TENANT: tenant,
      SVC_PROXY_BOOTSTRAP_EMAIL: `admin@${tenant}.example`,
      SVC_PROXY_BOOTSTRAP_API_KEY: key,
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
