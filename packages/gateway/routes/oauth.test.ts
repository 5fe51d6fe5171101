// Goal: whoever a provider proves is logged in, and nobody else, in the browser that began it.
// Method: a real OpenID Connect server in this process, whose tokens are changed as a test says;
// GitHub's API, which no such server has, is answered by the fetch port.
import { type MutableToken, OAuth2Server } from 'oauth2-mock-server';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { GithubLogin, GoogleLogin, type ProviderFetch } from './login-provider.js';
import type { OwnAnswer } from './route.js';
import { codeOf, type RouteNode, routeNode } from './routes.fake.js';

const GITHUB_ENDPOINTS = {
  authorize: '/login/oauth/authorize',
  token: '/login/oauth/access_token',
};
const servers = {
  google: new OAuth2Server(),
  github: new OAuth2Server(undefined, undefined, { endpoints: GITHUB_ENDPOINTS }),
};
type Name = keyof typeof servers;
const names = ['google', 'github'] as const;

let claims: { readonly [name: string]: unknown };
let emails: object[];
let isAway: boolean;
/** The provider's keys cannot be had. */
let hasNoKeys: boolean;
/** How often they were asked for. */
let keysAsked: number;
let nowMs: number;
let node: RouteNode;

beforeAll(async () => {
  for (const server of Object.values(servers)) {
    await server.issuer.keys.generate('RS256');
    await server.start(0, '127.0.0.1');
    server.service.on('beforeTokenSigning', ({ payload }: MutableToken) => {
      Object.assign(payload, claims);
    });
  }
});

afterAll(async () => {
  for (const server of Object.values(servers)) await server.stop();
});

const providerFetch: ProviderFetch = async (url, options) => {
  if (isAway) throw new TypeError('fetch failed');
  const { pathname } = new URL(url);
  if (pathname === '/jwks') {
    keysAsked++;
    if (hasNoKeys) throw new TypeError('fetch failed');
  }
  if (pathname === '/api/v3/user') return Response.json({ id: 77 });
  if (pathname === '/api/v3/user/emails') return Response.json(emails);
  return fetch(url, options);
};

async function withProviders(config: Parameters<typeof routeNode>[0] = {}, domains: string[] = []) {
  const about = { clientId: 'client', clientSecret: 'secret', fetch: providerFetch };
  const baseOf = (name: Name) => servers[name].issuer.url ?? '';
  const google = { ...about, baseUrl: baseOf('google'), domains, nowMs: () => nowMs };
  const providers = [
    new GoogleLogin(google),
    new GithubLogin({ ...about, baseUrl: baseOf('github') }),
  ];
  return routeNode(config, { providers });
}

beforeEach(async () => {
  isAway = false;
  hasNoKeys = false;
  keysAsked = 0;
  nowMs = 0;
  prove('viewer@acme.example');
  node = await withProviders();
});

afterEach(() => {
  for (const server of Object.values(servers)) server.service.removeAllListeners('beforeResponse');
});

/** What both providers say of the account. */
function prove(email: string | undefined, isVerified = true, more: object = {}): void {
  claims = { sub: 'account', email, email_verified: isVerified, ...more };
  emails = [
    { email: 'other@acme.example', primary: false, verified: true },
    { email, primary: true, verified: isVerified },
  ];
}

const headersOf = ({ headers }: OwnAnswer, name: string) =>
  headers.filter(([one]) => one === name).map(([, value]) => value);

/** To the provider; what it sends back, and the cookie that goes with it. */
async function sentBack(name: Name, next = '/queues') {
  const started = await node.ask(`GET /auth/${name}?next=${encodeURIComponent(next)}`);
  expect(started.status).toBe(302);
  const [cookie = ''] = headersOf(started, 'Set-Cookie');
  const to = new URL(headersOf(started, 'Location')[0] ?? '');
  const answer = await fetch(to, { redirect: 'manual' });
  const back = new URL(answer.headers.get('location') ?? '');
  expect(back.origin + back.pathname).toBe(`http://acme.svc.example/auth/${name}/callback`);
  return { to, back, cookie: cookie.split(';')[0] ?? '' };
}

const callback = (name: Name, query: string, cookie: string) =>
  node.ask(`GET /auth/${name}/callback${query}`, '', { cookie });

async function logIn(name: Name, next?: string): Promise<OwnAnswer> {
  const { back, cookie } = await sentBack(name, next);
  return callback(name, back.search, cookie);
}

