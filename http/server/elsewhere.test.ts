// Goal: what is served elsewhere is handed over whole, and its answer written as its bytes come, at
// the pace of the socket. Method: one front over sockets, whose other front is the test.
import { Buffer } from 'node:buffer';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Exchange } from '../exchange/exchange.js';
import type { AnswerHead } from '../exchange/memory-call.js';
import { PassedAnswer } from '../exchange/passed-answer.js';
import { TestFront, until } from '../testing/front.fake.js';
import type { PassedRequest } from './elsewhere.js';

interface Passed {
  readonly request: PassedRequest;
  readonly exchange: Exchange;
}

const passed: Passed[] = [];
const asked: unknown[] = [];
let front: TestFront;

beforeAll(async () => {
  front = await TestFront.startPushed({
    elsewhere: {
      serves: ({ path }) => path !== '/api/v1/push',
      pass: (request, exchange) => void passed.push({ request, exchange }),
      askGate: (_, open) => void asked.push(open),
    },
  });
});

beforeEach(() => {
  passed.length = 0;
});

afterAll(() => front.stop());

async function next(): Promise<Passed> {
  await until(() => passed.length > 0);
  return passed.shift() as Passed;
}

function headOf(length: number | null, more: Partial<AnswerHead> = {}): AnswerHead {
  const headers = [['Content-Type', 'text/plain']] as const;
  return { status: '202 Accepted', headers, length, closes: false, ...more };
}

test('a request is handed over with its body and the headers that fronts read', async () => {
  const client = front.client();
  const answer = client.request('/api/v1/kv?a=%20b', {
    headers: { 'x-svc-tenant': '01234567-0000-4000-8000-000000000000', 'X-Other': 'no' },
    body: '{"ops":[]}',
  });
  const { request, exchange } = await next();
  expect({ ...request, body: Buffer.from(request.body ?? []).toString() }).toEqual({
    method: 'POST',
    target: '/api/v1/kv?a=%20b',
    headers: [
      ['host', 'test'],
      ['x-svc-tenant', '01234567-0000-4000-8000-000000000000'],
      ['content-length', '10'],
    ],
    body: '{"ops":[]}',
  });
  const text = new PassedAnswer(headOf(5), () => {});
  text.add(Buffer.from('hel'));
  exchange.pass(text);
  text.add(Buffer.from('lo'));
  const { status, headers, body } = await answer;
  expect([status, headers.get('content-type'), body]).toEqual([202, 'text/plain', 'hello']);
});

test('what it serves itself, it answers itself, on the same connection', async () => {
  const client = front.client();
  const item = { items: [{ queue: 'q', payload: 1 }] };
  expect((await client.request('/api/v1/push', { body: JSON.stringify(item) })).status).toBe(201);
  const answer = client.request('/no/such/page');
  const { request, exchange } = await next();
  expect([request.target, request.body]).toEqual(['/no/such/page', null]);
  exchange.pass(new PassedAnswer(headOf(null, { status: '204 No Content' }), () => {}));
  expect((await answer).status).toBe(204);
});

test('a HEAD request gets the length and no bytes', async () => {
  const client = front.client();
  client.begin('/health', { method: 'HEAD' });
  const { exchange } = await next();
  exchange.pass(new PassedAnswer(headOf(1234), () => {}));
  const { headers } = await client.answer(true);
  expect(headers.get('content-length')).toBe('1234');
});

test('a connection that brought a large body is read on behind the answer', async () => {
  const client = front.client();
  for (let round = 0; round < 3; round++) {
    const answer = client.request('/api/v1/kv', { body: Buffer.alloc(3_000_000, 'x') });
    const { request, exchange } = await next();
    expect(request.body?.length).toBe(3_000_000);
    exchange.pass(new PassedAnswer(headOf(0), () => {}));
    expect((await answer).status).toBe(202);
  }
});

test('a large answer goes at the pace of its reader, and tells what was taken', async () => {
  const client = front.client();
  const length = 24_000_000;
  const piece = 200_000;
  client.begin('/api/v1/resources/queues');
  client.pauseReading();
  const { exchange } = await next();
  let given = 0;
  let taken = 0;
  const answer = new PassedAnswer(headOf(length), (bytes) => {
    taken += bytes;
    give();
  });
  // Never more than a piece is on its way.
  const give = () => {
    if (given === length || given - taken >= piece) return;
    given += piece;
    answer.add(Buffer.alloc(piece, 'a'));
  };
  give();
  exchange.pass(answer);
  let before = -1;
  while (before !== taken) {
    before = taken;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  expect(taken).toBeLessThan(length);
  expect(given - taken).toBeLessThanOrEqual(piece);
  client.resumeReading();
  const { body } = await client.answer();
  expect(body.length).toBe(length);
});

test('a client that goes in the middle is told of, once', async () => {
  const client = front.client();
  client.begin('/api/v1/resources/queues');
  const { exchange } = await next();
  let told = 0;
  exchange.onTaken = () => told++;
  const answer = new PassedAnswer(headOf(100), () => {});
  answer.add(Buffer.from('the first'));
  exchange.pass(answer);
  client.destroy();
  await until(() => told > 0);
  answer.add(Buffer.from('the rest'));
  expect([told, exchange.gone]).toEqual([1, true]);
});
