// Goal: a connection on which nothing moves is closed by the native layer after 8 to 12 s, and one
// whose request waits for its answer is not, however it came to be read. Method: real sockets and
// real time, which nothing hastens; so they wait side by side.
import { expect, test } from 'vitest';
import type { Reply, SubmittedOutcome } from '../ports/service.js';
import { PUSHED, TestFront, until } from '../testing/front.fake.js';
import { RawClient, requestBytes } from '../testing/raw-client.fake.js';
import { type Caller, ROLE_BITS } from './access-level.js';
import type { TransportResponse } from './transport.js';
import { loadUws } from './uws.js';

const MIB = 1_048_576;
/** Longer than any connection stays on which nothing moves. */
const BEYOND_MS = 13_000;
const SMALL_BODY = '{"items":[{"queue":"q","payload":1}]}';
const HEAD = 'POST /api/v1/push HTTP/1.1\r\nHost: t\r\n';
const CHUNKED = 'Transfer-Encoding: chunked\r\n\r\n';

const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** The service keeps what comes until a test answers it. */
function holdAnswers(front: TestFront): Reply<SubmittedOutcome>[] {
  const held: Reply<SubmittedOutcome>[] = [];
  front.service.onSubmit = (_, reply) => held.push(reply);
  return held;
}

test.concurrent('silent ones are closed, one whose request waits is not', async () => {
  const uws = loadUws();
  const held: TransportResponse[] = [];
  const app = uws.App().any('/*', (response, request) => {
    response.onAborted(() => {});
    if (request.getUrl() === '/at-once') response.end('done');
    else held.push(response.onData(() => {}));
  });
  const port = await new Promise<number>((resolve) => {
    app.listen('127.0.0.1', 0, uws.LIBUS_LISTEN_EXCLUSIVE_PORT, (socket) => {
      resolve(socket === false ? 0 : uws.us_socket_local_port(socket));
    });
  });
  try {
    const closedAfter = async (bytes: string) => {
      const client = new RawClient(port);
      client.send(bytes);
      await client.closed();
      return client.unread.slice(0, 15);
    };
    const post = 'POST /later HTTP/1.1\r\nHost: t\r\n';
    const get = 'GET /at-once HTTP/1.1\r\nHost: t\r\n';
    const waiting = new RawClient(port);
    waiting.send(`${post}Content-Length: 5\r\n\r\nhello`);
    await until(() => held.length === 1);
    const silent = ['', 'GET /at', `${post}Content-Length: 9\r\n\r\nhello`, `\r\n${get}\r\n`];
    const answers = await Promise.all([...silent, `${get}\r\n`].map(closedAfter));
    expect(answers).toEqual(['', '', '', '', 'HTTP/1.1 200 OK']);
    held[0]?.cork(() => held[0]?.end('late'));
    expect((await waiting.answer()).body).toBe('late');
    waiting.destroy();
  } finally {
    app.close();
  }
});

test.concurrent('one complete while it is paused is answered, one that waited too', async () => {
  const front = await TestFront.start({ bodyBytesInFlightMax: 16 * MIB });
  try {
    const held = holdAnswers(front);
    const pushOf = (bytes: number) => {
      const body = `{"items":[{"queue":"q","payload":"${'x'.repeat(bytes)}"}]}`;
      return requestBytes('/api/v1/push', { body });
    };
    front.client().send(pushOf(6 * MIB));
    await until(() => held.length === 1);
    const client = front.client();
    client.send(`${HEAD}${CHUNKED}${chunk(' '.repeat(MIB - 4096))}`);
    await until(() => front.server.inFlight() === 2);
    await pause(100);
    // Paused behind the second chunk, which is read with the last one.
    client.send(`${chunk(' '.repeat(4096))}${chunk(SMALL_BODY)}0\r\n\r\n`);
    await until(() => held.length === 2);
    const paused = front.client();
    paused.send(pushOf(10 * MIB));
    await until(() => front.rim.bodies.waiting === 1);
    await pause(BEYOND_MS);
    held[1]?.send(PUSHED);
    expect((await client.answer()).status).toBe(201);
    held[0]?.send(PUSHED);
    await until(() => held.length === 3);
    held[2]?.send(PUSHED);
    expect((await paused.answer()).status).toBe(201);
    // The connection is read on.
    client.send(requestBytes('/health'));
    expect((await client.answer()).status).toBe(200);
  } finally {
    await front.stop();
  }
});

test.concurrent('a body that came whole is answered long after the caller is known', async () => {
  const asked: ((caller: Caller) => void)[] = [];
  const authenticator = { check: () => new Promise<Caller>((resolve) => asked.push(resolve)) };
  const front = await TestFront.start({ authenticator });
  try {
    const held = holdAnswers(front);
    const client = front.client();
    // Paused behind the first chunk, which is read with the last one.
    const chunks = `${chunk(' ')}${chunk(SMALL_BODY)}0\r\n\r\n`;
    client.send(`${HEAD}Authorization: admin\r\n${CHUNKED}${chunks}`);
    await until(() => asked.length === 1);
    asked[0]?.({ kind: 'caller', subject: null, roles: ROLE_BITS.admin });
    await until(() => held.length === 1);
    await pause(BEYOND_MS);
    held[0]?.send(PUSHED);
    expect((await client.answer()).status).toBe(201);
    client.begin('/health');
    expect((await client.answer()).status).toBe(200);
  } finally {
    await front.stop();
  }
});
