/** The query of a read of series, its window, and how buckets are written (inspection 5.1). */

import {
  count,
  describedAs,
  integer,
  list,
  matching,
  named,
  number,
  optional,
  stampMs,
} from '@svc/schema';
import { formatStampMs, formatStampUs, parseIsoUs } from '@svc/wire';
import { RequestFault } from '../../exchange/errors.js';
import { partOf, shown } from '../../json/shown.js';
import type { SeriesWindow } from '../../ports/analytics-service.js';
import { refusal } from '../../routing/endpoint.js';
import { exactParameter, textParameter } from '../../routing/query-parameter.js';

export const WINDOW = {
  from: textParameter('ISO-8601, inclusive; an hour ago when absent.'),
  to: textParameter('ISO-8601, inclusive; now when absent.'),
};

const QUEUE = textParameter('Of this queue alone.');

export const QUEUE_WINDOW = { ...WINDOW, queue: QUEUE };

const NONE = 'empty: with none';
const NAMESPACE = exactParameter(`Of queues with this namespace; ${NONE}.`);
const TASK = exactParameter(`Of queues with this task; ${NONE}.`);

export const LABELS = { namespace: NAMESPACE, task: TASK };

export const LABELLED_QUERY = { queue: QUEUE, ...LABELS };

export const BAD_WINDOW = refusal(
  'A bound of the window is no timestamp, or it has too many buckets.',
);

/** UTC with seconds. */
export const stampS = matching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
export const rate = describedAs('Per second.', number);

export const NODES_MISSING = optional(
  describedAs('The numbers of the nodes that did not answer in time.', list(integer)),
);

interface Gathered {
  readonly missing: readonly number[];
}

export const MISSING = {
  nodesMissing: [
    NODES_MISSING,
    ({ missing }: Gathered) => (missing.length === 0 ? undefined : missing),
  ],
} as const;

export const timeRange = named(
  'TimeRange',
  shown<SeriesWindow>()({
    from: [stampMs, ({ fromUs }) => formatStampMs(fromUs)],
    to: [stampMs, ({ toUs }) => formatStampMs(toUs)],
  }),
);

export interface Windowed {
  readonly window: SeriesWindow;
}

/** The members that answers about a window begin with. */
export const WINDOW_SHOWN = {
  timeRange: partOf(timeRange, (_: unknown, { window }: Windowed) => window),
  bucketMinutes: [
    describedAs('The width of a bucket.', count),
    (_: unknown, { window }: Windowed) => window.widthMinutes,
  ],
} as const;

const US_PER_MINUTE = 60_000_000;
const HOUR_US = 60 * US_PER_MINUTE;
const HOUR_MINUTES = 60;
const SECONDS_CHARS = 19;

/** The width of a bucket, by the longest span that it is for. */
const WIDTHS: readonly (readonly [number, number])[] = [
  [60, 1],
  [360, 5],
  [1440, 15],
  [10_080, 60],
];
const WIDTH_MAX = 360;

/** `rounds`: the span that the width is chosen by. Throws `RequestFault`. */
export function windowOf(
  { from, to }: { readonly from: string; readonly to: string },
  nowUs: number,
  rounds = true,
): SeriesWindow {
  const fromUs = boundOf(from, nowUs - HOUR_US);
  const toUs = boundOf(to, nowUs);
  const span = (toUs - fromUs) / US_PER_MINUTE;
  const minutes = rounds ? Math.floor(span + 0.5) : span;
  const width = WIDTHS.find(([longest]) => minutes <= longest);
  return { fromUs, toUs, widthMinutes: width?.[1] ?? WIDTH_MAX };
}

function boundOf(text: string, standardUs: number): number {
  if (text === '') return standardUs;
  const stampUs = parseIsoUs(text);
  // Behind the last instant that is exact nothing is kept anyway.
  if (stampUs !== null) return Math.min(stampUs, Number.MAX_SAFE_INTEGER);
  throw badInput('timestamp with time zone', text);
}

/** What clients of this route know: the text of the database of an older release. */
export function badInput(type: string, input: string): RequestFault {
  const text = JSON.stringify({ error: `invalid input syntax for type ${type}: "${input}"` });
  return new RequestFault({ status: '500 Internal Server Error', text });
}

/** `YYYY-MM-DDTHH:MM:SSZ`. */
export function bucketText(minute: number): string {
  return `${formatStampUs(minute * US_PER_MINUTE).slice(0, SECONDS_CHARS)}Z`;
}

export function bucketTextMs(minute: number): string {
  return formatStampMs(minute * US_PER_MINUTE);
}

/**
 * Where the buckets of the window begin; null: there are more than `most`. A bucket begins at the
 * minute of the hour rounded down to the width, so those wider than an hour begin every hour.
 */
export function bucketAxis(
  { fromUs, toUs, widthMinutes }: SeriesWindow,
  most: number,
): number[] | null {
  const step = Math.min(widthMinutes, HOUR_MINUTES);
  const first = Math.floor(Math.ceil(fromUs / US_PER_MINUTE) / step) * step;
  const last = Math.floor(Math.floor(toUs / US_PER_MINUTE) / step) * step;
  const count = Math.max(0, (last - first) / step + 1);
  if (count > most) return null;
  return Array.from({ length: count }, (_, i) => first + i * step);
}

/** To two decimals. */
export function perSecond(count: number, widthMinutes: number): number {
  return round(count / (widthMinutes * 60), 2);
}

export function round(value: number, decimals: number): number {
  const scale = 10 ** decimals;
  return Math.round(value * scale) / scale;
}
