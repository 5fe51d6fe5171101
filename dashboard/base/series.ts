/** What a chart shows, in numbers and in a sentence for who does not see it. */
import { UNKNOWN } from './format.js';
import { formatMoment } from './moment.js';

export interface Series {
  readonly label: string;
  readonly values: readonly (number | null)[];
}

export interface Timeline {
  /** Seconds since 1970, ascending. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
}

/** A bucket further from the last than this many widths leaves a gap in the line. */
const GAP_WIDTHS = 1.5;

/**
 * Rows of buckets as a timeline, oldest first. A bucket that is missing in between is no zero: the
 * nodes were silent, and the line has a gap.
 */
export function timelineOf<Row>(
  rows: readonly Row[],
  timeOf: (row: Row) => string,
  bucketMinutes: number,
  series: readonly { readonly label: string; readonly of: (row: Row) => number | null }[],
): Timeline {
  const placed = rows
    .map((row) => ({ row, at: Date.parse(timeOf(row)) / 1000 }))
    .sort((a, b) => a.at - b.at);
  const times: number[] = [];
  const values = series.map((): (number | null)[] => []);
  const width = bucketMinutes * 60;
  for (const { row, at } of placed) {
    const last = times.at(-1);
    if (last !== undefined && at - last > width * GAP_WIDTHS) {
      times.push(last + width);
      for (const list of values) list.push(null);
    }
    times.push(at);
    for (const [i, { of }] of series.entries()) values[i]?.push(of(row));
  }
  return { times, series: series.map(({ label }, i) => ({ label, values: values[i] ?? [] })) };
}

export function latestOf({ values }: Series): number | null {
  return values.findLast((value) => value !== null) ?? null;
}

/** "Pushed: 99.6 now, at most 120 at 2026-10-12 11:31:00." for each series. */
export function summaryOf({ times, series }: Timeline, format: (value: number) => string): string {
  return series.map((one) => sentenceOf(one, times, format)).join(' ');
}

function sentenceOf(
  one: Series,
  times: readonly number[],
  format: (value: number) => string,
): string {
  const latest = latestOf(one);
  if (latest === null) return `${one.label}: ${UNKNOWN}.`;
  let top = 0;
  one.values.forEach((value, i) => {
    if ((value ?? Number.NEGATIVE_INFINITY) > (one.values[top] ?? Number.NEGATIVE_INFINITY))
      top = i;
  });
  const when = formatMoment((times[top] ?? 0) * 1000);
  const { label } = one;
  return `${label}: ${format(latest)} last, at most ${format(one.values[top] ?? 0)} at ${when}.`;
}
