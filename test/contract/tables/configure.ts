/**
 * POST /api/v1/configure, its options, and queues that nobody configured (message-plane 7 to 7.2).
 */
import type { Answer } from '@svc/http/api';
import { expect } from 'vitest';
import { bodyOf, idsOf } from '../broker-api.js';
import type { BrokerUnderTest } from '../broker-under-test.js';
import { attemptsOf, done, GROUP, LeasedBatch } from '../leased-batch.js';
import type { ContractRow, ContractTable } from '../table.js';

type ConfigureAnswer = Answer<'POST /api/v1/configure'>;
type OptionsAnswer = Answer<'POST /api/v1/configure'>['options'];

const PATH = '/api/v1/configure';

const DEFAULTS: OptionsAnswer = {
  priority: 0,
  leaseTime: 300,
  retryLimit: 3,
  retryDelay: 1000,
  maxSize: 0,
  maxQueueSize: 0,
  ttl: 3600,
  deadLetterQueue: true,
  dlqAfterMaxRetries: true,
  delayedProcessing: 0,
  windowBuffer: 0,
  retentionSeconds: 0,
  completedRetentionSeconds: 0,
  retentionEnabled: false,
  encryptionEnabled: false,
  maxWaitTimeSeconds: 0,
  minPopWaitTime: 0,
  dedupWindowSeconds: 3600,
  retentionSinkHold: '',
  retentionSinkHoldMaxSeconds: 604_800,
};

async function configure(
  { client, queue }: BrokerUnderTest,
  members: object,
): Promise<ConfigureAnswer> {
  return bodyOf(await client.post(PATH, { queue, ...members }), 200) as ConfigureAnswer;
}

/** Bodies that are refused with the text given; `{queue}` is the row's queue. */
function refused(row: string, bodies: readonly (readonly [string, string])[]): ContractRow {
  return {
    row,
    does: bodies.map(([body, error]) => `${body.slice(0, 70)} (${error})`).join('; '),
    run: async ({ client, queue }) => {
      for (const [text, error] of bodies) {
        const body = text.replaceAll('{queue}', queue);
        const answer = await client.post(PATH, body);
        expect(answer.status, body).toBe(400);
        expect(JSON.parse(answer.text).error).toContain(error);
      }
      expect((await client.get(`/api/v1/resources/queues/${queue}`)).status).toBe(404);
    },
  };
}

const options = (text: string) => `{"queue":"{queue}","options":{${text}}}`;

