/**
 * Families with a sample for each queue: label `queue`, summed over tenants. A queue is there from
 * the flush bucket in which something of it happened until five minutes after it stopped, so that a
 * rate falls to 0 instead of ending in the middle of a graph.
 *
 * Bound: `queueSeriesMax` queues of a family; `svc_queue_series_omitted` says how many more there
 * are, so that an alert on a queue can tell silence from absence.
 */
import type { QueueMeters } from '@svc/wire';
import { type Exposition, labelText } from './exposition.js';
import { custom, type Family, labelled, type Scraped } from './family.js';

/** Samples between two moments in which others may go first: some 0.2 ms. */
const SAMPLES_PER_STEP = 512;

/** What happened to a queue in the last flush bucket, over all tenants. */
interface QueueSeries {
  readonly queue: string;
  pushed: number;
  delivered: number;
  acked: number;
  conflated: number;
  lagMsSum: number;
  lagMsMax: number;
}

/** What the families of one scrape leave out, and how many dead letters there are. */
interface Told {
  readonly omitted: { traffic: number; dead_letters: number; long_polls: number };
  deadLetters: number | null;
}

const told = new WeakMap<Scraped, Told>();

function toldBy(scraped: Scraped): Told {
  let known = told.get(scraped);
  if (known === undefined) {
    known = { omitted: { traffic: 0, dead_letters: 0, long_polls: 0 }, deadLetters: null };
    told.set(scraped, known);
  }
  return known;
}

export const QUEUE_FAMILIES: readonly Family[] = [
  custom(
    'svc_parked_long_polls',
    'gauge',
    'Long polls parked now at this node, by queue; of discovery pops under "".',
    function* (out, scraped) {
      const { parked, queueSeriesMax } = scraped.figures;
      toldBy(scraped).omitted.long_polls = Math.max(0, parked.size - queueSeriesMax);
      yield* first(parked, queueSeriesMax, ([queue, count]) =>
        out.sample(labelText('queue', queue), count),
      );
    },
  ),
  traffic(
    'svc_queue_pop_lag_milliseconds',
    'Age of messages when this node delivered them, in the last flush bucket; 0 without any.',
    (out, label, { delivered, lagMsSum, lagMsMax }) => {
      const average = delivered === 0 ? 0 : lagMsSum / delivered;
      out.sample(`${label},stat="avg"`, toMicroseconds(average));
      out.sample(`${label},stat="max"`, toMicroseconds(lagMsMax));
    },
  ),
  traffic(
    'svc_queue_conflated_per_minute',
    'Messages that conflating groups passed over at this node, of the last flush bucket.',
    (out, label, { conflated }) => out.sample(label, conflated),
  ),
  rate('pushed', 'Messages pushed through this node, per second of the last flush bucket.'),
  rate('delivered', 'Messages delivered by this node, per second of the last flush bucket.'),
  rate('acked', 'Messages acknowledged through this node, per second of the last flush bucket.'),
  custom(
    'svc_dlq_depth_by_queue',
    'gauge',
    'Dead letters by queue, of the whole cluster; only the leader tells it.',
    function* (out, scraped) {
      const { deadLetters, queueSeriesMax } = scraped.figures;
      if (deadLetters === null) return;
      const known = toldBy(scraped);
      const byQueue = new Map<string, number>();
      let total = 0;
      let passed = 0;
      for (const one of deadLetters) {
        if (one === null || ++passed % SAMPLES_PER_STEP === 0) yield;
        if (one === null) continue;
        total += one.count;
        const before = byQueue.get(one.queue);
        if (before !== undefined) byQueue.set(one.queue, before + one.count);
        else if (byQueue.size < queueSeriesMax) byQueue.set(one.queue, one.count);
        else known.omitted.dead_letters++;
      }
      known.deadLetters = total;
      yield* first(byQueue, queueSeriesMax, ([queue, count]) =>
        out.sample(labelText('queue', queue), count),
      );
    },
  ),
  custom(
    'svc_dlq_depth',
    'gauge',
    'Dead letters of all queues, of the whole cluster; only the leader tells it.',
    (out, scraped) => {
      const { deadLetters } = toldBy(scraped);
      if (deadLetters !== null) out.sample('', deadLetters);
    },
  ),
  labelled(
    'svc_queue_series_omitted',
    'gauge',
    'of',
    'Queues that the families above left out, because they tell of so many at most.',
    (scraped) => toldBy(scraped).omitted,
  ),
];

/** A family of what happened to queues lately. */
function traffic(
  name: string,
  help: string,
  write: (out: Exposition, label: string, series: QueueSeries, seconds: number) => void,
): Family {
  return custom(name, 'gauge', help, function* (out, scraped) {
    const { meters, figures } = scraped;
    const series = yield* seriesOf(meters.queues);
    const { closedSeconds } = meters.queues;
    toldBy(scraped).omitted.traffic = Math.max(0, series.length - figures.queueSeriesMax);
    yield* first(series, figures.queueSeriesMax, (one) =>
      write(out, labelText('queue', one.queue), one, closedSeconds),
    );
  });
}

function rate(of: 'pushed' | 'delivered' | 'acked', help: string): Family {
  return traffic(`svc_queue_${of}_per_second`, help, (out, label, series, seconds) =>
    out.sample(label, toMicroseconds(series[of] / seconds)),
  );
}

/** A bucket that is closed does not change, and is scraped several times by several families. */
const known = new WeakMap<object, readonly QueueSeries[]>();

function* seriesOf(queues: QueueMeters): Generator<void, readonly QueueSeries[]> {
  const { closed } = queues;
  const made = known.get(closed);
  if (made !== undefined) return made;
  const byQueue = new Map<string, QueueSeries>();
  let passed = 0;
  for (const one of closed) {
    if (++passed % SAMPLES_PER_STEP === 0) yield;
    const series = seriesAt(byQueue, one.queue);
    series.pushed += one.pushMessages;
    series.delivered += one.popMessages;
    series.acked += one.ackSuccess;
    series.conflated += one.conflated;
    series.lagMsSum += one.lagMsSum;
    series.lagMsMax = Math.max(series.lagMsMax, one.lagMsMax);
  }
  // Queues of this bucket come first: where not all are told, those that are quiet are left out.
  for (const queue of [...queues.recent]) seriesAt(byQueue, queue);
  const series = [...byQueue.values()];
  known.set(closed, series);
  return series;
}

function seriesAt(byQueue: Map<string, QueueSeries>, queue: string): QueueSeries {
  let series = byQueue.get(queue);
  if (series === undefined) {
    series = { queue, pushed: 0, delivered: 0, acked: 0, conflated: 0, lagMsSum: 0, lagMsMax: 0 };
    byQueue.set(queue, series);
  }
  return series;
}

/** A clock tells no more, and long fractions take long to write. */
function toMicroseconds(value: number): number {
  return Math.round(value * 1000) / 1000;
}

function* first<Item>(
  items: Iterable<Item>,
  max: number,
  write: (item: Item) => void,
): Generator<void> {
  let written = 0;
  for (const item of items) {
    if (written === max) return;
    write(item);
    if (++written % SAMPLES_PER_STEP === 0) yield;
  }
}
