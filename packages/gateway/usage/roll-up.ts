/**
 * Sums of days and of the month that runs (gateway 10). A day's rows are the sums of its minutes,
 * and any node may make them, at any time and as often as it likes: the same comes out.
 *
 * What must hold: a day that has rows, none of them open, has all of its minutes in them. Minutes
 * that come late open the day in their own batch (`usage-flush.ts`), also one without rows. The
 * sums are put with the versions of the rows as they were before the minutes were read, for all
 * operations in one batch, so minutes that came in between make the batch fail, and the day is
 * summed again by the next pass.
 *
 * So the month is the rows of its days, and the minutes of days that have none or are open.
 *
 * The keys of minutes sort by time because their numbers have 16 digits, from 2001 to 2286.
 */
import type { Clock } from '../base/clock.js';
import {
  DAY_US,
  dayOf,
  dayStartIn,
  dayStartOf,
  MINUTE_US,
  monthStartOf,
} from '../metering/calendar.js';
import { OP_CLASSES, type OpClass } from '../metering/samples.js';
import {
  DAYS,
  dayKey,
  dayOfKey,
  MINUTES,
  minuteOfKey,
  NO_USAGE,
  sum,
  type Usage,
  usageIn,
  usageOf,
} from '../metering/usage-rows.js';
import { type KeyValueStore, PAGE_ROWS_MAX, type Row, type WriteOp } from '../store/kv.js';

/** After the end of a day, so that what is not late for its writer is there. */
export const SUMMED_AFTER_US = 60 * MINUTE_US;
/** What counts for the month: messages that were pushed. */
const PUSHES: ReadonlySet<OpClass> = new Set(['push', 'txn']);

interface DayRow {
  readonly version: number;
  /** Null: the day is open. */
  readonly usage: Usage | null;
}

type DayRows = ReadonlyMap<OpClass, DayRow>;

export interface Span {
  readonly fromUs: number;
  /** Not included. */
  readonly toUs: number;
}

/**
 * Sums the days of the last `days` days that are over and not summed. False: minutes came
 * meanwhile, and a day is left to the next pass.
 */
export async function rollUp(
  store: KeyValueStore,
  clock: Pick<Clock, 'wallUs'>,
  clusterId: string,
  days: number,
): Promise<boolean> {
  const nowUs = clock.wallUs();
  const span = {
    fromUs: dayStartOf(nowUs - days * DAY_US),
    toUs: dayStartOf(nowUs - SUMMED_AFTER_US),
  };
  const rows = await dayRows(store, clusterId, span);
  let isComplete = true;
  for (const open of openSpans(rows, span)) {
    const sums = new Map<string, Map<OpClass, Usage>>();
    await eachMinute(store, clusterId, open, (minuteUs, op, usage) => {
      const day = dayOf(minuteUs);
      const ofDay = sums.get(day) ?? new Map<OpClass, Usage>();
      sums.set(day, ofDay.set(op, sum(ofDay.get(op) ?? NO_USAGE, usage)));
    });
    for (const [day, ofDay] of sums) {
      const outcome = await store.batch(sumOps(clusterId, day, ofDay, rows.get(day)));
      if (outcome.kind === 'conflict') isComplete = false;
    }
  }
  return isComplete;
}

/** Messages that were pushed in the month that `nowUs` is in, as far as they are in the store. */
export async function monthMessages(
  store: KeyValueStore,
  clusterId: string,
  nowUs: number,
): Promise<number> {
  const span = { fromUs: monthStartOf(nowUs), toUs: dayStartOf(nowUs) + DAY_US };
  const rows = await dayRows(store, clusterId, span);
  let msgs = 0;
  for (const ofDay of rows.values()) {
    if (isOpen(ofDay)) continue;
    for (const [op, { usage }] of ofDay) if (PUSHES.has(op)) msgs += usage?.msgs ?? 0;
  }
  for (const open of openSpans(rows, span)) {
    await eachMinute(store, clusterId, open, (_minuteUs, op, usage) => {
      if (PUSHES.has(op)) msgs += usage.msgs;
    });
  }
  return msgs;
}

/** Minutes of a cluster in the order of time, each writer's apart. */
export async function eachMinute(
  store: KeyValueStore,
  clusterId: string,
  { fromUs, toUs }: Span,
  take: (minuteUs: number, op: OpClass, usage: Usage) => void,
): Promise<void> {
  for await (const { key, value } of rowsFrom(store, MINUTES, clusterId, String(fromUs))) {
    const minute = minuteOfKey(key);
    const usage = usageOf(value);
    if (minute === null || usage === null) continue;
    if (minute.minuteUs >= toUs) return;
    take(minute.minuteUs, minute.op, usage);
  }
}

async function dayRows(
  store: KeyValueStore,
  clusterId: string,
  { fromUs, toUs }: Span,
): Promise<Map<string, DayRows>> {
  const days = new Map<string, Map<OpClass, DayRow>>();
  for await (const { key, value, version } of rowsFrom(store, DAYS, clusterId, dayOf(fromUs))) {
    const place = dayOfKey(key);
    if (place === null) continue;
    const startUs = dayStartIn(place.day);
    if (startUs === null || startUs >= toUs) break;
    const ofDay = days.get(place.day) ?? new Map<OpClass, DayRow>();
    days.set(place.day, ofDay.set(place.op, { version, usage: usageOf(value) }));
  }
  return days;
}

/** Runs of days of the span that are not summed. */
function openSpans(rows: ReadonlyMap<string, DayRows>, { fromUs, toUs }: Span): Span[] {
  const spans: { fromUs: number; toUs: number }[] = [];
  for (let startUs = dayStartOf(fromUs); startUs < toUs; startUs += DAY_US) {
    const ofDay = rows.get(dayOf(startUs));
    if (ofDay !== undefined && !isOpen(ofDay)) continue;
    const last = spans.at(-1);
    if (last?.toUs === startUs) last.toUs += DAY_US;
    else spans.push({ fromUs: startUs, toUs: startUs + DAY_US });
  }
  return spans;
}

function isOpen(ofDay: DayRows): boolean {
  return [...ofDay.values()].some(({ usage }) => usage === null);
}

/** All or none of them: an operation without usage and without a row has to stay so. */
function sumOps(
  clusterId: string,
  day: string,
  sums: ReadonlyMap<OpClass, Usage>,
  rows: DayRows | undefined,
): WriteOp[] {
  return OP_CLASSES.map((op): WriteOp => {
    const place = { namespace: DAYS, key: dayKey(clusterId, day, op), required: true };
    const expect = rows?.get(op)?.version ?? 0;
    const usage = sums.get(op) ?? (expect === 0 ? null : NO_USAGE);
    if (usage === null) return { ...place, op: 'check', expect: 0 };
    return { ...place, op: 'put', value: usageIn(usage), expect };
  });
}

async function* rowsFrom(
  store: KeyValueStore,
  namespace: string,
  clusterId: string,
  from: string,
): AsyncGenerator<Row> {
  const prefix = `#${clusterId}/`;
  for (let after: string | null = prefix + from; after !== null; ) {
    const page = await store.getPrefix(namespace, { prefix, after, limit: PAGE_ROWS_MAX });
    yield* page.rows;
    after = page.nextAfter;
  }
}
