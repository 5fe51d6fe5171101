// Goal: what waits for a full ring is bounded by the budget of bodies, and is let go of with its
// client, unless the core has begun to get it. Method: a whole front over sockets, whose ring
// nobody reads before the test does.
import { createServer, type HttpServer, type Service } from '@svc/http';
import { RawClient, until } from '@svc/http/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Channel } from './channel.js';
import { RemoteService } from './remote-service.js';
import { ringMemory } from './ring.js';

const RING_BYTES = 4096;
const BODY_BYTES_MAX = 1024 * 1024;
const PAYLOAD_BYTES = 200_000;

let channel: Channel;
let front: HttpServer;
let port: number;
let clients: RawClient[];
let memory: { outward: SharedArrayBuffer; inward: SharedArrayBuffer };

beforeEach(async () => {
  clients = [];
  memory = { outward: ringMemory(RING_BYTES), inward: ringMemory(RING_BYTES) };
  const idle = { wake: () => {}, soon: setImmediate, onFrame: () => {} };
  channel = new Channel({ ...memory, ...idle, nowMs: () => 0 });
  const service = new RemoteService(
    channel,
    () => 0,
    () => {},
  );
  const logger = { error: (text: string, error: unknown) => expect.fail(`${text}: ${error}`) };
  front = createServer(
    { logger, elsewhere: service, bodyBytesInFlightMax: BODY_BYTES_MAX },
    service as unknown as Service,
  );
  port = await front.listen('127.0.0.1', 0);
});

afterEach(async () => {
  channel.close();
  for (const client of clients) client.destroy();
  await front.stop(0);
});

function begin(path: string, body: unknown): RawClient {
  const client = new RawClient(port);
  clients.push(client);
  client.begin(path, { body: JSON.stringify(body) });
  return client;
}

const value = 'x'.repeat(PAYLOAD_BYTES);
const pushed = { items: [{ queue: 'q', payload: value }] };
const put = (key: string) => {
  const part = 'x'.repeat(PAYLOAD_BYTES / 4);
  return { op: 'put', ns: 'n', key, value: part, forever: true };
};
const REQUESTS = [
  ['a push', '/api/v1/push', pushed],
  ['a transaction', '/api/v1/transaction', { operations: [{ type: 'push', ...pushed }] }],
  ['key/value', '/api/v1/kv', ['a', 'b', 'c', 'd'].map(put)],
  ['a call that is passed on', '/api/v1/locks', { value }],
] as const;

const bodyBytes = () => front.rim.budget.used('growing') + front.rim.budget.used('drain');

test('bodies that wait for the ring are no more than the budget', async () => {
  for (let n = 0; n < 20; n++) begin('/api/v1/push', pushed);
  const refused: number[] = [];
  for (const client of clients) {
    void client.answer().then(
      ({ status }) => refused.push(status),
      () => {},
    );
  }
  await until(() => refused.length > 0 && channel.waitingBytes > BODY_BYTES_MAX / 2);
  expect(refused.every((status) => status === 503)).toBe(true);
  expect(channel.waitingBytes).toBeLessThan(BODY_BYTES_MAX);
});

test.each(REQUESTS)('%s that waits is let go of with its client', async (_, path, body) => {
  begin('/api/v1/push', pushed);
  await until(() => channel.waitingBytes > PAYLOAD_BYTES / 2);
  const [begun, begunBytes] = [channel.waitingBytes, bodyBytes()];
  const second = begin(path, body);
  await until(() => channel.waitingBytes > begun + PAYLOAD_BYTES / 2);
  second.destroy();
  await until(() => channel.waitingBytes === begun);
  expect(bodyBytes()).toBe(begunBytes);
  // Part of the first one is in the ring: it goes on without its client.
  clients[0]?.destroy();
  await until(() => front.inFlight() === 0);
  expect([channel.waitingBytes, bodyBytes()]).toEqual([begun, begunBytes]);
});
