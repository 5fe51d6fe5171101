// What the native load program (load.c) says of one window or turn, in a line of JSON.

import type { LatencySummary } from '../load/percentiles.js';

export interface LoadResult {
  readonly messages: number;
  readonly seconds: number;
  /** Of the load program itself, in the measured time. */
  readonly processorSeconds: number;
  /** With its warm-up, and with the rest: from its end until the server had nothing left to do. */
  readonly whole: {
    readonly messages: number;
    readonly processorSeconds: number;
    readonly restSeconds: number;
  };
  /** From the moment a publish was due to leave until all of it was acknowledged. */
  readonly latency: LatencySummary;
  /** From the moment a publish was due to the moment it left; all 0 in a closed loop. */
  readonly lateness: LatencySummary;
  /** From then until a consumer had it; all 0 unless payloads are numbered in an open loop. */
  readonly delivery: LatencySummary;
}

/** Throws an Error that says what is missing. */
export function readResult(text: string): LoadResult {
  const value: unknown = JSON.parse(text);
  const number = (from: unknown, name: string): number => {
    const found = from !== null && typeof from === 'object' ? Reflect.get(from, name) : undefined;
    if (typeof found !== 'number')
      throw new Error(`the load program did not tell ${name}: ${text}`);
    return found;
  };
  const latencies = (name: string): LatencySummary => {
    const from: unknown = value !== null && typeof value === 'object' && Reflect.get(value, name);
    return {
      p50Ms: number(from, 'p50Ms'),
      p90Ms: number(from, 'p90Ms'),
      p99Ms: number(from, 'p99Ms'),
      p999Ms: number(from, 'p999Ms'),
      maxMs: number(from, 'maxMs'),
    };
  };
  const whole: unknown = value !== null && typeof value === 'object' && Reflect.get(value, 'whole');
  return {
    messages: number(value, 'messages'),
    seconds: number(value, 'seconds'),
    processorSeconds: number(value, 'processorSeconds'),
    whole: {
      messages: number(whole, 'messages'),
      processorSeconds: number(whole, 'processorSeconds'),
      restSeconds: number(whole, 'restSeconds'),
    },
    latency: latencies('latency'),
    lateness: latencies('lateness'),
    delivery: latencies('delivery'),
  };
}
