// Goal: the native load program counts what the server did, and takes nothing but success for an
// answer. Method: it is compiled, and run for parts of a second against servers in memory whose
// answers come in pieces; what it counted is compared with what they did.

import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FakeBroker } from '../broker.fake.js';
import { requestBytes } from '../http-connection.js';
import { payloadTexts, pushBody, pushRequests } from '../load/push-requests.js';
import { Scratch } from '../scratch.js';
import { compilerIsInstalled } from './compile.js';
import { type LoadPlan, LoadProgram, type Protocol } from './load-program.js';
import { FAKE_PROTOCOLS, FakeServer } from './servers.fake.js';

const compiled = compilerIsInstalled();
if (!compiled) process.stderr.write('load-program.test.ts is left out: cc is not installed\n');

let directory = '';
let scratch: Scratch;
let load: LoadProgram;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-load-program-'));
  scratch = new Scratch(directory);
  if (compiled) load = LoadProgram.in(scratch);
});

afterAll(() => {
  scratch.close();
  rmSync(directory, { recursive: true, force: true });
});

function planOf(protocol: Protocol, port: number, batch: number): LoadPlan {
  const payloads = payloadTexts(7, 100).map((text) => Buffer.from(text));
  return {
    protocol,
    ports: [port],
    queue: 'bench',
    kind: '',
    work: 'publish',
    items: protocol === 'http' ? pushRequests('bench', 3, batch, 100) : payloads,
    connections: 4,
    batch,
    seconds: 0.15,
    warmUpSeconds: 0.02,
    ratePerSecond: null,
    atEdge: () => undefined,
  };
}

