// Goal: messages are rendered with every member, and payload bytes come through unchanged.
// Method: the rendered text is parsed, and payloads are compared byte for byte.
import { messageId } from '@svc/wire';
import { expect, test } from 'vitest';
import { AnswerBytes } from '../exchange/answer-bytes.js';
import type { MessageBatch } from '../ports/service.js';
import { claimText, expectedBytes, recordsText } from './message-text.js';

const STAMP_US = 1_792_000_000_000_120;
const STAMP_TEXT = '2026-10-14T17:46:40.000120Z';

/** Payloads stand between other bytes, as they do in an append. */
function batchOf(
  payloads: readonly string[],
  transactionIds: readonly (string | null)[],
  columns: Partial<MessageBatch> = {},
): MessageBatch {
  const payloadStart: number[] = [];
  const payloadEnd: number[] = [];
  let bytes = Buffer.alloc(3, 0xff);
  for (const payload of payloads) {
    payloadStart.push(bytes.length);
    bytes = Buffer.concat([bytes, Buffer.from(payload)]);
    payloadEnd.push(bytes.length);
    bytes = Buffer.concat([bytes, Buffer.alloc(2, 0xff)]);
  }
  return {
    bytes: new Uint8Array(bytes),
    payloadStart,
    payloadEnd,
    stampUs: STAMP_US,
    baseOffset: 40,
    first: 0,
    last: payloads.length - 1,
    transactionIds,
    producerSubs: null,
    traceIds: null,
    ...columns,
  };
}

const utf8 = (text: string): string => Buffer.from(text, 'latin1').toString('utf8');

test('a claim', () => {
  const text = utf8(
    claimText(
      {
        queue: 'shop "ü"',
        partition: 'p\n1',
        partitionNumber: 12,
        deliveryAttempt: 3,
        batches: [
          batchOf(['{"n":1.50}', 'null'], ['lbl-1', null], {
            producerSubs: ['sub ü', null],
            traceIds: [null, 'trace-1'],
          }),
        ],
      },
      'lease-1',
      'printer',
    ),
  );
  expect(text).toContain('"data":{"n":1.50},');
  const shared = {
    queue: 'shop "ü"',
    createdAt: STAMP_TEXT,
    partitionId: '12',
    partition: 'p\n1',
    leaseId: 'lease-1',
    consumerGroup: 'printer',
    deliveryAttempt: 3,
    retryCount: 2,
  };
  const implicit = messageId(STAMP_US, 12, true, 41);
  expect(JSON.parse(`[${text}]`)).toEqual([
    {
      ...shared,
      id: messageId(STAMP_US, 12, false, 40),
      transactionId: 'lbl-1',
      traceId: null,
      data: { n: 1.5 },
      producerSub: 'sub ü',
      offset: 40,
    },
    {
      ...shared,
      id: implicit,
      transactionId: implicit,
      traceId: 'trace-1',
      data: null,
      producerSub: null,
      offset: 41,
    },
  ]);
});

test('only the messages between first and last, over several appends', () => {
  const batches = [
    batchOf(['0', '1', '2'], [null, null, null], { first: 1, last: 2 }),
    batchOf(['3', '4'], [null, null], { baseOffset: 43, last: 0 }),
  ];
  const claim = { queue: 'q', partition: 'p', partitionNumber: 1, deliveryAttempt: 1, batches };
  const messages = JSON.parse(`[${claimText(claim, '', 'g')}]`);
  expect(
    messages.map((message: { data: number; offset: number }) => [message.data, message.offset]),
  ).toEqual([
    [1, 41],
    [2, 42],
    [3, 43],
  ]);
});

test('payload bytes are what was pushed', () => {
  const payloads = [
    '{"b":1,"a":1.0,"x":12345678901234567890,"b":2}',
    '"\\ud800 \\u00fc ü € 😀"',
    '[ 1 ,\n 2 ]',
    `"${'€'.repeat(5000)}"`,
  ];
  const batch = batchOf(
    payloads,
    payloads.map(() => null),
  );
  const records = utf8(recordsText(5, [batch]));
  for (const payload of payloads) expect(records).toContain(`"payload":${payload},"ts"`);
  expect(JSON.parse(`[${records}]`)[2]).toEqual({
    offset: 42,
    transactionId: messageId(STAMP_US, 5, true, 42),
    payload: [1, 2],
    ts: STAMP_TEXT,
  });
  expect(recordsText(5, [])).toBe('');
});

test('a large answer is the same bytes, written as they come', () => {
  const payloads = Array.from(
    { length: 300 },
    (_, i) => `"${'ü'.repeat(i % 7 === 0 ? 9_000 : i)}"`,
  );
  const ids = payloads.map((_, i) => (i % 3 === 0 ? null : `id-${i}`));
  const batches = [batchOf(payloads, ids), batchOf(payloads, ids, { first: 7, last: 8 })];
  const claim = { queue: 'q', partition: 'p', partitionNumber: 1, deliveryAttempt: 1, batches };
  for (const expected of [1, expectedBytes(batches)]) {
    const popped = new AnswerBytes(expected);
    popped.write(claimText(claim, 'l', 'g', popped));
    expect(popped.finish().toString('latin1')).toBe(claimText(claim, 'l', 'g'));
    const fetched = new AnswerBytes(expected);
    fetched.write(recordsText(1, batches, fetched));
    expect(fetched.finish().toString('latin1')).toBe(recordsText(1, batches));
  }
  expect(expectedBytes(batches)).toBeGreaterThan(claimText(claim, 'l', 'g').length);
});
