/** The routes of timers, their operations and what comes of each (state-surfaces 3.1, 3.2). */
import type { TransactionAnswer } from '@svc/wire';
import { expect } from 'vitest';
import { bodyOf } from '../broker-api.js';
import type { BrokerUnderTest } from '../broker-under-test.js';
import type { ContractTable } from '../table.js';
import {
  base64,
  cancel,
  fired,
  found,
  list,
  pathOf,
  peek,
  schedule,
  TIMERS,
  timer,
  timers,
} from '../timer-calls.js';

const STAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** `{"a":1}`, in a block as it is. */
const ZSTD_OF_A = Buffer.from([
  0x28,
  0xb5,
  0x2f,
  0xfd,
  0x20,
  7,
  7 * 8 + 1,
  0,
  0,
  ...Buffer.from('{"a":1}'),
]).toString('base64');

function microsOf(stamp: string): number {
  return Date.parse(`${stamp.slice(0, 23)}Z`) * 1000 + Number(stamp.slice(23, 26));
}

export const timerRoutes: ContractTable = {
  section: 'state-surfaces 3.1',
  rows: [
    {
      row: 'POST /api/v1/timers',
      does: 'answers one result for each operation',
      run: async (broker) => {
        const results = await timers(broker, schedule(broker, 'a'), cancel(broker, 'b'));
        expect(results.map(({ status }) => status)).toEqual(['scheduled', 'absent']);
      },
    },
    {
      row: 'POST /api/v1/timers',
      does: 'an empty list is nothing',
      send: `POST ${TIMERS}`,
      body: [],
      answer: { status: 200, text: '{"results":[]}' },
    },
    {
      row: 'GET list',
      does: 'the timers of one queue, without payloads',
      run: async (broker) => {
        await timers(broker, schedule(broker, 'a'), schedule(broker, 'b', { queue: 'other' }));
        const { rows, ...rest } = await list(broker);
        expect(rest).toEqual({ truncated: false, nextAfter: null });
        expect(rows.map(({ timerKey }) => timerKey)).toEqual(['a']);
        expect(rows[0]).not.toHaveProperty('payload');
        expect(rows[0]).not.toHaveProperty('found');
      },
    },
    {
      row: 'GET list',
      does: 'of a queue without any is empty, also when there is no such queue',
      send: `GET ${TIMERS}/{queue}`,
      answer: { status: 200, text: '{"rows":[],"truncated":false,"nextAfter":null}' },
    },
    {
      row: 'GET peek',
      does: 'shows one, with its payload',
      run: async (broker) => {
        await timers(broker, schedule(broker, 'a', { payload: base64({ a: 1 }) }));
        expect((await found(broker, 'a')).payload).toBe('eyJhIjoxfQ==');
      },
    },
    {
      row: 'DELETE',
      does: 'cancels, and answers the bare element',
      run: async (broker) => {
        const { queue } = broker;
        await timers(broker, schedule(broker, 'a'));
        const answer = await broker.client.send('DELETE', pathOf(broker, 'a'), undefined);
        expect(answer.status).toBe(200);
        expect(answer.text).toBe(
          `{"ok":true,"status":"cancelled","queue":"${queue}","timerKey":"a","txn":"txn-a"}`,
        );
        expect(await peek(broker, 'a')).toMatchObject({ found: false });
      },
    },
    {
      row: 'DELETE',
      does: 'of nothing is absent with the txn of the query',
      send: `DELETE ${TIMERS}/{queue}/a?txn=mine`,
      answer: {
        status: 200,
        text: '{"ok":false,"status":"absent","queue":"{queue}","timerKey":"a","txn":"mine"}',
      },
    },
    ...['a/b', 'a//b/', 'ü %2F?#', '..'].map((key) => ({
      row: 'timerKey is a catch-all',
      does: `${JSON.stringify(key)}, with its slashes spelled as they are and escaped`,
      run: async (broker: BrokerUnderTest) => {
        await timers(broker, schedule(broker, key));
        expect((await found(broker, key)).timerKey).toBe(key);
        const plain = pathOf(broker, key).replaceAll('%2F', '/');
        const answer = await broker.client.send('DELETE', plain, undefined);
        expect(bodyOf(answer, 200)).toMatchObject({ status: 'cancelled', timerKey: key });
      },
    })),
    {
      row: 'body: array or operations',
      does: 'an object with the list does the same',
      run: async (broker) => {
        const body = { operations: [schedule(broker, 'a')], more: 1 };
        const answer = bodyOf(await broker.client.post(TIMERS, body), 200);
        expect(answer).toMatchObject({ results: [{ status: 'scheduled' }] });
      },
    },
    {
      row: 'one atomic command',
      does: 'a bad operation refuses all',
      run: async (broker) => {
        await timers(broker, schedule(broker, 'kept'));
        const body = [schedule(broker, 'a'), cancel(broker, 'kept'), schedule(broker, '')];
        expect((await broker.client.post(TIMERS, body)).status).toBe(400);
        const { rows } = await list(broker);
        expect(rows.map(({ timerKey }) => timerKey)).toEqual(['kept']);
      },
    },
  ],
};

