// Goal: the body of a pop with acknowledgements becomes two commands, and its answer tells both.
// Method: bodies by table, and real requests against a fake service.
import type { AckedOutcome } from '@svc/engine';
import { DEFAULT_TENANT } from '@svc/wire';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { AckedPop } from '../../ports/service.js';
import { TestFront } from '../../testing/front.fake.js';
import { readPopBody } from './ack-and-pop.js';

const read = (text: string): ReturnType<typeof readPopBody> => readPopBody(Buffer.from(text));

describe('bodies', () => {
  test.each([
    ['{}', { consumerGroup: '', acks: [] }],
    ['{"acks":null,"consumerGroup":null,"more":[1]}', { consumerGroup: '', acks: [] }],
    ['{"acks":[],"consumerGroup":"g"}', { consumerGroup: 'g', acks: [] }],
  ])('%s', (text, expected) => {
    expect(read(text)).toEqual({ ...expected, length: text.length });
  });

  test('an item is that of an ack', () => {
    const [ack] = read('{"acks":[{"transactionId":"a","partitionId":"1","status":"DLQ"}]}').acks;
    const expected = { transactionId: 'a', partitionId: '1', leaseId: '' };
    expect(ack).toEqual({ ...expected, status: 'dlq', error: null });
  });

  const acks = (count: number): string => `{"acks":[${Array(count).fill('{}').join(',')}]}`;

  test.each([
    ['', 'body'],
    ['[]', 'the body'],
    ['{"acks":{}}', 'acks'],
    ['{"acks":[1]}', 'an acknowledgment'],
    ['{"acks":[],"acks":[]}', 'duplicate field `acks`'],
    ['{"acks":[{"leaseId":7}]}', 'leaseId must be a string'],
    [acks(257), 'more than 256 acks'],
  ])('%.30s is refused', (text, message) => {
    expect(() => read(text)).toThrow(message);
  });

  test('256 acks and 64 KiB at most', () => {
    expect(read(acks(256)).acks).toHaveLength(256);
    const padded = (bytes: number) => `{"acks":[]${' '.repeat(bytes - 11)}}`;
    expect(read(padded(65_536)).acks).toEqual([]);
    expect(() => read(padded(65_537))).toThrow('65536 bytes at most');
  });
});

