/** The options of a call, checked before anything is sent. */
import { instantMs, misuse, whole } from '../base/checks.js';
import { type Duration, durationSeconds } from '../base/durations.js';

/** When a row ends: exactly one of these. */
export type Expiry =
  | ({ readonly ttl: Duration } & Not<'ttlSeconds' | 'until' | 'forever'>)
  | ({ readonly ttlSeconds: number } & Not<'ttl' | 'until' | 'forever'>)
  /** A date, an ISO text, or milliseconds since the epoch; by the clock of this machine. */
  | ({ readonly until: Date | string | number } & Not<'ttl' | 'ttlSeconds' | 'forever'>)
  | ({ readonly forever: true } & Not<'ttl' | 'ttlSeconds' | 'until'>);

type Not<Names extends string> = { readonly [Name in Names]?: undefined };

export const EXPIRY_NAMES = 'ttl ttlSeconds until forever';
const FORM = "write one of { ttl: '1h' }, { ttlSeconds: 3600 }, { until: date }, { forever: true }";

/** As the wire has it; undefined: for ever. */
export function ttlSecondsOf(expiry: Expiry, what: string, nowMs: number): number | undefined {
  const given = EXPIRY_NAMES.split(' ').filter(
    (name) => expiry[name as keyof Expiry] !== undefined,
  );
  if (given.length !== 1) {
    const said =
      given.length === 0 ? 'does not say when the row ends' : `says ${given.join(' and ')}`;
    throw new TypeError(`${what} ${said}: ${FORM}`);
  }
  const { ttl, ttlSeconds, until, forever } = expiry;
  if (ttl !== undefined) return durationSeconds(ttl, 'ttl');
  if (until !== undefined) return secondsUntil(until, nowMs);
  if (ttlSeconds !== undefined) return whole(ttlSeconds, 'ttlSeconds', 1);
  if (forever !== true) throw misuse('forever', forever, 'true, or another expiry');
  return undefined;
}

function secondsUntil(until: Date | string | number, nowMs: number): number {
  return Math.ceil((futureMs(until, 'until', nowMs) - nowMs) / 1000);
}

/** An instant that is still to come, since the epoch. */
export function futureMs(instant: Date | string | number, name: string, nowMs: number): number {
  const ms = instantMs(instant, name);
  if (ms > nowMs) return ms;
  throw new TypeError(
    `${name} is ${new Date(ms).toISOString()}, which is over: write a later time`,
  );
}
