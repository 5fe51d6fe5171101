// What a run reports: named figures, and the targets that some of them have.

import { median } from './percentiles.js';

/** One measured quantity. `value` is the median of `runs`. */
export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly runs: readonly number[];
  readonly note: string;
}

export interface Target {
  readonly bound: 'at least' | 'at most';
  readonly value: number;
}

export function figure(name: string, unit: string, runs: readonly number[], note: string): Figure {
  return { name, unit, value: median(runs), runs, note };
}

/**
 * The goals of finished code on two cores, with the load program on the same machine, 64
 * connections and payloads of 256 bytes. Under other conditions they are a scale, not a verdict.
 */
const TARGETS: ReadonlyMap<string, Target> = new Map<string, Target>([
  ['push batch 100', { bound: 'at least', value: 250_000 }],
  ['push batch 10', { bound: 'at least', value: 150_000 }],
  ['push batch 1', { bound: 'at least', value: 25_000 }],
  ['end to end batch 100', { bound: 'at least', value: 120_000 }],
  ['latency p50', { bound: 'at most', value: 1 }],
  ['latency p99', { bound: 'at most', value: 5 }],
  ['ratio to redis 100', { bound: 'at least', value: 0.5 }],
  ['ratio to redis 10', { bound: 'at least', value: 0.5 }],
  ['ratio to redis 1', { bound: 'at least', value: 0.5 }],
  ['log bytes per message', { bound: 'at most', value: 356 }],
  ['restart after SIGKILL', { bound: 'at most', value: 2000 }],
  ['memory stored and consumed', { bound: 'at most', value: 350 }],
]);

export function targetOf(measured: Figure): Target | null {
  return TARGETS.get(measured.name) ?? null;
}

export function meets(measured: Figure, target: Target): boolean {
  switch (target.bound) {
    case 'at least':
      return measured.value >= target.value;
    case 'at most':
      return measured.value <= target.value;
  }
}