describe('requests', () => {
  const ACKED: AckedOutcome = {
    kind: 'acked',
    items: [
      { success: true, error: null, leaseReleased: true, dlq: false, noop: false },
      { success: false, error: 'a "text"', leaseReleased: false, dlq: false, noop: false },
    ],
  };
  const VERDICTS =
    '[{"index":0,"transactionId":"a","success":true,"error":null,"leaseReleased":true,' +
    '"dlq":false,"noop":false},{"index":1,"transactionId":"ü","success":false,' +
    '"error":"a \\"text\\"","leaseReleased":false,"dlq":false,"noop":false}]';
  const BODY = '{"acks":[{"transactionId":"a","partitionId":"1"},{"transactionId":"ü"}]}';
  const EMPTY = { kind: 'delivered', leaseId: '', claims: [], terms: null } as const;
  let front: TestFront;

  beforeEach(async () => {
    front = await TestFront.start();
  });
  afterEach(() => front.stop());

  function answerWith(popped: AckedPop['popped']): void {
    front.service.onAckAndPop = (_acks, _pop, reply) =>
      reply.send({ kind: 'acked-pop', acked: ACKED, popped });
  }

  test.each([
    ['/api/v1/pop/queue/q', { kind: 'queue', queue: 'q' }],
    ['/api/v1/pop/queue/q/partition/p', { kind: 'partition', queue: 'q', partition: 'p' }],
  ])('%s takes the query of the GET, and nothing to deliver is 200', async (path, scope) => {
    answerWith(EMPTY);
    const query = 'consumerGroup=g&wait=true&timeout=900&batch=7';
    const answer = await front.client().request(`${path}?${query}`, { body: BODY });
    expect([answer.status, answer.body]).toEqual([
      200,
      `{"success":true,"acks":${VERDICTS},"queue":"q","partition":"",` +
        '"partitionId":"","leaseId":"","consumerGroup":"g","messages":[],"partitionsClaimed":0}',
    ]);
    const [acks] = front.service.submitted;
    expect(acks).toMatchObject({ kind: 'ack', tenant: DEFAULT_TENANT, consumerGroup: 'g' });
    const asked = { scope, consumerGroup: 'g', wait: true, batch: 7 };
    expect(front.service.pops[0]).toMatchObject(asked);
    const counted = { popRequests: 1, popMessages: 0, ackRequests: 1, ackMessages: 2 };
    expect(front.server.meters.calls).toMatchObject(counted);
  });

  test('while the pop waits the body counts by its length, not as a slab', async () => {
    const { budget } = front.rim;
    const used = new Promise<number>((resolve) => {
      front.service.onAckAndPop = (_acks, _pop, reply) => {
        resolve(budget.used('drain'));
        reply.send({ kind: 'acked-pop', acked: ACKED, popped: EMPTY });
      };
    });
    await front.client().request('/api/v1/pop/queue/q?wait=true', { body: BODY });
    expect([await used, budget.used('drain')]).toEqual([2 * Buffer.byteLength(BODY), 0]);
  });

  test('acks of another group than the pop; without acks none are counted', async () => {
    front.service.onAckAndPop = (acks, _pop, reply) => {
      const items = acks.items.map(() => ACKED.items[0] as AckedOutcome['items'][0]);
      reply.send({ kind: 'acked-pop', acked: { kind: 'acked', items }, popped: EMPTY });
    };
    const client = front.client();
    const path = '/api/v1/pop/queue/q?consumerGroup=g';
    await client.request(path, { body: '{"consumerGroup":"h","acks":[{}]}' });
    expect(front.service.submitted[0]).toMatchObject({ consumerGroup: 'h' });
    const none = await client.request(path, { body: '{"consumerGroup":""}' });
    expect(JSON.parse(none.body)).toMatchObject({ acks: [], messages: [] });
    expect(front.service.submitted[1]).toMatchObject({ consumerGroup: 'g', items: [] });
    const counted = { popRequests: 2, ackRequests: 1, ackMessages: 1 };
    expect(front.server.meters.calls).toMatchObject(counted);
  });

  test('a refusal of the pop alone has the verdicts, one of the acks none', async () => {
    const refusal = { reason: 'overloaded', error: 'no room' } as const;
    answerWith({ kind: 'refused', refusal });
    const path = '/api/v1/pop/queue/q';
    const popRefused = await front.client().request(path, { body: BODY });
    const error = '"error":"no room","code":"overloaded"';
    expect([popRefused.status, popRefused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(popRefused.body).toBe(`{${error},"acks":${VERDICTS}}`);
    front.service.onAckAndPop = (_acks, _pop, reply) => reply.send({ kind: 'refused', refusal });
    const refused = await front.client().request(path, { body: BODY });
    expect([refused.status, refused.body]).toEqual([503, `{${error}}`]);
  });

  test.each([
    ['/api/v1/pop/queue/q?batch=x', BODY, 400, 'bad_request'],
    ['/api/v1/pop/queue/q?conflation=true', BODY, 400, undefined],
    ['/api/v1/pop/queue/q', '{"acks":7}', 400, 'bad_body'],
    ['/api/v1/pop/queue/q', `{"acks":[{"error":"${'x'.repeat(65_536)}"}]}`, 413, 'too_large'],
    ['/api/v1/pop/queue/q', `{"consumerGroup":"${'g'.repeat(412)}"}`, 413, 'name_too_long'],
    [`/api/v1/pop/queue/${'q'.repeat(412)}`, BODY, 413, 'name_too_long'],
  ])('%.40s %.30s is refused, and nothing is acknowledged', async (path, body, status, code) => {
    const answer = await front.client().request(path, { body });
    expect([answer.status, JSON.parse(answer.body).code]).toEqual([status, code]);
    expect(front.service.submitted).toEqual([]);
  });
});
