// Goal: large bodies are read and large answers are made in parts, between which others are served;
// small ones in one. Method: a clock of which each look takes the share of a turn, so that a turn
// of the loop has one part and two looks; the looks are counted.
import type { AckItemOutcome } from '@svc/engine';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readPushBody } from '../endpoints/messages/push-body.js';
import type { FetchedOutcome, MessageBatch } from '../ports/service.js';
import { TestFront, TRANSPORTS } from '../testing/front.fake.js';
import { batchOf } from '../testing/message-batch.fake.js';
import type { RawAnswer } from '../testing/raw-client.fake.js';

let front: TestFront;

beforeEach(async () => {
  front = await TestFront.start();
  front.service.tickMs = 10;
});

afterEach(() => front.stop());

/** The answer, and in how many parts of long work it came about. */
async function partsOf(request: () => Promise<RawAnswer>): Promise<[RawAnswer, number]> {
  const before = front.service.looks;
  const answer = await request();
  return [answer, (front.service.looks - before) / 2];
}

describe.each(TRANSPORTS)('over %s', (over) => {
  describe('bodies and their answers', () => {
    const VERDICT: AckItemOutcome = {
      success: false,
      error: 'partition not found',
      leaseReleased: false,
      dlq: false,
      noop: false,
    };

    function acks(count: number): string {
      const items = Array.from(
        { length: count },
        (_, i) => `{"transactionId":"t${i}","partitionId":"${i}"}`,
      );
      return `{"acknowledgments":[${items.join(',')}]}`;
    }

    function pushes(count: number): string {
      const items = Array.from({ length: count }, (_, i) => `{"queue":"q${i % 3}","payload":${i}}`);
      return `{"items":[${items.join(',')}]}`;
    }

    const ack = (count: number) =>
      partsOf(() => front.client(over).request('/api/v1/ack/batch', { body: acks(count) }));
    const push = (count: number) =>
      partsOf(() => front.client(over).request('/api/v1/push', { body: pushes(count) }));

    beforeEach(() => {
      front.service.onSubmit = (command, reply) => {
        if (command.kind === 'ack') {
          reply.send({ kind: 'acked', items: command.items.map(() => VERDICT) });
        } else if (command.kind === 'push') {
          const messageIds = command.itemGroup.map((_, i) => `m${i}`);
          const status = new Uint8Array(messageIds.length);
          reply.send({ kind: 'pushed', status, messageIds });
        }
      };
    });

    test('20,000 acknowledgements', async () => {
      const [{ status, body }, parts] = await ack(20_000);
      expect(status).toBe(200);
      // 0.8 MB are read by 32 KiB, and 2.6 MB of answer are made by 512 items.
      expect(parts).toBeGreaterThan(24 + 38);
      const expected = Array.from({ length: 20_000 }, (_, index) => ({
        index,
        transactionId: `t${index}`,
        ...VERDICT,
      }));
      expect(JSON.parse(body)).toEqual(expected);
    });

    test('20,000 pushed items', async () => {
      const [{ status, body }, parts] = await push(20_000);
      expect(status).toBe(201);
      expect(parts).toBeGreaterThan(18 + 9);
      const expected = Array.from({ length: 20_000 }, (_, index) => ({
        index,
        message_id: `m${index}`,
        transaction_id: `m${index}`,
        queueName: `q${index % 3}`,
        status: 'queued',
      }));
      expect(JSON.parse(body)).toEqual(expected);
    });

    test('20,000 changes of the state of a stream, and as many items', async () => {
      const operations = Array.from({ length: 20_000 }, (_, i) => `{"key":"k${i}","value":${i}}`);
      const items = Array.from({ length: 20_000 }, (_, i) => `{"queue":"q","payload":${i}}`);
      const id = '01a2b3c4-0000-7000-8000-000000000001';
      const lists = `"state_ops":[${operations.join(',')}],"push_items":[${items.join(',')}]`;
      const body = `{"query_id":"${id}","partition_id":"1",${lists}}`;
      front.service.onSubmit = (_, reply) =>
        reply.send({ kind: 'refused', refusal: { reason: 'too_large', error: 'too much' } });
      const [{ status }, parts] = await partsOf(() =>
        front.client(over).request('/streams/v1/cycle', { body }),
      );
      expect(status).toBe(413);
      expect(parts).toBeGreaterThan(body.length / 40_000);
      const [command] = front.service.submitted;
      if (command?.kind !== 'stream-cycle') throw new Error('a cycle was expected');
      expect([command.state.keys.length, command.pushes?.itemGroup.length]).toEqual([
        20_000, 20_000,
      ]);
    });

    describe('a transaction of 10,000 items, 10,000 positions and 64 keys', () => {
      const list = (count: number, element: (i: number) => string) =>
        Array.from({ length: count }, (_, i) => element(i)).join(',');
      const items = list(10_000, (i) => `{"queue":"q${i % 3}","payload":${i}}`);
      const place = '"queue":"q","consumerGroup":"g"';
      const positions = list(10_000, (i) => `{${place},"partition":"p${i}","offset":${i}}`);
      const value = `"${'x'.repeat(30_000)}"`;
      const puts = list(
        64,
        (i) => `{"op":"put","ns":"n","key":"k${i}","value":${value},"forever":true}`,
      );
      const body =
        `{"operations":[{"type":"push","items":[${items}]}],"positions":[${positions}],` +
        `"kv":[${puts}]}`;
      const transact = (text: string) =>
        partsOf(() => front.client(over).request('/api/v1/transaction', { body: text }));

      test('is read in parts', async () => {
        front.service.onSubmit = (_, reply) =>
          reply.send({ kind: 'refused', refusal: { reason: 'too_large', error: 'too much' } });
        const [{ status }, parts] = await transact(body);
        expect(status).toBe(413);
        // A part of keys is a key and a half, 32 KiB, that is two of them.
        expect(parts).toBeGreaterThan(body.length / 65_536);
        const [command] = front.service.submitted;
        if (command?.kind !== 'transaction') throw new Error('a transaction was expected');
        expect(command.pushes?.itemGroup.length).toBe(10_000);
        expect(command.positions[9999]).toMatchObject({ queue: 'q', partition: 'p9999' });
        expect(command.kv?.ops.length).toBe(64);
      });

      test('what is wrong behind the first parts is said as of a small one', async () => {
        const [shape] = await transact(body.replace('"offset":9999', '"offset":-1'));
        expect([shape.status, JSON.parse(shape.body)]).toMatchObject([
          400,
          {
            success: false,
            reason: 'bad_request',
            error: 'positions[9999]: offset is a non-negative integer or null',
          },
        ]);
        const [json] = await transact(`${body}]`);
        expect(JSON.parse(json.body).error).toMatch(/^bad body: .* at byte \d{7}$/);
        expect(front.service.submitted).toEqual([]);
      });
    });

    test('a hundred of either come in one part', async () => {
      expect((await ack(100))[1]).toBe(0);
      // A push looks at the clock for its figures: five times.
      expect((await push(100))[1]).toBeLessThan(3);
    });

    test('what is wrong behind the first parts is said as of a small body', async () => {
      const wrong = acks(20_000).replace('"t19999"', '19999');
      const [answer] = await partsOf(() =>
        front.client(over).request('/api/v1/ack/batch', { body: wrong }),
      );
      const error = /^bad ack body: transactionId must be a string at byte 9\d{5}$/;
      expect(JSON.parse(answer.body)).toEqual({
        error: expect.stringMatching(error),
        code: 'bad_body',
      });
      const named = pushes(20_000).replace(
        '"q1","payload":19999',
        `"${'n'.repeat(2000)}","payload":0`,
      );
      const [refused] = await partsOf(() =>
        front.client(over).request('/api/v1/push', { body: named }),
      );
      expect([refused.status, JSON.parse(refused.body).code]).toEqual([413, 'name_too_long']);
      expect(front.service.submitted).toEqual([]);
    });

    test('one value of many megabytes is passed in parts, and arrives as it was sent', async () => {
      const value = `[${'{"a":[1,2]},"ü",'.repeat(300_000)}{}]`;
      const body = `{"other":${value},"items":[{"queue":"q","payload":${value}}]}`;
      const [{ status }, parts] = await partsOf(() =>
        front.client(over).request('/api/v1/push', { body }),
      );
      expect(status).toBe(201);
      expect(parts).toBeGreaterThan(Buffer.byteLength(body) / 131_072);
      const [command] = front.service.submitted;
      if (command?.kind !== 'push') throw new Error('a push was expected');
      const [start, end] = [command.payloadStart[0], command.payloadEnd[0]];
      expect(Buffer.from(command.body).toString('utf8', start, end)).toBe(value);
    });

    test.each([
      ['within a long value', '[[[1,2],[3;4]]'],
      ['at its end', '[[1,2],[3,4]}'],
      ['in a name', '[{"a":1},{"a\u0001":2}]'],
      ['too deep', `${'['.repeat(130)}${']'.repeat(130)}`],
      ['nowhere, but the body goes on', '[]}]},'],
      ['in its shape', '[]}],"items":[{"queue":7,"payload":[]'],
    ])('what is wrong %s is said as of a body that is read at once', async (_, end) => {
      const text = `{"items":[{"queue":"q","payload":[${'[12345678],'.repeat(450_000)}${end}]}]}`;
      let expected = '';
      try {
        readPushBody(Buffer.from(text));
      } catch (error) {
        expected = `bad push body: ${(error as Error).message}`;
      }
      expect(expected).not.toBe('');
      const answer = await front.client(over).request('/api/v1/push', { body: text });
      expect([answer.status, JSON.parse(answer.body).error]).toEqual([400, expected]);
    });

    test('a client that leaves while its body is read gets nothing done', async () => {
      const client = front.client(over);
      front.service.tickMs = 10;
      client.begin('/api/v1/ack/batch', { body: acks(90_000) });
      while (front.server.inFlight() === 0 || client.unsent > 0) {
        await new Promise((resolve) => setImmediate(resolve));
      }
      client.destroy();
      while (front.server.inFlight() > 0) await new Promise((resolve) => setImmediate(resolve));
      // The turn of the loop in which it left is looked at to its end.
      await new Promise((resolve) => setImmediate(resolve));
      const { looks } = front.service;
      for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
      expect(front.service.looks).toBeLessThanOrEqual(looks + 2);
    });
  });

  describe('messages', () => {
    const fetchOf = (batches: readonly MessageBatch[]): FetchedOutcome => ({
      kind: 'fetched',
      entries: [
        { partitionNumber: 1, highWatermark: 9, logStartOffset: 0, error: null, batches },
        { partitionNumber: 2, highWatermark: 0, logStartOffset: 0, error: null, batches: [] },
      ],
    });
    const FETCH = '{"entries":[{"queue":"q","offset":0},{"queue":"r","offset":0}]}';

    async function fetched(batches: readonly MessageBatch[]) {
      front.service.onFetch = (_, reply) => reply.send(fetchOf(batches));
      return await partsOf(() => front.client(over).request('/api/v1/fetch', { body: FETCH }));
    }

    test('a fetch of 8 MiB comes in parts of 128 KiB', async () => {
      const batches = Array.from({ length: 8 }, () => batchOf(`"${'x'.repeat(1022)}"`, 1024));
      const [{ body }, parts] = await fetched(batches);
      expect(parts).toBeGreaterThanOrEqual(64);
      const { entries } = JSON.parse(body);
      expect(entries[0].records).toHaveLength(8192);
      expect(entries.map(({ highWatermark }: { highWatermark: number }) => highWatermark)).toEqual([
        9, 0,
      ]);
    });

    test('one message of 30 MiB is copied by the megabyte', async () => {
      const payload = `"${'x'.repeat(30 * 1024 * 1024)}"`;
      const [{ body }, parts] = await fetched([batchOf(payload, 1)]);
      expect(parts).toBeGreaterThanOrEqual(30);
      expect(JSON.parse(body).entries[0].records[0].payload).toHaveLength(payload.length - 2);
    });

    test('a popped answer is cut likewise', async () => {
      const batches = [batchOf(`"${'x'.repeat(1022)}"`, 2048)];
      const claim = { queue: 'q', partition: 'p', partitionNumber: 1, deliveryAttempt: 1, batches };
      front.service.onPop = (_, reply) =>
        reply.send({ kind: 'delivered', leaseId: 'l', claims: [claim, claim], terms: null });
      const pop = () => front.client(over).request('/api/v1/pop/queue/q?batch=10000');
      const [{ body }, parts] = await partsOf(pop);
      expect(parts).toBeGreaterThanOrEqual(32);
      expect(JSON.parse(body)).toMatchObject({ partitionsClaimed: 2, leaseId: 'l' });
      expect(JSON.parse(body).messages).toHaveLength(4096);
    });
  });
});
