// Goal: what comes to the gateway's port reaches the front in memory as the pipeline let it
// through, and its answer the client, to the byte; what is refused costs the front nothing; and
// whoever goes, or does not take an answer, leaves nothing behind. Method: real sockets to a
// listener whose pipeline answers as the test says, in front of a front with a fake service.
import { ROUTES, Router, UNBOUNDED } from '@svc/http';
import {
  batchOf,
  grantWith,
  PUSHED,
  RawClient,
  type RawRequest,
  requestBytes,
  TestFront,
  until,
} from '@svc/http/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../base/clock.fake.js';
import { fakeCluster } from '../base/cluster-view.fake.js';
import { REFUSALS } from '../base/refusal.js';
import { AddressRates } from '../edge/address-rates.js';
import { ClientAddresses } from '../edge/client-address.js';
import { Networks } from '../edge/networks.js';
import { Origins } from '../edge/origins.js';
import { SecurityHeaders } from '../edge/security-headers.js';
import type { Admitted, IncomingRequest, Passage } from '../passage/passage.js';
import { Targets } from '../pipeline/targets.js';
import { NOT_FOUND } from '../routes/faults.js';
import { refusalAnswer } from '../routes/own-routes.js';
import { jsonAnswer, type OwnAnswer, type OwnRequest, redirect } from '../routes/route.js';
import { GatewayListener } from './listener.js';

type Admission = ReturnType<Passage['admit']>;

const PUSH = '/api/v1/push';
const BODY = '{"items":[{"queue":"q","payload":1}]}';
const TENANT = '3d1c0000-0000-4000-8000-000000000000';
const TIMEOUT_MS = 5_000;
const REQUEST_MS = 8_000;
const BODY_BYTES_MAX = 6_000_000;

let front: TestFront;
let listener: GatewayListener;
let clock: FakeClock;
let client: RawClient;
let port = 0;
let admit: (incoming: IncomingRequest) => Admission;
let logged: string[] = [];
let ownAnswer: (request: OwnRequest) => Promise<OwnAnswer>;
let gatePage: (request: OwnRequest) => Promise<OwnAnswer | null>;
/** The answers that the pipeline was told of. */
let finished: Parameters<Admitted['finish']>[0][] = [];

function admitted(given: Partial<Admitted> = {}): Admitted {
  const cluster = fakeCluster({ id: 'c', brokerTenant: TENANT });
  return {
    kind: 'admitted',
    passed: { cluster, target: { isPop: false } } as Admitted['passed'],
    body: null,
    isFacade: false,
    countsAnswer: false,
    timeoutMs: TIMEOUT_MS,
    finish: (answered) => void finished.push(answered),
    whenCounted: (send) => send(),
    ...given,
  };
}

/** The pipeline asks for the body, and decides in a later turn. */
function wanting(goOn: (body: Buffer) => Admitted): Admission {
  const later = (body: Uint8Array) => Promise.resolve(goOn(Buffer.from(body)));
  return { kind: 'body', bytesMax: 1_000, owner: 'c', goOn: later };
}

beforeEach(async () => {
  front = await TestFront.startPushed();
  front.service.onSubmit = (_, reply) => reply.send(PUSHED);
  clock = new FakeClock();
  finished = [];
  logged = [];
  ownAnswer = async () => refusalAnswer(NOT_FOUND);
  gatePage = async () => null;
  admit = () => admitted();
  listener = new GatewayListener(
    {
      upstream: front.server,
      passage: { admit: (incoming) => admit(incoming) },
      targets: new Targets(ROUTES, new Router(ROUTES)),
      routes: {
        answer: (request) => ownAnswer(request),
        gatePage: (request) => gatePage(request),
      },
      addresses: new ClientAddresses(new Networks([]), 64),
      rates: new AddressRates({ data: null, web: null, trackedMax: 10 }),
      origins: new Origins({
        corsOrigins: ['https://tools.example'],
        corsHeaders: 'authorization',
        publicOrigins: [],
      }),
      security: new SecurityHeaders('auto', 60),
      clock,
      newRequestId: () => 'boot-1',
      logger: { error: (text, error) => logged.push(`${text}: ${error}`) },
      about: { health: { status: 'ok' }, jwks: { keys: [] } },
    },
    {
      head: { headersMax: 20, bytesMax: 9_000, valueBytesMax: 4_000, uriBytesMax: 2_000 },
      bodyBytesMax: BODY_BYTES_MAX,
      timeouts: {
        requestMs: REQUEST_MS,
        longPollGraceMs: 1_000,
        longPollMaxMs: 20_000,
        exempt: ['/api/v1/fetch'],
      },
      webBodyBytesMax: 100,
      addressHeader: 'x-forwarded-for',
      cookieNames: ['svc_session'],
      hasTenants: true,
      connections: UNBOUNDED,
      onConnectionsFull: () => {},
      tls: null,
    },
  );
  port = await listener.listen('127.0.0.1', 0);
  client = new RawClient(port);
});

