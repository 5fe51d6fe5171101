/**
 * Goal: whatever listens at a source's address, a standby comes to the state and the text of the
 * contract (standby-link 5 and 9), keeps nothing of it, and takes nothing from it that is not whole
 * and right. Method: the driver and the client over sockets, against servers that do one thing
 * each. Time is moved by hand.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createListener, type Socket } from 'node:net';
import { crc32 } from 'node:zlib';
import {
  type AnswerHead,
  encodeAnswerEnd,
  encodeAnswerHead,
  encodeEntryHead,
  type FollowerView,
  type MirrorResult,
  READ_PATH,
  type ReadRequest,
  SEED_PATH,
  type SourceEntry,
  TOKEN_HEADER,
} from '@svc/standby';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { MovedClock } from '../testing/moved-clock.fake.js';
import { FollowerDriver, type FollowingOffice } from './follower-driver.js';
import { SeedClient } from './seed-client.js';
import { SourceClient } from './source-client.js';
import type { AnswerListener, SourcePort } from './source-port.js';

const CLUSTER = '0190a7b4-7d5e-7abc-8def-0123456789ab';
const TOKEN = 's3cret-\u00fc\u20ac';
const HEAD: AnswerHead = { kind: 'entries', clusterId: CLUSTER, applied: 9, purged: 0, term: null };

class Office implements FollowingOffice {
  onRoom: () => void = () => {};
  position = { index: 2, term: 1 };
  inFlight = { entries: 0, bytes: 0 };
  readonly role = { id: 'abcdefgh', sourceCluster: CLUSTER };
  readonly taken: SourceEntry[] = [];
  isFull = false;

  get appliedPosition() {
    return this.position;
  }

  mirror(previous: number, entry: SourceEntry): MirrorResult {
    if (this.isFull) return { kind: 'full' };
    expect(previous).toBe(this.position.index);
    this.position = { index: entry.index, term: entry.term };
    this.taken.push(entry);
    return { kind: 'proposed' };
  }

  noteSource(): void {}
}

const clock = new MovedClock();
const lines: string[] = [];
const write = (_target: string, text: string) => void lines.push(text);
const logger = {
  ...{ error: write, warn: write, info: write, debug: write, trace: write },
  fatal: () => {},
};
const closers: (() => void)[] = [];
let office: Office;
let driver: FollowerDriver;

beforeEach(() => {
  office = new Office();
  lines.length = 0;
});

afterEach(() => {
  driver.close();
  for (const close of closers.splice(0)) close();
});

type Handler = (request: ReadRequest, response: ServerResponse, incoming: IncomingMessage) => void;

/** A node of a source; the address of it. */
async function serve(handle: Handler): Promise<string> {
  const server = createServer((incoming, response) => {
    const pieces: Buffer[] = [];
    incoming.on('data', (piece: Buffer) => pieces.push(piece));
    incoming.on('end', () => {
      const request = JSON.parse(Buffer.concat(pieces).toString()) as ReadRequest;
      if (request.holdOnly) response.end(answerOf([], HEAD, request.after));
      else handle(request, response, incoming);
    });
  });
  closers.push(() => {
    server.close();
    server.closeAllConnections();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Something that speaks for itself. */
async function listen(greet: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createListener((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    greet(socket);
  });
  closers.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function follow(...sources: string[]): void {
  const port = new SourceClient({ token: TOKEN, clock });
  const options = { name: null, cluster: 'own', entryBytesMax: 1000, clock, logger };
  driver = new FollowerDriver({ ...options, sources, port });
  driver.lead(office);
}

const view = (): FollowerView => driver.view({ index: 0, stampUs: 0 });

/** Lets time pass in small steps until it is so. */
async function until(done: () => boolean): Promise<void> {
  for (let i = 0; i < 2000 && !done(); i++) {
    clock.move(1);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  expect(done()).toBe(true);
}

const entryOf = (index: number, bytes = 3): SourceEntry => {
  return { index, term: 1, body: new Uint8Array(bytes).fill(index) };
};

function answerOf(entries: readonly SourceEntry[], head = HEAD, upto = 9): Buffer {
  const parts = entries.flatMap((entry) => [encodeEntryHead(entry, crc32), entry.body]);
  const end = encodeAnswerEnd({ upto, term: 1, applied: 9 }, crc32);
  return Buffer.concat([encodeAnswerHead(head, crc32), ...parts, end]);
}

test('an answer is followed by the next read, on the same connection', async () => {
  const sockets = new Set<unknown>();
  const requests: ReadRequest[] = [];
  const address = await serve((request, response, incoming) => {
    sockets.add(incoming.socket);
    requests.push(request);
    expect([incoming.method, incoming.url]).toEqual(['POST', READ_PATH]);
    const token = Buffer.from(String(incoming.headers[TOKEN_HEADER]), 'latin1').toString('utf8');
    expect(token).toBe(TOKEN);
    const next = request.after + 1;
    if (next > 6) return;
    const answer = answerOf([entryOf(next)], HEAD, next);
    // In two parts, and the second one in the middle of a piece.
    response.write(answer.subarray(0, 60));
    setTimeout(() => response.end(answer.subarray(60)), 2);
  });
  follow(address);
  await until(() => requests.length === 5);
  expect(office.taken.map(({ index, body }) => [index, ...body])).toEqual([
    [3, 3, 3, 3],
    [4, 4, 4, 4],
    [5, 5, 5, 5],
    [6, 6, 6, 6],
  ]);
  expect(requests.map(({ after, waitMs }) => [after, waitMs])).toEqual([
    [2, 0],
    [3, 2000],
    [4, 2000],
    [5, 2000],
    [6, 2000],
  ]);
  expect(sockets.size).toBe(1);
  expect(view()).toMatchObject({ state: 'following', entries: 4, lagEntries: 3, error: null });
  expect(lines).toEqual([`the source is followed at ${address}`]);
});

describe('a node that will not do', () => {
  test.each<[string, number, string, string]>([
    ['no token', 401, '', "the source refused this standby's SVC_LINK_SOURCE_TOKEN"],
    [
      'no link',
      404,
      '{"error":"not found"}',
      'the source serves no link ' +
        '(SVC_LINK_TOKEN is not set on it, or it runs a release without one)',
    ],
    ['not open', 503, '{"error":"this node is not open"}', 'status 503 (this node is not open)'],
    ['another server', 302, '<html>', 'status 302'],
    ['a long refusal', 500, `{"error":"${'x'.repeat(100_000)}"}`, 'status 500'],
  ])('%s', async (_what, status, body, text) => {
    const address = await serve((_request, response) => {
      response.statusCode = status;
      response.end(body);
    });
    follow(address);
    await until(() => view().error !== null);
    const error = `http://${address}: ${text}`;
    expect(view()).toMatchObject({ state: 'waiting', error });
    expect(lines).toEqual([`the source is waited for: ${error}`]);
  });

  const garbage = Buffer.alloc(300, 0x41);
  const torn = answerOf([entryOf(3), entryOf(4)]);
  const wrong = Buffer.from(torn);
  wrong[torn.length - 33] = 0xff;
  const unread = 'a source entry was not read: ';
  test.each<[string, Buffer, string, number]>([
    ['garbage', garbage, `${unread}it is not the answer of a source`, 0],
    ['half of an answer', torn.subarray(0, 120), `${unread}it ends before its end`, 1],
    ['nothing', Buffer.alloc(0), `${unread}it ends before its end`, 0],
    ['a wrong entry', wrong, `${unread}the checksum of entry 4 is wrong`, 1],
    ['too much', Buffer.concat([torn, garbage]), `${unread}it goes on after its end`, 2],
    [
      'a huge entry',
      answerOf([entryOf(3, 1001)]),
      `${unread}entry 3 has 1001 bytes, and one of this standby takes 1000: set ` +
        'SVC_RAFT_BATCH_MAX_BYTES and SVC_RAFT_ENTRY_MAX_BYTES as the source does',
      0,
    ],
  ])('%s', async (_what, answer, error, entries) => {
    let connections = 0;
    const address = await serve((request, response) => {
      connections++;
      if (request.after > 2) response.destroy();
      else response.end(answer);
    });
    follow(address);
    await until(() => view().state === 'waiting' && view().error !== null);
    expect(view().error).toBe(error);
    expect(office.taken).toHaveLength(entries);
    expect(connections).toBe(1);
  });

  test('another cluster', async () => {
    const clusterId = '0190a7b4-7d5e-7abc-8def-ffffffffffff';
    const address = await serve((_request, response) => {
      response.end(answerOf([entryOf(3)], { ...HEAD, clusterId }));
    });
    follow(address);
    await until(() => view().state === 'halted');
    const error = `source is cluster ${clusterId}, this standby follows ${CLUSTER}`;
    expect(view().error).toBe(error);
    expect(office.taken).toEqual([]);
    expect(lines).toEqual([`the source is not followed: ${error}`]);
  });

  test('none that listens', async () => {
    const address = await serve(() => {});
    closers.pop()?.();
    follow(address);
    await until(() => view().error !== null);
    expect(view().error).toBe(`http://${address}: connect ECONNREFUSED ${address}`);
  });

  test('one that breaks off', async () => {
    const address = await serve((_request, response) => {
      response.write(torn.subarray(0, 120));
      setTimeout(() => response.destroy(), 5);
    });
    follow(address);
    await until(() => view().error !== null);
    expect(view().error).toBe(`http://${address}: the connection broke within the answer`);
    expect(office.taken).toHaveLength(1);
  });

  test('one that speaks something else', async () => {
    const address = await listen((socket) => socket.write('+OK ready\r\n'));
    follow(address);
    await until(() => view().error !== null);
    expect(view().error).toMatch(`http://${address}: Parse Error`);
  });

  test('one whose name is not found out', async () => {
    const port = new SourceClient({ token: null, clock, lookup: () => {} });
    const options = { name: null, cluster: 'own', entryBytesMax: 1000, clock, logger };
    driver = new FollowerDriver({ ...options, sources: ['never.test:7400'], port });
    driver.lead(office);
    await new Promise((resolve) => setTimeout(resolve, 5));
    clock.move(1900);
    expect(view().error).toBeNull();
    await until(() => view().error === 'http://never.test:7400: no connection within 2s');
  });

  test('one whose name no request can carry', async () => {
    follow('a\nb:7400');
    await until(() => view().error !== null);
    expect(view().error).toMatch('Invalid character in header content');
  });
});

describe('silence', () => {
  test.each<[string, Buffer, number]>([
    ['from the beginning', Buffer.alloc(0), 0],
    ['within an answer', torn(), 1],
  ])('%s', async (_what, first, entries) => {
    let isAsked = false;
    const address = await serve((_request, response) => {
      isAsked = true;
      response.flushHeaders();
      if (first.length > 0) response.write(first);
    });
    follow(address);
    await until(() => isAsked && office.taken.length === entries);
    clock.move(21_000);
    expect(view().error).toBeNull();
    clock.move(1100);
    expect(view()).toMatchObject({
      state: 'waiting',
      error: `http://${address}: no answer within 22s`,
    });
  });

  test('of a node that is asked for rows', async () => {
    let answer: AnswerListener | null = null;
    const calls: string[] = [];
    const port: SourcePort = {
      ask: (address, path, _, listener) => {
        answer = listener;
        calls.push(`${address}${path}`);
        return { pause: () => {}, resume: () => {}, close: () => calls.push('closed') };
      },
      close: () => {},
    };
    const request = { reader: 'r', attempt: 1, name: null, after: null };
    const rows = new SeedClient(port, clock, 1000).rows('a:1', request);
    const failed = rows.then(
      () => '',
      ({ message }: Error) => message,
    );
    clock.move(59_000);
    (answer as AnswerListener | null)?.onBytes(Buffer.from('{'));
    clock.move(59_000);
    expect(calls).toEqual([`a:1${SEED_PATH}`]);
    clock.move(1000);
    expect(await failed).toBe('http://a:1: no answer within 60s');
    expect(calls).toHaveLength(2);
  });

  test('is broken by every byte', async () => {
    const answer = answerOf([entryOf(3)]);
    let at = 0;
    let write = () => {};
    const address = await serve((_request, response) => {
      write = () => response.write(answer.subarray(at, ++at));
      write();
    });
    follow(address);
    await until(() => at > 0);
    for (let i = 0; i < 10; i++) {
      // Time for a byte to arrive, on a busy machine too.
      await new Promise((resolve) => setTimeout(resolve, 50));
      clock.move(20_000);
      write();
    }
    expect(view().error).toBeNull();
  });

  function torn(): Buffer {
    return answerOf([entryOf(3), entryOf(4)]).subarray(0, 120);
  }
});

test.each([
  ['before its head', 0],
  ['within an entry', 90],
])('a node that sends a byte a second %s is followed by another one', async (_, first) => {
  const answer = answerOf([entryOf(3, 900)]);
  const slow: Socket[] = [];
  const address = await listen((socket) => {
    slow.push(socket);
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n');
      socket.write(answer.subarray(0, first));
    });
  });
  const honest = await serve((request, response) => {
    if (request.after === 2) response.end(answerOf([entryOf(3)]));
  });
  follow(address, honest);
  await until(() => (slow[0]?.bytesWritten ?? 0) > 0);
  for (let at = first; at < first + 60 && office.taken.length === 0; at++) {
    slow[0]?.write(answer.subarray(at, at + 1));
    await new Promise((resolve) => setTimeout(resolve, 5));
    clock.move(1000);
  }
  await until(() => office.taken.length === 1);
});

test('a node that is only to keep its log is not read beyond its first entry', async () => {
  const honest = await serve(() => {});
  const sockets: Socket[] = [];
  const hostile = await listen((socket) => {
    sockets.push(socket);
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    socket.write(encodeAnswerHead(HEAD, crc32));
    let index = 3;
    const pump = () => {
      let hasRoom = !socket.destroyed;
      while (hasRoom) {
        const entry = entryOf(index++, 900);
        hasRoom = socket.write(Buffer.concat([encodeEntryHead(entry, crc32), entry.body]));
      }
    };
    socket.on('drain', pump);
    pump();
  });
  follow(honest, hostile);
  await until(() => sockets[0]?.destroyed === true);
  // Kernels and streams hold so much.
  expect(sockets[0]?.bytesWritten).toBeLessThan(32 * 1024 * 1024);
});

test('a standby that is full reads no further, and is not called silent', async () => {
  const bytes = 900;
  let sent = 0;
  let next = 3;
  let stopped = false;
  const address = await serve((_request, response) => {
    if (sent > 0) return;
    response.write(encodeAnswerHead({ ...HEAD, applied: 1_000_000 }, crc32));
    const pump = () => {
      while (!stopped) {
        const entry = entryOf(next++, bytes);
        sent += bytes;
        const whole = Buffer.concat([encodeEntryHead(entry, crc32), entry.body]);
        if (!response.write(whole)) return;
      }
    };
    response.on('drain', pump);
    pump();
  });
  office.isFull = true;
  office.inFlight = { entries: 250, bytes: 0 };
  follow(address);
  let before = -1;
  await until(() => {
    const still = sent === before && sent > 0;
    before = sent;
    return still;
  });
  await new Promise((resolve) => setTimeout(resolve, 50));
  // What kernels and streams hold; a source that is not held back sends without end.
  expect(sent).toBeLessThan(32 * 1024 * 1024);
  clock.move(120_000);
  expect(view()).toMatchObject({ error: null, entries: 0 });
  office.isFull = false;
  office.inFlight = { entries: 0, bytes: 0 };
  stopped = true;
  office.onRoom();
  await until(() => office.taken.length === next - 3);
  expect(view().state).toBe('following');
});

test('whoever yields lets go of everything', async () => {
  const sockets = new Set<Socket>();
  const greet = (socket: Socket) => void sockets.add(socket.resume());
  const address = await listen(greet);
  const other = await listen(greet);
  follow(address, other);
  await until(() => sockets.size === 2);
  driver.yield();
  await until(() => [...sockets].every(({ closed, readableEnded }) => closed || readableEnded));
  expect(view()).toMatchObject({ state: 'idle', source: null, error: null });
  expect(clock.pending).toBe(0);
});
