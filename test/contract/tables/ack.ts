/** Bodies and answers of acknowledgements (message-plane 4). */
import { expect } from 'vitest';
import { bodyOf } from '../broker-api.js';
import { done, GROUP, LeasedBatch } from '../leased-batch.js';
import type { ContractRow, ContractTable } from '../table.js';

const ROUTES = ['/api/v1/ack', '/api/v1/ack/batch'];

function refused(row: string, bodies: readonly (readonly [string, string])[]): ContractRow {
  return {
    row,
    does: bodies.map(([body, error]) => `${body} (${error})`).join('; '),
    run: async ({ client }) => {
      for (const [body, error] of bodies) {
        for (const path of ROUTES) {
          const answer = await client.post(path, body);
          expect(answer.status, body).toBe(400);
          expect(JSON.parse(answer.text).code).toBe('bad_body');
          expect(JSON.parse(answer.text).error).toContain('bad ack body: ');
          expect(JSON.parse(answer.text).error).toContain(error);
        }
      }
    },
  };
}

/** `status` of c in a batch of three, and the cursor that must follow. */
function status(value: string | null, cursor: number, limit = 3): ContractRow {
  return {
    row: 'status',
    does: `${JSON.stringify(value)} of c moves the cursor to ${cursor}`,
    run: async (broker) => {
      const batch = await LeasedBatch.take(broker, { retryLimit: limit });
      const { partitionId, leaseId } = batch.lease;
      const acknowledgments = [{ transactionId: 'c', partitionId, leaseId, status: value }];
      const body = { consumerGroup: GROUP, acknowledgments };
      bodyOf(await broker.client.post('/api/v1/ack/batch', body), 200);
      await batch.expectCursor(cursor, 0);
    },
  };
}

