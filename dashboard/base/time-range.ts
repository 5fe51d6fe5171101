/** Spans of time in the address: `range=6h`, or `from` and `to` as ISO times. */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** The first is meant where the address says nothing. */
export const RANGES = [
  { key: '1h', label: 'Last hour', ms: HOUR_MS },
  { key: '15m', label: '15 minutes', ms: 15 * MINUTE_MS },
  { key: '6h', label: '6 hours', ms: 6 * HOUR_MS },
  { key: '24h', label: '24 hours', ms: 24 * HOUR_MS },
  { key: '7d', label: '7 days', ms: 7 * 24 * HOUR_MS },
] as const;

export interface TimeRange {
  /** null: from and to are chosen. */
  readonly key: string | null;
  readonly fromMs: number;
  readonly toMs: number;
}

/** `first`: the key of the span where the query names none. */
export function rangeOf(query: URLSearchParams, nowMs: number, first = ''): TimeRange {
  const fromMs = Date.parse(query.get('from') ?? '');
  if (Number.isFinite(fromMs)) {
    const saidMs = Date.parse(query.get('to') ?? '');
    const toMs = Number.isFinite(saidMs) ? saidMs : nowMs;
    if (toMs > fromMs) return { key: null, fromMs, toMs };
  }
  const wanted = [query.get('range'), first];
  const [range = RANGES[0]] = wanted.flatMap((one) => RANGES.filter(({ key }) => key === one));
  return { key: range.key, fromMs: nowMs - range.ms, toMs: nowMs };
}

/** As the API takes them. */
export function rangeQuery({ fromMs, toMs }: TimeRange): { from: string; to: string } {
  return { from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() };
}
