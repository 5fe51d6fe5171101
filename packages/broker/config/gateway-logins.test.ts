// Goal: what the environment says of logins reaches the gateway, and what cannot be ends the boot
// with a text that names it. Method: environments through `readConfig` and `gatewaySettings`.
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
    SVC_PROXY_AUTOPROVISION_TENANT: 'acme',
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
])('%s=%s ends the boot', (name, value, why) => {
  const config = readConfig({ [name]: value }, 'here');
  expect(config).toMatchObject({ kind: 'refused', error: expect.stringContaining(why) });
  expect(config).toMatchObject({ error: expect.stringContaining(`${name}=${value}`) });
});
