/**
 * Goal: a series of calls that answer at once takes no stack, one that answers later goes on, and a
 * failure ends it. Method: the loop alone, with more steps than a stack has room for.
 */
import { describe, expect, test } from 'vitest';
import { AtOnce } from '../testing/call-loop.fake.js';
import { callLoop } from './call-loop.js';

describe('a loop of calls', () => {
  test.each(['at once', 'later', 'either way'])('goes on when answers come %s', (when) => {
    const waiting: (() => void)[] = [];
    let steps = 0;
    callLoop((again) => {
      steps++;
      if (steps === 100_000) return;
      const isLater = when === 'later' || (when === 'either way' && steps % 3 === 0);
      if (isLater) waiting.push(again);
      else again();
    });
    for (const again of waiting) again();
    expect(steps).toBe(100_000);
  });

  test('never runs a step within another', () => {
    const atOnce = new AtOnce();
    let steps = 0;
    callLoop((again) => {
      if (++steps < 5) atOnce.answer(again);
    });
    expect(steps).toBe(5);
    const recurse = () => atOnce.answer(() => void (++steps < 10 && recurse()));
    expect(recurse).toThrow('call-loop.ts');
  });

  test('ends with the failure of a step, and may go on after it', () => {
    let steps = 0;
    let goOn = (): void => {};
    const start = () =>
      callLoop((again) => {
        goOn = again;
        if (++steps === 2) throw new Error('a step failed');
        if (steps < 4) again();
      });
    expect(start).toThrow('a step failed');
    goOn();
    expect(steps).toBe(4);
  });
});
