/** Dead letters: list, purge, replay (inspection 1.4, 2). */
import type { Answer } from '@svc/http/api';
import { expect } from 'vitest';
import { bodyOf, idsOf } from '../broker-api.js';
import type { BrokerUnderTest } from '../broker-under-test.js';
import type { ContractRow, ContractTable } from '../table.js';
import { filed } from './messages.js';

type DeadLetterListAnswer = Answer<'GET /api/v1/dlq'>;
type ReplayAnswer = Answer<'POST /api/v1/dlq/{id}/replay'>;

const US = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const GONE = '{"success":false,"result":"gone","error":"Message not found"}';
const ZERO = '00000000-0000-0000-0000-000000000000';

async function dlq({ client }: BrokerUnderTest, query = ''): Promise<DeadLetterListAnswer> {
  return bodyOf(await client.get(`/api/v1/dlq${query}`), 200) as DeadLetterListAnswer;
}

async function ids(broker: BrokerUnderTest, query = ''): Promise<string[]> {
  return (await dlq(broker, query)).messages.map(({ transactionId }) => transactionId);
}

/** Pushes and files the messages of one partition for the group, one after the other. */
async function file(
  { api }: BrokerUnderTest,
  queue: string,
  group: string,
  names: readonly string[],
  partition = 'p',
): Promise<string> {
  let partitionId = '';
  await api.pushIds(queue, partition, names);
  for (const transactionId of names) {
    const lease = await api.popPartition(queue, partition, { consumerGroup: group, batch: 1 });
    partitionId = lease?.partitionId ?? '';
    const item = { transactionId, partitionId, leaseId: lease?.leaseId ?? '', status: 'dlq' };
    await api.ack(group, [{ ...item, error: `no ${transactionId}` }]);
  }
  return partitionId;
}

/** a, b for g in the row's queue, c for h in another one. */
async function three(broker: BrokerUnderTest): Promise<void> {
  await file(broker, broker.queue, 'g', ['a', 'b']);
  await file(broker, 'other', 'h', ['c']);
}

export const deadLetterList: ContractTable = {
  section: 'inspection 2.1',
  rows: [
    {
      row: 'row',
      does: 'every member, in its order',
      run: async (broker) => {
        const { client, queue } = broker;
        const partitionId = await filed(broker);
        const [letter] = (await dlq(broker)).messages;
        expect(Object.keys(letter ?? {})).toEqual([
          'id',
          'queue',
          'partition',
          'partitionId',
          'createdAt',
          'consumerGroup',
          'offset',
          'messageId',
          'transactionId',
          'data',
          'payload',
          'errorMessage',
          'retryCount',
          'failedAt',
          'deadLetterReason',
        ]);
        const message = bodyOf(await client.get(`/api/v1/messages/${partitionId}/a`), 200);
        expect(letter).toMatchObject({
          queue,
          partition: 'p',
          partitionId,
          createdAt: letter?.failedAt,
          consumerGroup: 'g',
          offset: 0,
          messageId: (message as { id: string }).id,
          transactionId: 'a',
          data: { id: 'a' },
          payload: { id: 'a' },
          errorMessage: 'boom',
          retryCount: 0,
        });
        expect(letter?.id).toMatch(UUID);
        expect(letter?.failedAt).toMatch(US);
      },
    },
    {
      row: 'row',
      does: 'the payload is what was pushed, decrypted when it died',
      run: async (broker) => {
        const { api, client, queue } = broker;
        await api.configure(queue, { encryptionEnabled: true });
        const payload = '{"b":1,"a":1.0,"x":12345678901234567890}';
        const item = `{"queue":"${queue}","partition":"p","payload":${payload}}`;
        await client.post('/api/v1/push', `{"items":[${item}]}`);
        const lease = await api.popPartition(queue, 'p', { consumerGroup: 'g' });
        const { partitionId = '', leaseId = '', messages = [] } = lease ?? {};
        const transactionId = messages[0]?.transactionId ?? '';
        await api.ack('g', [{ transactionId, partitionId, leaseId, status: 'dlq' }]);
        const { text } = await client.get('/api/v1/dlq');
        expect(text).toContain(`"data":${payload},"payload":${payload},`);
      },
    },
    ...[
      ['queue', '?queue={queue}', ['b', 'a']],
      ['queue', '?queue=none', []],
      ['consumerGroup', '?consumerGroup=h', ['c']],
      ['consumerGroup', '?queue={queue}&consumerGroup=h', []],
      ['limit', '?limit=1', ['c']],
      ['limit', '?limit=0', ['c']],
      ['offset', '?offset=1', ['b', 'a']],
      ['offset', '?queue={queue}&offset=1&limit=1', ['a']],
      ['order', '', ['c', 'b', 'a']],
    ].map(
      ([row, query, expected]): ContractRow => ({
        row: row as string,
        does: query === '' ? 'the newest failure first' : (query as string),
        run: async (broker) => {
          await three(broker);
          const named = (query as string).replace('{queue}', broker.queue);
          expect(await ids(broker, named)).toEqual(expected);
        },
      }),
    ),
    {
      row: 'total',
      does: 'counts all that match',
      run: async (broker) => {
        await three(broker);
        expect((await dlq(broker, '?limit=1')).total).toBe(3);
        expect((await dlq(broker, '?consumerGroup=g&limit=1')).total).toBe(2);
        expect((await dlq(broker, '?queue=none')).total).toBe(0);
      },
    },
  ],
};

