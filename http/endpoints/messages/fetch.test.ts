// Goal: a fetch reads its entries strictly and renders records with their payloads untouched.
// Method: bodies by table, real requests against a fake service.
import { DEFAULT_TENANT, messageId } from '@svc/wire';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { TestFront } from '../../testing/front.fake.js';
import { readFetchBody } from './fetch.js';

const read = (text: string): ReturnType<typeof readFetchBody> => readFetchBody(Buffer.from(text));

const ENTRY = { queue: 'q', partition: 'Default', offset: 0, maxBytes: 1_048_576 };

describe('bodies', () => {
  test.each([
    ['{"queue":"q","offset":0}', {}],
    ['{"queue":"q","partition":"p","offset":7}', { partition: 'p', offset: 7 }],
    ['{"queue":"q","partition":12,"offset":0}', { partition: '12' }],
    ['{"queue":"q","partition":-3,"offset":0}', { partition: '-3' }],
    ['{"queue":"q","partition":null,"offset":0}', {}],
    ['{"queue":"q","partition":"","offset":0}', {}],
    ['{"queue":"q","offset":0,"maxBytes":5}', { maxBytes: 5 }],
    ['{"queue":"q","offset":0,"maxBytes":0}', { maxBytes: 1 }],
    ['{"queue":"q","offset":0,"maxBytes":99999999}', { maxBytes: 8_388_608 }],
    ['{"queue":"q","offset":0,"maxBytes":null,"x":1}', {}],
  ])('%s', (entry, expected) => {
    expect(read(`{"entries":[${entry}]}`)).toEqual({
      entries: [{ ...ENTRY, ...expected }],
      maxWaitMs: 0,
      minBytes: 1,
    });
  });

  test('waiting', () => {
    expect(read('{"entries":[],"maxWaitMs":99999,"minBytes":-1}')).toEqual({
      entries: [],
      maxWaitMs: 30_000,
      minBytes: -1,
    });
    expect(read('{"entries":[],"maxWaitMs":null,"minBytes":null}')).toMatchObject({ minBytes: 1 });
  });

  test('at most 1,024 entries', () => {
    const entries = (count: number): string =>
      `{"entries":[${Array(count).fill('{"queue":"q","offset":0}').join(',')}]}`;
    expect(read(entries(1024))).toMatchObject({ maxWaitMs: 0 });
    expect(read(entries(1025))).toEqual({ error: 'too many entries' });
  });

  test.each([
    ['{}', 'missing field `entries`'],
    ['{"entries":null}', 'entries must be an array'],
    ['{"entries":[1]}', 'an entry must be an object'],
    ['{"entries":[{"offset":0}]}', 'missing field `queue`'],
    ['{"entries":[{"queue":"q"}]}', 'missing field `offset`'],
    ['{"entries":[{"queue":"\\u0000","offset":0}]}', 'queue holds a NUL character at byte 21'],
    ['{"entries":[{"queue":"q","partition":"\\u0000","offset":0}]}', 'partition holds a NUL'],
    ['{"entries":[{"queue":"q","offset":"0"}]}', 'offset must be an integer'],
    ['{"entries":[{"queue":"q","offset":1.5}]}', 'offset must be an integer'],
    ['{"entries":[{"queue":"q","partition":1.5,"offset":0}]}', 'partition must be a string or an'],
    ['{"entries":[{"queue":"q","partition":{},"offset":0}]}', 'partition must be a string or an'],
    ['{"entries":[],"maxWaitMs":-1}', 'maxWaitMs must be between 0'],
    ['{"entries":[],"maxWaitMs":"1"}', 'maxWaitMs must be an integer'],
  ])('%s is refused', (body, message) => {
    expect(() => read(body)).toThrow(message);
  });

  test('a negative offset', () => {
    expect(read('{"entries":[{"queue":"q","offset":-1}]}')).toEqual({
      error: 'offset must be non-negative',
    });
  });
});

describe('requests', () => {
  let front: TestFront;

  beforeEach(async () => {
    front = await TestFront.start();
  });
  afterEach(() => front.stop());

  test('records, watermarks and errors of entries', async () => {
    const payload = '{"n":1.50,"ü":"\\u00fc"}';
    const bytes = Buffer.from(payload);
    front.service.onFetch = (_, reply) => {
      reply.send({
        kind: 'fetched',
        entries: [
          {
            partitionNumber: 12,
            batches: [
              {
                bytes,
                payloadStart: [0, 0],
                payloadEnd: [bytes.length, bytes.length],
                stampUs: 1_792_000_000_000_120,
                baseOffset: 5,
                first: 0,
                last: 1,
                transactionIds: ['lbl-ü', null],
                producerSubs: null,
                traceIds: null,
              },
            ],
            highWatermark: 7,
            logStartOffset: 0,
            error: null,
          },
          {
            partitionNumber: 0,
            batches: [],
            highWatermark: 0,
            logStartOffset: 0,
            error: 'UNKNOWN_TOPIC_OR_PARTITION',
          },
        ],
      });
    };
    const body =
      '{"entries":[{"queue":"ü","partition":"p","offset":5},{"queue":"nope","offset":0}],' +
      '"maxWaitMs":500}';
    const answer = await front.client().request('/api/v1/fetch', { body });
    const ts = '2026-10-14T17:46:40.000120Z';
    expect([answer.status, answer.body]).toEqual([
      200,
      '{"entries":[{"queue":"ü","partition":"p","records":[' +
        `{"offset":5,"transactionId":"lbl-ü","payload":${payload},"ts":"${ts}"},` +
        `{"offset":6,"transactionId":"${messageId(1_792_000_000_000_120, 12, true, 6)}",` +
        `"payload":${payload},"ts":"${ts}"}],"highWatermark":7,"logStartOffset":0},` +
        '{"queue":"nope","partition":"Default","records":[],"highWatermark":0,"logStartOffset":0,' +
        '"error":"UNKNOWN_TOPIC_OR_PARTITION"}]}',
    ]);
    expect(front.service.fetches[0]).toMatchObject({
      tenant: DEFAULT_TENANT,
      maxWaitMs: 500,
      deadlineMs: 1500,
    });
  });

  test('an answer that cannot be rendered costs its own request a 500', async () => {
    let sent: boolean | null = null;
    front.service.onFetch = (_, reply) => {
      // It was asked for one entry.
      sent = reply.send({ kind: 'fetched', entries: [] });
    };
    const body = '{"entries":[{"queue":"q","offset":0}]}';
    const client = front.client();
    const answer = await client.request('/api/v1/fetch', { body });
    expect([answer.status, JSON.parse(answer.body).code, sent]).toEqual([500, 'internal', false]);
    expect(front.logged).toEqual([expect.stringContaining('an answer could not be rendered')]);
    expect((await client.request('/health')).status).toBe(200);
  });

  test('refusals', async () => {
    const client = front.client();
    const fetch = async (body: string): Promise<[number, string]> => {
      const answer = await client.request('/api/v1/fetch', { body });
      return [answer.status, JSON.parse(answer.body).error];
    };
    expect(await fetch('{"entries":[{"queue":"q","offset":-1}]}')).toEqual([
      400,
      'offset must be non-negative',
    ]);
    expect(await fetch('{"entries":')).toEqual([400, expect.stringContaining('bad body: ')]);
    expect((await fetch(`{"entries":[{"queue":"${'q'.repeat(500)}","offset":0}]}`))[0]).toBe(413);
    expect(front.service.fetches).toEqual([]);
  });
});
