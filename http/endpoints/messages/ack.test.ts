// Goal: both ack routes read both shapes and render every verdict. Method: bodies by table, and
// real requests against a fake service.
import { DEFAULT_TENANT } from '@svc/wire';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { TestFront } from '../../testing/front.fake.js';
import { readAckBody } from './ack.js';

const read = (text: string): ReturnType<typeof readAckBody> => readAckBody(Buffer.from(text));

const ITEM = {
  transactionId: '',
  partitionId: '',
  leaseId: '',
  status: 'completed',
  error: null,
} as const;

describe('bodies', () => {
  test('what an item repeats of the one before it, and what only begins or ends alike', () => {
    const acks = [
      ['L', '12'],
      ['L', '12'],
      ['Lx', '1'],
      ['L', '12'],
      ['', ''],
      ['L\u0022', '12'],
      ['L\u0022', '12'],
      ['ü', '12'],
      ['ü', '12'],
    ].map(([leaseId, partitionId]) => ({ leaseId, partitionId, status: 'Completed' }));
    const text = JSON.stringify({ acknowledgments: acks });
    const items = acks.map((ack) => ({ ...ITEM, ...ack, status: 'completed' }));
    expect(read(text).items).toEqual(items);
    // Another spelling of the same text.
    expect(read(text.replaceAll('"L"', '"\\u004c"')).items).toEqual(items);
  });

  test.each([
    ['{"leaseId":{}}', 'leaseId must be a string'],
    ['{"error":["x"]}', 'error must be a string'],
    ['{"acknowledgments":[{"leaseId":"a","leaseId":"b"}]}', 'duplicate field `leaseId`'],
    ['{"transactionId":"\\ud800"}', 'transactionId holds a lone surrogate'],
    ['{"consumerGroup":"g\\u0000"}', 'consumerGroup holds a NUL character at byte 17'],
    ['{} {}', 'trailing characters'],
  ])('%s is refused', (text, message) => {
    expect(() => read(text)).toThrow(message);
  });

  test('at most 100,000 acknowledgments', () => {
    const acks = (count: number): string =>
      `{"acknowledgments":[${Array(count).fill('{}').join(',')}]}`;
    expect(read(acks(100_000)).items).toHaveLength(100_000);
    expect(() => read(acks(100_001))).toThrow('more than 100000 acknowledgments');
  });
});

describe('requests', () => {
  let front: TestFront;

  beforeEach(async () => {
    front = await TestFront.start();
    front.service.onSubmit = (command, reply) => {
      if (command.kind !== 'ack') throw new Error('an ack was expected');
      const verdict = { success: true, error: null, leaseReleased: true, dlq: false, noop: false };
      const items = command.items.map((item) =>
        item.transactionId === 'ü'
          ? {
              success: false,
              error: 'unresolvable: "x"',
              leaseReleased: false,
              dlq: true,
              noop: true,
            }
          : verdict,
      );
      reply.send({ kind: 'acked', items });
    };
  });
  afterEach(() => front.stop());

  test.each(['/api/v1/ack', '/api/v1/ack/batch'])('%s', async (path) => {
    const body =
      '{"consumerGroup":"g","acknowledgments":[{"transactionId":"a","partitionId":"1"},' +
      '{"transactionId":"ü","partitionId":"1"}]}';
    const answer = await front.client().request(path, { body });
    expect(answer.status).toBe(200);
    expect(answer.body).toBe(
      '[{"index":0,"transactionId":"a","success":true,"error":null,"leaseReleased":true,' +
        '"dlq":false,"noop":false},{"index":1,"transactionId":"ü","success":false,' +
        '"error":"unresolvable: \\"x\\"","leaseReleased":false,"dlq":true,"noop":true}]',
    );
    expect(front.service.submitted[0]).toMatchObject({
      kind: 'ack',
      tenant: DEFAULT_TENANT,
      consumerGroup: 'g',
    });
    expect(front.server.meters.calls).toMatchObject({ ackRequests: 1, ackMessages: 2 });
  });

  test('many at a time: each has its own verdict, and texts keep their bytes', async () => {
    const ids = ['a', 'b', 'ü', 'ü', 'c "d"', '日本'];
    const acks = ids.map((transactionId) => ({ transactionId, partitionId: '1', leaseId: 'L' }));
    const body = JSON.stringify({ consumerGroup: 'g', acknowledgments: acks });
    const { status, body: text } = await front.client().request('/api/v1/ack', { body });
    expect(status).toBe(200);
    const done = { success: true, error: null, leaseReleased: true, dlq: false, noop: false };
    const error = 'unresolvable: "x"';
    const not = { success: false, error, leaseReleased: false, dlq: true, noop: true };
    expect(JSON.parse(text)).toEqual(
      ids.map((transactionId, index) => ({
        index,
        transactionId,
        ...(transactionId === 'ü' ? not : done),
      })),
    );
  });

  test('refusals', async () => {
    const client = front.client();
    const bad = await client.request('/api/v1/ack', { body: '{"partitionId":12}' });
    expect([bad.status, JSON.parse(bad.body)]).toEqual([
      400,
      { error: 'bad ack body: partitionId must be a string at byte 15', code: 'bad_body' },
    ]);
    const long = await client.request('/api/v1/ack', {
      body: `{"consumerGroup":"${'g'.repeat(412)}"}`,
    });
    expect([long.status, JSON.parse(long.body).code]).toEqual([413, 'name_too_long']);
    expect(front.service.submitted).toEqual([]);
  });
});
