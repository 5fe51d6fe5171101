// Goal: the consumer-group routes read, refuse and render as inspection 3 and message-plane 9 say.
// Method: real requests against a fake service with made figures.
import type { GroupPartitionView, GroupView } from '@svc/engine';
import { DEFAULT_TENANT } from '@svc/wire';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { TestFront } from '../../testing/front.fake.js';
import type { RawAnswer } from '../../testing/raw-client.fake.js';

let front: TestFront;

beforeEach(async () => {
  front = await TestFront.start();
});
afterEach(() => front.stop());

const GROUPS = '/api/v1/consumer-groups';
const SEEK = `${GROUPS}/printer/queues/ship.labels`;
const STAMP_US = 1_792_000_000_000_120;

function get(path: string): Promise<RawAnswer> {
  return front.client().request(path);
}

function post(path: string, body: string | undefined): Promise<RawAnswer> {
  return front.client().request(path, { method: 'POST', ...(body === undefined ? {} : { body }) });
}

function remove(path: string): Promise<RawAnswer> {
  return front.client().request(path, { method: 'DELETE' });
}

describe('a seek', () => {
  test.each(['[]', '{"toEnd":1}', '{"timestamp":5}', '{"toEnd":true,"toEnd":true}', '{'])(
    'refuses the body %s',
    async (body) => {
      const answer = await post(`${SEEK}/seek`, body);
      expect(answer.status).toBe(400);
      expect(JSON.parse(answer.body)).toMatchObject({ code: 'bad_body' });
    },
  );

  test('names that no key can hold: a queue does not exist, a group is too long', async () => {
    const long = 'x'.repeat(420);
    const queue = await post(`${GROUPS}/g/queues/${long}/seek`, '{"toEnd":true}');
    expect(queue.status).toBe(404);
    const group = await post(`${GROUPS}/${long}/queues/q/seek`, '{"toEnd":true}');
    expect(group.status).toBe(413);
    expect(JSON.parse(group.body)).toMatchObject({ code: 'name_too_long' });
  });
});

describe('a deletion', () => {
  test.each([
    ['', null, '?deleteMetadata=', true],
    ['', null, '?deleteMetadata=FALSE', false],
    ['/queues/orders', 'orders', '?deleteMetadata=maybe', true],
  ])('of the group%s (%s) with %s', async (route, queue, query, deleteMetadata) => {
    front.service.groups.answers.delete = {
      kind: 'group-deleted',
      cursors: 4,
      queues: ['orders', 'mail'],
    };
    const answer = await remove(`${GROUPS}/billing${route}${query}`);
    expect(answer.status).toBe(200);
    expect(answer.body).toBe(
      JSON.stringify({
        success: true,
        consumerGroup: 'billing',
        queueName: queue,
        deletedPartitions: 4,
        metadataDeleted: deleteMetadata,
        queues: ['orders', 'mail'],
      }),
    );
    expect(front.service.groups.asked).toMatchObject([
      [{ tenant: DEFAULT_TENANT, consumerGroup: 'billing', queue, deleteMetadata }],
    ]);
  });
});

describe('another start point', () => {
  test.each([
    ['{"subscriptionTimestamp":null}', 'subscriptionTimestamp is required'],
    ['{"subscriptionTimestamp":""}', 'subscriptionTimestamp is invalid'],
    ['{"subscriptionTimestamp":17}', 'subscriptionTimestamp is invalid'],
  ])('of %s is refused', async (body, error) => {
    const answer = await post(`${GROUPS}/billing/subscription`, body);
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.body)).toEqual({ error, code: 'bad_request' });
  });
});

const VIEW: GroupView = {
  group: 'billing',
  queue: 'orders',
  cursors: 4,
  cursorsWithLag: 1,
  totalLag: 12,
  maxLagSeconds: 35,
  hasConsumed: true,
  registration: {
    subscription: { mode: 'new' },
    registeredAtUs: STAMP_US,
    conflation: false,
    isSeeded: true,
  },
};

const CURSOR: GroupPartitionView = {
  partition: 'Default',
  partitionId: '0199d0c4-0000-7000-8000-000000000011',
  leaseId: 'w-1',
  leaseActive: true,
  totalConsumed: 120,
  lag: 3,
  lagSeconds: 2,
  oldestUs: STAMP_US,
};

const LAST = { nextAfter: null };