export const configuring: ContractTable = {
  section: 'message-plane 7',
  rows: [
    refused('queue is required', [
      ['{}', 'queue is required'],
      ['{"queue":null}', 'queue is required'],
      ['{"queue":5}', 'queue is required'],
    ]),
    {
      row: 'queue is required',
      does: '"" is allowed',
      send: `POST ${PATH}`,
      body: { queue: '' },
      answer: { status: 200, body: { configured: true, queue: '' } },
    },
    refused('mode must be', [
      ['{"queue":"{queue}","mode":"patch"}', 'mode must be "merge" or "replace", got "patch"'],
      ['{"queue":"{queue}","mode":1}', 'mode must be "merge" or "replace", got 1'],
      ['{"queue":"{queue}","mode":["merge"]}', 'got ["merge"]'],
    ]),
    refused('must be an integer', [
      [options('"leaseTime":"60"'), 'leaseTime must be an integer'],
      [options('"leaseTime":1.5'), 'leaseTime must be an integer'],
      [options('"leaseTime":2147483648'), 'leaseTime must be an integer'],
      [options('"leaseTime":-2147483649'), 'leaseTime must be an integer'],
      [options('"priority":true'), 'priority must be an integer'],
      [options('"retryBackoffMs":"1s"'), 'retryBackoffMs must be an integer'],
      [options('"deliveryLimit":2.5'), 'deliveryLimit must be an integer'],
      [options('"retryLimit":[]'), 'retryLimit must be an integer'],
      [options('"dedupWindowSeconds":{}'), 'dedupWindowSeconds must be an integer'],
      ['{"queue":"{queue}","leaseTime":"x"}', 'leaseTime must be an integer'],
    ]),
    refused('must be a boolean', [
      [options('"deadLetterQueue":1'), 'deadLetterQueue must be a boolean'],
      [options('"dlqAfterMaxRetries":"true"'), 'dlqAfterMaxRetries must be a boolean'],
      [options('"retentionEnabled":"yes"'), 'retentionEnabled must be a boolean'],
      [options('"encryptionEnabled":0'), 'encryptionEnabled must be a boolean'],
    ]),
    refused('retentionSinkHold must match', [
      [options('"retentionSinkHold":"a b"'), 'retentionSinkHold must match [A-Za-z0-9._-]{0,64}'],
      [options(`"retentionSinkHold":"${'a'.repeat(65)}"`), 'retentionSinkHold must match'],
      [options('"retentionSinkHold":7'), 'retentionSinkHold must match'],
    ]),
    refused('retentionSinkHoldMaxSeconds must be between', [
      [options('"retentionSinkHoldMaxSeconds":59'), 'must be between 60 and 31536000'],
      [options('"retentionSinkHoldMaxSeconds":31536001'), 'must be between 60 and 31536000'],
    ]),
    refused('unparseable body', [
      ['', 'the body is empty'],
      ['[]', 'must be an object'],
      ['{"queue":"{queue}"', 'unexpected end'],
      ['{"queue":"{queue}","options":[]}', 'options must be an object'],
    ]),
    {
      row: 'a refused call changes nothing',
      does: 'not even the options that were well',
      run: async (broker) => {
        await configure(broker, { options: { leaseTime: 77 } });
        const body = { queue: broker.queue, options: { leaseTime: 5, priority: 'x' } };
        expect((await broker.client.post(PATH, body)).status).toBe(400);
        expect((await broker.api.detail(broker.queue)).options.leaseTime).toBe(77);
      },
    },
    {
      row: 'unknown keys',
      does: 'are ignored, beside the queue and inside options',
      run: async (broker) => {
        const answer = await configure(broker, { options: { whatever: [1] }, more: {} });
        expect(answer.options).toEqual(DEFAULTS);
      },
    },
    {
      row: '413 names',
      does: 'a queue whose partition Default no longer fits',
      send: `POST ${PATH}`,
      body: { queue: 'q'.repeat(405) },
      answer: { status: 413, error: 'queue name is 405 bytes', code: 'name_too_long' },
    },
    {
      row: 'options beside the queue',
      does: 'count without options, and not with it',
      run: async (broker) => {
        const beside = await configure(broker, { leaseTime: 9, retryLimit: 1 });
        expect(beside.options).toMatchObject({ leaseTime: 9, retryLimit: 1 });
        const inside = await configure(broker, { leaseTime: 'x', options: { retryLimit: 2 } });
        expect(inside.options).toMatchObject({ leaseTime: 9, retryLimit: 2 });
      },
    },
    {
      row: 'top-level namespace/task',
      does: 'fill in when they are not empty and not inside options',
      run: async (broker) => {
        const filled = await configure(broker, { namespace: 'n', task: 't', options: {} });
        expect(filled).toMatchObject({ namespace: 'n', task: 't' });
        const beaten = await configure(broker, { namespace: 'x', options: { namespace: 'y' } });
        expect(beaten).toMatchObject({ namespace: 'y', task: 't' });
        const empty = await configure(broker, { namespace: '', options: {} });
        expect(empty.namespace).toBe('y');
      },
    },
    {
      row: 'merge keeps omitted keys',
      does: 'with and without the mode named',
      run: async (broker) => {
        await configure(broker, { options: { leaseTime: 45, retryLimit: 9 } });
        for (const mode of [undefined, null, 'merge']) {
          const { options: merged } = await configure(broker, { mode, options: { ttl: 5 } });
          expect(merged).toEqual({ ...DEFAULTS, leaseTime: 45, retryLimit: 9, ttl: 5 });
        }
      },
    },
    {
      row: 'null',
      does: 'restores the configure default',
      run: async (broker) => {
        const nonsense = { leaseTime: 45, deadLetterQueue: false, retentionSinkHold: 'sink' };
        await configure(broker, { options: nonsense });
        const nulls = { leaseTime: null, deadLetterQueue: null, retentionSinkHold: null };
        expect((await configure(broker, { options: nulls })).options).toEqual(DEFAULTS);
      },
    },
    {
      row: 'replace',
      does: 'omitted keys get their default, the queue keeps its id and its time',
      run: async (broker) => {
        const first = await configure(broker, { options: { leaseTime: 45, namespace: 'n' } });
        const before = await broker.api.detail(broker.queue);
        const answer = await configure(broker, { mode: 'replace', options: { ttl: 7 } });
        expect(answer).toMatchObject({ queueId: first.queueId, namespace: '', task: '' });
        expect(answer.options).toEqual({ ...DEFAULTS, ttl: 7 });
        const after = await broker.api.detail(broker.queue);
        expect(after.createdAt).toBe(before.createdAt);
      },
    },
    ...['merge', 'replace'].map(
      (mode): ContractRow => ({
        row: 'creating',
        does: `by ${mode}: the defaults and what is named`,
        run: async (broker) => {
          const answer = await configure(broker, { mode, options: { priority: 7 } });
          expect(answer.options).toEqual({ ...DEFAULTS, priority: 7 });
          expect(answer).toMatchObject({ namespace: '', task: '' });
        },
      }),
    ),
    {
      row: 'labels that are no strings',
      does: 'become ""',
      run: async (broker) => {
        await configure(broker, { options: { namespace: 'n', task: 't' } });
        const answer = await configure(broker, { options: { namespace: 7, task: ['t'] } });
        expect(answer).toMatchObject({ namespace: '', task: '' });
      },
    },
    {
      row: 'merging into a push-created queue',
      does: 'keeps its leaseTime 60 and its derived labels',
      run: async (broker) => {
        await broker.api.pushIds(broker.queue, 'p', ['a']);
        const answer = await configure(broker, { options: { ttl: 5 } });
        expect(answer.options).toEqual({ ...DEFAULTS, leaseTime: 60, ttl: 5 });
        expect(answer).toMatchObject({ namespace: 'row', task: `q${broker.number}` });
      },
    },
    {
      row: 'answer',
      does: 'the whole effective set, in its order of keys',
      run: async (broker) => {
        const answer = await configure(broker, { options: { leaseTime: 1 } });
        expect(Object.keys(answer)).toEqual([
          'configured',
          'queueId',
          'partitionId',
          'queue',
          'namespace',
          'task',
          'storage',
          'options',
        ]);
        expect(Object.keys(answer.options)).toEqual(Object.keys(DEFAULTS));
        expect(answer).toMatchObject({ configured: true, partitionId: null, storage: 'segments' });
        expect(answer.queueId).toBe((await broker.api.detail(broker.queue)).id);
      },
    },
    {
      row: 'partition Default',
      does: 'is there at once, and not made for a queue that was pushed to',
      run: async (broker) => {
        await configure(broker, {});
        const names = (await broker.api.detail(broker.queue)).partitions.map(({ name }) => name);
        expect(names).toEqual(['Default']);
      },
    },
  ],
};

