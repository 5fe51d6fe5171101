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
  ['log bytes per message', { bound: 'at most', value: 356 }],
  ['restart after SIGKILL', { bound: 'at most', value: 2000 }],
  ['memory stored and consumed', { bound: 'at most', value: 350 }],
  ['push: cost, many to few', { bound: 'at most', value: 1.5 }],
  ['push: processor time, many to few', { bound: 'at most', value: 1.5 }],
  ['pop: cost, many to few', { bound: 'at most', value: 1.5 }],
  ['pop: processor time, many to few', { bound: 'at most', value: 1.5 }],
  ['depth: cost, many to few', { bound: 'at most', value: 1.5 }],
  ['memory of an idle partition', { bound: 'at most', value: 1000 }],
  ['memory of an id', { bound: 'at most', value: 64 }],
  ['index: memory of an id', { bound: 'at most', value: 64 }],
  ['look for a new id, p99', { bound: 'at most', value: 100 }],
  ['look for a known id, p99', { bound: 'at most', value: 100 }],
  ['push, batch 1: cost, full to empty', { bound: 'at most', value: 1.15 }],
  ['push, batch 1: processor time, full to empty', { bound: 'at most', value: 1.15 }],
  ['push, batch 100: cost, full to empty', { bound: 'at most', value: 1.15 }],
  ['push, batch 100: processor time, full to empty', { bound: 'at most', value: 1.15 }],
  ['pop and ack, batch 100: cost, full to empty', { bound: 'at most', value: 1.15 }],
  ['pop and ack, batch 100: processor time, full to empty', { bound: 'at most', value: 1.15 }],
  ['push p99 beside a storm to alone', { bound: 'at most', value: 1.25 }],
  ['delivery p99 beside a storm to alone', { bound: 'at most', value: 1.25 }],
  // It falls or stays; what is less than a twentieth is noise of the clock.
  ['push: a larger batch costs', { bound: 'at most', value: 1.05 }],
  ['pop: a larger batch costs', { bound: 'at most', value: 1.05 }],
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
