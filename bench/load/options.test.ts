// Goal: the command line says what it means. Method: examples.

import { expect, test } from 'vitest';
import { readLoadOptions } from './options.js';
import { SHARED_WORKS, WORKS } from './works.js';

test('without arguments every load runs, three rounds of three seconds', () => {
  const { works, batches, connections, rounds, seconds } = readLoadOptions([]);
  expect([works, batches]).toEqual([WORKS, [1, 10, 100]]);
  expect([connections, rounds, seconds]).toEqual([64, 3, 3]);
  expect(readLoadOptions(['--only', 'latency,push']).works).toEqual(['push', 'latency']);
});

test('other systems and nodes elsewhere get what they can take', () => {
  expect(readLoadOptions(['--against', 'redis']).works).toEqual(SHARED_WORKS);
  const there = ['--url', 'http://localhost:6632'];
  expect(readLoadOptions(there).works).toEqual([...SHARED_WORKS, 'transactions']);
  expect(readLoadOptions([...there, '--only', 'kv']).works).toEqual(['kv']);
  expect(() => readLoadOptions([...there, '--only', 'timers'])).toThrow(/--only timers/);
});

test.each([
  [['--only', 'pull'], /--only pull/],
  [['--seconds', '1.5'], /--seconds 1.5/],
  [['--connections', '1'], /from 2 to/],
  [['--fast'], /--fast/],
  [['--against', 'redis', '--against-build', '.'], /at a time/],
])('refuses %j', (commandLine, message) => {
  expect(() => readLoadOptions(commandLine)).toThrow(message);
});