/** Options that are stored and shown and change nothing else. */
function echoed(row: string, members: Readonly<Record<string, unknown>>): ContractRow {
  return {
    row,
    does: `${JSON.stringify(members)} is shown by configure and by the detail`,
    run: async (broker) => {
      const answer = await configure(broker, { options: members });
      const shown = Object.fromEntries(
        Object.entries(answer.options).filter(([name]) => name in members),
      );
      expect(shown).toEqual(members);
      expect((await broker.api.detail(broker.queue)).options).toEqual(answer.options);
    },
  };
}

export const queueOptions: ContractTable = {
  section: 'message-plane 7.1',
  rows: [
    {
      row: 'namespace, task',
      does: 'are what discovery finds a queue by',
      run: async (broker) => {
        await configure(broker, { options: { namespace: 'found', task: 'by' } });
        await broker.api.pushIds(broker.queue, 'p', ['a']);
        expect(idsOf(await broker.api.pop('', { namespace: 'found', task: 'by' }))).toEqual(['a']);
      },
    },
    echoed('priority', { priority: -7 }),
    {
      row: 'leaseTime',
      does: 'of new pops only',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker, { leaseTime: 500 });
        await configure(broker, { options: { leaseTime: 1 } });
        const { expiresAt } = await broker.api.extend(batch.lease.leaseId, { seconds: 1 });
        expect(Date.parse(expiresAt ?? '') - Date.now()).toBeGreaterThan(400_000);
        const other = await broker.api.popQueue(broker.queue, { consumerGroup: 'h' });
        const again = await broker.api.popQueue(broker.queue, {
          consumerGroup: 'h',
          wait: true,
          timeout: 9000,
        });
        expect(again?.messages[0]?.deliveryAttempt).toBe(2);
        expect(other?.leaseId).not.toBe(again?.leaseId);
      },
    },
    {
      row: 'retryLimit',
      does: 'is read at ack time, and counters are not reset',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker, { retryLimit: 9 });
        await batch.ack(['a', 'failed']);
        await batch.pop();
        await configure(broker, { options: { retryLimit: 1 } });
        expect(await batch.ack(['a', 'failed'])).toEqual([done(0, 'a', { dlq: true })]);
      },
    },
    echoed('retryDelay', { retryDelay: 5 }),
    {
      row: 'retryBackoffMs, retryBackoffMaxMs',
      does: 'hold the partition back, and are shown where they are used',
      run: async (broker) => {
        const wait = { retryBackoffMs: 1500, retryBackoffMaxMs: 3000 };
        const batch = await LeasedBatch.take(broker, wait);
        expect((await broker.api.detail(broker.queue)).options).toMatchObject(wait);
        await batch.ack(['a', 'retry']);
        const pop = { consumerGroup: 'g' };
        expect(await broker.api.popQueue(broker.queue, pop)).toBe(null);
        const later = await broker.api.popQueue(broker.queue, {
          ...pop,
          wait: true,
          timeout: 9000,
        });
        expect(later?.messages[0]).toMatchObject({ transactionId: 'a', deliveryAttempt: 2 });
        const off = { retryBackoffMs: -1, retryBackoffMaxMs: 0 };
        const { options } = await configure(broker, { options: off });
        expect(Object.keys(options).filter((name) => name.startsWith('retryB'))).toEqual([]);
      },
    },
    {
      row: 'deliveryLimit',
      does: 'files what is never completed, alone in its batch, and is shown where it is used',
      run: async (broker) => {
        const limit = { deliveryLimit: 2 };
        const batch = await LeasedBatch.take(broker, { ...limit, leaseTime: 1 });
        expect((await broker.api.detail(broker.queue)).options).toMatchObject(limit);
        await batch.ack(['a', 'retry']);
        const next = { batch: 10, wait: true, timeout: 9000 };
        const given = async () => {
          const popped = await batch.pop(next);
          return [...idsOf(popped), ...attemptsOf(popped)];
        };
        expect(await given()).toEqual(['a', 2]);
        expect(await batch.ack(['a', 'retry'])).toEqual([done(0, 'a', { dlq: true })]);
        expect([await given(), await given(), await given()]).toEqual([
          ['b', 1],
          ['b', 2],
          ['c', 1],
        ]);
        const list = await broker.client.get(`/api/v1/dlq?queue=${broker.queue}`);
        const { messages } = bodyOf(list, 200) as Answer<'GET /api/v1/dlq'>;
        expect(
          messages.map(({ transactionId, deadLetterReason }) => [transactionId, deadLetterReason]),
        ).toEqual([
          ['b', 'delivery_limit'],
          ['a', 'delivery_limit'],
        ]);
        const { options } = await configure(broker, { options: { deliveryLimit: -1 } });
        expect(options).not.toHaveProperty('deliveryLimit');
      },
    },
    echoed('maxSize', { maxSize: 5, maxQueueSize: 5 }),
    echoed('ttl', { ttl: 5 }),
    {
      row: 'deadLetterQueue, dlqAfterMaxRetries',
      does: 'are ORed',
      run: async (broker) => {
        const { api } = broker;
        const files = async (deadLetterQueue: boolean, dlqAfterMaxRetries: boolean) => {
          const queue = `${deadLetterQueue}-${dlqAfterMaxRetries}`;
          await api.configure(queue, { retryLimit: 0, deadLetterQueue, dlqAfterMaxRetries });
          await api.pushIds(queue, 'p', ['a']);
          const { leaseId = '', partitionId = '' } = (await api.popQueue(queue)) ?? {};
          const ack = { transactionId: 'a', partitionId, leaseId, status: 'failed' };
          return (await api.ack('', [ack]))[0]?.dlq;
        };
        expect(await files(true, true)).toBe(true);
        expect(await files(true, false)).toBe(true);
        expect(await files(false, true)).toBe(true);
        expect(await files(false, false)).toBe(false);
      },
    },
    echoed('delayedProcessing', { delayedProcessing: 3 }),
    echoed('windowBuffer', { windowBuffer: 3 }),
    echoed('retentionEnabled', { retentionEnabled: true }),
    echoed('retentionSeconds, completedRetentionSeconds', {
      retentionSeconds: 10,
      completedRetentionSeconds: 20,
    }),
    echoed('maxWaitTimeSeconds', { maxWaitTimeSeconds: 30 }),
    {
      row: 'minPopWaitTime',
      does: 'clamped to 0..60000',
      run: async (broker) => {
        const set = async (minPopWaitTime: number) =>
          (await configure(broker, { options: { minPopWaitTime } })).options.minPopWaitTime;
        expect(await set(99_999)).toBe(60_000);
        expect(await set(-1)).toBe(0);
        expect(await set(250)).toBe(250);
      },
    },
    echoed('encryptionEnabled', { encryptionEnabled: true }),
    {
      row: 'dedupWindowSeconds',
      does: 'floor 0; 0 is off',
      run: async (broker) => {
        const { options: shown } = await configure(broker, { options: { dedupWindowSeconds: -5 } });
        expect(shown.dedupWindowSeconds).toBe(0);
        const { api, queue } = broker;
        await api.pushIds(queue, 'p', ['t']);
        expect((await api.pushIds(queue, 'p', ['t']))[0]?.status).toBe('queued');
      },
    },
    echoed('retentionSinkHold', { retentionSinkHold: 'Lake_1.x-y' }),
    echoed('retentionSinkHoldMaxSeconds', { retentionSinkHoldMaxSeconds: 60 }),
    echoed('retentionSinkHoldMaxSeconds', { retentionSinkHoldMaxSeconds: 31_536_000 }),
  ],
};

