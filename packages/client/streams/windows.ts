/** Kinds of windows: which ones a value falls into, by its time, and when they close. */
import { misuse, oneOf, refuseUnknown, whole } from '../base/checks.js';
import { type Duration, durationMs } from '../base/durations.js';
import { shown } from '../base/errors.js';
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
  /** How much later than newer ones a value may come, by event time: 0. */
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
  /** 0: they close by messages alone. */
  readonly idleFlushMs: number;
  /** null: by when messages were stored. */
  readonly eventTime: ((value: unknown, context: StreamContext) => unknown) | null;
  readonly latenessMs: number;
  readonly includeLate: boolean;
}

/** The options of their own. */
const KINDS = {
  windowTumbling: 'seconds',
  windowSliding: 'size slide',
  windowSession: 'gap',
  windowCron: 'every',
};
export type WindowKind = keyof typeof KINDS;

export interface AnyWindowOptions extends WindowOptions<never> {
  readonly seconds: number;
  readonly size: Duration;
  readonly slide: Duration;
  readonly gap: Duration;
  readonly every: CronUnit;
}

type OwnPlan = Pick<WindowPlan, 'tag' | 'spans' | 'gapMs' | 'idleFlushMs'>;

/** Rows that one value changes; a cycle may change 50,000. */
const COVERING_MAX = 1000;
const FLUSH_MS = 5000;

const CRON_MS: Readonly<Record<CronUnit, number>> = {
  second: 1000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
  week: 604_800_000,
};
/** The first Monday; the epoch was a Thursday. */
const MONDAY_MS = 4 * 86_400_000;

export function windowOf(kind: WindowKind, options: AnyWindowOptions): WindowPlan {
  const common = 'gracePeriod idleFlushMs eventTime allowedLateness onLate';
  refuseUnknown(options, `${KINDS[kind]} ${common}`, kind);
  const own = OWN_PLANS[kind](options);
  const { gracePeriod = 0, idleFlushMs = own.idleFlushMs, eventTime } = options;
  const { allowedLateness = 0, onLate = 'drop' } = options;
  if (eventTime !== undefined) functionOf(eventTime, 'eventTime');
  const orNone = (value: Duration, name: string) => (value === 0 ? 0 : spanMs(value, name));
  return {
    ...own,
    graceMs: orNone(gracePeriod, 'gracePeriod'),
    idleFlushMs: eventTime || idleFlushMs === 0 ? 0 : durationMs(idleFlushMs, 'idleFlushMs', 50),
    eventTime: (eventTime as WindowPlan['eventTime'] | undefined) ?? null,
    latenessMs: orNone(allowedLateness, 'allowedLateness'),
    includeLate: oneOf(onLate, 'onLate', ['drop', 'include']) === 'include',
  };
}

const OWN_PLANS: Record<WindowKind, (options: AnyWindowOptions) => OwnPlan> = {
  windowTumbling: ({ seconds }) => {
    const sizeMs = Number(seconds) * 1000;
    if (!Number.isSafeInteger(sizeMs) || sizeMs < 1) {
      throw misuse('seconds', seconds, 'a number of seconds such as 60');
    }
    const spans = (timeMs: number) => [aligned(timeMs, sizeMs, 0)];
    return { tag: `tumb:${sizeMs / 1000}`, spans, gapMs: null, idleFlushMs: FLUSH_MS };
  },
  windowSliding: ({ size, slide }) => {
    const sizeMs = spanMs(size, 'size');
    const slideMs = spanMs(slide, 'slide');
    if (slideMs > sizeMs || sizeMs > slideMs * COVERING_MAX) {
      const most = `at most size, and at least a ${COVERING_MAX}th of it`;
      throw misuse('slide', slide, most);
    }
    const spans = (timeMs: number): Span[] => {
      const found: Span[] = [];
      const [last] = aligned(timeMs, slideMs, 0);
      for (let at = last; at > timeMs - sizeMs; at -= slideMs) found.unshift([at, at + sizeMs]);
      return found;
    };
    const tag = `slide:${sizeMs / 1000}:${slideMs / 1000}`;
    return { tag, spans, gapMs: null, idleFlushMs: FLUSH_MS };
  },
  windowSession: ({ gap }) => {
    const gapMs = spanMs(gap, 'gap');
    const spans = (timeMs: number): Span[] => [[timeMs, timeMs + gapMs]];
    return { tag: `sess:${gapMs / 1000}`, spans, gapMs, idleFlushMs: 1000 };
  },
  windowCron: ({ every }) => {
    oneOf(every, 'every', Object.keys(CRON_MS) as CronUnit[]);
    const originMs = every === 'week' ? MONDAY_MS : 0;
    const spans = (timeMs: number) => [aligned(timeMs, CRON_MS[every], originMs)];
    return { tag: `cron:${every}`, spans, gapMs: null, idleFlushMs: 30_000 };
  },
};

export function functionOf<Act>(act: Act, what: string): Act {
  if (typeof act === 'function') return act;
  throw new TypeError(`${what} got ${shown(act)}: write ${what}((value, context) => ...)`);
}

/** Milliseconds since the epoch. */
export function instantOf(value: unknown): number {
  const isTime = typeof value === 'number' || typeof value === 'string' || value instanceof Date;
  const ms = isTime ? new Date(value).getTime() : Number.NaN;
  if (Number.isSafeInteger(ms)) return ms;
  throw misuse('eventTime', value, 'a function that gives a Date, milliseconds, or an ISO time');
}

function aligned(timeMs: number, sizeMs: number, originMs: number): Span {
  const startMs = Math.floor((timeMs - originMs) / sizeMs) * sizeMs + originMs;
  return [startMs, startMs + sizeMs];
}

/** A bare number below 1,000 is refused: it was meant in seconds, as `seconds` is. */
function spanMs(value: Duration, what: string): number {
  const ms = durationMs(value, what, typeof value === 'number' ? 1000 : 1);
  return whole(ms, what);
}