describe.skipIf(!compiled)('the load program', () => {
  describe.each(FAKE_PROTOCOLS)('%s', (protocol) => {
    test.each([1, 10])('publishes and consumes in batches of %i', async (batch) => {
      const server = await FakeServer.open(protocol);
      const plan = planOf(protocol, server.port, batch);
      const edges: string[] = [];
      await load.administer('create', plan);
      const published = await load.run({ ...plan, atEdge: (edge) => edges.push(edge) });
      expect(edges).toEqual(['begin', 'end']);
      expect(published.messages).toBeGreaterThan(0);
      expect(published.messages).toBeLessThanOrEqual(server.stored);
      expect(server.stored % batch).toBe(0);
      const before = server.stored;
      const consumed = await load.run({ ...plan, work: 'consume' });
      expect(consumed.messages).toBeGreaterThan(0);
      expect(consumed.messages).toBeLessThanOrEqual(server.acknowledged);
      expect(server.acknowledged).toBeLessThanOrEqual(server.stored);
      // Producers are held: never more than 4 batches for each of 4 connections lie there unread.
      expect(server.stored - before - server.acknowledged).toBeLessThanOrEqual(4 * 4 * batch);
      await load.administer('remove', plan);
      await server.close();
    });

    test.each(['publish', 'consume'] as const)(
      '%s in turns leaves nothing behind',
      async (work) => {
        const server = await FakeServer.open(protocol);
        const plan = { ...planOf(protocol, server.port, 10), work };
        await load.administer('create', plan);
        const turns = await load.open(plan);
        const before = server.stored;
        for (let turn = 0, messages = 0; turn < 3; turn += 1) {
          const result = await turns.turn({ warmUpSeconds: 0.01, seconds: 0.03 });
          const [stored, acknowledged] = [server.stored, server.acknowledged];
          expect(result.messages).toBeGreaterThan(0);
          expect(result.whole.messages).toBeGreaterThanOrEqual(result.messages);
          messages += result.whole.messages;
          if (work === 'publish') expect(stored - before).toBe(messages);
          // Two consumers that acknowledge whole batches hold less than one each.
          else
            expect(stored - before - acknowledged).toBeLessThan(protocol === 'amqp' ? 2 * 10 : 1);
          await sleep(20);
          expect([server.stored, server.acknowledged]).toEqual([stored, acknowledged]);
        }
        await turns.close();
        await server.close();
      },
    );

    test('a refusal ends the run with its text', async () => {
      const server = await FakeServer.open(protocol);
      server.refuses = true;
      const run = load.run(planOf(protocol, server.port, 2));
      await expect(run).rejects.toThrow(/refused as told/);
      const turns = await load.open(planOf(protocol, server.port, 2));
      const turn = turns.turn({ warmUpSeconds: 0, seconds: 0.05 });
      await expect(turn).rejects.toThrow(/refused as told/);
      await expect(turns.close()).rejects.toThrow(/refused as told/);
      await server.close();
    });
  });

  test('a turn without a warm-up is all that was sent, until its last answer', async () => {
    const server = await FakeServer.open('redis');
    const turns = await load.open(planOf('redis', server.port, 10));
    server.delayMs = 400;
    const { messages, seconds, whole } = await turns.turn({ warmUpSeconds: 0, seconds: 0.01 });
    // A batch of each of 4 connections: no second one is begun.
    expect([messages, whole.messages, server.stored]).toEqual([40, 40, 40]);
    expect(whole.restSeconds).toBeGreaterThan(0.3);
    expect(seconds).toBeCloseTo(whole.restSeconds + 0.01, 5);
    await turns.close();
    await server.close();
  });

  test('a window has as many answers of each connection as of any other', async () => {
    const server = await FakeServer.open('redis');
    const turns = await load.open(planOf('redis', server.port, 10));
    Object.assign(server, { together: 4, delayMs: 100 });
    // Neither the warm-up nor the window is as long as a wave of answers.
    const { messages, whole } = await turns.turn({ warmUpSeconds: 0.01, seconds: 0.03 });
    expect(messages).toBeGreaterThan(0);
    expect(messages % 40).toBe(0);
    // Not the first wave, which the warm-up was in, nor the last, which was under way at the end.
    expect(server.stored).toBeGreaterThanOrEqual(messages + 80);
    expect(whole.messages).toBe(server.stored);
    await turns.close();
    await server.close();
  });

  test('http: what was acknowledged was stored, and what was consumed was there', async () => {
    const broker = await FakeBroker.open(directory, 0);
    const plan = planOf('http', broker.port, 10);
    const published = await load.run(plan);
    expect(published.messages).toBeGreaterThan(0);
    const consumed = await load.run({ ...plan, work: 'consume' });
    expect(consumed.messages).toBeGreaterThan(0);
    const items = [Buffer.from('GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n')];
    await expect(load.run({ ...plan, items })).rejects.toThrow(/refused: HTTP\/1.1 404/);
    await broker.close();
  });

  test('http: numbered publishes of an open loop are timed to their consumers', async () => {
    const broker = await FakeBroker.open(directory, 0);
    const payloads = (number: number) => [`{"number":${number},"text":"x"}`];
    const items = Array.from({ length: 200 }, (_, i) =>
      requestBytes('POST', '/api/v1/push', pushBody('numbered', 'p', payloads(i))),
    );
    const open = { queue: 'numbered', work: 'consume', ratePerSecond: 500, items } as const;
    const { latency, delivery } = await load.run({ ...planOf('http', broker.port, 1), ...open });
    expect(delivery.p50Ms).toBeGreaterThan(0);
    expect(delivery.maxMs).toBeGreaterThanOrEqual(delivery.p99Ms);
    expect(latency.p50Ms).toBeGreaterThan(0);
    await broker.close();
  });

  test('http: what the server closes between turns is connected again', async () => {
    const server = createServer((request, response) => {
      request.resume().on('end', () => response.end('[{"status":"queued"}]'));
    });
    let connected = 0;
    server.on('connection', () => {
      connected += 1;
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    const turns = await load.open(planOf('http', address.port, 1));
    for (let turn = 1; turn <= 2; turn += 1) {
      const { messages } = await turns.turn({ warmUpSeconds: 0, seconds: 0.03 });
      expect(messages).toBeGreaterThan(0);
      server.closeIdleConnections();
      while (connected < 4 * (turn + 1)) await sleep(5);
    }
    await turns.close();
    await new Promise((resolve) => server.close(resolve));
  });

  test('http: a dead letter that is not made ends the run', async () => {
    const broker = await FakeBroker.open(directory, 0);
    const plan = { ...planOf('http', broker.port, 1), kind: 'dlq', work: 'consume' } as const;
    await expect(load.run(plan)).rejects.toThrow(/no dead letter was made/);
    await broker.close();
  });

  test('an open loop sends what is due, and times it from then', async () => {
    const server = await FakeServer.open('redis');
    const plan = { ...planOf('redis', server.port, 1), ratePerSecond: 500, seconds: 0.2 };
    const { messages, latency } = await load.run(plan);
    // 0.02 s of warm-up and 0.2 s of window owe 110 publishes, however slow the machine is.
    expect(server.stored).toBe(110);
    expect(messages).toBeLessThanOrEqual(110);
    expect(latency.p50Ms).toBeLessThanOrEqual(latency.maxMs);
    await server.close();
  });
});
