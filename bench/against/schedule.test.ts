// Goal: a comparison measures what its options say, judges ratios by what was promised, and tells
// what is not installed at once. Method: examples, and rounds whose ratios can be worked out by
// hand.

import { expect, test } from 'vitest';
import { comparisons, measurementOf } from './compare.js';
import { latencyVerdicts } from './goals.js';
import { asksForAgainst, readAgainstOptions } from './options.js';
import { processorSeconds } from './processor-time.js';
import { requirePeers } from './requirements.js';
import { fakeResult } from './result.fake.js';
import type { Round } from './result.js';
import { cells, entrants, leastMs, secondsOf } from './schedule.js';
import { ROUNDS_MAX, uncertainties, unsettled } from './settling.js';
import { renderTables } from './table.js';

test('the whole comparison: every load on every system, and one load for latency', () => {
  const options = readAgainstOptions(['--against', 'nats,rabbitmq,redis,postgres']);
  expect(cells(options)).toHaveLength(2 * 2 * 3 + 1);
  expect(entrants(options, 1)).toHaveLength(1 + 4 * 2);
  const three = entrants(options, 3).map(({ system, setting }) => `${system} ${setting}`);
  expect(three).toEqual(['ours durable', 'nats durable', 'nats defaults', 'rabbitmq durable']);
  const leastMinutes = (leastMs(options, 1) + leastMs(options, 3)) / 60_000;
  expect(leastMinutes).toBeLessThan(options.minutes - 1);
});

test('sizes of payloads alternate, and latencies have longer windows', () => {
  const options = readAgainstOptions(['--against', 'redis', '--seconds', '2']);
  const rates = cells(options).filter(({ work }) => work !== 'latency');
  expect(rates.map(({ payloadBytes }) => payloadBytes)).toEqual(
    rates.map((_, index) => (index % 2 === 0 ? 256 : 4096)),
  );
  const seconds = cells(options).map((cell) => [cell.work, secondsOf(cell, options)]);
  expect(seconds).toContainEqual(['publish', 2]);
  expect(seconds).toContainEqual(['consume', 2]);
  expect(seconds).toContainEqual(['latency', 6]);
});

test('options narrow it', () => {
  const narrow = ['--against', 'redis', '--batches', '100,1,1', '--payloads', '256'].concat([
    '--nodes',
    '1',
    '--settings',
    'durable',
    '--works',
    'publish',
    '--rounds',
    '2',
  ]);
  const options = readAgainstOptions(narrow);
  expect(cells(options)).toEqual([
    { work: 'publish', payloadBytes: 256, batch: 1 },
    { work: 'publish', payloadBytes: 256, batch: 100 },
  ]);
  const fewer = readAgainstOptions([...narrow, '--rounds', '1']);
  expect(leastMs(options, 1) - leastMs(fewer, 1)).toBe(2 * 2 * (1250 + 250 + 550));
  expect(asksForAgainst(narrow)).toBe(true);
  expect(asksForAgainst(['--against=redis'])).toBe(true);
  expect(asksForAgainst(['--only', 'push'])).toBe(false);
});

test.each([
  [['--against', 'kafka'], /--against kafka/],
  [['--against', 'redis', '--batches', '1,x'], /--batches x/],
  [['--against', 'redis', '--nodes', '2'], /--nodes 2/],
  [['--against', 'redis', '--payloads', '1'], /--payloads 1/],
])('refuses %j', (commandLine, message) => {
  expect(() => readAgainstOptions(commandLine)).toThrow(message);
});

function round(number: number, messagesPerSecond: number, p50Ms: number): Round {
  const latency = { p50Ms, p90Ms: p50Ms, p99Ms: p50Ms, p999Ms: p50Ms, maxMs: p50Ms };
  const [messages, seconds, cost] = [messagesPerSecond, 1, 1];
  return {
    number,
    turns: 8,
    messages,
    seconds,
    messagesPerSecond,
    latency,
    loadMicrosecondsPerMessage: cost,
    serverMicrosecondsPerMessage: cost,
  };
}

test('ratios are those of rounds side by side, judged by what was promised', () => {
  const load = { setting: 'durable', nodes: 1, work: 'publish', payloadBytes: 256 } as const;
  const at = (system: 'ours' | 'redis', batch: number, rates: readonly number[]) =>
    measurementOf(
      { ...load, system, batch },
      rates.map((rate, number) => round(number, rate, 1)),
    );
  const [single, ten, odd] = comparisons([
    at('ours', 1, [90, 40, 100]),
    at('redis', 1, [100, 20, 200]),
    at('ours', 10, [100]),
    at('redis', 10, [100]),
    at('ours', 7, [100]),
    at('redis', 7, [100]),
  ]);
  expect(single?.ratios).toEqual([0.9, 2, 0.5]);
  // The roots of 0.9 * 2, 0.9 * 0.5, 2 * 0.5, and the three: the middle is between 0.9 and 1.
  expect(single?.ratio).toBeCloseTo(Math.sqrt(0.9), 10);
  expect(single?.goal).toEqual({ bound: 'at least', value: 0.9, reached: true });
  expect(ten?.goal).toEqual({ bound: 'at least', value: 1.1, reached: false });
  expect(odd?.goal).toBeNull();
});

