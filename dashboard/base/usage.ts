/** The usage of a cluster by the minute, as totals by kind and as a line over time. */
import type { GatewayApi } from '@svc/gateway/api';
import type { Timeline } from './series.js';

export type UsageMinute = GatewayApi['GET /api/console/usage']['answers'][200][number];
export type UsageKind = UsageMinute['op'];

export interface Usage {
  readonly reqs: number;
  readonly msgs: number;
  readonly bytes_in: number;
  readonly bytes_out: number;
}

export interface UsageOfKind extends Usage {
  readonly op: UsageKind;
}

export interface UsageBucket {
  /** Seconds since 1970. */
  readonly fromS: number;
  readonly pushed: number;
  readonly delivered: number;
  readonly reqs: number;
  readonly bytes_in: number;
  readonly bytes_out: number;
}

export const KIND_WORDS: Readonly<Record<UsageKind, string>> = {
  push: 'pushes',
  txn: 'transactions',
  delivery: 'pops',
  configure: 'changes of queues and groups',
  read: 'acknowledgements and everything else',
};

const KINDS = Object.keys(KIND_WORDS) as readonly UsageKind[];
const MINUTE_S = 60;
const HOUR_S = 3600;
const NOTHING: Usage = { reqs: 0, msgs: 0, bytes_in: 0, bytes_out: 0 };

export interface UsageSpan {
  readonly hours: number;
  readonly label: string;
  readonly bucketMinutes: number;
}

/** Some hundred points each. */
export const USAGE_SPANS: readonly UsageSpan[] = [
  { hours: 1, label: 'last hour', bucketMinutes: 1 },
  { hours: 6, label: 'last 6 hours', bucketMinutes: 5 },
  { hours: 24, label: 'last 24 hours', bucketMinutes: 15 },
  { hours: 72, label: 'last 3 days', bucketMinutes: 60 },
  { hours: 168, label: 'last 7 days', bucketMinutes: 120 },
];
const DEFAULT_SPAN = USAGE_SPANS[2] as UsageSpan;

/** The span of that many hours, as an address has them; the last day where it has no such. */
export function usageSpanOf(hours: string | null): UsageSpan {
  return USAGE_SPANS.find((span) => String(span.hours) === hours) ?? DEFAULT_SPAN;
}

/** One row for each kind that was used, the most requests first. */
export function usageByKind(minutes: readonly UsageMinute[]): UsageOfKind[] {
  const sums = new Map<UsageKind, Usage>();
  for (const minute of minutes) sums.set(minute.op, sum(sums.get(minute.op) ?? NOTHING, minute));
  return KINDS.flatMap((op) => {
    const used = sums.get(op);
    return used === undefined ? [] : [{ op, ...used }];
  }).sort((a, b) => b.reqs - a.reqs);
}

/** Seconds until a minute is in the answer: it has to be over, and stored by the gateway. */
const TOLD_AFTER_S = 90;

/**
 * Sums of buckets, oldest first. A minute that is not listed had no request, so an empty bucket is
 * 0 and not unknown. The newest minutes may not be stored yet, so empty buckets at the end are left
 * out. Minutes that cannot be read are not counted.
 */
export function usageBuckets(
  minutes: readonly UsageMinute[],
  { hours, bucketMinutes }: UsageSpan,
  nowMs: number,
): UsageBucket[] {
  const width = bucketMinutes * MINUTE_S;
  const bucketOf = (seconds: number) => Math.floor(seconds / width) * width;
  const endS = bucketOf(nowMs / 1000);
  const buckets = new Map<number, UsageBucket>();
  for (let fromS = bucketOf(nowMs / 1000 - hours * HOUR_S); fromS <= endS; fromS += width) {
    buckets.set(fromS, { fromS, pushed: 0, delivered: 0, reqs: 0, bytes_in: 0, bytes_out: 0 });
  }
  for (const { minute, op, reqs, msgs, bytes_in, bytes_out } of minutes) {
    const fromS = bucketOf(Date.parse(minute) / 1000);
    const bucket = buckets.get(fromS);
    if (bucket === undefined) continue;
    buckets.set(fromS, {
      fromS,
      pushed: bucket.pushed + (op === 'push' || op === 'txn' ? msgs : 0),
      delivered: bucket.delivered + (op === 'delivery' ? msgs : 0),
      reqs: bucket.reqs + reqs,
      bytes_in: bucket.bytes_in + bytes_in,
      bytes_out: bucket.bytes_out + bytes_out,
    });
  }
  const all = [...buckets.values()];
  const isUntold = ({ fromS, reqs }: UsageBucket) =>
    reqs === 0 && fromS + width > nowMs / 1000 - TOLD_AFTER_S;
  while (all.length > 0 && isUntold(all.at(-1) as UsageBucket)) all.pop();
  return all;
}

type Figure = Exclude<keyof UsageBucket, 'fromS'>;

/** Lines of some figures of the buckets. */
export function usageTimeline(
  buckets: readonly UsageBucket[],
  lines: readonly { readonly label: string; readonly of: Figure }[],
): Timeline {
  return {
    times: buckets.map(({ fromS }) => fromS),
    series: lines.map(({ label, of }) => ({ label, values: buckets.map((one) => one[of]) })),
  };
}

function sum(a: Usage, b: Usage): Usage {
  return {
    reqs: a.reqs + b.reqs,
    msgs: a.msgs + b.msgs,
    bytes_in: a.bytes_in + b.bytes_in,
    bytes_out: a.bytes_out + b.bytes_out,
  };
}
