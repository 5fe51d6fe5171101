/** POST /streams/v1/cycle: repetitions and answers (streams 4.2, 4.3). */
import { expect } from 'vitest';
import { idsOf } from '../broker-api.js';
import type { BrokerUnderTest } from '../broker-under-test.js';
import { BAD_LEASE, CYCLE, StreamUnderTest } from '../stream-calls.js';
import type { ContractTable } from '../table.js';

const STRANGE = '0193f0c4-1a2b-7c3d-8e4f-5a6b7c8d9e0f';

export const cycleRepeats: ContractTable = {
  section: 'streams 4.2',
  rows: [
    {
      row: 'a known transactionId refuses the whole',
      does: 'named by its place, with nothing applied',
      run: async (broker) => {
        const stream = await StreamUnderTest.leased(broker);
        const { sink } = stream;
        await broker.api.pushIds(sink, 'p', ['known']);
        const answer = await stream.refused({
          state_ops: [{ key: 'k', value: 1 }],
          push_items: [
            { queue: sink, partition: 'p', transactionId: 'new' },
            { queue: sink, partition: 'p', transactionId: 'known' },
          ],
          ack: stream.ack(),
        });
        expect(answer).toEqual({
          success: false,
          error:
            `a pushed message to ${sink}/p is a duplicate (original offset 0); ` +
            'nothing was applied',
          reason: 'duplicate',
        });
        expect(await stream.state()).toEqual([]);
        expect((await stream.cycle({ ack: stream.ack() })).success).toBe(true);
        expect(idsOf(await broker.api.popQueue(sink))).toEqual(['known']);
      },
    },
    {
      row: 'repeated in the cycle',
      does: 'under one queue and partition; under two it is two messages',
      run: async (broker) => {
        const stream = await StreamUnderTest.leased(broker);
        const item = (partition: string) => ({ queue: stream.sink, partition, transactionId: 't' });
        const answer = await stream.refused({ push_items: [item('p'), item('q'), item('p')] });
        expect(answer.reason).toBe('duplicate');
        const { push_results } = await stream.cycle({ push_items: [item('p'), item('q')] });
        expect(push_results).toHaveLength(2);
      },
    },
    {
      row: 'retry with an ack',
      does: 'answers bad_lease and changes nothing',
      run: async (broker) => {
        const stream = await StreamUnderTest.leased(broker);
        const fields = {
          state_ops: [{ key: 'n', value: 1 }],
          push_items: [{ queue: stream.sink }],
          ack: stream.ack(),
        };
        await stream.cycle(fields);
        await stream.store(['n', 2]);
        expect(await stream.refused(fields)).toEqual(BAD_LEASE);
        expect(await stream.state()).toEqual([['n', 2]]);
        expect((await broker.api.popQueue(stream.sink))?.messages).toHaveLength(1);
      },
    },
    {
      row: 'retry without an ack',
      does: 'applies again; pushes with a transactionId do not',
      run: async (broker) => {
        const stream = await StreamUnderTest.leased(broker);
        const fields = { state_ops: [{ type: 'delete', key: 'n' }] };
        await stream.cycle(fields);
        await stream.cycle(fields);
        const push_items = [{ queue: stream.sink, transactionId: 'window-1' }];
        await stream.cycle({ push_items });
        expect((await stream.refused({ push_items })).reason).toBe('duplicate');
      },
    },
  ],
};

export const cycleAnswers: ContractTable = {
  section: 'streams 4.3',
  rows: [
    {
      row: 'committed',
      does: 'keys in this order',
      run: async (broker) => {
        const stream = await StreamUnderTest.leased(broker);
        const { sink, queryId, partitionId } = stream;
        const { status, text } = await stream.cycleRaw({
          state_ops: [{ key: 'a' }, { type: 'delete', key: 'b' }],
          push_items: [{ queue: sink, partition: 'acme', payload: 1, transactionId: 't"1' }],
          ack: stream.ack(),
        });
        const [{ messageId }] = JSON.parse(text).push_results;
        expect([status, text]).toEqual([
          200,
          `{"success":true,"query_id":"${queryId}","partition_id":"${partitionId}",` +
            `"queueName":"${broker.queue}","state_ops_applied":2,` +
            `"push_results":[{"queueName":"${sink}","messageId":"${messageId}",` +
            '"transactionId":"t\\"1","status":"created"}],' +
            '"ack_result":{"success":true,"count":3,"lease_released":true,"dlq":false}}',
        ]);
        const popped = await broker.api.popQueue(sink);
        expect(popped?.messages[0]?.id).toBe(messageId);
      },
    },
    {
      row: 'refused',
      does: 'is 200, keys in this order',
      run: async (broker) => {
        const stream = await StreamUnderTest.leased(broker);
        const { status, text } = await stream.cycleRaw({ ack: {} });
        expect([status, text]).toEqual([200, JSON.stringify(BAD_LEASE)]);
      },
    },
    {
      row: 'ack_result null',
      does: 'when none was sent; nothing at all is a cycle too',
      run: async (broker) => {
        const stream = await StreamUnderTest.leased(broker);
        const answer = await stream.cycle({});
        expect(answer).toMatchObject({
          state_ops_applied: 0,
          push_results: [],
          ack_result: null,
        });
      },
    },
    {
      row: '400',
      does: 'query_id before partition_id',
      send: `POST ${CYCLE}`,
      body: {},
      answer: { status: 400, text: '{"error":"query_id is required","code":"bad_request"}' },
    },
    ...[{ query_id: STRANGE }, { partition_id: '999999999' }, { partition_id: 'p' }].map(
      (fields) => ({
        row: '404',
        does: JSON.stringify(fields),
        run: async (broker: BrokerUnderTest) => {
          const stream = await StreamUnderTest.leased(broker);
          const { status, text } = await stream.cycleRaw({ ...fields, ack: stream.ack() });
          expect([status, text]).toEqual([
            404,
            '{"success":false,"error":"query or partition not found"}',
          ]);
        },
      }),
    ),
    {
      row: '413',
      does: 'a body over the cap',
      run: async (broker) => {
        const stream = await StreamUnderTest.leased(broker);
        const value = 'x'.repeat(4_194_304);
        const { status } = await stream.cycleRaw({ state_ops: [{ key: 'k', value }] });
        expect(status).toBe(413);
      },
    },
  ],
};
