/** Payloads of timers, and how timers fire (state-surfaces 3.4, 3.5). */
import { expect } from 'vitest';
import { sleep } from '../../process/node-under-test.js';
import { bodyOf } from '../broker-api.js';
import type { BrokerUnderTest } from '../broker-under-test.js';
import type { ContractTable } from '../table.js';
import {
  base64,
  fired,
  found,
  list,
  peek,
  schedule,
  TIMERS,
  timer,
  timers,
} from '../timer-calls.js';

const ZEROS = `[${'0,'.repeat(999)}0]`;

/** A frame of blocks as they are, which says how long it is. */
function framed(text: string): string {
  const bytes = Buffer.from(text);
  const head = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x60, 0, 0, 0, 0, 0]);
  head.writeUInt16LE(bytes.length - 256, 5);
  head.writeUIntLE(bytes.length * 8 + 1, 7, 3);
  return Buffer.concat([head, bytes]).toString('base64');
}

/** Fifty mebibytes of one byte, in 400 blocks of four bytes. */
function bomb(): string {
  const block = Buffer.from([0, 0, 0, 0x20]);
  block.writeUIntLE(131_072 * 8 + 2, 0, 3);
  const last = Buffer.from([1, 0, 0]);
  const head = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0x38]);
  return Buffer.concat([head, ...Array.from({ length: 400 }, () => block), last]).toString(
    'base64',
  );
}

export const timerPayloads: ContractTable = {
  section: 'state-surfaces 3.4',
  rows: [
    {
      row: 'decompressed at schedule',
      does: 'the plain bytes are stored, shown and delivered',
      run: async (broker) => {
        const compressed = { payload: framed(ZEROS), payloadZstd: true };
        await timer(broker, schedule(broker, 'a', compressed));
        const { payload, payloadZstd } = await found(broker, 'a');
        expect(Buffer.from(payload, 'base64').toString()).toBe(ZEROS);
        expect(payloadZstd).toBe(false);
        await timer(broker, schedule(broker, 'a', { ...compressed, delayMs: 0 }));
        const [message] = await fired(broker);
        expect(message?.data).toEqual(new Array(1000).fill(0));
      },
    },
    ...[
      ['nothing of the kind', Buffer.from('{"a":1}').toString('base64')],
      ['cut', Buffer.from(framed(ZEROS), 'base64').subarray(0, 99).toString('base64')],
      ['nothing', ''],
    ].map(([what, payload]) => ({
      row: 'corrupt zstd',
      does: `${what}: an empty payload, and a message that says null`,
      run: async (broker: BrokerUnderTest) => {
        const corrupt = { payload, payloadZstd: true };
        await timer(broker, schedule(broker, 'a', corrupt));
        expect((await found(broker, 'a')).payload).toBe('');
        await timer(broker, schedule(broker, 'a', { ...corrupt, delayMs: 0 }));
        expect(await fired(broker)).toMatchObject([{ data: null }]);
      },
    })),
    {
      row: 'a bomb',
      does: 'is refused, and nothing of its call is done',
      run: async (broker) => {
        const ops = [
          schedule(broker, 'a'),
          schedule(broker, 'b', { payload: bomb(), payloadZstd: true }),
        ];
        expect(bodyOf(await broker.client.post(TIMERS, ops), 413)).toMatchObject({
          error: 'payload_too_large',
          reason: 'timers_payload_too_large',
        });
        expect((await list(broker)).rows).toEqual([]);
      },
    },
    {
      row: 'encrypted at schedule',
      does: 'what is compressed too is decompressed first; consumers see it plain',
      run: async (broker) => {
        await broker.api.configure(broker.queue, { encryptionEnabled: true });
        const compressed = { payload: framed(ZEROS), payloadZstd: true };
        await timers(broker, schedule(broker, 'a', compressed), schedule(broker, 'b'));
        expect(await found(broker, 'a')).toMatchObject({ encrypted: true });
        const now = { ...compressed, delayMs: 0 };
        const { messageId } = await timer(broker, schedule(broker, 'a', now));
        const [message] = await fired(broker);
        expect(message?.data).toEqual(new Array(1000).fill(0));
        expect(message?.id).toBe(messageId);
      },
    },
    {
      row: 'turning encryption on later',
      does: 'does not protect what is pending',
      run: async (broker) => {
        await timer(broker, schedule(broker, 'a'));
        await broker.api.configure(broker.queue, { encryptionEnabled: true });
        expect(await found(broker, 'a')).toMatchObject({
          encrypted: false,
          payload: base64({ id: 'txn-a' }),
        });
      },
    },
    {
      row: 'the fired message',
      does: 'has the txn, the promised id, the instant of firing and no trace id',
      run: async (broker) => {
        const { messageId, deliverAt = '' } = await timer(
          broker,
          schedule(broker, 'a', { delayMs: 200 }),
        );
        const [message] = await fired(broker);
        expect(message).toMatchObject({
          id: messageId,
          transactionId: 'txn-a',
          traceId: null,
          producerSub: null,
          data: { id: 'txn-a' },
        });
        const { createdAt } = message as unknown as { createdAt: string };
        const lateMs = Date.parse(createdAt) - Date.parse(deliverAt);
        expect(lateMs).toBeGreaterThanOrEqual(-5);
        expect(lateMs).toBeLessThan(2000);
      },
    },
    {
      row: 'the fired message',
      does: 'is known by its id wherever it is shown',
      run: async (broker) => {
        const { queue, api, client } = broker;
        const { messageId } = await timer(broker, schedule(broker, 'a', { delayMs: 0 }));
        const [message] = await fired(broker);
        const { partitionId } = message as unknown as { partitionId: string };
        const path = `/api/v1/messages/${partitionId}/txn-a`;
        expect(bodyOf(await client.get(path), 200)).toMatchObject({ id: messageId });
        const pushed = await api.pushIds(queue, 'Default', ['txn-a']);
        expect(pushed).toMatchObject([{ status: 'duplicate', message_id: messageId }]);
      },
    },
    ...[
      ['text', Buffer.from('plain').toString('base64')],
      ['bytes', '/wAB'],
    ].map(([what, payload]) => ({
      row: 'what is no JSON',
      does: `${what} is stored as it is, and delivered in base64`,
      run: async (broker: BrokerUnderTest) => {
        await timer(broker, schedule(broker, 'a', { payload }));
        expect((await found(broker, 'a')).payload).toBe(payload);
        await timer(broker, schedule(broker, 'a', { payload, delayMs: 0 }));
        expect(await fired(broker)).toMatchObject([{ data: { _raw_b64: payload } }]);
      },
    })),
  ],
};

