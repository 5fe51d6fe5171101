// Goal: what clients can do to a connection: bodies in pieces, in chunks, too large, too slow, cut
// off; requests in a row; heads that are no heads. Each is answered or ends, and costs nobody else
// anything. Method: bytes on real sockets, a fake service and its clock.
import type { RefusedOutcome } from '@svc/engine';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { FetchedOutcome, Reply, SubmittedOutcome } from '../ports/service.js';
import type { HttpServerOptions } from '../server/server.js';
import { PUSHED, TestFront, until } from '../testing/front.fake.js';
import { batchOf } from '../testing/message-batch.fake.js';
import { type RawClient, requestBytes } from '../testing/raw-client.fake.js';

const PUSH = '/api/v1/push';
const BODY = '{"items":[{"queue":"q","payload":"ü"}]}';

let front: TestFront;

async function start(options: Partial<HttpServerOptions> = {}): Promise<void> {
  front = await TestFront.startPushed(options);
}

afterEach(() => front.stop());

/** The server still serves somebody else. */
async function expectServing(): Promise<void> {
  const answer = await front.client().request(PUSH, { body: BODY });
  expect(answer.status).toBe(201);
}

const ACKED = { success: true, error: null, leaseReleased: false, dlq: false, noop: false };

function headOf(path: string, bytesCount: number): string {
  return `POST ${path} HTTP/1.1\r\nHost: t\r\nContent-Length: ${bytesCount}\r\n\r\n`;
}

const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const CHUNKED_HEAD = `POST ${PUSH} HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n`;

