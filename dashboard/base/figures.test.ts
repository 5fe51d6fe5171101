// Goal: figures of a cluster are those of all its nodes, what is wrong is said and nothing else,
// and lists, charts and times are laid out right. Method: values as the API has them.
import { expect, test } from 'vitest';
import { CallError, refusalOf, retryAfterMsOf } from './call-error.js';
import { clusterRates } from './cluster-figures.js';
import { formatMs, formatPercent } from './format.js';
import { gaugesOf } from './fullest-node.js';
import { lockOf, ownerOf } from './kv-lists.js';
import { exactMoment, formatAgo, formatClock, formatMoment } from './moment.js';
import { noticesOf } from './notices.js';
import { distinct, holds, nextOrder, ordered } from './order.js';
import { rowWindow, scrollToRow } from './row-window.js';
import { summaryOf, timelineOf } from './series.js';

const HOST = { anonBytes: 1_048_576, cpuPct: 10, memoryLimitBytes: 10_485_760, diskUsedPct: 20 };
const node = (nodeId: number, host: object = {}) => ({
  nodeId,
  reachable: true,
  lagEntries: 0,
  host: { ...HOST, ...host },
});

test('the load of a cluster is that of its fullest node, each figure by itself', () => {
  const members = [node(1, { cpuPct: 95 }), node(2, { anonBytes: 8_808_038 }), node(3)];
  const shown = gaugesOf({ leaderId: 2, members }).map(({ label, text, tone, note }) => {
    return `${label} ${text} ${tone} ${note}`;
  });
  expect(shown).toEqual([
    'CPU 95 % bad node 1, the fullest',
    'Memory 8.4 MiB wait node 2, the fullest of 10 MiB',
    'Disk 20 % good node 1, the fullest; writes are refused at 85 %',
    'Raft leader 2 good ',
  ]);
});

test('a disk is judged by the gate of its node', () => {
  const members = [node(1, { diskUsedPct: 70 }), node(2, { diskUsedPct: 58, diskGatePct: 60 })];
  const [, , disk] = gaugesOf({ leaderId: 1, members });
  expect([disk?.text, disk?.tone]).toEqual(['58 %', 'wait']);
  expect(disk?.note).toMatch(/^node 2.*60 %$/);
});

test('what is not told is no figure, and a silent node is said', () => {
  const silent = { nodeId: 3, reachable: false };
  const gauges = gaugesOf({ leaderId: 1, members: [{ nodeId: 1, reachable: true }, silent] });
  expect(gauges.map(({ text, tone }) => `${text} ${tone}`)).toEqual([
    '– good',
    '– good',
    '– good',
    '1 silent bad',
  ]);
  expect(gaugesOf({ leaderId: null, members: [] }).at(-1)?.text).toBe('no leader');
});

test('rates of a cluster are the sum over its nodes', () => {
  const rates = (pushed: number) => ({
    pushedPerSecond: pushed,
    deliveredPerSecond: 1,
    ackedPerSecond: 0.5,
  });
  const members = [
    { nodeId: 1, rates: rates(99.5) },
    { nodeId: 2, rates: rates(0.5) },
    { nodeId: 3 },
  ];
  expect(clusterRates(members)).toEqual({
    pushedPerSecond: 100,
    deliveredPerSecond: 2,
    ackedPerSecond: 1,
    silent: [3],
  });
});

const CALM = {
  status: 'healthy',
  raft: { leaderId: 1, members: [node(1)] },
  link: null,
  deadLetters: 0,
  longestLagSeconds: 300,
  waitSeconds: 300,
};

test.each([
  ['all is well', {}, []],
  ['nothing is known yet', { status: null, raft: null, deadLetters: null }, []],
  ['no leader', { raft: { leaderId: null, members: [] } }, [/^bad No leader.*\/system$/]],
  ['a silent node', { raft: { leaderId: 1, members: [{ nodeId: 2 }] } }, [/^bad Node 2 does/]],
  [
    'the disk',
    { raft: { leaderId: 1, members: [node(1, { diskUsedPct: 85 })] } },
    [/^bad Disk: 85/],
  ],
  ['dead letters', { deadLetters: 1 }, [/^wait 1 dead letter \/dlq$/]],
  ['a message waits', { longestLagSeconds: 301 }, [/^wait .*5 min 1 s \/consumers$/]],
  ['the node', { status: 'settling' }, [/^wait .*settling/]],
  [
    'the worst first',
    { deadLetters: 2, raft: { leaderId: 1, members: [{ nodeId: 2, reachable: false }] } },
    [/^bad/, /^wait/],
  ],
])('notices: %s', (_name, sources, expected) => {
  const told = noticesOf({ ...CALM, ...sources }).map(
    ({ tone, text, to }) => `${tone} ${text} ${to}`,
  );
  expect(told).toEqual(expected.map((pattern) => expect.stringMatching(pattern)));
});

