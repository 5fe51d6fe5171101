/** Ephemeral queues: the routes and their bodies (state-surfaces 4.1, 4.2). */
import { expect } from 'vitest';
import { sleep } from '../../process/node-under-test.js';
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
  shown,
} from '../ephemeral-calls.js';
import type { ContractRow, ContractTable } from '../table.js';

const QUEUE = '{queue}';
const message = { queue: QUEUE, messages: [{ payload: 1 }] };

export const ephemeralModel: ContractTable = {
  section: 'state-surfaces 4.1',
  rows: [
    {
      row: 'names are a separate space',
      does: 'a durable queue of the same name shows nothing of it',
      run: async (broker) => {
        await push(broker, ['ephemeral']);
        expect(await broker.api.popQueue(broker.queue)).toBeNull();
        expect((await depth(broker)).pending).toBe(1);
      },
    },
    ...(['push', 'pop'] as const).map(
      (verb): ContractRow => ({
        row: 'implicit',
        does: `made by the first ${verb}`,
        run: async (broker) => {
          if (verb === 'push') await push(broker, [1]);
          else await pop(broker);
          expect(await shown(broker)).toMatchObject({ tier: 'implicit' });
        },
      }),
    ),
    {
      row: 'declared',
      does: 'made by configure, on every node, and kept until it is deleted',
      run: async (broker) => {
        await configure(broker, {});
        for (const { client } of broker.eachNode) {
          const path = `${EPHEMERAL}/queues/${broker.queue}/depth`;
          const answer = await client.get(path);
          expect(bodyOf(answer, 200)).toMatchObject({ tier: 'declared', pending: 0 });
        }
      },
    },
    {
      row: 'POST push',
      does: '201',
      send: `POST ${EPHEMERAL}/push`,
      body: message,
      answer: { status: 201 },
    },
    {
      row: 'GET pop',
      does: '200',
      send: `GET ${EPHEMERAL}/pop?queue=${QUEUE}`,
      answer: { status: 200 },
    },
    {
      row: 'POST ack',
      does: '200',
      send: `POST ${EPHEMERAL}/ack`,
      body: { queue: QUEUE, acks: [] },
      answer: { status: 200, text: '{"results":[]}' },
    },
    {
      row: 'POST configure',
      does: '201',
      send: `POST ${EPHEMERAL}/configure`,
      body: { queue: QUEUE },
      answer: { status: 201, text: '{"queue":"{queue}","options":{},"declared":true}' },
    },
    {
      row: 'POST reset',
      does: '200',
      send: `POST ${EPHEMERAL}/reset`,
      body: { queue: QUEUE },
      answer: { status: 200 },
    },
    {
      row: 'DELETE queue',
      does: '200, also when there is none',
      send: `DELETE ${EPHEMERAL}/queue/${QUEUE}`,
      answer: { status: 200 },
    },
    {
      row: 'GET queues',
      does: '200',
      send: `GET ${EPHEMERAL}/queues`,
      answer: { status: 200, body: { queues: [], count: 0 } },
    },
    {
      row: 'GET depth',
      does: '200',
      run: async (broker) => {
        await push(broker, [1, 2]);
        expect(await depth(broker)).toMatchObject({ queue: broker.queue, pending: 2 });
      },
    },
    ...[1, 512].map(
      (length): ContractRow => ({
        row: 'names',
        does: `of ${length} bytes are names`,
        send: `POST ${EPHEMERAL}/push`,
        body: {
          queue: 'n'.repeat(length),
          partition: 'p'.repeat(length),
          messages: [{ payload: 1 }],
        },
        answer: { status: 201, text: '{"pushed":1}' },
      }),
    ),
    {
      row: 'names',
      does: 'of 513 bytes are none',
      send: `POST ${EPHEMERAL}/push`,
      body: { queue: 'n'.repeat(513), messages: [{ payload: 1 }] },
      answer: { status: 400, code: 'ephemeral_bad_request', error: '513 bytes' },
    },
  ],
};

