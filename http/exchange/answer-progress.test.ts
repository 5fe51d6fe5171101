// Goal: what is left is told from the pace of the last sweeps, once there were two.
// Method: a reader of 1,000 bytes, sweep by sweep.
import { expect, test } from 'vitest';
import { AnswerProgress } from './answer-progress.js';

test('what is left, in sweeps', () => {
  const progress = new AnswerProgress(0);
  const left: number[] = [];
  for (const takenBytes of [500, 600, 600, 800, 800]) {
    progress.takenBytes = takenBytes;
    expect(progress.sweep(0)).toBe(false);
    left.push(progress.sweepsLeft(1000));
  }
  expect(left).toEqual([0, 4, 8, 1.6, 3.2]);
});

test('nothing taken', () => {
  const progress = new AnswerProgress(0);
  progress.sweep(1000);
  progress.sweep(2000);
  expect(progress.sweepsLeft(1000)).toBe(Number.POSITIVE_INFINITY);
  expect(progress.sweep(30_000)).toBe(false);
  expect(progress.sweep(30_001)).toBe(true);
});
