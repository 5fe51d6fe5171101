/**
 * A gateway for tests and pictures of the pages that there are behind one alone: a node with the
 * tenant `acme`, people of every role, keys in every state, and a way to log in.
 */
import { HttpClient } from '../process/http-client.js';
import { startNode, temporaryDirectory } from '../process/node-under-test.js';
import { freePort } from '../process/ports.js';
import type { Page } from './chromium.js';
import { HARD_NAME, type StagedPage } from './dashboard-stage.js';

export const PASSWORD = 'a password of twelve characters';
/** An administrator of `acme` and an operator of the cell. */
export const OPERATOR = 'operator@acme.example';
export const ADMIN = 'admin@acme.example';
export const VIEWER = 'viewer@acme.example';
/** A key of the cluster, with every scope. */
export const KEY = 'qk_stage';

export const GATEWAY_PAGES: readonly StagedPage[] = [
  { name: 'plan-and-usage', path: '/console?hours=1', shows: 'Waiting pops' },
  { name: 'members', path: '/members', shows: VIEWER },
  { name: 'keys', path: '/keys', shows: 'checkout' },
  { name: 'keys-revoked', path: '/keys?revoked=shown', shows: 'revoked' },
  { name: 'users', path: '/users', shows: OPERATOR },
  { name: 'users-clusters', path: '/users?view=clusters', shows: 'acme' },
];

/** `environment`: besides what every stage has. */
export async function startGateway(environment: Readonly<Record<string, string>> = {}) {
  const directory = temporaryDirectory();
  const port = await freePort();
  const node = await startNode({
    directory: directory.path,
    port,
    environment: {
      SVC_PROXY_EMBEDDED: 'true',
      SVC_TENANCY_HEADER: 'true',
      SVC_KV_TRUSTED_PROXY: 'true',
      SVC_PROXY_ENFORCE: 'true',
      SVC_PROXY_OPERATOR_ENABLED: 'true',
      SVC_PROXY_OPERATORS: OPERATOR,
      SVC_PROXY_SPOOL_DIR: `${directory.path}/spool`,
      SVC_PROXY_BOOTSTRAP_TENANT: 'acme',
      SVC_PROXY_BOOTSTRAP_PLAN: 'pro',
      SVC_PROXY_BOOTSTRAP_EMAIL: OPERATOR,
      SVC_PROXY_BOOTSTRAP_PASSWORD: PASSWORD,
      SVC_PROXY_BOOTSTRAP_API_KEY: KEY,
      SVC_PROXY_JWT_SECRET: 'a secret of the sessions of a test',
      ...environment,
    },
  });
  const client = new HttpClient(port);
  const host = 'acme.example';
  const origin = `http://${host}:${port}`;
  /** A push with a key, as a program does it. */
  const push = async (key: string, queue = 'orders') => {
    const headers = { host, authorization: `Bearer ${key}` };
    const items = [{ queue, payload: { order: 1 } }];
    return (await client.post('/api/v1/push', { items }, { headers })).status;
  };
  while ((await push(KEY)) !== 201) await new Promise((resolve) => setTimeout(resolve, 50));
  const cookie = await sessionCookie(client, origin);
  const send = async (method: string, path: string, body?: object) => {
    const headers = { host, origin: `http://${host}`, cookie };
    const text = body === undefined ? undefined : JSON.stringify(body);
    const answer = await client.send(method, path, text, { headers });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
    return JSON.parse(answer.text);
  };
  return {
    origin,
    client,
    node,
    push,
    pushAsStage: () => push(KEY),
    popAsStage: async () => {
      const headers = { host, authorization: `Bearer ${KEY}` };
      await client.get('/api/v1/pop/queue/orders?batch=10&autoAck=true', { headers });
    },
    /** As the operator. */
    send,
    close: async () => {
      client.close();
      await node.kill();
      directory.remove();
    },
  };
}

export type GatewayStage = Awaited<ReturnType<typeof startGateway>>;

async function sessionCookie(client: HttpClient, origin: string): Promise<string> {
  const { host } = new URL(origin);
  const form = new URLSearchParams({ email: OPERATOR, password: PASSWORD }).toString();
  const type = 'application/x-www-form-urlencoded';
  const headers = { host, origin, 'content-type': type };
  const { headers: answered } = await client.send('POST', '/auth/login', form, { headers });
  return String(answered['set-cookie']).split(';')[0] ?? '';
}

/** People of every role, keys in every state. */
export async function fillGateway({ send }: Pick<GatewayStage, 'send'>): Promise<void> {
  const { tenants, clusters } = await send('GET', '/api/operator/users');
  const of = { tenant_id: tenants[0].id, cluster_id: clusters[0].id };
  const person = (email: string, name: string, role: string, provider = 'local') =>
    send('POST', '/api/operator/users', {
      ...of,
      email,
      name,
      role,
      provider,
      ...(provider === 'local' && { password: PASSWORD }),
    });
  await person(ADMIN, 'Ada Lovelace', 'admin');
  await person(VIEWER, 'Grace Hopper', 'viewer');
  await person('producer@acme.example', HARD_NAME.slice(0, 60), 'producer', 'github');
  await person(`${'long.'.repeat(12)}name@acme.example`, 'Edsger', 'consumer', 'google');
  const key = (name: string, ...scopes: string[]) =>
    send('POST', '/api/console/keys', { name, scopes });
  await key('checkout', 'produce');
  await key('billing worker', 'consume', 'read');
  const { id } = await key('of last year', 'admin');
  await send('DELETE', `/api/console/keys/${id}`);
  await key(HARD_NAME.slice(0, 60), 'produce', 'consume', 'read', 'admin');
}

/** By the login page, as a person; ends on the page of this path. */
export async function logIn(tab: Page, origin: string, email: string, path: string): Promise<void> {
  await tab.go(`${origin}/auth/login?next=${encodeURIComponent(path)}`);
  const typed = JSON.stringify({ email, password: PASSWORD });
  await tab
    .run(`new Promise((done) => {
    const typed = ${typed};
    for (const [name, value] of Object.entries(typed)) {
      document.querySelector('[name=' + name + ']').value = value;
    }
    addEventListener('pagehide', () => done());
    document.querySelector('form').submit();
  })`)
    .catch(() => {});
  await tab.run(`new Promise((done) => {
    const look = () => document.readyState === 'complete' && !location.pathname.startsWith('/auth')
      ? done() : setTimeout(look, 20);
    look();
  })`);
}
