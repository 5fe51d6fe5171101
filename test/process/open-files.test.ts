/**
 * Goal: a node lives at its limit of open files. With as many silent connections as anybody opens
 * it serves, rolls its log and writes checkpoints; with requests on all of them it refuses new ones
 * with 503, and serves again when some are gone. Method: real processes under `ulimit -n`, clients
 * from another address than the honest one.
 */
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { HttpClient } from './http-client.js';
import {
  freePort,
  NodeUnderTest,
  type TemporaryDirectory,
  temporaryDirectory,
} from './node-under-test.js';

const ATTACKER = '127.0.0.2';

let directory: TemporaryDirectory;
let node: NodeUnderTest;
let sockets: Socket[];

async function start(files: number, settings: Readonly<Record<string, string>> = {}) {
  directory = temporaryDirectory();
  sockets = [];
  node = new NodeUnderTest({
    directory: directory.path,
    port: await freePort(),
    launcher: ['/bin/sh', '-c', `ulimit -n ${files}; exec "$0" "$@"`],
    environment: {
      SVC_RAFT_SEGMENT_BYTES: '65536',
      SVC_RAFT_DURABLE_EVERY_MS: '50',
      ...settings,
    },
  });
  expect(await node.healthy()).toBe(true);
}

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  const { code } = await node.signal('SIGTERM');
  directory.remove();
  expect(code).toBe(0);
});

function open(firstBytes = ''): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect({ port: node.port, host: '127.0.0.1', localAddress: ATTACKER });
    sockets.push(socket);
    socket.resume();
    socket.on('error', () => resolve());
    socket.on('connect', () => {
      if (firstBytes !== '') socket.write(firstBytes);
      resolve();
    });
  });
}

/** Fills more than one segment of the log and lets several checkpoints pass. */
async function pushALot(client: HttpClient): Promise<void> {
  const payload = 'x'.repeat(20_000);
  for (let i = 0; i < 12; i++) {
    const items = [{ queue: 'q', payload: `${i} ${payload}` }];
    expect((await client.post('/api/v1/push', { items })).status).toBe(201);
  }
}

describe.each([256, 512, 1024])('with %d files', (files) => {
  test('silent connections end, one after the other; the honest client is served', async () => {
    await start(files);
    for (let i = 0; i < files + 50; i++) await open();
    const client = new HttpClient(node.port);
    await pushALot(client);
    for (let i = 0; i < files; i++) await open();
    await pushALot(client);
    client.close();
    expect(node.exit).toBe(null);
    expect(node.output).not.toContain('EMFILE');
  });

  test('parked pops are not ended: full, refused, freed, served again', async () => {
    await start(files);
    const client = new HttpClient(node.port);
    const park =
      'GET /api/v1/pop/queue/none?wait=true&timeout=60000 HTTP/1.1\r\nHost: localhost\r\n\r\n';
    let isFull = false;
    // A client that is at work keeps its connection, across log rolls and checkpoints at the bound.
    const working = (async () => {
      do await pushALot(client);
      while (!isFull);
      await pushALot(client);
    })();
    // A connection whose pop was not read yet may end for the next one; those that wait stay.
    for (let i = 0; i < 8 * files && !node.output.includes('connections are refused'); i++) {
      await open(park);
    }
    await expect.poll(() => node.output).toContain('connections are refused');
    isFull = true;
    await working;
    for (const socket of sockets.splice(0, 20)) socket.destroy();
    await expect
      .poll(async () => {
        const late = new HttpClient(node.port);
        const { status } = await late.get('/health').catch(() => ({ status: 0 }));
        late.close();
        return status;
      })
      .toBe(200);
    client.close();
    expect(node.output).toContain('connections are refused');
    expect(node.output).not.toContain('EMFILE');
  });
});
