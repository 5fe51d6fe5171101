// Goal: one line says how fast each count grew, and an idle node is silent.
// Method: the arithmetic alone, and a line's way into the log under a clock that the test moves.
import { expect, test } from 'vitest';
import { MovedClock } from '../testing/moved-clock.fake.js';
import { createLogger } from './logging.js';
import { logRates, ratesBetween } from './logging-rates.js';

test('growth over time, to a tenth; what stood still is left out', () => {
  const before = { pushes: 100, pops: 7 };
  expect(ratesBetween(before, { pushes: 100, pops: 7 }, 10_000)).toBeNull();
  expect(ratesBetween(before, { pushes: 1234, pops: 7 }, 10_000)).toEqual({ pushes: 113.4 });
  expect(ratesBetween({}, { acks: 3 }, 2000)).toEqual({ acks: 1.5 });
});

test('a line for each interval in which something moved, until it is stopped', () => {
  const lines: string[] = [];
  const logger = createLogger({ level: 'info', json: true }, (line) => lines.push(line));
  const clock = new MovedClock();
  const totals = { pushes: 5 };
  const stop = logRates({ clock, logger }, 1000, () => totals);
  clock.move(1000);
  expect(lines).toEqual([]);
  totals.pushes += 20;
  clock.move(1000);
  clock.move(1000);
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { target: 'rates', message: 'per second', pushes: 20 },
  ]);
  totals.pushes += 1;
  stop();
  clock.move(5000);
  expect(lines).toHaveLength(1);
});

test('sizes are told beside rates, and only then', () => {
  const lines: string[] = [];
  const logger = createLogger({ level: 'info', json: true }, (line) => lines.push(line));
  const clock = new MovedClock();
  const totals = { pushes: 5 };
  const stop = logRates(
    { clock, logger },
    1000,
    () => totals,
    () => ({ logFiles: 2 }),
  );
  clock.move(3000);
  expect(lines).toEqual([]);
  totals.pushes++;
  clock.move(1000);
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { target: 'rates', message: 'per second', pushes: 1 },
    { target: 'rates', message: 'sizes', logFiles: 2 },
  ]);
  stop();
});
