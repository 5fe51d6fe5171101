// Goal: the stages before a route (routing, tenant, dashboard), listening and stopping, and that
// one request's failure is its own. Method: real sockets, a fake service.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createTcpServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { DeliveredOutcome, Reply } from '../ports/service.js';
import { TestFront, TRANSPORTS, until } from '../testing/front.fake.js';
import { RawClient, requestBytes } from '../testing/raw-client.fake.js';
import { FakeService } from '../testing/service.fake.js';
import { createServer, type HttpServer, type HttpServerOptions } from './server.js';

let front: TestFront;

async function start(options: Partial<HttpServerOptions> = {}): Promise<TestFront> {
  front = await TestFront.start(options);
  return front;
}

afterEach(() => front.stop());

const NO_SUCH_ROUTE = (path: string): object => ({
  error: 'no_such_route',
  code: 'no_such_route',
  path,
});

describe.each(TRANSPORTS)('over %s', (over) => {
  describe('routing', () => {
    test.each([
      ['GET', '/api/v1/x'],
      ['POST', '/api/v1/x'],
      ['GET', '/api/v1/push'],
      ['DELETE', '/api/v1/push'],
      ['PUT', '/api/v1/pop'],
      ['GET', '/api/'],
      ['GET', '/streams/v1/queries'],
      ['GET', '/internal/api/x'],
      ['POST', '/health'],
      ['POST', '/anything'],
      ['OPTIONS', '/'],
      ['PATCH', '/api/v1/resources/queues/q'],
      ['GET', '/api/v1/%zz"\\'],
      ['GET', '/api/v1/pop/queue/'],
      ['GET', '/API/v1/pop'],
      ['GET', '/'],
      ['post', '/api/v1/push'],
      ['Get', '/health'],
    ])('%s %s is no route', async (method, path) => {
      await start();
      const answer = await front.client(over).request(path, { method });
      expect(answer.status).toBe(404);
      expect(answer.headers.get('content-type')).toBe('application/json');
      expect(JSON.parse(answer.body)).toEqual(NO_SUCH_ROUTE(path));
    });

    test('a body sent to no route does not disturb the connection', async () => {
      await start();
      const client = front.client(over);
      expect((await client.request('/nowhere', { body: 'x'.repeat(100_000) })).status).toBe(404);
      expect((await client.request('/health')).status).toBe(200);
    });
  });

  describe('while there is nobody to serve', () => {
    test('the API is refused, health says so, and what comes after is served', async () => {
      await start();
      const client = front.client(over);
      front.server.serve(null);
      const refused = await client.request('/api/v1/push', {
        method: 'POST',
        body: '{"items":[]}',
      });
      expect(refused.status).toBe(503);
      expect(refused.headers.get('retry-after')).toBe('1');
      const error = 'no leader is known; retry after';
      expect(JSON.parse(refused.body)).toEqual({ error, code: 'no_leader' });
      expect((await client.request('/metrics')).status).toBe(503);
      expect(JSON.parse((await client.request('/health')).body)).toEqual(front.service.health());
      expect((await client.request('/nowhere')).status).toBe(404);
      front.server.serve(front.service);
      expect((await client.request('/metrics')).status).toBe(200);
    });

    test('a body that is still coming when the service goes is refused', async () => {
      await start();
      // The body may be there before the service goes.
      front.service.onSubmit = (_, reply) => {
        reply.send({ kind: 'pushed', status: Uint8Array.of(0), messageIds: ['1'] });
      };
      const client = front.client(over);
      const answer = client.request('/api/v1/push', {
        method: 'POST',
        body: `{"items":[{"queue":"q","payload":"${'x'.repeat(4_000_000)}"}]}`,
      });
      let isOver = false;
      void answer.then(() => {
        isOver = true;
      });
      await until(() => front.server.inFlight() > 0 || isOver);
      front.server.serve(null);
      expect([201, 503]).toContain((await answer).status);
    });
  });

  describe('the dashboard', () => {
    let directory = '';

    afterEach(() => rmSync(directory, { recursive: true }));

    test('is served for every other path that is read', async () => {
      directory = mkdtempSync(join(tmpdir(), 'dashboard-'));
      writeFileSync(join(directory, 'index.html'), '<p>ü</p>');
      await start({ dashboardDirectory: directory });
      const client = front.client(over);
      for (const path of ['/', '/queues/x', '/apix', '/%zz']) {
        const answer = await client.request(path);
        expect([answer.status, answer.body], path).toEqual([200, '<p>ü</p>']);
        expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
        expect(answer.headers.get('cache-control')).toBe('no-cache');
      }
      const head = await client.request('/', { method: 'HEAD' });
      expect([head.status, head.headers.get('content-length')]).toEqual([200, '9']);
      const tag = head.headers.get('etag') ?? '';
      const held = await client.request('/queues', { headers: { 'If-None-Match': tag } });
      expect([held.status, held.body, held.headers.get('etag')]).toEqual([304, '', tag]);
      expect(held.headers.get('cache-control')).toBe('no-cache');
      expect((await client.request('/', { method: 'POST' })).status).toBe(404);
      expect((await client.request('/api/v1/x')).status).toBe(404);
      const missing = await client.request('/assets/missing.js');
      expect([missing.status, JSON.parse(missing.body).code]).toEqual([404, 'no_such_route']);
    });

    test('its assets are kept for ever, and sent as small as the browser takes them', async () => {
      directory = mkdtempSync(join(tmpdir(), 'dashboard-'));
      writeFileSync(join(directory, 'index.html'), '<p>');
      mkdirSync(join(directory, 'assets'));
      const script = Buffer.from('1;'.repeat(50_000));
      writeFileSync(join(directory, 'assets', 'a-1.js'), script);
      writeFileSync(join(directory, 'assets', 'a-1.js.br'), 'small');
      await start({ dashboardDirectory: directory });
      const client = front.client(over);
      const plain = await client.request('/assets/a-1.js');
      expect(plain.body.length).toBe(script.length);
      const headers = { 'Accept-Encoding': 'gzip, br' };
      const small = await client.request('/assets/a-1.js', { headers });
      expect([small.body.slice(0, 9), small.headers.get('content-encoding')]).toEqual([
        'small',
        'br',
      ]);
      for (const answer of [plain, small]) {
        expect(answer.headers.get('vary')).toBe('Accept-Encoding');
        expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
        expect(answer.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
      }
    });
  });

  describe('failures', () => {
    test('a service that throws costs its request a 500 and no other anything', async () => {
      await start();
      front.service.onPop = () => {
        throw new Error('broken');
      };
      const client = front.client(over);
      const answer = await client.request('/api/v1/pop/queue/q');
      expect([answer.status, JSON.parse(answer.body).code]).toEqual([500, 'internal']);
      expect(front.logged).toEqual(['a request failed: Error: broken']);
      expect((await client.request('/health')).status).toBe(200);
      front.service.onSubmit = () => {
        throw new Error('broken too');
      };
      const pushed = await client.request('/api/v1/push', {
        body: '{"items":[{"queue":"q","payload":0}]}',
      });
      expect(pushed.status).toBe(500);
      expect(front.logged).toHaveLength(2);
      expect(front.server.inFlight()).toBe(0);
    });
  });
});

async function portOf(listener: Server): Promise<number> {
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const address = listener.address();
  if (typeof address !== 'object' || address === null) throw new Error('it does not listen');
  return address.port;
}

async function freePort(): Promise<number> {
  const listener = createTcpServer();
  const port = await portOf(listener);
  await new Promise((resolve) => listener.close(resolve));
  return port;
}

describe('listening', () => {
  const servers: HttpServer[] = [];
  const newServer = (): HttpServer => {
    const server = createServer({ logger: { error: () => {} } }, new FakeService());
    servers.push(server);
    return server;
  };

  afterEach(async () => {
    for (const server of servers.splice(0)) await server.stop(0);
  });

  // Both by number: on a port of the system's choice the native layer shares nothing anyway.
  test('a port that is taken by another front is an error', async () => {
    await start();
    const port = await freePort();
    await newServer().listen('127.0.0.1', port);
    await expect(newServer().listen('127.0.0.1', port)).rejects.toMatchObject({
      name: 'ListenError',
      code: 'EADDRINUSE',
      message: `cannot listen on 127.0.0.1:${port}: the port is taken (EADDRINUSE)`,
    });
  });

  test('a port that is taken by another program is an error', async () => {
    await start();
    const other = createTcpServer();
    const port = await portOf(other);
    try {
      await expect(newServer().listen('127.0.0.1', port)).rejects.toThrow('the port is taken');
    } finally {
      other.close();
    }
  });

  test('an address that is not of this machine is an error', async () => {
    await start();
    await expect(newServer().listen('192.0.2.1', 0)).rejects.toMatchObject({ name: 'ListenError' });
  });

  test('IPv6', async () => {
    await start();
    const port = await newServer().listen('::1', 0);
    const client = new RawClient(port, '::1');
    expect((await client.request('/health')).status).toBe(200);
    client.destroy();
    await expect(newServer().listen('::1', port)).rejects.toThrow(`[::1]:${port}`);
  });

  test('a port is free again after the stop, connections and all', async () => {
    await start();
    // A port by number, as in production: one that the system chose cannot be bound again at once.
    const port = await freePort();
    const server = newServer();
    await server.listen('127.0.0.1', port);
    const client = new RawClient(port);
    await client.request('/health');
    await server.stop();
    await client.closed();
    const second = newServer();
    expect(await second.listen('127.0.0.1', port)).toBe(port);
    await second.stop();
  });
});

describe('stopping', () => {
  test('requests in flight are answered, then every connection is closed', async () => {
    await start();
    const parked: Reply<DeliveredOutcome>[] = [];
    front.service.onPop = (_, reply) => parked.push(reply);
    const idle = front.client();
    await idle.request('/health');
    const waiting = front.client();
    waiting.send(requestBytes('/api/v1/pop/queue/q?wait=true'));
    await until(() => parked.length === 1);
    let stopped = false;
    const stop = front.server.stop().then(() => {
      stopped = true;
    });
    // No new connection is taken, and nothing else ends before the parked pop does.
    const late = new RawClient(front.port);
    await late.closed();
    expect(stopped).toBe(false);
    // A connection that stood before is served, and closed with its answer.
    const served = await idle.request('/health');
    expect([served.status, served.headers.get('connection')]).toEqual([200, 'close']);
    await idle.closed();
    parked[0]?.send({ kind: 'delivered', leaseId: '', claims: [], terms: null });
    const answer = await waiting.answer();
    expect([answer.status, answer.headers.get('connection')]).toEqual([204, 'close']);
    await stop;
    await waiting.closed();
    expect(await front.server.stop()).toBeUndefined();
  });

  test('a front that retires still takes everybody in, for one answer each', async () => {
    await start();
    const before = front.client();
    expect((await before.request('/health')).headers.get('connection')).toBeUndefined();
    front.server.retire();
    for (const client of [before, front.client(), front.client()]) {
      const answer = await client.request('/health');
      expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close']);
      await client.closed();
    }
    await front.server.stop();
    await front.client().closed();
  });

  test('a request that comes when the last answer has just left is answered', async () => {
    await start();
    const parked: Reply<DeliveredOutcome>[] = [];
    front.service.onPop = (_, reply) => parked.push(reply);
    const [first, second] = [front.client(), front.client()];
    await second.request('/health');
    first.send(requestBytes('/api/v1/pop/queue/q?wait=true'));
    await until(() => parked.length === 1);
    const stop = front.server.stop();
    parked[0]?.send({ kind: 'delivered', leaseId: '', claims: [], terms: null });
    expect((await first.answer()).status).toBe(204);
    second.send(requestBytes('/api/v1/pop/queue/q?wait=true'));
    await until(() => parked.length === 2);
    setTimeout(
      () => parked[1]?.send({ kind: 'delivered', leaseId: '', claims: [], terms: null }),
      100,
    );
    expect((await second.answer()).status).toBe(204);
    await stop;
  });

  test('what is not answered in time is cut off, and learns it', async () => {
    await start();
    let gone = 0;
    front.service.onPop = (_, reply) => {
      reply.onGone = () => gone++;
    };
    const client = front.client();
    client.send(requestBytes('/api/v1/pop/queue/q?wait=true'));
    await until(() => front.server.inFlight() === 1);
    await front.server.stop(20);
    await client.closed();
    expect([gone, front.server.inFlight(), client.unread]).toEqual([1, 0, '']);
  });

  test('a front that never listened stops', async () => {
    await start();
    const server = createServer({ logger: { error: () => {} } }, new FakeService());
    expect(await server.stop()).toBeUndefined();
  });
});
