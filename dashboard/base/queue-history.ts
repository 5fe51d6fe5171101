/** Buckets of a queue's history. One in which nothing happened has no row: it counts as zeros. */

interface Window {
  readonly fromMs: number;
  readonly toMs: number;
  readonly nowMs: number;
  readonly bucketMinutes: number;
}

/** A bucket is told of this long after its end at the latest. */
const TOLD_MS = 60_000;
/** A span of more buckets stays as it was answered: a chart is some hundred pixels wide. */
const FILLED_MAX = 10_000;

/** Whether figures of the bucket that begins then may be on their way: that none are is no zero. */
export function mayStillCome(bucketMs: number, bucketMinutes: number, nowMs: number): boolean {
  return bucketMs > nowMs - TOLD_MS - bucketMinutes * 60_000;
}

/** The rows and those that are missing, oldest first. The newest may still come: it stays out. */
export function filledRows<Row>(
  rows: readonly Row[],
  bucketOf: (row: Row) => string,
  empty: (bucket: string) => Row,
  { fromMs, toMs, nowMs, bucketMinutes }: Window,
): Row[] {
  const widthMs = bucketMinutes * 60_000;
  const byMs = new Map(rows.map((row) => [Date.parse(bucketOf(row)), row]));
  const spanMs = Math.min(toMs, nowMs) - fromMs;
  if (!(widthMs > 0) || spanMs / widthMs > FILLED_MAX) return [...rows];
  for (let ms = Math.ceil(fromMs / widthMs) * widthMs; ms <= toMs; ms += widthMs) {
    if (mayStillCome(ms, bucketMinutes, nowMs)) break;
    if (!byMs.has(ms)) byMs.set(ms, empty(new Date(ms).toISOString()));
  }
  return [...byMs].sort(([a], [b]) => a - b).map(([, row]) => row);
}

interface Parked {
  readonly bucket: string;
  readonly hostname: string;
  readonly parkedCount: number;
}

/** One row for each bucket, with the figure of each host, on which several nodes may run. */
export function byBucket(rows: readonly Parked[]) {
  const buckets = new Map<string, Map<string, number>>();
  for (const { bucket, hostname, parkedCount } of rows) {
    const of = buckets.get(bucket) ?? new Map<string, number>();
    of.set(hostname, (of.get(hostname) ?? 0) + parkedCount);
    buckets.set(bucket, of);
  }
  return [...buckets].map(([bucket, byNode]) => ({ bucket, byNode }));
}
