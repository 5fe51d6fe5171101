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

  test.each([
    ['{"entries":null}', 'entries must be an array'],
    ['{"entries":[1]}', 'an entry must be an object'],
    ['{"entries":[{"queue":"\\u0000","offset":0}]}', 'queue holds a NUL character at byte 21'],
    ['{"entries":[{"queue":"q","partition":"\\u0000","offset":0}]}', 'partition holds a NUL'],
    ['{"entries":[{"queue":"q","offset":1.5}]}', 'offset must be an integer'],
    ['{"entries":[{"queue":"q","partition":{},"offset":0}]}', 'partition must be a string or an'],
    ['{"entries":[],"maxWaitMs":"1"}', 'maxWaitMs must be an integer'],
  ])('%s is refused', (body, message) => {
    expect(() => read(body)).toThrow(message);
  });
});

describe('requests', () => {
  let front: TestFront;

  beforeEach(async () => {
    front = await TestFront.start();
  });
  afterEach(() => front.stop());

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
