// Goal: the queue resources render their figures as message-plane 8 and inspection 6 have them.
// Method: real requests against a fake service with made figures.
import type { QueueOptions, QueueView } from '@svc/engine';
import { DEFAULT_TENANT } from '@svc/wire';
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
const STAMP = '2026-10-14T17:46:40.000120Z';

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

  test('pending leaves out what is leased', async () => {
    const answer = await get('/api/v1/resources/queues?unknown=1');
    expect(answer.status).toBe(200);
    const body = JSON.parse(answer.body);
    expect(body).toMatchObject({ kvRows: 10, kvBytes: 2048, timerRows: 0, timerBytes: 0 });
    expect(body.queues).toHaveLength(1);
    expect(body.queues[0]).toMatchObject({
      id: 'id-1',
      name: 'ship.labels',
      queue: 'ship.labels',
      namespace: 'ship',
      task: 'labels',
      storage: 'segments',
      partitions: 2,
      segments: { segments: 7, messages: 100 },
      messages: { total: 100, pending: 10, processing: 2, completed: 85, deadLetter: 3 },
      retainedBytes: 4096,
      createdAt: STAMP,
    });
    expect(Object.keys(body.queues[0].options)).toHaveLength(20);
  });

  test('?stats=lanes', async () => {
    const { id, queue, createdAtUs, partitions } = VIEW;
    front.service.resources.names = {
      rows: [{ id, queue, createdAtUs, partitions }],
      end: { nextAfter: null },
    };
    expect(JSON.parse((await get('/api/v1/resources/queues?stats=lanes')).body)).toEqual({
      queues: [
        { id: 'id-1', name: 'ship.labels', queue: 'ship.labels', partitions: 2, createdAt: STAMP },
      ],
      stats: 'lanes',
    });
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

  test('in pages: the place that one page ends with begins the next one', async () => {
    front.service.list = { rows: [VIEW], end: { ...LIST_END, nextAfter: '\0\0\u0001\xfe' } };
    const first = JSON.parse((await get('/api/v1/resources/queues?limit=1')).body);
    expect(first.nextAfter).toBe('qAAAB_g');
    front.service.list = { rows: [], end: LIST_END };
    const query = `after=${first.nextAfter}&limit=5000`;
    const last = JSON.parse((await get(`/api/v1/resources/queues?${query}`)).body);
    expect(last.nextAfter).toBeNull();
    expect(front.service.pages).toEqual([
      { after: '', isPaged: true, limit: 1 },
      { after: '\0\0\u0001\xfe', isPaged: true, limit: 1000 },
    ]);
  });

  test.each([
    ['limit=0', 1],
    ['limit=many', 100],
    ['limit=-3', 1],
  ])('%s is a page of %i', async (query, limit) => {
    await get(`/api/v1/resources/queues?${query}`);
    expect(front.service.pages[0]?.limit).toBe(limit);
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
    front.service.resources.names = front.service.list;
    expect((await get('/api/v1/resources/queues?stats=lanes')).status).toBe(503);
  });
});

describe('detail', () => {
  test('pending includes what is leased', async () => {
    front.service.detail = {
      kind: 'queue-detail',
      view: VIEW,
      partitions: [
        {
          id: 'p-id',
          partition: 'cust-7',
          createdAtUs: STAMP_US,
          counts: COUNTS,
          totalConsumed: 88,
          lastActivityUs: STAMP_US,
          oldestMessageUs: null,
          newestMessageUs: null,
          retainedBytes: 4096,
        },
      ],
      partitionsTruncated: false,
      nextAfter: null,
    };
    const answer = await get('/api/v1/resources/queues/ship.labels');
    const figures = {
      total: 100,
      pending: 12,
      processing: 2,
      completed: 85,
      failed: null,
      deadLetter: 3,
    };
    const body = JSON.parse(answer.body);
    expect(body).toMatchObject({
      id: 'id-1',
      name: 'ship.labels',
      createdAt: STAMP,
      totals: figures,
    });
    expect(body.partitions).toEqual([
      {
        id: 'p-id',
        name: 'cust-7',
        createdAt: STAMP,
        messages: figures,
        stats: figures,
        cursor: { totalConsumed: 88, batchesConsumed: 0 },
        lastActivity: STAMP,
        oldestMessage: null,
        newestMessage: null,
        retainedBytes: 4096,
      },
    ]);
    expect(body).not.toHaveProperty('partitionsTruncated');
    expect(front.service.reads).toEqual([`${DEFAULT_TENANT} ship.labels`]);
  });

  test('a cut list of partitions says so', async () => {
    front.service.detail = {
      kind: 'queue-detail',
      view: VIEW,
      partitions: [],
      partitionsTruncated: true,
      nextAfter: null,
    };
    const body = JSON.parse((await get('/api/v1/resources/queues/q')).body);
    expect(body.partitionsTruncated).toBe(true);
  });

  test('unknown queues, and names that no queue can have', async () => {
    for (const queue of ['nope', 'q'.repeat(500)]) {
      const answer = await get(`/api/v1/resources/queues/${queue}`);
      expect([answer.status, answer.body]).toEqual([404, '{"error":"Queue not found"}']);
    }
    expect(front.service.reads).toHaveLength(1);
  });
});

describe('depth', () => {
  const partitions = [
    { partition: 'Default', pending: 1, processing: 0 },
    { partition: 'cust-7', pending: 4, processing: 4 },
    { partition: 'idle', pending: 0, processing: 0 },
  ];
  const sums = { pending: 5, processing: 4, partitionsPending: 2, partitionsReady: 1 };
  const depths = { partitions, sums, nextAfter: null };

  test('sums over the partitions', async () => {
    front.service.depth = { kind: 'queue-depth', conflation: false, ...depths };
    const answer = await get('/api/v1/resources/queues/ship.labels/depth?group=printer');
    expect([answer.status, answer.body]).toEqual([
      200,
      '{"queue":"ship.labels","group":"printer","pending":5,"processing":4,"ready":1,' +
        '"partitionsPending":2,"partitionsReady":1,"conflation":false,"effectivePending":5,' +
        '"effectiveReady":1,"partitions":[' +
        '{"partition":"Default","pending":1,"processing":0,"ready":1},' +
        '{"partition":"cust-7","pending":4,"processing":4,"ready":0},' +
        '{"partition":"idle","pending":0,"processing":0,"ready":0}]}',
    ]);
  });

  test('a conflating group counts partitions', async () => {
    front.service.depth = { kind: 'queue-depth', conflation: true, ...depths };
    const body = JSON.parse((await get('/api/v1/resources/queues/q/depth?group=')).body);
    expect(body).toMatchObject({ group: null, effectivePending: 2, effectiveReady: 1, pending: 5 });
    expect(front.service.reads).toEqual([`${DEFAULT_TENANT} q null`]);
  });

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
