// Goal: the small rules of the edge are as the contract has them (gateway 3). Method: tables.
import { describe, expect, test } from 'vitest';
import { edgeTimeoutMs } from './deadlines.js';
import { HeadBounds } from './head-bounds.js';
import { type Claims, Origins } from './origins.js';
import { isSecure, SecurityHeaders } from './security-headers.js';

const NONE: Claims = { method: 'POST', host: 'svc.example', origin: '', referer: '', site: '' };
const ORIGINS = new Origins({
  corsOrigins: ['https://app.example'],
  corsHeaders: 'authorization, content-type, x-request-id',
  publicOrigins: ['https://public.example'],
});

describe('a write', () => {
  test.each<[string, Partial<Claims>, boolean, boolean]>([
    ['of the own origin', { origin: 'https://svc.example' }, true, true],
    ['of the own origin, in capitals', { origin: 'HTTPS://SVC.example' }, true, true],
    ['of the own host at another port', { origin: 'https://svc.example:8443' }, true, false],
    ['of a host that ends alike', { origin: 'https://evil-svc.example' }, true, false],
    ['of an allowed origin', { origin: 'https://app.example' }, true, true],
    ['of a public origin', { origin: 'https://public.example' }, true, true],
    ['of an opaque origin', { origin: 'null' }, true, false],
    ['of another scheme', { origin: 'app://svc.example' }, true, false],
    ['of another origin without a cookie', { origin: 'https://evil.example' }, false, false],
    ['with the own referer', { referer: 'https://svc.example/console?x' }, true, true],
    ['with another referer', { referer: 'https://evil.example/svc.example' }, true, false],
    ['with a referer that is none', { referer: 'svc.example' }, true, false],
    [
      'whose origin and referer differ',
      { origin: 'https://evil.example', referer: 'https://svc.example/' },
      true,
      false,
    ],
    ['from the same origin', { site: 'same-origin' }, true, true],
    ['from the same site', { site: 'same-site' }, true, false],
    ['from elsewhere', { site: 'cross-site' }, false, false],
    ['with a cookie and without a word', {}, true, false],
    ['of a program', {}, false, true],
    ['that is a read', { method: 'GET', origin: 'https://evil.example' }, true, true],
  ])('%s', (_what, claims, hasCookie, passes) => {
    expect(ORIGINS.fault({ ...NONE, ...claims }, hasCookie, false) === null).toBe(passes);
  });

  test('without a session is the business of no page on the data plane', () => {
    const claims = { ...NONE, origin: 'https://evil.example' };
    expect(ORIGINS.fault(claims, false, true)).toBeNull();
    expect(ORIGINS.fault(claims, true, true)).toEqual({
      status: 403,
      code: 'csrf_rejected',
      error: 'a page of another origin may not do this',
    });
  });
});

describe('a page of another origin', () => {
  test('that is allowed may ask and read, with credentials', () => {
    expect(ORIGINS.preflight('https://app.example')).toEqual({
      status: 204,
      headers: [
        ['Access-Control-Allow-Origin', 'https://app.example'],
        ['Access-Control-Allow-Credentials', 'true'],
        ['Access-Control-Allow-Methods', 'GET, HEAD, POST, PUT, PATCH, DELETE'],
        ['Access-Control-Allow-Headers', 'authorization, content-type, x-request-id'],
        ['Access-Control-Max-Age', '600'],
      ],
    });
    expect(ORIGINS.headersFor('https://app.example')[0]).toEqual([
      'Access-Control-Allow-Origin',
      'https://app.example',
    ]);
  });

  test('that is not allowed gets nothing', () => {
    expect(ORIGINS.preflight('https://public.example')).toMatchObject({ status: 403 });
    expect(ORIGINS.headersFor('https://evil.example')).toEqual([]);
    expect(ORIGINS.headersFor('')).toEqual([]);
    expect(ORIGINS.headersFor('*')).toEqual([]);
  });

  test('gets answers that a cache keeps apart by origin, where any page may ask', () => {
    const standing = (...corsOrigins: string[]) =>
      new Origins({ corsOrigins, corsHeaders: 'x', publicOrigins: ['https://a.example'] }).standing;
    expect(standing('*')).toEqual([['Vary', 'Origin']]);
    expect(standing('*', 'https://a.example')).toEqual([['Vary', 'Origin']]);
    expect(standing()).toEqual([]);
  });

  test('may read without credentials where everybody may', () => {
    const open = new Origins({ corsOrigins: ['*'], corsHeaders: 'x', publicOrigins: [] });
    expect(open.preflight('https://any.example')).toMatchObject({
      status: 204,
      headers: [
        ['Access-Control-Allow-Origin', '*'],
        expect.anything(),
        ['Access-Control-Allow-Headers', 'x'],
        expect.anything(),
      ],
    });
    expect(open.fault({ ...NONE, origin: 'https://any.example' }, true, false)).not.toBeNull();
    expect(open.fault({ ...NONE, origin: '*' }, true, false)).not.toBeNull();
  });
});

