/** Figures of buckets as answers show them (inspection 4, 5). */
import type { QueueFilter } from '@svc/engine';
import { named, nullable, number } from '@svc/schema';
import type { QueueCounts } from '@svc/wire';
import { nameBudgetRefusal } from '../../exchange/name-budget.js';
import { shown } from '../../json/shown.js';
import type {
  GaugeFigures,
  NodeSeriesView,
  ProcessBucketView,
  ProcessCountsView,
} from '../../ports/analytics-service.js';
import { round } from './window.js';

/** The name of the queue asked about; null: any. One that no queue can have is "". */
export function queueOf(queue: string, tenant: string): string | null {
  if (queue === '') return null;
  return nameBudgetRefusal(tenant, queue, '', '') === null ? queue : '';
}

/** Where an empty label is a filter too: the queues without that label (inspection 5.3, 5.10). */
export function exactFilterOf(
  { queue, namespace, task }: AskedQueues,
  tenant: string,
): QueueFilter {
  return { queue: queueOf(queue, tenant), namespace, task };
}

interface AskedQueues {
  readonly queue: string;
  readonly namespace: string | null;
  readonly task: string | null;
}

/** Age at delivery; null: nothing was delivered. */
export function averageLagMs({ lagMsSum, popMessages }: Lag): number | null {
  return popMessages === 0 ? null : round(lagMsSum / popMessages, 2);
}

export function longestLagMs({ lagMsMax, popMessages }: Lag): number | null {
  return popMessages === 0 ? null : Math.round(lagMsMax);
}

type Lag = Pick<QueueCounts, 'lagMsSum' | 'lagMsMax' | 'popMessages'>;

export function averageParked({ parkedSum, parkedSamples }: QueueCounts): number {
  return parkedSamples === 0 ? 0 : round(parkedSum / parkedSamples, 2);
}

export function acked({ ackSuccess, ackFailed }: Pick<QueueCounts, 'ackSuccess' | 'ackFailed'>) {
  return ackSuccess + ackFailed;
}

const gaugeFigures = named(
  'Gauge',
  shown<GaugeFigures>()({
    avg: [number, ({ avg }) => round(avg, 2)],
    min: [number, ({ min }) => round(min, 2)],
    max: [number, ({ max }) => round(max, 2)],
    last: [number, ({ last }) => round(last, 2)],
  }),
);

/** A member that shows a gauge; null: it was not measured. */
export function gaugeOf<View>(gauge: (view: View) => GaugeFigures | null) {
  const shownOf = (view: View) => {
    const figures = gauge(view);
    return figures === null ? null : gaugeFigures.of(figures, null);
  };
  return [nullable(gaugeFigures), shownOf] as const;
}

/** What all nodes did in one bucket. */
export interface CellBucket {
  readonly minute: number;
  readonly counts: ProcessCountsView;
  /** Mean of the nodes, weighted by their samples; null: not measured. */
  readonly loopLag: { readonly avg: number; readonly max: number } | null;
  readonly cpuUser: number | null;
  readonly cpuSystem: number | null;
  readonly residentBytes: number | null;
}

/** Newest first. */
export function cellBuckets(nodes: readonly NodeSeriesView[]): CellBucket[] {
  const byMinute = new Map<number, ProcessBucketView[]>();
  for (const bucket of nodes.flatMap(({ buckets }) => buckets)) {
    const known = byMinute.get(bucket.minute);
    if (known === undefined) byMinute.set(bucket.minute, [bucket]);
    else known.push(bucket);
  }
  return [...byMinute.entries()]
    .sort(([a], [b]) => b - a)
    .map(([minute, all]) => cell(minute, all));
}

function higher(most: number, { max }: { readonly max: number }): number {
  return Math.max(most, max);
}

function cell(minute: number, all: readonly ProcessBucketView[]): CellBucket {
  const lags = all.flatMap(({ gauges }) => (gauges.loopLagMs === null ? [] : [gauges.loopLagMs]));
  const avg = weighted(all, ({ gauges }) => gauges.loopLagMs);
  return {
    minute,
    counts: all.map(({ counts }) => counts).reduce(plus),
    loopLag: avg === null ? null : { avg, max: lags.reduce(higher, 0) },
    cpuUser: weighted(all, ({ gauges }) => gauges.cpuUser),
    cpuSystem: weighted(all, ({ gauges }) => gauges.cpuSystem),
    residentBytes: weighted(all, ({ gauges }) => gauges.residentBytes),
  };
}

function weighted(
  all: readonly ProcessBucketView[],
  gaugeOf: (bucket: ProcessBucketView) => GaugeFigures | null,
): number | null {
  let sum = 0;
  let samples = 0;
  for (const bucket of all) {
    const gauge = gaugeOf(bucket);
    if (gauge === null) continue;
    sum += gauge.avg * bucket.samples;
    samples += bucket.samples;
  }
  return samples === 0 ? null : sum / samples;
}

export function plus(a: ProcessCountsView, b: ProcessCountsView): ProcessCountsView {
  return {
    pushRequests: a.pushRequests + b.pushRequests,
    pushMessages: a.pushMessages + b.pushMessages,
    popRequests: a.popRequests + b.popRequests,
    popMessages: a.popMessages + b.popMessages,
    popEmpty: a.popEmpty + b.popEmpty,
    ackRequests: a.ackRequests + b.ackRequests,
    ackSuccess: a.ackSuccess + b.ackSuccess,
    ackFailed: a.ackFailed + b.ackFailed,
    transactions: a.transactions + b.transactions,
    deadLetters: a.deadLetters + b.deadLetters,
    lagMsSum: a.lagMsSum + b.lagMsSum,
    lagMsMax: Math.max(a.lagMsMax, b.lagMsMax),
  };
}
