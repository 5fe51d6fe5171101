// Goal: memory that is used again for parts of the log never changes under a message that is still
// being sent, and is really used again. Method: the class alone; then a log on a simulated disk
// whose entries go through the outbox over a real connection to a receiver that is slow to read,
// every buffer being scribbled over and filled with the next part as soon as it comes back.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { type AppendRequest, type Entry, logIndex, nodeId, term } from '@svc/raft';
import { Log, type LogEntry } from '@svc/storage';
import { SimulatedDisk } from '@svc/storage/testing';
import { expect, test } from 'vitest';
import { LogStorage, NORMAL } from '../consensus/consensus-storage.js';
import { PeerOutbox } from '../peers/outbox.js';
import { FrameCutter } from '../peers/peer-frames.js';
import { SendBuffers } from './send-buffers.js';

const IDENTITY = new Uint8Array(16).fill(7);
const BUFFER_BYTES = 64 * 1024;

function appendOf(entries: readonly Entry[]): AppendRequest {
  return {
    type: 'append',
    from: nodeId(1),
    to: nodeId(2),
    term: term(1),
    previousIndex: logIndex(0),
    previousTerm: term(0),
    entries,
    commit: logIndex(0),
    life: 0,
  };
}

function entryIn(data: Uint8Array): Entry {
  return { index: logIndex(1), term: term(1), type: 'normal', data };
}

test('a buffer comes back once, scribbled over, and only when its message was sent', () => {
  const buffers = new SendBuffers(1000);
  const first = buffers.take(500);
  first.fill(1);
  const message = appendOf([entryIn(first.subarray(10, 20)), entryIn(first.subarray(20, 120))]);
  const sent = buffers.whenSent(message);
  const again = buffers.whenSent(message);
  expect(sent).toBeDefined();
  // Not before: whoever reads meanwhile gets another one.
  expect(buffers.take(500)).not.toBe(first);
  expect(first[499]).toBe(1);
  sent?.();
  expect([...first.subarray(0, 500)].every((byte) => byte === 0xdb)).toBe(true);
  const next = buffers.take(1000);
  expect(next.buffer).toBe(first.buffer);
  // Lent again, for another message: the former one has no say any more.
  buffers.whenSent(appendOf([entryIn(next)]))?.();
  const one = buffers.take(1000);
  again?.();
  sent?.();
  expect(one.buffer).toBe(first.buffer);
});

test('what fits no buffer, was not read to be sent or has no entries waits for nobody', () => {
  const buffers = new SendBuffers(1000);
  const long = buffers.take(16_001);
  expect(long.length).toBe(16_001);
  expect(buffers.whenSent(appendOf([entryIn(long)]))).toBeUndefined();
  expect(buffers.whenSent(appendOf([entryIn(new Uint8Array(5))]))).toBeUndefined();
  expect(buffers.whenSent(appendOf([]))).toBeUndefined();
});

test('what waits for reuse is bounded, and a buffer fits what it is taken for', () => {
  const mebibyte = 1024 * 1024;
  const buffers = new SendBuffers(mebibyte);
  const lent = Array.from({ length: 100 }, (_, i) => buffers.take(((i % 15) + 1) * mebibyte));
  for (const [i, { length }] of lent.entries()) {
    expect(length).toBeGreaterThanOrEqual(((i % 15) + 1) * mebibyte);
  }
  for (const buffer of lent) buffers.whenSent(appendOf([entryIn(buffer)]))?.();
  const known = new Set(lent.map(({ buffer }) => buffer));
  let keptBytes = 0;
  for (const bytes of [1, 2, 4, 8, 16].map((count) => count * mebibyte)) {
    for (let buffer = buffers.take(bytes); known.has(buffer.buffer); buffer = buffers.take(bytes)) {
      keptBytes += buffer.length;
    }
  }
  expect(keptBytes).toBeGreaterThan(16 * mebibyte);
  expect(keptBytes).toBeLessThanOrEqual(32 * mebibyte);
});

