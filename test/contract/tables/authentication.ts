/**
 * Access levels (specification, Authentication; cluster-and-config 2.7). The levels of single
 * routes are walked, route by route, in `packages/broker/service/route-access.test.ts`. These rows
 * see that a process has them.
 */
import { expect } from 'vitest';
import type { Answer } from '../../process/http-client.js';
import type { BrokerUnderTest } from '../broker-under-test.js';
import {
  type Claims,
  newEd25519Signer,
  newRsaSigner,
  publicPem,
  type Signer,
  secondsFromNow,
  secretSigner,
  signedToken,
} from '../signed-token.js';
import type { ContractRow, ContractTable } from '../table.js';

const secret = secretSigner('the secret of the contract tables: 32 bytes');
const rsa = newRsaSigner();
const stranger = newRsaSigner();
const ed25519 = newEd25519Signer();

const ISSUER = 'https://issuer.test/';
const AUDIENCE = 'broker';
const SKEW_S = 60;

const STRICT = {
  JWT_ENABLED: 'true',
  JWT_ALGORITHM: 'auto',
  JWT_SECRET: String(secret.key),
  JWT_PUBLIC_KEY: publicPem(rsa),
  JWT_ISSUER: ISSUER,
  JWT_AUDIENCE: AUDIENCE,
  JWT_CLOCK_SKEW: `${SKEW_S}`,
  SVC_TENANCY_HEADER: 'true',
  SVC_KV_TRUSTED_PROXY: '1',
};

/** What the node accepts, but for what a row changes. */
function claimsOf(claims: Claims): Claims {
  return { iss: ISSUER, aud: AUDIENCE, exp: secondsFromNow(600), ...claims };
}

function bearer(claims: Claims, signer: Signer = secret): Readonly<Record<string, string>> {
  return { authorization: `Bearer ${signedToken(signer, claimsOf(claims))}` };
}

const LIST = '/api/v1/resources/queues';

/** A list of queues, for which reading is enough. */
function list(broker: BrokerUnderTest, headers: Readonly<Record<string, string>>): Promise<Answer> {
  return broker.client.get(LIST, { headers });
}

function refusal(row: string, does: string, claims: Claims, error: string): ContractRow {
  return {
    row,
    does,
    run: async (broker) => {
      const { status, text } = await list(broker, bearer({ role: 'admin', ...claims }));
      expect({ status, text }).toEqual({ status: 401, text: JSON.stringify({ error }) });
    },
  };
}

/** `claims` are made when the row runs, which may be minutes after the table was. */
function taken(row: string, does: string, claims: () => Claims, signer?: Signer): ContractRow {
  return {
    row,
    does,
    run: async (broker) => {
      expect((await list(broker, bearer({ role: 'admin', ...claims() }, signer))).status).toBe(200);
    },
  };
}

const ROLES = ['read-only', 'write-only', 'read-write', 'admin'] as const;
type Role = (typeof ROLES)[number];

/** One route of each level, and what a caller who may is answered. */
const OF_LEVEL = {
  public: { method: 'GET', path: '/health', body: undefined, status: 200 },
  'read-only': { method: 'GET', path: LIST, body: undefined, status: 200 },
  'write-only': { method: 'POST', path: '/api/v1/push', body: '{"items":[]}', status: 201 },
  'read-write': { method: 'GET', path: '/api/v1/pop/queue/q', body: undefined, status: 204 },
  admin: { method: 'DELETE', path: `${LIST}/none`, body: undefined, status: 200 },
} as const;

function level(name: keyof typeof OF_LEVEL, roles: readonly Role[]): ContractRow {
  const { method, path, body, status } = OF_LEVEL[name];
  return {
    row: name,
    does: `${method} ${path} is for ${roles.join(', ')} and nobody else`,
    run: async (broker) => {
      for (const role of ROLES) {
        const headers = bearer({ role });
        const answer = await broker.client.send(method, path, body, { headers });
        const expected = roles.includes(role) ? status : 403;
        expect(answer.status, role).toBe(expected);
        if (expected === 403) expect(answer.text).toBe('{"error":"Insufficient permissions"}');
      }
    },
  };
}

