/** Times and durations as users write them. */
import { UserError } from './errors.js';

const END = new Set(['now', 'end', 'latest']);
const BEGINNING = new Set(['beginning', 'earliest', 'start']);
const UNIT_SECONDS: Readonly<Record<string, number>> = {
  ms: 0.001,
  s: 1,
  m: 60,
  h: 3600,
  d: 86_400,
  w: 604_800,
};
const AMOUNT = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)(?:\s+ago)?$/;
const DATE = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?$/;
const UNIX_SECONDS = /^\d{1,11}(?:\.\d+)?$/;

/** `end`: the end of the log; else an RFC 3339 time. */
export function timeOf(text: string, nowMs: number, name: string): string {
  const word = text.trim().toLowerCase();
  if (END.has(word)) return 'end';
  if (BEGINNING.has(word)) return new Date(0).toISOString();
  const ms = instantMs(word, nowMs);
  if (ms !== null && Math.abs(ms) <= 8.64e15) return new Date(ms).toISOString();
  throw new UserError(
    `${name} ${JSON.stringify(text)} is no time: write now, beginning, "5m ago", ` +
      '2026-01-31, 2026-01-31T12:00:00Z or unix seconds',
  );
}

function instantMs(word: string, nowMs: number): number | null {
  const seconds = amountSeconds(word);
  if (seconds !== null) return nowMs - seconds * 1000;
  if (UNIX_SECONDS.test(word)) return Number(word) * 1000;
  const upper = word.toUpperCase();
  if (!DATE.test(upper)) return null;
  const hasZone = upper.length === 10 || /(Z|[+-]\d\d:?\d\d)$/.test(upper.slice(10));
  const ms = Date.parse(hasZone ? upper : `${upper}Z`);
  return Number.isNaN(ms) ? null : ms;
}

function amountSeconds(word: string): number | null {
  const [, digits, unit = ''] = AMOUNT.exec(word) ?? [];
  return digits === undefined ? null : Number(digits) * (UNIT_SECONDS[unit] ?? 1);
}

/** `10s`, `1h30m` or a number of seconds. */
export function durationMsOf(text: string, name: string): number {
  const word = text.trim().toLowerCase();
  if (/^\d+(\.\d+)?$/.test(word)) return Number(word) * 1000;
  const parts = word.match(/\d+(?:\.\d+)?(?:ms|s|m|h|d|w)/g);
  if (parts === null || parts.join('') !== word) {
    throw new UserError(
      `${name} ${JSON.stringify(text)} is no duration: write 500ms, 10s or 1h30m`,
    );
  }
  return parts.reduce((sum, part) => sum + (amountSeconds(part) ?? 0) * 1000, 0);
}

/** The two largest units: `1h5m`, `3d2h`, `12s`. */
export function humanSeconds(seconds: number): string {
  if (seconds < 0) return `-${humanSeconds(-seconds)}`;
  const whole = Math.floor(seconds);
  const units: readonly (readonly [string, number])[] = [
    ['d', Math.floor(whole / 86_400)],
    ['h', Math.floor(whole / 3600) % 24],
    ['m', Math.floor(whole / 60) % 60],
    ['s', whole % 60],
  ];
  const first = units.findIndex(([, count]) => count > 0);
  if (first === -1) return '0s';
  return units
    .slice(first, first + 2)
    .filter(([, count]) => count > 0)
    .map(([unit, count]) => `${count}${unit}`)
    .join('');
}
