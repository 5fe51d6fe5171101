// Goal: a request to the gateway's port comes to the core as it came to the thread, its body as far
// as the core asks for it, and the answer goes back to the byte; whoever goes is told of. Method:
// sockets to a port whose core is a front of `@svc/http` in the same process, or the test itself;
// for TLS a port with a certificate, and clients that send it what is no handshake.
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request as secureRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CallClient, CallRequest, MemoryCall } from '@svc/http';
import { UNBOUNDED } from '@svc/http';
import { PUSHED, RawClient, requestBytes, TestFront, until } from '@svc/http/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { CERTIFICATE, writeCertificate } from '../testing/certificate.fake.js';
import { GatewayPort, type GatewayPortOptions } from './gateway-port.js';
import { type Callee, PassedCalls } from './passed-calls.js';
import { RemoteService } from './remote-service.js';
import { TO_CORE } from './thread-frames.js';

const PUSH = '/api/v1/push';
const BODY = '{"items":[{"queue":"q","payload":1}]}';
/** The native layer reads a socket a few times, 512 KiB each, before it looks whether it may. */
const READS_BYTES_MAX = 8 * 512 * 1024;

let front: TestFront;
let callee: Callee;
let optionsOfPort: GatewayPortOptions;
let port: GatewayPort;
let at = 0;
/** Frames of requests that went to the core, and their bytes. */
let sent: { kind: number; bytes: number }[] = [];
let clients: RawClient[] = [];

beforeAll(async () => {
  front = await TestFront.startPushed();
  const service: RemoteService = new RemoteService(
    {
      send: (kind, id, parts) => {
        const content = Buffer.concat(parts);
        if (kind !== TO_CORE.gone) sent.push({ kind, bytes: content.length });
        if (kind === TO_CORE.portCall) calls.beginAtPort(id, content);
        else if (kind === TO_CORE.body) calls.body(id, content);
        else if (kind === TO_CORE.gone) calls.gone(id);
        return false;
      },
      drop: () => false,
    },
    () => 0,
    () => {},
  );
  const calls = new PassedCalls(
    front.server,
    () => callee,
    (kind, id, parts) => void setImmediate(() => service.received(kind, id, Buffer.concat(parts))),
  );
  optionsOfPort = {
    core: service,
    connections: UNBOUNDED,
    onConnectionsFull: () => {},
    tls: null,
    logger: { error: (text, error) => expect.fail(`${text}: ${error}`) },
    nowMs: () => performance.now(),
  };
  port = new GatewayPort(optionsOfPort);
  at = await port.listen('127.0.0.1', 0);
});

beforeEach(() => {
  for (const client of clients) client.destroy();
  clients = [];
  callee = front.server;
  front.service.onSubmit = (_, reply) => void setImmediate(() => reply.send(PUSHED));
  sent = [];
});

afterAll(async () => {
  for (const client of clients) client.destroy();
  await port.stop(0);
  await front.stop();
});

function connected(to = at): RawClient {
  const client = new RawClient(to);
  clients.push(client);
  return client;
}

function kinds(): number[] {
  return sent.map(({ kind }) => kind);
}

/** A core that answers nothing by itself. */
function holdCalls() {
  const held: { request: CallRequest; client: CallClient; isGone: boolean; got: number }[] = [];
  let takes = true;
  callee = {
    call: (request, client): MemoryCall => {
      const one = { request, client, isGone: false, got: 0 };
      held.push(one);
      return {
        sendBody: (chunk) => {
          one.got += chunk.length;
          return takes;
        },
        takesMore: () => {},
        abort: () => {
          one.isGone = true;
        },
      };
    },
  };
  const refuseMore = () => {
    takes = false;
  };
  return { held, refuseMore };
}

test('a small body goes with its head, and the answer is that of the core', async () => {
  const direct = await front.client().request(PUSH, { body: BODY });
  const client = connected();
  for (let round = 0; round < 2; round++) {
    const passed = await client.request(PUSH, { body: BODY });
    expect(passed).toEqual(direct);
  }
  expect(kinds()).toEqual([TO_CORE.portCall, TO_CORE.portCall]);
  const head = await client.request('/api/v1/pop/queue/', { method: 'HEAD' });
  expect([head.status, head.body]).toEqual([404, '']);
});

test('every header comes to the core as often as it came, with the address of its client', () => {
  const { held } = holdCalls();
  const client = connected();
  client.send('GET /a?b=%20c HTTP/1.1\r\nHost: h\r\nX-A: 1\r\nX-A: 2\r\n\r\n');
  return until(() => held.length > 0).then(() => {
    expect(held[0]?.request).toMatchObject({
      method: 'GET',
      target: '/a?b=%20c',
      headers: [
        ['host', 'h'],
        ['x-a', '1'],
        ['x-a', '2'],
      ],
      body: null,
      identity: null,
    });
    expect([...(held[0]?.request.peer ?? [])]).toEqual([127, 0, 0, 1]);
  });
});