test('a system that was measured in some rounds only is compared with ours in those', () => {
  const load = { setting: 'durable', nodes: 1, work: 'consume', payloadBytes: 256 } as const;
  const ours = [100, 300, 500].map((rate, number) => round(number, rate, 1));
  const theirs = [round(0, 100, 1), round(2, 100, 1)];
  const [compared] = comparisons([
    measurementOf({ ...load, system: 'ours', batch: 1 }, ours),
    measurementOf({ ...load, system: 'redis', batch: 1 }, theirs),
  ]);
  expect(compared?.ratios).toEqual([1, 5]);
  expect(compared?.ratio).toBeCloseTo(Math.sqrt(5), 10);
});

/** Ours at the same rate always, and others whose ratios to it are these. */
function tallyOf(...ratios: readonly (readonly number[])[]): readonly (readonly Round[])[] {
  const all = [ratios[0]?.map(() => 1) ?? [], ...ratios];
  return all.map((one) => one.map((ratio, number) => round(number, 1000 / ratio, 1)));
}

test('how sure a mean is: what was seen, and four rounds of what others show', () => {
  // Variances 0.02 and 0.08: 0.05, in the middle, counts four times.
  const [calm = 0, uneasy = 0, single = 0, none] = uncertainties([[1, 1.2], [2, 2.4], [3], []]);
  expect(calm).toBeCloseTo(Math.sqrt((0.02 + 4 * 0.05) / 5 / 2), 10);
  expect(uneasy).toBeCloseTo(Math.sqrt((0.08 + 4 * 0.05) / 5 / 2), 10);
  expect(single).toBeCloseTo(Math.sqrt(0.05), 10);
  expect(none).toBe(0);
  expect(uncertainties([[1], []])).toEqual([0, 0]);
});

test('more rounds go where they differ most, and no further than needed', () => {
  const calm = tallyOf([1, 1.01, 1, 1.01], [2, 2.02, 2, 2.02]);
  expect(unsettled([calm, calm])).toEqual([]);
  const uneasy = tallyOf([1, 1.01, 1, 1.01], [2, 2.5, 2, 2.5]);
  expect(unsettled([calm, uneasy])).toEqual([{ load: 1, place: 2 }]);
  // Rounds that agree by chance are few, and not certain while all others differ.
  const few = tallyOf([2, 2], [2, 3, 2, 3], [3, 2, 3, 2]);
  expect(unsettled([few])).toContainEqual({ load: 0, place: 1 });

  const many = (count: number) => Array.from({ length: count }, (_, i) => 1 + (i % 2));
  expect(unsettled([tallyOf(many(ROUNDS_MAX - 1))])).toEqual([{ load: 0, place: 1 }]);
  expect(unsettled([tallyOf(many(ROUNDS_MAX))])).toEqual([]);
  // One that gets no more does not keep others from theirs.
  const others = tallyOf([1, 1.1, 1.1, 1.2]);
  expect(unsettled([tallyOf(many(ROUNDS_MAX)), others])).toEqual([{ load: 1, place: 1 }]);
  const wild = Array.from({ length: ROUNDS_MAX }, (_, i) => 100 ** (i % 2));
  expect(unsettled([tallyOf(wild), others, others])).toHaveLength(2);
  // Latencies, and systems of which all rounds were left out.
  expect(unsettled([[], tallyOf([])])).toEqual([]);
});

test('latencies of ours are judged, those of others are not', () => {
  const load = {
    setting: 'durable',
    nodes: 3,
    work: 'latency',
    payloadBytes: 256,
    batch: 1,
  } as const;
  const rounds = [0.9, 3, 5].map((p50Ms, number) => round(number, 1000, p50Ms));
  const verdicts = latencyVerdicts([
    measurementOf({ ...load, system: 'ours' }, rounds),
    measurementOf({ ...load, system: 'nats' }, rounds),
  ]);
  expect(verdicts.map(({ quantile, value, goal }) => [quantile, value, goal.reached])).toEqual([
    ['p50Ms', 3, false],
    ['p99Ms', 3, true],
  ]);
});

test('the tables have a line for every measurement', () => {
  const result = fakeResult();
  const lines = renderTables(result).split('\n');
  const rows = lines.filter((line) => /^(publish|consume) +[13] /.test(line));
  expect(rows).toHaveLength(result.measurements.filter((one) => one.work !== 'latency').length);
});

test('all that is missing is said at once, by its packages', () => {
  const check = (): void => requirePeers(['nats', 'redis'], '/nowhere');
  expect(check).toThrow(/apt-get install gcc .*nats-server.*redis-server/);
});

test('processor time of a process counts its threads', () => {
  const before = processorSeconds([process.pid]);
  let sum = 0;
  for (let i = 0; i < 3e7; i += 1) sum += i % 7;
  expect(sum).toBeGreaterThan(0);
  expect(processorSeconds([process.pid])).toBeGreaterThan(before);
  expect(processorSeconds([])).toBe(0);
});
