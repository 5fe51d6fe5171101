/**
 * Goal: whatever a source's node answers, a standby says what stands in its way in the words of the
 * contract, takes little memory, has what it had, and goes on with an honest one. Method: one pair
 * of real nodes; a listener that answers badly takes the place of the source, and well in between,
 * so that each obstacle is met at once; the source comes back; another cluster comes in its stead;
 * and in the end the standby is told to follow itself.
 */
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import {
  type AnswerHead,
  encodeAnswerEnd,
  encodeAnswerHead,
  encodeEntryHead,
  type ReadRequest,
} from '@svc/standby';
import { RealDisk, readIdentity } from '@svc/storage';
import { expect, it } from 'vitest';
import { until } from './cluster.js';
import type { ClusterNode } from './cluster-node.js';
import { type ClusterPair, withPair } from './cluster-pair.js';

const SCENARIO_MS_MAX = 240_000;
const MIB = 1024 * 1024;
/** What an answer without an end may bring before the standby turns away: buffers of sockets. */
const ENDLESS_BYTES_MAX = 16 * MIB;
/** Beyond what a node at rest takes. */
const GROWTH_BYTES_MAX = 96 * MIB;
const ANOTHER = '0190a7b4-7d5e-7abc-8def-0123456789ab';
const BODY = new Uint8Array(9);

const OWN_ENTRY = new RegExp(
  "^source entry \\d+ is this cluster's own standby entry: SVC_LINK_SOURCE names this cluster " +
    'itself, or a cluster that follows it$',
);

interface Asked {
  readonly request: ReadRequest;
  readonly response: ServerResponse;
  readonly socket: Socket;
}
type Answer = (asked: Asked) => void;

