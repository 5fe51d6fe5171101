// Goal: what a node holds for answers is reserved, whatever route makes them: while they are made,
// and while readers take nothing of them. Method: answers of many megabytes to clients that do not
// read, over sockets and in memory, and the bytes that the budget counts.
import assert from 'node:assert/strict';
import type { AckItemOutcome } from '@svc/engine';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { FetchedOutcome } from '../ports/service.js';
import { TestFront, TRANSPORTS, type Transport, until } from '../testing/front.fake.js';
import { batchOf } from '../testing/message-batch.fake.js';
import type { RawRequest, TestClient } from '../testing/raw-client.fake.js';
import type { AnswerShare } from './answer-budget.js';

const MIB = 1024 * 1024;
/** The buffers of both sockets take less. */
const ANSWER_BYTES = 16 * MIB;

let front: TestFront;

beforeEach(async () => {
  front = await TestFront.start();
});

afterEach(() => front.stop());

function silent(over: Transport, path: string, request: RawRequest): TestClient {
  const client = front.client(over);
  client.pauseReading();
  client.begin(path, request);
  return client;
}

const VERDICT: AckItemOutcome = {
  success: false,
  error: 'x'.repeat(100),
  leaseReleased: false,
  dlq: false,
  noop: false,
};
const ITEMS = 90_000;

const acks = (): string => {
  const items = Array.from({ length: ITEMS }, () => '{"transactionId":"t","partitionId":"1"}');
  return `{"acknowledgments":[${items.join(',')}]}`;
};
const pushes = (): string => {
  const items = Array.from({ length: ITEMS }, () => '{"queue":"q","payload":1}');
  return `{"items":[${items.join(',')}]}`;
};
const places = (count: number): string => {
  const list = Array.from({ length: count }, () => '{"queue":"q","consumerGroup":"g"}');
  return `{"positions":[${list.join(',')}]}`;
};

function answerAll(): void {
  const { service } = front;
  service.onSubmit = (command, reply) => {
    if (command.kind === 'ack') {
      reply.send({ kind: 'acked', items: command.items.map(() => VERDICT) });
    } else if (command.kind === 'push') {
      const messageIds = command.itemGroup.map(() => 'm'.repeat(90));
      reply.send({ kind: 'pushed', status: new Uint8Array(ITEMS), messageIds });
    }
  };
  const batches = [batchOf(`"${'x'.repeat(ANSWER_BYTES)}"`)];
  service.onFetch = (_, reply) => {
    expect(reply.room?.reserve(2 * ANSWER_BYTES)).toBe(true);
    const about = { partitionNumber: 1, highWatermark: 1, logStartOffset: 0, error: null };
    reply.send({ kind: 'fetched', entries: [{ ...about, batches }] } satisfies FetchedOutcome);
  };
  service.onPop = (_, reply) => {
    expect(reply.room?.reserve(2 * ANSWER_BYTES)).toBe(true);
    const claim = { queue: 'q', partition: 'p', partitionNumber: 1, deliveryAttempt: 1, batches };
    reply.send({ kind: 'delivered', leaseId: 'l', claims: [claim], terms: null });
  };
  service.groups.answers.positions = {
    kind: 'group-positions',
    positions: Array.from({ length: 4000 }, () => ({
      offset: 1,
      metadata: 'x'.repeat(4090),
      fault: null,
    })),
  };
}

const ROUTES: readonly [string, AnswerShare, string, () => RawRequest][] = [
  ['acknowledgements', 'read', '/api/v1/ack/batch', () => ({ body: acks() })],
  ['pushes', 'read', '/api/v1/push', () => ({ body: pushes() })],
  ['fetches', 'read', '/api/v1/fetch', () => ({ body: '{"entries":[{"queue":"q","offset":0}]}' })],
  ['pops', 'pop', '/api/v1/pop/queue/q', () => ({})],
  [
    'positions, made in one piece',
    'read',
    '/api/v1/consumer-groups/positions',
    () => ({ body: places(4000) }),
  ],
];

describe.each(TRANSPORTS)('over %s: answers', (over) => {
  test.each(ROUTES)('of %s count until their reader has gone', async (_, share, path, request) => {
    answerAll();
    const client = silent(over, path, request());
    await until(() => client.unsent === 0 && front.reserved(share) > ANSWER_BYTES - MIB);
    // Nothing of it is in memory twice, and nothing is reserved that is not there.
    await until(() => front.reserved(share) < ANSWER_BYTES + 8 * MIB);
    client.destroy();
    await until(() => front.reserved(share) === 0);
    expect(front.server.inFlight()).toBe(0);
  });

  test('of acknowledgements count as they grow', async () => {
    answerAll();
    front.service.tickMs = 10;
    silent(over, '/api/v1/ack/batch', { body: acks() });
    const seen = new Set<number>();
    await until(() => {
      seen.add(front.reserved('read'));
      return front.reserved('read') > ANSWER_BYTES;
    });
    expect(seen.size).toBeGreaterThan(5);
  });

  test('that many silent clients wait for at once are refused beyond the budget', async () => {
    answerAll();
    const waiting: (() => void)[] = [];
    const { groups } = front.service;
    const given = groups.answers.positions;
    assert(given !== undefined);
    groups.positions = (_tenant, _places, reply) => waiting.push(() => reply.send(given));
    const body = places(4000);
    const clients = Array.from({ length: 20 }, () =>
      silent(over, '/api/v1/consumer-groups/positions', { body }),
    );
    await until(() => waiting.length === 20);
    for (const answer of waiting) answer();
    // One address holds 30 MiB, of which one answer has 16.
    expect(front.reserved('read')).toBeLessThan(32 * MIB);
    await until(() => front.server.inFlight() === 1);
    const [, refused] = clients;
    refused?.resumeReading();
    expect((await refused?.answer())?.status).toBe(503);
  });
});
