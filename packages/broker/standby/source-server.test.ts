// Goal: a standby that knows the token reads the log by plain HTTP on the port between nodes;
// strangers learn nothing, cost little, and disturb neither standbys nor nodes (standby-link 9).
// Method: raw sockets and the client of Node against a whole port, while an honest pair of nodes
// goes on speaking; deadlines come when a test says so, or ten times as fast.

import { Agent, request } from 'node:http';
import type { Socket } from 'node:net';
import { crc32 } from 'node:zlib';
import { AnswerReader, READ_PATH, SEED_PATH, type SourceEntry, TOKEN_HEADER } from '@svc/standby';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Cancel, type Clock, SystemClock } from '../system/clock.js';
import { createLogger } from '../system/logging.js';
import {
  connected,
  type FakePeer,
  FastClock,
  PeerWorld,
  pause,
  until,
} from '../testing/peer-sockets.fake.js';
import { FakeLog } from '../testing/source-log.fake.js';
import type { SeedAnswers } from './seed-answers.js';
import { SourceReads } from './source-reads.js';
import { SourceServer } from './source-server.js';

const SECRET = 'the secret of the söurce';
const CLUSTER_ID = '0190a7b4-7d5e-7abc-8def-0123456789ab';
const MIB = 1024 * 1024;
const SYSTEM = new SystemClock();
/** For tests that wait for a deadline. A busy machine makes it late, so the others do without. */
const FAST = new FastClock();

/** Runs as fast as any, and `leap` brings what is due later. */
class LeapingClock implements Clock {
  readonly #waiting = new Map<() => void, number>();
  wallUs = () => SYSTEM.wallUs();
  nowMs = () => SYSTEM.nowMs();
  soon = (work: () => void) => SYSTEM.soon(work);
  every = (periodMs: number, work: () => void) => SYSTEM.every(periodMs, work);

  after(delayMs: number, work: () => void): Cancel {
    const dueMs = this.nowMs() + delayMs;
    const run = () => {
      cancel();
      work();
    };
    const cancelTimer = SYSTEM.after(delayMs, run);
    const cancel = () => {
      this.#waiting.delete(run);
      cancelTimer();
    };
    this.#waiting.set(run, dueMs);
    return cancel;
  }

  /** Runs what is due within `ms`, the earliest first. */
  leap(ms: number): void {
    const untilMs = this.nowMs() + ms;
    const due = [...this.#waiting].filter(([, dueMs]) => dueMs <= untilMs);
    for (const [run] of due.sort(([, a], [, b]) => a - b)) if (this.#waiting.has(run)) run();
  }
}

const NODES = { clock: SYSTEM };

let world: PeerWorld;
let a: FakePeer;
let b: FakePeer;
let log: FakeLog;
let applied: number;
let lines: string[];
let reads: SourceReads;
let server: SourceServer;
let agent: Agent;

async function open(token: string | null, clock: Clock): Promise<void> {
  world = new PeerWorld();
  log = new FakeLog();
  applied = 0;
  lines = [];
  agent = new Agent({ keepAlive: true });
  const logger = createLogger({ level: 'info', json: false }, (line) => lines.push(line));
  reads = new SourceReads({
    clusterId: CLUSTER_ID,
    log,
    appliedIndex: () => applied,
    holds: { note: () => 'kept', touch: () => {} },
    bytesPerS: 1000 * MIB,
    clock,
    logger,
    onDamage: () => {},
  });
  server = new SourceServer({ token, clock, logger });
  server.serve({ reads, seeds: null });
  [a, b] = await world.pair({ ...NODES, onHttp: (socket) => server.take(socket) }, NODES);
}

async function close(): Promise<void> {
  agent.destroy();
  reads.stop();
  server.close();
  await world.close();
}

async function openAgain(token: string | null, clock: Clock): Promise<void> {
  await close();
  await open(token, clock);
}

beforeEach(() => open(SECRET, SYSTEM));

afterEach(close);

let frames = 0;

/** The honest pair can still speak, both ways, over the connections that it had. */
async function unharmed(): Promise<void> {
  const text = `frame ${frames++}`;
  a.sockets.send(2, 'consensus', [Buffer.from(text)]);
  b.sockets.send(1, 'calls', [Buffer.from(text)]);
  await until('there', () => b.texts('consensus').includes(text));
  await until('and back', () => a.texts('calls').includes(text));
  for (const peer of [a, b]) expect(peer.count('closed') + peer.count('stalled')).toBe(0);
}

function fill(count: number, bytes: number): void {
  for (let i = 0; i < count; i++) log.add(bytes);
  applied = log.list.length;
}

interface Answer {
  readonly status: number;
  readonly entries: SourceEntry[];
  readonly upto: number;
  readonly text: string;
}

interface Asked {
  readonly token?: string | null;
  readonly path?: string;
  readonly method?: string;
}

/** As a standby asks. */
function ask(
  body: object | string,
  { token = SECRET, path = READ_PATH, method = 'POST' }: Asked = {},
) {
  return new Promise<Answer>((resolve, reject) => {
    const headers = token === null ? {} : { [TOKEN_HEADER]: Buffer.from(token).toString('latin1') };
    const sent = request({ host: '127.0.0.1', port: a.port, path, method, headers, agent });
    sent.on('error', reject);
    sent.on('response', (response) => {
      const { statusCode: status = 0 } = response;
      const entries: SourceEntry[] = [];
      let upto = -1;
      let text = '';
      const reader = new AnswerReader(
        { after: 0, entryBytesMax: 64 * MIB },
        {
          onHead: ({ clusterId }) => expect(clusterId).toBe(CLUSTER_ID),
          onEntry: (entry) => entries.push(entry),
          onEnd: (end) => {
            upto = end.upto;
          },
        },
        crc32,
      );
      response.on('data', (piece: Buffer) => {
        if (status !== 200) text += piece.toString();
        else expect(reader.push(piece)).toBeNull();
      });
      response.on('error', reject);
      response.on('end', () => resolve({ status, entries, upto, text }));
    });
    // As bytes: Node joins a text with the head, and then writes both as UTF-8.
    sent.end(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)));
  });
}

