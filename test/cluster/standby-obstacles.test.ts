/**
 * Goal: whatever a source's node answers, a standby says what stands in its way in the words of the
 * contract, takes little memory, and has what it had. Method: one pair of real nodes; the source is
 * started again with other tokens, a listener that answers badly takes its place, another cluster
 * comes in its stead, and in the end the standby is told to follow itself.
 */
import { createServer, type Server, type Socket } from 'node:net';
import { READ_PATH, TOKEN_HEADER } from '@svc/standby';
import { expect, it } from 'vitest';
import { HttpClient } from '../process/http-client.js';
import type { Environment } from '../process/node-under-test.js';
import { until } from './cluster.js';
import type { ClusterNode } from './cluster-node.js';
import { type ClusterPair, withPair } from './cluster-pair.js';

const SCENARIO_MS_MAX = 240_000;
const MIB = 1024 * 1024;
/** What an answer without an end may bring before the standby turns away: buffers of sockets. */
const ENDLESS_BYTES_MAX = 16 * MIB;
/** Beyond what a node at rest takes. */
const GROWTH_BYTES_MAX = 96 * MIB;
const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\n';

const OWN_ENTRY = new RegExp(
  "^source entry \\d+ is this cluster's own standby entry: SVC_LINK_SOURCE names this cluster " +
    'itself, or a cluster that follows it$',
);

type Answer = (socket: Socket) => void;

it('a standby and sources that are none', { timeout: SCENARIO_MS_MAX }, async () => {
  await withPair({ source: 1, standby: 1 }, async (pair) => {
    await pair.startAll();
    const [source, standby] = [pair.source.node(1), pair.standby.node(1)];
    const items = [{ queue: 'q', payload: 'kept' }];
    expect((await source.client.post('/api/v1/push', { items })).status).toBe(201);
    await pair.followed();
    const url = `http://${pair.source.addresses(1).raft}`;
    const whole = await wholeAnswer(source);
    const bytesBefore = await residentBytes(standby);

    const tokens: readonly (readonly [variables: Environment, error: string])[] = [
      [{ SVC_LINK_TOKEN: 'another' }, "the source refused this standby's SVC_LINK_SOURCE_TOKEN"],
      [
        { SVC_LINK_TOKEN: undefined },
        'the source serves no link (SVC_LINK_TOKEN is not set on it, or it runs a release ' +
          'without one)',
      ],
    ];
    for (const [variables, error] of tokens) {
      await source.kill();
      source.variables = variables;
      source.start();
      await waits(pair, (text) => text === `${url}: ${error}`);
    }
    await source.kill();

    const broken = /^a source entry was not read: |: the connection broke within the answer$/;
    const answers: readonly (readonly [answer: Answer, error: RegExp])[] = [
      [(socket) => void socket.end('nothing of the kind\r\n\r\n'), /^http:.*: Parse Error/],
      [(socket) => endless(socket, 'HTTP/1.1 200 OK\r\nx: '), /^http:.*: Parse Error/],
      [(socket) => endless(socket, `${HEAD}\r\n`), /^a source entry was not read: /],
      [(socket) => endless(socket, 'HTTP/1.1 500 No\r\n\r\n'), /^http:.*: status 500$/],
      [(socket) => half(socket, whole), broken],
      [(socket) => half(socket, whole.subarray(0, 3)), broken],
      [() => undefined, /^http:.*: no answer within 22s$/],
    ];
    for (const [answer, error] of answers) {
      await withListener(source.settings.raftPort, answer, async (sockets) => {
        await waits(pair, (text) => error.test(text));
        for (const { bytesWritten } of sockets) {
          expect(bytesWritten).toBeLessThan(ENDLESS_BYTES_MAX);
        }
      });
    }
    expect((await residentBytes(standby)) - bytesBefore).toBeLessThan(GROWTH_BYTES_MAX);

    source.wipe();
    source.variables = {};
    source.start();
    await halts(pair, /^source is cluster [-\da-f]{36}, this standby follows [-\da-f]{36}$/);
    const kept = await standby.client.get('/api/v1/messages?queue=q');
    expect(kept.text).toContain('kept');
    expect((await standby.client.post('/api/v1/push', { items })).status).toBe(503);

    await standby.kill();
    standby.wipe();
    const { SVC_LINK_TOKEN } = standby.settings.environment;
    standby.variables = {
      ...standby.variables,
      SVC_LINK_SOURCE: pair.standby.addresses(1).raft,
      SVC_LINK_SOURCE_TOKEN: SVC_LINK_TOKEN,
    };
    standby.start();
    await halts(pair, OWN_ENTRY);
  });
});

function waits(pair: ClusterPair, isIt: (error: string) => boolean): Promise<void> {
  return pair.follower('it waits', ({ state, error }) => {
    return state === 'waiting' && error !== null && isIt(error);
  });
}

function halts(pair: ClusterPair, error: RegExp): Promise<void> {
  return pair.follower('it halts', (view) => {
    return view.state === 'halted' && error.test(view.error ?? '');
  });
}

/** What the node answers to a standby that has nothing, as it stands in the body. */
async function wholeAnswer({ settings }: ClusterNode): Promise<Buffer> {
  const client = new HttpClient(settings.raftPort);
  const { SVC_LINK_TOKEN = '' } = settings.environment;
  const request = { after: 0, afterTerm: 0, maxBytes: 0, waitMs: 0, reader: 'a test' };
  const headers = { [TOKEN_HEADER]: SVC_LINK_TOKEN };
  const { status, bytes } = await client.post(READ_PATH, request, { headers });
  client.close();
  expect(status).toBe(200);
  return bytes;
}

/** The beginning of an answer, and its end too early, as HTTP sees it. */
function half(socket: Socket, whole: Buffer): void {
  const part = whole.subarray(0, Math.ceil(whole.length / 2));
  socket.write(`${HEAD}content-length: ${part.length}\r\n\r\n`);
  socket.end(part);
}

function endless(socket: Socket, head: string): void {
  const piece = Buffer.alloc(64 * 1024, 'x');
  const write = () => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.write(head);
  socket.on('drain', write);
  write();
}

/** Listens in the place of a node, for the time of `body`. */
async function withListener(
  port: number,
  answer: Answer,
  body: (sockets: readonly Socket[]) => Promise<void>,
): Promise<void> {
  const sockets: Socket[] = [];
  const server: Server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => socket.destroy());
    socket.once('data', () => answer(socket));
  });
  await new Promise<void>((resolve) => void server.listen(port, '127.0.0.1', resolve));
  try {
    await body(sockets);
  } finally {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
}

async function residentBytes({ client }: ClusterNode): Promise<number> {
  return until(10_000, 'its memory', async () => {
    const { status, text } = await client.get('/metrics');
    if (status !== 200) return null;
    return (JSON.parse(text) as { readonly memory: { readonly rss: number } }).memory.rss;
  });
}
