/** Ephemeral queues: delivery, refusals, several nodes (state-surfaces 4.3 to 4.5). */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { bodyOf } from '../broker-api.js';
import type { BrokerUnderTest } from '../broker-under-test.js';
import {
  ack,
  configure,
  depth,
  EPHEMERAL,
  pop,
  popPayloads,
  push,
  pushRaw,
} from '../ephemeral-calls.js';
import type { ContractRow, ContractTable } from '../table.js';

const DEFAULT = { partition: 'Default' };
const QUEUE = '{queue}';
/** 40 times 50 ms: far more than a heartbeat. */
const ATTEMPTS_MAX = 40;
const ATTEMPT_MS = 50;

export const ephemeralDelivery: ContractTable = {
  section: 'state-surfaces 4.3',
  rows: [
    {
      row: 'FIFO per partition',
      does: 'in the order they were pushed',
      run: async (broker) => {
        for (let i = 0; i < 5; i++) await push(broker, [2 * i, 2 * i + 1]);
        expect(await popPayloads(broker, { ...DEFAULT, batch: 10 })).toEqual([
          0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
        ]);
      },
    },
    {
      row: 'same group competes',
      does: 'each message goes to one of them',
      run: async (broker) => {
        await push(broker, [1, 2, 3, 4]);
        const shares = await Promise.all(
          [1, 2, 3, 4].map(() => popPayloads(broker, { ...DEFAULT, group: 'g' })),
        );
        expect(shares.flat().sort()).toEqual([1, 2, 3, 4]);
      },
    },
    {
      row: 'different groups each get everything',
      does: 'at their own pace',
      run: async (broker) => {
        await push(broker, [1, 2]);
        expect(await popPayloads(broker, { ...DEFAULT, group: 'a', batch: 9 })).toEqual([1, 2]);
        expect(await popPayloads(broker, { ...DEFAULT, group: 'b', batch: 9 })).toEqual([1, 2]);
      },
    },
    {
      row: 'stored once, reclaimed',
      does: 'when the last cursor has passed it',
      run: async (broker) => {
        await push(broker, ['x']);
        const [one] = await pop(broker, { ...DEFAULT, group: 'b' });
        await pop(broker, { ...DEFAULT, group: 'a', autoAck: true });
        expect((await depth(broker)).bytes).toBe(3);
        expect(await ack(broker, [{ id: one?.id }], { group: 'b' })).toEqual(['acked']);
        expect((await depth(broker)).bytes).toBe(0);
      },
    },
    {
      row: 'lease expiry',
      does: 'the attempt has failed',
      run: async (broker) => {
        await configure(broker, { leaseSeconds: 1, retryLimit: 1 });
        await push(broker, [1]);
        await pop(broker, DEFAULT);
        expect(await pop(broker, { ...DEFAULT, wait: true, timeout: 1500 })).toEqual([]);
        expect((await depth(broker)).pending).toBe(0);
      },
    },
    {
      row: 'retryLimit',
      does: 'only of the group that failed',
      run: async (broker) => {
        await configure(broker, { retryLimit: 1 });
        await push(broker, [1]);
        const [one] = await pop(broker, { ...DEFAULT, group: 'a' });
        await pop(broker, { ...DEFAULT, group: 'b' });
        await ack(broker, [{ id: one?.id, status: 'failed' }], { group: 'a' });
        expect((await depth(broker)).groups).toEqual([
          { group: 'a', pending: 0, skipped: 1 },
          { group: 'b', pending: 1, skipped: 0 },
        ]);
      },
    },
    {
      row: 'autoAck',
      does: 'no lease, no second delivery',
      run: async (broker) => {
        await configure(broker, { leaseSeconds: 1 });
        await push(broker, [1]);
        await pop(broker, { ...DEFAULT, autoAck: true });
        expect(await pop(broker, { ...DEFAULT, wait: true, timeout: 1200 })).toEqual([]);
      },
    },
    {
      row: 'late group',
      does: 'sees what is stored, and nothing that was reclaimed',
      run: async (broker) => {
        await push(broker, [1]);
        await pop(broker, { ...DEFAULT, group: 'early', autoAck: true });
        await push(broker, [2]);
        expect(await popPayloads(broker, { ...DEFAULT, group: 'late', batch: 9 })).toEqual([2]);
      },
    },
  ],
};