export const deadLetterPurge: ContractTable = {
  section: 'inspection 2.2',
  rows: [
    {
      row: 'purge',
      does: 'everything of the queue, and nothing of another',
      run: async (broker) => {
        await three(broker);
        const path = `/api/v1/dlq?queue=${broker.queue}`;
        const { text } = await broker.client.send('DELETE', path, undefined, {});
        expect(text).toBe(
          `{"success":true,"queue":"${broker.queue}","consumerGroup":null,"deleted":2}`,
        );
        expect(await ids(broker)).toEqual(['c']);
      },
    },
    ...['', '?queue=', '?consumerGroup=g'].map(
      (query): ContractRow => ({
        row: 'queue is required',
        does: `DELETE /api/v1/dlq${query}`,
        send: `DELETE /api/v1/dlq${query}`,
        answer: {
          status: 400,
          text:
            '{"success":false,"error":"queue is required",' +
            '"message":"Bulk DLQ purge requires an exact queue name"}',
        },
      }),
    ),
    ...['none', 'q'.repeat(500)].map(
      (name): ContractRow => ({
        row: 'unknown queue',
        does: `of ${name.length} characters is no error`,
        send: `DELETE /api/v1/dlq?queue=${name}`,
        answer: { status: 200, body: { success: true, queue: name, deleted: 0 } },
      }),
    ),
    {
      row: 'consumerGroup',
      does: 'leaves the other groups',
      run: async (broker) => {
        const { client, queue } = broker;
        await file(broker, queue, 'g', ['a']);
        await file(broker, queue, 'h', ['b'], 'r');
        const path = `/api/v1/dlq?queue=${queue}&consumerGroup=g`;
        const answer = await client.send('DELETE', path, undefined, {});
        expect(bodyOf(answer, 200)).toMatchObject({ consumerGroup: 'g', deleted: 1 });
        expect(await ids(broker)).toEqual(['b']);
      },
    },
  ],
};

async function replay(broker: BrokerUnderTest, body: unknown = ''): Promise<ReplayAnswer> {
  const [letter] = (await dlq(broker)).messages;
  const path = `/api/v1/dlq/${letter?.id}/replay`;
  return bodyOf(await broker.client.post(path, body), 200) as ReplayAnswer;
}

/** Beyond the contract (docs/api.md, "Dead letters"). */
const REDRIVE_ROWS: readonly ContractRow[] = [
  {
    row: 'redrive',
    does: 'a slice of a group, then the rest, and what stays is counted',
    run: async (broker) => {
      const { api, client, queue } = broker;
      await file(broker, queue, 'g', ['a', 'b', 'c']);
      const c = (await dlq(broker)).messages[0]?.id;
      await file(broker, queue, 'h', ['z'], 'r');
      await api.pushIds(queue, 'p', [`dlq:${c}`]);
      const body = { queue, consumerGroup: 'g', limit: 2 };
      const redrive = async (more: object) =>
        bodyOf(await client.post('/api/v1/dlq/redrive', { ...body, ...more }), 200) as {
          readonly cursor: string | null;
        };
      const first = await redrive({});
      expect(JSON.stringify(first)).toBe(
        `{"success":true,"queue":"${queue}","consumerGroup":"g","moved":2,"duplicates":0,` +
          `"refused":0,"cursor":"${first.cursor}"}`,
      );
      const rest = { moved: 0, duplicates: 1, refused: 0, cursor: null };
      expect(await redrive({ cursor: first.cursor })).toMatchObject(rest);
      expect(await ids(broker)).toEqual(['z', 'c']);
      const none = { moved: 0, duplicates: 0, cursor: null };
      expect(await redrive({ to: '2020-01-01T00:00:00Z' })).toMatchObject(none);
      expect(await redrive({ queue: 'none' })).toMatchObject({ queue: 'none', ...none });
      const all = { consumerGroup: null, moved: 1, duplicates: 1, cursor: null };
      expect(await redrive({ consumerGroup: '', from: null })).toMatchObject(all);
    },
  },
  ...[
    [{ queue: 'q', cursor: 'x' }, 'cursor is invalid'],
    [{ queue: 'q', from: 'then' }, 'from is invalid'],
    [{ queue: 'q', to: '' }, 'to is invalid'],
  ].map(
    ([body, error]): ContractRow => ({
      row: 'redrive',
      does: JSON.stringify(body),
      send: 'POST /api/v1/dlq/redrive',
      body,
      answer: { status: 400, error: error as string },
    }),
  ),
  ...[{}, { queue: 1 }, { queue: 'q', limit: 0 }, [1]].map(
    (body): ContractRow => ({
      row: 'redrive',
      does: JSON.stringify(body),
      send: 'POST /api/v1/dlq/redrive',
      body,
      answer: { status: 400 },
    }),
  ),
];