function closed(socket: Socket): Promise<string> {
  const pieces: Buffer[] = [];
  socket.on('data', (piece) => pieces.push(piece));
  return new Promise((resolve) => {
    socket.once('close', () => resolve(Buffer.concat(pieces).toString('latin1')));
  });
}

function head(fields: string, path = READ_PATH): string {
  return `POST ${path} HTTP/1.1\r\nhost: x\r\n${fields}`;
}

const RIGHT = `${TOKEN_HEADER}: ${Buffer.from(SECRET).toString('latin1')}\r\n`;

test('a standby reads what is applied, by one connection', async () => {
  fill(50, 1000);
  fill(3, 2 * MIB);
  fill(500, 10);
  const whole = await ask({});
  expect([whole.status, whole.upto]).toEqual([200, 553]);
  expect(whole.entries.map(({ index, term }) => [index, term])).toEqual(
    log.list.map(({ index, term }) => [index, term]),
  );
  for (const [i, { body }] of whole.entries.entries()) {
    expect(Buffer.compare(body, log.list[i]?.data ?? new Uint8Array(0))).toBe(0);
  }
  const rest = await ask({ after: 550, afterTerm: 1 });
  expect(rest.entries.map(({ index }) => index)).toEqual([551, 552, 553]);
  expect(server.counts).toEqual({ connections: 1, trusted: 1 });
  await unharmed();
});

test('a request may come in any pieces', async () => {
  fill(3, 100);
  const socket = await world.dial(a.port);
  const answer = closed(socket);
  const bytes = Buffer.from(
    `${head(RIGHT)}connection: close\r\ncontent-length: 2\r\n\r\n{}`,
    'latin1',
  );
  // The first bytes, by which the port tells it from a node, one by one.
  for (let at = 0; at < bytes.length; at += at < 6 ? 1 : 29) {
    socket.write(bytes.subarray(at, at < 6 ? at + 1 : at + 29));
    await pause(1);
  }
  expect(await answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  await unharmed();
});

test('a standby that is at the end waits until something is applied', async () => {
  fill(3, 100);
  const waiting = ask({ after: 3, afterTerm: 1, waitMs: 30_000 });
  await until('it waits', () => reads.size === 1);
  fill(1, 100);
  reads.applied();
  expect((await waiting).entries.map(({ index }) => index)).toEqual([4]);
});

test('whoever does not know the token learns nothing', async () => {
  fill(9, 100);
  const answers = [];
  for (const token of [null, '', 'wrong', `${SECRET} `.repeat(9)]) {
    for (const path of [READ_PATH, '/link/v1/snapshot', '/health', '/']) {
      answers.push(await ask({}, { token, path }));
      answers.push(await ask('nonsense', { token, path }));
    }
  }
  const text = '{"error":"the token is missing or wrong"}';
  for (const answer of answers) expect(answer).toMatchObject({ status: 401, text });
  expect(server.counts.trusted).toBe(0);
  // However often: one line, which does not hold what was tried.
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/WARN +standby refused a standby at 127.0.0.1: its token is missing/);
  await unharmed();
});

