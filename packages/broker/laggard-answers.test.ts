/**
 * Goal: the answers of members that are far behind never take more than one turn of the loop each,
 * all of them are taken, and what they make this node send leaves at a rate. Method: a clock and a
 * loop of the test's own, whose turns are counted.
 */
import type { AppendResponse } from '@svc/raft';
import { describe, expect, test } from 'vitest';
import { LaggardAnswers, type LaggardPace } from './laggard-answers.js';
import { ManualClock } from './recovery.fake.js';

function answer(index: number): AppendResponse {
  return { type: 'append-response', from: 2, to: 1, term: 1, index, life: 0 } as AppendResponse;
}

/** Nothing is sent, unless `sentBytes` says so. */
function paceOf(clock: ManualClock, sentBytes: () => number = () => 0): LaggardPace {
  return { clock, bytesPerSecond: 1_000_000, sentBytes };
}

describe('answers of laggards', () => {
  test('are taken in order, one a turn, with what came meanwhile in between', () => {
    const clock = new ManualClock();
    const seen: string[] = [];
    const answers = new LaggardAnswers(paceOf(clock), ({ index }) => {
      seen.push(`${index}`);
      clock.soon(() => seen.push('live'));
    });
    for (let index = 1; index <= 3; index++) answers.add(answer(index));
    expect(seen).toEqual([]);
    clock.pass(1);
    expect(seen).toEqual(['1', 'live', '2', 'live', '3', 'live']);
  });

  test('are taken as fast as the rate lets leave what they bring about', () => {
    const clock = new ManualClock();
    let sent = 0;
    const answers = new LaggardAnswers(
      paceOf(clock, () => sent),
      () => {
        sent += 50_000;
      },
    );
    for (let index = 1; index <= 100; index++) answers.add(answer(index));
    for (let passedMs = 0; passedMs < 1000; passedMs += 10) clock.pass(10);
    // A million bytes, and what the first one and one burst may be ahead.
    expect(sent).toBeGreaterThanOrEqual(950_000);
    expect(sent).toBeLessThanOrEqual(1_100_000);
  });

  test('do not save up a rate that was not used', () => {
    const clock = new ManualClock();
    let sent = 0;
    const answers = new LaggardAnswers(
      paceOf(clock, () => sent),
      () => {
        sent += 50_000;
      },
    );
    clock.pass(10_000);
    for (let index = 1; index <= 100; index++) answers.add(answer(index));
    clock.pass(1);
    expect(sent).toBe(50_000);
  });

  test('are forgotten when consensus stops, and bounded', () => {
    const clock = new ManualClock();
    let taken = 0;
    const answers = new LaggardAnswers(paceOf(clock), () => {
      taken++;
    });
    for (let index = 1; index <= 10_000; index++) answers.add(answer(index));
    clock.pass(10);
    expect(taken).toBe(4096);
    answers.add(answer(1));
    answers.stop();
    clock.pass(10);
    expect(taken).toBe(4096);
  });
});