export const deadLetterReplay: ContractTable = {
  section: 'inspection 2.3',
  rows: [
    ...REDRIVE_ROWS,
    {
      row: 'moved',
      does: 'a new message at the tail, and the row is gone',
      run: async (broker) => {
        const { api, queue } = broker;
        await filed(broker);
        const [letter] = (await dlq(broker)).messages;
        const id = letter?.id ?? '';
        const answer = await replay(broker);
        const { message_id } = answer.replayedAs;
        expect(JSON.stringify(answer)).toBe(
          `{"success":true,"result":"moved","queue":"${queue}","partition":"p",` +
            `"consumerGroup":"g","dlqId":"${id}","originalTransactionId":"a",` +
            `"replayedAs":{"index":0,"message_id":"${message_id}",` +
            `"transaction_id":"dlq:${id}","queueName":"${queue}","status":"queued","offset":3},` +
            '"dlqRowRemoved":true}',
        );
        expect(message_id).not.toBe(letter?.messageId);
        expect((await dlq(broker)).total).toBe(0);
        const popped = await api.popPartition(queue, 'p', { consumerGroup: 'g' });
        expect(idsOf(popped)).toEqual(['c', `dlq:${id}`]);
        expect(popped?.messages[1]).toMatchObject({
          id: message_id,
          data: { id: 'a' },
          producerSub: null,
          traceId: null,
        });
      },
    },
    {
      row: 'overrides',
      does: 'trimmed, and made where they are missing',
      run: async (broker) => {
        await filed(broker);
        const answer = await replay(broker, { queue: ' new.one ', partition: 'there' });
        expect(answer).toMatchObject({ queue: 'new.one', partition: 'there' });
        expect(answer.replayedAs).toMatchObject({ queueName: 'new.one', offset: 0 });
        expect((await broker.api.popPartition('new.one', 'there'))?.messages).toHaveLength(1);
      },
    },
    {
      row: 'overrides',
      does: 'null and unknown members are as absent',
      run: async (broker) => {
        await filed(broker);
        expect(await replay(broker, { queue: null, more: [1] })).toMatchObject({ partition: 'p' });
      },
    },
    ...[{ queue: '' }, { partition: '  ' }].map(
      (body): ContractRow => ({
        row: 'empty override',
        does: JSON.stringify(body),
        send: `POST /api/v1/dlq/${ZERO}/replay`,
        body,
        answer: {
          status: 400,
          text: '{"success":false,"error":"queue and partition overrides must be non-empty"}',
        },
      }),
    ),
    ...['nonsense', '[]', '{"queue":5}'].map(
      (body): ContractRow => ({
        row: 'empty override',
        does: `another body is refused: ${body}`,
        send: `POST /api/v1/dlq/${ZERO}/replay`,
        body,
        answer: { status: 400, code: 'bad_body' },
      }),
    ),
    ...['none', ZERO, '0199d0d0-1111-7000-8000-0000000000aa'].map(
      (id): ContractRow => ({
        row: 'not found',
        does: id,
        send: `POST /api/v1/dlq/${id}/replay`,
        answer: { status: 404, text: GONE },
      }),
    ),
    {
      row: 'not found',
      does: "once it was replayed, and another tenant's",
      run: async (broker) => {
        await filed(broker);
        const [letter] = (await dlq(broker)).messages;
        const path = `/api/v1/dlq/${letter?.id}/replay`;
        const other = broker.stranger;
        expect((await other.client.post(path, '')).text).toBe(GONE);
        expect((await broker.client.post(path, '')).status).toBe(200);
        expect((await broker.client.post(path, '')).text).toBe(GONE);
      },
    },
    {
      row: 'duplicate',
      does: 'the row stays',
      run: async (broker) => {
        await filed(broker);
        const [letter] = (await dlq(broker)).messages;
        await broker.api.pushIds(broker.queue, 'p', [`dlq:${letter?.id}`]);
        const answer = await replay(broker);
        expect(answer).toMatchObject({ success: true, result: 'duplicate', dlqRowRemoved: false });
        expect(answer.replayedAs).toMatchObject({ message_id: ZERO, status: 'duplicate' });
        expect((await dlq(broker)).total).toBe(1);
      },
    },
    {
      row: 'refused',
      does: 'names that do not fit a key together',
      run: async (broker) => {
        const partition = 'p'.repeat(200);
        const { api, queue, client } = broker;
        await api.pushIds(queue, partition, ['a']);
        const lease = await api.popPartition(queue, partition, { consumerGroup: 'g' });
        const { partitionId = '', leaseId = '' } = lease ?? {};
        await api.ack('g', [{ transactionId: 'a', partitionId, leaseId, status: 'dlq' }]);
        const [letter] = (await dlq(broker)).messages;
        const body = { queue: 'q'.repeat(250) };
        const answer = await client.post(`/api/v1/dlq/${letter?.id}/replay`, body);
        expect(bodyOf(answer, 409)).toMatchObject({
          success: false,
          reason: 'name_too_long',
          dlqRowRemoved: false,
        });
        expect((await dlq(broker)).total).toBe(1);
      },
    },
  ],
};