const many = (length: number, item: object) => Array.from({ length }, () => item);
const badBodies: readonly (readonly [string, unknown, string])[] = [
  ['push', [], 'bad body: '],
  ['push', '{', 'bad body: '],
  ['push', { queue: QUEUE }, 'bad body: missing field `messages`'],
  ['push', { queue: QUEUE, messages: [{}] }, 'bad body: missing field `payload`'],
  ['push', { queue: 7, messages: [] }, 'bad body: '],
  ['ack', { queue: QUEUE }, 'bad body: missing field `acks`'],
  ['ack', { queue: QUEUE, acks: [{}] }, 'bad body: missing field `id`'],
  ['reset', '', 'bad body: '],
];

export const ephemeralRefusals: ContractTable = {
  section: 'state-surfaces 4.4',
  rows: [
    ...['push', 'ack', 'reset'].map(
      (verb): ContractRow => ({
        row: 'queue is required',
        does: `by ${verb}`,
        send: `POST ${EPHEMERAL}/${verb}`,
        body: { messages: [{ payload: 1 }], acks: [] },
        answer: {
          status: 400,
          text: '{"error":"queue is required","code":"ephemeral_bad_request"}',
        },
      }),
    ),
    {
      row: 'at most 10000 messages per push',
      does: 'refused as a whole',
      send: `POST ${EPHEMERAL}/push`,
      body: { queue: QUEUE, messages: many(10_001, { payload: 1 }) },
      answer: {
        status: 400,
        code: 'ephemeral_bad_request',
        error: 'at most 10000 messages per push',
      },
    },
    {
      row: 'at most 10000 acks per call',
      does: 'refused as a whole',
      send: `POST ${EPHEMERAL}/ack`,
      body: { queue: QUEUE, acks: many(10_001, { id: 'e:1:p:1' }) },
      answer: { status: 400, code: 'ephemeral_bad_request', error: 'at most 10000 acks per call' },
    },
    ...(['queue', 'partition'] as const).map(
      (field): ContractRow => ({
        row: 'control characters',
        does: `in the ${field}`,
        send: `POST ${EPHEMERAL}/push`,
        body: { queue: QUEUE, [field]: 'a\u001fb', messages: [{ payload: 1 }] },
        answer: {
          status: 400,
          text:
            `{"error":"control characters are not allowed in ${field}",` +
            '"code":"ephemeral_bad_request"}',
        },
      }),
    ),
    {
      row: 'control characters',
      does: 'in the group',
      send: `GET ${EPHEMERAL}/pop?queue=${QUEUE}&group=a%0Ab`,
      answer: { status: 400, error: 'control characters are not allowed in group' },
    },
    ...badBodies.map(
      ([verb, body, error]): ContractRow => ({
        row: 'bad body',
        does: `${verb} of ${JSON.stringify(body)}`,
        send: `POST ${EPHEMERAL}/${verb}`,
        body,
        answer: { status: 400, code: 'ephemeral_bad_request', error },
      }),
    ),
    {
      row: 'ephemeral_quota_exceeded: bytes',
      does: 'more than the tenant was granted',
      run: async (broker) => {
        const { sameNode } = broker;
        await granted(sameNode, { maxBytes: 10 });
        await push(sameNode, ['12345678']);
        await quotaExceeded(() => pushRaw(sameNode, [1]));
      },
    },
    {
      row: 'ephemeral_quota_exceeded: queues',
      does: 'implicit or declared',
      run: async (broker) => {
        const { sameNode } = broker;
        await granted(sameNode, { maxQueues: 0 });
        for (const [verb, body] of [
          ['push', { messages: [{ payload: 1 }] }],
          ['configure', {}],
        ] as const) {
          const path = `${EPHEMERAL}/${verb}`;
          await quotaExceeded((attempt) =>
            sameNode.client.post(path, { queue: `${broker.queue}.${attempt}`, ...body }),
          );
        }
      },
    },
    {
      row: 'queue_full',
      does: 'without Retry-After',
      run: async (broker) => {
        await configure(broker, { maxLength: 1 });
        await push(broker, [1]);
        const refused = await pushRaw(broker, [2]);
        expect(refused.status).toBe(429);
        expect(refused.headers['retry-after']).toBeUndefined();
        expect(JSON.parse(refused.text)).toMatchObject({ code: 'queue_full' });
      },
    },
    {
      row: 'queue_full',
      does: 'with 413 when no waiting helps: the push is larger than the queue',
      run: async (broker) => {
        await configure(broker, { maxLength: 1 });
        const refused = await pushRaw(broker, [1, 2]);
        expect(refused.status).toBe(413);
        expect(JSON.parse(refused.text)).toMatchObject({ code: 'ephemeral_too_large' });
        await push(broker, [1]);
      },
    },
    {
      row: 'rate_limited',
      does: 'a message a second, with Retry-After',
      run: async (broker) => {
        const { sameNode } = broker;
        await granted(sameNode, { maxMessagesPerSecond: 1 });
        await pushRaw(sameNode, [1, 2]);
        const refused = await pushRaw(sameNode, [3, 4]);
        expect(refused.status).toBe(429);
        expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
        expect(JSON.parse(refused.text)).toMatchObject({ code: 'rate_limited' });
      },
    },
  ],
};