/** A source in name: `answer` is what it says to whoever wants entries. */
class Impostor {
  readonly sockets: Socket[] = [];
  readonly #clusterId: string;
  answer: Answer = (asked) => this.nothingNew(asked);
  readonly #server: Server = createServer((incoming, response) => {
    const pieces: Buffer[] = [];
    incoming.on('data', (piece: Buffer) => pieces.push(piece));
    incoming.on('end', () => {
      const request = JSON.parse(Buffer.concat(pieces).toString()) as ReadRequest;
      const asked = { request, response, socket: incoming.socket };
      if (request.holdOnly) this.nothingNew(asked);
      else this.answer(asked);
    });
  });

  constructor(clusterId: string) {
    this.#clusterId = clusterId;
    this.#server.on('connection', (socket: Socket) => {
      this.sockets.push(socket);
      socket.on('error', () => socket.destroy());
    });
  }

  listen(port: number): Promise<void> {
    return new Promise((resolve) => void this.#server.listen(port, '127.0.0.1', resolve));
  }

  close(): Promise<unknown> {
    for (const socket of this.sockets) socket.destroy();
    return new Promise((resolve) => this.#server.close(resolve));
  }

  nothingNew({ request, response }: Asked): void {
    response.end(Buffer.concat([this.head(request), end(request)]));
  }

  head({ after }: ReadRequest, more: Partial<AnswerHead> = {}): Uint8Array {
    const head = { kind: 'entries', applied: after, purged: 0, term: null } as const;
    return encodeAnswerHead({ ...head, clusterId: this.#clusterId, ...more }, crc32);
  }

  /** An entry whose fixed part is whole; `body` is what follows it. */
  entry({ request, response }: Asked, index: number, term: number, body = BODY): void {
    response.write(this.head(request));
    response.end(Buffer.concat([encodeEntryHead({ index, term, body }, crc32), body]));
  }

  /** As `entry`, and it says that it has 4 GiB. */
  vast({ request, response }: Asked): void {
    const piece = encodeEntryHead({ index: request.after + 1, term: 9, body: BODY }, crc32);
    const view = new DataView(piece.buffer);
    view.setUint32(20, 0xffff_ffff);
    view.setUint32(28, crc32(piece.subarray(0, 28)));
    response.write(Buffer.concat([this.head(request), piece]));
  }

  /** The beginning of an answer, and its end too early, as HTTP sees it. */
  half({ request, response }: Asked, bytes: number): void {
    response.end(Buffer.concat([this.head(request), end(request)]).subarray(0, bytes));
  }

  get answers(): readonly (readonly [answer: Answer, error: RegExp])[] {
    const unread = (why: string) => new RegExp(`^a source entry was not read: ${why}$`);
    const failed = (why: string) => new RegExp(`^http://127\\.0\\.0\\.1:\\d+: ${why}`);
    const status = (code: number) => (asked: Asked) => {
      asked.response.writeHead(code, { location: `http://${asked.request.reader}/` });
      asked.response.end();
    };
    return [
      [status(401), failed("the source refused this standby's SVC_LINK_SOURCE_TOKEN$")],
      [status(404), failed('the source serves no link \\(SVC_LINK_TOKEN is not set on it, ')],
      [status(302), failed('status 302$')],
      [({ socket }) => void socket.end('nothing of the kind\r\n\r\n'), failed('Parse Error')],
      [({ socket }) => endless(socket, 'HTTP/1.1 200 OK\r\nx: '), failed('Parse Error')],
      [({ socket }) => endless(socket, 'HTTP/1.1 500 No\r\n\r\n'), failed('status 500$')],
      [
        ({ socket }) => endless(socket, 'HTTP/1.1 200 OK\r\n\r\n'),
        unread('it is not the answer.*'),
      ],
      [(asked) => this.half(asked, 60), unread('it ends before its end')],
      [(asked) => this.half(asked, 3), unread('it ends before its end')],
      [
        (asked) => this.vast(asked),
        unread(
          'entry \\d+ has 4294967295 bytes, and one of this standby takes \\d+: set ' +
            'SVC_RAFT_BATCH_MAX_BYTES and SVC_RAFT_ENTRY_MAX_BYTES as the source does',
        ),
      ],
      [
        (asked) => this.entry(asked, asked.request.after, asked.request.afterTerm),
        unread('entry (\\d+) follows entry \\1'),
      ],
      [
        (asked) => this.entry(asked, asked.request.after + 1, asked.request.afterTerm - 1),
        unread('entry \\d+ of term \\d+ follows one of term \\d+'),
      ],
      [
        ({ request, response }) => {
          const head = this.head(request, { applied: request.after - 1 });
          response.end(Buffer.concat([head, end(request)]));
        },
        /^the source has applied \d+ and this standby is at \d+: no node of the source is as far/,
      ],
    ];
  }
}

it('a standby and sources that are none', { timeout: SCENARIO_MS_MAX }, async () => {
  await withPair({ source: 1, standby: 1 }, async (pair) => {
    await pair.startAll();
    const [source, standby] = [pair.source.node(1), pair.standby.node(1)];
    const items = [{ queue: 'q', payload: 'kept' }];
    expect((await source.client.post('/api/v1/push', { items })).status).toBe(201);
    await pair.followed();
    const bytesBefore = await residentBytes(standby);
    await source.kill();
    const { clusterId = '' } =
      readIdentity(new RealDisk(), join(source.settings.directory, 'data')) ?? {};

    const impostor = new Impostor(clusterId);
    await impostor.listen(source.settings.raftPort);
    for (const [answer, error] of impostor.answers) {
      await pair.follower('it follows', ({ state }) => state === 'following');
      impostor.answer = answer;
      await pair.follower(`${error}`, (view) => {
        return view.state === 'waiting' && error.test(view.error ?? '');
      });
      impostor.answer = (asked) => impostor.nothingNew(asked);
    }
    for (const { bytesWritten } of impostor.sockets) {
      expect(bytesWritten).toBeLessThan(ENDLESS_BYTES_MAX);
    }
    expect((await residentBytes(standby)) - bytesBefore).toBeLessThan(GROWTH_BYTES_MAX);
    await impostor.close();

    source.start();
    await pair.source.ready();
    expect((await source.client.post('/api/v1/push', { items })).status).toBe(201);
    await pair.followed();
    await source.kill();

    const other = new Impostor(ANOTHER);
    await other.listen(source.settings.raftPort);
    await halts(
      pair,
      new RegExp(`^source is cluster ${ANOTHER}, this standby follows ${clusterId}$`),
    );
    await other.close();
    const kept = await standby.client.get('/api/v1/messages?queue=q');
    expect(kept.text.match(/"payload":"kept"/g)).toHaveLength(2);
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

function halts(pair: ClusterPair, error: RegExp): Promise<void> {
  return pair.follower('it halts', (view) => {
    return view.state === 'halted' && error.test(view.error ?? '');
  });
}

function end({ after, afterTerm }: ReadRequest): Uint8Array {
  return encodeAnswerEnd({ upto: after, term: afterTerm, applied: after }, crc32);
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

async function residentBytes({ client }: ClusterNode): Promise<number> {
  return until(10_000, 'its memory', async () => {
    const { status, text } = await client.get('/metrics');
    if (status !== 200) return null;
    return (JSON.parse(text) as { readonly memory: { readonly rss: number } }).memory.rss;
  });
}
