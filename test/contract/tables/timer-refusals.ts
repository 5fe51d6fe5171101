/** What a call on timers is refused for (state-surfaces 3.3). */
import { expect } from 'vitest';
import { bodyOf } from '../broker-api.js';
import type { BrokerUnderTest } from '../broker-under-test.js';
import type { ContractRow, ContractTable } from '../table.js';
import { cancel, list, refusedTimers, schedule, TIMERS, timers } from '../timer-calls.js';

const SOUND = {
  op: 'schedule',
  queue: '{queue}',
  timerKey: 'k',
  delayMs: 60_000,
  txn: 't',
  payload: 'e30=',
};
const CANCEL = { op: 'cancel', queue: '{queue}', timerKey: 'k' };
/** Bytes of a queue and the key of a timer in it. */
const NAMES_BYTES_MAX = 411;
const SHAPE = 'body must be an array of operations, or {"operations":[...]}';

/** `SOUND` with another value of one member, or without it. */
function changed(name: string, value?: unknown): object {
  return { ...SOUND, [name]: value };
}

function refusedBody(body: string, detail?: string): ContractRow {
  return {
    row: 'timers_bad_body',
    does: `${JSON.stringify(body)} is no list of operations`,
    send: `POST ${TIMERS}`,
    body,
    answer: {
      status: 400,
      body: {
        error: 'timers_bad_request',
        reason: 'timers_bad_body',
        ...(detail === undefined ? {} : { detail }),
      },
    },
  };
}

const SERVER_OWNED = [
  'producerSub',
  'producer_sub',
  'messageId',
  'message_id',
  'tenant',
  'tenantId',
  'tenant_id',
  'deliverAt',
  'deliver_at',
  'delaySeconds',
  'delay_seconds',
  'attempts',
  'claimToken',
  'claim_token',
  'claimedUntil',
];