test('a node without a token has nothing here, whatever is asked', async () => {
  await openAgain(null, SYSTEM);
  for (const token of [null, SECRET]) {
    for (const path of [READ_PATH, '/link/v1/snapshot', '/']) {
      const answer = await ask({}, { token, path });
      expect(answer).toMatchObject({ status: 404, text: '{"error":"not found"}' });
    }
  }
  expect(lines).toEqual([]);
  await unharmed();
});

test.each<[string, object | string, Asked, number, string]>([
  ['another route', {}, { path: '/link/v1/write' }, 404, 'not found'],
  ['another method', '', { method: 'GET' }, 405, 'the method is POST'],
  ['no JSON', 'x', {}, 400, 'the body is not JSON'],
  ['a wrong field', { after: -1 }, {}, 400, 'after is not an integer from 0 to 2^53 - 1'],
  ['too long', ' '.repeat(10_000), {}, 413, 'the body is too long'],
])('a request that is wrong is refused: %s', async (_what, body, asked, status, error) => {
  expect(await ask(body, asked)).toMatchObject({ status, text: JSON.stringify({ error }) });
  await unharmed();
});

test('a node that is not open says so', async () => {
  server.serve(null);
  expect(await ask({})).toMatchObject({ status: 503, text: '{"error":"this node is not open"}' });
  server.serve({ reads, seeds: null });
  expect(await ask({})).toMatchObject({ status: 200 });
  reads.stop();
  expect(await ask({})).toMatchObject({ status: 503, text: '{"error":"this node is stopping"}' });
});

test('a crowd of strangers takes nobody’s place', async () => {
  const clock = new LeapingClock();
  await openAgain(SECRET, clock);
  fill(20, 100_000);
  const starts = ['POST', 'GET / HTTP/1.1\r\nx', head(`x: ${'y'.repeat(2000)}`), head('\r\n')];
  let most = 0;
  const crowd: Socket[] = [];
  for (let round = 0; round < 20; round++) {
    const some = await Promise.all(Array.from({ length: 15 }, () => world.dial(a.port)));
    for (const [i, socket] of some.entries()) socket.write(starts[i % starts.length] ?? '');
    crowd.push(...some);
    const { connections, trusted } = server.counts;
    most = Math.max(most, connections - trusted);
    // A standby that comes in the middle of it, and a node.
    expect((await ask({ reader: `r${round}` })).entries).toHaveLength(20);
    if (round % 5 > 0) continue;
    const c = await world.peer(3 + round, NODES);
    c.sockets.setPeers([a.address]);
    await connected(c, a);
  }
  expect(most).toBeLessThanOrEqual(32);
  expect(a.count('too_many_connections')).toBe(0);
  await until('all but the last have gone', () => {
    clock.leap(5000);
    return server.counts.connections <= 1;
  });
  await unharmed();
});

test('bytes that are neither a node nor HTTP are turned away as ever', async () => {
  for (const text of ['POSX / HTTP/1.1\r\n', '\x16\x03\x01\x02\x00', 'VCSPnonsense', 'get / ']) {
    const socket = await world.dial(a.port);
    const answer = closed(socket);
    socket.write(text.padEnd(60, '.'));
    expect(await answer).toBe('');
  }
  // Too few to tell have the time of a handshake.
  const socket = await world.dial(a.port);
  socket.write('POS');
  expect(await closed(socket)).toBe('');
  expect(server.counts.connections).toBe(0);
  expect(a.count('handshake_timeout')).toBeGreaterThanOrEqual(1);
  await unharmed();
});

test.each([
  ['a head that comes slowly', head('x: ')],
  ['a head that stops', head(RIGHT)],
  ['a body that stops', `${head(RIGHT)}content-length: 9\r\n\r\n{`],
])('%s has little time', async (what, text) => {
  await openAgain(SECRET, FAST);
  const socket = await world.dial(a.port);
  const end = closed(socket);
  socket.write(Buffer.from(text, 'latin1'));
  const dripping = setInterval(() => what.includes('slowly') && socket.write('y'), 20);
  await end;
  clearInterval(dripping);
  expect(server.counts).toEqual({ connections: 0, trusted: 0 });
  await unharmed();
});

test('a head that is too long is not taken', async () => {
  const socket = await world.dial(a.port);
  const end = closed(socket);
  socket.write(head(`x: ${'y'.repeat(100_000)}`));
  expect(await end).toMatch(/^HTTP\/1\.1 431 /);
  await unharmed();
});

