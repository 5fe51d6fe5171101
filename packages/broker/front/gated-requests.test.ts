// Goal: key/value and transactions of a front thread are judged by the gate of the core, in the
// order of the ladder, and answered, counted and charged as by the core's own front. Method: a
// whole front whose commands go as frames to the core's side, which has the gate and a broker of
// the test; both in this thread.
import { type KvOutcome, kvJson } from '@svc/engine';
import { createServer, type HttpServer, type Service } from '@svc/http';
import { grantWith, RawClient, TestFront, until } from '@svc/http/testing';
import { DEFAULT_TENANT } from '@svc/wire';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { RemoteService } from './remote-service.js';
import { ThreadServer } from './thread-server.js';

type Frame = readonly [number, number, Uint8Array];

const NO_RATE = { perSecond: 0.001, burst: 2 };
const GATE = {
  kvReads: NO_RATE,
  kvWrites: NO_RATE,
  kvNeedsGrant: false,
  ephemeralMessages: NO_RATE,
  ephemeralNeedsGrant: false,
  tenantsMax: 10,
  bands: { releasePct: 90, hotPct: 80 },
};
const PUT = '{"op":"put","ns":"n","key":"k","value":{ "a": 1.0 },"forever":true}';
const STORED: KvOutcome = { kind: 'kv', failure: null, results: [{ kind: 'put', version: 7 }] };
const NOT_FOUND: KvOutcome = { kind: 'kv', failure: null, results: [{ kind: 'got', row: null }] };

let core: TestFront;
let thread: HttpServer;
let server: ThreadServer;
let port: number;
let isOpen: boolean;
let clients: RawClient[];

beforeEach(async () => {
  isOpen = true;
  clients = [];
  core = await TestFront.start({ gate: GATE });
  core.service.kv.answers.call = STORED;
  server = new ThreadServer({
    service: () => (isOpen ? (core.service as unknown as Service & { giveBack(): void }) : null),
    send: (kind, id, parts) => later(kind, id, parts, (frame) => service.received(...frame)),
    nowMs: () => 5000,
    front: core.server,
    gateway: () => null,
    meters: core.server.meters,
  });
  const service = new RemoteService(
    {
      send: (kind, id, parts) => later(kind, id, parts, (frame) => server.received(...frame)),
      drop: () => false,
    },
    () => 1000,
    () => {},
  );
  const logger = { error: (text: string, error: unknown) => core.logged.push(`${text} ${error}`) };
  thread = createServer({ logger, elsewhere: service }, service as unknown as Service);
  port = await thread.listen('127.0.0.1', 0);
});

afterEach(async () => {
  for (const client of clients) client.destroy();
  await thread.stop(0);
  await core.stop();
  expect(core.logged).toEqual([]);
});

function later(
  kind: number,
  id: number,
  parts: readonly Uint8Array[],
  receive: (frame: Frame) => void,
): false {
  const content = Buffer.concat(parts);
  setImmediate(() => receive([kind, id, content]));
  return false;
}

function newClient(): RawClient {
  const client = new RawClient(port);
  clients.push(client);
  return client;
}

async function told(path: string, body: string | null, method?: string): Promise<string> {
  const named = method === undefined ? {} : { method };
  const request = body === null ? named : { ...named, body };
  const { status, body: text } = await newClient().request(path, request);
  return `${status} ${text}`;
}

const post = (body: string) => told('/api/v1/kv', body);
const transact = async (parts: string) =>
  (await told('/api/v1/transaction', `{${parts}}`)).replace(/"01[^"]+"/, '""');

test('a call reaches the broker as it was, and is answered and counted', async () => {
  const text = '{"index":0,"op":"put","applied":true,"key":"k","value":{"a":1.0},"version":7}';
  expect(await post(`[${PUT}]`)).toBe(`200 {"results":[${text}]}`);
  const path = '/api/v1/kv/n/k';
  expect(await told(path, '{"value":{"a":1.0},"forever":true}', 'PUT')).toBe(`200 ${text}`);
  const { ops, bytes, tookUs } = core.server.meters.kv;
  expect([ops.put.applied, bytes.in, tookUs.put.count]).toEqual([2, 2 * 9, 2]);
  expect(server.open).toBe(0);
});

test('a long value is shown, and its room is free once it is taken', async () => {
  const value = kvJson(`"${'x'.repeat(300_000)}"`);
  const row = { key: 'k', value, version: 9, expiresAtUs: null, updatedAtUs: 0 };
  core.service.kv.answers.call = { kind: 'kv', failure: null, results: [{ kind: 'got', row }] };
  expect((await told('/api/v1/kv/n/k', null)).length).toBeGreaterThan(300_000);
  await until(() => server.open === 0);
  expect(core.reserved('read')).toBe(0);
});