export const levels: ContractTable = {
  section: 'specification authentication',
  environment: STRICT,
  reader: () => bearer({ role: 'admin' }),
  rows: [
    {
      row: 'Authorization: Bearer',
      does: 'lets in, in any case of the word, and a bare token too',
      run: async (broker) => {
        const token = signedToken(secret, claimsOf({ role: 'admin' }));
        for (const authorization of [`Bearer ${token}`, `bearer ${token}`, token]) {
          expect((await list(broker, { authorization })).status).toBe(200);
        }
      },
    },
    {
      row: 'algorithms',
      does: 'a secret and a PEM at once; each is good for its own algorithm alone',
      run: async (broker) => {
        expect((await list(broker, bearer({ role: 'admin' }, secret))).status).toBe(200);
        expect((await list(broker, bearer({ role: 'admin' }, rsa))).status).toBe(200);
        const pem = secretSigner(publicPem(rsa));
        const forged = await list(broker, bearer({ role: 'admin' }, pem));
        expect(forged.text).toBe('{"error":"Invalid token signature"}');
        const other = await list(broker, bearer({ role: 'admin' }, ed25519));
        expect(other.text).toBe('{"error":"Unsupported token algorithm"}');
        expect([forged.status, other.status]).toEqual([401, 401]);
      },
    },
    level('public', ROLES),
    level('read-only', ['read-only', 'read-write', 'admin']),
    level('write-only', ['write-only', 'read-write', 'admin']),
    level('read-write', ['read-write', 'admin']),
    level('admin', ['admin']),
    {
      row: 'unknown path',
      does: 'asks for read-write before it says that there is nothing',
      run: async (broker) => {
        const statusFor = async (headers: Readonly<Record<string, string>>) =>
          (await broker.client.get('/api/v1/nothing', { headers })).status;
        expect(await statusFor({})).toBe(401);
        expect(await statusFor(bearer({ role: 'read-only' }))).toBe(403);
        expect(await statusFor(bearer({ role: 'write-only' }))).toBe(403);
        expect(await statusFor(bearer({ role: 'read-write' }))).toBe(404);
        expect(await statusFor(bearer({ role: 'admin' }))).toBe(404);
      },
    },
    {
      row: 'public routes',
      does: 'need no token: health, metrics, the page and its files',
      run: async (broker) => {
        const statusOf = async (path: string) => (await broker.client.get(path)).status;
        const pages = ['/', '/favicon.svg', '/queues/some'];
        for (const path of ['/health', '/metrics', '/metrics/prometheus', ...pages]) {
          expect(await statusOf(path), path).toBe(200);
        }
        expect(await statusOf('/assets/none.js')).toBe(404);
        expect(await statusOf('/openapi.json')).toBe(401);
        const me = await broker.client.get('/auth/me');
        expect(me.status).toBe(401);
        expect(me.text).toBe('{"error":"auth_required","code":"auth_required"}');
      },
    },
    {
      row: 'producerSub',
      does: 'is the subject of the token, of a push as of each of its messages; never the body',
      run: async (broker) => {
        const { queue } = broker;
        const items = [
          { queue, payload: 1, producerSub: 'forged' },
          { queue, payload: 2 },
        ];
        const asMe = { headers: bearer({ role: 'write-only', sub: 'me' }) };
        const asNobody = { headers: bearer({ role: 'write-only' }) };
        expect((await broker.client.post('/api/v1/push', { items }, asMe)).status).toBe(201);
        const last = { items: [{ queue, payload: 3, producerSub: 'forged' }] };
        expect((await broker.client.post('/api/v1/push', last, asNobody)).status).toBe(201);
        const asReader = { headers: bearer({ role: 'read-write', sub: 'reader' }) };
        const { text } = await broker.client.get(`/api/v1/pop/queue/${queue}`, asReader);
        const { messages } = JSON.parse(text) as { messages: { producerSub: string | null }[] };
        expect(messages.map(({ producerSub }) => producerSub)).toEqual(['me', 'me', null]);
      },
    },
    {
      row: 'producerSub',
      does: 'of a push in a transaction too; and it stays with a message that died',
      run: async (broker) => {
        const { client, queue } = broker;
        const as = (sub: string) => ({ headers: bearer({ role: 'admin', sub }) });
        const operation = { type: 'push', items: [{ queue, payload: 1, transactionId: 't1' }] };
        const transaction = { operations: [operation] };
        expect((await client.post('/api/v1/transaction', transaction, as('me'))).status).toBe(200);
        const popped = await client.get(`/api/v1/pop/queue/${queue}?wait=true`, as('reader'));
        const { messages } = JSON.parse(popped.text) as {
          messages: { producerSub: string; partitionId: string; leaseId: string }[];
        };
        expect(messages.map(({ producerSub }) => producerSub)).toEqual(['me']);
        const [{ partitionId, leaseId } = { partitionId: '', leaseId: '' }] = messages;
        const dlq = { transactionId: 't1', partitionId, leaseId, status: 'dlq' };
        expect((await client.post('/api/v1/ack', dlq, as('reader'))).text).toContain('"dlq":true');
        for (const path of [
          `/api/v1/messages?queue=${queue}`,
          `/api/v1/messages/${partitionId}/t1`,
        ]) {
          const { text } = await client.get(path, as('reader'));
          expect(text, path).toContain('"producerSub":"me"');
        }
      },
    },
    {
      row: 'tenant header',
      does: 'is looked at after the token; a tenant sees nothing of another',
      run: async (broker) => {
        const headers = { 'x-svc-tenant': 'no uuid' };
        expect((await list(broker, headers)).status).toBe(401);
        const admin = bearer({ role: 'admin' });
        expect((await list(broker, { ...headers, ...admin })).status).toBe(400);
        await broker.client.post('/api/v1/configure', { queue: broker.queue }, { headers: admin });
        expect((await list(broker, admin)).text).toContain(`"${broker.queue}"`);
        const other = { 'x-svc-tenant': 'c0ffee01-0000-4000-8000-000000000000' };
        expect((await list(broker, { ...admin, ...other })).text).not.toContain(broker.queue);
      },
    },
  ],
};

