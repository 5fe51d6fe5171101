// Goal: the resource routes and the reads by position render what inspection 6 and message-plane 8,
// 10 and 15 show, read their parameters leniently and their bodies strictly. Method: bodies by
// table, real requests against a fake service.
import { DEFAULT_TENANT } from '@svc/wire';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { TestFront } from '../../testing/front.fake.js';
import { readOffsetsBody } from '../messages/fetch-offsets.js';
import { readChangedBody } from './partitions-changed.js';

const STAMP_US = 1_792_000_000_000_120;
const STAMP = '2026-10-14T17:46:40.000120Z';

let front: TestFront;

beforeEach(async () => {
  front = await TestFront.start();
});
afterEach(() => front.stop());

async function get(path: string): Promise<[number, string]> {
  const answer = await front.client().request(`/api/v1/resources/${path}`);
  return [answer.status, answer.body];
}

async function post(path: string, body: string): Promise<[number, string]> {
  const answer = await front.client().request(`/api/v1/${path}`, { body });
  return [answer.status, answer.body];
}

const NOT_FOUND = [404, '{"error":"Queue not found"}'];

describe('partitions', () => {
  test.each<[string, [string | null, number]]>([
    ['', [null, 610]],
    ['?queue=', [null, 610]],
    ['?queue=a%2Fb&limit=7', ['a/b', 7]],
    ['?limit=0', [null, 1]],
    ['?limit=-5', [null, 1]],
    ['?limit=99999', [null, 5000]],
    ['?limit=%2B6', [null, 6]],
    ['?limit=', [null, 610]],
    ['?limit=ten', [null, 610]],
    ['?limit=1.5', [null, 610]],
    [`?limit=${'9'.repeat(400)}`, [null, 5000]],
  ])('parameters %s', async (query, expected) => {
    await get(`partitions${query}`);
    expect(front.service.resources.asked).toEqual([[DEFAULT_TENANT, ...expected]]);
  });

  test('an unknown queue, and one that no key can hold', async () => {
    expect(await get('partitions?queue=none')).toEqual(NOT_FOUND);
    expect(await get(`partitions?queue=${'q'.repeat(500)}`)).toEqual(NOT_FOUND);
  });
});

describe('sizes', () => {
  test('by name, in order, whatever the names are', async () => {
    const names = ['10', '9', '__proto__', 'a"b', 'ü'];
    front.service.resources.answers.queueSizes = {
      kind: 'queue-sizes',
      partitions: names.map((partition, i) => ({ partition, bytes: i })),
      truncated: true,
      nextAfter: null,
    };
    expect(await get('queues/a%20b/sizes')).toEqual([
      200,
      '{"queue":"a b","partitions":{"10":0,"9":1,"__proto__":2,"a\\"b":3,"ü":4},"truncated":true}',
    ]);
    front.service.resources.answers.queueSizes = {
      kind: 'queue-sizes',
      partitions: [],
      truncated: false,
      nextAfter: null,
    };
    expect(await get('queues/q/sizes')).toEqual([200, '{"queue":"q","partitions":{}}']);
  });

  test('an unknown queue, and one that no key can hold', async () => {
    expect(await get('queues/none/sizes')).toEqual(NOT_FOUND);
    expect(await get(`queues/${'q'.repeat(500)}/sizes`)).toEqual(NOT_FOUND);
  });
});

