// Goal: a call is repeated exactly when its repetition is harmless, at the times and servers that
// the documents state, and its error says whether it may have been applied. Method: a scripted
// network, a clock that moves from timer to timer.
import { getEventListeners } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import type { ClientError } from '../base/errors.js';
import {
  FakePlatform,
  lostConnection,
  type Reply,
  refusedConnection,
  type Script,
} from '../base/platform.fake.js';
import { fateOfError, type Repeat } from './repeats.js';
import { type ClientOptions, type Strategy, settingsOf } from './settings.js';
import { type Call, path, Transport, withQuery } from './transport.js';

const A = 'http://a:1';
const B = 'http://b:1';
const C = 'http://c:1';
const READ: Call<unknown> = { method: 'GET', path: '/x', repeat: 'any' };
const REFUSED: Reply = { status: 503, json: { code: 'retry' }, headers: { 'retry-after': '1' } };

function transportOf(script: Script, options: ClientOptions = { url: A }) {
  const platform = new FakePlatform(script);
  return { platform, transport: new Transport(settingsOf(options), platform) };
}

async function errorOf(platform: FakePlatform, promise: Promise<unknown>): Promise<ClientError> {
  return platform.settled(
    promise.then(
      () => {
        throw new Error('it was answered');
      },
      (error: ClientError) => error,
    ),
  );
}

/** The times of the requests, from the first one on. */
function timesOf({ requests }: FakePlatform): number[] {
  return requests.map(({ atMs }) => atMs - (requests[0]?.atMs ?? 0));
}

const FATES: readonly [name: string, reply: () => Reply | Promise<Reply>][] = [
  ['unsent', refusedConnection],
  ['refused', () => REFUSED],
  ['refused by a full disk', () => ({ status: 507, json: { code: 'storage_full' } })],
  ['lost', lostConnection],
  ['500', () => ({ status: 500, json: { error: 'broken' } })],
  ['in doubt', () => ({ ...REFUSED, json: { code: 'outcome_unknown' } })],
  ['late', () => ({ ...REFUSED, json: { code: 'timeout' } })],
  ['503 that states nothing', () => ({ status: 503 })],
  ['cut', () => ({ cut: true })],
  ['no JSON', () => '<html>'],
  ['half of JSON', () => '{"a":'],
  ['hanging', () => new Promise(() => undefined)],
];
const KNOWN = 3;

describe('what is repeated', () => {
  for (const [i, [name, reply]] of FATES.entries()) {
    const rows: [Repeat, boolean][] = [
      ['any', true],
      ['unapplied', i < KNOWN],
      ['never', false],
    ];
    for (const [repeat, isRepeated] of rows) {
      test(`${name}, with ${repeat}`, async () => {
        const { platform, transport } = transportOf((_, nth) => (nth < 2 ? reply() : '{"ok":1}'));
        const call = transport.call({ ...READ, repeat });
        if (isRepeated) {
          expect((await platform.settled(call)).body).toEqual({ ok: 1 });
          expect(platform.requests).toHaveLength(3);
          return;
        }
        const error = await errorOf(platform, call);
        expect(error.outcomeUnknown).toBe(i >= KNOWN);
        expect(platform.requests).toHaveLength(1);
        expect(platform.pendingTimers).toBe(0);
      });
    }
  }

  test('a 4xx is final and known, and carries what the broker said', async () => {
    const json = { error: 'unknown', code: 'bad_body', reason: 'r', detail: 'more' };
    const { platform, transport } = transportOf(() => ({ status: 400, json }));
    const error = await errorOf(platform, transport.call(READ));
    expect(error).toMatchObject({ status: 400, code: 'bad_body', reason: 'r', body: json });
    expect(error).toMatchObject({ name: 'ClientError', outcomeUnknown: false });
    expect(error.message).toBe('GET /x: 400 unknown: more');
    expect(platform.requests).toHaveLength(1);
  });

  test('a known refusal after a try that may have been applied is still in doubt', async () => {
    const { platform, transport } = transportOf((_, nth) =>
      nth === 0 ? lostConnection() : REFUSED,
    );
    const error = await errorOf(platform, transport.call(READ));
    expect(error).toMatchObject({ status: 503, code: 'retry', outcomeUnknown: true });
    expect(error.retryAfterSeconds).toBe(1);
  });
});

test('a failure of the network is unsent only where the connection was not made', () => {
  const failure = (code: string, syscall?: string) => ({ cause: { code, syscall } });
  const errors = [{ code: 'ETIMEDOUT', syscall: 'connect' }, { code: 'ENETUNREACH' }];
  const both = { cause: { code: 'ETIMEDOUT', errors } };
  const one = { cause: { errors: [...errors, { code: 'ECONNRESET', syscall: 'read' }] } };
  expect(fateOfError(failure('ENOTFOUND', 'getaddrinfo'))).toBe('unsent');
  expect(fateOfError(failure('ETIMEDOUT', 'connect'))).toBe('unsent');
  expect(fateOfError(both)).toBe('unsent');
  expect(fateOfError(one)).toBe('unknown');
  expect(fateOfError(failure('EHOSTUNREACH', 'read'))).toBe('unknown');
  expect(fateOfError(failure('EHOSTUNREACH', 'write'))).toBe('unknown');
  expect(fateOfError(failure('ECONNRESET', 'read'))).toBe('unknown');
});

