/**
 * Goal: the answers of members that are far behind never take more than one turn of the loop each,
 * and all of them are taken. Method: a loop of the test's own, whose turns are counted.
 */
import type { AppendResponse } from '@svc/raft';
import { describe, expect, test } from 'vitest';
import { LaggardAnswers } from './laggard-answers.js';
import { ManualClock } from './recovery.fake.js';

function answer(index: number): AppendResponse {
  return { type: 'append-response', from: 2, to: 1, term: 1, index, life: 0 } as AppendResponse;
}

describe('answers of laggards', () => {
  test('are taken in order, one a turn, with what came meanwhile in between', () => {
    const clock = new ManualClock();
    const seen: string[] = [];
    const answers = new LaggardAnswers(clock, ({ index }) => {
      seen.push(`${index}`);
      clock.soon(() => seen.push('live'));
    });
    for (let index = 1; index <= 3; index++) answers.add(answer(index));
    expect(seen).toEqual([]);
    clock.pass(1);
    expect(seen).toEqual(['1', 'live', '2', 'live', '3', 'live']);
  });

  test('are forgotten when consensus stops, and bounded', () => {
    const clock = new ManualClock();
    let taken = 0;
    const answers = new LaggardAnswers(clock, () => {
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
