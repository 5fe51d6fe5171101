/** Kinds of windows: which ones a value falls into, by its time, and when they close. */
import { misuse, oneOf, refuseUnknown, whole } from '../base/checks.js';
import { type Duration, durationMs } from '../base/durations.js';
import type { Message } from '../messages/message.js';

/** What a function of a stream gets beside the value. */
export interface StreamContext<Source = Message> {
  /** As `keyBy` said; without it the name of the partition. */
  readonly key: string;
  /** The partition of the source. */
  readonly partition: string;
  /** Since the epoch: when the message was stored, or the end of the window. */
  readonly time: number;
  /** null behind a window. */
  readonly message: Source;
}

export interface WindowOptions<Value> {
  /** A window is kept open for so long beyond its end: 0. */
  readonly gracePeriod?: Duration;
  /** How often windows of partitions without new messages are closed; 0 is never. */
  readonly idleFlushMs?: Duration;
  /** The time of a value, instead of when its message was stored: a Date, milliseconds, ISO. */
  readonly eventTime?: (value: Value, context: StreamContext) => Date | number | string;
  /** Of event times: values may come so much later than newer ones: 0. */
  readonly allowedLateness?: Duration;
  /** What becomes of values that come later than that: `drop`. */
  readonly onLate?: 'drop' | 'include';
}

export type CronUnit = 'second' | 'minute' | 'hour' | 'day' | 'week';

/** From its start to below its end. */
export type Span = readonly [startMs: number, endMs: number];

export interface WindowPlan {
  /** Begins the keys of its state: `tumb:60`. */
  readonly tag: string;
  /** The windows of a time, the earliest first. Of a session the gap alone counts. */
  readonly spans: (timeMs: number) => readonly Span[];
  /** null: no session. */
  readonly gapMs: number | null;
  readonly graceMs: number;
  readonly idleFlushMs: number;
  /** null: by when messages were stored. */
  readonly eventTime: ((value: unknown, context: StreamContext) => unknown) | null;
  readonly latenessMs: number;
  readonly includeLate: boolean;
}

const OPTIONS = 'gracePeriod idleFlushMs eventTime allowedLateness onLate';
/** Rows that one value changes; a cycle may change 50,000. */
const COVERING_MAX = 1000;

const CRON_MS: Readonly<Record<CronUnit, number>> = {
  second: 1000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
  week: 604_800_000,
};
/** The first Monday; the epoch was a Thursday. */
const MONDAY_MS = 4 * 86_400_000;

export function tumbling(options: WindowOptions<never> & { readonly seconds: number }): WindowPlan {
  const what = 'windowTumbling';
  refuseUnknown(options, `seconds ${OPTIONS}`, what);
  const sizeMs = Number(options.seconds) * 1000;
  if (!Number.isSafeInteger(sizeMs) || sizeMs < 1) {
    throw misuse(`seconds of ${what}`, options.seconds, 'a number of seconds such as 60');
  }
  const spans = (timeMs: number) => [aligned(timeMs, sizeMs, 0)];
  return planOf(options, what, `tumb:${sizeMs / 1000}`, spans);
}

export function sliding(
  options: WindowOptions<never> & { readonly size: Duration; readonly slide: Duration },
): WindowPlan {
  const what = 'windowSliding';
  refuseUnknown(options, `size slide ${OPTIONS}`, what);
  const sizeMs = spanMs(options.size, `size of ${what}`);
  const slideMs = spanMs(options.slide, `slide of ${what}`);
  if (slideMs > sizeMs || sizeMs > slideMs * COVERING_MAX) {
    const most = `at most size, and at least a ${COVERING_MAX}th of it`;
    throw misuse(`slide of ${what}`, options.slide, most);
  }
  const spans = (timeMs: number): Span[] => {
    const found: Span[] = [];
    const [last] = aligned(timeMs, slideMs, 0);
    for (let at = last; at > timeMs - sizeMs; at -= slideMs) found.unshift([at, at + sizeMs]);
    return found;
  };
  return planOf(options, what, `slide:${sizeMs / 1000}:${slideMs / 1000}`, spans);
}

export function session(options: WindowOptions<never> & { readonly gap: Duration }): WindowPlan {
  const what = 'windowSession';
  refuseUnknown(options, `gap ${OPTIONS}`, what);
  const gapMs = spanMs(options.gap, `gap of ${what}`);
  const spans = (timeMs: number): Span[] => [[timeMs, timeMs + gapMs]];
  return { ...planOf(options, what, `sess:${gapMs / 1000}`, spans, 1000), gapMs };
}

export function cron(options: WindowOptions<never> & { readonly every: CronUnit }): WindowPlan {
  const what = 'windowCron';
  refuseUnknown(options, `every ${OPTIONS}`, what);
  const every = oneOf(options.every, `every of ${what}`, Object.keys(CRON_MS) as CronUnit[]);
  const spans = (timeMs: number) => [
    aligned(timeMs, CRON_MS[every], every === 'week' ? MONDAY_MS : 0),
  ];
  return planOf(options, what, `cron:${every}`, spans, 30_000);
}

/** Milliseconds since the epoch. */
export function instantOf(value: unknown): number {
  const ms = value instanceof Date ? value.getTime() : new Date(value as string).getTime();
  if (Number.isSafeInteger(ms)) return ms;
  throw misuse('eventTime', value, 'a function that gives a Date, milliseconds, or an ISO time');
}

function aligned(timeMs: number, sizeMs: number, originMs: number): Span {
  const startMs = Math.floor((timeMs - originMs) / sizeMs) * sizeMs + originMs;
  return [startMs, startMs + sizeMs];
}

function planOf(
  options: WindowOptions<never>,
  what: string,
  tag: string,
  spans: WindowPlan['spans'],
  flushMs = 5000,
): WindowPlan {
  const { gracePeriod = 0, idleFlushMs = flushMs, eventTime, allowedLateness = 0 } = options;
  if (eventTime !== undefined && typeof eventTime !== 'function') {
    throw misuse(`eventTime of ${what}`, eventTime, '(value) => value.at');
  }
  const isOff = idleFlushMs === 0;
  return {
    tag,
    spans,
    gapMs: null,
    graceMs: gracePeriod === 0 ? 0 : spanMs(gracePeriod, `gracePeriod of ${what}`),
    idleFlushMs: isOff ? 0 : durationMs(idleFlushMs, `idleFlushMs of ${what}`, 50),
    eventTime: (eventTime as WindowPlan['eventTime'] | undefined) ?? null,
    latenessMs: allowedLateness === 0 ? 0 : spanMs(allowedLateness, `allowedLateness of ${what}`),
    includeLate:
      oneOf(options.onLate ?? 'drop', `onLate of ${what}`, ['drop', 'include']) !== 'drop',
  };
}

/** A bare number below 1,000 is refused: it was meant in seconds, as `seconds` is. */
function spanMs(value: Duration, what: string): number {
  const ms = durationMs(value, what, typeof value === 'number' ? 1000 : 1);
  return whole(ms, what);
}
