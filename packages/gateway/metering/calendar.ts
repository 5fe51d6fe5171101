/** Minutes, days and months of UTC, in microseconds since the epoch and as rows name them. */
import { formatStampUs, parseIsoUs } from '@svc/wire';

export const MINUTE_US = 60_000_000;
export const DAY_US = 1_440 * MINUTE_US;

export function minuteOf(us: number): number {
  return us - modulo(us, MINUTE_US);
}

export function dayStartOf(us: number): number {
  return us - modulo(us, DAY_US);
}

/** `YYYY-MM-DD`. */
export function dayOf(us: number): string {
  return formatStampUs(us).slice(0, 'YYYY-MM-DD'.length);
}

/** `YYYY-MM`. */
export function monthOf(us: number): string {
  return formatStampUs(us).slice(0, 'YYYY-MM'.length);
}

/** The first microsecond of the month that `us` is in. */
export function monthStartOf(us: number): number {
  return parseIsoUs(`${monthOf(us)}-01T00:00:00Z`) ?? dayStartOf(us);
}

/** Null: the text is no day. */
export function dayStartIn(day: string): number | null {
  return parseIsoUs(`${day}T00:00:00Z`);
}

function modulo(us: number, length: number): number {
  return ((us % length) + length) % length;
}