describe('reads', () => {
  test.each<[Partial<GroupView>, object]>([
    [{ maxLagSeconds: 300 }, { state: 'Stable' }],
    [{ maxLagSeconds: 301 }, { state: 'Lagging' }],
    [{ maxLagSeconds: 301, hasConsumed: false }, { state: 'Lagging' }],
    [{ hasConsumed: false }, { state: 'Dead' }],
    [
      { registration: null },
      { subscriptionMode: null, subscriptionTimestamp: null, subscriptionCreatedAt: null },
    ],
    [
      { group: '__QUEUE_MODE__' },
      { subscriptionMode: null, subscriptionTimestamp: null, subscriptionCreatedAt: null },
    ],
  ])('list: of %j shows %j', async (view, shown) => {
    front.service.groups.answers.list = { rows: [{ ...VIEW, ...view }], end: LAST };
    const [row] = JSON.parse((await get(GROUPS)).body);
    expect(row).toMatchObject(shown);
  });

  test.each([
    ['', { queue: null, prefix: '' }],
    ['?queue=&prefix=', { queue: null, prefix: '' }],
    ['?queue=a%2Fb&prefix=streams.', { queue: 'a/b', prefix: 'streams.' }],
  ])('list%s is of %j', async (query, filter) => {
    front.service.groups.answers.list = { rows: [], end: LAST };
    expect((await get(`${GROUPS}${query}`)).body).toBe('[]');
    expect(front.service.groups.asked).toMatchObject([[DEFAULT_TENANT, filter, {}]]);
  });

  test('list of a queue whose name no key can hold is empty', async () => {
    const answer = await get(`${GROUPS}?queue=${'q'.repeat(500)}`);
    expect([answer.status, answer.body]).toEqual([200, '[]']);
  });

  test('detail: by queue, whatever its name', async () => {
    const rows = [
      { queue: 'orders', conflation: true, partition: CURSOR },
      { queue: 'orders', conflation: true, partition: { ...CURSOR, partition: 'p2' } },
      { queue: '__proto__', conflation: false, partition: CURSOR },
    ];
    front.service.groups.answers.detail = { rows, end: LAST };
    const answer = await get(`${GROUPS}/bil%2Fling`);
    expect(answer.status).toBe(200);
    const shown = (partition: string) =>
      `{"partition":"${partition}","workerId":"w-1","lastConsumedAt":null,"totalConsumed":120,` +
      '"offsetLag":3,"timeLagSeconds":2,"leaseActive":true}';
    expect(answer.body).toBe(
      `{"orders":{"conflation":true,"kind":"svc","partitions":[${shown('Default')},` +
        `${shown('p2')}]},"__proto__":{"conflation":false,"kind":"svc","partitions":[` +
        `${shown('Default')}]}}`,
    );
    expect(front.service.groups.asked).toMatchObject([[DEFAULT_TENANT, 'bil/ling', {}]]);
  });

  test.each(['nobody', 'x'.repeat(420)])(
    'detail of a group without cursors is 404',
    async (name) => {
      const answer = await get(`${GROUPS}/${name}`);
      expect([answer.status, answer.body]).toEqual([404, '{"error":"Consumer group not found"}']);
    },
  );

  test.each([
    ['', 3600],
    ['?minLagSeconds=0', 0],
    ['?minLagSeconds=7200', 7200],
    ['?minLagSeconds=soon', 3600],
    ['?minLagSeconds=', 3600],
  ])('lagging%s asks for more than %i seconds', async (query, seconds) => {
    const cursors = [{ ...CURSOR, group: 'billing', queue: 'orders', lagSeconds: 7261, lag: 900 }];
    front.service.groups.answers.lagging = {
      kind: 'lagging-groups',
      views: cursors,
      nextAfter: null,
    };
    const answer = await get(`${GROUPS}/lagging${query}`);
    expect(front.service.groups.asked).toMatchObject([[DEFAULT_TENANT, seconds, {}]]);
    expect(answer.body).toBe(
      JSON.stringify([
        {
          consumer_group: 'billing',
          queue_name: 'orders',
          partition_name: 'Default',
          partition_id: CURSOR.partitionId,
          worker_id: 'w-1',
          kind: 'svc',
          offset_lag: 900,
          time_lag_seconds: 7261,
          lag_hours: 2.02,
          oldest_unconsumed_at: '2026-10-14T17:46:40.000Z',
          last_consumed_at: null,
        },
      ]),
    );
  });
});
