// Goal: connections have a bound from the moment they open. When it is met, the longest idle one
// makes room, never one with a request; when there is none, the new one is answered 503. What each
// address has open is counted exactly, however its connections come and go. Method: real sockets
// from several loopback addresses, a fake service with pops that are parked, its clock.
import { afterEach, describe, expect, test } from 'vitest';
import { TestFront, until } from '../testing/front.fake.js';
import { RawClient, requestBytes } from '../testing/raw-client.fake.js';
import type { ConnectionBounds } from './connections.js';

const MAX = 8;

let front: TestFront;
let clients: RawClient[];
/** Counts that came with each refusal. */
let told: { open: number; refused: number }[];

async function start(bounds: Partial<ConnectionBounds> = {}): Promise<void> {
  told = [];
  clients = [];
  front = await TestFront.start({
    connections: { max: MAX, perAddressMax: null, isTrustedProxy: () => false, ...bounds },
    onConnectionsFull: (open, refused) => void told.push({ open, refused }),
  });
  front.service.onPop = () => {};
}

afterEach(async () => {
  for (const client of clients) client.destroy();
  await front.stop();
});

/** `opens` says how many are open then; null: not waited for. */
async function open(from: string, opens: number | null): Promise<RawClient> {
  const client = new RawClient(front.port, '127.0.0.1', from);
  clients.push(client);
  if (opens !== null) await until(() => front.server.connections.open === opens);
  return client;
}

async function openSilent(from: string, count: number): Promise<RawClient[]> {
  const opened: RawClient[] = [];
  for (let i = 0; i < count; i++) {
    opened.push(await open(from, Math.min(MAX, front.server.connections.open + 1)));
  }
  return opened;
}

async function park(from: string): Promise<RawClient> {
  const client = await open(from, null);
  const before = front.server.inFlight();
  client.send(requestBytes('/api/v1/pop/queue/q?wait=true'));
  await until(() => front.server.inFlight() === before + 1);
  return client;
}

describe('the bound', () => {
  test('silent ones make room, the longest idle first', async () => {
    await start();
    const silent = await openSilent('127.0.0.2', MAX);
    const honest = await open('127.0.0.3', MAX);
    expect((await honest.request('/health')).status).toBe(200);
    // Up to three quarters of the bound nothing is tracked, so the first that may end is the 7th.
    await silent[6]?.closed();
    expect(front.server.connections).toMatchObject({ open: MAX, ended: 1, refused: 0 });
    // Again and again.
    for (let i = 0; i < 50; i++) await open('127.0.0.2', null);
    const second = await open('127.0.0.4', null);
    expect((await second.request('/health')).status).toBe(200);
    expect((await honest.request('/health')).status).toBe(200);
    expect(front.server.connections.open).toBe(MAX);
    expect(told).toEqual([]);
  });

  test('a parked pop is not idle: then the new one is answered 503', async () => {
    await start();
    for (let i = 0; i < MAX; i++) await park('127.0.0.2');
    const late = await open('127.0.0.3', null);
    const answer = await late.answer();
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
    expect(JSON.parse(answer.body)).toEqual({
      error: 'too many connections are open; retry',
      code: 'overloaded',
    });
    await late.closed();
    expect(front.server.inFlight()).toBe(MAX);
    expect([told.length, front.server.connections.open]).toEqual([1, MAX]);
    expect(told[0]?.open).toBeGreaterThanOrEqual(MAX);
    expect(told[0]?.refused).toBe(1);
    // Freed, and served again.
    clients[0]?.destroy();
    await until(() => front.server.connections.open === MAX - 1);
    const next = await open('127.0.0.3', MAX);
    expect((await next.request('/health')).status).toBe(200);
  });

  test('one that was answered a moment ago stays, and makes room a second later', async () => {
    await start();
    for (let i = 0; i < MAX - 1; i++) await park('127.0.0.2');
    const answered = await open('127.0.0.3', MAX);
    expect((await answered.request('/health')).status).toBe(200);
    expect((await (await open('127.0.0.4', null)).answer()).status).toBe(503);
    front.service.nowMs += 1000;
    const next = await open('127.0.0.4', null);
    expect((await next.request('/health')).status).toBe(200);
    await answered.closed();
    expect(front.server.connections).toMatchObject({ ended: 1, refused: 1 });
  });

  test('a request makes all of its address uncertain: none of them is ended', async () => {
    await start();
    for (let i = 0; i < MAX - 3; i++) await park('127.0.0.2');
    await openSilent('127.0.0.3', 3);
    await park('127.0.0.3').catch(() => null);
    expect(front.server.connections.ended).toBe(1);
    expect((await (await open('127.0.0.4', null)).answer()).status).toBe(503);
  });

  test('connections come and go at random, and no object of a closed one is used', async () => {
    await start();
    let seed = 7;
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      return seed % below;
    };
    let served = 0;
    for (let i = 0; i < 1500; i++) {
      front.service.nowMs += random(300);
      const client = await open(`127.0.0.${2 + random(4)}`, null);
      if (random(2) === 0) {
        const request = client.request('/health').then(
          () => served++,
          () => null,
        );
        if (random(2) === 0) await request;
      }
      if (random(3) > 0) clients[random(clients.length)]?.destroy();
      if (random(5) === 0) await new Promise((resolve) => setImmediate(resolve));
      expect(front.server.connections.open).toBeLessThanOrEqual(MAX);
    }
    for (const client of clients) client.destroy();
    await until(() => front.server.connections.open === 0);
    expect(front.server.inFlight()).toBe(0);
    expect(served).toBeGreaterThan(100);
  });
});