export const timerOperations: ContractTable = {
  section: 'state-surfaces 3.2',
  rows: [
    ...['schedule', 'reschedule'].map((op) => ({
      row: 'op',
      does: `${op} makes a timer, and replaces one`,
      run: async (broker: BrokerUnderTest) => {
        const first = await timer(broker, schedule(broker, 'a', { op }));
        const second = await timer(broker, schedule(broker, 'a', { op }));
        expect([first.status, second.status]).toEqual(['scheduled', 'rescheduled']);
      },
    })),
    {
      row: 'queue, timerKey',
      does: 'name a timer together',
      run: async (broker) => {
        await timers(broker, schedule(broker, 'a'), schedule(broker, 'a', { queue: 'other' }));
        expect(await timers(broker, cancel(broker, 'a'))).toMatchObject([{ status: 'cancelled' }]);
        const other = cancel(broker, 'a', { queue: 'other' });
        expect(await timers(broker, other)).toMatchObject([{ status: 'cancelled' }]);
      },
    },
    {
      row: 'partition',
      does: '`Default` unless named; null is absent',
      run: async (broker) => {
        const ops = [
          schedule(broker, 'a'),
          schedule(broker, 'b', { partition: null }),
          schedule(broker, 'c', { partition: 'p' }),
        ];
        await timers(broker, ...ops);
        const { rows } = await list(broker);
        expect(rows.map(({ partition }) => partition)).toEqual(['Default', 'Default', 'p']);
      },
    },
    {
      row: 'delayMs',
      does: 'fractions count to the microsecond',
      run: async (broker) => {
        await timer(broker, schedule(broker, 'a', { delayMs: 60_000.0015 }));
        const { deliverAt, createdAt } = await found(broker, 'a');
        expect(microsOf(deliverAt) - microsOf(createdAt)).toBe(60_000_002);
      },
    },
    ...[0, -1, -1e300].map((delayMs) => ({
      row: 'delayMs',
      does: `${delayMs} fires at once`,
      run: async (broker: BrokerUnderTest) => {
        await timer(broker, schedule(broker, 'a', { delayMs }));
        expect(await fired(broker)).toMatchObject([{ transactionId: 'txn-a' }]);
      },
    })),
    {
      row: 'txn',
      does: 'is the transactionId of the message; the longest has room',
      run: async (broker) => {
        const txn = 'x'.repeat(65_535);
        await timer(broker, schedule(broker, 'a', { txn, delayMs: 0 }));
        const [message] = await fired(broker);
        expect(message?.transactionId).toBe(txn);
      },
    },
    {
      row: 'payload',
      does: 'the bytes of the message, as they were',
      run: async (broker) => {
        const json = '{"b":1.0, "a":12345678901234567890}';
        const payload = Buffer.from(json).toString('base64');
        await timer(broker, schedule(broker, 'a', { payload }));
        expect((await found(broker, 'a')).payload).toBe(payload);
      },
    },
    ...[true, 'true', 1].map((payloadZstd) => ({
      row: 'payloadZstd',
      does: `${JSON.stringify(payloadZstd)}: the payload is compressed`,
      run: async (broker: BrokerUnderTest) => {
        await timer(broker, schedule(broker, 'a', { payload: ZSTD_OF_A, payloadZstd }));
        const { payload } = await found(broker, 'a');
        expect(Buffer.from(payload, 'base64').toString()).toBe('{"a":1}');
      },
    })),
    ...[false, 'false', 0, null].map((payloadZstd) => ({
      row: 'payloadZstd',
      does: `${JSON.stringify(payloadZstd)}: it is as it is`,
      run: async (broker: BrokerUnderTest) => {
        await timer(broker, schedule(broker, 'a', { payload: ZSTD_OF_A, payloadZstd }));
        expect((await found(broker, 'a')).payload).toBe(ZSTD_OF_A);
      },
    })),
    {
      row: 'encrypted',
      does: 'is shown, and changes nothing else',
      run: async (broker) => {
        await timer(broker, schedule(broker, 'a', { encrypted: true, payload: base64('own') }));
        expect(await found(broker, 'a')).toMatchObject({
          encrypted: true,
          payload: base64('own'),
        });
      },
    },
    {
      row: 'one upsert',
      does: 'the same pair is one timer',
      run: async (broker) => {
        await timer(broker, schedule(broker, 'a', { txn: 'first' }));
        await timer(broker, schedule(broker, 'a', { txn: 'second', delayMs: 200 }));
        expect(await fired(broker)).toMatchObject([{ transactionId: 'second' }]);
        expect((await list(broker)).rows).toEqual([]);
      },
    },
    {
      row: 'a reschedule is a new timer',
      does: 'only the creation time stays',
      run: async (broker) => {
        const first = await timer(broker, schedule(broker, 'a'));
        const before = await found(broker, 'a');
        const changes = { txn: 'new', payload: base64(2), partition: 'p', delayMs: 90_000 };
        const second = await timer(broker, schedule(broker, 'a', changes));
        const after = await found(broker, 'a');
        expect(second.messageId).not.toBe(first.messageId);
        expect(after).toMatchObject({
          txn: 'new',
          payload: base64(2),
          partition: 'p',
          attempts: 0,
        });
        expect(after.createdAt).toBe(before.createdAt);
        expect(after.updatedAt > before.updatedAt).toBe(true);
        expect(after.deliverAt).toBe(second.deliverAt);
      },
    },
    {
      row: 'scheduled',
      does: 'all members, in their order',
      run: async (broker) => {
        const answer = await broker.client.post(TIMERS, [schedule(broker, 'k"1')]);
        const [result] = (bodyOf(answer, 200) as { results: [Record<string, string>] }).results;
        const { messageId = '', deliverAt = '' } = result;
        expect(messageId).toMatch(UUID);
        expect(deliverAt).toMatch(STAMP);
        expect(answer.text).toBe(
          `{"results":[{"ok":true,"status":"scheduled","queue":"${broker.queue}",` +
            `"timerKey":"k\\"1","txn":"txn-k\\"1","messageId":"${messageId}",` +
            `"deliverAt":"${deliverAt}"}]}`,
        );
      },
    },
    {
      row: 'rescheduled',
      does: 'has another message id and another instant',
      run: async (broker) => {
        await timer(broker, schedule(broker, 'a'));
        const again = await timer(broker, schedule(broker, 'a', { delayMs: 70_000 }));
        expect(again).toMatchObject({ status: 'rescheduled', txn: 'txn-a' });
      },
    },
    {
      row: 'cancelled',
      does: "names the removed timer's txn",
      run: async (broker) => {
        await timer(broker, schedule(broker, 'a'));
        const { queue } = broker;
        const result = { ok: true, status: 'cancelled', queue, timerKey: 'a', txn: 'txn-a' };
        expect(await timers(broker, cancel(broker, 'a', { txn: 'mine' }))).toEqual([result]);
      },
    },
    ...[
      [{}, null],
      [{ txn: 'mine' }, 'mine'],
      [{ txn: null }, null],
    ].map(([more, txn]) => ({
      row: 'absent',
      does: `names the caller's txn: ${JSON.stringify(txn)}`,
      send: `POST ${TIMERS}`,
      body: [{ op: 'cancel', queue: '{queue}', timerKey: 'a', ...(more as object) }],
      answer: {
        status: 200,
        body: { results: [{ ok: false, status: 'absent', queue: '{queue}', timerKey: 'a', txn }] },
      },
    })),
    {
      row: 'absent',
      does: 'is what a timer is that has fired',
      run: async (broker) => {
        await timer(broker, schedule(broker, 'a', { delayMs: 0 }));
        await fired(broker);
        expect(await timers(broker, cancel(broker, 'a'))).toMatchObject([{ status: 'absent' }]);
      },
    },
    {
      row: 'in a transaction',
      does: 'adds index, type and opIndex; a cancellation of nothing stops nobody',
      run: async (broker) => {
        const { queue, client } = broker;
        const push = { type: 'push', queue, payload: 1, transactionId: 'pushed' };
        const body = {
          operations: [push],
          timers: [schedule(broker, 'a', { delayMs: 0 }), cancel(broker, 'b')],
        };
        const answer = await client.post('/api/v1/transaction', body);
        const { success, results } = bodyOf(answer, 200) as TransactionAnswer;
        expect(success).toBe(true);
        expect(results.slice(1)).toMatchObject([
          { index: 1, opIndex: 0, type: 'timer', ok: true, status: 'scheduled', txn: 'txn-a' },
          { index: 2, opIndex: 1, type: 'timer', ok: false, status: 'absent', txn: null },
        ]);
        const ids = (await fired(broker, 2)).map(({ transactionId }) => transactionId);
        expect(ids).toEqual(['pushed', 'txn-a']);
      },
    },
    {
      row: 'in a transaction',
      does: 'that is rolled back nothing is scheduled and nothing cancelled',
      run: async (broker) => {
        const { queue, client } = broker;
        await broker.api.pushIds(queue, 'p', ['known']);
        await timer(broker, schedule(broker, 'kept'));
        const item = { type: 'push', queue, partition: 'p', payload: 1, transactionId: 'known' };
        const body = {
          operations: [item],
          timers: [schedule(broker, 'a'), cancel(broker, 'kept')],
        };
        const answer = await client.post('/api/v1/transaction', body);
        expect(bodyOf(answer, 200)).toMatchObject({ success: false, reason: 'duplicate' });
        const { rows } = await list(broker);
        expect(rows.map(({ timerKey }) => timerKey)).toEqual(['kept']);
      },
    },
    {
      row: 'peek',
      does: 'all members, in their order',
      run: async (broker) => {
        const { queue } = broker;
        const { messageId, deliverAt } = await timer(broker, schedule(broker, 'a'));
        const answer = await broker.client.get(pathOf(broker, 'a'));
        const { createdAt, updatedAt } = JSON.parse(answer.text) as Record<string, string>;
        expect(answer.text).toBe(
          `{"found":true,"queue":"${queue}","timerKey":"a","partition":"Default",` +
            `"deliverAt":"${deliverAt}","txn":"txn-a","messageId":"${messageId}",` +
            '"payloadZstd":false,"encrypted":false,"producerSub":null,"attempts":0,' +
            `"lastError":null,"claimed":false,"createdAt":"${createdAt}",` +
            `"updatedAt":"${updatedAt}","payload":"${base64({ id: 'txn-a' })}"}`,
        );
      },
    },
    {
      row: 'miss',
      does: 'is 200 with the names',
      send: `GET ${TIMERS}/{queue}/x`,
      answer: { status: 200, text: '{"found":false,"queue":"{queue}","timerKey":"x"}' },
    },
    {
      row: 'payload as stored',
      does: 'an encrypted one stays encrypted',
      run: async (broker) => {
        await broker.api.configure(broker.queue, { encryptionEnabled: true });
        await timer(broker, schedule(broker, 'a'));
        const { encrypted, payload } = await found(broker, 'a');
        expect(encrypted).toBe(true);
        const envelope = JSON.parse(Buffer.from(payload, 'base64').toString()) as object;
        expect(Object.keys(envelope)).toEqual(['encrypted', 'iv', 'authTag']);
      },
    },
    {
      row: 'list',
      does: 'in the byte order of the keys',
      run: async (broker) => {
        const keys = ['b', 'a/2', 'é', 'a', 'B', 'a.1'];
        await timers(broker, ...keys.map((key) => schedule(broker, key)));
        const { rows } = await list(broker);
        expect(rows.map(({ timerKey }) => timerKey)).toEqual(['B', 'a', 'a.1', 'a/2', 'b', 'é']);
      },
    },
    ...(
      [
        ['', 100],
        ['?limit=x', 100],
        ['?limit=0', 1],
        ['?limit=-5', 1],
        ['?limit=7', 7],
        ['?limit=5000', 120],
      ] as const
    ).map(([query, expected]) => ({
      row: 'list: limit',
      does: `${query === '' ? 'absent' : query} of 120 shows ${expected}`,
      run: async (broker: BrokerUnderTest) => {
        const ops = Array.from({ length: 120 }, (_, i) => schedule(broker, `${1000 + i}`));
        await timers(broker, ...ops);
        const { rows, truncated, nextAfter } = await list(broker, query);
        expect(rows).toHaveLength(expected);
        expect(truncated).toBe(expected < 120);
        expect(nextAfter).toBe(expected < 120 ? `${999 + expected}` : null);
      },
    })),
    {
      row: 'list: after',
      does: 'is exclusive; the pages together are all',
      run: async (broker) => {
        const keys = ['a', 'b b', 'c/c', 'd'];
        await timers(broker, ...keys.map((key) => schedule(broker, key)));
        const seen: string[] = [];
        let after: string | null = '';
        while (after !== null) {
          const query: string = after === '' ? '' : `&after=${encodeURIComponent(after)}`;
          const page = await list(broker, `?limit=1${query}`);
          seen.push(...page.rows.map(({ timerKey }) => timerKey));
          after = page.nextAfter;
        }
        expect(seen).toEqual(keys);
      },
    },
    {
      row: 'spelling of times',
      does: 'six digits and Z, everywhere (0.5)',
      run: async (broker) => {
        const { deliverAt } = await timer(broker, schedule(broker, 'a'));
        const [row] = (await list(broker)).rows;
        const shown = [deliverAt, row?.deliverAt, row?.createdAt, row?.updatedAt];
        for (const stamp of shown) expect(stamp).toMatch(STAMP);
      },
    },
  ],
};
