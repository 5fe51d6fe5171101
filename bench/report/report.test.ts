// Goal: the table says what it means. Method: an example.

import { expect, test } from 'vitest';
import { atMost, figure } from './figure.js';
import { renderFigures } from './report.js';

test('a figure is the median of its runs, beside its target', () => {
  const fast = figure('push', 'messages/s', [300_000, 100_000, 260_000], 'note');
  const slow = figure('latency p99', 'ms', [5.01], '', atMost(5));
  const met = figure('latency p50', 'ms', [5], '', atMost(5));
  const lines = renderFigures([fast, slow, met]).split('\n');
  expect(lines[2]).toMatch(/^push +260,000 +messages\/s +300,000 100,000 260,000 +note$/);
  expect(lines[3]).toMatch(/^latency p99 +5\.01 +ms +at most 5 +MISSED$/);
  expect(lines[4]).toMatch(/^latency p50 +5 +ms +at most 5 +met$/);
});