afterEach(async () => {
  expect(logged).toEqual([]);
  client.destroy();
  await listener.stop(0);
  await front.stop();
});

async function codeOf(path: string, request: RawRequest = {}): Promise<string> {
  const { status, body } = await client.request(path, request);
  return `${status} ${JSON.parse(body).code}`;
}

describe('a request that is let through', () => {
  test('is that of the cluster whatever its headers say, and its answer the same', async () => {
    const headers = { 'x-svc-tenant': 'nonsense', Authorization: 'Bearer k' };
    const direct = await front.client().request(PUSH, { body: BODY });
    const relayed = await client.request(PUSH, { body: BODY, headers });
    expect([relayed.status, relayed.body]).toEqual([201, direct.body]);
    for (const [name, value] of direct.headers) expect(relayed.headers.get(name)).toBe(value);
    expect(relayed.headers.get('x-frame-options')).toBe('DENY');
    expect(front.service.submitted.at(-1)).toMatchObject({ tenant: TENANT, producerSub: null });
    expect(finished).toEqual([
      { status: 201, bytesIn: 0, bytesOut: direct.body.length, body: null },
    ]);
  });

  test('has an id, and its pops make no queue', async () => {
    const ids: (string | undefined)[] = [];
    const call = front.server.call.bind(front.server);
    front.server.call = (request, from) => {
      ids.push(...([...request.headers].filter(([name]) => name === 'x-svc-request-id')[0] ?? []));
      return call(request, from);
    };
    const headers = { 'x-svc-request-id': 'forged' };
    await client.request('/api/v1/pop/queue/q', { method: 'GET', headers });
    expect(ids).toEqual(['x-svc-request-id', 'boot-1']);
    expect(front.service.pops.at(-1)?.scope).toMatchObject({ creates: false });
  });

  test('of a log facade needs no grant of key/value', async () => {
    front.service.surfaces.grants.set(`kv ${TENANT}`, grantWith({ enabled: false }));
    const body = '[{"op":"get","ns":"svc-kafka","key":"qk:a"}]';
    const isGated: boolean[] = [];
    for (const isFacade of [false, true]) {
      admit = () => admitted({ isFacade });
      const answer = await client.request('/api/v1/kv', { body });
      isGated.push(answer.body.includes('feature_gated'));
    }
    expect(isGated).toEqual([true, false]);
  });

  test('brings its body in chunks, however large, also to a slow pipeline', async () => {
    const body = BODY.replace('1}', `"${'x'.repeat(4_000_000)}"}`);
    for (const isLate of [false, true]) {
      admit = () =>
        isLate ? new Promise((resolve) => setImmediate(resolve, admitted())) : admitted();
      expect((await client.request(PUSH, { body })).status).toBe(201);
      const command = front.service.submitted.at(-1);
      if (command?.kind !== 'push') throw new Error('a push was expected');
      expect(Buffer.from(body).equals(command.body)).toBe(true);
    }
  });

  test('may bring a body that nobody asks for', async () => {
    for (let round = 0; round < 2; round++) {
      const { status } = await client.request('/health', { method: 'GET', body: 'x' });
      expect(status).toBe(200);
    }
  });

  test('has an answer that waits until it is counted for good', async () => {
    let release = () => {};
    const whenCounted = (send: () => void) => {
      release = send;
    };
    admit = () => wanting((body) => admitted({ body, countsAnswer: true, whenCounted }));
    let isAnswered = false;
    const answer = client.request(PUSH, { body: BODY }).finally(() => {
      isAnswered = true;
    });
    await expect.poll(() => finished.length).toBe(1);
    // Others are answered meanwhile.
    admit = () => admitted();
    const url = `http://127.0.0.1:${port}/api/v1/push`;
    for (let i = 0; i < 3; i++)
      expect((await fetch(url, { method: 'POST', body: BODY })).status).toBe(201);
    expect(isAnswered).toBe(false);
    release();
    expect((await answer).status).toBe(201);
  });

  test('may be read by the pipeline, and counted by its answer', async () => {
    admit = () => wanting((body) => admitted({ body, countsAnswer: true }));
    const { status, body } = await client.request(PUSH, { body: BODY });
    expect(status).toBe(201);
    const [answered] = finished;
    expect(Buffer.from(answered?.body ?? []).toString()).toBe(body);
    expect(answered).toMatchObject({ status: 201, bytesIn: BODY.length, bytesOut: body.length });
    expect(await client.request(PUSH, { body: BODY.padEnd(1_001) })).toMatchObject({
      status: 413,
      body: '{"error":"request body exceeds cap","code":"payload_too_large"}',
    });
  });

  test.each([
    ['HEAD', '/api/v1/resources/queues/q'],
    ['GET', '/api/v1/pop/queue/q'],
    ['GET', '/openapi.json'],
  ])('%s %s', async (method, path) => {
    const direct = await front.client().request(path, { method });
    const relayed = await client.request(path, { method });
    expect([relayed.status, relayed.body]).toEqual([direct.status, direct.body]);
    expect(relayed.headers.get('content-length')).toBe(direct.headers.get('content-length'));
    expect((await client.request('/healthz')).status).toBe(200);
  });
});