test('rows that are seen are drawn, and no others', () => {
  expect(rowWindow(100_000, 37, 0, 740)).toEqual({ begin: 0, end: 32 });
  expect(rowWindow(100_000, 37, 37_000, 740)).toEqual({ begin: 988, end: 1032 });
  expect(rowWindow(100_000, 37, 3_700_000, 740)).toEqual({ begin: 99_988, end: 100_000 });
  expect(rowWindow(5, 37, 9_999, 740)).toEqual({ begin: 5, end: 5 });
  expect(scrollToRow(10, 37, 0, 740)).toBeNull();
  expect(scrollToRow(30, 37, 0, 740)).toBe(31 * 37 - 740);
  expect(scrollToRow(3, 37, 740, 740)).toBe(111);
});

test('rows by a column: unknown last in both directions, equal ones as they were', () => {
  const rows = [{ a: 2 }, { a: null }, { a: 1, b: 1 }, { a: 1, b: 2 }];
  expect(ordered(rows, ({ a }) => a, false)).toEqual([rows[2], rows[3], rows[0], rows[1]]);
  expect(ordered(rows, ({ a }) => a, true)).toEqual([rows[0], rows[2], rows[3], rows[1]]);
  expect(distinct(['a1', 'b', 'a2'], (text) => text.slice(0, 1))).toEqual(['a1', 'b']);
  expect(nextOrder(null, 'a', true)).toEqual({ column: 'a', descending: false });
  expect(nextOrder({ column: 'a', descending: false }, 'a', true).descending).toBe(true);
  expect(nextOrder({ column: 'b', descending: true }, 'a', false).descending).toBe(true);
  expect(holds(' ORD', ['old-orders'])).toBe(true);
  expect(holds('<b>', ['orders'])).toBe(false);
});

test('a bucket that is missing leaves a gap, and is no zero', () => {
  const rows = [4, 1, 2].map((minute) => ({ at: `2026-10-12T10:0${minute}:00Z`, value: minute }));
  const line = timelineOf(rows, ({ at }) => at, 1, [{ label: 'pushed', of: ({ value }) => value }]);
  const first = Date.parse('2026-10-12T10:01:00Z') / 1000;
  expect(line.times.map((time) => time - first)).toEqual([0, 60, 120, 180]);
  expect(line.series).toEqual([{ label: 'pushed', values: [1, 2, null, 4] }]);
  expect(summaryOf(line, String)).toMatch(/^pushed: 4 last, at most 4 at 2026-10-12 \d\d:04:00\.$/);
  const empty = timelineOf([], () => '', 1, [{ label: 'pushed', of: () => 0 }]);
  expect(summaryOf(empty, String)).toBe('pushed: –.');
});

test('moments: where the reader is, and exact', () => {
  const stamp = '2026-10-09T10:00:30.123400Z';
  const local = new Date(stamp);
  const hours = String(local.getHours()).padStart(2, '0');
  expect(formatMoment(stamp)).toMatch(new RegExp(`^2026-10-\\d\\d ${hours}:\\d\\d:30$`));
  expect(formatMoment(stamp).endsWith(formatClock(Date.parse(stamp)))).toBe(true);
  expect([formatMoment(null), formatMoment('soon')]).toEqual(['–', 'soon']);
  expect([exactMoment(stamp), exactMoment(0)]).toEqual([stamp, '1970-01-01T00:00:00.000Z']);
  const at = Date.parse(stamp);
  expect([formatAgo(at, at), formatAgo(at, at + 61_000), formatAgo(at, at - 5000)]).toEqual([
    'now',
    '1 min ago',
    'in 5 s',
  ]);
  expect([formatMs(0.4), formatMs(12.6), formatMs(1500), formatMs(61_000)]).toEqual([
    '0.4 ms',
    '13 ms',
    '1.5 s',
    '1 min 1 s',
  ]);
  expect([formatPercent(7.25), formatPercent(85), formatPercent(null)]).toEqual([
    '7.3 %',
    '85 %',
    '–',
  ]);
});

test.each([
  [403, { error: 'x', message: 'only admins' }, 'not allowed: only admins'],
  [
    503,
    { error: 'no_leader', code: 'no_leader' },
    'the node cannot serve this at the moment: no_leader',
  ],
  [507, null, 'the disk is too full to store more'],
  [409, { error: 'not_a_voter' }, 'not_a_voter'],
  [400, { error: 'kv_bad_request', detail: 'op at index 0: no key' }, 'op at index 0: no key'],
  [500, '<html>', 'refused with status 500'],
])('a refusal with %i in words', (status, body, message) => {
  const refusal = refusalOf(status, '2', body);
  expect(refusal).toBeInstanceOf(CallError);
  expect([refusal.message, refusal.status, refusal.retryAfterMs]).toEqual([message, status, 2000]);
});

test('waiting has an end', () => {
  expect(['3', null, 'soon', '-1', '86400'].map(retryAfterMsOf)).toEqual([3000, 0, 0, 0, 60_000]);
});

test('locks', () => {
  expect([lockOf('gpu#2'), lockOf('a')]).toEqual([
    { name: 'gpu', slot: '2' },
    { name: 'a', slot: null },
  ]);
  expect(['{"owner":"w"}', '{"owner":1}', 'null', '"x"', 'no'].map(ownerOf)).toEqual([
    'w',
    null,
    null,
    null,
    null,
  ]);
});
