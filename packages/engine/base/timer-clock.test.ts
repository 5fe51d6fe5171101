// Goal: the time of timers runs with the monotonic clock and nothing else, is handed on by word of
// the leaders, and never goes back. Method: by hand, with clocks that are set, and words that come
// late, early and not at all.
import { describe, expect, test } from 'vitest';
import { TimerClock } from './timer-clock.js';

const T = 1_800_000_000_000_000;
const SECOND_US = 1_000_000;

function at(ms: number, leapSeconds = 0) {
  return { wallUs: T + ms * 1000 + leapSeconds * SECOND_US, nowMs: 5000 + ms };
}

describe('alone', () => {
  test('it begins with the wall clock and follows the monotonic one', () => {
    const clock = new TimerClock();
    expect(clock.nowUs(at(0))).toBe(T);
    expect(clock.nowUs(at(250.5))).toBe(T + 250_500);
  });

  test('a clock that is set, ahead or back, moves it by next to nothing', () => {
    const clock = new TimerClock();
    clock.nowUs(at(0));
    expect(clock.nowUs(at(60_000, 288)) - T - 60 * SECOND_US).toBe(30_000);
    const back = new TimerClock();
    back.nowUs(at(0));
    expect(back.nowUs(at(60_000, -288))).toBe(T + 60 * SECOND_US);
  });

  test('time that lags catches up at its own pace, and no further', () => {
    const clock = new TimerClock();
    clock.nowUs(at(0));
    const dayMs = 86_400_000;
    expect(clock.nowUs(at(dayMs, 10))).toBe(T + dayMs * 1000 + 10 * SECOND_US);
  });

  test('it is never below what the rows say, and never goes back', () => {
    const clock = new TimerClock();
    expect(clock.nowUs(at(0), T + 500)).toBe(T + 500);
    expect(clock.nowUs(at(0))).toBe(T + 500);
    expect(clock.nowUs({ ...at(0), nowMs: 0 })).toBe(T + 500);
  });
});

describe('heard', () => {
  test('a word that is ahead is taken at once', () => {
    const clock = new TimerClock();
    clock.nowUs(at(0));
    clock.heard(T + 40 * SECOND_US, at(31_000));
    expect(clock.nowUs(at(32_000))).toBe(T + 41 * SECOND_US);
  });

  test('words that are behind are believed after some seconds, the latest of them', () => {
    const clock = new TimerClock();
    clock.nowUs(at(0, 100));
    for (let ms = 0; ms < 5000; ms += 500) {
      clock.heard(T + ms * 1000, at(ms, 100));
      expect(clock.nowUs(at(ms, 100))).toBeGreaterThanOrEqual(T + 100 * SECOND_US);
    }
    // It has waited for two seconds; others had not.
    clock.heard(T + 4600 * 1000, at(6600, 100));
    expect(clock.nowUs(at(6600, 100))).toBe(T + 6600 * 1000);
  });

  test('once, and then no more', () => {
    const clock = new TimerClock();
    clock.nowUs(at(0));
    clock.heard(T, at(0));
    clock.heard(T + 6 * SECOND_US, at(6000));
    clock.heard(T + 7 * SECOND_US, at(30_000));
    expect(Math.abs(clock.nowUs(at(30_000)) - T - 30 * SECOND_US)).toBeLessThan(20_000);
  });

  test('one word alone, which may have waited, changes nothing', () => {
    const clock = new TimerClock();
    clock.nowUs(at(0));
    clock.heard(T + 4 * SECOND_US, at(5000));
    clock.lead();
    expect(clock.nowUs(at(6000))).toBe(T + 6 * SECOND_US);
  });

  test('a word that was heard before is no news', () => {
    const clock = new TimerClock();
    clock.nowUs(at(0));
    clock.heard(T, at(0));
    clock.heard(T, at(9000));
    expect(clock.nowUs(at(9000))).toBe(T + 9 * SECOND_US);
  });

  test('who has led believes its own time', () => {
    const clock = new TimerClock();
    clock.nowUs(at(0));
    clock.lead();
    for (let ms = 0; ms < 20_000; ms += 1000) clock.heard(T + ms * 900, at(ms));
    expect(clock.nowUs(at(20_000))).toBe(T + 20 * SECOND_US);
  });
});