export const tokenTexts: ContractTable = {
  section: 'cluster-and-config 2.7',
  environment: STRICT,
  reader: () => bearer({ role: 'admin' }),
  rows: [
    {
      row: 'Authentication required',
      does: 'no token',
      send: `GET ${LIST}`,
      answer: {
        status: 401,
        text: '{"error":"Authentication required"}',
        headers: { 'www-authenticate': 'Bearer' },
      },
    },
    {
      row: 'Bad token header',
      does: 'what is no token',
      send: `GET ${LIST}`,
      headers: { authorization: 'Bearer token' },
      answer: { status: 401, text: '{"error":"Bad token header"}' },
    },
    {
      row: 'Invalid token signature',
      does: 'signed by somebody else',
      run: async (broker) => {
        const { status, text } = await list(broker, bearer({ role: 'admin' }, stranger));
        expect({ status, text }).toEqual({
          status: 401,
          text: '{"error":"Invalid token signature"}',
        });
      },
    },
    refusal('Token has expired', 'exp is over', { exp: 1_000_000_000 }, 'Token has expired'),
    refusal('Token not yet valid', 'nbf is to come', { nbf: 9e9 }, 'Token not yet valid'),
    refusal('Token issued in the future', 'by iat', { iat: 9e9 }, 'Token issued in the future'),
    refusal('Invalid token issuer', 'another one', { iss: 'x' }, 'Invalid token issuer'),
    refusal('Invalid token issuer', 'none', { iss: undefined }, 'Invalid token issuer'),
    refusal('Invalid token audience', 'another one', { aud: 'x' }, 'Invalid token audience'),
    refusal('Invalid token audience', 'none', { aud: undefined }, 'Invalid token audience'),
    {
      row: 'Unsupported token algorithm',
      does: '`none`, and an algorithm without a key here',
      run: async (broker) => {
        const [, body] = signedToken(secret, claimsOf({ role: 'admin' })).split('.');
        const header = Buffer.from('{"alg":"none"}').toString('base64url');
        const { status, text } = await list(broker, { authorization: `${header}.${body}.` });
        expect({ status, text }).toEqual({
          status: 401,
          text: '{"error":"Unsupported token algorithm"}',
        });
      },
    },
    taken('JWT_ISSUER', 'the one that is configured', () => ({ iss: ISSUER })),
    taken('JWT_AUDIENCE', 'a string', () => ({ aud: AUDIENCE })),
    taken('JWT_AUDIENCE', 'one of an array', () => ({ aud: ['x', AUDIENCE] })),
    taken('JWT_CLOCK_SKEW', 'exp may be over by it', () => ({ exp: secondsFromNow(-SKEW_S / 2) })),
    taken('JWT_CLOCK_SKEW', 'nbf may be to come by it', () => ({
      nbf: secondsFromNow(SKEW_S / 2),
    })),
    taken('JWT_CLOCK_SKEW', 'iat may be to come by it', () => ({
      iat: secondsFromNow(SKEW_S / 2),
    })),
    taken('JWT_CLOCK_SKEW', 'a token without exp does not end', () => ({ exp: undefined })),
    taken('JWT_PUBLIC_KEY', 'PEM of RSA', () => ({}), rsa),
    taken('JWT_SECRET', 'its bytes are the key of HMAC', () => ({}), secret),
  ],
};

