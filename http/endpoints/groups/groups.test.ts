// Goal: the consumer-group routes read, refuse and render as inspection 3 and message-plane 9 say.
// Method: real requests against a fake service with made figures.
import type { GroupChangedOutcome, GroupPartitionView, GroupView } from '@svc/engine';
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
const NEW_UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const STAMP_US = 1_792_000_000_000_120;
const STAMP = '2026-10-14T17:46:40.000120Z';

function get(path: string): Promise<RawAnswer> {
  return front.client().request(path);
}

function post(path: string, body: string | undefined): Promise<RawAnswer> {
  return front.client().request(path, { method: 'POST', ...(body === undefined ? {} : { body }) });
}

function remove(path: string): Promise<RawAnswer> {
  return front.client().request(path, { method: 'DELETE' });
}

function answering(outcome: GroupChangedOutcome): void {
  front.service.onSubmit = (_, reply) => {
    reply.send(outcome);
  };
}

describe('a seek', () => {
  const ends = { seekToEnd: true, targetTimestamp: null };
  const at = { seekToEnd: false, targetTimestamp: '2026-10-12T00:00:00.000000Z' };

  test.each([
    ['/seek', '{"toEnd":true}', null, ends],
    ['/seek', '{"timestamp":"2026-10-12T00:00:00Z"}', null, at],
    ['/seek', '{"toEnd":false,"timestamp":"2026-10-12T02:00:00+02:00","else":[]}', null, at],
    ['/seek', '{"toEnd":true,"timestamp":"rubbish"}', null, ends],
    ['/partitions/cust%2F7/seek', undefined, 'cust/7', ends],
    ['/partitions/cust%2F7/seek', '{}', 'cust/7', ends],
    ['/partitions/cust%2F7/seek', '{"toEnd":null,"timestamp":null}', 'cust/7', ends],
    ['/partitions/cust%2F7/seek', '{"timestamp":"2026-10-12T00:00:00Z"}', 'cust/7', at],
  ])('%s of %s is answered with its target', async (route, body, partition, target) => {
    answering({ kind: 'group-changed', queues: 1, changed: 4 });
    const answer = await post(SEEK + route, body);
    expect(answer.status).toBe(200);
    expect(answer.body).toBe(
      JSON.stringify({
        success: true,
        consumerGroup: 'printer',
        queueName: 'ship.labels',
        partitionName: partition,
        ...target,
        partitionsUpdated: 4,
        updated: true,
      }),
    );
    const us = target.targetTimestamp === null ? null : 1_791_763_200_000_000;
    expect(front.service.submitted).toEqual([
      {
        kind: 'seek',
        tenant: DEFAULT_TENANT,
        changeId: expect.stringMatching(NEW_UUID),
        consumerGroup: 'printer',
        queue: 'ship.labels',
        partition,
        targetUs: us,
      },
    ]);
  });

  test.each([
    ['/seek', undefined, 'Must specify toEnd=true or a timestamp'],
    ['/seek', '{}', 'Must specify toEnd=true or a timestamp'],
    ['/seek', '{"toEnd":false}', 'Must specify toEnd=true or a timestamp'],
    ['/partitions/p/seek', '{"toEnd":false}', 'Must specify toEnd=true or a timestamp'],
    ['/seek', '{"timestamp":""}', 'timestamp is invalid: it must be an ISO-8601 date and time'],
    ['/partitions/p/seek', '{"timestamp":"yesterday"}', 'timestamp is invalid'],
  ])('%s of %s says what is wrong', async (route, body, error) => {
    const answer = await post(SEEK + route, body);
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.body)).toEqual({
      success: false,
      error: expect.stringContaining(error),
    });
    expect(front.service.submitted).toEqual([]);
  });

  test.each(['[]', '{"toEnd":1}', '{"timestamp":5}', '{"toEnd":true,"toEnd":true}', '{'])(
    'refuses the body %s',
    async (body) => {
      const answer = await post(`${SEEK}/seek`, body);
      expect(answer.status).toBe(400);
      expect(JSON.parse(answer.body)).toMatchObject({ code: 'bad_body' });
    },
  );

  test.each([
    ['/seek', 'Queue not found or has no partitions'],
    ['/partitions/p/seek', 'Partition not found'],
  ])('%s of nothing is 404', async (route, error) => {
    answering({ kind: 'group-changed', queues: 0, changed: 0 });
    const answer = await post(SEEK + route, '{"toEnd":true}');
    expect(answer.status).toBe(404);
    expect(answer.body).toBe(
      JSON.stringify({
        success: false,
        error,
        consumerGroup: 'printer',
        queueName: 'ship.labels',
        partitionsUpdated: 0,
      }),
    );
  });

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
    ['', null, '', true],
    ['', null, '?deleteMetadata=true', true],
    ['', null, '?deleteMetadata=', true],
    ['', null, '?deleteMetadata=FALSE', false],
    ['/queues/orders', 'orders', '?deleteMetadata=0', false],
    ['/queues/orders', 'orders', '?deleteMetadata=no', false],
    ['/queues/orders', 'orders', '?deleteMetadata=maybe', true],
  ])('of the group%s (%s) with %s', async (route, queue, query, deleteMetadata) => {
    front.service.groups.removed = {
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
    expect(front.service.groups.deleted).toMatchObject([
      { tenant: DEFAULT_TENANT, consumerGroup: 'billing', queue, deleteMetadata },
    ]);
  });
});

