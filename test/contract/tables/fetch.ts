/** POST /api/v1/fetch and /fetch/offsets (message-plane 10, 15). */
import type { Answer } from '@svc/http/api';
import type { FetchAnswer } from '@svc/wire';
import { expect } from 'vitest';
import { sleep } from '../../process/node-under-test.js';
import { bodyOf } from '../broker-api.js';
import type { BrokerUnderTest } from '../broker-under-test.js';
import { FETCH, fetchEntries, OFFSETS, STAMP } from '../positions.js';
import type { ContractTable } from '../table.js';

type FetchOffsetsAnswer = Answer<'POST /api/v1/fetch/offsets'>;

/** Four messages of 100 bytes of payload, offsets 0..3. */
async function fourOf100({ api, queue }: BrokerUnderTest): Promise<void> {
  const payloads = [0, 1, 2, 3].map((n) => `${n}`.repeat(98));
  await api.push(payloads.map((payload) => ({ queue, partition: 'p', payload })));
}

const manyEntries = (count: number) =>
  Array.from({ length: count }, () => ({ queue: 'none', offset: 0 }));

export const fetching: ContractTable = {
  section: 'message-plane 10 fetch',
  rows: [
    {
      row: 'too many entries',
      does: '1,025',
      send: `POST ${FETCH}`,
      body: { entries: manyEntries(1025) },
      answer: { status: 400, error: 'too many entries' },
    },
    {
      row: 'too many entries',
      does: '1,024 are answered in order',
      run: async (broker) => {
        const entries = await fetchEntries(broker, manyEntries(1024));
        expect(entries).toHaveLength(1024);
      },
    },
    {
      row: 'offset must be non-negative',
      does: '-1',
      send: `POST ${FETCH}`,
      body: { entries: [{ queue: '{queue}', offset: -1 }] },
      answer: { status: 400, error: 'offset must be non-negative' },
    },
    ...[
      '{}',
      '{"entries":{}}',
      '{"entries":[{"offset":0}]}',
      '{"entries":[{"queue":"q"}]}',
      '{"entries":[{"queue":"q","offset":"0"}]}',
      '{"entries":[{"queue":"q","partition":1.5,"offset":0}]}',
      '{"entries":[],"maxWaitMs":-1}',
      'nonsense',
    ].map((body) => ({
      row: 'bad shape',
      does: `${body} is 400`,
      send: `POST ${FETCH}`,
      body,
      answer: { status: 400, error: 'bad body: ', code: 'bad_body' },
    })),
    {
      row: 'numeric partition',
      does: 'is its decimal spelling; absent is Default',
      run: async (broker) => {
        const one = broker.sameNode;
        const { queue } = one;
        await one.api.pushIds(queue, '7', ['seven']);
        await one.api.pushIds(queue, 'Default', ['standard']);
        const entries = await fetchEntries(one, [
          { queue, partition: 7, offset: 0 },
          { queue, offset: 0 },
        ]);
        expect(
          entries.map(({ partition, records }) => [partition, records[0]?.transactionId]),
        ).toEqual([
          ['7', 'seven'],
          ['Default', 'standard'],
        ]);
      },
    },
    ...(
      [
        [1, [1]],
        [0, [1]],
        [-5, [1]],
        [200, [1, 2]],
        [299, [1, 2]],
        [300, [1, 2, 3]],
        [99_999_999, [1, 2, 3]],
      ] as const
    ).map(([maxBytes, offsets]) => ({
      row: 'maxBytes',
      does: `${maxBytes} bytes of payload from offset 1: ${offsets.join(', ')}`,
      run: async (broker: BrokerUnderTest) => {
        const one = broker.sameNode;
        await fourOf100(one);
        const entry = { queue: one.queue, partition: 'p', offset: 1, maxBytes };
        const [answer] = await fetchEntries(one, [entry]);
        expect(answer?.records.map(({ offset }) => offset)).toEqual(offsets);
      },
    })),
    {
      row: 'maxWaitMs',
      does: 'what there is when the time is up',
      run: async (broker) => {
        const one = broker.sameNode;
        await one.api.pushIds(one.queue, 'p', ['a']);
        const beganMs = Date.now();
        const entry = { queue: one.queue, partition: 'p', offset: 1 };
        const [answer] = await fetchEntries(one, [entry], { maxWaitMs: 300 });
        expect(answer?.records).toEqual([]);
        expect(Date.now() - beganMs).toBeGreaterThanOrEqual(295);
      },
    },
    {
      row: 'minBytes',
      does: 'fewer wait, as many or 0 do not; all entries count together',
      run: async (broker) => {
        const one = broker.sameNode;
        await fourOf100(one);
        const entry = (offset: number) => ({ queue: one.queue, partition: 'p', offset });
        const waits = async (entries: readonly object[], minBytes: number, maxWaitMs = 20_000) => {
          const beganMs = Date.now();
          await fetchEntries(one, entries, { maxWaitMs, minBytes });
          return Date.now() - beganMs >= maxWaitMs - 10;
        };
        expect(await waits([entry(3)], 101, 900)).toBe(true);
        expect(await waits([entry(3)], 100)).toBe(false);
        expect(await waits([entry(3), entry(3)], 200)).toBe(false);
        expect(await waits([entry(4)], 0)).toBe(false);
        expect(await waits([entry(4)], -1)).toBe(false);
      },
    },
    {
      row: 'wakes on an append',
      does: 'to its partition, not to another',
      run: async (broker) => {
        const one = broker.sameNode;
        const { api, queue } = one;
        await api.pushIds(queue, 'p', ['a']);
        const entry = { queue, partition: 'p', offset: 1 };
        const waiting = fetchEntries(one, [entry], { maxWaitMs: 20_000 });
        await sleep(100);
        await api.pushIds(queue, 'other', ['x']);
        await api.pushIds(queue, 'p', ['b']);
        const [answer] = await waiting;
        expect(answer?.records.map((record) => record.transactionId)).toEqual(['b']);
      },
    },
    {
      row: 'wakes on an append',
      does: 'also to one that did not exist, within a second',
      run: async (broker) => {
        const one = broker.sameNode;
        const { api, queue } = one;
        await api.configure(queue, {});
        const entry = { queue, partition: 'later', offset: 0 };
        const waiting = fetchEntries(one, [entry], { maxWaitMs: 20_000 });
        await sleep(100);
        await api.pushIds(queue, 'later', ['a']);
        const [answer] = await waiting;
        expect(answer?.records.map((record) => record.transactionId)).toEqual(['a']);
      },
    },
    {
      row: 'answer',
      does: 'records with offset, ids, payload and stamp; payloads byte for byte',
      run: async (broker) => {
        const one = broker.sameNode;
        const { client, queue } = one;
        const payload = '{"b":1,"a":1.0,"x":12345678901234567890,"b":2}';
        const items = `[{"queue":"${queue}","transactionId":"t","payload":${payload}}]`;
        await client.post('/api/v1/push', `{"items":${items}}`);
        const { text } = await client.post(FETCH, { entries: [{ queue, offset: 0 }] });
        const ts = (JSON.parse(text) as FetchAnswer).entries[0]?.records[0]?.ts ?? '';
        expect(ts).toMatch(STAMP);
        expect(text).toBe(
          `{"entries":[{"queue":"${queue}","partition":"Default","records":[{"offset":0,` +
            `"transactionId":"t","payload":${payload},"ts":"${ts}"}],"highWatermark":1,` +
            '"logStartOffset":0}]}',
        );
      },
    },
    {
      row: 'answer',
      does: '10,000 records per entry at most',
      run: async (broker) => {
        const one = broker.sameNode;
        const { api, queue } = one;
        const items = Array.from({ length: 10_001 }, () => ({ queue, partition: 'p', payload: 0 }));
        await api.push(items);
        const [answer] = await fetchEntries(one, [{ queue, partition: 'p', offset: 0 }]);
        expect([answer?.records.length, answer?.highWatermark]).toEqual([10_000, 10_001]);
      },
    },
    {
      row: 'UNKNOWN_TOPIC_OR_PARTITION',
      does: 'the queue is unknown: zeros; it ends the wait of all entries',
      run: async (broker) => {
        const one = broker.sameNode;
        await one.api.configure(one.queue, {});
        const entries = [
          { queue: one.queue, offset: 0 },
          { queue: 'none', offset: 5 },
        ];
        const beganMs = Date.now();
        const [, unknown] = await fetchEntries(one, entries, { maxWaitMs: 20_000 });
        expect(Date.now() - beganMs).toBeLessThan(10_000);
        expect(unknown).toEqual({
          queue: 'none',
          partition: 'Default',
          records: [],
          highWatermark: 0,
          logStartOffset: 0,
          error: 'UNKNOWN_TOPIC_OR_PARTITION',
        });
      },
    },
    {
      row: 'OFFSET_OUT_OF_RANGE',
      does: 'above the high watermark; equal to it is fine and empty',
      run: async (broker) => {
        const one = broker.sameNode;
        const { queue } = one;
        await one.api.pushIds(queue, 'p', ['a', 'b']);
        const [at, above] = await fetchEntries(one, [
          { queue, partition: 'p', offset: 2 },
          { queue, partition: 'p', offset: 3 },
        ]);
        const bounds = { queue, partition: 'p', records: [], highWatermark: 2, logStartOffset: 0 };
        expect(at).toEqual(bounds);
        expect(above).toEqual({ ...bounds, error: 'OFFSET_OUT_OF_RANGE' });
      },
    },
    {
      row: 'unwritten partition',
      does: 'no records, zeros, no error, whether it exists or not, at any offset',
      run: async (broker) => {
        const one = broker.sameNode;
        const { queue } = one;
        await one.api.configure(queue, {});
        const entries = await fetchEntries(one, [
          { queue, offset: 0 },
          { queue, offset: 7 },
          { queue, partition: 'none', offset: 7 },
        ]);
        for (const entry of entries) {
          expect(entry).toEqual({
            queue,
            partition: entry.partition,
            records: [],
            highWatermark: 0,
            logStartOffset: 0,
          });
        }
      },
    },
    {
      row: 'payload decrypted',
      does: 'in a queue that encrypts; maxBytes counts what is shown',
      run: async (broker) => {
        const one = broker.sameNode;
        const { api, queue } = one;
        await api.configure(queue, { encryptionEnabled: true });
        await fourOf100(one);
        const entry = { queue, partition: 'p', offset: 1 };
        const [all] = await fetchEntries(one, [entry]);
        expect(all?.records.map(({ payload }) => payload)).toEqual(
          [1, 2, 3].map((n) => `${n}`.repeat(98)),
        );
        const [two] = await fetchEntries(one, [{ ...entry, maxBytes: 200 }]);
        expect(two?.records.map(({ offset }) => offset)).toEqual([1, 2]);
      },
    },
  ],
};

