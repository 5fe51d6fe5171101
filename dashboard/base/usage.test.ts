// Goal: usage by the minute becomes the right totals and points, whatever the minutes are.
import { expect, test } from 'vitest';
import {
  USAGE_SPANS,
  type UsageMinute,
  usageBuckets,
  usageByKind,
  usageSpanOf,
  usageTimeline,
} from './usage.js';

const minute = (at: string, op: UsageMinute['op'], msgs: number): UsageMinute => ({
  minute: `2026-11-26T${at}:00Z`,
  op,
  reqs: 1,
  msgs,
  bytes_in: 10,
  bytes_out: 20,
});
const NOW_MS = Date.parse('2026-11-26T12:07:30Z');
const SPAN = { hours: 1, label: '', bucketMinutes: 15 };

test('totals by kind, the most requests first', () => {
  const rows = [minute('11:00', 'push', 5), minute('11:01', 'read', 0), minute('11:02', 'push', 7)];
  expect(usageByKind(rows)).toEqual([
    { op: 'push', reqs: 2, msgs: 12, bytes_in: 20, bytes_out: 40 },
    { op: 'read', reqs: 1, msgs: 0, bytes_in: 10, bytes_out: 20 },
  ]);
  expect(usageByKind([])).toEqual([]);
});

test('points of the whole span: what is pushed, what is delivered, and 0 in between', () => {
  const rows = [
    minute('11:15', 'push', 5),
    minute('11:29', 'txn', 2),
    minute('12:00', 'delivery', 3),
    minute('12:01', 'configure', 9),
    minute('09:00', 'push', 100),
    { ...minute('11:20', 'push', 100), minute: 'never' },
  ];
  const buckets = usageBuckets(rows, SPAN, NOW_MS);
  expect(buckets.map(({ pushed, delivered, reqs }) => [pushed, delivered, reqs])).toEqual([
    [0, 0, 0],
    [7, 0, 2],
    [0, 0, 0],
    [0, 0, 0],
    [0, 3, 2],
  ]);
  const { times, series } = usageTimeline(buckets, [{ label: 'Pushed', of: 'pushed' }]);
  expect(times[0]).toBe(Date.parse('2026-11-26T11:00:00Z') / 1000);
  expect(series).toEqual([{ label: 'Pushed', values: [0, 7, 0, 0, 0] }]);
});

test('at the end there is nothing where nothing can be known yet', () => {
  const last = (rows: readonly UsageMinute[]) => usageBuckets(rows, SPAN, NOW_MS).at(-1)?.fromS;
  const at = (clock: string) => Date.parse(`2026-11-26T${clock}:00Z`) / 1000;
  expect(last([])).toBe(at('11:45'));
  expect(last([minute('12:00', 'read', 0)])).toBe(at('12:00'));
  const minutes = { ...SPAN, bucketMinutes: 1 };
  expect(usageBuckets([], minutes, NOW_MS).at(-1)?.fromS).toBe(at('12:05'));
});

test('spans have some hundred points, and an address with another one shows the last day', () => {
  for (const span of USAGE_SPANS) {
    expect(usageBuckets([], span, NOW_MS).length).toBeLessThanOrEqual(100);
    expect(usageSpanOf(String(span.hours))).toBe(span);
  }
  for (const hours of [null, '', '5', '-1', 'x']) expect(usageSpanOf(hours).hours).toBe(24);
});
