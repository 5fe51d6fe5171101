// Goal: what the environment says of the gateway reaches it, and what cannot be ends the boot with
// a text that names it, before anything listens. Method: environments through `readConfig` and
// `gatewaySettings`.
import { expect, test } from 'vitest';
import { gatewaySettings } from '../gateway/settings.js';
import { type Config, readConfig } from './config.js';

function settingsOf(environment: Record<string, string>) {
  return gatewaySettings(readConfig(environment, 'here') as Config);
}

test('blank is unset, a blank secret too', () => {
  const names = ['CP_TOKEN', 'JWT_SECRET', 'OAUTH_STATE_SECRET', 'PUBLIC_URL', 'COOKIE_DOMAIN'];
  const blank = Object.fromEntries(names.map((name) => [`SVC_PROXY_${name}`, ' ']));
  const { GOOGLE_CLIENT_ID, ...given } = { ...blank, GOOGLE_CLIENT_ID: 'id' };
  for (const environment of [given, { ...given, GOOGLE_CLIENT_ID, GOOGLE_CLIENT_SECRET: '' }]) {
    expect(settingsOf(environment)).toEqual(settingsOf({}));
  }
});

test('operators: unset leaves them, blank names nobody', () => {
  const operators = (text: string) => settingsOf({ SVC_PROXY_OPERATORS: text }).boot.operators;
  expect(settingsOf({}).boot.operators).toBeNull();
  expect([operators(''), operators('a@b, c@d')]).toEqual([[], ['a@b', 'c@d']]);
});

test('the audience is the host of the public URL, and states are signed as sessions are', () => {
  const url = { SVC_PROXY_PUBLIC_URL: 'https://svc.example:8443/', SVC_PROXY_JWT_SECRET: 's' };
  const { tokens, stateSecret, routes } = settingsOf(url);
  expect([tokens.audience, stateSecret, routes.publicUrl]).toEqual([
    'svc.example:8443',
    's',
    'https://svc.example:8443/',
  ]);
  expect(settingsOf({ ...url, SVC_PROXY_JWT_AUD: 'other' }).tokens.audience).toBe('other');
  expect(settingsOf({ ...url, SVC_PROXY_OAUTH_STATE_SECRET: 't' }).stateSecret).toBe('t');
});

test('providers, and whom they bring', () => {
  const { providers, routes } = settingsOf({
    GOOGLE_CLIENT_ID: 'g',
    GOOGLE_CLIENT_SECRET: 'gs',
    GOOGLE_ALLOWED_DOMAINS: 'A.example',
    GITHUB_CLIENT_ID: 'alone',
    SVC_PROXY_GOOGLE_BASE_URL: 'http://127.0.0.1:9',
    SVC_PROXY_AUTOPROVISION: 'true',
    SVC_PROXY_AUTOPROVISION_TENANT: 'Acme',
    SVC_PROXY_DEFAULT_ROLE: 'emperor',
    SVC_PROXY_AUTH_PORTAL_URL: 'https://login.example/x',
  });
  const google = { clientId: 'g', clientSecret: 'gs', baseUrl: 'http://127.0.0.1:9' };
  expect(providers).toEqual({ google: { ...google, domains: ['a.example'] }, github: null });
  expect(routes.autoProvision).toEqual({ tenant: 'acme', role: 'viewer' });
  const url = 'https://login.example/x';
  expect(routes.portal).toEqual({ url, label: 'Log in at login.example' });
});

test.each([
  ['SVC_PROXY_AUTH_PORTAL_URL', 'javascript:alert(1)', 'not a URL of http or https'],
  ['SVC_PROXY_PUBLIC_URL', 'svc.example', 'not a URL of http or https'],
  ['SVC_PROXY_COOKIE_DOMAIN', 'a; Path=/x', 'not a domain'],
  ['SVC_PROXY_OPERATORS', 'nobody', 'not an address of mail'],
  ['SVC_PROXY_PORT', 'abc', 'not a port (expected a number from 0 to 65535)'],
  ['SVC_PROXY_PORT', '65536', 'not a port'],
  ['SVC_PROXY_BIND_ADDR', '0.0.0.0:80', 'carries a port'],
  ['SVC_PROXY_DEFAULT_CLUSTER', 'a.b', 'not a slug'],
  ['SVC_PROXY_AUTOPROVISION_TENANT', 'a b', 'not a slug'],
  ['SVC_PROXY_COOKIE_NAME', 'a;b', 'not the name of a cookie'],
  ['SVC_PROXY_BOOTSTRAP_TENANT', '-', 'not a slug'],
  ['SVC_PROXY_BOOTSTRAP_EMAIL', 'x', 'not an address of mail'],
  ['SVC_PROXY_BOOTSTRAP_PLAN', '9', 'not the code of a plan'],
  ['SVC_EDGE_RPS_PER_IP', 'many', 'not a whole number from 0 on'],
  ['SVC_EDGE_BURST_PER_IP', '0', 'not a whole number from 1 on'],
  ['SVC_EDGE_IPV6_PREFIX', '129', 'not a whole number from 1 to 128'],
  ['SVC_EDGE_MAX_HEADERS', '1k', 'not a whole number from 1 on'],
  ['SVC_LOGIN_LOCKOUT_S', '-1', 'not a whole number from 0 on'],
])('%s=%s ends the boot', (name, value, why) => {
  const config = readConfig({ [name]: value }, 'here');
  expect(config).toMatchObject({ kind: 'refused', error: expect.stringContaining(why) });
  expect(config).toMatchObject({ error: expect.stringContaining(`${name}=${value}`) });
});

test.each([
  ['API_KEY', 'x', 'must begin with qk_ and have at most 256 characters'],
  ['API_KEY', `qk_${'x'.repeat(254)}`, 'must begin with qk_ and have at most 256 characters'],
])('a bad secret ends the boot, and is not shown: %s', (what, secret, rule) => {
  const name = `SVC_PROXY_BOOTSTRAP_${what}`;
  expect(readConfig({ [name]: secret }, 'here')).toMatchObject({ error: `${name} ${rule}` });
});

test('names are as the records have them', () => {
  const { boot, host, passage, port } = settingsOf({
    SVC_PROXY_BOOTSTRAP_TENANT: ' Acme ',
    SVC_PROXY_BOOTSTRAP_EMAIL: 'Ann@Acme.example',
    SVC_PROXY_BOOTSTRAP_PASSWORD: ' two words ',
    SVC_PROXY_DEFAULT_CLUSTER: 'Acme',
    SVC_PROXY_PORT: ' 8080 ',
    SVC_PROXY_BIND_ADDR: '[::1]',
  });
  expect([host, port, passage.defaultCluster]).toEqual(['::1', 8080, 'acme']);
  const password = ' two words ';
  expect(boot.bootstrap).toMatchObject({ tenant: 'acme', email: 'ann@acme.example', password });
});
