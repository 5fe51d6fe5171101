// What a program reports: named figures, and the targets that some of them have.

import { median } from './percentiles.js';

export interface Target {
  readonly bound: 'at least' | 'at most';
  readonly value: number;
}

/** One measured quantity. `value` is the median of `runs`. */
export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly runs: readonly number[];
  readonly note: string;
  /** null: the figure is stated, not judged. */
  readonly target: Target | null;
}

export function figure(
  name: string,
  unit: string,
  runs: readonly number[],
  note: string,
  target: Target | null = null,
): Figure {
  return { name, unit, value: median(runs), runs, note, target };
}

export function atMost(value: number): Target {
  return { bound: 'at most', value };
}

export function meets({ value }: Figure, target: Target): boolean {
  return target.bound === 'at least' ? value >= target.value : value <= target.value;
}