describe('another start point', () => {
  test('repeats the instant as it was spelled', async () => {
    answering({ kind: 'group-changed', queues: 5, changed: 2 });
    const text = '2026-10-12T00:00:00Z';
    const body = JSON.stringify({ subscriptionTimestamp: text });
    const answer = await post(`${GROUPS}/billing/subscription`, body);
    expect(answer.status).toBe(200);
    expect(answer.body).toBe(
      JSON.stringify({
        success: true,
        consumerGroup: 'billing',
        newTimestamp: text,
        rowsUpdated: 2,
      }),
    );
    expect(front.service.submitted).toMatchObject([
      { kind: 'subscribe-group', consumerGroup: 'billing', atUs: 1_791_763_200_000_000 },
    ]);
  });

  test.each([
    [undefined, 'subscriptionTimestamp is required'],
    ['{}', 'subscriptionTimestamp is required'],
    ['{"subscriptionTimestamp":null}', 'subscriptionTimestamp is required'],
    ['{"subscriptionTimestamp":""}', 'subscriptionTimestamp is invalid'],
    ['{"subscriptionTimestamp":17}', 'subscriptionTimestamp is invalid'],
    ['{"subscriptionTimestamp":"soon"}', 'subscriptionTimestamp is invalid'],
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
  test('list: every member, in order', async () => {
    front.service.groups.listed = { rows: [VIEW], end: LAST };
    const answer = await get(GROUPS);
    expect(answer.status).toBe(200);
    expect(answer.body).toBe(
      JSON.stringify([
        {
          name: 'billing',
          topics: ['orders'],
          queueName: 'orders',
          members: 4,
          partitionCursors: 4,
          partitionsWithLag: 1,
          totalLag: 12,
          maxTimeLag: 35,
          state: 'Stable',
          storage: 'segments',
          kind: 'svc',
          subscriptionMode: 'new',
          subscriptionTimestamp: STAMP,
          subscriptionCreatedAt: STAMP,
          conflation: false,
        },
      ]),
    );
  });

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
    front.service.groups.listed = { rows: [{ ...VIEW, ...view }], end: LAST };
    const [row] = JSON.parse((await get(GROUPS)).body);
    expect(row).toMatchObject(shown);
  });

  test.each([
    [{ mode: 'all' } as const, '1970-01-01T00:00:00.000000Z'],
    [{ mode: 'timestamp', atUs: 1_500_000 } as const, '1970-01-01T00:00:01.500000Z'],
  ])('list: the start point %j', async (subscription, subscriptionTimestamp) => {
    const registration = { ...VIEW.registration, subscription };
    const groups = [{ ...VIEW, registration }] as GroupView[];
    front.service.groups.listed = { rows: groups, end: LAST };
    const [row] = JSON.parse((await get(GROUPS)).body);
    expect(row).toMatchObject({ subscriptionMode: subscription.mode, subscriptionTimestamp });
  });

  test('detail: by queue, whatever its name', async () => {
    const rows = [
      { queue: 'orders', conflation: true, partition: CURSOR },
      { queue: 'orders', conflation: true, partition: { ...CURSOR, partition: 'p2' } },
      { queue: '__proto__', conflation: false, partition: CURSOR },
    ];
    front.service.groups.detailed = { rows, end: LAST };
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
    expect(front.service.groups.reads).toEqual([`${DEFAULT_TENANT} bil/ling`]);
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
    front.service.groups.lagged = { kind: 'lagging-groups', views: cursors, nextAfter: null };
    const answer = await get(`${GROUPS}/lagging${query}`);
    expect(front.service.groups.reads).toEqual([`${DEFAULT_TENANT} ${seconds}`]);
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

  test.each([
    ['', 'g'],
    ['/billing', 'd'],
    ['/lagging', 'l'],
  ] as const)('%s in pages: a header says where the next one begins', async (path, letter) => {
    const { groups } = front.service;
    groups.listed = { rows: [VIEW], end: { nextAfter: 'place' } };
    groups.detailed = {
      rows: [{ queue: 'orders', conflation: true, partition: CURSOR }],
      end: { nextAfter: 'place' },
    };
    groups.lagged = {
      kind: 'lagging-groups',
      views: [{ ...CURSOR, group: 'billing', queue: 'orders' }],
      nextAfter: 'place',
    };
    const first = await get(`${GROUPS}${path}?limit=1`);
    const token = first.headers.get('x-svc-next-after') ?? '';
    expect(token).toBe(`${letter}cGxhY2U`);
    groups.listed = groups.detailed = { rows: [], end: LAST };
    groups.lagged = { kind: 'lagging-groups', views: [], nextAfter: null };
    const last = await get(`${GROUPS}${path}?after=${token}`);
    expect(last.status).toBe(200);
    expect(last.headers.get('x-svc-next-after')).toBeUndefined();
    expect(last.body).toBe(letter === 'd' ? '{}' : '[]');
    expect(groups.pages.map(({ after, limit }) => [after, limit])).toEqual([
      ['', 1],
      ['place', 100],
    ]);
  });
});