describe.each(names)('%s', (name) => {
  test('links a verified address to its user, and knows the account from then on', async () => {
    const answer = await logIn(name);
    expect([answer.status, headersOf(answer, 'Location')]).toEqual([303, ['/queues']]);
    const [cookie = '', cleared] = headersOf(answer, 'Set-Cookie');
    expect(cleared).toMatch(/^svc_login_state=; .*Max-Age=0$/);
    const me = await node.ask('GET /auth/me', '', { cookie: cookie.split(';')[0] ?? '' });
    expect(JSON.parse(String(me.body)).user_id).toBe(node.users.viewer.id);
    prove('moved@elsewhere.example');
    expect((await logIn(name)).status).toBe(303);
  });

  test('sends users back to where they came from, which is here', async () => {
    expect(headersOf(await logIn(name, '//evil.example'), 'Location')).toEqual(['/']);
  });

  test('proves nothing by an address that is not verified, or by none', async () => {
    prove('viewer@acme.example', false);
    expect(codeOf(await logIn(name))).toBe('403 email_unverified');
    prove(undefined);
    expect(codeOf(await logIn(name))).toBe('400 invalid_request');
  });

  test('makes a user of nobody, unless that is switched on', async () => {
    prove('New@acme.example');
    expect(codeOf(await logIn(name))).toBe('403 not_provisioned');
    for (const [tenant, told] of [
      [null, '500 internal_error'],
      ['none', '500 internal_error'],
      ['acme', null],
    ] as const) {
      node = await withProviders({ autoProvision: { tenant, role: 'consumer' } });
      const answer = await logIn(name);
      if (told === null) expect(answer.status).toBe(303);
      else expect(codeOf(answer)).toBe(told);
    }
    const row = await node.records.store.get('px.users.email', '#new@acme.example');
    const role = await node.parts.credentials.role(String(row?.value), node.made.cluster.id);
    expect(role).toBe('consumer');
  });

  test('counts in the browser that began it, for five minutes', async () => {
    const { back, cookie } = await sentBack(name);
    const other = await sentBack(name);
    for (const wrong of ['', 'svc_login_state=', other.cookie]) {
      expect(codeOf(await callback(name, back.search, wrong))).toBe('400 invalid_state');
    }
    for (const state of ['', 'x', 'a.b', `${back.searchParams.get('state')}x`]) {
      const answer = await callback(name, `?code=c&state=${state}`, cookie);
      expect(codeOf(answer)).toBe('400 invalid_state');
    }
    node.records.clock.advance(300_000);
    expect(codeOf(await callback(name, back.search, cookie))).toBe('400 invalid_state');
  });

  test('says no, or nothing, or does not answer', async () => {
    const { back, cookie } = await sentBack(name);
    const state = encodeURIComponent(back.searchParams.get('state') ?? '');
    for (const query of [`?state=${state}`, `?error=access_denied&state=${state}`]) {
      expect(codeOf(await callback(name, query, cookie))).toBe('400 invalid_request');
    }
    isAway = true;
    expect(codeOf(await callback(name, back.search, cookie))).toBe('502 bad_gateway');
    isAway = false;
    servers[name].service.once('beforeResponse', (response: { statusCode: number }) => {
      response.statusCode = 500;
    });
    expect(codeOf(await callback(name, back.search, cookie))).toBe('502 bad_gateway');
  });

  test('is not offered, or has no address to come back to', async () => {
    node = await routeNode();
    expect(codeOf(await node.ask(`GET /auth/${name}`))).toBe('404 not_configured');
    expect(codeOf(await node.ask(`GET /auth/${name}/callback`))).toBe('404 not_configured');
    node = await withProviders({ isAuthHost: true });
    expect(codeOf(await node.ask(`GET /auth/${name}`))).toBe('500 internal_error');
    node = await withProviders({ isAuthHost: true, publicUrl: 'https://login.example/' });
    const [to = ''] = headersOf(await node.ask(`GET /auth/${name}`), 'Location');
    const uri = new URL(to).searchParams.get('redirect_uri');
    expect(uri).toBe(`https://login.example/auth/${name}/callback`);
    const page = await node.ask('GET /auth/login?next=%2Fa%26b');
    expect(String(page.body)).toContain(`href="/auth/${name}?next=%2Fa%26b"`);
  });
});

describe('an id token', () => {
  test.each([
    ['of another client', { aud: 'other' }, '400 invalid_request'],
    ['of another issuer', { iss: 'https://evil.example' }, '400 invalid_request'],
    ['of another issuer without a scheme', { iss: 'evil.example' }, '400 invalid_request'],
    ['that ended', { exp: 1 }, '400 invalid_request'],
    ['of another login', { nonce: 'other' }, '400 invalid_state'],
  ])('%s', async (_, more, told) => {
    prove('viewer@acme.example', true, more);
    expect(codeOf(await logIn('google'))).toBe(told);
  });

  test('names its issuer with a scheme or without', async () => {
    const url = servers.google.issuer.url ?? '';
    prove('viewer@acme.example', true, { iss: url.replace('http://', '') });
    expect((await logIn('google')).status).toBe(303);
  });

  test('is checked by keys known for an hour, and longer where nobody answers', async () => {
    const statuses: number[] = [];
    const steps: (readonly [ms: number, isGone: boolean])[] = [
      [0, false],
      [3_599_999, true],
      [1, true],
      [0, false],
      [0, true],
    ];
    const asked: number[] = [];
    for (const [ms, isGone] of steps) {
      nowMs += ms;
      hasNoKeys = isGone;
      statuses.push((await logIn('google')).status);
      asked.push(keysAsked);
    }
    expect(statuses).toEqual([303, 303, 303, 303, 303]);
    expect(asked).toEqual([1, 1, 2, 3, 3]);
    // A key that is not among them is asked for at once.
    node = await withProviders();
    expect((await logIn('google')).status).toBe(502);
    hasNoKeys = false;
    expect((await logIn('google')).status).toBe(303);
  });

  test('that nobody signed', async () => {
    const { service } = servers.google;
    service.once('beforeResponse', ({ body }: { body: { id_token: string } }) => {
      const [head, payload] = body.id_token.split('.');
      body.id_token = `${head}.${payload}.${'A'.repeat(342)}`;
    });
    expect(codeOf(await logIn('google'))).toBe('400 invalid_request');
  });

  test('of a domain that may', async () => {
    node = await withProviders({}, ['acme.example']);
    const { to } = await sentBack('google');
    expect(to.searchParams.get('hd')).toBe('acme.example');
    expect((await logIn('google')).status).toBe(303);
    prove('viewer@acme.example', true, { hd: 'other.example' });
    expect(codeOf(await logIn('google'))).toBe('403 domain_not_allowed');
  });
});