describe('a route of its own', () => {
  const LOGIN = '/auth/login';
  const SAYS_TLS = { 'x-forwarded-proto': 'HTTPS, http' };

  test('gets the whole body when it asks, and its answer goes out as it is', async () => {
    const asked: unknown[] = [];
    ownAnswer = async ({ method, path, query, clientKey, isSecure, readBody }) => {
      await new Promise((resolve) => setImmediate(resolve));
      asked.push([method, path, query, clientKey, isSecure, String(await readBody(50))]);
      return redirect(303, '/next', [
        ['Set-Cookie', 'a=1; Path=/'],
        ['Set-Cookie', 'b=2; Path=/'],
        ['Referrer-Policy', 'no-referrer'],
      ]);
    };
    const url = `http://127.0.0.1:${port}${LOGIN}?x=1`;
    const sent = { method: 'POST', body: 'a body', redirect: 'manual' } as const;
    // It is told of TLS by whoever says so; other headers of the answer do not follow from it.
    const { status, headers } = await fetch(url, { ...sent, headers: SAYS_TLS });
    expect(asked).toEqual([['POST', LOGIN, 'x=1', '127.0.0.1', true, 'a body']]);
    expect(headers.has('strict-transport-security')).toBe(false);
    expect([status, headers.get('location'), headers.get('referrer-policy')]).toEqual([
      303,
      '/next',
      'no-referrer',
    ]);
    expect(headers.getSetCookie()).toEqual(['a=1; Path=/', 'b=2; Path=/']);
    expect(headers.get('x-frame-options')).toBe('DENY');
  });

  test('is not asked for a body that is too long, and reads no more than it wants', async () => {
    let asked = 0;
    ownAnswer = async ({ readBody }) => {
      asked++;
      await readBody(50);
      return jsonAnswer({ ok: true }, 201);
    };
    expect(await codeOf(LOGIN, { body: 'x'.repeat(101) })).toBe('413 payload_too_large');
    expect(asked).toBe(0);
    expect(await codeOf(LOGIN, { body: 'x'.repeat(51) })).toBe('413 payload_too_large');
    expect((await client.request(LOGIN, { body: 'x' })).status).toBe(201);
    expect(asked).toBe(2);
  });

  test('has the time of the edge, and a purge longer', async () => {
    let release = () => {};
    let asked = 0;
    ownAnswer = () => {
      asked++;
      return new Promise((resolve) => {
        release = () => resolve(jsonAnswer({ ok: true }));
      });
    };
    const late = codeOf(LOGIN, { body: 'x' });
    await expect.poll(() => asked).toBe(1);
    clock.advance(REQUEST_MS);
    expect(await late).toBe('504 request_timeout');
    release();
    const purge = client.request('/api/cp/tenants/acme/purge', { body: '' });
    await expect.poll(() => asked).toBe(2);
    clock.advance(REQUEST_MS);
    release();
    expect((await purge).status).toBe(200);
  });

  test('that fails costs its request alone, and is logged', async () => {
    ownAnswer = () => Promise.reject(new Error('a fault'));
    expect(await codeOf(LOGIN, { body: 'x' })).toBe('500 internal_error');
    ownAnswer = async () => jsonAnswer({}, 999);
    expect(await codeOf('/api/cp/tenants', { body: 'x' })).toBe('500 internal_error');
    expect(logged.splice(0)).toHaveLength(2);
    ownAnswer = async () => jsonAnswer({ ok: true });
    expect((await client.request(LOGIN, { method: 'HEAD' })).body).toBe('');
  });
});