export const fetchOffsets: ContractTable = {
  section: 'message-plane 15',
  rows: [
    {
      row: 'fetch/offsets',
      does: 'the first offset at or after the time, as ISO or as milliseconds',
      run: async (broker) => {
        const one = broker.sameNode;
        const { api, client, queue } = one;
        await api.pushIds(queue, 'p', ['a', 'b']);
        await sleep(5);
        const betweenMs = Date.now();
        await sleep(5);
        await api.pushIds(queue, 'p', ['c']);
        const [first, , third] =
          (await fetchEntries(one, [{ queue, partition: 'p', offset: 0 }]))[0]?.records ?? [];
        const ask = async (timestamp: string | number) => {
          const body = { entries: [{ queue, partition: 'p', timestamp }] };
          const answer = bodyOf(await client.post(OFFSETS, body), 200) as FetchOffsetsAnswer;
          return answer.entries[0];
        };
        const bounds = { queue, partition: 'p', highWatermark: 3, logStartOffset: 0 };
        const stampMs = Date.parse(first?.ts ?? '');
        expect(betweenMs, 'a clock of a node is ahead of the clock here').toBeGreaterThan(stampMs);
        expect(await ask(0)).toEqual({ ...bounds, offset: 0, ts: first?.ts });
        expect(await ask(first?.ts ?? '')).toEqual({ ...bounds, offset: 0, ts: first?.ts });
        expect(await ask(betweenMs)).toEqual({ ...bounds, offset: 2, ts: third?.ts });
        expect(await ask('2199-01-01T00:00:00Z')).toEqual({ ...bounds, offset: null, ts: null });
      },
    },
    {
      row: 'fetch/offsets',
      does: 'an unknown queue and an unknown partition',
      run: async (broker) => {
        const { api, client, queue } = broker.sameNode;
        await api.configure(queue, {});
        const entries = [
          { queue: 'none', timestamp: 0 },
          { queue, partition: 'none', timestamp: 0 },
        ];
        const nothing = { offset: null, ts: null, highWatermark: 0, logStartOffset: 0 };
        expect(bodyOf(await client.post(OFFSETS, { entries }), 200)).toEqual({
          entries: [
            {
              queue: 'none',
              partition: 'Default',
              ...nothing,
              error: 'UNKNOWN_TOPIC_OR_PARTITION',
            },
            { queue, partition: 'none', ...nothing },
          ],
        });
      },
    },
    {
      row: 'fetch/offsets',
      does: '1,025 entries are too many',
      send: `POST ${OFFSETS}`,
      body: { entries: Array.from({ length: 1025 }, () => ({ queue: 'q', timestamp: 0 })) },
      answer: { status: 400, error: 'too many entries' },
    },
    {
      row: 'fetch/offsets',
      does: 'a timestamp that is none',
      send: `POST ${OFFSETS}`,
      body: { entries: [{ queue: 'q', timestamp: 'now' }] },
      answer: { status: 400, error: 'timestamp is neither milliseconds nor ISO-8601' },
    },
  ],
};