export const ackBodies: ContractTable = {
  section: 'message-plane 4',
  rows: [
    {
      row: 'both routes take both bodies',
      does: 'one at the top level, many as acknowledgments',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        const { partitionId, leaseId } = batch.lease;
        const of = (transactionId: string) => ({ transactionId, partitionId, leaseId });
        const post = async (path: string, body: object) =>
          bodyOf(await broker.client.post(path, { consumerGroup: GROUP, ...body }), 200);
        const [single = '', many = ''] = ROUTES;
        const kept = { leaseReleased: false };
        expect(await post(many, of('a'))).toEqual([done(0, 'a', kept)]);
        expect(await post(single, { acknowledgments: [of('b'), of('c')] })).toEqual([
          done(0, 'b'),
          done(1, 'c'),
        ]);
        expect(await post(single, { ...of('a'), acknowledgments: null })).toMatchObject([
          { transactionId: 'a', noop: true },
        ]);
      },
    },
    {
      row: 'consumerGroup',
      does: 'absent, null or "" is queue mode; inside an item it is not read',
      run: async ({ api, client, queue }) => {
        await api.pushIds(queue, 'p', ['a', 'b', 'c']);
        const popped = await api.popQueue(queue);
        const { partitionId = '', leaseId = '' } = popped ?? {};
        const ids = ['a', 'b', 'c'];
        const groups = [{}, { consumerGroup: null }, { consumerGroup: '' }];
        for (const [index, group] of groups.entries()) {
          const item = { transactionId: ids[index], partitionId, leaseId, consumerGroup: 'x' };
          const body = { ...group, acknowledgments: [item] };
          const answer = bodyOf(await client.post('/api/v1/ack', body), 200);
          expect(answer).toMatchObject([{ success: true, noop: false }]);
        }
      },
    },
    refused('consumerGroup', [['{"consumerGroup":5}', 'consumerGroup must be a string']]),
    {
      row: 'acknowledgments',
      does: 'an empty array answers []',
      send: 'POST /api/v1/ack/batch',
      body: { acknowledgments: [] },
      answer: { status: 200, text: '[]' },
    },
    refused('acknowledgments', [
      ['', 'the body is empty'],
      ['[]', 'must be an object'],
      ['{"acknowledgments":{}}', 'must be an array'],
      ['{"acknowledgments":[1]}', 'must be an object'],
    ]),
    {
      row: 'transactionId',
      does: 'absent is "", which resolves to nothing',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        const { partitionId, leaseId } = batch.lease;
        const body = { consumerGroup: GROUP, acknowledgments: [{ partitionId, leaseId }] };
        const answer = bodyOf(await broker.client.post('/api/v1/ack', body), 200);
        expect(answer).toMatchObject([{ transactionId: '', success: false }]);
        await batch.expectCursor(-1, 3);
      },
    },
    refused('transactionId', [
      ['{"acknowledgments":[{"transactionId":1}]}', 'transactionId must be a string'],
      ['{"transactionId":"a","transactionId":"b"}', 'duplicate field'],
    ]),
    {
      row: 'partitionId',
      does: 'is required in effect: an ack of nothing is answered',
      send: 'POST /api/v1/ack',
      body: {},
      answer: {
        status: 200,
        body: [{ success: false, error: 'partitionId is not a partition id' }],
      },
    },
    refused('partitionId', [
      ['{"acknowledgments":[{"partitionId":12}]}', 'partitionId must be a string'],
      ['{"transactionId":"a","partitionId":12}', 'partitionId must be a string'],
    ]),
    {
      row: 'leaseId',
      does: 'absent or null is lease-less',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        const { partitionId } = batch.lease;
        const acknowledgments = [
          { transactionId: 'a', partitionId },
          { transactionId: 'c', partitionId, leaseId: null },
        ];
        const body = { consumerGroup: GROUP, acknowledgments };
        const answer = bodyOf(await broker.client.post('/api/v1/ack', body), 200);
        expect(answer).toMatchObject([{ success: true }, { success: true, leaseReleased: true }]);
        await batch.expectCursor(2, 0);
      },
    },
    refused('leaseId', [['{"acknowledgments":[{"leaseId":true}]}', 'leaseId must be a string']]),
    ...['completed', 'success', 'acked', 'ok', 'COMPLETED', 'Ok'].map((one) => status(one, 2)),
    status(null, 2),
    ...['failed', 'retry', 'nonsense', ''].map((one) => status(one, -1)),
    status('nonsense', 2, 0),
    status('dlq', 2),
    refused('status', [['{"acknowledgments":[{"status":1}]}', 'status must be a string']]),
    {
      row: 'error',
      does: 'is of no consequence but for a dead letter',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        expect(await batch.ack(['c', 'completed', 'why not'])).toEqual([done(0, 'c')]);
        await batch.expectDeadLetters(0);
      },
    },
    refused('error', [['{"acknowledgments":[{"error":{}}]}', 'error must be a string']]),
    {
      row: 'answer',
      does: 'request order, seven keys, 200 whatever the outcomes',
      run: async (broker) => {
        const batch = await LeasedBatch.take(broker);
        const { partitionId, leaseId } = batch.lease;
        const items = ['b', 'zzz', 'a'].map((transactionId) => ({
          transactionId,
          partitionId,
          leaseId,
        }));
        const body = { consumerGroup: GROUP, acknowledgments: items };
        const answer = await broker.client.post('/api/v1/ack/batch', body);
        const element = (index: number, id: string, success: boolean, error: string) =>
          `{"index":${index},"transactionId":"${id}","success":${success},"error":${error},` +
          '"leaseReleased":false,"dlq":false,"noop":false}';
        const unresolvable =
          '"unresolvable: transaction not in the ack window (hash purged or never pushed); ' +
          'if leased, the message redelivers"';
        const elements = [
          element(0, 'b', true, 'null'),
          element(1, 'zzz', false, unresolvable),
          element(2, 'a', true, 'null'),
        ];
        expect([answer.status, answer.text]).toEqual([200, `[${elements.join()}]`]);
      },
    },
  ],
};