/** A queue of this name, made by a push, has these labels. */
function labelled(name: string, namespace: string, task: string): ContractRow {
  return {
    row: name,
    does: `is namespace ${namespace}, task ${JSON.stringify(task)}`,
    run: async ({ api }) => {
      await api.pushIds(name, 'p', ['a']);
      expect(await api.detail(name)).toMatchObject({ namespace, task });
    },
  };
}

export const implicitQueues: ContractTable = {
  section: 'message-plane 7.2',
  rows: [
    {
      row: 'leaseTime 60',
      does: 'and the other defaults',
      run: async ({ api, queue }) => {
        await api.pushIds(queue, 'p', ['a']);
        expect((await api.detail(queue)).options).toEqual({ ...DEFAULTS, leaseTime: 60 });
      },
    },
    labelled('orders', 'orders', ''),
    labelled('billing.invoice.eu', 'billing', 'invoice'),
    {
      row: 'push',
      does: 'makes the queue and its partition alone',
      run: async ({ api, queue }) => {
        await api.pushIds(queue, 'p', ['a']);
        expect((await api.detail(queue)).partitions.map(({ name }) => name)).toEqual(['p']);
      },
    },
    {
      row: 'wildcard pop',
      does: 'makes the queue, with derived labels and without partitions',
      run: async ({ api, queue, number }) => {
        expect(await api.popQueue(queue, { consumerGroup: GROUP })).toBeNull();
        const detail = await api.detail(queue);
        expect(detail).toMatchObject({ namespace: 'row', task: `q${number}`, partitions: [] });
        expect(detail.options.leaseTime).toBe(60);
      },
    },
  ],
};
