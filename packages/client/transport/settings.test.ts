// Goal: options are checked when the client is made, and a refusal says what to write instead.
import { expect, test } from 'vitest';
import { type ClientOptions, settingsOf } from './settings.js';

const url = 'http://127.0.0.1:6632';

test('the defaults', () => {
  expect(settingsOf(url)).toMatchObject({
    urls: [url],
    timeoutMs: 30_000,
    attemptsMax: 3,
    retryDelayMs: 1000,
    strategy: 'affinity',
    placesPerServer: 128,
    failover: true,
    healthRetryMs: 5000,
    retry429: { maxAttempts: 10, baseMs: 500, capMs: 30_000 },
    handleSignals: false,
  });
  expect(settingsOf([url, `${url}/`, `${url}/?`, `${url}/#`]).urls).toEqual([url]);
  expect(settingsOf({ url, timeoutMillis: '1.5m' }).timeoutMs).toBe(90_000);
});

const REFUSED: readonly [options: unknown, text: string][] = [
  [undefined, "not undefined: write new Client('http://127.0.0.1:6632')"],
  [{}, 'needs the address of a broker: write new Client('],
  [[], 'needs the address of a broker'],
  [
    '127.0.0.1:6632',
    '"127.0.0.1:6632" does not begin with http:// or https://: write it like http',
  ],
  ['http://', 'cannot be read'],
  ['http://user:pw@h', 'has a credential in it, which goes into bearerToken or headers'],
  ['http://h/?x=1', 'has a query or a fragment'],
  [{ url, urls: [url] }, 'url and urls are both given: write one of them'],
  [{ url, timeout: 5 }, 'no option timeout: write timeoutMillis'],
  [{ url, token: 'x' }, 'no option token: write bearerToken'],
  [{ url, servers: [url] }, 'no option servers: write urls'],
  [{ url, retry429: { max: 3 } }, 'retry429 has no option max: write maxAttempts'],
  [{ url, colour: 5 }, 'no option colour: its options are url, urls'],
  [{ url, timeoutMillis: 'soon' }, 'timeoutMillis is "soon": write a number of milliseconds, or a'],
  [{ url, timeoutMillis: 0 }, 'at least 1 ms'],
  [{ url, retryAttempts: 0 }, 'retryAttempts is 0: write a whole number from 1'],
  [{ url, affinityHashRing: 1e6 }, 'write a whole number from 1 to 4096'],
  [
    { url, loadBalancingStrategy: 'rr' },
    'is "rr": write one of "affinity", "round-robin", "session"',
  ],
  [{ url, enableFailover: 'no' }, 'enableFailover is "no": write true or false'],
  [{ url, bearerToken: 'Bearer x' }, 'write the token alone, without "Bearer "'],
  [{ url, bearerToken: 'x', headers: { Authorization: 'y' } }, 'write one of them'],
  [{ url, headers: { Host: 'x' } }, 'write hostHeader instead'],
  [{ url, headers: { a: 1 } }, 'the header a is 1: write a text'],
  [
    { url, headers: { a: 'x\r\nb: y' } },
    'headers has "a": "x\\r\\nb: y", which cannot be sent: write',
  ],
  [{ url, headers: { 'a b': 'x' } }, 'headers has "a b": "x", which cannot be sent'],
  [{ url, headers: { a: '😀' } }, 'which cannot be sent'],
  [{ url, hostHeader: 'a\r\nb' }, 'hostHeader is "a\\r\\nb": write a host name like'],
  [{ url, hostHeader: 7 }, 'hostHeader is 7: write a host name'],
  [{ url, fetch: 5 }, 'fetch is 5: write a function'],
  [{ url, logger: {} }, 'logger needs the functions warn and error'],
  [{ url, retry429: { maxAttempts: 1.5 } }, 'retry429.maxAttempts is 1.5: write a whole number'],
];

test.each(REFUSED)('refused: %j', (options, text) => {
  expect(() => settingsOf(options as ClientOptions)).toThrow(TypeError);
  expect(() => settingsOf(options as ClientOptions)).toThrow(text);
});
