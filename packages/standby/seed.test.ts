/** Goal: requests and heads are read as they were written, and nothing else is. */
import { expect, test } from 'vitest';
import {
  encodeSeedHead,
  encodeSeedRequest,
  parseSeedHead,
  parseSeedRequest,
  SEED_HEAD_BYTES_MAX,
  SEED_REQUEST_BYTES_MAX,
  type SeedRequest,
} from './seed.js';

const NAME = { index: 18, term: 2, digest: '0123456789abcdef', localDigest: 'f'.repeat(16) };
const REQUEST: SeedRequest = {
  reader: 'standby-5e1f09c2',
  attempt: 7,
  name: NAME,
  after: '\x01\xff\n\0',
};
const CLUSTER = '01a2b3c4-0000-7000-8000-000000000001';

test('what is written is read again, the longest too', () => {
  const longest = {
    ...REQUEST,
    reader: '"'.repeat(200),
    attempt: 2 ** 32 - 1,
    after: '\xff'.repeat(1978),
    name: { ...NAME, index: Number.MAX_SAFE_INTEGER, term: Number.MAX_SAFE_INTEGER },
  };
  for (const request of [REQUEST, longest, { ...REQUEST, name: null, after: null }]) {
    const text = encodeSeedRequest(request);
    expect(parseSeedRequest(text)).toEqual(request);
    expect(text.length).toBeLessThanOrEqual(SEED_REQUEST_BYTES_MAX);
  }
  const most = Number.MAX_SAFE_INTEGER;
  const head = { clusterId: CLUSTER, logIndex: most, logTerm: most };
  expect(parseSeedHead(encodeSeedHead(head))).toEqual(head);
  expect(encodeSeedHead(head).length).toBeLessThanOrEqual(SEED_HEAD_BYTES_MAX);
});

test.each<[string, unknown]>([
  ['the body is not a JSON object', []],
  ['reader is not a string of 1 to 200 characters', { ...REQUEST, reader: '' }],
  ['reader is not a string of 1 to 200 characters', { ...REQUEST, reader: 'x'.repeat(201) }],
  ['reader has a character that is no text', { ...REQUEST, reader: 'a\nb' }],
  ['reader has a character that is no text', { ...REQUEST, reader: 'a\ud800' }],
  ['attempt is not an integer below 2^32', { ...REQUEST, attempt: 2 ** 32 }],
  ['attempt is not an integer below 2^32', { ...REQUEST, attempt: '7' }],
  ['after is neither null nor a key in hexadecimal', { ...REQUEST, after: 'xy' }],
  ['after is neither null nor a key in hexadecimal', { ...REQUEST, after: 'abc' }],
  ['after is neither null nor a key in hexadecimal', { ...REQUEST, after: '' }],
  ['name is neither null nor the name of rows', { ...REQUEST, after: null, name: 3 }],
  [
    'name is neither null nor the name of rows',
    { ...REQUEST, after: null, name: { ...NAME, digest: 'x' } },
  ],
  [
    'name is neither null nor the name of rows',
    { ...REQUEST, after: null, name: { ...NAME, term: -1 } },
  ],
])('refused: %s', (error, body) => {
  expect(parseSeedRequest(JSON.stringify(body))).toEqual({ error });
});

test('what is no JSON is refused', () => {
  expect(parseSeedRequest('{')).toEqual({ error: 'the body is not a JSON object' });
});

test.each([
  '{',
  '[]',
  JSON.stringify({ clusterId: 'x', logIndex: 1, logTerm: 1 }),
  JSON.stringify({ clusterId: CLUSTER, logIndex: -1, logTerm: 1 }),
  JSON.stringify({ clusterId: CLUSTER, logIndex: 1 }),
])('%s is no head', (text) => {
  expect(parseSeedHead(text)).toBeNull();
});