describe('when it is repeated', () => {
  test('5xx: the delay doubles up to its cap, without jitter', async () => {
    const { platform, transport } = transportOf(() => ({ status: 500 }), {
      url: A,
      retryAttempts: 8,
    });
    platform.chance = 0.9;
    await errorOf(platform, transport.call(READ));
    expect(timesOf(platform)).toEqual([0, 1000, 3000, 7000, 15_000, 31_000, 61_000, 91_000]);
  });

  test('503 with Retry-After: then, capped', async () => {
    const long = { ...REFUSED, headers: { 'retry-after': '3600' } };
    const { platform, transport } = transportOf((_, nth) => (nth === 0 ? REFUSED : long));
    await errorOf(platform, transport.call(READ));
    expect(timesOf(platform)).toEqual([0, 1000, 31_000]);
  });

  test('429: in place, with a jitter of 20 %, ten tries', async () => {
    const { platform, transport } = transportOf(() => ({ status: 429 }), { urls: [A, B] });
    platform.chance = 1;
    const error = await errorOf(platform, transport.call(READ));
    expect(error).toMatchObject({ status: 429, outcomeUnknown: false });
    expect(new Set(platform.requests.map(({ server }) => server)).size).toBe(1);
    const times = timesOf(platform);
    expect(times).toHaveLength(10);
    expect(times.slice(0, 4)).toEqual([0, 600, 1800, 4200]);
    expect((times[9] ?? 0) - (times[8] ?? 0)).toBe(36_000);
  });

  test('429 with Retry-After, for a long poll without an end', async () => {
    const limited = { status: 429, headers: { 'retry-after': '2' } };
    const { platform, transport } = transportOf((_, nth) => (nth < 50 ? limited : '[]'));
    platform.chance = 0;
    await platform.settled(transport.call({ ...READ, waitMs: 1000 }));
    expect(platform.requests).toHaveLength(51);
    expect(timesOf(platform)[2]).toBe(3200);
  });

  test('a node that hangs: its time is the timeout, and the wait of a long poll', async () => {
    const { platform, transport } = transportOf((_, nth) =>
      nth === 0 ? new Promise(() => undefined) : '1',
    );
    await platform.settled(transport.call({ ...READ, waitMs: 5000 }));
    expect(timesOf(platform)).toEqual([0, 36_000]);
    expect(platform.requests[0]?.signal.aborted).toBe(true);
  });
});

describe('servers', () => {
  const urls = [A, B, C];

  test('the next one takes over at once; the delay comes when all were tried', async () => {
    const { platform, transport } = transportOf(refusedConnection, { urls, retryAttempts: 5 });
    await errorOf(platform, transport.call(READ));
    expect(timesOf(platform)).toEqual([0, 0, 0, 1000, 1000]);
    expect(new Set(platform.requests.slice(0, 3).map(({ server }) => server)).size).toBe(3);
  });

  test('one that failed is left out until its time has passed', async () => {
    const { platform, transport } = transportOf(
      ({ server }, nth) => (nth ? server : lostConnection()),
      {
        urls,
      },
    );
    const read = (text: string) => text;
    const ask = async () => (await platform.settled(transport.call({ ...READ, read }))).body;
    const second = await ask();
    const first = platform.requests[0]?.server;
    expect(second).not.toBe(first);
    expect(await ask()).toBe(second);
    await platform.pass(5000);
    expect(await ask()).toBe(first);
  });

  test('without failover the same one is asked again', async () => {
    const { platform, transport } = transportOf(lostConnection, { urls, enableFailover: false });
    await errorOf(platform, transport.call(READ));
    expect(new Set(platform.requests.map(({ server }) => server)).size).toBe(1);
    expect(timesOf(platform)).toEqual([0, 1000, 3000]);
  });

  test('affinity keeps a key, round robin takes turns, a session stays', async () => {
    const asked = async (loadBalancingStrategy: Strategy, n: number) => {
      const { platform, transport } = transportOf(({ server }) => server, {
        urls,
        loadBalancingStrategy,
      });
      const servers: (string | null)[] = [];
      for (let i = 0; i < n; i++) {
        const call = { ...READ, affinity: `k${i % 20}`, read: (text: string) => text };
        servers.push((await platform.settled(transport.call(call))).body);
      }
      return servers;
    };
    const byKey = await asked('affinity', 40);
    expect(byKey.slice(20)).toEqual(byKey.slice(0, 20));
    expect(new Set(byKey).size).toBe(3);
    // Without a key each client has a server of its own: acks of all would meet at one.
    const own = [0, 0.5, 0.9].map((chance) => {
      const platform = new FakePlatform(() => '1');
      platform.chance = chance;
      const transport = new Transport(settingsOf({ urls }), platform);
      return platform
        .settled(Promise.all([transport.call(READ), transport.call(READ)]))
        .then(() => platform.requests.map(({ server }) => server));
    });
    expect(await Promise.all(own)).toEqual([A, B, C].map((server) => [server, server]));
    expect(await asked('round-robin', 4)).toEqual([B, C, A, B]);
    expect(await asked('session', 3)).toEqual([B, B, B]);
  });
});

