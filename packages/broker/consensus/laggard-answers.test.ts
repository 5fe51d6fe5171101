/**
 * Goal: the answers of members that are far behind never take more than one turn of the loop each,
 * all of them are taken, and what they make this node send leaves at a rate. Method: a clock and a
 * loop of the test's own, whose turns are counted.
 */
import type { AppendResponse } from '@svc/raft';
import { describe, expect, test } from 'vitest';
import { MovedClock } from '../testing/moved-clock.fake.js';
import { LaggardAnswers, type LaggardPace } from './laggard-answers.js';

function answer(index: number): AppendResponse {
  return { type: 'append-response', from: 2, to: 1, term: 1, index, life: 0 } as AppendResponse;
}

function paceOf(clock: MovedClock): LaggardPace {
  return { clock, bytesPerSecond: 1_000_000 };
}

/** Answers of which each makes 50,000 bytes leave. */
function sendingAnswers(clock: MovedClock) {
  let sentBytes = 0;
  const send = () => {
    sentBytes += 50_000;
    answers.sent(50_000);
  };
  const answers = new LaggardAnswers(paceOf(clock), send);
  return { answers, send, sentBytes: () => sentBytes };
}

describe('answers of laggards', () => {
  test('are taken in order, one a turn, with what came meanwhile in between', () => {
    const clock = new MovedClock();
    const seen: string[] = [];
    const answers = new LaggardAnswers(paceOf(clock), ({ index }) => {
      seen.push(`${index}`);
      clock.soon(() => seen.push('live'));
    });
    for (let index = 1; index <= 3; index++) answers.add(answer(index));
    expect(seen).toEqual([]);
    clock.move(1);
    expect(seen).toEqual(['1', 'live', '2', 'live', '3', 'live']);
  });

  test('are taken as fast as the rate lets leave what they bring about', () => {
    const clock = new MovedClock();
    const { answers, sentBytes } = sendingAnswers(clock);
    for (let index = 1; index <= 100; index++) answers.add(answer(index));
    for (let passedMs = 0; passedMs < 1000; passedMs += 10) clock.move(10);
    // A million bytes, and what the first one and one burst may be ahead.
    expect(sentBytes()).toBeGreaterThanOrEqual(950_000);
    expect(sentBytes()).toBeLessThanOrEqual(1_100_000);
  });

  test('leave room for what leaves without them', () => {
    const clock = new MovedClock();
    const { answers, send, sentBytes } = sendingAnswers(clock);
    for (let index = 1; index <= 100; index++) answers.add(answer(index));
    for (let passedMs = 0; passedMs < 1000; passedMs += 10) {
      // Two fifths of the rate, always while an answer waits for its time.
      if (passedMs % 125 < 10) send();
      clock.move(10);
    }
    expect(sentBytes()).toBeGreaterThanOrEqual(950_000);
    expect(sentBytes()).toBeLessThanOrEqual(1_150_000);
  });

  test('do not save up a rate that was not used', () => {
    const clock = new MovedClock();
    const { answers, sentBytes } = sendingAnswers(clock);
    clock.move(10_000);
    for (let index = 1; index <= 100; index++) answers.add(answer(index));
    clock.move(1);
    expect(sentBytes()).toBe(50_000);
  });

  test('are forgotten when consensus stops, and bounded', () => {
    const clock = new MovedClock();
    let taken = 0;
    const answers = new LaggardAnswers(paceOf(clock), () => {
      taken++;
    });
    for (let index = 1; index <= 10_000; index++) answers.add(answer(index));
    clock.move(10);
    expect(taken).toBe(4096);
    answers.add(answer(1));
    answers.stop();
    clock.move(10);
    expect(taken).toBe(4096);
  });
});
