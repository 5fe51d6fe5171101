// Goal: a session begins for whoever shows who they are and for nobody else, leads nowhere but
// here, and ends for good. Method: each route over a store in memory, with a clock that is moved.
import { generateKeyPairSync } from 'node:crypto';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Passwords } from '../credentials/passwords.js';
import { SessionTokens } from '../credentials/session-tokens.js';
import { CONTROL_PLANE } from '../records/batch.js';
import { done } from '../records/records.fake.js';
import { removeTenant, setTenantStatus } from '../records/tenants.js';
import { createUser } from '../records/users.js';
import { StoreUnavailableError } from '../store/kv.js';
import { localPath } from './local-path.js';
import type { OwnAnswer } from './route.js';
import { type Brings, bearer, codeOf, type RouteNode, routeNode, shown } from './routes.fake.js';

const PASSWORD = 'right & <long>';
let passwordHash: string;
let node: RouteNode;

beforeAll(async () => {
  passwordHash = await new Passwords().hash(PASSWORD);
});

beforeEach(async () => {
  node = await routeNode();
  const wanted = { tenantId: node.made.tenant.id, email: 'p@acme.example', passwordHash };
  const roles = [{ clusterId: node.made.cluster.id, role: 'consumer' }] as const;
  const { records } = node.parts;
  done(await createUser(records, CONTROL_PLANE, { ...wanted, roles, action: 'user_created' }));
});

const logIn = (fields: Brings, headers: Brings = {}) =>
  node.ask('POST /auth/login', new URLSearchParams(fields).toString(), headers);
const right = { email: ' P@acme.example', password: PASSWORD };
const headerOf = ({ headers }: OwnAnswer, name: string) => new Map(headers).get(name);
const cookieIn = (answer: OwnAnswer) => (headerOf(answer, 'Set-Cookie') ?? '').split(';')[0] ?? '';