/** A push that is taken, and one that the queue then has no room for. */
async function fills(broker: BrokerUnderTest, payloads: unknown[], more: unknown): Promise<void> {
  await push(broker, payloads);
  const refused = await pushRaw(broker, [more]);
  expect(refused.status).toBe(429);
  expect(refused.headers['retry-after']).toBeUndefined();
  expect(JSON.parse(refused.text)).toMatchObject({ code: 'queue_full' });
}

const badOptions: readonly object[] = [
  { bogus: 1 },
  { maxLength: 1.5 },
  { maxBytes: -1 },
  { ttlSeconds: '30' },
  { policy: 'dropNewest' },
  { windowBuffer: { ms: 20 } },
  { windowBuffer: { ms: 20, count: 1, more: 1 } },
];

export const ephemeralBodies: ContractTable = {
  section: 'state-surfaces 4.2',
  rows: [
    {
      row: 'push',
      does: 'one queue and partition, `Default` when none is named',
      run: async (broker) => {
        await push(broker, [1], { partition: 'room-7' });
        await push(broker, [2]);
        await push(broker, [3], { partition: '' });
        expect(await popPayloads(broker, { partition: 'room-7', batch: 10 })).toEqual([1]);
        expect(await popPayloads(broker, { partition: 'Default', batch: 10 })).toEqual([2, 3]);
      },
    },
    {
      row: 'push: empty',
      does: 'nothing is pushed, and nothing made',
      send: `POST ${EPHEMERAL}/push`,
      body: { queue: QUEUE, messages: [] },
      answer: { status: 201, text: '{"pushed":0}' },
    },
    {
      row: 'push: all or nothing',
      does: 'what does not fit as a whole is refused as a whole',
      run: async (broker) => {
        await configure(broker, { maxLength: 3 });
        await push(broker, [1, 2]);
        expect((await pushRaw(broker, [3, 4])).status).toBe(429);
        expect((await depth(broker)).pending).toBe(2);
      },
    },
    {
      row: 'push: verbatim',
      does: 'payload bytes come back as they came',
      run: async (broker) => {
        const payload = '{ "b":1.0, "a":[1e2,"\\u00fc","ü"], "a":12345678901234567890 }';
        const messages = `[{"payload":${payload}}]`;
        const body = `{"queue":"${broker.queue}","partition":"v","messages":${messages}}`;
        bodyOf(await broker.client.post(`${EPHEMERAL}/push`, body), 201);
        const path = `${EPHEMERAL}/pop?queue=${broker.queue}&partition=v`;
        const answer = await broker.client.get(path);
        expect(answer.text).toContain(`"payload":${payload}}]}`);
      },
    },
    {
      row: 'pop: queue',
      does: 'is required',
      send: `GET ${EPHEMERAL}/pop`,
      answer: { status: 400, code: 'ephemeral_bad_request', error: 'queue is required' },
    },
    {
      row: 'pop: partition',
      does: 'only of that one',
      run: async (broker) => {
        await push(broker, ['a'], { partition: 'p1' });
        await push(broker, ['b'], { partition: 'p2' });
        expect(await popPayloads(broker, { partition: 'p2', batch: 10 })).toEqual(['b']);
      },
    },
    {
      row: 'pop: group',
      does: 'without one there is one shared cursor',
      run: async (broker) => {
        await push(broker, [1, 2]);
        expect(await popPayloads(broker, { partition: 'Default' })).toEqual([1]);
        expect(await popPayloads(broker, { partition: 'Default' })).toEqual([2]);
        expect(await popPayloads(broker, { partition: 'Default' })).toEqual([]);
      },
    },
    {
      row: 'pop: batch',
      does: 'one when absent, and no more than is asked',
      run: async (broker) => {
        await push(broker, [1, 2, 3, 4]);
        expect(await popPayloads(broker, { partition: 'Default' })).toEqual([1]);
        expect(await popPayloads(broker, { partition: 'Default', batch: 2 })).toEqual([2, 3]);
        expect(await popPayloads(broker, { partition: 'Default', batch: 99_999 })).toEqual([4]);
      },
    },
    {
      row: 'pop: wait',
      does: 'is woken by the first message, wherever that is pushed',
      run: async (broker) => {
        const waiting = popPayloads(broker, { partition: 'w', wait: true, timeout: 20_000 });
        await sleep(100);
        await push(broker, ['here'], { partition: 'w' });
        const beganMs = Date.now();
        expect(await waiting).toEqual(['here']);
        expect(Date.now() - beganMs).toBeLessThan(5000);
      },
    },
    {
      row: 'pop: autoAck',
      does: 'settles at delivery, and commitOnDelivery is its other name',
      run: async (broker) => {
        await push(broker, [1, 2]);
        const first = await pop(broker, { partition: 'Default', autoAck: true });
        await popPayloads(broker, { partition: 'Default', commitOnDelivery: true });
        expect((await depth(broker)).pending).toBe(0);
        expect(await ack(broker, [{ id: first[0]?.id }])).toEqual(['unknown']);
      },
    },
    {
      row: 'pop: empty',
      does: '200 with no messages',
      send: `GET ${EPHEMERAL}/pop?queue=${QUEUE}`,
      answer: { status: 200, text: '{"queue":"{queue}","messages":[]}' },
    },
    {
      row: 'pop: id',
      does: 'names incarnation, partition and sequence',
      run: async (broker) => {
        await push(broker, [1, 2], { partition: 'room:7' });
        const [one, two] = await pop(broker, { partition: 'room:7', batch: 2 });
        expect(one?.id).toMatch(/^e:[0-9a-f]+:room:7:0$/);
        expect(two?.id).toMatch(/^e:[0-9a-f]+:room:7:1$/);
        expect(one).toMatchObject({ partition: 'room:7', attempts: 0, payload: 1 });
        expect(await ack(broker, [{ id: one?.id }, { id: two?.id }])).toEqual(['acked', 'acked']);
      },
    },
    {
      row: 'ack: acked',
      does: 'completed, also without saying so',
      run: async (broker) => {
        await push(broker, [1, 2]);
        const [one, two] = await pop(broker, { partition: 'Default', batch: 2 });
        const acks = [{ id: one?.id }, { id: two?.id, status: 'completed', error: 'ignored' }];
        expect(await ack(broker, acks)).toEqual(['acked', 'acked']);
        expect((await depth(broker)).pending).toBe(0);
      },
    },
    ...['failed', 'retry'].map(
      (status): ContractRow => ({
        row: 'ack: redelivered',
        does: `${status}: back at once, and who waits gets it`,
        run: async (broker) => {
          await push(broker, [1]);
          const [one] = await pop(broker, { partition: 'Default' });
          const waiting = pop(broker, { partition: 'Default', wait: true, timeout: 20_000 });
          await sleep(50);
          expect(await ack(broker, [{ id: one?.id, status }])).toEqual(['redelivered']);
          expect(await waiting).toMatchObject([{ id: one?.id, attempts: 1, payload: 1 }]);
        },
      }),
    ),
    {
      row: 'ack: stale',
      does: 'of an incarnation that is gone',
      run: async (broker) => {
        await push(broker, [1]);
        const [one] = await pop(broker, { partition: 'Default' });
        bodyOf(await broker.client.post(`${EPHEMERAL}/reset`, { queue: broker.queue }), 200);
        expect(await ack(broker, [{ id: one?.id }])).toEqual(['stale']);
      },
    },
    {
      row: 'ack: unknown',
      does: 'acked already, or no id at all',
      run: async (broker) => {
        await push(broker, [1]);
        const [one] = await pop(broker, { partition: 'Default' });
        expect(await ack(broker, [{ id: one?.id }, { id: one?.id }])).toEqual(['acked', 'unknown']);
        expect(await ack(broker, [{ id: 'nonsense' }])).toEqual(['unknown']);
      },
    },
    {
      row: 'ack: other status',
      does: 'says that it failed',
      run: async (broker) => {
        await push(broker, [1]);
        const [one] = await pop(broker, { partition: 'Default' });
        expect(await ack(broker, [{ id: one?.id, status: 'dlq' }])).toEqual(['redelivered']);
      },
    },
    {
      row: 'configure',
      does: 'shows the options as they were sent',
      send: `POST ${EPHEMERAL}/configure`,
      body: '{"queue":"{queue}","options":{ "leaseSeconds":1e1, "maxLength":100000000 }}',
      answer: {
        status: 201,
        text:
          '{"queue":"{queue}","options":{ "leaseSeconds":1e1, "maxLength":100000000 },' +
          '"declared":true}',
      },
    },
    {
      row: 'configure: missing queue',
      does: '400',
      send: `POST ${EPHEMERAL}/configure`,
      body: { options: {} },
      answer: { status: 400, text: '{"error":"queue is required","code":"bad_request"}' },
    },
    {
      row: 'maxBytes',
      does: 'bytes of a ring',
      run: async (broker) => {
        await configure(broker, { maxBytes: 10 });
        await fills(broker, ['12345678'], 1);
      },
    },
    {
      row: 'maxLength',
      does: 'messages of a ring',
      run: async (broker) => {
        await configure(broker, { maxLength: 2 });
        await fills(broker, [1, 2], 3);
        await push(broker, [3], { partition: 'another' });
      },
    },
    {
      row: 'policy',
      does: 'dropOldest makes room, and counts',
      run: async (broker) => {
        await configure(broker, { maxLength: 2, policy: 'dropOldest' });
        await push(broker, [1, 2]);
        await push(broker, [3]);
        expect((await shown(broker)).drops).toEqual({ bounds: 1, ttl: 0, retry: 0 });
        expect(await popPayloads(broker, { partition: 'Default', batch: 9 })).toEqual([2, 3]);
      },
    },
    {
      row: 'ttlSeconds',
      does: 'drops by age, consumed or not',
      run: async (broker) => {
        await configure(broker, { ttlSeconds: 1 });
        await push(broker, [1, 2]);
        const [one] = await pop(broker, { partition: 'Default' });
        await sleep(1200);
        expect((await shown(broker)).drops).toEqual({ bounds: 0, ttl: 2, retry: 0 });
        expect(await ack(broker, [{ id: one?.id }])).toEqual(['unknown']);
      },
    },
    {
      row: 'leaseSeconds',
      does: 'what is not acked comes again, to whoever waits',
      run: async (broker) => {
        await configure(broker, { leaseSeconds: 1 });
        await push(broker, [1]);
        const [one] = await pop(broker, { partition: 'Default' });
        const again = await pop(broker, { partition: 'Default', wait: true, timeout: 10_000 });
        expect(again).toMatchObject([{ id: one?.id, attempts: 1 }]);
      },
    },
    {
      row: 'retryLimit',
      does: 'deliveries that may fail',
      run: async (broker) => {
        await configure(broker, { retryLimit: 2 });
        await push(broker, [1]);
        const [one] = await pop(broker, { partition: 'Default' });
        const failed = [{ id: one?.id, status: 'failed' }];
        expect(await ack(broker, failed)).toEqual(['redelivered']);
        await pop(broker, { partition: 'Default' });
        expect(await ack(broker, failed)).toEqual(['acked']);
        expect(await pop(broker, { partition: 'Default' })).toEqual([]);
        expect((await shown(broker)).drops).toEqual({ bounds: 0, ttl: 0, retry: 1 });
      },
    },
    {
      row: 'windowBuffer',
      does: 'a pop that waits goes on collecting until it has enough',
      run: async (broker) => {
        await configure(broker, { windowBuffer: { ms: 60_000, count: 3 } });
        const waiting = popPayloads(broker, {
          partition: 'Default',
          batch: 100,
          wait: true,
          timeout: 30_000,
        });
        await sleep(50);
        await push(broker, [1]);
        await push(broker, [2]);
        await push(broker, [3]);
        expect(await waiting).toEqual([1, 2, 3]);
      },
    },
    {
      row: 'windowBuffer',
      does: 'or its milliseconds are over, or its own time',
      run: async (broker) => {
        await configure(broker, { windowBuffer: { ms: 60_000, count: 50 } });
        await push(broker, [1]);
        const parameters = { partition: 'Default', batch: 9, wait: true, timeout: 300 };
        expect(await popPayloads(broker, parameters)).toEqual([1]);
      },
    },
    ...badOptions.map(
      (options): ContractRow => ({
        row: 'closed option set',
        does: `${JSON.stringify(options)} is refused`,
        send: `POST ${EPHEMERAL}/configure`,
        body: { queue: QUEUE, options },
        answer: { status: 400, code: 'ephemeral_bad_request' },
      }),
    ),
    {
      row: 'in force',
      does: 'what the broker allows at most',
      run: async (broker) => {
        await configure(broker, {
          maxBytes: 2 ** 40,
          maxLength: 2 ** 40,
          leaseSeconds: 2 ** 40,
          retryLimit: 0,
          policy: 'dropOldest',
        });
        expect((await shown(broker)).options).toEqual({
          maxBytes: 16_777_216,
          maxLength: 10_000,
          policy: 'dropOldest',
          ttlSeconds: 0,
          leaseSeconds: 86_400,
          retryLimit: 1,
          windowBuffer: null,
        });
      },
    },
    {
      row: 'reset',
      does: 'drops on every node and keeps the declaration',
      run: async (broker) => {
        await configure(broker, { maxLength: 5 });
        await push(broker, [1, 2]);
        const answer = await broker.client.post(`${EPHEMERAL}/reset`, { queue: broker.queue });
        const { dropped } = bodyOf(answer, 200) as { dropped: number };
        expect(broker.place.nodes === 1 ? [2] : [0, 2]).toContain(dropped);
        expect((await depth(broker)).pending).toBe(0);
        expect(await shown(broker)).toMatchObject({ tier: 'declared', options: { maxLength: 5 } });
      },
    },
    {
      row: 'reset: unknown queue',
      does: 'drops nothing',
      send: `POST ${EPHEMERAL}/reset`,
      body: { queue: QUEUE },
      answer: { status: 200, text: '{"queue":"{queue}","dropped":0}' },
    },
    ...[true, false].map(
      (declared): ContractRow => ({
        row: 'delete',
        does: `${declared ? 'a declared queue' : 'one that is not'}; its rings go either way`,
        run: async (broker) => {
          if (declared) await configure(broker, {});
          await push(broker, [1]);
          const path = `${EPHEMERAL}/queue/${broker.queue}`;
          const answer = await broker.client.send('DELETE', path, undefined);
          expect(bodyOf(answer, 200)).toEqual({ queue: broker.queue, deleted: declared, declared });
          await expect(depth(broker)).rejects.toThrow('no node knows');
        },
      }),
    ),
  ],
};

export const ephemeralRestart: ContractTable = {
  section: 'state-surfaces 4.1',
  environment: {
    SVC_TENANCY_HEADER: 'true',
    SVC_KV_TRUSTED_PROXY: '1',
    SVC_EPHEMERAL_REQUIRE_GRANT: 'false',
  },
  rows: [
    {
      row: 'survives a restart',
      does: 'of a declared queue its options, and nothing else',
      run: async (broker) => {
        await configure(broker, { maxLength: 7 });
        await push(broker, [1]);
        await broker.place.restart?.('SIGKILL');
        expect(await shown(broker)).toMatchObject({
          tier: 'declared',
          depth: 0,
          options: { maxLength: 7 },
        });
      },
    },
  ],
};
