// Goal: the transaction route reads every part of its body, refuses each wrong one in the
// contract's words (message-plane 6, 13 D16), and renders both outcomes. Method: bodies by table,
// and real requests against a fake service.
import type { TransactionCommand } from '@svc/engine';
import { DEFAULT_TENANT, isUuid } from '@svc/wire';
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
  test('operations are flattened in their order', () => {
    const body =
      '{"operations":[{"type":"ack","transactionId":"a","partitionId":"12"},' +
      '{"items":[{"queue":"q","payload":1},{"queue":"r","partition":"p","payload":[2],' +
      '"transactionId":"t"}],"type":"push"},' +
      '{"type":"push","queue":"q","partition":null,"payload":null}]}';
    const { slots, acks, pushes, traceIds, positions } = read(body);
    expect(slots).toEqual(['ack', 'push', 'push', 'push']);
    expect(acks).toEqual([ACK]);
    expect(pushes.groups).toEqual([
      { queue: 'q', partition: 'Default' },
      { queue: 'r', partition: 'p' },
    ]);
    expect(pushes.itemGroup).toEqual([0, 1, 0]);
    expect(pushes.transactionIds).toEqual([null, 't', null]);
    const payloads = pushes.payloadStart.map((start, i) => body.slice(start, pushes.payloadEnd[i]));
    expect(payloads).toEqual(['1', '[2]', 'null']);
    expect([traceIds, positions]).toEqual([null, []]);
  });

  test('trace ids are kept, and what is no UUID is ignored', () => {
    const id = '01A2B3C4-0000-7000-8000-00000000CAFE';
    const item = (traceId: unknown) =>
      `{"type":"push","queue":"q","payload":1,"traceId":${JSON.stringify(traceId)}}`;
    expect(operation(['x', null, 7].map(item).join()).traceIds).toBeNull();
    const { traceIds } = operation([null, id, 'no', { a: 1 }, id].map(item).join());
    expect(traceIds).toEqual([null, id.toLowerCase(), null, null, id.toLowerCase()]);
  });

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
  const BODY =
    '{"operations":[{"type":"ack","transactionId":"ä","partitionId":"12","consumerGroup":"g",' +
    '"leaseId":"L","status":"dlq","error":"jam"},{"type":"push","items":[' +
    '{"queue":"out","payload":{"n":1.50},"transactionId":"r"},{"queue":"out","payload":2},' +
    '{"queue":"out","payload":3,"transactionId":"r"}]}],' +
    '"positions":[{"queue":"out","consumerGroup":"audit","offset":4}]}';
  const IDS = [1, 2].map((n) => `01a2b3c4-2222-7000-8000-00000000000${n}`);

  test('a commit', async () => {
    front.service.onSubmit = (_, reply) => {
      const messageIds = [IDS[0] ?? '', IDS[1] ?? '', IDS[0] ?? ''];
      const pushed = { kind: 'pushed', status: Uint8Array.of(0, 0, 1), messageIds } as const;
      reply.send({
        kind: 'transacted',
        rollback: null,
        filed: [0],
        pushed,
        kv: null,
        timers: null,
      });
    };
    const { status, text, answer } = await post(BODY);
    expect(status).toBe(200);
    expect(isUuid(answer.transactionId)).toBe(true);
    expect(text).toBe(
      `{"transactionId":"${answer.transactionId}","success":true,"results":[` +
        '{"index":0,"type":"ack","success":true,"transactionId":"ä","error":null,"dlq":true},' +
        '{"index":1,"type":"push","success":true,"transactionId":"r",' +
        `"messageId":"${IDS[0]}","queueName":"out"},` +
        `{"index":2,"type":"push","success":true,"transactionId":"${IDS[1]}",` +
        `"messageId":"${IDS[1]}","queueName":"out"},` +
        '{"index":3,"type":"push","success":true,"transactionId":"r",' +
        `"messageId":"${IDS[0]}","queueName":"out","duplicate":true},` +
        '{"index":4,"opIndex":0,"type":"position","success":true}]}',
    );
    expect(last()).toMatchObject({
      kind: 'transaction',
      tenant: DEFAULT_TENANT,
      acks: [{ transactionId: 'ä', leaseId: 'L', status: 'dlq', error: 'jam', consumerGroup: 'g' }],
      pushes: { kind: 'push', producerSub: null, itemGroup: [0, 0, 0] },
      positions: [{ queue: 'out', offset: 4 }],
      flaw: null,
    });
    expect(front.server.meters.calls).toMatchObject({ pushMessages: 3, ackMessages: 1 });
  });

  test('a call that is wrong is refused in the same shape', async () => {
    const long = { type: 'push', queue: 'q', payload: 1, transactionId: 'x'.repeat(65_536) };
    for (const [body, error] of [
      ['{"operations":[{"type":"kv"}]}', /^kv and timer operations are TOP-LEVEL/],
      ['{"operations":', /^bad body: .* at byte 14$/],
      [JSON.stringify({ operations: [long] }), /^transactionId exceeds the 65535-byte limit$/],
    ] as const) {
      const { status, answer } = await post(body);
      expect(status).toBe(400);
      expect(answer).toEqual({
        transactionId: expect.any(String),
        success: false,
        reason: 'bad_request',
        error: expect.stringMatching(error),
        results: [],
      });
    }
    expect(front.service.submitted).toEqual([]);
  });

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
