/**
 * Goal: the checker of pipelines is silent on a right history and names each kind of wrong one.
 * Method: one right history with attempts of every outcome; each test plants one anomaly in it.
 */
import { expect, it } from 'vitest';
import {
  checkPipeline,
  type PipelineAnomalyKind,
  type PipelineAttempt,
  type PipelineHistory,
} from './pipeline-checker.js';

function attempt(
  value: string,
  beganMs: number,
  outcome: PipelineAttempt['outcome'],
  count: number | null = null,
): PipelineAttempt {
  const input = value.slice(0, value.indexOf('.'));
  return { value, input, beganMs, endedMs: beganMs + 10, outcome, count };
}

/** The first attempt at `b` was committed without an answer; the one at `c` was lost. */
const RIGHT: PipelineHistory = {
  inputs: ['a', 'b', 'c'],
  attempts: [
    attempt('a.1', 0, 'rolled-back'),
    attempt('a.2', 20, 'committed', 1),
    attempt('b.1', 20, 'unknown'),
    attempt('b.2', 40, 'rolled-back'),
    attempt('c.1', 40, 'unknown'),
    attempt('c.2', 60, 'refused'),
    attempt('c.3', 80, 'committed', 3),
  ],
  outputs: ['a.2', 'b.1', 'c.3'],
  counter: 3,
};

function kinds(changes: Partial<PipelineHistory>): PipelineAnomalyKind[] {
  return [...new Set(checkPipeline({ ...RIGHT, ...changes }).map(({ kind }) => kind))];
}

it('is silent on a right history', () => {
  expect(kinds({})).toEqual([]);
});

it('finds an input without a result', () => {
  expect(
    kinds({ outputs: ['a.2', 'c.3'], counter: 2, attempts: RIGHT.attempts.slice(0, 4) }),
  ).toContain('input_lost');
  expect(kinds({ inputs: ['a', 'b', 'c', 'd'] })).toEqual(['input_lost']);
});

it('finds an input that was committed twice', () => {
  expect(kinds({ outputs: [...RIGHT.outputs, 'c.1'], counter: 4 })).toEqual(['committed_twice']);
  expect(kinds({ outputs: [...RIGHT.outputs, 'c.3'], counter: 4 })).toEqual(['committed_twice']);
});

it('finds the result of an attempt that was rolled back, or refused', () => {
  const outputs = ['a.1', ...RIGHT.outputs.slice(1)];
  expect(kinds({ outputs })).toEqual(['rolled_back_output', 'output_lost']);
  expect(kinds({ outputs: ['a.2', 'b.1', 'c.2'] })).toContain('rolled_back_output');
});

it('finds a committed attempt without its result', () => {
  expect(kinds({ outputs: ['a.2', 'b.1', 'c.1'] })).toEqual(['output_lost']);
});

it('finds the result of nothing', () => {
  expect(kinds({ outputs: [...RIGHT.outputs, 'z.1'], counter: 4 })).toEqual(['never_sent']);
});

it('finds a counter that is not the number of results', () => {
  expect(kinds({ counter: 4 })).toEqual(['counter']);
  expect(kinds({ counter: 2 })).toEqual(['counter']);
});

it('finds one count told twice, and one that falls', () => {
  const changed = (value: string, changes: Partial<PipelineAttempt>) => ({
    attempts: RIGHT.attempts.map((each) => (each.value === value ? { ...each, ...changes } : each)),
  });
  expect(kinds(changed('c.3', { count: 1 }))).toEqual(['count_order']);
  expect(kinds(changed('a.2', { beganMs: 200, endedMs: 210 }))).toEqual(['count_order']);
  expect(kinds(changed('a.2', { beganMs: 85, endedMs: 95 }))).toEqual([]);
});