/** Whoever owns the ring may hear of the grant a moment after the node that gave it. */
async function quotaExceeded(
  ask: (attempt: number) => Promise<{ readonly status: number; readonly text: string }>,
): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    const { status, text } = await ask(attempt);
    if (status === 403) {
      expect(JSON.parse(text).code).toBe('ephemeral_quota_exceeded');
      return;
    }
    expect([status, attempt < ATTEMPTS_MAX]).toEqual([201, true]);
    await sleep(ATTEMPT_MS);
  }
}

async function granted({ client }: BrokerUnderTest, limits: object): Promise<void> {
  bodyOf(await client.post('/api/v1/resources/quota', { kind: 'ephemeral', ...limits }), 200);
}

/** Small, and only for whom an operator has named. */
export const ephemeralNode: ContractTable = {
  section: 'state-surfaces 4.4',
  environment: {
    SVC_TENANCY_HEADER: 'true',
    SVC_KV_TRUSTED_PROXY: '1',
    SVC_EPHEMERAL_MAX_BYTES: '20',
  },
  rows: [
    {
      row: 'feature_gated',
      does: 'every route, without a grant',
      run: async (broker) => {
        const refused = await pushRaw(broker, [1]);
        expect([refused.status, JSON.parse(refused.text).code]).toEqual([403, 'feature_gated']);
        const read = await broker.client.get(`${EPHEMERAL}/queues`);
        expect(read.status).toBe(403);
      },
    },
    {
      row: 'ephemeral_unavailable',
      does: 'the node is full, and waiting does not help by itself',
      run: async (broker) => {
        await granted(broker, {});
        await push(broker, ['0123456789']);
        const refused = await pushRaw(broker, ['0123456789']);
        expect(refused.status).toBe(503);
        expect(refused.headers['retry-after']).toBeUndefined();
        expect(JSON.parse(refused.text)).toMatchObject({ code: 'ephemeral_unavailable' });
      },
    },
  ],
};

export const ephemeralCluster: ContractTable = {
  section: 'state-surfaces 4.5',
  rows: [
    {
      row: 'any node relays',
      does: 'push, pop and ack of many partitions, each at another node',
      run: async (broker) => {
        for (let i = 0; i < 6; i++) {
          const partition = `p${i}`;
          await push(broker, [i], { partition });
          const [one] = await pop(broker, { partition });
          expect(one).toMatchObject({ partition, payload: i });
          expect(await ack(broker, [{ id: one?.id }])).toEqual(['acked']);
        }
        expect((await depth(broker)).pending).toBe(0);
      },
    },
    {
      row: 'a pop waits at any node',
      does: 'each of several gets one',
      run: async (broker) => {
        const waiting = [1, 2, 3].map(() =>
          popPayloads(broker, { ...DEFAULT, wait: true, timeout: 20_000 }),
        );
        await push(broker, [1, 2, 3]);
        expect((await Promise.all(waiting)).flat().sort()).toEqual([1, 2, 3]);
      },
    },
  ],
};