describe('a page', () => {
  test('is let through or not by the gate, its files are not asked about', async () => {
    const direct = await front.client().request('/queues');
    expect((await client.request('/queues')).status).toBe(direct.status);
    const asked: string[] = [];
    gatePage = async ({ path, query }) => {
      asked.push(`${path}?${query}`);
      return redirect(303, '/auth/login');
    };
    const { status, headers } = await client.request('/queues?a=b');
    expect([status, headers.get('location')]).toEqual([303, '/auth/login']);
    const asset = await client.request('/assets/app.js');
    expect(asset.status).toBe((await front.client().request('/assets/app.js')).status);
    expect(asked).toEqual(['/queues?a=b']);
  });

  test('whose reader goes while the gate decides costs nothing more', async () => {
    let decide = () => {};
    gatePage = () => new Promise((resolve) => (decide = () => resolve(null)));
    client.send(requestBytes('/queues', {}));
    await until(() => listener.inFlight() === 1);
    client.destroy();
    await until(() => listener.inFlight() === 0);
    decide();
    expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
    expect(front.server.inFlight()).toBe(0);
  });
});

describe('a client', () => {
  const LARGE_BYTES = 16 * 1_048_576;
  const FETCH = '{"entries":[{"queue":"q","offset":0}]}';

  function answerLarge(): void {
    front.service.onFetch = (_, reply) => {
      expect(reply.room?.reserve(2 * LARGE_BYTES)).toBe(true);
      const batch = batchOf(`"${'x'.repeat(LARGE_BYTES)}"`);
      const about = { partitionNumber: 1, highWatermark: 1, logStartOffset: 0, error: null };
      reply.send({ kind: 'fetched', entries: [{ ...about, batches: [batch] }] });
    };
  }

  test('gets a large answer as it takes it', async () => {
    answerLarge();
    client.pauseReading();
    client.send(requestBytes('/api/v1/fetch', { body: FETCH }));
    await until(() => front.reserved('read') > LARGE_BYTES);
    client.resumeReading();
    const { body } = await client.answer();
    expect(JSON.parse(body).entries[0].records[0].payload.length).toBe(LARGE_BYTES);
    await until(() => front.reserved('read') === 0 && listener.inFlight() === 0);
  });

  test('that does not take it is cut off by the front', async () => {
    answerLarge();
    client.pauseReading();
    client.send(requestBytes('/api/v1/fetch', { body: FETCH }));
    await until(() => front.reserved('read') > LARGE_BYTES);
    front.service.nowMs += 120_000;
    await until(() => front.reserved('read') === 0 && listener.inFlight() === 0);
    client.resumeReading();
    await client.closed();
  });

  test('that does not take a counted answer leaves the next one to the front', async () => {
    answerLarge();
    admit = () => admitted({ countsAnswer: true });
    const other = new RawClient(port);
    for (const silent of [client, other]) {
      silent.pauseReading();
      silent.send(requestBytes('/api/v1/fetch', { body: FETCH }));
      await until(() => finished.length === 1);
    }
    await until(() => front.reserved('read') > LARGE_BYTES);
    await fetch(`http://127.0.0.1:${port}/healthz`);
    expect([finished.length, front.server.inFlight()]).toEqual([1, 1]);
    client.destroy();
    other.resumeReading();
    expect((await other.answer()).body.length).toBeGreaterThan(LARGE_BYTES);
    other.destroy();
    await until(() => front.reserved('read') === 0 && listener.inFlight() === 0);
  });

  test('that goes before a push is answered has it counted', async () => {
    let answer = () => {};
    front.service.onSubmit = (_, reply) => {
      answer = () => reply.send(PUSHED);
    };
    admit = () => admitted({ countsAnswer: true, body: Buffer.from(BODY) });
    client.send(requestBytes(PUSH, { body: BODY }));
    await until(() => front.service.submitted.length === 1);
    client.destroy();
    await until(() => listener.inFlight() === 0);
    answer();
    await until(() => front.server.inFlight() === 0);
    expect(finished).toMatchObject([{ status: 201, bytesIn: BODY.length }]);
  });

  test('that goes takes its request along', async () => {
    front.service.onPop = () => {};
    client.send(requestBytes('/api/v1/pop/queue/q?wait=true'));
    await until(() => front.server.inFlight() === 1);
    client.destroy();
    await until(() => front.server.inFlight() === 0 && listener.inFlight() === 0);
    expect(finished).toEqual([null]);
  });

  test('that goes before its request is admitted leaves nothing taken', async () => {
    let decide = (_: ReturnType<typeof admitted>) => {};
    admit = () => new Promise((resolve) => (decide = resolve));
    client.send(requestBytes('/api/v1/pop/queue/q?wait=true'));
    await until(() => listener.inFlight() === 1);
    client.destroy();
    await until(() => listener.inFlight() === 0);
    decide(admitted());
    await until(() => finished.length > 0);
    expect([finished, front.server.inFlight()]).toEqual([[null], 0]);
  });

  test('whose push is carried out for it is counted before it hears, and goes or not', async () => {
    const passed = { ...admitted().passed, target: { body: 'push' } } as Admitted['passed'];
    let answer = () => {};
    front.service.onSubmit = (_, reply) => {
      answer = () => reply.send(PUSHED);
    };
    const direct = (given: Partial<Admitted> = {}) => {
      admit = () => admitted({ passed, countsAnswer: true, body: Buffer.from(BODY), ...given });
      client.begin(PUSH, { body: BODY });
      return until(() => front.service.submitted.length === 1);
    };
    let release = () => {};
    const whenCounted = (send: () => void) => {
      release = send;
    };
    await direct({ whenCounted });
    expect([front.server.inFlight(), listener.inFlight()]).toEqual([0, 1]);
    answer();
    const counted = { status: 201, bytesIn: BODY.length };
    expect(finished).toMatchObject([counted]);
    expect(client.unread).toBe('');
    release();
    const { status, body, headers } = await client.answer();
    expect([status, headers.get('x-frame-options')]).toEqual([201, 'DENY']);
    expect(String(finished[0]?.body)).toBe(body);
    front.service.submitted.length = 0;
    await direct();
    client.destroy();
    await until(() => listener.inFlight() === 0);
    answer();
    expect(finished).toMatchObject([counted, counted]);
    expect(front.service.submitted).toMatchObject([{ tenant: TENANT, producerSub: null }]);
  });

  test('whose push takes too long is answered 504, and counted as that alone', async () => {
    const passed = { ...admitted().passed, target: { body: 'push' } } as Admitted['passed'];
    let answer = () => {};
    front.service.onSubmit = (_, reply) => {
      answer = () => reply.send(PUSHED);
    };
    admit = () => admitted({ passed, countsAnswer: true, body: Buffer.from(BODY) });
    const request = client.request(PUSH, { body: BODY });
    await until(() => front.service.submitted.length === 1);
    clock.advance(TIMEOUT_MS);
    expect(JSON.parse((await request).body).code).toBe('upstream_timeout');
    answer();
    const late = { status: 504, bytesIn: BODY.length, bytesOut: 0, body: null };
    expect(finished).toEqual([late]);
    expect((await client.request('/healthz')).status).toBe(200);
  });

  test('whose push has the time of the edge shares its alarm with others', async () => {
    const passed = { ...admitted().passed, target: { body: 'push' } } as Admitted['passed'];
    front.service.onSubmit = () => {};
    let deciding = 0;
    admit = () => {
      clock.advance(++deciding / 4);
      const body = Buffer.from(BODY);
      return admitted({ passed, countsAnswer: true, body, timeoutMs: 2 * REQUEST_MS });
    };
    const alarms = clock.waiting;
    const pushes = [1, 2].map(() =>
      fetch(`http://127.0.0.1:${port}${PUSH}`, { method: 'POST', body: BODY }),
    );
    await until(() => front.service.submitted.length === 2);
    expect(clock.waiting).toBe(alarms + 1);
    clock.advance(REQUEST_MS);
    for (const push of pushes) expect((await push).status).toBe(504);
  });

  test('that waits for too long is answered 504', async () => {
    front.service.onPop = () => {};
    const answer = client.request('/api/v1/pop/queue/q?wait=true');
    await until(() => front.server.inFlight() === 1);
    clock.advance(TIMEOUT_MS);
    expect(JSON.parse((await answer).body).code).toBe('upstream_timeout');
    expect([front.server.inFlight(), finished]).toMatchObject([0, [{ status: 504 }]]);
  });

  test('has at the edge its own time from its head on, where that is shorter', async () => {
    front.service.onPop = () => {};
    admit = () => {
      clock.advance(REQUEST_MS - 1_000);
      return admitted({ timeoutMs: 2 * REQUEST_MS });
    };
    const answer = client.request('/api/v1/pop/queue/q?wait=true');
    await until(() => front.server.inFlight() === 1);
    clock.advance(999);
    expect(front.server.inFlight()).toBe(1);
    clock.advance(1);
    expect(JSON.parse((await answer).body).code).toBe('request_timeout');
    expect([front.server.inFlight(), finished]).toMatchObject([0, [{ status: 504 }]]);
  });
});