export const timerRefusals: ContractTable = {
  section: 'state-surfaces 3.3',
  rows: [
    refusedBody(''),
    refusedBody('[', undefined),
    refusedBody('[] []'),
    refusedBody('7', SHAPE),
    refusedBody('{}', SHAPE),
    refusedBody('{"operations":null}', SHAPE),
    refusedBody('[{"op":"cancel","op":"cancel"}]'),
    refusedTimers(
      'timers_too_many_ops',
      Array.from({ length: 257 }, (_, i) => ({ ...CANCEL, timerKey: `${i}` })),
      'timers_too_many_ops',
      '257 ops in one call, the ceiling is 256',
    ),
    ...[7, null, 'x', []].map((op, i) =>
      refusedTimers(
        'timers_bad_op',
        [...Array.from({ length: i }, (_, at) => ({ ...CANCEL, timerKey: `${at}` })), op],
        'timers_bad_op',
        `op at index ${i} is not an object`,
      ),
    ),
    ...['payloadZstd', 'encrypted'].map((name) =>
      refusedTimers('timers_bad_op', [changed(name, 'yes')], 'timers_bad_op'),
    ),
    ...['_', '_tenant', '_x'].flatMap((name) =>
      [SOUND, CANCEL].map((op) =>
        refusedTimers(
          'timers_server_owned_field',
          [{ ...op, [name]: null }],
          'timers_server_owned_field',
          `op at index 0: field ${name} is server-owned`,
        ),
      ),
    ),
    ...[undefined, null, '', 7].map((queue) =>
      refusedTimers('timers_queue_required', [changed('queue', queue)], 'timers_queue_required'),
    ),
    ...[undefined, null, '100', true].map((delay) =>
      refusedTimers('timers_delay_required', [changed('delayMs', delay)], 'timers_delay_required'),
    ),
    ...[undefined, null, 7, {}].map((payload) =>
      refusedTimers(
        'timers_payload_required',
        [changed('payload', payload)],
        'timers_payload_required',
      ),
    ),
    ...['e30', 'e3_=', ' e30=', 'e30=\n', 'e31=', 'e30==', '{}', 'e30=e30='].map((payload) =>
      refusedTimers(
        'timers_payload_not_base64',
        [changed('payload', payload)],
        'timers_payload_not_base64',
      ),
    ),
    {
      row: 'timers_encrypted_conflict',
      does: 'where the broker encrypts, the client cannot say that it has',
      run: async (broker) => {
        await broker.api.configure(broker.queue, { encryptionEnabled: true });
        const ops = [schedule(broker, 'a'), schedule(broker, 'b', { encrypted: true })];
        const answer = bodyOf(await broker.client.post(TIMERS, ops), 400);
        expect(answer).toMatchObject({
          error: 'timers_bad_request',
          reason: 'timers_encrypted_conflict',
        });
        expect((await list(broker)).rows).toEqual([]);
      },
    },
    ...[undefined, null, 'fire', 'SCHEDULE', 7].map((op) =>
      refusedTimers(
        'QTIMER unknown operation',
        [{ ...SOUND, timerKey: 'other' }, changed('op', op)],
        'QTIMER op 1: unknown operation',
      ),
    ),
    ...[undefined, null, '', 7].flatMap((timerKey) =>
      [SOUND, CANCEL].map((op) =>
        refusedTimers(
          'QTIMER timerKey is required',
          [{ ...op, timerKey }],
          'QTIMER op 0: timerKey is required',
        ),
      ),
    ),
    ...[undefined, null, '', 7].map((txn) =>
      refusedTimers(
        'QTIMER txn is required',
        [changed('txn', txn)],
        'QTIMER op 0: txn is required',
      ),
    ),
    ...['', 7].map((partition) =>
      refusedTimers(
        'QTIMER partition',
        [changed('partition', partition)],
        'QTIMER op 0: partition, when present, must be non-empty',
      ),
    ),
    ...SERVER_OWNED.map((name) =>
      refusedTimers(
        'QTIMER server-owned',
        [changed(name, null)],
        `QTIMER op 0: field ${name} is server-owned and cannot be supplied`,
      ),
    ),
    refusedTimers(
      'QTIMER txn exceeds',
      [changed('txn', 'é'.repeat(32_768))],
      'QTIMER op 0: txn exceeds the 65535-byte limit',
    ),
    refusedTimers(
      'QTIMER more than once',
      [SOUND, CANCEL],
      'QTIMER a (queue, timerKey) appears more than once in one call',
    ),
    ...['7776000000.001', '1e300', '1e999'].map(
      (delay): ContractRow => ({
        row: 'timers_horizon',
        does: `${delay} ms is beyond it`,
        send: `POST ${TIMERS}`,
        body: JSON.stringify([changed('delayMs', 0)]).replace('"delayMs":0', `"delayMs":${delay}`),
        answer: {
          status: 403,
          body: { error: 'timer_horizon_exceeded', reason: 'timers_horizon' },
        },
      }),
    ),
    {
      row: 'timers_horizon',
      does: 'ninety days are not',
      run: async (broker) => {
        const [result] = await timers(broker, schedule(broker, 'a', { delayMs: 7_776_000_000 }));
        expect(result?.status).toBe('scheduled');
      },
    },
    {
      row: 'timers_payload_too_large',
      does: 'a byte over a mebibyte, before it is decompressed and before anything else',
      run: async (broker) => {
        const payload = Buffer.alloc(1_048_577).toString('base64');
        const op = schedule(broker, 'a', { payload, payloadZstd: true, delayMs: 'x' });
        expect(bodyOf(await broker.client.post(TIMERS, [op]), 413)).toEqual({
          error: 'payload_too_large',
          reason: 'timers_payload_too_large',
          detail: 'op at index 0: payload is 1048577 bytes, the ceiling is 1048576',
        });
      },
    },
    {
      row: 'timers_payload_too_large',
      does: 'a mebibyte is not',
      run: async (broker) => {
        const payload = Buffer.alloc(1_048_576).toString('base64');
        const [result] = await timers(broker, schedule(broker, 'a', { payload }));
        expect(result?.status).toBe('scheduled');
      },
    },
    ...['timerKey', 'partition', 'queue'].map((name) => ({
      row: 'name_too_long',
      does: `a ${name} that no key holds`,
      run: async (broker: BrokerUnderTest) => {
        const op = schedule(broker, 'a', { queue: 'q', [name]: 'x'.repeat(412) });
        expect(bodyOf(await broker.client.post(TIMERS, [op]), 413)).toEqual({
          error:
            `${name} name is 412 bytes; ` +
            'the composite store key limit leaves 447 bytes for names',
          code: 'name_too_long',
        });
      },
    })),
    {
      row: 'name_too_long',
      does: 'the longest key that has room works, and is found by its path',
      run: async (broker) => {
        const timerKey = 'é'.repeat(Math.floor((NAMES_BYTES_MAX - broker.queue.length) / 2));
        await timers(broker, schedule(broker, timerKey));
        const { rows } = await list(broker);
        expect(rows.map((row) => row.timerKey)).toEqual([timerKey]);
        const path = `${TIMERS}/q/${'x'.repeat(500)}`;
        expect((await broker.client.get(path)).status).toBe(413);
      },
    },
    ...(
      [
        [{ op: 'cancel' }, 400, 'bad_request', 'op at index 0: queue is required'],
        [changed('txn', ''), 400, 'bad_request', 'QTIMER op 0: txn is required'],
        [changed('op', 'x'), 400, 'bad_request', 'QTIMER op 0: unknown operation'],
        [changed('_x', 1), 400, 'timers_server_owned_field', /server-owned/],
        [changed('messageId', 1), 400, 'timers_server_owned_field', /server-owned/],
        [changed('delayMs', 1e12), 403, 'timer_horizon_exceeded', /horizon/],
        [changed('payload', 'x'), 400, 'bad_request', /base64/],
        [7, 400, 'bad_request', 'op at index 0 is not an object'],
      ] as const
    ).map(([op, status, reason, error]) => ({
      row: 'in a transaction',
      does: `${JSON.stringify(op)} is ${reason}, and nothing is done`,
      run: async (broker: BrokerUnderTest) => {
        const { queue, client } = broker;
        const push = { type: 'push', queue, payload: 1 };
        const answer = await client.post('/api/v1/transaction', {
          operations: [push],
          timers: [op],
        });
        expect(bodyOf(answer, status)).toMatchObject({
          success: false,
          reason,
          error: typeof error === 'string' ? error : expect.stringMatching(error),
          results: [],
        });
        expect((await client.get(`/api/v1/resources/queues/${queue}`)).status).toBe(404);
      },
    })),
    {
      row: 'in a transaction',
      does: 'a claim of encryption where the broker encrypts rolls all back',
      run: async (broker) => {
        const { queue, client } = broker;
        await broker.api.configure(queue, { encryptionEnabled: true });
        const body = { timers: [cancel(broker, 'x'), schedule(broker, 'b', { encrypted: true })] };
        const answer = bodyOf(await client.post('/api/v1/transaction', body), 400);
        expect(answer).toMatchObject({ success: false, reason: 'timers_encrypted_conflict' });
      },
    },
  ],
};
