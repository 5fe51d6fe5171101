/** The options of a call, checked before anything is sent. */
import { type Duration, durationSeconds } from '../base/durations.js';
import { shown } from '../base/errors.js';

/** When a row ends: exactly one of these. */
export type Expiry =
  | ({ readonly ttl: Duration } & Not<'ttlSeconds' | 'until' | 'forever'>)
  | ({ readonly ttlSeconds: number } & Not<'ttl' | 'until' | 'forever'>)
  /** A date, an ISO text, or milliseconds since the epoch; by the clock of this machine. */
  | ({ readonly until: Date | string | number } & Not<'ttl' | 'ttlSeconds' | 'forever'>)
  | ({ readonly forever: true } & Not<'ttl' | 'ttlSeconds' | 'until'>);

type Not<Names extends string> = { readonly [Name in Names]?: undefined };

export const EXPIRY_NAMES = ['ttl', 'ttlSeconds', 'until', 'forever'] as const;
const FORM = "write one of { ttl: '1h' }, { ttlSeconds: 3600 }, { until: date }, { forever: true }";

/** `what` is what the caller called. */
export function refuseUnknown(options: object, known: readonly string[], what: string): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new TypeError(`the options of ${what} are ${shown(options)}: write an object`);
  }
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new TypeError(`${what} has no option ${unknown}: its options are ${known.join(', ')}`);
}

/** As the wire has it; undefined: for ever. */
export function ttlSecondsOf(expiry: Expiry, what: string, nowMs: number): number | undefined {
  const given = EXPIRY_NAMES.filter((name) => expiry[name] !== undefined);
  if (given.length !== 1) {
    const said =
      given.length === 0 ? 'does not say when the row ends' : `says ${given.join(' and ')}`;
    throw new TypeError(`${what} ${said}: ${FORM}`);
  }
  const { ttl, ttlSeconds, until, forever } = expiry;
  if (ttl !== undefined) return durationSeconds(ttl, 'ttl');
  if (until !== undefined) return secondsUntil(until, nowMs);
  if (ttlSeconds !== undefined) return whole(ttlSeconds, 'ttlSeconds', 1);
  if (forever !== true) throw new TypeError(`forever is ${shown(forever)}: ${FORM}`);
  return undefined;
}

function secondsUntil(until: Date | string | number, nowMs: number): number {
  return Math.ceil((futureMs(until, 'until', nowMs) - nowMs) / 1000);
}

/** An instant that is still to come, since the epoch. */
export function futureMs(instant: Date | string | number, name: string, nowMs: number): number {
  const ms = instant instanceof Date ? instant.getTime() : new Date(instant).getTime();
  if (Number.isNaN(ms)) {
    const text = `${name} is ${shown(instant)}`;
    throw new TypeError(
      `${text}: write a Date, a text like "2027-01-31T08:00:00Z", or milliseconds`,
    );
  }
  if (ms > nowMs) return ms;
  throw new TypeError(
    `${name} is ${new Date(ms).toISOString()}, which is over: write a later time`,
  );
}

export function whole(value: number, name: string, min: number, max?: number): number {
  const isWhole = Number.isSafeInteger(value) && value >= min && value <= (max ?? value);
  if (isWhole) return value;
  const most = max === undefined ? '' : ` to ${max}`;
  throw new TypeError(`${name} is ${shown(value)}: write a whole number from ${min}${most}`);
}
