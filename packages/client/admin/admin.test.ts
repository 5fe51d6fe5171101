// Goal: a method of admin sends what its route takes, pages follow both ways in which lists say
// where they go on, and misuse is refused before anything is sent. Method: a scripted network.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { lostConnection, type Reply } from '../base/platform.fake.js';
import { errorOf, fakeTransport } from '../surfaces/fake-client.fake.js';
import { type Admin, adminOf } from './admin.js';
import { ROUTES } from './routes.js';

function adminWith(...replies: Reply[]) {
  const { platform, transport } = fakeTransport((_, nth) => replies[nth] ?? '{}');
  return { platform, admin: adminOf(transport) };
}

const CALLS: readonly [call: (admin: Admin) => Promise<unknown>, sent: object][] = [
  [(admin) => admin.overview(), { method: 'GET', path: '/api/v1/resources/overview' }],
  [
    (admin) => admin.queueDepth('a/b', { group: 'g', limit: 5 }),
    { method: 'GET', path: '/api/v1/resources/queues/a%2Fb/depth?group=g&limit=5' },
  ],
  [
    (admin) => admin.seekPartition('g', 'q', 'p'),
    { method: 'POST', path: '/api/v1/consumer-groups/g/queues/q/partitions/p/seek' },
  ],
  [
    (admin) => admin.seekQueue('g', 'q', { toEnd: true }),
    { method: 'POST', path: '/api/v1/consumer-groups/g/queues/q/seek', body: '{"toEnd":true}' },
  ],
  [
    (admin) => admin.deleteGroup('g', { deleteMetadata: false }),
    { method: 'DELETE', path: '/api/v1/consumer-groups/g?deleteMetadata=false' },
  ],
  [
    (admin) => admin.setVoters({ voters: [1, 2] }, { timeoutMs: 5, force: true }),
    {
      method: 'PUT',
      path: '/api/v1/system/raft/membership/voters?timeoutMs=5&force=true',
      body: '{"voters":[1,2]}',
    },
  ],
  [
    (admin) => admin.removeMember(3),
    { method: 'DELETE', path: '/api/v1/system/raft/membership/members/3' },
  ],
];

test.each(CALLS)('what is sent: %#', async (call, sent) => {
  const { platform, admin } = adminWith();
  await platform.settled(call(admin));
  expect(platform.requests).toHaveLength(1);
  expect(platform.requests[0]).toMatchObject(sent);
});

test('a text is a text, and the replay of a dead letter is sent once', async () => {
  const { platform, admin } = adminWith('# HELP x\n', lostConnection());
  expect(await platform.settled(admin.prometheus())).toBe('# HELP x\n');
  expect(await errorOf(platform, admin.replayDeadLetter('7'))).toMatchObject({
    outcomeUnknown: true,
  });
  expect(platform.requests).toHaveLength(2);
});

test('a fetch that waits has its wait beside the timeout', async () => {
  const hang = new Promise<Reply>(() => undefined);
  const { platform, transport } = fakeTransport(() => hang, { retryAttempts: 1 });
  const fetching = adminOf(transport).fetch({ entries: [], maxWaitMs: 5000 });
  expect((await errorOf(platform, fetching)).message).toContain('no answer within 35000 ms');
});

describe('pages', () => {
  test('by the body, and by the header', async () => {
    const rows = (name: string, nextAfter: string | null) => ({
      json: { namespaces: [{ namespace: name }], nextAfter },
    });
    const first = adminWith(rows('a', 'x'), rows('b', null));
    const names: string[] = [];
    for await (const { namespaces } of first.admin.pages('namespaces', { limit: 1 })) {
      names.push(namespaces[0]?.namespace ?? '');
    }
    expect(names).toEqual(['a', 'b']);
    expect(first.platform.requests[1]?.path).toBe('/api/v1/resources/namespaces?limit=1&after=x');
    const headers = { 'x-svc-next-after': 'y' };
    const second = adminWith({ json: [1], headers }, { json: [2] });
    const seen: unknown[] = [];
    for await (const rows of second.admin.pages('groups')) seen.push(rows);
    expect(seen).toEqual([[1], [2]]);
    const paths = second.platform.requests.map(({ path }) => path);
    expect(paths).toEqual(
      ['?limit=100', '?limit=100&after=y'].map((q) => `/api/v1/consumer-groups${q}`),
    );
  });
});

describe('misuse', () => {
  const MISUSED: readonly [call: (admin: Admin) => unknown, text: string][] = [
    [
      (admin) => admin.queue(undefined as never),
      'queue is undefined: write admin.queue(queue, query, { signal })',
    ],
    [(admin) => admin.queue('..'), '".." is no name that a path can hold'],
    [
      (admin) => admin.seekQueue('g', 'q', undefined as never),
      'the body of admin.seekQueue is undefined: write admin.seekQueue(group, queue, body',
    ],
    [
      (admin) => admin.queues({ limt: 1 } as never),
      'the query of admin.queues has no option limt: write limit; its options are stats',
    ],
    [
      (admin) => (admin as never as { clearQueue(): Promise<unknown> }).clearQueue(),
      'admin.clearQueue is retired: write admin.seekQueue(group, queue, { toEnd: true }), or',
    ],
    [
      (admin) => admin.overview({ limit: 1 } as never),
      'admin.overview has no option limit: its options are signal',
    ],
    [
      (admin) => (admin.overview as (...given: object[]) => unknown)({}, {}),
      'admin.overview got 2 arguments: write admin.overview({ signal })',
    ],
    [(admin) => admin.queues('q' as never), 'got "q" where its options belong'],
    [
      (admin) => admin.configureQueue({ queue: 'q', options: { leaseTime: 1n as never } }),
      'body.options.leaseTime is a BigInt',
    ],
    [
      (admin) => admin.pages('overview' as 'queues').next(),
      "write the name of a list, like 'queues'",
    ],
  ];
  test.each(MISUSED)('%#', async (call, text) => {
    const { platform, admin } = adminWith();
    await expect(async () => call(admin)).rejects.toThrow(TypeError);
    await expect(async () => call(admin)).rejects.toThrow(text);
    expect(platform.requests).toEqual([]);
  });
});

test('docs/client.md has the table of all methods', () => {
  const manual = readFileSync(new URL('../../../docs/client.md', import.meta.url), 'utf8');
  const rows = Object.entries(ROUTES).map(([name, { at }]) => `| \`${name}\` | \`${at}\` |`);
  expect(manual).toContain(`| Method | Route |\n| --- | --- |\n${rows.join('\n')}\n`);
});