describe('bodies', () => {
  beforeEach(() => start());

  test('byte by byte', async () => {
    const client = front.client();
    for (const byte of requestBytes(PUSH, { body: BODY })) {
      client.send(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect((await client.answer()).status).toBe(201);
    const [command] = front.service.submitted;
    expect(command?.kind === 'push' && Buffer.from(command.body).toString()).toBe(BODY);
  });

  test('head and body in two pieces, many times on one connection', async () => {
    const client = front.client();
    for (let round = 0; round < 50; round++) {
      const bytes = requestBytes(PUSH, { body: BODY });
      const cut = round % bytes.length;
      client.send(bytes.subarray(0, cut));
      await new Promise((resolve) => setImmediate(resolve));
      client.send(bytes.subarray(cut));
      expect((await client.answer()).status).toBe(201);
    }
  });

  test('of some megabytes', async () => {
    const payload = `"${'ü'.repeat(3_000_000)}"`;
    const body = `{"items":[{"queue":"q","payload":${payload}}]}`;
    expect((await front.client().request(PUSH, { body })).status).toBe(201);
    const [command] = front.service.submitted;
    if (command?.kind !== 'push') throw new Error('a push was expected');
    const [start, end] = [command.payloadStart[0], command.payloadEnd[0]];
    expect(Buffer.from(command.body).toString('utf8', start, end)).toBe(payload);
  });

  test('in chunks, cut anywhere', async () => {
    const client = front.client();
    const bytes = Buffer.from(BODY);
    for (let cut = 1; cut < bytes.length; cut += 7) {
      client.send(CHUNKED_HEAD);
      for (const part of [bytes.subarray(0, cut), bytes.subarray(cut)]) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        client.send(`${part.length.toString(16)}\r\n`);
        client.send(Buffer.concat([part, Buffer.from('\r\n')]));
      }
      client.send('0\r\n\r\n');
      expect((await client.answer()).status, `cut at ${cut}`).toBe(201);
    }
    for (const command of front.service.submitted) {
      expect(command.kind === 'push' && Buffer.from(command.body).toString()).toBe(BODY);
    }
  });

  test('that end early free what they had', async () => {
    const client = front.client();
    client.send(`POST ${PUSH} HTTP/1.1\r\nHost: t\r\nContent-Length: 1000\r\n\r\n{"items"`);
    await until(() => front.server.inFlight() === 1);
    client.destroy();
    await until(() => front.server.inFlight() === 0);
    expect(front.service.submitted).toEqual([]);
    await expectServing();
  });

  test('without a length are empty', async () => {
    const client = front.client();
    client.send(`POST ${PUSH} HTTP/1.1\r\nHost: t\r\n\r\n`);
    const answer = await client.answer();
    expect([answer.status, JSON.parse(answer.body).error]).toEqual([
      400,
      'bad push body: the body is empty at byte 0',
    ]);
  });

  test.each([
    'Content-Length: abc',
    'Content-Length: -5',
    'Content-Length: 5, 5',
    'Content-Length: 99999999999999999999',
  ])('with %s end the connection', async (header) => {
    const client = front.client();
    client.send(`POST ${PUSH} HTTP/1.1\r\nHost: t\r\n${header}\r\n\r\nhello`);
    await client.closed();
    expect([front.service.submitted, front.server.inFlight()]).toEqual([[], 0]);
    await expectServing();
  });

  test.each(['gzip', 'gzip, chunked', 'identity'])('coded as %s are refused', async (coding) => {
    const client = front.client();
    const head = `POST ${PUSH} HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: ${coding}\r\n\r\n`;
    client.send(`${head}${chunk(BODY)}0\r\n\r\n`);
    const answer = await client.answer();
    expect([answer.status, answer.headers.get('connection')]).toEqual([501, 'close']);
    await client.closed();
    expect(front.service.submitted).toEqual([]);
    await expectServing();
  });

  test('a client that asks before it sends is told to go on', async () => {
    const client = front.client();
    const length = Buffer.byteLength(BODY);
    const head = `POST ${PUSH} HTTP/1.1\r\nHost: t\r\nContent-Length: ${length}\r\n`;
    client.send(`${head}Expect: 100-continue\r\n\r\n`);
    expect((await client.answer()).status).toBe(100);
    client.send(BODY);
    expect((await client.answer()).status).toBe(201);
  });
});

describe('bodies that are too large', () => {
  const MAX = 1000;

  beforeEach(() => start({ bodyBytesMax: MAX }));

  test('the largest is taken', async () => {
    const body = BODY.padEnd(MAX - 1, ' ');
    expect(Buffer.byteLength(body)).toBe(MAX);
    expect((await front.client().request(PUSH, { body })).status).toBe(201);
  });

  test('by their length, before a byte of them has come', async () => {
    const client = front.client();
    client.send(`POST ${PUSH} HTTP/1.1\r\nHost: t\r\nContent-Length: ${MAX + 1}\r\n\r\n`);
    const answer = await client.answer();
    expect([answer.status, answer.body]).toEqual([
      413,
      `{"error":"request body exceeds ${MAX} bytes"}`,
    ]);
    expect(front.service.submitted).toEqual([]);
  });

  test('a client that sends everything first sees the answer, and may go on', async () => {
    const client = front.client();
    const answer = await client.request(PUSH, { body: Buffer.alloc(5_000_000, 'x') });
    expect(answer.status).toBe(413);
    expect((await client.request(PUSH, { body: BODY })).status).toBe(201);
  });

  test('by what came, when no length was told', async () => {
    const client = front.client();
    client.send(CHUNKED_HEAD + chunk('x'.repeat(600)));
    await until(() => front.server.inFlight() === 1);
    client.send(chunk('x'.repeat(600)));
    expect((await client.answer()).status).toBe(413);
    client.send(`${chunk('x'.repeat(600))}0\r\n\r\n`);
    expect((await client.request(PUSH, { body: BODY })).status).toBe(201);
    expect(front.service.submitted).toHaveLength(1);
  });

  test('in one piece without a length', async () => {
    const client = front.client();
    client.send(`${CHUNKED_HEAD + chunk('x'.repeat(MAX + 1))}0\r\n\r\n`);
    expect((await client.answer()).status).toBe(413);
    expect(front.service.submitted).toEqual([]);
  });
});

describe('the budget', () => {
  test('beyond it bodies are refused before they are read; acks have their own', async () => {
    await start({ bodyBytesInFlightMax: 10_000, drainBodyBytesInFlightMax: 10_000 });
    const held: Reply<SubmittedOutcome>[] = [];
    front.service.onSubmit = (command, reply) => {
      if (command.kind === 'push') held.push(reply);
      else reply.send({ kind: 'extended', renewed: 0, expiresAtUs: null });
    };
    const first = front.client();
    first.send(requestBytes(PUSH, { body: BODY.padEnd(9000, ' ') }));
    await until(() => held.length === 1);
    const second = front.client();
    const refused = await second.request(PUSH, { body: BODY.padEnd(2000, ' ') });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(JSON.parse(refused.body).code).toBe('overloaded');
    const drain = await second.request('/api/v1/lease/L/extend', { body: '{}'.padEnd(9000) });
    expect(drain.status).toBe(200);
    // Its bytes stay in memory though its client goes, until the command is answered.
    first.destroy();
    await until(() => held[0]?.gone === true);
    const still = await second.request(PUSH, { body: BODY.padEnd(2000, ' ') });
    expect(still.status).toBe(503);
    expect(held[0]?.send(PUSHED)).toBe(false);
    second.send(requestBytes(PUSH, { body: BODY.padEnd(9000, ' ') }));
    await until(() => held.length === 2);
    held[1]?.send(PUSHED);
    expect((await second.answer()).status).toBe(201);
  });

  test('a short body counts as the slab of memory that it keeps', async () => {
    // One address takes three quarters of it.
    await start({ bodyBytesInFlightMax: 8 * 8192 });
    let held = 0;
    front.service.onSubmit = () => held++;
    for (let i = 1; i <= 6; i++) {
      front.client().send(requestBytes(PUSH, { body: BODY }));
      await until(() => held === i);
    }
    expect((await front.client().request(PUSH, { body: BODY })).status).toBe(503);
    expect(held).toBe(6);
  });

  test('a body of unknown length takes its part as it comes', async () => {
    await start({ bodyBytesInFlightMax: 50_000 });
    const client = front.client();
    client.send(CHUNKED_HEAD + chunk('x'.repeat(10_000)));
    await until(() => front.server.inFlight() === 1);
    const other = front.client();
    other.send(CHUNKED_HEAD + chunk(' '.repeat(20_000)));
    await until(() => front.server.inFlight() === 2);
    client.send(chunk('x'.repeat(20_000)));
    const refused = await client.answer();
    expect([refused.status, JSON.parse(refused.body).code]).toEqual([503, 'overloaded']);
    other.send(`${chunk(BODY)}0\r\n\r\n`);
    expect((await other.answer()).status).toBe(201);
    client.destroy();
    await until(() => front.server.inFlight() === 0);
    await expectServing();
  });
});

describe('lengths that are only told', () => {
  test('cost nobody else anything, for acks and for pushes', async () => {
    await start();
    front.service.onSubmit = (command, reply) => {
      reply.send(command.kind === 'push' ? PUSHED : { kind: 'acked', items: [ACKED] });
    };
    for (const path of [...Array(4).fill('/api/v1/ack'), ...Array(16).fill(PUSH)]) {
      front.client().send(`${headOf(path, 67_108_864)}{`);
    }
    await until(() => front.server.inFlight() === 20);
    await expectServing();
    expect((await front.client().request('/api/v1/ack', { body: '{}' })).status).toBe(200);
    const body = BODY.padEnd(1_000_000, ' ');
    expect((await front.client().request(PUSH, { body })).status).toBe(201);
  });

  test('what came of large bodies leaves room for small ones', async () => {
    await start({ bodyBytesInFlightMax: 400_000 });
    for (let i = 0; i < 4; i++) {
      const client = front.client();
      client.send(headOf(PUSH, 130_000) + ' '.repeat(120_000));
      await until(() => front.server.inFlight() === i + 1 || client.unread !== '');
    }
    const body = BODY.padEnd(60_000, ' ');
    expect((await front.client().request(PUSH, { body })).status).toBe(201);
    const large = await front.client().request(PUSH, { body: BODY.padEnd(320_000, ' ') });
    expect([large.status, JSON.parse(large.body).code]).toEqual([503, 'overloaded']);
  });
});

describe('pace', () => {
  beforeEach(() => start());

  test('a body that stops is cut off however much of it came', async () => {
    const client = front.client();
    client.send(headOf(PUSH, 3_000_000));
    client.send(Buffer.alloc(2_000_000, ' '));
    await until(() => front.server.inFlight() === 1);
    await new Promise((resolve) => setTimeout(resolve, 50));
    const bytesEarnNothing = front.service.nowMs + 14_001;
    // One sweep pays the beginning, the next one sees that nothing came.
    front.service.nowMs += 7_000;
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    front.service.nowMs = bytesEarnNothing;
    expect((await client.answer()).status).toBe(408);
    await client.closed();
  });

  test('a body that comes too slowly is answered 408 and cut off', async () => {
    const client = front.client();
    client.send(`POST ${PUSH} HTTP/1.1\r\nHost: t\r\nContent-Length: 1000\r\n\r\n{`);
    await until(() => front.server.inFlight() === 1);
    await new Promise((resolve) => setTimeout(resolve, 20));
    front.service.nowMs += 7_001;
    const answer = await client.answer();
    expect([answer.status, answer.headers.get('connection')]).toEqual([408, 'close']);
    await client.closed();
    expect(front.service.submitted).toEqual([]);
  });

  test('chunks with extensions, whose end nobody sees, are answered 408 and cut off', async () => {
    const client = front.client();
    const length = Buffer.byteLength(BODY).toString(16);
    const chunks = `${length};a=b\r\n${BODY}\r\n0\r\n\r\n`;
    client.send(`POST ${PUSH} HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`);
    await until(() => front.server.inFlight() === 1);
    await new Promise((resolve) => setTimeout(resolve, 20));
    front.service.nowMs += 8_000;
    const answer = await client.answer();
    expect([answer.status, answer.headers.get('connection')]).toEqual([408, 'close']);
    await client.closed();
    expect(front.service.submitted).toEqual([]);
  });
});

describe('answers that nobody takes', () => {
  function fetched(bytesCount: number): FetchedOutcome {
    const batches = [batchOf('1'.repeat(bytesCount))];
    const entry = { partitionNumber: 1, batches, highWatermark: 1, logStartOffset: 0, error: null };
    return { kind: 'fetched', entries: [entry] };
  }

  /** As a broker does: into room that is reserved, or after standing in line for it. */
  function answerInRoom<Answer>(
    reply: Reply<Answer | RefusedOutcome>,
    bytesCount: number,
    answer: Answer,
  ): void {
    const { room } = reply;
    if (room === undefined) throw new Error('a client has no room for its answer');
    if (room.reserve(bytesCount)) {
      reply.send(answer);
      return;
    }
    room.wait(bytesCount, front.service.nowMs + 600_000, (hasRoom) => {
      const refusal = { reason: 'overloaded', error: 'no room' } as const;
      reply.send(hasRoom ? answer : { kind: 'refused', refusal });
    });
  }

  function deliver(bytesCount: number): void {
    front.service.onPop = (_, reply) => {
      const claim = {
        queue: 'q',
        partition: 'p',
        partitionNumber: 1,
        deliveryAttempt: 1,
        batches: [batchOf('1'.repeat(bytesCount))],
      };
      const answer = { kind: 'delivered', leaseId: '', claims: [claim], terms: null } as const;
      answerInRoom(reply, bytesCount, answer);
    };
  }

  test('are cut off', async () => {
    await start();
    deliver(12_000_000);
    const client = front.client();
    client.pauseReading();
    client.send(requestBytes('/api/v1/pop/queue/q'));
    await until(() => front.server.inFlight() === 1);
    front.service.nowMs += 600_000;
    await until(() => front.server.inFlight() === 0);
    await expectServing();
  });

  const FETCH = '{"entries":[{"queue":"q","offset":0}]}';

  /** A connection that fetches or pops much and takes nothing of it. */
  async function takeNothing(path: string, body?: string): Promise<RawClient> {
    const client = front.client();
    const before = front.server.inFlight();
    client.pauseReading();
    client.send(requestBytes(path, body === undefined ? {} : { body }));
    await until(() => front.server.inFlight() === before + 1);
    return client;
  }

  test('of fetches keep no pops out, and the other way about', async () => {
    await start({ answerBytesInFlightMax: 1_000_000 });
    deliver(100_000);
    front.service.onFetch = (_, reply) => answerInRoom(reply, 12_000_000, fetched(12_000_000));
    const fetcher = await takeNothing('/api/v1/fetch', FETCH);
    expect((await front.client().request('/api/v1/pop/queue/q')).status).toBe(200);
    front.client().send(requestBytes('/api/v1/fetch', { body: FETCH }));
    await until(() => front.server.inFlight() === 2);
    fetcher.destroy();
    await until(() => front.server.inFlight() === 0);
  });

  test('are given up before their patience ends when others wait', async () => {
    await start({ answerBytesInFlightMax: 1_000_000 });
    deliver(12_000_000);
    await takeNothing('/api/v1/pop/queue/q');
    deliver(1_000_000);
    expect((await front.client().request('/api/v1/pop/queue/q')).status).toBe(200);
    expect(front.server.inFlight()).toBe(0);
    // The native layer gives them up as well, later.
  }, 8_000);

  test('free the body of their request when the client goes in the middle', async () => {
    await start({ drainBodyBytesInFlightMax: 4_000 });
    front.service.onFetch = (_, reply) => reply.send(fetched(12_000_000));
    for (let i = 0; i < 3; i++) {
      const client = await takeNothing('/api/v1/fetch', FETCH.padEnd(2_000, ' '));
      client.destroy();
      await until(() => front.server.inFlight() === 0);
    }
    front.service.onFetch = (_, reply) => reply.send(fetched(10));
    const answer = await front.client().request('/api/v1/fetch', { body: FETCH.padEnd(2_000) });
    expect(answer.status).toBe(200);
  });

  test('keep further large answers waiting, and nothing else', async () => {
    await start({ answerBytesInFlightMax: 1_000_000 });
    deliver(12_000_000);
    const client = await takeNothing('/api/v1/pop/queue/q');
    const other = front.client();
    other.send(requestBytes('/api/v1/pop/queue/q'));
    await until(() => front.server.inFlight() === 2);
    await expectServing();
    deliver(10);
    expect((await front.client().request('/api/v1/pop/queue/q')).status).toBe(200);
    client.destroy();
    expect((await other.answer()).body.length).toBeGreaterThan(12_000_000);
    await until(() => front.server.inFlight() === 0);
  });

  test('keep out routes that do not reserve, while all room is spent', async () => {
    await start({ answerBytesInFlightMax: 1_000_000 });
    front.service.onFetch = (_, reply) => answerInRoom(reply, 12_000_000, fetched(12_000_000));
    const client = await takeNothing('/api/v1/fetch', FETCH);
    const refused = await front.client().request('/openapi.json');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(JSON.parse(refused.body).code).toBe('overloaded');
    await expectServing();
    client.destroy();
    await until(() => front.server.inFlight() === 0);
    expect((await front.client().request('/openapi.json')).status).toBe(200);
  });

  test('a client that goes while it waits for room holds none', async () => {
    await start({ answerBytesInFlightMax: 1_000_000 });
    deliver(12_000_000);
    const client = await takeNothing('/api/v1/pop/queue/q');
    const other = await takeNothing('/api/v1/pop/queue/q');
    other.destroy();
    await until(() => front.server.inFlight() === 1);
    client.destroy();
    await until(() => front.server.inFlight() === 0);
    expect((await front.client().request('/api/v1/pop/queue/q')).status).toBe(200);
  });
});

describe('requests in a row', () => {
  beforeEach(() => start());

  test('keep-alive', async () => {
    const client = front.client();
    for (let round = 0; round < 100; round++) {
      expect((await client.request(PUSH, { body: BODY })).status).toBe(201);
      expect((await client.request('/api/v1/pop/queue/q')).status).toBe(204);
      expect((await client.request('/nowhere')).status).toBe(404);
    }
  });

  test('requests that are answered at once may be sent together', async () => {
    const client = front.client();
    client.send(Buffer.concat(Array(20).fill(requestBytes('/health'))));
    for (let i = 0; i < 20; i++) expect((await client.answer()).status).toBe(200);
  });

  test('a request sent before the one before it is answered ends the connection', async () => {
    let sent: boolean | null = null;
    front.service.onSubmit = (_, reply) => {
      setImmediate(() => {
        sent = reply.send(PUSHED);
      });
    };
    const client = front.client();
    const bytes = requestBytes(PUSH, { body: BODY });
    client.send(Buffer.concat([bytes, bytes]));
    await client.closed();
    await until(() => sent !== null);
    expect([sent, client.unread, front.server.inFlight()]).toEqual([false, '', 0]);
    await expectServing();
  });

  test('Connection: close', async () => {
    for (const path of ['/health', '/api/v1/pop/queue/q']) {
      const client = front.client();
      expect(
        (await client.request(path, { headers: { Connection: 'close' } })).status,
      ).toBeLessThan(300);
      await client.closed();
    }
  });
});

describe('heads', () => {
  beforeEach(() => start());

  test.each([
    ['binary', '\u0000\u0001\u0002\r\n\r\n'],
    ['no version', 'GET /health\r\n\r\n'],
    ['an old version', 'GET /health HTTP/1.0\r\n\r\n'],
    ['no host', 'GET /health HTTP/1.1\r\n\r\n'],
    ['a line without a colon', 'GET /health HTTP/1.1\r\nHost t\r\n\r\n'],
    ['a method in small letters', 'get /health HTTP/1.1\r\nHost: t\r\n\r\n'],
    ['an unknown method', 'BREW /health HTTP/1.1\r\nHost: t\r\n\r\n'],
    ['length and chunks at once', `${CHUNKED_HEAD.slice(0, -2)}Content-Length: 5\r\n\r\n`],
    ['a chunk size that is none', `${CHUNKED_HEAD}zz\r\nhello\r\n`],
    ['a thousand lines', `GET /health HTTP/1.1\r\n${'a: b\r\n'.repeat(1000)}\r\n`],
    ['a line without end', `GET /health HTTP/1.1\r\na: ${'b'.repeat(100_000)}`],
    ['a path without end', `GET /${'b'.repeat(100_000)}`],
    ['another protocol', '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001'],
  ])('%s costs nobody else anything', async (_, bytes) => {
    const client = front.client();
    client.send(Buffer.from(bytes, 'latin1'));
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(front.service.submitted).toEqual([]);
    await expectServing();
    client.destroy();
    await until(() => front.server.inFlight() === 0);
  });

  test('a name of four hundred escaped bytes', async () => {
    const answer = await front.client().request(`/api/v1/pop/queue/${'%C3%BC'.repeat(198)}`);
    expect([answer.status, front.service.pops[0]?.scope]).toEqual([
      204,
      { kind: 'queue', queue: 'ü'.repeat(198) },
    ]);
  });

  test('many connections that say nothing', async () => {
    const clients = Array.from({ length: 200 }, () => front.client());
    for (const client of clients) client.send('GET /hea');
    await expectServing();
    for (const client of clients) client.destroy();
    await expectServing();
  });
});
