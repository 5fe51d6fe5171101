/** Usage of a cluster as lists and dates, from the rows of metering (gateway 8 and 10). */
import { formatStampUs } from '@svc/wire';
import { DAY_US, dayStartIn, dayStartOf, minuteOf } from '../metering/calendar.js';
import type { OpClass } from '../metering/samples.js';
import { DAYS, dayOfKey, NO_USAGE, sum, type Usage, usageOf } from '../metering/usage-rows.js';
import { type KeyValueStore, pages } from '../store/kv.js';
import { eachMinute, type Span } from '../usage/roll-up.js';

export interface UsageMinute extends Usage {
  /** `YYYY-MM-DDTHH:MM:SSZ`. */
  readonly minute: string;
  readonly op: OpClass;
}

const HOUR_US = 3_600_000_000;
const SECOND_LENGTH = 'YYYY-MM-DDTHH:MM:SS'.length;
const PUSHES: ReadonlySet<OpClass> = new Set<OpClass>(['push', 'txn']);

/** Minutes of the last hours, what several nodes counted in one, in the order of time. */
export async function usageOfHours(
  store: KeyValueStore,
  clusterId: string,
  hours: number,
  nowUs: number,
): Promise<UsageMinute[]> {
  const sums = new Map<string, UsageMinute>();
  const span = { fromUs: minuteOf(nowUs - hours * HOUR_US), toUs: nowUs };
  await eachMinute(store, clusterId, span, (minuteUs, op, usage) => {
    const minute = `${formatStampUs(minuteUs).slice(0, SECOND_LENGTH)}Z`;
    const key = `${minuteUs}/${op}`;
    sums.set(key, { minute, op, ...sum(sums.get(key) ?? NO_USAGE, usage) });
  });
  return [...sums.values()];
}

export interface UsageDates {
  /** Microseconds, of the minute; of the day where its minutes are gone. null: never. */
  readonly lastActivityUs: number | null;
  readonly firstPushUs: number | null;
}

interface DayMark {
  readonly startUs: number;
  /** Whether something was pushed; unknown of a day that is not summed. */
  readonly pushed: boolean | null;
}

/**
 * When a cluster was used first and last. Sums of days say which day, and only the minutes of that
 * one are read: there may be hundreds of thousands of others.
 */
export async function usageDates(
  store: KeyValueStore,
  clusterId: string,
  nowUs: number,
): Promise<UsageDates> {
  const days = await markedDays(store, clusterId);
  const openUs = (days.at(-1)?.startUs ?? Number.NEGATIVE_INFINITY) + DAY_US;
  const rest = { fromUs: Math.max(0, openUs), toUs: dayStartOf(nowUs) + DAY_US };
  return {
    lastActivityUs: await lastActivity(store, clusterId, days, rest),
    firstPushUs: await firstPush(store, clusterId, days, rest),
  };
}

async function markedDays(store: KeyValueStore, clusterId: string): Promise<DayMark[]> {
  const days = new Map<number, boolean | null>();
  for await (const rows of pages(store, DAYS, `#${clusterId}/`)) {
    for (const { key, value } of rows) {
      const place = dayOfKey(key);
      const startUs = place === null ? null : dayStartIn(place.day);
      if (place === null || startUs === null) continue;
      const usage = usageOf(value);
      const pushed = PUSHES.has(place.op) && (usage?.msgs ?? 0) > 0;
      const before = days.get(startUs);
      days.set(startUs, usage === null || before === null ? null : pushed || before === true);
    }
  }
  return [...days].map(([startUs, pushed]) => ({ startUs, pushed }));
}

async function lastActivity(
  store: KeyValueStore,
  clusterId: string,
  days: readonly DayMark[],
  rest: Span,
): Promise<number | null> {
  const last = days.at(-1);
  const fromUs = last?.startUs ?? rest.fromUs;
  let lastUs: number | null = null;
  await eachMinute(store, clusterId, { fromUs, toUs: rest.toUs }, (minuteUs) => {
    lastUs = minuteUs;
  });
  return lastUs ?? last?.startUs ?? null;
}

async function firstPush(
  store: KeyValueStore,
  clusterId: string,
  days: readonly DayMark[],
  rest: Span,
): Promise<number | null> {
  const spans = days
    .filter(({ pushed }) => pushed !== false)
    .map(({ startUs, pushed }) => ({ fromUs: startUs, toUs: startUs + DAY_US, pushed }));
  for (const { pushed, ...span } of [...spans, { ...rest, pushed: null }]) {
    let firstUs: number | null = null;
    await eachMinute(store, clusterId, span, (minuteUs, op, { msgs }) => {
      if (firstUs === null && PUSHES.has(op) && msgs > 0) firstUs = minuteUs;
    });
    if (firstUs !== null) return firstUs;
    if (pushed === true) return span.fromUs;
  }
  return null;
}
