// Goal: what the machine refuses to a timer of the rim costs one run and one line a minute; a bug
// is thrown on. Method: work that fails as told, a clock that is set, a logger that keeps lines.
import { describe, expect, test } from 'vitest';
import { MovedClock } from '../testing/moved-clock.fake.js';
import { createLogger } from './logging.js';
import { logRates } from './logging-rates.js';
import { harmless } from './rim-timer.js';

function refusal(): Error {
  return Object.assign(new Error('EMFILE: too many open files'), {
    code: 'EMFILE',
    syscall: 'open',
  });
}

describe('work that may fail', () => {
  const clock = new MovedClock();
  const lines: string[] = [];
  const logger = createLogger({ level: 'info', json: false }, (line) => lines.push(line));
  let error: Error | null = null;
  let runs = 0;
  const work = harmless({ clock, logger }, 'taking a sample', () => {
    runs++;
    if (error !== null) throw error;
  });

  test('is run, and told of once a minute', () => {
    work();
    error = refusal();
    for (let i = 0; i < 3; i++) work();
    expect(runs).toBe(4);
    expect(lines.length).toBe(1);
    expect(lines[0]).toContain('taking a sample failed, and is tried again error=EMFILE');
    clock.move(60_000);
    work();
    expect(lines.length).toBe(2);
  });

  test('a bug ends the process', () => {
    error = new TypeError('a bug');
    expect(work).toThrow(error);
  });
});

test('the line of rates survives a figure that fails', () => {
  const clock = new MovedClock();
  const lines: string[] = [];
  const logger = createLogger({ level: 'info', json: false }, (line) => lines.push(line));
  let pushes = 0;
  let fails = false;
  logRates({ clock, logger }, 1000, () => {
    if (fails) throw refusal();
    return { pushes };
  });
  pushes = 5;
  fails = true;
  clock.move(1000);
  fails = false;
  clock.move(1000);
  expect(lines.map((line) => line.split(' ').slice(2).join(' ').trim())).toEqual([
    'boot collecting rates failed, and is tried again error=EMFILE: too many open files',
    'rates per second pushes=5',
  ]);
});