describe('a login', () => {
  test('gives a cookie and leads to where it came from', async () => {
    const answer = await logIn({ ...right, next: '/queues?a=b' });
    expect([answer.status, headerOf(answer, 'Location')]).toEqual([303, '/queues?a=b']);
    expect(headerOf(answer, 'Set-Cookie')).toMatch(
      /^svc_session=[\w.-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=86400$/,
    );
    expect(headerOf(answer, 'Cache-Control')).toBe('no-store');
    const me = await node.ask('GET /auth/me', '', { cookie: cookieIn(answer) });
    expect(shown(me)).toEqual([
      200,
      {
        user_id: expect.any(String),
        email: 'p@acme.example',
        tenant_slug: 'acme',
        is_operator: false,
        operator_enabled: true,
        operator_live: false,
        acting_cluster: { id: node.made.cluster.id, slug: 'acme' },
        act_cluster_header: 'x-svc-act-cluster',
        role: 'viewer',
        cluster: null,
        clusters: [
          {
            id: node.made.cluster.id,
            slug: 'acme',
            role: 'consumer',
            tenant_slug: 'acme',
            tenant_id: node.made.tenant.id,
            status: 'active',
            cell_slug: 'local',
          },
        ],
      },
    ]);
  });

  test('over TLS, or for a domain, gives a secure cookie', async () => {
    expect(headerOf(await logIn(right, { 'x-tls': 'yes' }), 'Set-Cookie')).toMatch(/; Secure$/);
  });

  test('tells nothing of who there is', async () => {
    const wrong = [
      { email: 'p@acme.example', password: 'wrong' },
      { email: 'nobody@acme.example', password: PASSWORD },
      { email: 'admin@acme.example', password: '' },
      { email: 'no address', password: PASSWORD },
    ];
    const pages = await Promise.all(wrong.map((fields) => logIn(fields)));
    for (const [at, { status, body }] of pages.entries()) {
      expect(status).toBe(401);
      expect(String(body)).toContain('Invalid email or password.');
      const email = wrong[at]?.email ?? '';
      expect(String(body).replace(email, '')).toBe(
        String(pages[0]?.body).replace('p@acme.example', ''),
      );
    }
  });

  test('costs a hash whoever asks', async () => {
    const hashed: (string | undefined)[] = [];
    node.parts.passwords.verify = async (_password, hash) => {
      hashed.push(hash);
      return false;
    };
    await logIn(right);
    await logIn({ email: 'nobody@acme.example', password: 'x' });
    await logIn({ email: 'no address', password: 'x' });
    expect(hashed).toEqual([passwordHash, undefined, undefined]);
  });

  test('from one address is throttled before anything is read', async () => {
    node.parts.passwords.verify = async () => true;
    for (let i = 0; i < 10; i++) expect((await logIn(right)).status).toBe(303);
    node.records.store.get = async () => {
      throw new StoreUnavailableError('read');
    };
    const answer = await logIn(right);
    expect([answer.status, String(answer.body), headerOf(answer, 'Retry-After')]).toEqual([
      429,
      '{"error":"too many login attempts","code":"rate_limited"}',
      '60',
    ]);
  });

  test('of one account backs off from wherever it comes', async () => {
    node.parts.passwords.verify = async () => false;
    for (let i = 0; i < 6; i++) await logIn(right, { 'x-client': `192.0.2.${i}` });
    expect((await logIn(right, { 'x-client': '192.0.2.99' })).status).toBe(429);
    const others = { email: 'admin@acme.example', password: 'x' };
    expect((await logIn(others, { 'x-client': '192.0.2.98' })).status).toBe(401);
  });

  test.each([
    ['email=a&email=b&password=c', '400 invalid_request'],
    [`email=${'x'.repeat(20_000)}`, '413 payload_too_large'],
  ])('with a bad form: %.20s', async (form, told) => {
    expect(codeOf(await node.ask('POST /auth/login', form))).toBe(told);
  });

  test('where nothing can sign', async () => {
    const { clock, random } = node.records;
    const tokens = await SessionTokens.create({ issuer: 'i', clock, random });
    node = await routeNode({}, { tokens });
    expect(shown(await logIn(right))).toEqual([
      503,
      { error: 'logins are not configured', code: 'not_configured' },
    ]);
    const { status, body } = await node.ask('GET /auth/login');
    expect([status, String(body).includes('<form')]).toEqual([200, false]);
    expect(codeOf(await node.ask('GET /auth/session-token'))).toBe('503 not_configured');
  });
});

test.each([
  ['/', '/'],
  ['/a/b?c=d#e', '/a/b?c=d#e'],
  ['/\u00e4 b', '/%C3%A4%20b'],
  ['', '/'],
  ['a', '/'],
  ['//evil.example', '/'],
  ['/\\evil.example', '/'],
  ['/a?u=http://evil.example', '/'],
  ['/\t/evil.example', '/'],
  ['/a\r\nSet-Cookie: b=c', '/'],
  ['/\u0085', '/'],
  ['/\ud800', '/'],
  ['javascript:alert(1)', '/'],
  [`/${'x'.repeat(3_000)}`, '/'],
])('a path to go on to: %j', (text, path) => {
  expect(localPath(text)).toBe(path);
});

test('the page escapes what it is given and runs nothing', async () => {
  const evil = '"><script>alert(1)</script>';
  const { body, ...answer } = await logIn({ email: evil, password: 'x', next: `/${evil}` });
  expect(String(body)).not.toContain('<script');
  expect(String(body)).toContain('&quot;&gt;&lt;script&gt;');
  const policy = headerOf({ body, ...answer }, 'Content-Security-Policy') ?? '';
  expect(policy).toMatch(
    /^default-src 'none'; style-src 'sha256-[^']+'; img-src data:; form-action 'self'; /,
  );
  const shownPage = await node.ask('GET /auth/login?next=%2Fx');
  expect(String(shownPage.body)).toContain('name="next" value="/x"');
});