/** A log that keeps nothing in memory; entry n is full of the byte n. */
function storedLog(count: number, bytes: number): Log {
  const disk = new SimulatedDisk({ seed: 1 });
  const log = Log.open({
    disk,
    directory: '/log',
    identity: IDENTITY,
    recentBytesMax: 0,
    onFailure: (error) => {
      throw error;
    },
  });
  for (let index = 1; index <= count; index++) {
    const data = new Uint8Array(bytes).fill(index);
    const entry: LogEntry = { index, term: 1, type: NORMAL, data };
    log.append([entry], () => {});
    disk.settle();
  }
  return log;
}

test('what is applied is never read into a buffer that is used again', () => {
  const log = storedLog(3, 100);
  const buffers = new SendBuffers(BUFFER_BYTES);
  const storage = new LogStorage(log, {
    applied: () => 3,
    offer: () => undefined,
    onDamage: () => {},
    memoryToSend: buffers.take,
    onSend: () => {},
  });
  const kept = storage.entries(1, 3, 10_000, 'keep');
  expect(buffers.whenSent(appendOf(kept))).toBeUndefined();
  buffers.whenSent(appendOf(storage.entries(1, 3, 10_000, 'send')))?.();
  expect(kept.map(({ data }) => data[50])).toEqual([1, 2]);
});

test('parts arrive whole over a slow connection while their memory is used again', async () => {
  const count = 200;
  const entryBytes = 60_000;
  const log = storedLog(count, entryBytes);
  let made = 0;
  const buffers = new SendBuffers(BUFFER_BYTES);
  const seen = new Set<ArrayBufferLike>();
  const storage = new LogStorage(log, {
    applied: () => count,
    offer: () => undefined,
    onDamage: () => {},
    memoryToSend: (bytes) => {
      const buffer = buffers.take(bytes);
      if (!seen.has(buffer.buffer)) made++;
      seen.add(buffer.buffer);
      return buffer;
    },
    onSend: () => {},
  });
  const wrong: string[] = [];
  let arrived = 0;
  const server = createServer((socket: Socket) => {
    const cutter = new FrameCutter(2 ** 20, (frame) => {
      arrived++;
      const isWhole = frame.length === entryBytes && frame.every((byte) => byte === arrived);
      if (!isWhole) wrong.push(`frame ${arrived}: ${frame.length} bytes of ${frame[0]}`);
    });
    socket.on('data', (piece: Buffer) => {
      cutter.push(piece);
      // The system's own buffers fill, and writes wait within the process.
      socket.pause();
      setTimeout(() => socket.resume(), 1);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  const outbox = new PeerOutbox(socket, 2 ** 30, 'step');
  let sentParts = 0;
  for (let index = 1; index <= count; index++) {
    const entries = storage.entries(index, index + 1, 1, 'send');
    const sent = buffers.whenSent(appendOf(entries));
    const parts = entries.map(({ data }) => data);
    outbox.send(parts, () => {
      sentParts++;
      sent?.();
    });
    if (index % 8 === 0) await new Promise((resolve) => void setTimeout(resolve, 2));
  }
  while (arrived < count) await new Promise((resolve) => void setTimeout(resolve, 5));
  socket.destroy();
  server.close();
  expect(wrong).toEqual([]);
  expect(sentParts).toBe(count);
  expect(made).toBeLessThan(count);
});

test('what was on its way when the connection broke is told to nobody', async () => {
  const server = createServer((socket: Socket) => void socket.pause());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.on('error', () => {});
  const outbox = new PeerOutbox(socket, 2 ** 30, 'step');
  let told = 0;
  const parts = 64;
  // More than the system takes from a process whose receiver does not read.
  for (let i = 0; i < parts; i++) {
    outbox.send([new Uint8Array(1 << 20)], () => told++);
    outbox.flush();
  }
  socket.destroy();
  await once(socket, 'close');
  expect(told).toBeLessThan(parts);
  server.close();
});
