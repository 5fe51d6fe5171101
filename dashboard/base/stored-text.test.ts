// Goal: what is typed is stored as it is typed, and an id says where its message is.
import { messageId } from '@svc/wire';
import { expect, test } from 'vitest';
import { placeOfMessage } from './message-id.js';
import { faultOfJson, pushBody } from './stored-text.js';

test('a payload goes into the body of a push as its text', () => {
  const payload = '{"big":12345678901234567890, "one":1.0}';
  const body = pushBody({ queue: 'a"b', partition: '', transactionId: 't' }, payload);
  expect(body).toBe(`{"items":[{"queue":"a\\"b","transactionId":"t","payload":${payload}}]}`);
});

test('what is no JSON is said while it is typed', () => {
  expect(faultOfJson('null')).toBeNull();
  expect(faultOfJson('[1.0]')).toBeNull();
  expect(faultOfJson(' ')).toContain('needed');
  expect(faultOfJson('{"a":')).toMatch(/JSON/);
  expect(faultOfJson('1}, {"queue":"other","payload":1')).toMatch(/JSON/);
});

test.each([
  [1, false, 0],
  [17, true, 41],
  [0xffff_ffff, true, 2 ** 41 - 1],
  [0x0123_4567, false, 2 ** 33 + 5],
])('an id names partition %i, implicit %s, offset %i', (partition, isImplicit, offset) => {
  const ms = 1_795_688_130_123;
  const id = messageId(ms * 1000 + 456, partition, isImplicit, offset);
  const place = { ms, partition, isImplicit, offset };
  expect(placeOfMessage(` ${id.toUpperCase()}`)).toEqual(place);
});

test('another text is no message id', () => {
  for (const text of ['', 'order-1', '01a218fd-21aa-4000-8000-04000000001b']) {
    expect(placeOfMessage(text)).toBeNull();
  }
});