describe('a session', () => {
  const cookieOf = (token: string): Brings => ({ cookie: `svc_session=${token}` });
  const told = async (brings: Brings, at = 'GET /auth/me') => {
    const [status, body] = shown(await node.ask(at, '', brings));
    return `${status} ${(body as { readonly error: string }).error}`;
  };

  test('is what the cookie says and nothing else', async () => {
    const { bearer: token } = node.users.admin;
    expect(await told({})).toBe('401 no session');
    expect(await told(bearer(token))).toBe('401 no session');
    expect(await told(cookieOf('a.b.c'))).toBe('401 invalid session');
    expect(await told(cookieOf('a.b.c'), 'GET /auth/session-token')).toBe('401 invalid session');
    const [, key] = shown(await node.ask('GET /auth/me', '', bearer(node.apiKey)));
    expect(key).toMatchObject({ kind: 'api_key', cluster: { slug: 'acme' }, scopes: ['admin'] });
  });

  test('of an operator has every cluster', async () => {
    const [, me] = shown(await node.ask('GET /auth/me', '', cookieOf(node.users.operator.bearer)));
    expect(me).toMatchObject({
      is_operator: true,
      operator_live: true,
      clusters: [{ slug: 'acme', role: 'admin' }],
    });
  });

  test('acts nowhere where its user has no role', async () => {
    const brings = { ...cookieOf(node.users.viewer.bearer), host: 'other.example' };
    const [, me] = shown(await node.ask('GET /auth/me', '', brings));
    expect(me).toMatchObject({ acting_cluster: null });
  });

  test('ends with its logout; a short token of it lives on', async () => {
    const brings = cookieOf(node.users.admin.bearer);
    const [, short] = shown(await node.ask('GET /auth/session-token', '', brings));
    const { token, expires_in } = short as { readonly token: string; readonly expires_in: number };
    expect(expires_in).toBe(900);
    const answer = await node.ask('POST /auth/logout', '', brings);
    expect([answer.status, answer.body]).toEqual([200, '{"ok":true}']);
    const cleared = answer.headers.filter(([name]) => name === 'Set-Cookie');
    expect(cleared).toHaveLength(3);
    for (const [, cookie] of cleared) expect(cookie).toContain('Max-Age=0');
    expect(await told(brings)).toBe('401 session no longer valid');
    expect((await node.ask('GET /api/console/overview', '', bearer(token))).status).toBe(200);
    node.records.clock.advance(900_000);
    expect((await node.ask('GET /api/console/overview', '', bearer(token))).status).toBe(401);
  });

  test('is not made longer by its short bearers, which cannot renew themselves', async () => {
    const short = async (text: string) => {
      const [, body] = shown(await node.ask('GET /auth/session-token', '', cookieOf(text)));
      return body as { readonly token: string; readonly expires_in: number };
    };
    const first = await short(node.users.viewer.bearer);
    node.records.clock.advance(600_000);
    const renewed = await short(first.token);
    expect(renewed.expires_in).toBe(300);
    node.records.clock.advance(300_000);
    const { status } = await node.ask('GET /api/console/overview', '', bearer(renewed.token));
    expect(status).toBe(401);
  });

  test('is logged out here also while the store is away, and without one', async () => {
    node.records.store.batch = async () => {
      throw new StoreUnavailableError('away');
    };
    for (const brings of [cookieOf(node.users.admin.bearer), cookieOf('x'), {}]) {
      const answer = await node.ask('POST /auth/logout', '', brings);
      expect([answer.status, answer.body]).toEqual([200, '{"ok":true}']);
    }
    expect(node.logged).toEqual(['a session that logged out is not on the deny-list']);
  });
});

describe('a host that only verifies', () => {
  test('adopts a session for itself, and no other token', async () => {
    const pair = generateKeyPairSync('ed25519');
    const privatePem = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const publicPem = pair.publicKey.export({ type: 'spki', format: 'pem' }).toString();
    const { clock, random } = node.records;
    const about = { issuer: 'svc-proxy', clock, random };
    const signer = await SessionTokens.create({ ...about, privatePem });
    const portal = { url: 'https://login.example/?a&b', label: 'Portal' };
    const tokens = await SessionTokens.create({ ...about, publicPem });
    node = await routeNode({ portal }, { tokens });
    const token = await signer.sign(node.users.admin.id, 600);
    const adopt = (text: string, headers: Brings = {}) =>
      node.ask(`GET /auth/session-token?token=${text}&next=%2F%2Fevil.example`, '', headers);
    const answer = await adopt(token, { 'x-tls': 'yes' });
    expect([answer.status, headerOf(answer, 'Location')]).toEqual([303, '/']);
    expect(headerOf(answer, 'Set-Cookie')).toBe(
      `__Host-svc_session_cell=${token}; Path=/; HttpOnly; SameSite=Lax; Max-Age=600; Secure`,
    );
    expect(headerOf(answer, 'Referrer-Policy')).toBe('no-referrer');
    expect((await node.ask('GET /auth/me', '', { cookie: cookieIn(answer) })).status).toBe(200);
    for (const bad of ['', 'a.b.c', node.apiKey]) {
      expect(codeOf(await adopt(bad))).toBe('401 unauthorized');
    }
    const { body } = await node.ask('GET /auth/login');
    expect(String(body)).toContain('<a class="provider" href="https://login.example/?a&amp;b">');
  });

  test('is not what a host does that signs', async () => {
    const token = node.users.admin.bearer;
    const answer = await node.ask(`GET /auth/session-token?token=${token}`);
    expect(codeOf(answer)).toBe('401 unauthorized');
  });
});