describe('what is refused', () => {
  test('a body for the broker that is too long, announced or in chunks', async () => {
    const long = 'x'.repeat(BODY_BYTES_MAX + 1);
    expect(await codeOf(PUSH, { body: long })).toBe('413 payload_too_large');
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(Buffer.from(long));
        controller.close();
      },
    });
    const url = `http://127.0.0.1:${port}${PUSH}`;
    const sent = { method: 'POST', body, duplex: 'half' } as RequestInit;
    const answer = await fetch(url, sent);
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([
      413,
      'payload_too_large',
    ]);
    await until(() => front.server.inFlight() === 0);
  });

  test('by the pipeline, without a look at the body', async () => {
    admit = () => ({ kind: 'refused', refusal: REFUSALS.noCredential });
    const { status, headers, body } = await client.request(PUSH, { body: BODY });
    expect([status, body]).toEqual([
      401,
      '{"error":"missing bearer credential","code":"unauthorized"}',
    ]);
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(front.service.submitted).toEqual([]);
  });

  test('by the edge', async () => {
    admit = () => {
      throw new Error('the pipeline was asked');
    };
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`a${i}`, 'b']));
    const long = { a: 'x'.repeat(4_100) };
    expect(await codeOf(PUSH, { body: BODY, headers: many })).toBe('431 request_headers_too_large');
    expect(await codeOf(PUSH, { body: BODY, headers: long })).toBe('431 request_headers_too_large');
    expect(await codeOf(`/${'x'.repeat(2_000)}`)).toBe('414 request_headers_too_large');
    const foreign = { Origin: 'https://evil.example' };
    for (const cookie of ['svc_session=x', 'a=b; svc_session =x']) {
      const headers = { ...foreign, Cookie: cookie };
      expect(await codeOf(PUSH, { body: BODY, headers })).toBe('403 csrf_rejected');
    }
  });

  test('paths of its own that there are not', async () => {
    expect(await codeOf('/api/cp/tenants')).toBe('404 not_found');
    const { body } = await client.request('/.well-known/jwks.json');
    expect(body).toBe('{"keys":[]}');
  });
});

test('a preflight of an allowed origin is answered, of another refused', async () => {
  const ask = (origin: string) =>
    client.request(PUSH, {
      method: 'OPTIONS',
      headers: { Origin: origin, 'Access-Control-Request-Method': 'POST' },
    });
  const { status, headers } = await ask('https://tools.example');
  expect([status, headers.get('access-control-allow-headers')]).toEqual([204, 'authorization']);
  expect((await ask('https://evil.example')).status).toBe(403);
});
