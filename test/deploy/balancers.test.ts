/**
 * Goal: with the configurations of deploy/, a balancer never sends a write twice, goes round a node
 * that cannot be reached, and passes on what a node says. Method: the real programs, where they are
 * installed, in front of three stand-ins that answer as told and count what comes.
 */
import { type ConnectionOptions, connect } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { freePort } from '../process/ports.js';
import { BalancerUnderTest, StandIn } from './balancer-under-test.js';
import { missing } from './real-tools.js';

const POST = ['POST', '/api/v1/push', '{"items":[]}'] as const;

let nodes: StandIn[];
let ports: number[];
let balancer: BalancerUnderTest;

async function start(kind: 'haproxy' | 'nginx'): Promise<void> {
  nodes = [new StandIn(), new StandIn(), new StandIn()];
  ports = [];
  for (const node of nodes) {
    const port = await freePort();
    ports.push(port);
    await node.listen(port);
  }
  balancer = new BalancerUnderTest(kind, await freePort(), ports);
  await balancer.ready();
  forget();
}

function forget(): void {
  for (const node of nodes) node.requests.length = 0;
}

function cameTo(): number[] {
  return nodes.map((node) => node.requests.length);
}

function total(): number {
  return cameTo().reduce((sum, count) => sum + count, 0);
}

/** What concerns the whole cluster, or a tenant that is named. */
const OPERATORS = [
  '/api/v1/system/raft/membership',
  '/api/v1/system/kv',
  '/api/v1/resources/tenant?tenant=other',
  '/api/v1/resources/quota?tenant=other',
];

const TOOLS = [
  ['haproxy', '-v'],
  ['nginx', '-v'],
] as const;

describe.each(TOOLS)('%s', (kind, probe) => {
  const reason = missing(kind, [probe]);
  if (reason !== null) {
    test('in front of nodes', (context) => {
      console.log(reason);
      context.skip();
    });
    return;
  }

  beforeEach(() => start(kind));

  afterEach(async () => {
    await balancer.stop();
    for (const node of nodes) await node.close();
  });

  test('spreads requests, and uses connections again', async () => {
    for (const node of nodes) node.connections = 0;
    for (let i = 0; i < 60; i++) expect((await balancer.send(...POST)).status).toBe(200);
    expect(total()).toBe(60);
    expect(Math.min(...cameTo())).toBeGreaterThan(0);
    const connections = nodes.reduce((sum, node) => sum + node.connections, 0);
    expect(connections).toBeLessThan(30);
  });

  test('a node that cannot be reached: each request goes to another, once', async () => {
    await nodes[1]?.close();
    for (let i = 0; i < 30; i++) expect((await balancer.send(...POST)).status).toBe(200);
    expect(total()).toBe(30);
    expect(nodes[1]?.requests.length).toBe(0);
  });

  test('a write whose connection broke is never sent again', async () => {
    for (const node of nodes) node.respond = (request) => request.socket.destroy();
    for (let i = 0; i < 6; i++) {
      // On a connection that was used before, the break itself may be passed on.
      const path = `/api/v1/push?number=${i}`;
      const answer = await balancer.send('POST', path, '{}').catch(() => null);
      expect(answer?.status ?? 502).toBe(502);
    }
    const came = nodes.flatMap((node) => node.requests.map(({ url }) => url));
    expect(came.length).toBeGreaterThan(2);
    expect(new Set(came).size).toBe(came.length);
  });

  test('what a node refuses is passed on as it is, and not tried elsewhere', async () => {
    for (const node of nodes) {
      node.respond = (_, response) => {
        response.writeHead(503, { 'Retry-After': '1' });
        response.end('{"error":"the request deadline elapsed","code":"timeout"}');
      };
    }
    const { status, headers, body } = await balancer.send(...POST);
    expect(status).toBe(503);
    expect(headers['retry-after']).toBe('1');
    expect(JSON.parse(body)).toMatchObject({ code: 'timeout' });
    expect(total()).toBe(1);
  });

  test('a client that goes away while a node waits is gone for the node too', async () => {
    const gone: Promise<void>[] = [];
    for (const node of nodes) {
      node.respond = (_, response) => {
        gone.push(new Promise((resolve) => response.once('close', () => resolve())));
        client.abort();
      };
    }
    const client = new AbortController();
    const url = `http://127.0.0.1:${balancer.port}/api/v1/pop/queue/q?wait=true`;
    await expect(fetch(url, { signal: client.signal })).rejects.toThrow();
    expect(gone).toHaveLength(1);
    await gone[0];
  }, 20_000);

  test('routes of operators and names of tenants stay outside', async () => {
    for (const path of OPERATORS) {
      for (const method of ['GET', 'PUT', 'DELETE']) {
        expect((await balancer.send(method, path)).status, path).toBe(403);
      }
      expect((await balancer.send('GET', path.replace('s', '%73'))).status, path).toBe(403);
      expect((await balancer.send('GET', path.toUpperCase())).status, path).toBe(403);
    }
    expect(total()).toBe(0);
    await balancer.send('GET', '/', '', { 'x-svc-tenant': ['other', 'third'] });
    const [request] = nodes.flatMap((node) => node.requests);
    expect(request?.headers['x-svc-tenant']).toBe(undefined);
  });

  test('the name that a client used reaches the node as it was, with its port', async () => {
    await balancer.send('GET', '/', '', { Host: 'svc.example:8443' });
    const [request] = nodes.flatMap((node) => node.requests);
    expect(request?.headers.host).toBe('svc.example:8443');
  });

  test.runIf(kind === 'haproxy')('a node that is not ready gets nothing', async () => {
    for (const node of nodes.slice(1)) node.health = 503;
    await expect
      .poll(
        async () => {
          forget();
          for (let i = 0; i < 9; i++) await balancer.send(...POST);
          return cameTo();
        },
        { timeout: 10_000 },
      )
      .toEqual([9, 0, 0]);
  });

  test.runIf(kind === 'haproxy')('requests reach the nodes when none is ready', async () => {
    for (const node of nodes.slice(1)) node.health = 503;
    await expect.poll(async () => cameOnlyToTheFirst(), { timeout: 10_000 }).toBe(true);
    for (const node of nodes) node.health = 503;
    await expect.poll(async () => cameOnlyToTheFirst(), { timeout: 10_000 }).toBe(false);
    expect((await balancer.send(...POST)).status).toBe(200);
    await Promise.all(nodes.map((node) => node.close()));
    const { status, headers, body } = await balancer.send(...POST);
    expect(status).toBe(503);
    expect(headers['retry-after']).toBe('1');
    expect(JSON.parse(body)).toMatchObject({ code: 'no_leader' });
  });
});

