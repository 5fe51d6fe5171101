// Goal: three nodes that check tokens by a provider's key set agree on who may do what; a subject
// travels with its message from whichever node took it; keys are turned over while the cluster
// runs, and a provider that is away costs nobody whose key is known. Method: real processes and a
// provider that the test plays.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  type Claims,
  newEd25519Signer,
  newRsaSigner,
  publicJwk,
  type Signer,
  secondsFromNow,
  signedToken,
} from '../contract/signed-token.js';
import type { HttpClient } from '../process/http-client.js';
import { sleep } from '../process/node-under-test.js';
import { Cluster } from './cluster.js';

/** Publishes keys; null: it is away. */
class Provider {
  keys: readonly Signer[] | null;
  fetches = 0;
  readonly #server: Server;

  private constructor(keys: readonly Signer[] | null) {
    this.keys = keys;
    this.#server = createServer((_, response) => {
      this.fetches++;
      if (this.keys === null) response.destroy();
      else response.end(JSON.stringify({ keys: this.keys.map(publicJwk) }));
    });
  }

  static async open(keys: readonly Signer[] | null): Promise<Provider> {
    const provider = new Provider(keys);
    await new Promise<void>((resolve) => provider.#server.listen(0, '127.0.0.1', resolve));
    return provider;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/keys`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

const first = newRsaSigner('first');
const second = newEd25519Signer('second');
/** Between two fetches for an unknown key. */
const PAUSE_MS = 5000;

let provider: Provider;
let cluster: Cluster;
let failed = true;

beforeAll(async () => {
  provider = await Provider.open([first]);
  const environment = {
    JWT_ENABLED: 'true',
    JWT_ALGORITHM: 'auto',
    JWT_JWKS_URL: provider.url,
    // The harness asks without a token who leads.
    JWT_SKIP_PATHS: '/health,/api/v1/raft/',
  };
  cluster = await Cluster.create({ size: 3, environment });
  await cluster.startAll();
  await cluster.waitForLeader();
});

afterAll(async () => {
  await cluster.close(failed);
  provider.close();
});

function headers(signer: Signer, claims: Claims) {
  const token = signedToken(signer, { exp: secondsFromNow(600), ...claims });
  return { headers: { authorization: `Bearer ${token}` } };
}

async function push(client: HttpClient, queue: string, signer: Signer, sub: string) {
  const body = { items: [{ queue, payload: sub, producerSub: 'forged' }] };
  const answer = await client.post('/api/v1/push', body, headers(signer, { role: 'admin', sub }));
  return answer.status === 201 ? 'in' : `${answer.status} ${answer.text}`;
}

async function refusal(client: HttpClient, signer: Signer): Promise<string> {
  const reader = headers(signer, { role: 'read-only', n: Math.random() });
  const { status, text } = await client.get('/api/v1/resources/queues', reader);
  return `${status} ${text.slice(0, 40)}`;
}

const UNKNOWN = '401 {"error":"Unknown key ID"}';

it('every node checks, and the subject travels to whoever pops', async () => {
  for (const [at, client] of cluster.clients.entries()) {
    expect(await push(client, 'q', first, `sub ${at}`)).toBe('in');
    const nobody = await client.post('/api/v1/push', { items: [] });
    expect([nobody.status, nobody.text]).toEqual([401, '{"error":"Authentication required"}']);
    const reader = headers(first, { role: 'read-only' });
    expect((await client.post('/api/v1/push', { items: [] }, reader)).status).toBe(403);
  }
  for (const [at, client] of cluster.clients.entries()) {
    const group = `/api/v1/pop/queue/q?consumerGroup=g${at}&wait=true`;
    const { text } = await client.get(group, headers(first, { roles: ['read-write'] }));
    const { messages } = JSON.parse(text) as {
      messages: { data: string; producerSub: string }[];
    };
    expect(messages.map(({ data }) => data)).toEqual(['sub 0', 'sub 1', 'sub 2']);
    for (const { data, producerSub } of messages) expect(producerSub).toBe(data);
  }
});

it('keys are turned over, and a provider that is away is not missed', async () => {
  const before = provider.fetches;
  provider.keys = [first, second];
  for (const client of cluster.clients) {
    const untilMs = Date.now() + PAUSE_MS + 2000;
    for (;;) {
      const outcome = await push(client, 'q', second, 's');
      if (outcome === 'in') break;
      expect(outcome).toBe(UNKNOWN);
      expect(Date.now()).toBeLessThan(untilMs);
      await sleep(50);
    }
  }
  expect(provider.fetches - before).toBe(cluster.clients.length);
  provider.keys = null;
  for (const client of cluster.clients) {
    expect(await push(client, 'q', first, 'f')).toBe('in');
    expect(await refusal(client, newRsaSigner('third'))).toBe(UNKNOWN);
  }
  failed = false;
});
