/** POST /streams/v1/state/get (streams 3). */
import { expect } from 'vitest';
import type { BrokerUnderTest } from '../broker-under-test.js';
import { STATE, StreamUnderTest } from '../stream-calls.js';
import type { ContractTable } from '../table.js';

const STRANGE = '0193f0c4-1a2b-7c3d-8e4f-5a6b7c8d9e0f';
const STAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

async function filled(broker: BrokerUnderTest): Promise<StreamUnderTest> {
  const stream = await StreamUnderTest.leased(broker);
  await stream.store(
    ['tumb:60\u001f10:01\u001facme', { acc: 1, windowStart: 0, windowEnd: 60 }],
    ['tumb:60\u001f10:02\u001facme', { acc: 2, windowStart: 60, windowEnd: 120 }],
    ['tumb:60\u001f10:02\u001fzeta', { acc: 3, windowEnd: '60' }],
    ['__wm__', { eventTimeMs: 55 }],
    ['negative', { windowEnd: -1 }],
    ['fraction', { windowEnd: 1.5 }],
  );
  return stream;
}

const RIPE_60 = ['negative', 'tumb:60\u001f10:01\u001facme'];

export const streamState: ContractTable = {
  section: 'streams 3',
  rows: [
    {
      row: 'answer',
      does: 'keys in this order, values as they were sent',
      run: async (broker) => {
        const stream = await StreamUnderTest.leased(broker);
        const { query_id, partition_id } = stream.scope;
        await broker.client.post(
          '/streams/v1/cycle',
          `{"query_id":"${query_id}","partition_id":"${partition_id}","state_ops":[` +
            '{"key":"a\\u001fé","value":{"n": 1.0, "big":12345678901234567890}}]}',
        );
        const { status, text } = await stream.stateRaw();
        const { updated_at } = JSON.parse(text).rows[0];
        expect(updated_at).toMatch(STAMP);
        expect(Math.abs(Date.parse(updated_at) - Date.now())).toBeLessThan(60_000);
        expect([status, text]).toEqual([
          200,
          '{"success":true,"rows":[{"key":"a\\u001fé",' +
            `"value":{"n": 1.0, "big":12345678901234567890},"updated_at":"${updated_at}"}]}`,
        ]);
      },
    },
    ...[{}, { keys: [] }, { keys: null }, { key_prefix: '' }, { ripe_at_or_before: null }].map(
      (fields) => ({
        row: 'ascending by key bytes',
        does: `all rows, for ${JSON.stringify(fields)}`,
        run: async (broker: BrokerUnderTest) => {
          const stream = await StreamUnderTest.leased(broker);
          expect(await stream.state(fields)).toEqual([]);
          await stream.store(['é', 1], ['a', 2], ['\u{1F680}', 3], ['Z', 4], ['', 5], ['aa', 6]);
          expect(await stream.keys(fields)).toEqual(['', 'Z', 'a', 'aa', 'é', '\u{1F680}']);
        },
      }),
    ),
    {
      row: 'keys',
      does: 'are exact, in any order, and may come twice',
      run: async (broker) => {
        const stream = await filled(broker);
        const keys = ['negative', '__wm__', 'negative', 'neg', ''];
        expect(await stream.keys({ keys })).toEqual(['__wm__', 'negative']);
      },
    },
    {
      row: 'a missing key is absent',
      does: 'and no error',
      run: async (broker) => {
        const stream = await filled(broker);
        expect(await stream.state({ keys: ['none', 'x'.repeat(5000)] })).toEqual([]);
      },
    },
    {
      row: 'key_prefix',
      does: 'down to the bytes',
      run: async (broker) => {
        const stream = await filled(broker);
        expect(await stream.keys({ key_prefix: 'tumb:60\u001f' })).toHaveLength(3);
        expect(await stream.keys({ key_prefix: 'tumb:60\u001f10:02' })).toHaveLength(2);
        expect(await stream.keys({ key_prefix: 'tumb:6\u001f' })).toEqual([]);
        expect(await stream.keys({ key_prefix: 'x'.repeat(5000) })).toEqual([]);
      },
    },
    {
      row: 'ripe_at_or_before',
      does: 'only values whose windowEnd is an integer up to it',
      run: async (broker) => {
        const stream = await filled(broker);
        expect(await stream.keys({ ripe_at_or_before: 60 })).toEqual(RIPE_60);
        expect(await stream.keys({ ripe_at_or_before: 59 })).toEqual(['negative']);
        expect(await stream.keys({ ripe_at_or_before: -2 })).toEqual([]);
        expect(await stream.keys({ ripe_at_or_before: 9e15 })).toHaveLength(3);
      },
    },
    {
      row: 'filters are ANDed',
      does: 'each pair and all three',
      run: async (broker) => {
        const stream = await filled(broker);
        const key_prefix = 'tumb:60\u001f';
        const keys = ['tumb:60\u001f10:02\u001facme', 'negative'];
        expect(await stream.keys({ key_prefix, ripe_at_or_before: 60 })).toEqual([RIPE_60[1]]);
        expect(await stream.keys({ key_prefix, keys })).toEqual([keys[0]]);
        expect(await stream.keys({ keys, ripe_at_or_before: 60 })).toEqual(['negative']);
        expect(await stream.keys({ key_prefix, keys, ripe_at_or_before: 60 })).toEqual([]);
      },
    },
    {
      row: 'query_id',
      does: 'in any case of its letters',
      run: async (broker) => {
        const stream = await filled(broker);
        expect(await stream.keys({ query_id: stream.queryId.toUpperCase() })).toHaveLength(6);
      },
    },
    {
      row: 'partition_id',
      does: 'is digits, or the UUID of the partition',
      run: async (broker) => {
        const stream = await filled(broker);
        const { partitions } = await broker.api.detail(broker.queue);
        const uuid = partitions.find(({ name }) => name === 'p')?.id;
        expect(await stream.keys({ partition_id: uuid })).toHaveLength(6);
      },
    },
    ...[
      { query_id: STRANGE },
      { partition_id: '999999999' },
      { partition_id: '99999999999999999999' },
      { partition_id: 'p' },
      { partition_id: STRANGE },
    ].map((fields) => ({
      row: 'unknown query or partition',
      does: JSON.stringify(fields),
      run: async (broker: BrokerUnderTest) => {
        const stream = await filled(broker);
        const { status, text } = await stream.stateRaw(fields);
        expect([status, text]).toEqual([404, '{"error":"not found"}']);
      },
    })),
    ...(
      [
        ['query_id', { query_id: 7 }, 'query_id is required'],
        ['partition_id', { partition_id: 7 }, 'partition_id must be a string'],
        ['keys', { keys: 'a' }, 'keys must be an array'],
        ['keys', { keys: [1] }, 'a key must be a string'],
        ['key_prefix', { key_prefix: 1 }, 'key_prefix must be a string'],
        ['ripe_at_or_before', { ripe_at_or_before: 1.5 }, 'ripe_at_or_before must be an integer'],
        ['ripe_at_or_before', { ripe_at_or_before: '1' }, 'ripe_at_or_before must be an integer'],
      ] as const
    ).map(([row, fields, error]) => ({
      row,
      does: `${JSON.stringify(fields)} is 400`,
      run: async (broker: BrokerUnderTest) => {
        const body = { query_id: STRANGE, partition_id: '1', ...fields };
        const { status, text } = await broker.client.post(STATE, body);
        expect(status).toBe(400);
        expect(JSON.parse(text).error).toContain(error);
      },
    })),
  ],
};