describe('a bound for each address', () => {
  const BOUND = { max: 1000, perAddressMax: 3 };

  test('idle ones of the address make room, then it is refused, others are not', async () => {
    await start(BOUND);
    const [first] = await openSilent('127.0.0.2', 3);
    await open('127.0.0.2', null);
    await first?.closed();
    expect(front.server.connections).toMatchObject({ open: 3, ended: 1, refused: 0 });
    const parked = [await park('127.0.0.3'), await park('127.0.0.3'), await park('127.0.0.3')];
    expect((await (await open('127.0.0.3', null)).answer()).status).toBe(503);
    expect((await (await open('127.0.0.4', null)).request('/health')).status).toBe(200);
    parked[0]?.destroy();
    await until(() => front.server.inFlight() === 2);
    expect((await (await open('127.0.0.3', null)).request('/health')).status).toBe(200);
  });

  test('is exact: answers, aborts, closes by either side, methods that nobody uses', async () => {
    await start({ ...BOUND, perAddressMax: 1 });
    for (let round = 0; round < 40; round++) {
      const client = await open('127.0.0.2', 1);
      if (round % 8 === 0) client.send(requestBytes('/api/v1/pop/queue/q?wait=true'));
      if (round % 8 === 1) await client.request('/health');
      if (round % 8 === 2) await client.request('/health', { headers: { Connection: 'close' } });
      if (round % 8 === 3) client.send('BREW / HTTP/1.1\r\nHost: a\r\n\r\n');
      if (round % 8 === 4) client.send('nonsense\r\n\r\n');
      if (round % 8 === 5) {
        for (let i = 0; i < 3; i++) await client.request('/api/v1/none', { method: 'PATCH' });
      }
      if (round % 8 === 6) client.send('POST /api/v1/push HTTP/1.1\r\nHost: a\r\nContent-Le');
      if (round % 2 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      client.destroy();
      await until(() => front.server.connections.open === 0);
    }
    expect(front.server.connections.refused).toBe(0);
  });

  test('is not for trusted proxies', async () => {
    await start({ ...BOUND, isTrustedProxy: (address) => address === '127.0.0.2' });
    for (let i = 0; i < 6; i++) await park('127.0.0.2');
    expect(front.server.connections.refused).toBe(0);
  });
});

test('far from the bound nothing is tracked', async () => {
  await start({ max: 100 });
  const client = await open('127.0.0.1', 1);
  await client.request('/health');
  expect(front.server.connections.tracks).toBe(false);
  const many = await Promise.all(Array.from({ length: 80 }, () => open('127.0.0.2', null)));
  await until(() => front.server.connections.open === 81);
  expect(front.server.connections.tracks).toBe(true);
  for (const each of many) each.destroy();
  await until(() => front.server.connections.open === 1);
  expect(front.server.connections.tracks).toBe(false);
  expect((await client.request('/health')).status).toBe(200);
});
