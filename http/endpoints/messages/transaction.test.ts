// Goal: the transaction route reads every part of its body, refuses each wrong one in the
// contract's words (message-plane 6, 13 D16), and renders both outcomes. Method: bodies by table,
// and real requests against a fake service.
import type { TransactionCommand } from '@svc/engine';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { TestFront } from '../../testing/front.fake.js';
import { readTransactionBody } from './transaction-body.js';

const read = (text: string) => readTransactionBody(Buffer.from(text), { mode: 'all' });
const operation = (text: string) => read(`{"operations":[${text}]}`);
const position = (text: string) => read(`{"positions":[${text}]}`).positions[0];

const ACK = {
  transactionId: 'a',
  partitionId: '12',
  leaseId: '',
  status: 'completed',
  error: null,
  consumerGroup: '__QUEUE_MODE__',
} as const;

describe('bodies', () => {
  test('null is an absent array, and other members are ignored', () => {
    const ack = '{"transactionId":"a","partitionId":"12","type":"ack","items":3,"x":{}}';
    const rest = '"kv":null,"timers":[],"positions":null,"requiredLeases":null,"other":1';
    expect(read(`{"operations":[${ack}],${rest}}`).acks).toEqual([ACK]);
    const push = '{"type":"push","items":null,"queue":"q","payload":1,"partitionId":5}';
    expect(operation(push).slots).toEqual(['push']);
    expect(operation('{"type":"push","items":[]}').slots).toEqual([]);
  });

  test.each([
    // Own leases of the acks, those required, and what each ack is given.
    [['L', ''], [], ['L', 'L']],
    [['', ''], ['L'], ['L', 'L']],
    [
      ['L', ''],
      ['L', 'L'],
      ['L', 'L'],
    ],
    [['L', ''], ['M'], ['L', '']],
    [['L', 'M', ''], [], ['L', 'M', '']],
    [[''], ['L', 'M'], ['']],
    [[''], [], ['']],
    [[''], [''], ['']],
  ])('leases %j with %j required are %j', (own, required, given) => {
    const acks = own.map((leaseId, i) => {
      return { type: 'ack', transactionId: 'a', partitionId: '1', ...(i === 9 ? {} : { leaseId }) };
    });
    const body = JSON.stringify({ operations: acks, requiredLeases: required });
    expect(read(body).acks.map(({ leaseId }) => leaseId)).toEqual(given);
  });

  test('positions', () => {
    const given = '"queue":"q","consumerGroup":"g"';
    const plain = {
      queue: 'q',
      consumerGroup: 'g',
      partition: 'Default',
      offset: 0,
      metadata: null,
      subscription: { mode: 'all' },
    };
    expect(position(`{${given},"offset":0}`)).toEqual(plain);
    expect(position(`{${given},"offset":null,"partition":""}`)).toEqual({ ...plain, offset: null });
    const rest = '"partition":"p","metadata":"m","subscriptionMode":"New-Only"';
    expect(position(`{${given},"offset":9007199254740991,${rest}}`)).toEqual({
      ...plain,
      partition: 'p',
      offset: 9007199254740991,
      metadata: 'm',
      subscription: { mode: 'new' },
    });
  });

  const NO_PARTS = 'transaction requires an operations array (or a top-level kv/timers array)';
  const NO_PUSH = 'a push operation needs queue and payload';
  const TOP_LEVEL =
    'kv and timer operations are TOP-LEVEL arrays of the request ("kv":[...], "timers":[...]), ' +
    'never elements of `operations`';
  const GIVEN = '"queue":"q","consumerGroup":"g"';
  const OFFSET = 'positions[0]: offset is a non-negative integer or null';

  test.each([
    ['{"operations":null}', NO_PARTS],
    ['{"timers":1}', 'timers must be an array'],
    ['{"requiredLeases":[1],"operations":[]}', 'a required lease must be a string'],
    ['{"operations":[{"type":"kv","items":4}]}', TOP_LEVEL],
    ['{"operations":[{"x":1,"type":"timer"}]}', TOP_LEVEL],
    [
      '{"operations":[{"type":"pop"}]}',
      'transaction supports only push and ack operations, got `pop`',
    ],
    ['{"operations":[{"type":"push","queue":"q"}]}', NO_PUSH],
    ['{"operations":[{"type":"push","items":{}}]}', 'items must be an array'],
    ['{"operations":[{"type":"push","items":[3]}]}', 'an item must be an object'],
    ['{"operations":[{"type":"push","queue":1,"payload":1}]}', 'queue must be a string'],
    [
      '{"operations":[{"type":"ack","transactionId":"a","partitionId":"x1"}]}',
      'partitionId is not a partition id',
    ],
    ['{"operations":[{"type":"ack","partitionId":"1"}]}', 'an ack operation needs transactionId'],
    [
      '{"operations":[{"type":"ack","transactionId":"a","partitionId":1}]}',
      'partitionId must be a string',
    ],
    ['{"operations":[{"type":"ack","type":"ack"}]}', 'duplicate field `type`'],
    [
      '{"positions":[{"queue":"q","consumerGroup":"g","offset":1,"subscriptionMode":"latest"}]}',
      'positions[0]: subscriptionMode must be `all` or `new` ' +
        '(also `new-only`, `new_only`, `newonly`)',
    ],
    ['{"positions":[{"queue":7}]}', 'positions[0]: queue is required'],
    [
      '{"positions":[{"queue":"q","consumerGroup":"","offset":1}]}',
      'positions[0]: consumerGroup is required',
    ],
    [
      `{"positions":[{${GIVEN},"offset":1},{${GIVEN}}]}`,
      'positions[1]: offset is required (null forgets the position)',
    ],
    ...['-1', '1.5', '1e3', '"1"', '9007199254740993', 'true'].map((offset) => [
      `{"positions":[{${GIVEN},"offset":${offset}}]}`,
      OFFSET,
    ]),
    [`{"positions":[{${GIVEN},"offset":1,"metadata":2}]}`, 'positions[0]: metadata is a string'],
    [`{"positions":[{${GIVEN},"offset":1,"partition":2}]}`, 'partition must be a string'],
    ['{"operations":[]} x', 'trailing characters'],
    ['', 'the body is empty'],
  ])('%s is refused', (body = '', error = '') => {
    expect(() => read(body)).toThrow(error);
  });

  test('bounds', () => {
    const many = (count: number, one: string) => Array(count).fill(one).join(',');
    const place = `{${GIVEN},"offset":1}`;
    expect(read(`{"positions":[${many(16_384, place)}]}`).positions).toHaveLength(16_384);
    expect(() => read(`{"positions":[${many(16_390, place)}]}`)).toThrow(
      '16390 positions in one call, the ceiling is 16384',
    );
    const item = '{"queue":"q","payload":0}';
    const push = (count: number) => `{"type":"push","items":[${many(count, item)}]}`;
    expect(operation(push(100_000)).slots).toHaveLength(100_000);
    const ack = '{"type":"ack","transactionId":"a","partitionId":"1"}';
    expect(() => operation(`${push(100_000)},${ack}`)).toThrow('more than 100000 operations');
  });
});

