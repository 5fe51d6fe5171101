/** POST /streams/v1/cycle: its elements and the acknowledgement (streams 4, 4.1). */
import { expect } from 'vitest';
import { bodyOf, idsOf } from '../broker-api.js';
import type { BrokerUnderTest } from '../broker-under-test.js';
import { BAD_LEASE, type Body, CYCLE, StreamUnderTest } from '../stream-calls.js';
import type { ContractRow, ContractTable } from '../table.js';

const STRANGE = '0193f0c4-1a2b-7c3d-8e4f-5a6b7c8d9e0f';
/** What a cycle with these operations leaves of an empty state. */
function stateRow(row: string, does: string, ops: unknown, left: unknown): ContractRow {
  return {
    row,
    does,
    run: async (broker) => {
      const stream = await StreamUnderTest.leased(broker);
      await stream.cycle({ state_ops: ops });
      expect(await stream.state()).toEqual(left);
    },
  };
}

const badFields: readonly (readonly [string, Body, string])[] = [
  ['query_id', { query_id: 'x' }, 'query_id is required'],
  ['partition_id', { partition_id: 7 }, 'partition_id must be a string'],
  ['consumer_group', { consumer_group: 7 }, 'consumer_group must be a string'],
  ['state_ops', { state_ops: {} }, 'state_ops must be an array'],
  ['push_items', { push_items: 'x' }, 'push_items must be an array'],
  ['push_items', { push_items: [{ queue: 'q', partition: 7 }] }, 'partition must be a string'],
  ['ack', { ack: 'completed' }, 'ack must be an object'],
  ['ack', { ack: { count: 1.5 } }, 'count must be an integer'],
  ['ack', { ack: { count: 2 ** 31 } }, 'count must be between -2147483648 and 2147483647'],
  ['ack', { ack: { leaseId: 7 } }, 'leaseId must be a string'],
  ['release_lease', { release_lease: 'no' }, 'release_lease must be a boolean'],
];

export const cycleFields: ContractTable = {
  section: 'streams 4',
  rows: [
    ...badFields.map(
      ([row, fields, error]): ContractRow => ({
        row,
        does: `${JSON.stringify(fields)} is 400`,
        run: async (broker) => {
          const body = { query_id: STRANGE, partition_id: '1', ...fields };
          const answer = bodyOf(await broker.client.post(CYCLE, body), 400) as { error: string };
          expect(answer.error).toContain(error);
        },
      }),
    ),
    {
      row: 'consumer_group',
      does: 'absent, null and empty are queue mode',
      run: async (broker) => {
        const stream = await StreamUnderTest.register(broker);
        for (const consumer_group of [undefined, null, '']) {
          await broker.api.pushIds(broker.queue, 'p', [`m${consumer_group}`]);
          const popped = await broker.api.popQueue(broker.queue);
          stream.partitionId = popped?.partitionId ?? '';
          const ack = { leaseId: popped?.leaseId, count: 1 };
          const { ack_result } = await stream.cycle({ consumer_group, ack });
          expect(ack_result).toMatchObject({ lease_released: true });
        }
      },
    },
    ...['state_ops', 'push_items', 'ack', 'release_lease'].map((row) => ({
      row,
      does: 'null is as if absent',
      run: async (broker: BrokerUnderTest) => {
        const stream = await StreamUnderTest.leased(broker);
        const { ack_result } = await stream.cycle({ ack: stream.ack(), [row]: null });
        expect(ack_result?.lease_released).toBe(row === 'ack' ? undefined : true);
      },
    })),
    {
      row: 'partition_id',
      does: 'is digits or the UUID; the answer has the digits',
      run: async (broker) => {
        const stream = await StreamUnderTest.leased(broker);
        const { partitions } = await broker.api.detail(broker.queue);
        const partition_id = partitions.find(({ name }) => name === 'p')?.id;
        const answer = await stream.cycle({ partition_id, ack: stream.ack() });
        expect(answer.partition_id).toBe(stream.partitionId);
      },
    },
  ],
};

const STATUSES: readonly (readonly [unknown, boolean])[] = [
  ['completed', true],
  ['Success', true],
  ['ACKED', true],
  ['ok', true],
  ['', true],
  [null, true],
  [undefined, true],
  ['failed', false],
  ['complete', false],
  ['retry', false],
  [7, false],
];