describe('a page of the dashboard', () => {
  const BROWSER = { accept: 'text/html,*/*', 'sec-fetch-mode': 'navigate' };
  const cookie = (user: 'viewer' | 'operator') => ({
    cookie: `svc_session=${node.users[user].bearer}`,
  });

  test.each([
    ['/', '/auth/login'],
    ['/queues/a%20b?range=1h', '/auth/login?next=%2Fqueues%2Fa%2520b%3Frange%3D1h'],
    ['/a?to=http://evil.example', '/auth/login'],
    ['//evil.example/', '/auth/login'],
  ])('%s leads whoever has no session to the login, and back', async (path, login) => {
    const answer = await node.askPage(path, BROWSER);
    expect([answer?.status, answer && headerOf(answer, 'Location')]).toEqual([303, login]);
    expect((await node.askPage(path, { accept: 'TEXT/HTML' }))?.status).toBe(303);
  });

  test('is for sessions, whatever their role, and for keys that read', async () => {
    for (const brings of [cookie('viewer'), cookie('operator'), bearer(node.apiKey)]) {
      expect(await node.askPage('/queues', { ...BROWSER, ...brings })).toBeNull();
    }
    const ended = { cookie: 'svc_session=nonsense' };
    expect((await node.askPage('/', { ...BROWSER, ...ended }))?.status).toBe(303);
  });

  test('is not for people whose tenant was removed', async () => {
    const asked = () => node.askPage('/queues', { ...BROWSER, ...cookie('viewer') });
    expect(await asked()).toBeNull();
    const { records } = node.parts;
    done(await setTenantStatus(records, CONTROL_PLANE, 'acme', 'deleting'));
    done(await removeTenant(records, CONTROL_PLANE, 'acme'));
    expect((await asked())?.status).toBe(303);
  });

  test('is refused to programs that bring nothing, and while the store is away', async () => {
    const told = async (brings: Brings) => codeOf((await node.askPage('/', brings)) as OwnAnswer);
    const script = { 'sec-fetch-mode': 'cors', accept: 'text/html' };
    expect(await told({})).toBe('401 unauthorized');
    expect(await told({ ...script, cookie: 'svc_session=nonsense' })).toBe('401 unauthorized');
    node.records.store.get = async () => {
      throw new StoreUnavailableError('read');
    };
    expect(await told({ ...BROWSER, ...cookie('viewer') })).toBe('503 unavailable');
  });
});

describe('a refusal that a person sees', () => {
  const browser = { accept: 'text/html' };

  test('is the login page with the reason, and what was typed but the password', async () => {
    node.parts.passwords.verify = async () => true;
    for (let i = 0; i < 10; i++) await logIn(right);
    const answer = await logIn({ ...right, next: '/queues' }, browser);
    expect([answer.status, headerOf(answer, 'Retry-After')]).toEqual([429, '60']);
    const body = String(answer.body);
    expect(body).toContain('Too many login attempts. Try again in 60 seconds.');
    expect(body).toContain('name="next" value="/queues"');
    expect(body).toContain('P@acme.example');
    expect(body).not.toContain('right &amp;');
  });

  test.each([
    ['GET /auth/google', 404, 'This login is not configured.', '/'],
    ['GET /auth/google/callback?code=c', 404, 'This login is not configured.', '/'],
    ['GET /auth/session-token?token=t', 401, 'No session.', '/auth/session-token'],
    ['GET /auth/me', 401, 'No session.', '/auth/me'],
    ['GET /auth/nothing', 404, 'Not found.', '/'],
  ])('%s', async (at, status, text, next) => {
    const answer = await node.ask(at, '', browser);
    expect(answer.status).toBe(status);
    expect(String(answer.body)).toContain(text);
    expect(String(answer.body)).toContain(`name="next" value="${next}"`);
    const program = await node.ask(at, '', { accept: '*/*' });
    expect([program.status, JSON.parse(String(program.body)).code !== undefined]).toEqual([
      status,
      true,
    ]);
  });
});