test('a second request before the answer to the first ends the connection', async () => {
  fill(3, 100);
  const socket = await world.dial(a.port);
  const end = closed(socket);
  const body = '{"after":3,"afterTerm":1,"waitMs":30000}';
  const one = `${head(RIGHT)}content-length: ${body.length}\r\n\r\n${body}`;
  socket.write(Buffer.from(one + one, 'latin1'));
  await end;
  expect(reads.size).toBe(0);
  await unharmed();
});

test('a reader that never reads holds little, and is cut off', async () => {
  const clock = new LeapingClock();
  await openAgain(SECRET, clock);
  fill(640, 100_000);
  const socket = await world.dial(a.port);
  socket.pause();
  const body = '{"maxBytes":67108864}';
  socket.write(
    Buffer.from(`${head(RIGHT)}content-length: ${body.length}\r\n\r\n${body}`, 'latin1'),
  );
  await until('it is full', () => reads.size === 1);
  await pause(500);
  const before = log.readBytes;
  // What the kernel takes of 64 MB, and a window.
  expect(before).toBeLessThan(20 * MIB);
  await pause(500);
  expect(log.readBytes).toBe(before);
  await unharmed();
  clock.leap(30_000);
  await until('it is cut off', () => reads.size === 0 && server.counts.connections === 0);
  expect(log.readBytes).toBe(before);
});

test('a reader that never reads its rows holds one portion, however often it asks', async () => {
  const seeds = { answer: () => [Buffer.alloc(16 * MIB)] } as unknown as SeedAnswers;
  server.serve({ reads, seeds });
  const body = '{"reader":"r","attempt":1}';
  const text = `${head(RIGHT, SEED_PATH)}content-length: ${body.length}\r\n\r\n${body}`;
  const sockets: Socket[] = [];
  for (let i = 0; i < 8; i++) {
    const socket = await world.dial(a.port);
    socket.pause();
    socket.write(Buffer.from(text, 'latin1'));
    sockets.push(socket);
    await until('it is asked', () => server.counts.trusted > 0);
  }
  await until('the last one is left', () => server.counts.trusted === 1);
  await unharmed();
  for (const socket of sockets) socket.destroy();
});

test('many readers at once each get all of it', async () => {
  fill(50, 20_000);
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, i) => ask({ reader: `standby-${i}` })),
  );
  for (const { status, entries, upto } of answers) {
    expect([status, entries.length, upto]).toEqual([200, 50, 50]);
  }
  expect(log.mostBytes).toBeLessThanOrEqual(256 * 1024);
  await unharmed();
});

test('connections of those who know the token are bounded too', async () => {
  const sockets = [];
  for (let i = 0; i < 128; i++) {
    const socket = await world.dial(a.port);
    socket.write(Buffer.from(`${head(RIGHT, '/none')}content-length: 0\r\n\r\n`, 'latin1'));
    socket.resume();
    sockets.push(socket);
  }
  // A route that is not there ends its connection: these ask for one that is.
  await until('they have gone', () => server.counts.connections === 0);
  const waits: Promise<Answer>[] = [];
  fill(1, 1);
  for (let i = 0; i < 128; i++) {
    waits.push(ask({ after: 1, afterTerm: 1, waitMs: 30_000, reader: `r${i}` }));
    await until('it waits', () => reads.size === i + 1);
  }
  expect(server.counts).toEqual({ connections: 128, trusted: 128 });
  expect(await ask({ reader: 'one more' })).toMatchObject({ status: 503 });
  fill(1, 1);
  reads.applied();
  for (const { upto } of await Promise.all(waits)) expect(upto).toBe(2);
  await unharmed();
});

test('a connection at rest ends by and by, and all at once when the node stops', async () => {
  const clock = new LeapingClock();
  await openAgain(SECRET, clock);
  fill(3, 10);
  await ask({});
  await until('it is at rest', () => server.counts.connections === 1);
  clock.leap(50_000);
  await ask({});
  clock.leap(50_000);
  expect(server.counts.connections, 'the rest begins anew').toBe(1);
  clock.leap(60_000);
  expect(server.counts.connections, 'it is idle for too long').toBe(0);
  // The agent learns of it.
  await pause(50);
  const waiting = ask({ after: 3, afterTerm: 1, waitMs: 30_000 });
  const failed = waiting.then(
    () => '',
    (error: Error) => error.message,
  );
  await until('it waits', () => reads.size === 1);
  server.close();
  expect(await failed).not.toBe('');
  await until('its read has ended', () => reads.size === 0);
  expect(server.counts).toEqual({ connections: 0, trusted: 0 });
});