describe('changed: bodies', () => {
  const ENTRY = { queue: 'q', sinceUs: null, after: null, limit: 1000 };

  test.each([
    ['{"queue":"q"}', {}],
    ['{"queue":"q","since":null,"after":null,"limit":null,"more":[]}', {}],
    [`{"queue":"q","since":"${STAMP}"}`, { sinceUs: STAMP_US }],
    ['{"queue":"q","since":"1970-01-01T01:00:00+01:00"}', { sinceUs: 0 }],
    ['{"queue":"q","after":""}', { after: '' }],
    ['{"queue":"q","after":"p|12"}', { after: 'p|12' }],
    ['{"queue":"q","after":5}', { after: '5' }],
    ['{"queue":"q","after":["p|1"]}', { after: '["p|1"]' }],
    ['{"queue":"q","limit":7}', { limit: 7 }],
    ['{"queue":"q","limit":0}', { limit: 1 }],
    ['{"queue":"q","limit":-7}', { limit: 1 }],
    ['{"queue":"q","limit":5000}', { limit: 1000 }],
  ])('%s', (entry, expected) => {
    const entries = readChangedBody(Buffer.from(`{"entries":[${entry}]}`));
    expect(entries).toEqual([{ ...ENTRY, ...expected }]);
  });

  test.each([
    ['[]', 'must be an object'],
    ['{"entries":{}}', 'entries must be an array'],
    ['{"entries":["q"]}', 'an entry must be an object'],
    ['{"entries":[{}]}', 'missing field `queue`'],
    ['{"entries":[{"queue":null}]}', 'queue must be a string'],
    ['{"entries":[{"queue":"q","limit":"1"}]}', 'limit must be an integer'],
    ['{"entries":[{"queue":"q","limit":1.5}]}', 'limit must be an integer'],
    ['', 'the body is empty'],
  ])('%s is refused', async (body, error) => {
    const [status, text] = await post('partitions/changed', body);
    expect([status, JSON.parse(text)]).toEqual([
      400,
      { error: expect.stringMatching(/^bad body: /), code: 'bad_body' },
    ]);
    expect(text).toContain(error);
  });

  test('a long value that is no timestamp is not sent back whole', async () => {
    const body = `{"entries":[{"queue":"q","since":"${'x'.repeat(100_000)}"}]}`;
    const [status, text] = await post('partitions/changed', body);
    expect([status, text.length < 400]).toEqual([400, true]);
  });

  test('at most 1,024 entries, and names that fit', async () => {
    const body = (count: number) => `{"entries":[${Array(count).fill('{"queue":"q"}').join(',')}]}`;
    expect(readChangedBody(Buffer.from(body(1024)))).toHaveLength(1024);
    const [status, text] = await post('partitions/changed', body(1025));
    expect([status, JSON.parse(text).error]).toEqual([400, 'too many entries']);
    const long = `{"entries":[{"queue":"${'q'.repeat(500)}"}]}`;
    expect((await post('partitions/changed', long))[0]).toBe(413);
  });
});

describe('offsets', () => {
  test.each([
    ['{"queue":"q","timestamp":1792000000000}', { sinceUs: 1_792_000_000_000_000 }],
    ['{"queue":"q","timestamp":-1}', { sinceUs: -1000 }],
    [`{"queue":"q","partition":"p","timestamp":"${STAMP}"}`, { partition: 'p', sinceUs: STAMP_US }],
    ['{"queue":"q","partition":7,"timestamp":0}', { partition: '7', sinceUs: 0 }],
  ])('%s', (entry, expected) => {
    const read = readOffsetsBody(Buffer.from(`{"entries":[${entry}]}`));
    expect(read).toEqual([{ queue: 'q', partition: 'Default', ...expected }]);
  });

  test.each([
    ['{}', 'missing field `entries`'],
    ['{"entries":null}', 'entries must be an array'],
    ['{"entries":[{"queue":"q"}]}', 'missing field `timestamp`'],
    ['{"entries":[{"timestamp":1}]}', 'missing field `queue`'],
    ['{"entries":[{"queue":"q","timestamp":null}]}', 'timestamp must be an integer'],
    ['{"entries":[{"queue":"q","timestamp":1.5}]}', 'timestamp must be an integer'],
    ['{"entries":[{"queue":"q","timestamp":"now"}]}', 'timestamp is neither milliseconds nor ISO'],
  ])('%s is refused', async (body, error) => {
    const [status, text] = await post('fetch/offsets', body);
    expect([status, JSON.parse(text).error]).toEqual([400, expect.stringContaining(error)]);
  });
});