export const cycleElements: ContractTable = {
  section: 'streams 4.1',
  rows: [
    stateRow(
      'state: in order, later ops win',
      'also a deletion, and what comes after it',
      [
        { type: 'upsert', key: 'a', value: 1 },
        { type: 'upsert', key: 'a', value: 2 },
        { type: 'upsert', key: 'b', value: 1 },
        { type: 'delete', key: 'b' },
        { type: 'delete', key: 'c' },
        { type: 'upsert', key: 'c', value: 3 },
      ],
      [
        ['a', 2],
        ['c', 3],
      ],
    ),
    {
      row: 'state: delete of an absent key',
      does: 'is fine, and counted',
      run: async (broker) => {
        const stream = await StreamUnderTest.leased(broker);
        const answer = await stream.cycle({ state_ops: [{ type: 'delete', key: 'none' }] });
        expect(answer.state_ops_applied).toBe(1);
      },
    },
    stateRow(
      'state: another or absent type upserts',
      'also one that is no string',
      [
        { type: 'Delete', key: 'a', value: 1 },
        { key: 'b', value: 2 },
        { type: 7, key: 'c' },
      ],
      [
        ['a', 1],
        ['b', 2],
        ['c', null],
      ],
    ),
    stateRow(
      'state: a missing value is null',
      'like one that is spelled',
      [{ key: 'a' }, { key: 'b', value: null }],
      [
        ['a', null],
        ['b', null],
      ],
    ),
    {
      row: 'state: without a string key, skipped',
      does: 'and not counted',
      run: async (broker) => {
        const stream = await StreamUnderTest.leased(broker);
        const state_ops = [{ value: 1 }, { key: 7 }, { key: null }, 'x', null, [], { key: 'k' }];
        const answer = await stream.cycle({ state_ops });
        expect(answer.state_ops_applied).toBe(1);
        expect(await stream.state()).toEqual([['k', null]]);
      },
    },
    {
      row: 'state: stored as given',
      does: 'number literals, key order and white space',
      run: async (broker) => {
        const stream = await StreamUnderTest.leased(broker);
        const value = '{"z":1.50,"a":[1e2, -0],"big":123456789012345678901234567890}';
        const { query_id, partition_id } = stream.scope;
        const scope = `"query_id":"${query_id}","partition_id":"${partition_id}"`;
        const ops = `"state_ops":[{"key":"k","value":${value}}]`;
        bodyOf(await broker.client.post(CYCLE, `{${scope},${ops}}`), 200);
        expect((await stream.stateRaw()).text).toContain(`"value":${value},`);
      },
    },
    {
      row: 'push: without a queue, skipped',
      does: 'silently, whatever else it says',
      run: async (broker) => {
        const stream = await StreamUnderTest.leased(broker);
        const { sink } = stream;
        const push_items = [{ payload: 1 }, { queue: '' }, { queue: 7 }, 'x', { queue: sink }];
        const answer = await stream.cycle({ push_items });
        expect(answer.push_results).toMatchObject([{ queueName: sink, status: 'created' }]);
      },
    },
    {
      row: 'push: default partition',
      does: 'absent, null and empty',
      run: async (broker) => {
        const stream = await StreamUnderTest.leased(broker);
        const { sink } = stream;
        const push_items = [{}, { partition: null }, { partition: '' }, { partition: 'x' }].map(
          (item) => ({ queue: sink, ...item }),
        );
        await stream.cycle({ push_items });
        const { partitions } = await broker.api.detail(sink);
        expect(partitions.map(({ name, messages }) => [name, messages.total])).toEqual([
          ['Default', 3],
          ['x', 1],
        ]);
      },
    },
    {
      row: 'push: payload, else data, else {}',
      does: 'in whatever order they stand',
      run: async (broker) => {
        const stream = await StreamUnderTest.leased(broker);
        const items = [
          { payload: { p: 1 }, data: 2 },
          { data: 2, payload: 3 },
          { data: 4 },
          { payload: null, data: 5 },
          {},
        ];
        await stream.cycle({ push_items: items.map((item) => ({ queue: stream.sink, ...item })) });
        const popped = await broker.api.popQueue(stream.sink);
        expect(popped?.messages.map(({ data }) => data)).toEqual([{ p: 1 }, 3, 4, null, {}]);
      },
    },
    {
      row: 'push: messageId and transactionId',
      does: 'a UUID is the id of the message, and what deduplicates where nothing else is given',
      run: async (broker) => {
        const stream = await StreamUnderTest.leased(broker);
        const queue = stream.sink;
        const push_items = [
          { queue, transactionId: 't' },
          { queue, messageId: STRANGE.toUpperCase() },
          { queue, messageId: 'no uuid', transactionId: '' },
        ];
        const { push_results } = await stream.cycle({ push_items });
        const ids = push_results.map(({ transactionId }) => transactionId);
        expect(ids).toEqual(['t', STRANGE, push_results[2]?.messageId]);
        expect(push_results[1]?.messageId).toBe(STRANGE);
        const again = await stream.refused({ push_items: [{ queue, messageId: STRANGE }] });
        expect(again.reason).toBe('duplicate');
        const popped = await broker.api.popQueue(queue);
        expect(idsOf(popped)).toEqual(ids);
        const messageIds = push_results.map(({ messageId }) => messageId);
        expect(popped?.messages.map(({ id }) => id)).toEqual(messageIds);
      },
    },
    {
      row: 'push: queues are created',
      does: 'like by a push: labels from the name, 60 s of lease',
      run: async (broker) => {
        const stream = await StreamUnderTest.leased(broker);
        const queue = `made.q${broker.number}`;
        await stream.cycle({ push_items: [{ queue }] });
        expect(await broker.api.detail(queue)).toMatchObject({
          namespace: 'made',
          task: `q${broker.number}`,
          options: { leaseTime: 60 },
        });
      },
    },
    ...(
      [
        [{ push_items: [{ queue: 'x'.repeat(412) }] }, 'queue name is 412 bytes'],
        [{ push_items: [{ queue: 'q', partition: 'x'.repeat(411) }] }, 'partition name is 411'],
        [{ consumer_group: 'x'.repeat(412) }, 'group name is 412 bytes'],
        [{ state_ops: [{ key: 'é'.repeat(257) }] }, 'state key is 514 bytes, over the 512-byte'],
      ] as const
    ).map(([fields, error]) => ({
      row: 'push: name budget',
      does: `${error}: 413`,
      run: async (broker: BrokerUnderTest) => {
        const stream = await StreamUnderTest.leased(broker);
        const answer = bodyOf(await stream.cycleRaw(fields), 413);
        expect(answer).toMatchObject({ code: 'name_too_long' });
        expect((answer as { error: string }).error).toContain(error);
      },
    })),
    {
      row: 'push: no producer and no trace',
      does: 'whatever the item says',
      run: async (broker) => {
        const stream = await StreamUnderTest.leased(broker);
        await stream.cycle({ push_items: [{ queue: stream.sink, traceId: STRANGE }] });
        const popped = await broker.api.popQueue(stream.sink);
        expect(popped?.messages).toMatchObject([{ producerSub: null, traceId: null }]);
      },
    },
    {
      row: 'push: encrypted like a push',
      does: 'in a queue that asks for it',
      run: async (broker) => {
        const stream = await StreamUnderTest.leased(broker);
        await broker.api.configure(stream.sink, { encryptionEnabled: true });
        await stream.cycle({ push_items: [{ queue: stream.sink, payload: { secret: 1 } }] });
        const listed = bodyOf(
          await broker.client.get(`/api/v1/messages?queue=${stream.sink}`),
          200,
        ) as { messages: unknown[] };
        expect(listed.messages).toMatchObject([{ isEncrypted: true, data: { secret: 1 } }]);
      },
    },
    {
      row: 'push: wakes parked pops',
      does: 'at once',
      run: async (broker) => {
        const stream = await StreamUnderTest.leased(broker);
        const waiting = broker.api.popQueue(stream.sink, { wait: true, timeout: 8000 });
        await stream.cycle({ push_items: [{ queue: stream.sink, transactionId: 'woken' }] });
        expect(idsOf(await waiting)).toEqual(['woken']);
      },
    },
    ...STATUSES.map(
      ([status, isOk]): ContractRow => ({
        row: 'ack: status',
        does: `${JSON.stringify(status)} ${isOk ? 'completes' : 'gives back'}`,
        run: async (broker) => {
          const stream = await StreamUnderTest.leased(broker);
          const { ack_result } = await stream.cycle({ ack: stream.ack({ status }) });
          const count = isOk ? 3 : 0;
          expect(ack_result).toEqual({ success: true, count, lease_released: true, dlq: false });
          expect(idsOf(await stream.pop())).toEqual(isOk ? [] : ['a', 'b', 'c']);
        },
      }),
    ),
    {
      row: 'ack: transactionId is ignored',
      does: 'known or not',
      run: async (broker) => {
        const stream = await StreamUnderTest.leased(broker);
        await stream.cycle({ ack: stream.ack({ transactionId: 'a' }) });
        expect(await stream.pop()).toBeNull();
      },
    },
    {
      row: 'ack: count',
      does: 'absent or below 0 is 0, which says nothing of what is done',
      run: async (broker) => {
        for (const [i, count] of [undefined, null, -5].entries()) {
          const stream = await StreamUnderTest.leased(broker);
          const { ack_result } = await stream.cycle({ ack: stream.ack({ count }) });
          expect([i, ack_result?.count]).toEqual([i, 0]);
          expect(await stream.pop()).toBeNull();
          await broker.client.send('DELETE', `/api/v1/resources/queues/${broker.queue}`, undefined);
        }
      },
    },
    {
      row: 'ok, release',
      does: 'the cursor is at the end of the batch, the total grows by count',
      run: async (broker) => {
        const stream = await StreamUnderTest.leased(broker, { batch: 2 });
        const answer = await stream.cycle({ ack: stream.ack({ count: 1 }) });
        expect(answer.ack_result).toMatchObject({ count: 1, lease_released: true });
        expect(await consumed(stream)).toBe(1);
        expect(idsOf(await stream.pop())).toEqual(['c']);
      },
    },
    {
      row: 'ok, kept',
      does: 'exactly count messages are done, and the lease goes on to its end',
      run: async (broker) => {
        const stream = await StreamUnderTest.leased(broker, { leaseSeconds: 2 });
        const answer = await stream.cycle({ ack: stream.ack({ count: 2 }), release_lease: false });
        expect(answer.ack_result).toEqual({
          success: true,
          count: 2,
          lease_released: false,
          dlq: false,
        });
        expect(await consumed(stream)).toBe(2);
        expect(await stream.pop()).toBeNull();
        const again = await stream.pop({ wait: true, timeout: 8000 });
        expect(idsOf(again)).toEqual(['c']);
        expect(again?.messages[0]).toMatchObject({ deliveryAttempt: 2 });
      },
    },
    ...[true, false].map((release_lease) => ({
      row: 'not ok',
      does: `gives the whole batch back, release_lease ${release_lease}`,
      run: async (broker: BrokerUnderTest) => {
        const stream = await StreamUnderTest.leased(broker);
        const ack = stream.ack({ status: 'failed', count: 2 });
        const answer = await stream.cycle({ ack, release_lease });
        expect(answer.ack_result).toMatchObject({ success: true, count: 0, lease_released: true });
        const again = await stream.pop();
        expect(idsOf(again)).toEqual(['a', 'b', 'c']);
        expect(again?.messages[0]).toMatchObject({ retryCount: 1 });
        expect(await consumed(stream)).toBe(0);
      },
    })),
    {
      row: 'ack null',
      does: 'touches no cursor and asks for no lease',
      run: async (broker) => {
        const stream = await StreamUnderTest.leased(broker);
        await stream.cycle({ consumer_group: 'nobody', state_ops: [{ key: 'k' }], ack: null });
        const answer = await stream.cycle({ ack: stream.ack() });
        expect(answer.ack_result?.lease_released).toBe(true);
      },
    },
    ...(
      [
        ['an empty lease', { leaseId: '' }, {}],
        ['no lease', { leaseId: undefined }, {}],
        ['a strange lease', { leaseId: STRANGE }, {}],
        ['another group', {}, { consumer_group: 'other' }],
      ] as const
    ).map(([does, ack, fields]) => ({
      row: 'fence',
      does: `${does}: bad_lease, and nothing exists of it`,
      run: async (broker: BrokerUnderTest) => {
        const stream = await StreamUnderTest.leased(broker);
        const answer = await stream.refused({
          ...fields,
          state_ops: [{ key: 'k', value: 1 }],
          push_items: [{ queue: stream.sink }],
          ack: stream.ack(ack),
        });
        expect(answer).toEqual(BAD_LEASE);
        expect(await stream.state()).toEqual([]);
        const path = `/api/v1/resources/queues/${stream.sink}`;
        expect((await broker.client.get(path)).status).toBe(404);
      },
    })),
    {
      row: 'fence',
      does: 'a lease that has expired, and one that another worker has now',
      run: async (broker) => {
        const stream = await StreamUnderTest.leased(broker, { leaseSeconds: 1 });
        const late = stream.ack();
        expect(idsOf(await stream.pop({ wait: true, timeout: 8000 }))).toEqual(['a', 'b', 'c']);
        expect(await stream.refused({ ack: late })).toEqual(BAD_LEASE);
        await stream.cycle({ ack: stream.ack() });
      },
    },
    {
      row: 'count 0, kept',
      does: 'is legal and does nothing',
      run: async (broker) => {
        const stream = await StreamUnderTest.leased(broker);
        const answer = await stream.cycle({ ack: stream.ack({ count: 0 }), release_lease: false });
        expect(answer.ack_result).toMatchObject({ count: 0, lease_released: false });
        await stream.cycle({ ack: stream.ack() });
      },
    },
  ],
};

/** Messages that the cursors of the queue count as consumed. */
async function consumed(stream: StreamUnderTest): Promise<number> {
  const { partitions } = await stream.broker.api.detail(stream.broker.queue);
  return partitions.reduce((total, { cursor }) => total + cursor.totalConsumed, 0);
}
