/**
 * Goal: a node lives at its limit of open files. With as many silent connections as anybody opens
 * it serves, rolls its log and writes checkpoints; with requests on all of them it refuses new ones
 * with 503, and serves again when some are gone. Method: real processes under `ulimit -n`, up to
 * the system's limit, where SVC_MAX_CONNECTIONS is the bound, for no process opens more files than
 * the one that is tested; clients from another address than the honest one.
 */
import { readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { HttpClient } from './http-client.js';
import { NodeUnderTest, type TemporaryDirectory, temporaryDirectory } from './node-under-test.js';
import { freePort } from './ports.js';

const ATTACKER = '127.0.0.2';

let directory: TemporaryDirectory;
let node: NodeUnderTest;
let sockets: Socket[];

interface Limit {
  readonly name: string;
  /** What the shell says before it becomes the node. */
  readonly command: string;
  readonly settings: Readonly<Record<string, string>>;
  /** Connections that are more than the node takes. */
  readonly beyond: number;
}

function filesOf(files: number): Limit {
  return { name: `${files} files`, command: `ulimit -n ${files};`, settings: {}, beyond: files };
}

const LIMITS: readonly Limit[] = [
  ...[256, 512, 1024, 2048].map(filesOf),
  {
    name: 'the files of the system',
    command: '',
    settings: { SVC_MAX_CONNECTIONS: '300' },
    beyond: 300,
  },
];

async function start({ command, settings }: Limit): Promise<void> {
  directory = temporaryDirectory();
  sockets = [];
  node = new NodeUnderTest({
    directory: directory.path,
    port: await freePort(),
    launcher: ['/bin/sh', '-c', `${command} exec "$0" "$@"`],
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

/** More segments than a log has open at a time, each of which takes a file. */
const SEGMENTS_MIN = 80;

interface Stored {
  readonly newestSegment: number;
  /** The last entry that a checkpoint holds. */
  readonly durableIndex: number;
}

async function storedAt(client: HttpClient): Promise<Stored> {
  const { text } = await client.get('/api/v1/raft/status');
  const { durableIndex } = JSON.parse(text) as { readonly durableIndex: number };
  const names = readdirSync(join(directory.path, 'data', 'log'));
  const numbers = names.map((name) => Number(/^segment-(\d+)\.log$/.exec(name)?.[1] ?? 0));
  return { newestSegment: Math.max(...numbers), durableIndex };
}

/** Pushes until the log has rolled often and a checkpoint was written since `before`. */
async function pushThrough(client: HttpClient, before: Stored): Promise<void> {
  const segments = Math.max(SEGMENTS_MIN, before.newestSegment + 2);
  for (;;) {
    await pushALot(client);
    const { newestSegment, durableIndex } = await storedAt(client);
    if (newestSegment >= segments && durableIndex > before.durableIndex) return;
  }
}

/** Fills several segments of the log and lets several checkpoints pass. */
async function pushALot(client: HttpClient): Promise<void> {
  const payload = 'x'.repeat(70_000);
  for (let i = 0; i < 12; i++) {
    const items = [{ queue: 'q', payload: `${i} ${payload}` }];
    expect((await client.post('/api/v1/push', { items })).status).toBe(201);
  }
}

describe.each(LIMITS)('with $name', (limit) => {
  const { beyond } = limit;

  test('silent connections end, one after the other; the honest client is served', async () => {
    await start(limit);
    for (let i = 0; i < beyond + 50; i++) await open();
    const client = new HttpClient(node.port);
    await pushALot(client);
    for (let i = 0; i < beyond; i++) await open();
    await pushThrough(client, await storedAt(client));
    client.close();
    expect(node.exit).toBe(null);
    expect(node.output).not.toContain('EMFILE');
  }, 120_000);

  test('parked pops are not ended: full, refused, freed, served again', async () => {
    await start(limit);
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
    for (let i = 0; i < 8 * beyond && !node.output.includes('connections are refused'); i++) {
      await open(park);
    }
    await expect.poll(() => node.output).toContain('connections are refused');
    isFull = true;
    await working;
    await pushThrough(client, await storedAt(client));
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
  }, 120_000);
});