export const messageRetry: ContractTable = {
  section: 'inspection 1.4',
  rows: [
    {
      row: 'retry',
      does: 'replays by the address, the first of several groups',
      run: async (broker) => {
        const { client } = broker;
        const partitionId = await file(broker, broker.queue, 'g', ['a']);
        await broker.api.popPartition(broker.queue, 'p', { consumerGroup: 'h' }).then((lease) => {
          const { leaseId = '' } = lease ?? {};
          const item = { transactionId: 'a', partitionId, leaseId, status: 'dlq' };
          return broker.api.ack('h', [item]);
        });
        const path = `/api/v1/messages/${partitionId}/a/retry`;
        const first = bodyOf(await client.post(path, ''), 200);
        expect(first).toMatchObject({ result: 'moved', consumerGroup: 'g', dlqRowRemoved: true });
        const second = bodyOf(await client.post(path, { partition: 'r' }), 200);
        expect(second).toMatchObject({ consumerGroup: 'h', partition: 'r' });
        const third = await client.post(path, '');
        expect([third.status, third.text]).toEqual([404, GONE]);
      },
    },
  ],
};

async function signatures({ client }: BrokerUnderTest, query: string): Promise<object> {
  return bodyOf(await client.get(`/api/v1/analytics/dlq-signatures${query}`), 200) as object;
}

export const deadLetterSignatures: ContractTable = {
  section: 'inspection 5.9',
  rows: [
    {
      row: 'row',
      does: 'what the errors have in common',
      run: async (broker) => {
        const { queue } = broker;
        await file(broker, queue, 'g', ['7', '8']);
        await file(broker, queue, 'h', ['x'], 'r');
        const found = await signatures(broker, `?queue=${queue}`);
        expect(found).toMatchObject({
          queue,
          rowsNow: 3,
          sample: 3,
          retryCounts: [0],
          groups: ['g', 'h'],
          avgBytes: 10,
          signatures: [
            { text: 'no <n>', n: 2, share: 0.667 },
            { text: 'no x', n: 1, share: 0.333 },
          ],
        });
        const { byDay } = found as { byDay: readonly { readonly n: number }[] };
        expect(byDay.reduce((sum, { n }) => sum + n, 0)).toBe(3);
      },
    },
    {
      row: 'row',
      does: 'of a queue without any, and of none',
      run: async (broker) => {
        const nothing = { rowsNow: 0, sample: 0, oldest: null, newest: null, avgBytes: 0 };
        expect(await signatures(broker, '?queue=none')).toMatchObject(nothing);
      },
    },
    {
      row: 'no queue',
      does: 'is refused',
      send: 'GET /api/v1/analytics/dlq-signatures',
      answer: { status: 400, text: '{"error":"queue required"}' },
    },
    {
      row: 'limit',
      does: 'looks at the newest',
      run: async (broker) => {
        await file(broker, broker.queue, 'g', ['x', 'y']);
        const found = await signatures(broker, `?queue=${broker.queue}&limit=1`);
        const newest = [{ text: 'no y', n: 1, share: 1 }];
        expect(found).toMatchObject({ rowsNow: 2, sample: 1, signatures: newest });
      },
    },
  ],
};
