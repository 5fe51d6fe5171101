// Goal: the resource routes and the reads by position render what inspection 6 and message-plane 8,
// 10 and 15 show, read their parameters leniently and their bodies strictly. Method: bodies by
// table, real requests against a fake service.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { TestFront } from '../../testing/front.fake.js';
import { readOffsetsBody } from '../messages/fetch-offsets.js';
import { readChangedBody } from './partitions-changed.js';

const STAMP_US = 1_792_000_000_000_120;
const STAMP = '2026-10-14T17:46:40.000120Z';
const UUID = '01a2b3c4-0000-7000-8000-000000000001';

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

test('overview: pending leaves out what is leased; averages are whole', async () => {
  front.service.resources.all = {
    kind: 'overview',
    nowUs: STAMP_US,
    queues: 5,
    partitions: 44,
    namespaces: 2,
    tasks: 1,
    counts: { total: 1000, pending: 7, processing: 2, completed: 990, deadLetter: 3 },
    lag: { queues: 3, secondsSum: 38, secondsMax: 30, messagesSum: 7, messagesMax: 4 },
  };
  expect(await get('overview')).toEqual([
    200,
    '{"queues":5,"partitions":44,"namespaces":2,"tasks":1,' +
      '"messages":{"total":1000,"pending":5,"processing":2,"completed":990,"failed":0,' +
      '"deadLetter":3},"lag":{"time":{"avg":12,"median":0,"min":0,"max":30},' +
      '"offset":{"avg":2,"median":0,"min":0,"max":4}},' +
      '"timestamp":"2026-10-14T17:46:40.000Z","statsAge":0}',
  ]);
});

test('an overview of nothing', async () => {
  front.service.resources.all = {
    kind: 'overview',
    nowUs: STAMP_US,
    queues: 0,
    partitions: 0,
    namespaces: 0,
    tasks: 0,
    counts: { total: 0, pending: 0, processing: 0, completed: 0, deadLetter: 0 },
    lag: { queues: 0, secondsSum: 0, secondsMax: 0, messagesSum: 0, messagesMax: 0 },
  };
  const [, body] = await get('overview');
  expect(JSON.parse(body).lag.time).toEqual({ avg: 0, median: 0, min: 0, max: 0 });
});

test.each(['namespace', 'task'])('sums by %s', async (label) => {
  const counts = { total: 100, pending: 9, processing: 4, completed: 91, deadLetter: 0 };
  const rows = [{ label: 'shop', queues: 3, partitions: 12, counts }];
  front.service.resources.labels = { rows, end: { nextAfter: null } };
  expect(await get(`${label}s`)).toEqual([
    200,
    `{"${label}s":[{"${label}":"shop","queues":3,"partitions":12,` +
      '"messages":{"total":100,"pending":5}}]}',
  ]);
  expect(front.service.resources.asked[0]).toBe(label);
  front.service.resources.labels = { rows, end: { nextAfter: 'shop\0' } };
  const [, text] = await get(`${label}s?limit=1`);
  expect(JSON.parse(text).nextAfter).toBe(`${label === 'task' ? 't' : 'm'}c2hvcAA`);
});

describe('partitions', () => {
  test('rows', async () => {
    const row = { queue: 'wide', partition: '2', id: UUID, pending: 3, processing: 1 };
    front.service.resources.ranking = {
      kind: 'partition-ranking',
      partitions: [
        { ...row, lagSeconds: 4 },
        { ...row, lagSeconds: null },
      ],
      walked: 4,
      truncated: true,
    };
    const shown = `{"queue":"wide","partition":"2","id":"${UUID}","pending":3,"processing":1,`;
    expect(await get('partitions')).toEqual([
      200,
      `{"partitions":[${shown}"lagSeconds":4},${shown}"lagSeconds":null}],` +
        '"walked":4,"truncated":true}',
    ]);
  });

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
    expect(front.service.resources.asked).toEqual([expected]);
  });

  test('an unknown queue, and one that no key can hold', async () => {
    expect(await get('partitions?queue=none')).toEqual(NOT_FOUND);
    expect(await get(`partitions?queue=${'q'.repeat(500)}`)).toEqual(NOT_FOUND);
  });
});

