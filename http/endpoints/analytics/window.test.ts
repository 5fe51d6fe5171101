// Goal: windows, widths and buckets as the contract counts them. Method: its own numbers, and the
// borders between them.
import { expect, test } from 'vitest';
import {
  bucketAxis,
  bucketText,
  bucketTextMs,
  perSecond,
  round,
  timeRange,
  windowOf,
} from './window.js';

const NOON_US = Date.UTC(2026, 9, 12, 12) * 1000;
const MINUTE_US = 60_000_000;

function windowFrom({ from = '', to = '' }: { from?: string; to?: string }, rounds = true) {
  return windowOf({ from, to }, NOON_US, rounds);
}

function spanOf(minutes: number): Readonly<Record<string, string>> {
  const from = new Date(NOON_US / 1000 - minutes * 60_000).toISOString();
  return { from, to: new Date(NOON_US / 1000).toISOString() };
}

test('the last hour, unless it says otherwise; what is empty is absent', () => {
  for (const query of [{}, { from: '', to: '' }]) {
    const window = windowFrom(query);
    const wanted = { fromUs: NOON_US - 60 * MINUTE_US, toUs: NOON_US, widthMinutes: 1 };
    expect(window).toEqual(wanted);
  }
});

test.each([
  [60.4, 1],
  [60.5, 5],
  [360.4, 5],
  [360.5, 15],
  [1440.4, 15],
  [1440.5, 60],
  [10_080.4, 60],
  [10_080.5, 360],
])('a span of %d minutes is shown by %d', (minutes, width) => {
  expect(windowFrom(spanOf(minutes)).widthMinutes).toBe(width);
});

test('the width of queue-lag goes by the unrounded span', () => {
  expect(windowFrom(spanOf(60.4), false).widthMinutes).toBe(5);
  expect(windowFrom(spanOf(60), false).widthMinutes).toBe(1);
});

test('a window that ends before it begins is shown by the minute', () => {
  expect(windowFrom({ from: '2030-01-01T00:00:00Z' }).widthMinutes).toBe(1);
});

test('a bound that is no instant is answered, by its name and text', () => {
  const error = 'invalid input syntax for type timestamp with time zone: "so "on""';
  const refused = { status: '500 Internal Server Error', text: JSON.stringify({ error }) };
  expect(() => windowFrom({ to: 'so "on"' })).toThrow(expect.objectContaining({ refused }));
});

test('a bound beyond what is exact is written like any other', () => {
  const window = windowFrom({ to: '9999-12-31T23:59:59Z' });
  expect(timeRange.of(window, null).to).toMatch(/^2255-\d\d-\d\dT/);
});

test('the axis has every bucket that a row of the window can fall into', () => {
  const at = (minutes: number, seconds = 0) => NOON_US + minutes * MINUTE_US + seconds * 1_000_000;
  const axis = (fromUs: number, toUs: number, widthMinutes: number) =>
    (bucketAxis({ fromUs, toUs, widthMinutes }, 100) ?? []).map(bucketText);
  expect(axis(at(-2), at(0), 1)).toEqual([
    '2026-10-12T11:58:00Z',
    '2026-10-12T11:59:00Z',
    '2026-10-12T12:00:00Z',
  ]);
  expect(axis(at(-2, 1), at(0, 59), 1)).toEqual(['2026-10-12T11:59:00Z', '2026-10-12T12:00:00Z']);
  expect(axis(at(-7), at(4), 5)).toEqual([
    '2026-10-12T11:50:00Z',
    '2026-10-12T11:55:00Z',
    '2026-10-12T12:00:00Z',
  ]);
  expect(axis(at(-90), at(10), 360)).toEqual([
    '2026-10-12T10:00:00Z',
    '2026-10-12T11:00:00Z',
    '2026-10-12T12:00:00Z',
  ]);
  expect(axis(at(1), at(0), 1)).toEqual([]);
  expect(bucketAxis({ fromUs: at(-100), toUs: at(0), widthMinutes: 1 }, 100)).toBeNull();
});

test('rates to two decimals, and buckets in two spellings', () => {
  expect([perSecond(300, 1), perSecond(4, 1), perSecond(1, 360)]).toEqual([5, 0.07, 0]);
  expect([round(29.027, 1), round(1.5, 0)]).toEqual([29, 2]);
  expect(bucketTextMs(NOON_US / MINUTE_US)).toBe('2026-10-12T12:00:00.000Z');
});