describe.each(TOOLS)('%s with TLS', (kind, probe) => {
  const reason = missing(kind, [probe]) ?? missing('openssl', ['version']);
  if (reason !== null) {
    test('in front of a node', (context) => {
      console.log(reason);
      context.skip();
    });
    return;
  }

  let node: StandIn;
  let tlsPort: number;

  beforeEach(async () => {
    node = new StandIn();
    const nodePort = await freePort();
    await node.listen(nodePort);
    tlsPort = await freePort();
    balancer = new BalancerUnderTest(kind, await freePort(), [nodePort, 1, 2], tlsPort);
    await balancer.ready();
    node.requests.length = 0;
  });

  afterEach(async () => {
    await balancer.stop();
    await node.close();
  });

  function ask(path: string, tls: ConnectionOptions = {}): Promise<string> {
    return new Promise((resolve, reject) => {
      const port = tlsPort;
      const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...tls }, () => {
        const head = `GET ${path} HTTP/1.1\r\nHost: svc.example\r\nx-svc-tenant: b\r\n`;
        socket.write(`${head}Connection: close\r\n\r\n`);
      });
      let text = '';
      socket.on('data', (piece: Buffer) => {
        text += piece.toString('latin1');
      });
      socket.on('error', reject);
      socket.on('close', () => resolve(text));
    });
  }

  test('the same rules, over HTTPS', async () => {
    expect(await ask('/api/v1/resources/queues')).toMatch(/^HTTP\/1.1 200 /);
    expect(node.requests[0]?.headers).toMatchObject({ host: 'svc.example' });
    expect(node.requests[0]?.headers['x-svc-tenant']).toBe(undefined);
    for (const path of OPERATORS) expect(await ask(path)).toMatch(/^HTTP\/1.1 403 /);
    expect(node.requests.length).toBe(1);
  });

  test('nothing older than TLS 1.2', async () => {
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' } as const;
    await expect(ask('/', old)).rejects.toThrow();
  });
});

async function cameOnlyToTheFirst(): Promise<boolean> {
  forget();
  for (let i = 0; i < 9; i++) expect((await balancer.send(...POST)).status).toBe(200);
  return cameTo()[0] === 9;
}