export const timerFiring: ContractTable = {
  section: 'state-surfaces 3.5',
  rows: [
    {
      row: 'due',
      does: 'not before, and soon after',
      run: async (broker) => {
        const sinceMs = Date.now();
        await timer(broker, schedule(broker, 'a', { delayMs: 700 }));
        await fired(broker);
        const passedMs = Date.now() - sinceMs;
        expect(passedMs).toBeGreaterThanOrEqual(690);
        expect(passedMs).toBeLessThan(4000);
      },
    },
    {
      row: 'many due at once',
      does: 'more than a batch all come, in the order of their instants',
      run: async (broker) => {
        for (let call = 0; call < 3; call++) {
          const ops = Array.from({ length: 200 }, (_, i) =>
            schedule(broker, `${call}-${i}`, { delayMs: 300, payload: base64(call * 200 + i) }),
          );
          await timers(broker, ...ops);
        }
        const numbers = (await fired(broker, 600)).map(({ data }) => data);
        expect(numbers).toEqual(Array.from({ length: 600 }, (_, i) => i));
      },
    },
    {
      row: 'created when missing',
      does: 'queue and partition, as a push creates them',
      run: async (broker) => {
        const { queue, api } = broker;
        await timer(broker, schedule(broker, 'a', { delayMs: 0, partition: 'p9' }));
        await fired(broker);
        const { partitions, options } = await api.detail(queue);
        expect(partitions.map(({ name }) => name)).toEqual(['p9']);
        expect(options.leaseTime).toBe(60);
      },
    },
    {
      row: 'dedup',
      does: 'a txn that is known: the timer goes, and nothing is stored',
      run: async (broker) => {
        const { queue, api } = broker;
        await api.pushIds(queue, 'Default', ['txn-a']);
        await timer(broker, schedule(broker, 'a', { delayMs: 0 }));
        while ((await peek(broker, 'a')).found) await sleep(20);
        expect(await fired(broker)).toMatchObject([{ transactionId: 'txn-a' }]);
        expect((await api.detail(queue)).totals.total).toBe(1);
      },
    },
    {
      row: 'wakes consumers',
      does: 'one that waits gets it at once',
      run: async (broker) => {
        const { queue, api } = broker;
        await api.pushIds(queue, 'Default', ['first']);
        await fired(broker);
        const waiting = api.popQueue(queue, { wait: true, timeout: 10_000 });
        await timer(broker, schedule(broker, 'a', { delayMs: 200 }));
        expect((await waiting)?.messages).toMatchObject([{ transactionId: 'txn-a' }]);
      },
    },
  ],
};
