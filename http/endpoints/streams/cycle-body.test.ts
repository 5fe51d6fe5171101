/**
 * Goal: a cycle's body becomes columns that point at the very bytes that were sent, whatever its
 * elements leave out. Method: bodies and what is read of them.
 */
import { expect, test } from 'vitest';
import { STREAM_CYCLE_ITEMS_MAX } from '../../base/limits.js';
import { JsonError } from '../../json/json-error.js';
import { readStreamCycleBody } from './cycle-body.js';

const ID = '0193f0c4-1a2b-7c3d-8e4f-5a6b7c8d9e0f';

function read(fields: string) {
  return readStreamCycleBody(Buffer.from(`{"query_id":"${ID}","partition_id":"1"${fields}}`));
}

/** Key, value or null for a deletion, and window end of each operation. */
function ops(list: string): [string, string | null, number | null][] {
  const { state, bytes } = read(`,"state_ops":[${list}]`);
  return state.keys.map((key, i) => [
    key,
    state.isDelete[i] ? null : bytes.toString('utf8', state.valueStart[i], state.valueEnd[i]),
    state.windowEnds[i] ?? null,
  ]);
}

function payloads(list: string): string[] {
  const { pushes, bytes } = read(`,"push_items":[${list}]`);
  return pushes.payloadStart.map((start, i) => bytes.toString('utf8', start, pushes.payloadEnd[i]));
}

test('values are the bytes that were sent', () => {
  expect(ops('{"type":"upsert","key":"a","value":{"n": 1.0}},{"value":[ ],"key":"é"}')).toEqual([
    ['a', '{"n": 1.0}', null],
    ['é', '[ ]', null],
  ]);
  expect(ops('{"key":"a"},{"key":"b","value":null},{"key":"c","type":"delete","value":1}')).toEqual(
    [
      ['a', '', null],
      ['b', 'null', null],
      ['c', null, null],
    ],
  );
  expect(ops('1,null,"x",[{}],{},{"key":1},{"value":2}')).toEqual([]);
});

test('a window end is an integer member of an object, the last one of the name', () => {
  const end = (value: string) => ops(`{"value":${value},"key":"k"}`)[0]?.[2];
  expect(end('{"windowEnd":1787133720000,"acc":{"windowEnd":5}}')).toBe(1_787_133_720_000);
  expect(end('{"acc":{"windowEnd":5}}')).toBe(null);
  expect(end('{"windowEnd":-7}')).toBe(-7);
  expect(end('{"windowEnd":1,"windowEnd":2}')).toBe(2);
  expect(end('{"windowEnd":1,"windowEnd":"x"}')).toBe(null);
  expect(end('{"window\\u0045nd":3}')).toBe(3);
  for (const other of ['1.5', '1.0', '1e3', '"1"', 'null', '9007199254740993', '[1]', '{}']) {
    expect([other, end(`{"windowEnd":${other}}`)]).toEqual([other, null]);
  }
  for (const value of ['1', '"windowEnd"', '[{"windowEnd":1}]', 'null']) {
    expect([value, end(value)]).toEqual([value, null]);
  }
});

test('an item without a payload gets an empty object', () => {
  const q = '"queue":"q"';
  expect(payloads(`{${q}},{${q},"data":1},{"data":1,"payload":[2],${q}},{${q}}`)).toEqual([
    '{}',
    '1',
    '[2]',
    '{}',
  ]);
  expect(read(`,"push_items":[{${q},"data":1}]`).bytes.toString()).not.toMatch(/\}\{\}$/);
});

test('an id of a message is a UUID in any spelling, and its transaction id without another', () => {
  const id = '0193f0c4-1a2b-7c3d-8e4f-5a6b7c8d9e0f';
  const { messageIds, pushes } = read(
    `,"push_items":[{"messageId":"${id}"},{"queue":"q"},` +
      `{"queue":"q","messageId":"${id.toUpperCase()}"},{"queue":"q","messageId":"x"},` +
      `{"queue":"q","messageId":"${id}","transactionId":"t"}]`,
  );
  expect(messageIds).toEqual([null, id, null, id]);
  expect(pushes.transactionIds).toEqual([null, id, null, 't']);
  expect(read(',"push_items":[{"queue":"q","messageId":7}]').messageIds).toBe(undefined);
});

test('an acknowledgement that says nothing completes the batch', () => {
  expect(read(',"ack":{}').ack).toEqual({ leaseId: '', completed: true, count: 0 });
  expect(read(',"ack":{"leaseId":"l","status":"OK","count":-1}').ack).toEqual({
    leaseId: 'l',
    completed: true,
    count: 0,
  });
  expect(read(',"ack":{"status":{}}').ack?.completed).toBe(false);
  expect(read(',"ack":null').ack).toBe(null);
  expect(read('').releaseLease).toBe(true);
});

test('what is no body of this route is refused', () => {
  for (const fields of [
    ',"ack":[]',
    ',"state_ops":5',
    ',"state_ops":[{"key":"a","key":"b"}]',
    ',"state_ops":[{"key":"\\ud800"}]',
    ',"push_items":[{"queue":"a\\u0000"}]',
    ',"release_lease":1',
    ',"ack":{"count":"1"}',
    `,"state_ops":[${'1,'.repeat(STREAM_CYCLE_ITEMS_MAX)}1]`,
    `,"push_items":[${'1,'.repeat(STREAM_CYCLE_ITEMS_MAX)}1]`,
  ]) {
    expect(() => read(fields), fields.slice(0, 40)).toThrow(JsonError);
  }
});
