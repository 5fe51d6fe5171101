// Goal: each page asks what its reader chose and shows what the answer says, a cell for each
// column. Method: answers as the API has them, without a page.
import { expect, test } from 'vitest';
import { formatMoment, formatValue, PAGES, ROWS_MAX } from './public/surfaces.js';

interface Cell {
  readonly text: string;
  readonly isBad?: boolean;
}

const STAMP = '2026-10-09T10:00:30.123400Z';
const FIELDS = { namespace: 'ns', prefix: 'a b', queue: 'ü/1' };
const DROPS = { bounds: 1, ttl: 2, retry: 0 };
const row = { key: 'gpu#2', value: { owner: 'w' }, version: 7, expiresAt: null, updatedAt: STAMP };
const timer = { timerKey: 'k', partition: 'p', deliverAt: STAMP, attempts: 2, lastError: null };
const queue = { queue: 'q', tier: 'declared', depth: 12, bytes: 4096, partitions: 3, groups: 2 };
const group = { queueName: 'q', state: 'Dead', totalLag: 3, maxTimeLag: 61, members: 1 };
const switches = { kvEnabled: true, timersScheduleEnabled: false, timersFireEnabled: true };
const list = (body: object) => ({ path: '/api/v1/resources/kv/list', body });

/** What is asked, an answer, and the texts of its first row. */
const EXPECTED: { readonly [path: string]: readonly [unknown, unknown, readonly string[]] } = {
  '/kv': [
    list({ namespace: 'ns', includeExpired: false, limit: ROWS_MAX, prefix: 'a b' }),
    { rows: [row], truncated: true },
    ['gpu#2', '7', '–', '2026-10-09 10:00:30', '{"owner":"w"}'],
  ],
  '/timers': [
    '/api/v1/timers/%C3%BC%2F1?limit=200',
    { rows: [timer], truncated: true },
    ['k', 'p', '2026-10-09 10:00:30', '2', '–'],
  ],
  '/locks': [
    list({ namespace: 'svc-locks', includeExpired: false, limit: ROWS_MAX, prefix: 'a b' }),
    { rows: [row], truncated: true },
    ['gpu', '2', 'w', '7', '2026-10-09 10:00:30', '–'],
  ],
  '/ephemeral': [
    '/api/v1/ephemeral/queues?limit=200',
    { queues: [{ ...queue, drops: DROPS, options: { policy: 'reject' } }], truncated: true },
    ['q', 'declared', '12', '4 KiB', '3', '2', '3', 'reject'],
  ],
  '/streams': [
    '/api/v1/consumer-groups',
    [
      { ...group, name: 'other', partitionsWithLag: 1 },
      ...Array.from({ length: ROWS_MAX + 1 }, (_, i) => ({
        ...group,
        name: `streams.s${i}`,
        partitionsWithLag: 2,
      })),
    ],
    ['s0', 'q', 'Dead', '3', '1 min 1 s', '2', '1'],
  ],
  '/tenants': [
    '/api/v1/system/kv-timers',
    { ...switches, quotaTenants: 0, quotaAgeMs: null, quotaHot: 0 },
    ['key/value and locks', 'on'],
  ],
};

test.each(PAGES.map((page) => [page.path, page] as const))('%s', (path, page) => {
  const [question, answer, first] = EXPECTED[path] ?? [];
  const asked: Record<string, string> = {};
  for (const { name } of page.fields) asked[name] = FIELDS[name as keyof typeof FIELDS];
  expect(page.question(asked as never)).toEqual(question);
  const rows: Cell[][] = page.rows(answer as never);
  for (const cells of rows) expect(cells).toHaveLength(page.columns.length);
  expect(rows[0]?.map(({ text }) => text)).toEqual(first);
  expect(rows.length).toBeLessThanOrEqual(ROWS_MAX);
  expect(page.more(answer as never)).toBe(path !== '/tenants');
});

test('nothing is asked before a namespace or a queue is chosen', () => {
  for (const path of ['/kv', '/timers']) {
    const page = PAGES.find((one) => one.path === path);
    expect(page?.question({ namespace: '', prefix: '', queue: '' } as never)).toBeNull();
    expect(page?.wanted).toMatch(/^Choose/);
  }
});

test('moments and long values', () => {
  expect(formatMoment('2026-09-22T10:15:30.1234+00:00')).toBe('2026-09-22 10:15:30');
  expect(formatValue('x'.repeat(500))).toHaveLength(161);
  expect(formatValue(undefined)).toBe('–');
});
