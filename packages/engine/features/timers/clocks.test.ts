// Goal: timers keep their instants whatever wall clocks do and whoever leads, nobody looks at them
// in between, and random sequences of calls, time, restarts and clocks that are set give each timer
// one message or none. Method: by hand, and against a naive model; a failure names its seed.
import { describe, expect, test } from 'vitest';
import { DELIVERY_LIMITS } from '../../base/delivery-limits.js';
import { TimerClock } from '../../base/timer-clock.js';
import { readMeta } from '../../state/apply.js';
import { EngineRig, utf8 } from '../../testing/engine.fake.js';
import { SeededRandom } from '../../testing/random.fake.js';
import {
  callTimers,
  cancelOf,
  consume,
  pending,
  runDue,
  scheduleOf,
  settle,
} from '../../testing/timers.fake.js';
import { TIMER_LIMITS } from './timers.js';

describe('clocks and leaders', () => {
  test('a wall clock that is set ahead fires nothing early; set back, nothing late', () => {
    for (const leapUs of [288_000_000, -288_000_000]) {
      const rig = new EngineRig();
      rig.timerClock = new TimerClock();
      rig.restart();
      callTimers(rig, scheduleOf('k', { delayMs: 3000 }));
      rig.wallUs += leapUs;
      rig.advance(2990);
      settle(rig);
      expect(pending(rig)).toBe(1);
      expect(rig.planner.nextDueMs()).toBeLessThanOrEqual(rig.nowMs + 10);
      rig.advance(10);
      settle(rig);
      expect(pending(rig)).toBe(0);
    }
  });

  test('a leader whose wall clock is ahead takes the time over from the one before', () => {
    const rig = new EngineRig();
    callTimers(rig, scheduleOf('k', { delayMs: 3000 }));
    const { timerUs } = readMeta(rig.planner.state);
    const follower = new TimerClock();
    const aheadUs = 100_000_000;
    for (let ms = 6000; ms >= 0; ms -= 1000) {
      const at = { wallUs: rig.wallUs + aheadUs - ms * 1000, nowMs: rig.nowMs - ms };
      follower.heard(timerUs - ms * 1000, at);
    }
    rig.timerClock = follower;
    rig.wallUs += aheadUs;
    rig.restart(2);
    settle(rig);
    expect(pending(rig)).toBe(1);
    rig.advance(2990);
    settle(rig);
    expect(pending(rig)).toBe(1);
    rig.advance(10);
    settle(rig);
    expect(pending(rig)).toBe(0);
  });

  test('every entry that changes timers says what time it was', () => {
    const rig = new EngineRig();
    const told = () => readMeta(rig.planner.state).timerUs;
    callTimers(rig, scheduleOf('k', { delayMs: 100 }));
    const first = told();
    rig.advance(150);
    settle(rig);
    expect(told() - first).toBe(150_000);
    rig.advance(70);
    callTimers(rig, cancelOf('k'));
    expect(told() - first).toBe(150_000);
    callTimers(rig, scheduleOf('k'));
    rig.advance(30);
    callTimers(rig, cancelOf('k'));
    expect(told() - first).toBe(250_000);
  });

  test('the next leader wakes at the same instant, and fires what is overdue at once', () => {
    const rig = new EngineRig();
    callTimers(rig, scheduleOf('k', { delayMs: 3000 }), scheduleOf('l', { delayMs: 10 }));
    rig.advance(1000);
    rig.restart(2);
    expect(rig.planner.nextDueMs()).toBe(0);
    settle(rig);
    expect(consume(rig)).toEqual(['"txn-l"']);
    expect(rig.planner.nextDueMs()).toBe(rig.nowMs + 2000);
    runDue(rig);
    expect(consume(rig)).toEqual(['"txn-k"']);
  });

  test('nobody sleeps longer than a platform can count', () => {
    const rig = new EngineRig();
    callTimers(rig, scheduleOf('k', { delayMs: 90 * 86_400_000 }));
    const dueMs = rig.planner.nextDueMs() ?? 0;
    expect(dueMs - rig.nowMs).toBe(3_600_000);
    for (let hours = 0; hours < 3; hours++) {
      const { entries } = rig;
      runDue(rig);
      expect(rig.entries).toBe(entries);
    }
  });

  test('without timers nothing is due', () => {
    const rig = new EngineRig();
    rig.push('q', 'p', ['one']);
    expect(rig.planner.nextDueMs()).toBeNull();
  });
});

const SEEDS = 100;
const STEPS = 60;

/** The pending timers as a list: when each is due, and the text that it pushes. */
class Model {
  readonly #timers = new Map<string, { readonly dueMs: number; readonly text: string }>();
  readonly fired: string[] = [];

  schedule(key: string, dueMs: number, text: string): 'scheduled' | 'rescheduled' {
    const status = this.#timers.has(key) ? 'rescheduled' : 'scheduled';
    this.#timers.set(key, { dueMs, text });
    return status;
  }

  cancel(key: string): 'cancelled' | 'absent' {
    return this.#timers.delete(key) ? 'cancelled' : 'absent';
  }

  fire(nowMs: number): void {
    for (const [key, { dueMs, text }] of this.#timers) {
      if (dueMs > nowMs) continue;
      this.#timers.delete(key);
      this.fired.push(text);
    }
  }

  get size(): number {
    return this.#timers.size;
  }
}

describe('random sequences', () => {
  test.each(Array.from({ length: SEEDS }, (_, i) => i + 1))('seed %i', (seed) => {
    const random = new SeededRandom(seed);
    const limits = { ...TIMER_LIMITS, batchMax: 1 + random.below(4) };
    const rig = new EngineRig(DELIVERY_LIMITS, { timers: limits });
    rig.timerClock = new TimerClock();
    rig.restart();
    const model = new Model();
    const seen: string[] = [];
    for (let step = 0; step < STEPS; step++) {
      const key = `k${random.below(6)}`;
      switch (random.below(8)) {
        case 0:
        case 1:
        case 2: {
          const delayMs = random.below(4) * 100;
          const text = `"s${step}"`;
          const words = { delayMs, txn: `t${step}`, payload: utf8(text) };
          const op = scheduleOf(key, { ...words, partition: `p${random.below(2)}` });
          // Firing comes before schedules in a turn.
          model.fire(rig.nowMs);
          const [result] = callTimers(rig, op).results;
          const dueMs = rig.nowMs + delayMs;
          expect(result?.status).toBe(model.schedule(key, dueMs, text));
          settle(rig);
          model.fire(rig.nowMs);
          break;
        }
        case 3:
          expect(callTimers(rig, cancelOf(key)).results[0]?.status).toBe(model.cancel(key));
          settle(rig);
          model.fire(rig.nowMs);
          break;
        case 4:
          rig.restart(1 + random.below(3));
          break;
        case 5:
          rig.lag = random.below(3);
          break;
        case 6:
          rig.wallUs += (random.below(3) - 1) * 200_000_000;
          break;
        default:
          rig.advance(random.below(5) * 50);
          settle(rig);
          model.fire(rig.nowMs);
      }
    }
    rig.lag = 0;
    rig.advance(1000);
    settle(rig);
    model.fire(rig.nowMs);
    seen.push(...consume(rig));
    expect(seen.sort()).toEqual(model.fired.sort());
    expect(pending(rig)).toBe(model.size);
    expect(model.size).toBe(0);
  });
});