describe('sizes', () => {
  test('by name, in order, whatever the names are', async () => {
    const names = ['10', '9', '__proto__', 'a"b', 'ü'];
    front.service.resources.sizes = {
      kind: 'queue-sizes',
      partitions: names.map((partition, i) => ({ partition, bytes: i })),
      truncated: true,
      nextAfter: null,
    };
    expect(await get('queues/a%20b/sizes')).toEqual([
      200,
      '{"queue":"a b","partitions":{"10":0,"9":1,"__proto__":2,"a\\"b":3,"ü":4},"truncated":true}',
    ]);
    front.service.resources.sizes = {
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
    expect(readChangedBody(Buffer.from(`{"entries":[${entry}]}`))).toEqual({
      kind: 'entries',
      entries: [{ ...ENTRY, ...expected }],
    });
  });

  test.each(['{}', '{"entries":[]}', '{"entries":null,"x":1}'])('%s asks for nothing', (body) => {
    expect(readChangedBody(Buffer.from(body))).toEqual({ kind: 'entries', entries: [] });
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

  test.each([
    ['"yesterday"', '"yesterday"'],
    ['5', '5'],
    ['"2026-10-14"', '"2026-10-14"'],
    ['{"a": 1}', '{"a": 1}'],
    ['""', '""'],
  ])('since %s', async (since, shown) => {
    const entries = `[{"queue":"q"},{"queue":"q","since":${since}},{"queue":"q","since":1}]`;
    const [status, text] = await post('partitions/changed', `{"entries":${entries}}`);
    expect([status, JSON.parse(text).error]).toEqual([
      400,
      `bad body: entry 1: since is not a timestamp: ${shown}`,
    ]);
    expect(front.service.resources.asked).toEqual([]);
  });

  test('a long value that is no timestamp is not sent back whole', async () => {
    const body = `{"entries":[{"queue":"q","since":"${'x'.repeat(100_000)}"}]}`;
    const [status, text] = await post('partitions/changed', body);
    expect([status, text.length < 400]).toEqual([400, true]);
  });

  test('at most 1,024 entries, and names that fit', async () => {
    const body = (count: number) => `{"entries":[${Array(count).fill('{"queue":"q"}').join(',')}]}`;
    expect(readChangedBody(Buffer.from(body(1024)))).toMatchObject({ kind: 'entries' });
    const [status, text] = await post('partitions/changed', body(1025));
    expect([status, JSON.parse(text).error]).toEqual([400, 'too many entries']);
    const long = `{"entries":[{"queue":"${'q'.repeat(500)}"}]}`;
    expect((await post('partitions/changed', long))[0]).toBe(413);
  });
});

test('changed: pages and errors', async () => {
  front.service.resources.pages = {
    kind: 'changed',
    safeUs: STAMP_US + 1,
    pages: [
      {
        kind: 'page',
        partitions: [{ name: 'c', id: UUID, lastOffset: 0, logStart: 0, lastWriteUs: STAMP_US }],
        next: 'p|12',
      },
      { kind: 'bad-cursor' },
      { kind: 'unknown-queue' },
    ],
  };
  const entries = '[{"queue":"a","limit":1},{"queue":"a","after":"n|x"},{"queue":"none"}]';
  expect(await post('partitions/changed', `{"entries":${entries}}`)).toEqual([
    200,
    `{"safeTime":"${STAMP.replace('120Z', '121Z')}","safeTimeDegraded":false,"entries":[` +
      `{"queue":"a","partitions":[{"name":"c","id":"${UUID}","lastOffset":0,"logStart":0,` +
      `"lastWriteAt":"${STAMP}"}],"next":"p|12"},{"queue":"a","error":"BAD_CURSOR"},` +
      '{"queue":"none","error":"UNKNOWN_TOPIC_OR_PARTITION"}]}',
  ]);
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

  test('at most 1,024 entries', async () => {
    const entries = Array(1025).fill('{"queue":"q","timestamp":0}').join(',');
    const [status, text] = await post('fetch/offsets', `{"entries":[${entries}]}`);
    expect([status, JSON.parse(text).error]).toEqual([400, 'too many entries']);
  });

  test('answers', async () => {
    const found = { highWatermark: 6, logStartOffset: 1 };
    front.service.resources.found = {
      kind: 'offsets',
      offsets: [
        { ...found, offset: 2, stampUs: STAMP_US, isUnknownQueue: false },
        { ...found, offset: null, stampUs: null, isUnknownQueue: true },
      ],
    };
    const entries = '[{"queue":"q","partition":"p","timestamp":1},{"queue":"none","timestamp":1}]';
    const tail = '"highWatermark":6,"logStartOffset":1';
    expect(await post('fetch/offsets', `{"entries":${entries}}`)).toEqual([
      200,
      `{"entries":[{"queue":"q","partition":"p","offset":2,"ts":"${STAMP}",${tail}},` +
        `{"queue":"none","partition":"Default","offset":null,"ts":null,${tail},` +
        '"error":"UNKNOWN_TOPIC_OR_PARTITION"}]}',
    ]);
  });
});
