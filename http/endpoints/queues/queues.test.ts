// Goal: the queue resources render their figures as message-plane 8 and inspection 6 have them.
// Method: real requests against a fake service with made figures.
import type { QueueOptions, QueueView } from '@svc/engine';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { TestFront } from '../../testing/front.fake.js';
import type { RawAnswer } from '../../testing/raw-client.fake.js';

let front: TestFront;

beforeEach(async () => {
  front = await TestFront.start();
});
afterEach(() => front.stop());

const get = (path: string): Promise<RawAnswer> => front.client().request(path);

const STAMP_US = 1_792_000_000_000_120;

const OPTIONS: QueueOptions = {
  namespace: 'ship',
  task: 'labels',
  priority: 0,
  leaseTime: 60,
  retryLimit: 3,
  retryDelay: 1000,
  maxSize: 0,
  ttl: 3600,
  deadLetterQueue: true,
  dlqAfterMaxRetries: true,
  delayedProcessing: 0,
  windowBuffer: 0,
  retentionEnabled: false,
  retentionSeconds: 0,
  completedRetentionSeconds: 0,
  maxWaitTimeSeconds: 0,
  minPopWaitTime: 0,
  encryptionEnabled: false,
  dedupWindowSeconds: 3600,
  retentionSinkHold: '',
  retentionSinkHoldMaxSeconds: 604_800,
  retryBackoffMs: 0,
  retryBackoffMaxMs: 3_600_000,
  deliveryLimit: 0,
};

const COUNTS = { total: 100, pending: 12, processing: 2, completed: 85, deadLetter: 3 };

const VIEW: QueueView = {
  id: 'id-1',
  queue: 'ship.labels',
  createdAtUs: STAMP_US,
  options: OPTIONS,
  partitions: 2,
  segments: 7,
  counts: COUNTS,
  retainedBytes: 4096,
};

const LIST_END = { nextAfter: null, kvRows: 10, kvBytes: 2048, timerRows: 0, timerBytes: 0 };

describe('list', () => {
  beforeEach(() => {
    front.service.list = { rows: [VIEW], end: LIST_END };
  });

  test('a list of many queues arrives whole', async () => {
    const queues = Array.from({ length: 2_000 }, (_, i) => ({ ...VIEW, queue: `q-${i}` }));
    front.service.list = { rows: queues, end: LIST_END };
    const body = JSON.parse((await get('/api/v1/resources/queues')).body);
    expect(body.queues).toHaveLength(2_000);
    expect(body.queues[1_999].name).toBe('q-1999');
    expect(body).not.toHaveProperty('nextAfter');
    expect(front.service.pages).toEqual([{ after: '', isPaged: false, limit: Infinity }]);
  });

  test('HEAD tells the length of a list and sends none of it', async () => {
    const queues = Array.from({ length: 200 }, (_, i) => ({ ...VIEW, queue: `q-${i}` }));
    front.service.list = { rows: queues, end: LIST_END };
    const whole = await get('/api/v1/resources/queues');
    const head = await front.client().request('/api/v1/resources/queues', { method: 'HEAD' });
    expect(head.headers.get('content-length')).toBe(String(whole.body.length));
    expect(head.body).toBe('');
  });

  test.each(['nAAAB_g', 'q', 'qAAAB_g==', 'q%20AAAB', `q${'A'.repeat(4000)}`])(
    'after=%s is no place of this list',
    async (after) => {
      const answer = await get(`/api/v1/resources/queues?after=${after}`);
      expect(answer.status).toBe(400);
      const error = 'after is not a place that this list has given';
      expect(JSON.parse(answer.body)).toEqual({ error, code: 'bad_request' });
      expect(front.service.pages).toEqual([]);
    },
  );

  test('a refusal', async () => {
    front.service.list = { kind: 'refused', refusal: { reason: 'retry', error: 'later' } };
    expect((await get('/api/v1/resources/queues')).status).toBe(503);
    front.service.resources.answers.queueNames = front.service.list;
    expect((await get('/api/v1/resources/queues?stats=lanes')).status).toBe(503);
  });
});

describe('detail', () => {
  test('unknown queues, and names that no queue can have', async () => {
    for (const queue of ['nope', 'q'.repeat(500)]) {
      const answer = await get(`/api/v1/resources/queues/${queue}`);
      expect([answer.status, answer.body]).toEqual([404, '{"error":"Queue not found"}']);
    }
    expect(front.service.reads).toHaveLength(1);
  });
});

describe('depth', () => {
  test('unknown queues and impossible names', async () => {
    expect((await get('/api/v1/resources/queues/q/depth')).status).toBe(404);
    expect((await get(`/api/v1/resources/queues/${'q'.repeat(500)}/depth`)).status).toBe(404);
    expect((await get(`/api/v1/resources/queues/q/depth?group=${'g'.repeat(500)}`)).status).toBe(
      413,
    );
    expect((await get('/api/v1/resources/queues/q/depth?group=%')).status).toBe(400);
  });

  test('a refusal', async () => {
    front.service.depth = { kind: 'refused', refusal: { reason: 'no_leader', error: 'none' } };
    expect((await get('/api/v1/resources/queues/q/depth')).status).toBe(503);
  });
});

describe('delete', () => {
  const remove = (queue: string): Promise<RawAnswer> =>
    front.client().request(`/api/v1/resources/queues/${queue}`, { method: 'DELETE' });

  test('one that existed and one that did not', async () => {
    front.service.onSubmit = (command, reply) => {
      const existed = command.kind === 'delete-queue' && command.queue === 'a/b';
      reply.send({ kind: 'deleted', existed });
    };
    expect((await remove('a%2Fb')).body).toBe('{"deleted":true,"existed":true,"queue":"a/b"}');
    expect((await remove('x')).body).toBe(
      '{"deleted":false,"existed":false,"queue":"x",' +
        '"message":"Queue not found, nothing was deleted"}',
    );
    expect(front.service.submitted).toHaveLength(2);
    expect(JSON.parse((await remove('q'.repeat(500))).body)).toMatchObject({ existed: false });
    expect(front.service.submitted).toHaveLength(2);
  });
});