describe('the gate of the core', () => {
  const SHAPE = '400 {"error":"kv_bad_request","reason":"kv_unknown_op"';
  const unknown = '[{"op":"nothing"}]';

  test('counts tokens of all threads as one, also those of faulty calls', async () => {
    expect(await post(unknown)).toContain(SHAPE);
    // Whether an unknown operation writes is not known: it was counted as a read.
    core.service.kv.answers.call = NOT_FOUND;
    expect(await post('[{"op":"get","ns":"n","key":"k"}]')).toContain('200');
    expect(await post(unknown)).toBe('429 {"error":"rate_limited","reason":"rate_limited"}');
    const refused = await newClient().request('/api/v1/kv/n/k', { method: 'GET' });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1000']);
    expect(core.server.meters.kv.refused.rate_limited).toBe(2);
  });

  test('comes before the shape of a call, and behind its sizes', async () => {
    core.service.surfaces.on = { ...core.service.surfaces.on, kv: false };
    const off = '503 {"error":"kv_disabled","reason":"kv_disabled"}';
    expect([await post(unknown), await post(`[${PUT}]`)]).toEqual([off, off]);
    const many = `[${new Array(2000).fill(PUT).join()}]`;
    expect(await post(many)).toContain('kv_too_many_ops');
    expect(await post('[')).toContain('kv_bad_body');
  });

  test('charges a call until its outcome is known, though the client goes', async () => {
    core.service.surfaces.grants.set(`kv ${DEFAULT_TENANT}`, grantWith({ maxRows: 1 }));
    const settled: (() => void)[] = [];
    core.service.kv.call = (_, reply) => void settled.push(() => reply.send(STORED));
    const first = newClient();
    first.begin('/api/v1/kv', { body: `[${PUT}]` });
    await until(() => settled.length === 1);
    first.destroy();
    expect(await post(`[${PUT}]`)).toContain('403 {"error":"kv_quota_exceeded"');
    await until(() => thread.inFlight() === 0);
    expect(thread.rim.budget.used('growing')).toBeGreaterThan(0);
    settled[0]?.();
    await until(() => thread.rim.budget.used('growing') === 0);
  });
});

describe('a transaction', () => {
  test('is refused by the gate in its own words', async () => {
    core.service.surfaces.grants.set(`kv ${DEFAULT_TENANT}`, grantWith({ enabled: false }));
    const text = '403 {"transactionId":"","success":false,"reason":"feature_gated"';
    expect(await transact(`"kv":[${PUT}]`)).toContain(text);
  });

  test('may not have a timer beyond the horizon that is granted', async () => {
    const granted = grantWith({ maxTimerHorizonSeconds: 10 });
    core.service.surfaces.grants.set(`kv ${DEFAULT_TENANT}`, granted);
    const timer = (key: string, delayMs: number) =>
      JSON.stringify({ op: 'schedule', queue: 'q', timerKey: key, txn: 'x', delayMs, payload: '' });
    const what = 'op at index 1: delayMs is over the horizon of 10 seconds';
    expect(await transact(`"timers":[${timer('a', 10_000)},${timer('b', 10_001)}]`)).toContain(
      `403 {"transactionId":"","success":false,"reason":"timer_horizon_exceeded","error":"${what}"`,
    );
  });

  test('reaches the broker with the parts that it has, and is counted', async () => {
    core.service.onSubmit = (_, reply) =>
      reply.send({
        kind: 'transacted',
        rollback: null,
        filed: [],
        pushed: null,
        kv: STORED,
        timers: null,
      });
    expect(await transact(`"kv":[${PUT}]`)).toContain('200 {"transactionId":"","success":true');
    expect(core.service.submitted).toMatchObject([{ kind: 'transaction', kv: { ops: [{}] } }]);
    expect(core.server.meters.kv.ops.put.applied).toBe(1);
  });
});

test('a node that is not open says so, also to a faulty call', async () => {
  isOpen = false;
  for (const body of [`[${PUT}]`, '[{"op":"nothing"}]']) {
    expect(await post(body)).toContain('503');
  }
});

test('a read that waits ends with its client, and leaves nothing', async () => {
  let reply: { gone: boolean; onGone: (() => void) | null } | null = null;
  core.service.kv.call = (_, to) => {
    reply = to;
  };
  const client = newClient();
  client.begin('/api/v1/kv/n/k');
  await until(() => reply !== null);
  client.destroy();
  await until(() => reply?.gone === true);
  expect(server.open).toBe(0);
});

test('a thread that ends settles what its calls were charged with their outcomes', async () => {
  core.service.surfaces.grants.set(`kv ${DEFAULT_TENANT}`, grantWith({ maxRows: 1 }));
  const sent: boolean[] = [];
  let settle = () => {};
  core.service.kv.call = (_, reply) => {
    settle = () => void sent.push(reply.send(STORED));
  };
  newClient().begin('/api/v1/kv', { body: `[${PUT}]` });
  await until(() => server.open === 1);
  server.close();
  settle();
  expect([sent, server.open, core.server.meters.kv.ops.put.applied]).toEqual([[false], 0, 1]);
});
