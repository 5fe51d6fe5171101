/** Durations: a number of milliseconds, or a text such as `"250ms"`, `"30s"`, `"1.5h"`. */
import { misuse } from './checks.js';

export type Duration = number | string;

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};
const TEXT = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)$/;

/** In milliseconds. `name` is what the caller calls it; at least `msMin`. */
export function durationMs(value: Duration, name: string, msMin = 0): number {
  const ms = typeof value === 'string' ? textMs(value) : value;
  if (typeof ms === 'number' && Number.isFinite(ms) && ms >= msMin) return ms;
  const least = msMin === 0 ? '' : `, at least ${msMin} ms`;
  throw misuse(name, value, `a number of milliseconds, or a text such as "30s"${least}`);
}

/** In whole seconds, as the wire has it; parts of a second count as one. */
export function durationSeconds(value: Duration, name: string): number {
  return Math.ceil(durationMs(value, name, 1) / 1000);
}

function textMs(text: string): number | undefined {
  const [, digits, unit] = TEXT.exec(text.trim()) ?? [];
  return digits === undefined || unit === undefined
    ? undefined
    : Number(digits) * (UNIT_MS[unit] as number);
}
