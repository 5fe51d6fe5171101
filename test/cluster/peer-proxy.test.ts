/**
 * Goal: the proxy passes what it should, byte for byte, holds or ends exactly the connections of
 * the ordered pair that a test names, and nothing else. Method: a server behind the proxy that
 * keeps what it gets and answers the hello, and dialers that say who they are as nodes do.
 */
import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sleep } from '../process/node-under-test.js';
import { freePorts } from '../process/ports.js';
import { CUT, OPEN, PeerProxy, STALLED } from './peer-proxy.js';

const HOST = '127.0.0.1';
const WELCOME = 'welcome';

let behind: Server;
let proxy: PeerProxy;
let port = 0;
/** What arrived, by the dialer's number. */
const arrived = new Map<number, Buffer>();
const accepted = new Set<Socket>();
const dialed: Dialed[] = [];

interface Dialed {
  readonly socket: Socket;
  readonly answers: () => string;
  readonly closed: () => boolean;
}

beforeEach(async () => {
  const [targetPort = 0, proxyPort = 0] = await freePorts(2);
  port = proxyPort;
  behind = createServer((socket) => {
    accepted.add(socket);
    let from = 0;
    socket.on('error', () => socket.destroy());
    socket.on('close', () => accepted.delete(socket));
    socket.on('data', (chunk) => {
      const known = from !== 0;
      if (!known) from = chunk.readUInt32LE(8);
      const data = known ? chunk : chunk.subarray(12);
      arrived.set(from, Buffer.concat([arrived.get(from) ?? Buffer.alloc(0), data]));
      if (!known) socket.write(WELCOME);
    });
  });
  await new Promise<void>((resolve) => {
    behind.listen(targetPort, HOST, () => resolve());
  });
  proxy = new PeerProxy({ host: HOST, port: targetPort });
  await proxy.listen({ host: HOST, port });
});

afterEach(async () => {
  for (const { socket } of dialed.splice(0)) socket.destroy();
  await proxy.close();
  for (const socket of accepted) socket.destroy();
  await new Promise((resolve) => {
    behind.close(resolve);
  });
  arrived.clear();
});

function dial(from: number): Dialed {
  const socket = connect({ host: HOST, port });
  let answers = '';
  let closed = false;
  socket.on('data', (chunk) => {
    answers += chunk.toString();
  });
  socket.on('error', () => socket.destroy());
  socket.on('close', () => {
    closed = true;
  });
  const hello = Buffer.alloc(12);
  hello.writeUInt32LE(from, 8);
  // In two pieces: who it is may be known only with the second.
  socket.write(hello.subarray(0, 9));
  setTimeout(() => socket.write(hello.subarray(9)), 5);
  const one = { socket, answers: () => answers, closed: () => closed };
  dialed.push(one);
  return one;
}

async function until(what: string, done: () => boolean): Promise<void> {
  const untilMs = performance.now() + 3000;
  while (!done()) {
    if (performance.now() > untilMs) throw new Error(`not within 3 s: ${what}`);
    await sleep(5);
  }
}

async function welcomed(from: number): Promise<Dialed> {
  const one = dial(from);
  await until(`welcome of ${from}`, () => one.answers() === WELCOME);
  return one;
}

const lengthOf = (from: number) => arrived.get(from)?.length ?? 0;

describe('PeerProxy', () => {
  it('passes every byte in order, and more than it may hold', async () => {
    const one = await welcomed(1);
    const data = Buffer.from(Array.from({ length: 6 << 20 }, (_, i) => (i * 31 + (i >> 8)) & 255));
    one.socket.write(data);
    await until('all bytes', () => lengthOf(1) === data.length);
    expect(arrived.get(1)?.equals(data)).toBe(true);
    expect(proxy.bytesFrom(1)).toBe(data.length + 12);
  });

  it('passes the end of either side on', async () => {
    const one = await welcomed(1);
    one.socket.destroy();
    await until('the end behind', () => accepted.size === 0);
    const other = await welcomed(1);
    for (const socket of accepted) socket.destroy();
    await until('the end before', other.closed);
  });

  it('ends the connections of a pair that is cut, refuses new ones, and no others', async () => {
    const [one, two] = await Promise.all([welcomed(1), welcomed(2)]);
    proxy.setLink(1, CUT);
    await until('the end of 1', one.closed);
    const again = dial(1);
    await until('the end of the new one', again.closed);
    two.socket.write('x');
    await until('what 2 sent', () => lengthOf(2) === 1);
    expect([two.closed(), again.answers(), lengthOf(1)]).toEqual([false, '', 0]);
    proxy.setLink(1, OPEN);
    await welcomed(1);
  });

  it('holds what a stalled pair sends, its end and its handshake too', async () => {
    const [one, two] = await Promise.all([welcomed(1), welcomed(2)]);
    proxy.setLink(1, STALLED);
    one.socket.write('held');
    const late = dial(1);
    two.socket.write('x');
    await until('what 2 sent', () => lengthOf(2) === 1);
    one.socket.end();
    await sleep(100);
    expect([lengthOf(1), late.answers(), accepted.size]).toEqual([0, '', 3]);
    proxy.setLink(1, OPEN);
    await until('what 1 sent', () => lengthOf(1) === 4);
    await until('the late welcome', () => late.answers() === WELCOME);
    await until('the end of 1', () => accepted.size === 2);
  });

  it('reads no further on a stalled pair than it may hold', async () => {
    const one = await welcomed(1);
    proxy.setLink(1, STALLED);
    one.socket.write(Buffer.alloc(64 << 20));
    await sleep(200);
    expect(one.socket.bytesWritten - one.socket.writableLength).toBeLessThan(64 << 20);
    expect(lengthOf(1)).toBe(0);
    proxy.setLink(1, CUT);
    await until('the end', one.closed);
  });

  it('delays, and lets no more bytes pass than a slow pair may', async () => {
    const one = await welcomed(1);
    proxy.setLink(1, { kind: 'slow', delayMs: 150, bytesPerSecond: null });
    const beganMs = performance.now();
    one.socket.write('x');
    await until('the byte', () => lengthOf(1) === 1);
    expect(performance.now() - beganMs).toBeGreaterThan(140);
    proxy.setLink(1, { kind: 'slow', delayMs: 0, bytesPerSecond: 1 << 20 });
    const secondMs = performance.now();
    one.socket.write(Buffer.alloc(300 << 10));
    await until('all bytes', () => lengthOf(1) === 1 + (300 << 10));
    expect(performance.now() - secondMs).toBeGreaterThan(250);
  });

  it('ends a connection to a node that is not there', async () => {
    await new Promise((resolve) => {
      behind.close(resolve);
    });
    const one = dial(1);
    await until('the end', one.closed);
  });
});
