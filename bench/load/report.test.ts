// Goal: the command line and the table say what they mean. Method: examples.

import { expect, test } from 'vitest';
import { figure, meets, targetOf } from './figure.js';
import { readOptions } from './options.js';
import { renderFigures } from './report.js';

test('without arguments everything runs, at the conditions of the targets', () => {
  const options = readOptions([]);
  expect(options.scenarios).toEqual(['push', 'pop', 'e2e', 'latency', 'storage']);
  expect([options.connections, options.payloadBytes, options.runs]).toEqual([64, 256, 3]);
  expect(readOptions(['--only', 'latency,push']).scenarios).toEqual(['push', 'latency']);
});

test.each([
  [['--only', 'pull'], /--only pull/],
  [['--seconds', '1.5'], /--seconds 1.5/],
  [['--connections', '0'], /from 1 to/],
  [['--fast'], /--fast/],
])('refuses %j', (commandLine, message) => {
  expect(() => readOptions(commandLine)).toThrow(message);
});

test('a figure is the median of its runs, beside its target', () => {
  const fast = figure('push batch 100', 'messages/s', [300_000, 100_000, 260_000], 'note');
  const slow = figure('latency p99', 'ms', [5.01], '');
  const target = targetOf(fast);
  expect(fast.value).toBe(260_000);
  expect(target !== null && meets(fast, target)).toBe(true);
  const lines = renderFigures([fast, slow]).split('\n');
  expect(lines[2]).toMatch(
    /^push batch 100 +260,000 +messages\/s +at least 250,000 +met +300,000 100,000 260,000 +note$/,
  );
  expect(lines[3]).toMatch(/^latency p99 +5\.01 +ms +at most 5 +MISSED$/);
});