describe('signals and the end', () => {
  test('an aborted call ends at once, while it is sent and while it waits', async () => {
    for (const reply of [() => new Promise<Reply>(() => undefined), lostConnection]) {
      const { platform, transport } = transportOf(reply);
      const { signal, abort } = aborting();
      const call = errorOf(platform, transport.call({ ...READ, signal }));
      platform.after(500, abort);
      expect(await call).toBe(signal.reason);
      expect(platform.requests).toHaveLength(1);
      expect(platform.pendingTimers).toBe(0);
    }
  });

  test('an answer whose head has come is read in spite of the signal', async () => {
    const { signal, abort } = aborting();
    const { platform, transport } = transportOf(() => ({ json: [7], onHead: abort }));
    expect((await platform.settled(transport.call({ ...READ, signal }))).body).toEqual([7]);
  });

  test('a signal that many calls share has one listener, and none after them', async () => {
    const { signal, abort } = aborting();
    const { platform, transport } = transportOf(() => new Promise(() => undefined));
    const calls = Array.from({ length: 20 }, () =>
      errorOf(platform, transport.call({ ...READ, signal, timeoutMs: 5000 })),
    );
    await platform.pass(1);
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    platform.after(10, abort);
    for (const call of calls) expect(await call).toBe(signal.reason);
    const { signal: kept } = aborting();
    const answered = transportOf((_, nth) => (nth === 0 ? lostConnection() : '1'));
    await answered.platform.settled(answered.transport.call({ ...READ, signal: kept }));
    for (const one of [signal, kept]) expect(getEventListeners(one, 'abort')).toHaveLength(0);
  });

  test('after close nothing is sent', async () => {
    const { platform, transport } = transportOf(() => '1');
    transport.close();
    expect(await errorOf(platform, transport.call(READ))).toMatchObject({ code: 'closed' });
    expect(platform.requests).toEqual([]);
  });
});

test('what is sent: headers, body, encoded path and query', async () => {
  const { platform, transport } = transportOf(() => '1', {
    url: 'https://gate.example/svc/',
    bearerToken: 't',
    headers: { 'X-Own': 'o' },
  });
  const at = withQuery(path`/pop/${'a/b c'}/x`, { group: 'ä&', wait: true, none: undefined });
  await platform.settled(transport.call({ ...READ, method: 'POST', path: at, body: '{}' }));
  expect(platform.requests[0]).toMatchObject({
    server: 'https://gate.example',
    path: '/svc/pop/a%2Fb%20c/x?group=%C3%A4%26&wait=true',
    body: '{}',
    headers: { authorization: 'Bearer t', 'x-own': 'o', 'content-type': 'application/json' },
  });
  for (const name of ['', '.', '..']) expect(() => path`/q/${name}`).toThrow('no name that a path');
  expect(() => path`/q/${'\ud800'}`).toThrow('"\\ud800" holds half of a character');
  expect(() => withQuery('/q', { group: '\udc00' })).toThrow('holds half of a character');
});

function aborting() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort(new Error('enough')) };
}

test('an error says that the address was another', async () => {
  const headers = { get: () => null };
  const answer = { status: 404, redirected: true, url: 'https://b.example/x', headers };
  const fetch = async () => ({ ...answer, text: async () => '{"error":"no_such_route"}' });
  const transport = new Transport(settingsOf({ url: A, fetch }));
  const call = transport.call({ ...READ, method: 'POST' });
  const text =
    'POST /x: 404 no_such_route (redirected to https://b.example/x: make the client with';
  await expect(call).rejects.toThrow(text);
});

test('hostHeader: the name that is asked for is not the address', async () => {
  const server = createServer((request, response) => {
    const parts: string[] = [];
    request.setEncoding('utf8').on('data', (part: string) => parts.push(part));
    request.on('end', () => {
      if (request.url === '/cut') response.writeHead(200, { 'content-length': '9' }).write('[');
      if (request.url === '/cut') setImmediate(() => response.destroy());
      else response.end(JSON.stringify([request.headers.host, parts.join('')]));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const transport = new Transport(settingsOf({ url, hostHeader: 'b.example', retryAttempts: 1 }));
  const asked = await transport.call({ ...READ, method: 'POST', body: '"ä"' });
  expect(asked.body).toEqual(['b.example', '"ä"']);
  const cut = transport.call({ ...READ, path: '/cut' });
  await expect(cut).rejects.toMatchObject({ code: 'connection_lost', outcomeUnknown: true });
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  const refused = transport.call({ ...READ, repeat: 'unapplied' });
  await expect(refused).rejects.toMatchObject({ code: 'unreachable', outcomeUnknown: false });
});
