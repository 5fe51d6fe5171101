import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { TestFront } from '../../testing/front.fake.js';
import type { RawAnswer } from '../../testing/raw-client.fake.js';

const ID = (n: number): string => `01a2b3c4-0000-7000-8000-${String(n).padStart(12, '0')}`;

let front: TestFront;

beforeEach(async () => {
  front = await TestFront.start();
});
afterEach(() => front.stop());

function answerWith(status: readonly number[]): void {
  front.service.onSubmit = (_, reply) => {
    const messageIds = status.map((_, i) => ID(i));
    reply.send({ kind: 'pushed', status: Uint8Array.from(status), messageIds });
  };
}

function push(body: string): Promise<RawAnswer> {
  return front.client().request('/api/v1/push', { body });
}

describe('answers', () => {
  test('every status, with the ids that were used', async () => {
    answerWith([0, 1, 2, 3, 0]);
    const item = (transactionId: string, queue: string): string =>
      `{"queue":${JSON.stringify(queue)},"partition":"p"${transactionId},"payload":0}`;
    const answer = await push(
      `{"items":[${item(',"transactionId":"a"', 'q')},${item(',"transactionId":"ü\\"\\n"', 'q')},` +
        `${item(',"transactionId":""', 'q ü')},${item('', 'q')},${item('', 'q')}]}`,
    );
    expect(answer.status).toBe(201);
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(JSON.parse(answer.body)).toEqual([
      { index: 0, message_id: ID(0), transaction_id: 'a', queueName: 'q', status: 'queued' },
      { index: 1, message_id: ID(1), transaction_id: 'ü"\n', queueName: 'q', status: 'duplicate' },
      {
        index: 2,
        message_id: '00000000-0000-0000-0000-000000000000',
        transaction_id: '',
        queueName: 'q ü',
        status: 'duplicate',
      },
      { index: 3, message_id: ID(3), transaction_id: ID(3), queueName: 'q', status: 'error' },
      { index: 4, message_id: ID(4), transaction_id: ID(4), queueName: 'q', status: 'queued' },
    ]);
    expect(Object.keys(JSON.parse(answer.body)[0])).toEqual([
      'index',
      'message_id',
      'transaction_id',
      'queueName',
      'status',
    ]);
  });

  test.each([
    ['retry', 503, '1'],
    ['no_leader', 503, '1'],
    ['timeout', 503, '1'],
    ['standby', 503, '1'],
    ['overloaded', 503, '1'],
    ['storage_full', 507, undefined],
    ['internal', 500, undefined],
    ['bad_request', 400, undefined],
    ['reserved_tenant', 403, undefined],
    ['name_too_long', 413, undefined],
    ['outcome_unknown', 503, '1'],
  ] as const)('the refusal %s is %i', async (reason, status, retryAfter) => {
    front.service.onSubmit = (_, reply) => {
      reply.send({ kind: 'refused', refusal: { reason, error: 'why "not"' } });
    };
    const answer = await push('{"items":[{"queue":"q","payload":0}]}');
    expect(answer.status).toBe(status);
    expect(answer.headers.get('retry-after')).toBe(retryAfter);
    expect(JSON.parse(answer.body)).toEqual({ error: 'why "not"', code: reason });
  });

  test('an outcome of another shape is a 500 of this request alone', async () => {
    let received: boolean | null = null;
    front.service.onSubmit = (_, reply) => {
      received = reply.send({ kind: 'acked', items: [] });
    };
    const client = front.client();
    const body = '{"items":[{"queue":"q","payload":0}]}';
    const answer = await client.request('/api/v1/push', { body });
    expect(answer.status).toBe(500);
    expect(JSON.parse(answer.body)).toEqual({ error: 'internal error', code: 'internal' });
    expect(received).toBe(false);
    expect(front.logged[0]).toContain('acked came in answer, and not pushed');
    answerWith([0]);
    expect((await client.request('/api/v1/push', { body })).status).toBe(201);
  });
});

describe('commands', () => {
  test('requests and messages are counted', async () => {
    answerWith([0, 0]);
    await push('{"items":[{"queue":"q","payload":0},{"queue":"q","payload":0}]}');
    await push('{"items":');
    expect(front.server.meters.calls).toMatchObject({ pushRequests: 2, pushMessages: 2 });
  });
});

describe('refusals before any command', () => {
  test.each([
    ['{"items":[{"queue":"a","data":1}]}', 'bad push body: missing field `payload`'],
    ['{}', 'bad push body: missing field `items`'],
    ['{', 'bad push body: unexpected end'],
    ['', 'bad push body: the body is empty'],
  ])('%s', async (body, error) => {
    const answer = await push(body);
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.body)).toEqual({
      error: expect.stringContaining(error),
      code: 'bad_body',
    });
    expect(front.service.submitted).toEqual([]);
  });
});