test.each(['in one piece', 'in chunks'])('a large body comes whole, %s', async (how) => {
  const payload = 'x'.repeat(12_000_000);
  const body = BODY.replace('1}', `"${payload}"}`);
  const client = connected();
  if (how === 'in one piece') client.begin(PUSH, { body });
  else {
    client.send(`POST ${PUSH} HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n`);
    for (let from = 0; from < body.length; from += 100_000) {
      const chunk = body.slice(from, from + 100_000);
      client.send(`${chunk.length.toString(16)}\r\n${chunk}\r\n`);
    }
    client.send('0\r\n\r\n');
  }
  expect((await client.answer()).status).toBe(201);
  const command = front.service.submitted.at(-1);
  const bytes = command?.kind === 'push' ? command.body.length : 0;
  expect(bytes).toBe(body.length);
  expect(sent.at(0)?.kind).toBe(TO_CORE.portCall);
  expect(sent.length).toBeGreaterThan(1);
});

test('a body that the core does not ask for is not read', async () => {
  const { held, refuseMore } = holdCalls();
  refuseMore();
  const client = connected();
  client.begin(PUSH, { body: 'x'.repeat(20_000_000) });
  await until(() => held.length > 0);
  await until(() => client.unsent > 0);
  const before = held[0]?.got ?? 0;
  expect(before).toBeLessThanOrEqual(READS_BYTES_MAX);
  // It is another turn of the loop of the port, and of each connection.
  expect((await connectedAnswer())?.got).toBe(0);
  expect(held[0]?.got).toBe(before);
  held[0]?.client.onReadOn();
  await until(() => (held[0]?.got ?? 0) > before);
  client.destroy();

  async function connectedAnswer() {
    connected().begin('/other');
    await until(() => held.length > 1);
    return held[1];
  }
});

test('a body of hundreds of chunks in one read is one frame', async () => {
  holdCalls();
  const head = `POST ${PUSH} HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n`;
  connected().send(head + '1\r\nx\r\n'.repeat(500));
  await until(() => sent.length > 0);
  expect(kinds()).toEqual([TO_CORE.portCall]);
});

test('a client that goes is told of, also in the middle of its body', async () => {
  const { held } = holdCalls();
  const [waiting, sending] = [connected(), connected()];
  waiting.begin(PUSH, { body: BODY });
  await until(() => held.length === 1);
  sending.send(requestBytes(PUSH, { body: BODY.repeat(100) }).subarray(0, 200));
  await until(() => held.length === 2);
  waiting.destroy();
  sending.destroy();
  await until(() => held.every(({ isGone }) => isGone));
});

test('an answer that closes the connection is the last one on it', async () => {
  const client = connected();
  const twice = 'Content-Length: 3\r\nContent-Length: 3\r\n';
  client.send(`POST ${PUSH} HTTP/1.1\r\nHost: h\r\n${twice}\r\nabc`);
  const { status, headers } = await client.answer();
  expect([status, headers.get('connection')]).toEqual([400, 'close']);
  await client.closed();
});

describe('with TLS', () => {
  /** The beginning of a handshake: a record of 512 bytes, of which 5 are there. */
  const HALF_HELLO = Buffer.from([0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3]);
  const agent = new Agent({ ca: CERTIFICATE, keepAlive: true });
  let secure: GatewayPort;
  let secureAt = 0;
  /** Open connections at each refusal. */
  let open: number[] = [];

  async function listen(connections: GatewayPortOptions['connections']): Promise<void> {
    const directory = mkdtempSync(join(tmpdir(), 'svc-test-'));
    open = [];
    const onConnectionsFull = (count: number) => void open.push(count);
    const tls = writeCertificate(directory);
    secure = new GatewayPort({ ...optionsOfPort, connections, onConnectionsFull, tls });
    rmSync(directory, { recursive: true });
    secureAt = await secure.listen('127.0.0.1', 0);
  }

  /** Rejects when the certificate is another one. */
  function pushed(): Promise<number> {
    return new Promise((resolve, reject) => {
      const to = { host: '127.0.0.1', servername: 'localhost', port: secureAt, agent };
      const request = secureRequest({ ...to, method: 'POST', path: PUSH }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode ?? 0));
      });
      request.on('error', reject).end(BODY);
    });
  }

  afterEach(async () => {
    agent.destroy();
    await secure.stop(0);
  });

  test('the certificate is shown; what is no handshake costs nobody else anything', async () => {
    await listen(UNBOUNDED);
    const [plain, garbage, half, gone] = [secureAt, secureAt, secureAt, secureAt].map(connected);
    expect(await pushed()).toBe(201);
    plain?.begin('/healthz');
    garbage?.send(Buffer.alloc(300, 0xa5));
    for (const one of [half, gone]) one?.send(HALF_HELLO);
    await Promise.all([plain?.closed(), garbage?.closed()]);
    expect([plain?.unread, garbage?.unread].join()).not.toContain('HTTP');
    gone?.destroy();
    expect([await pushed(), await pushed()]).toEqual([201, 201]);
    expect(kinds()).toEqual(new Array(3).fill(TO_CORE.portCall));
  });

  test('beyond the bound a connection is closed, and does not wait for its handshake', async () => {
    await listen({ ...UNBOUNDED, max: 2 });
    const { held } = holdCalls();
    const waiting = [pushed(), pushed()].map((one) => one.catch(() => null));
    await until(() => held.length === 2);
    const late = Array.from({ length: 5 }, () => connected(secureAt));
    await Promise.all(late.map((one) => one.closed()));
    expect(open.length).toBe(5);
    expect(Math.max(...open)).toBeLessThanOrEqual(3);
    agent.destroy();
    expect(await Promise.all(waiting)).toEqual([null, null]);
  });
});