test.each<[string, number, number, number, number | null]>([
  ['at every bound', 30, 3, 10, null],
  ['with a long address', 31, 1, 1, 414],
  ['with many headers', 1, 4, 1, 431],
  ['with a long value', 1, 1, 11, 431],
])('a head %s', (_what, uri, headers, value, status) => {
  const bounds = new HeadBounds({
    headersMax: 3,
    bytesMax: 33,
    valueBytesMax: 10,
    uriBytesMax: 30,
  });
  bounds.begin(uri);
  for (let i = 0; i < headers; i++) bounds.take('n', 'v'.repeat(value));
  expect(bounds.fault()?.status ?? null).toBe(status);
});

test('a head of too many bytes, and the next one', () => {
  const bounds = new HeadBounds({
    headersMax: 9,
    bytesMax: 30,
    valueBytesMax: 10,
    uriBytesMax: 30,
  });
  bounds.begin(1);
  for (let i = 0; i < 3; i++) bounds.take('n', 'v'.repeat(10));
  expect(bounds.fault()).toEqual({
    status: 431,
    code: 'request_headers_too_large',
    error: 'request headers too large',
  });
  bounds.begin(1);
  expect(bounds.fault()).toBeNull();
});

describe('deadlines', () => {
  const edge = {
    requestMs: 60_000,
    longPollGraceMs: 10_000,
    longPollMaxMs: 310_000,
    exempt: ['/api/v1/fetch', '/streams/'],
  };

  test.each<[string, number | null, number | null]>([
    ['/api/v1/push', null, 60_000],
    ['/api/v1/pop/queue/q', 30_000, 60_000],
    ['/api/v1/pop/queue/q', 120_000, 130_000],
    ['/api/v1/pop/queue/q', 900_000, 310_000],
    ['/api/v1/fetch', 900_000, null],
    ['/api/v1/fetches', null, 60_000],
    ['/streams/v1/cycle', null, null],
    ['/streams', null, 60_000],
  ])('%s, %s', (path, waitMs, timeoutMs) => {
    expect(edgeTimeoutMs(edge, path, waitMs)).toBe(timeoutMs);
  });

  test('that are off', () => {
    expect(edgeTimeoutMs({ ...edge, requestMs: 0 }, '/api/v1/push', null)).toBeNull();
  });
});

describe('security headers', () => {
  const HSTS = ['Strict-Transport-Security', 'max-age=31536000'];

  test.each([
    ['auto', true, true],
    ['auto', false, false],
    ['on', false, true],
    ['off', true, false],
  ] as const)('%s, secure: %s', (mode, secure, hasHsts) => {
    const headers = new SecurityHeaders(mode, 31_536_000).for(secure);
    expect(headers.some(([name]) => name === HSTS[0])).toBe(hasHsts);
    expect(headers.slice(0, 4)).toEqual([
      ['X-Content-Type-Options', 'nosniff'],
      ['X-Frame-Options', 'DENY'],
      ['Content-Security-Policy', "frame-ancestors 'none'"],
      ['Referrer-Policy', 'same-origin'],
    ]);
  });

  test('only a trusted proxy says that the client has TLS', () => {
    expect(isSecure(true, false, '')).toBe(true);
    expect(isSecure(false, true, 'https')).toBe(true);
    expect(isSecure(false, true, 'HTTPS, http')).toBe(true);
    expect(isSecure(false, true, 'http, https')).toBe(false);
    expect(isSecure(false, false, 'https')).toBe(false);
  });
});