describe('requests', () => {
  let front: TestFront;

  beforeEach(async () => {
    front = await TestFront.start();
  });
  afterEach(() => front.stop());

  const post = async (body: string) => {
    const { status, body: text } = await front.client().request('/api/v1/transaction', { body });
    return { status, text, answer: JSON.parse(text) };
  };
  const last = () => front.service.submitted.at(-1) as TransactionCommand;

  test("names of pushes and acks refuse the call, a position's are the planner's", async () => {
    const name = 'n'.repeat(412);
    const ack = { type: 'ack', transactionId: 'a', partitionId: '1', consumerGroup: name };
    for (const one of [{ type: 'push', queue: name, payload: 1 }, ack]) {
      const { status, answer } = await post(JSON.stringify({ operations: [one] }));
      expect([status, answer.code]).toEqual([413, 'name_too_long']);
    }
    const place = { queue: 'q', consumerGroup: 'g', offset: 1 };
    await post(JSON.stringify({ positions: [place, { ...place, partition: name }, place] }));
    expect(last()).toMatchObject({
      positions: [place],
      flaw: {
        reason: 'name_too_long',
        error: expect.stringMatching(/^positions\[1\]: partition name is 412 bytes; the composite/),
      },
    });
    await post(JSON.stringify({ positions: [{ ...place, metadata: 'é'.repeat(2049) }] }));
    expect(last()).toMatchObject({
      positions: [],
      flaw: { reason: 'too_large', error: 'positions[0]: metadata of 4098 B exceeds 4096 B' },
    });
    await post(JSON.stringify({ positions: [{ ...place, metadata: 'é'.repeat(2048) }] }));
    expect(last()).toMatchObject({ flaw: null });
  });
});