const OWN_NAMES = {
  JWT_ENABLED: 'yes',
  JWT_ALGORITHM: 'EdDSA',
  JWT_PUBLIC_KEY: publicPem(ed25519).replaceAll('\n', '\\n'),
  JWT_SKIP_PATHS: '/api/v1/push,/api/v1/pop/',
  JWT_ROLES_CLAIM: 'https://issuer.test/role',
  JWT_ROLES_ARRAY_CLAIM: 'groups',
  JWT_ROLE_ADMIN: 'ops',
  JWT_ROLE_READ_WRITE: 'services',
  JWT_ROLE_READ_ONLY: 'people',
  JWT_ROLE_WRITE_ONLY: 'sensors',
};

function named(row: string, name: string, statuses: readonly number[]): ContractRow {
  return {
    row,
    does: `"${name}" in either claim is that role`,
    run: async (broker) => {
      for (const claims of [{ 'https://issuer.test/role': name }, { groups: ['x', name] }]) {
        const token = signedToken(ed25519, { ...claims, exp: secondsFromNow(60) });
        const headers = { authorization: token };
        const calls = [
          broker.client.get(LIST, { headers }),
          broker.client.post('/api/v1/transaction', '{"operations":[]}', { headers }),
          broker.client.send('DELETE', `${LIST}/none`, undefined, { headers }),
        ];
        const answers = await Promise.all(calls);
        expect(answers.map(({ status }) => (status === 403 ? 403 : 200))).toEqual(statuses);
      }
    },
  };
}

export const ownNames: ContractTable = {
  section: 'cluster-and-config 2.7',
  environment: OWN_NAMES,
  reader: () => ({
    authorization: signedToken(ed25519, { groups: ['people'], exp: secondsFromNow(60) }),
  }),
  rows: [
    {
      row: 'JWT_SKIP_PATHS',
      does: 'an entry is a path, or with `/` at its end a prefix; what is public stays so',
      run: async (broker) => {
        const { client } = broker;
        expect((await client.post('/api/v1/push', { items: [] })).status).toBe(201);
        expect((await client.get('/api/v1/pop/queue/none')).status).toBe(204);
        expect((await client.get('/api/v1/pop?namespace=none')).status).toBe(401);
        expect((await client.get(LIST)).status).toBe(401);
        for (const path of ['/health', '/metrics', '/metrics/prometheus', '/']) {
          expect((await client.get(path)).status, path).toBe(200);
        }
      },
    },
    named('JWT_ROLE_ADMIN', 'ops', [200, 200, 200]),
    named('JWT_ROLE_READ_WRITE', 'services', [200, 200, 403]),
    named('JWT_ROLE_READ_ONLY', 'people', [200, 403, 403]),
    named('JWT_ROLE_WRITE_ONLY', 'sensors', [403, 403, 403]),
    named('JWT_ROLES_CLAIM / JWT_ROLES_ARRAY_CLAIM', 'admin', [403, 403, 403]),
    {
      row: 'JWT_ALGORITHM',
      does: 'EdDSA takes nothing else',
      run: async (broker) => {
        const claims = { groups: ['ops'], exp: secondsFromNow(60) };
        const statusOf = async (signer: Signer) =>
          (await list(broker, { authorization: signedToken(signer, claims) })).status;
        expect(await statusOf(ed25519)).toBe(200);
        expect(await statusOf(rsa)).toBe(401);
        expect(await statusOf(secretSigner(publicPem(ed25519)))).toBe(401);
        expect(await statusOf(newEd25519Signer())).toBe(401);
      },
    },
  ],
};

/** On the places that all share, where nothing is checked. */
export const checkOff: ContractTable = {
  section: 'cluster-and-config 2.7',
  rows: [
    {
      row: 'JWT_ENABLED',
      does: 'off, no token is asked for or looked at',
      send: `GET ${LIST}`,
      headers: { authorization: 'Bearer nonsense' },
      answer: { status: 200 },
    },
    {
      row: 'JWT_ENABLED',
      does: 'off, no message has a subject',
      run: async (broker) => {
        const headers = { authorization: signedToken(secret, { sub: 'me', role: 'admin' }) };
        const body = { items: [{ queue: broker.queue, payload: 1 }] };
        expect((await broker.client.post('/api/v1/push', body, { headers })).status).toBe(201);
        const { text } = await broker.client.get(`/api/v1/pop/queue/${broker.queue}?wait=true`);
        expect(text).toContain('"producerSub":null');
      },
    },
    {
      row: 'JWT_ENABLED',
      does: "off, the dashboard is told that it is one operator's broker",
      send: 'GET /auth/me',
      answer: { status: 200, body: { standalone: true, role: 'admin', user_id: 'standalone' } },
    },
  ],
};
