/**
 * Shows status and analytics: the series of all nodes put together with what the state holds now.
 *
 * What must hold: rows of a queue count only while there is a queue of their number, so those of a
 * deleted queue, or of an earlier one of the name, do not show; what nodes counted while applying
 * is taken from this node alone, for all of them applied the same; and a walk over rows lets go of
 * the loop like every other walk (`state-walks.ts`).
 */
import {
  type Figures,
  isWanted,
  nameCountsOf,
  partitionLiveness,
  type QueueFilter,
  type QueueRow,
  type QueueWorkload,
  queueByNumber,
  queuePage,
  queueWorkloads,
  type RefusedOutcome,
  type State,
  type Tenant,
  tenantOverview,
  tenantStatus,
} from '@svc/engine';
import type {
  AnalyticsService,
  NodeSeriesView,
  ParkedSeriesView,
  ProcessSeriesView,
  Reply,
  RetentionView,
  SeriesWindow,
  WorkloadKey,
} from '@svc/http';
import { newQueueCounts, type QueueCounts } from '@svc/wire';
import { type NewestRows, newestRows } from '../analytics/newest-rows.js';
import { minuteAt, minuteFrom, minuteUs } from '../analytics/series-buckets.js';
import {
  eachQueueRow,
  type GatheredSeries,
  type SeriesGather,
  type SeriesOfNode,
  type SeriesQuestion,
} from '../analytics/series-gather.js';
import { mergedCounts, newProcessCounts } from '../analytics/series-process.js';
import { addCounts } from '../analytics/series-queues.js';
import { WorkloadSums } from '../analytics/workload-sums.js';
import { keyOf, pageKeyOf, type StateReads } from '../reads/state-reads.js';
import type { Clock } from '../system/clock.js';

export interface AnalyticsReadsOptions {
  /** Its own index is that of the newest checkpoint. */
  readonly state: State & { readonly appliedIndex: number };
  /** For each walk: a view that reads ahead of it. */
  readonly walkState: () => State;
  readonly figures: Figures;
  readonly reads: Pick<StateReads, 'confirmed' | 'local'>;
  readonly gather: Pick<SeriesGather, 'ask'>;
  readonly clock: Clock;
  readonly appliedIndex: () => number;
  readonly leadership: { readonly office: object | null };
}

/** Rows of one answer, 300 bytes each: 15 MB. */
const ROWS_SHOWN_MAX = 50_000;
/** Queues that worker metrics name. */
const QUEUES_SHOWN_MAX = 1000;
const ROWS_PER_STEP = 512;
/** Reads of rows of queues at a time; half a million rows are 125 MB until it is answered. */
export const ROW_READS_MAX = 4;
const RECENT_STATUS_MINUTES = 2;
const RECENT_WORKERS_MINUTES = 5;

const OVERLOADED: RefusedOutcome = {
  kind: 'refused',
  refusal: { reason: 'retry', error: 'too many reads of series are under way; retry' },
};

type Refusable = Pick<Reply<RefusedOutcome>, 'gone' | 'send'>;

export class AnalyticsReads implements AnalyticsService {
  readonly #options: AnalyticsReadsOptions;
  #rowReads = 0;

  constructor(options: AnalyticsReadsOptions) {
    this.#options = options;
  }

  nowUs(): number {
    return this.#options.clock.wallUs();
  }

  // --- status ------------------------------------------------------------------------------------

  status: AnalyticsService['status'] = ({ tenant, filter, window, page }, reply) => {
    const { state, reads, figures, walkState } = this.#options;
    const isFiltered = filter.queue !== null || filter.namespace !== null || filter.task !== null;
    const nowUs = this.nowUs();
    const question: SeriesQuestion = {
      ...minutesOf(window),
      process: true,
      totals: true,
      recentFrom: minuteAt(nowUs) - RECENT_STATUS_MINUTES,
      queues: isFiltered ? { tenant, queue: filter.queue, names: false } : null,
    };
    const key = keyOf(pageKeyOf('status', tenant, page), JSON.stringify(filter));
    const walk = () => tenantStatus(walkState(), figures, tenant, filter, page, nowUs);
    this.#gather(question, reply, (gathered) =>
      reads.confirmed(key, walk, reply, (status) =>
        this.#rows(
          gathered,
          () => queueRows(state, gathered, filter),
          reply,
          (rows) => {
            const queueBuckets = isFiltered ? byMinute(rows) : null;
            reply.send({ ...statusOf(gathered, nowUs), queueBuckets, status });
          },
        ),
      ),
    );
  };

  queuePage: AnalyticsService['queuePage'] = (tenant, offset, limit, reply) => {
    const { reads, clock, figures, walkState } = this.#options;
    const walk = () => queuePage(walkState(), figures, tenant, offset, limit, clock.wallUs());
    const key = keyOf('page', tenant, String(offset), String(limit));
    reads.confirmed(key, walk, reply, (queues) => reply.send({ kind: 'queue-page', queues }));
  };

  messageTotal: AnalyticsService['messageTotal'] = (tenant, reply) => {
    const { reads, clock, figures, walkState } = this.#options;
    const walk = () => tenantOverview(walkState(), figures, tenant, clock.wallUs());
    reads.confirmed(keyOf('total', tenant), walk, reply, ({ counts }) =>
      reply.send({ kind: 'message-total', nowUs: clock.wallUs(), messages: counts.total }),
    );
  };

  sharedState: AnalyticsService['sharedState'] = (reply) => {
    const { state, reads, appliedIndex } = this.#options;
    // biome-ignore lint/correctness/useYield: it is a walk of one step
    const walk = function* (): Generator<void, number> {
      return nameCountsOf(state, null).queues;
    };
    reads.local(walk, reply, (queues) => {
      const indexes = { appliedIndex: appliedIndex(), durableIndex: state.appliedIndex };
      reply.send({ kind: 'shared-state', ...indexes, queues });
    });
  };

  liveness: AnalyticsService['liveness'] = (tenant, filter, limit, reply) => {
    const { reads, clock, walkState } = this.#options;
    const walk = () => partitionLiveness(walkState(), tenant, filter, limit, clock.wallUs());
    const names = [filter.queue, filter.namespace, filter.task].map((name) => `${name}`);
    const key = keyOf('liveness', tenant, String(limit), JSON.stringify(filter), ...names);
    reads.confirmed(key, walk, reply, (rows) =>
      reply.send({ kind: 'liveness', nowUs: clock.wallUs(), rows }),
    );
  };

  // --- queues over time --------------------------------------------------------------------------

  queueSeries: AnalyticsService['queueSeries'] = ({ tenant, queue, window }, reply) => {
    const { state } = this.#options;
    this.#gather(queuesOnly(window, tenant, queue, false), reply, (gathered) => {
      const walk = () => newestOfQueues(state, gathered, { queue, namespace: null, task: null });
      this.#rows(gathered, walk, reply, ({ rows, truncated }) => {
        const shown = rows.map(({ minute, row, counts }) => ({ minute, queue: row.name, counts }));
        reply.send({ kind: 'queue-series', rows: shown, truncated, missing: gathered.missing });
      });
    });
  };

  workload: AnalyticsService['workload'] = ({ tenant, filter, groupBy, window }, reply) => {
    const { state, reads, clock, figures, walkState } = this.#options;
    this.#gather(queuesOnly(window, tenant, null, false), reply, (gathered) => {
      const walk = () => workloadsOf(walkState(), figures, tenant, clock.wallUs());
      reads.confirmed(keyOf('workload', tenant), walk, reply, (workloads) =>
        this.#rows(
          gathered,
          () => workloadView(state, gathered, workloads, new WorkloadSums(filter, groupBy)),
          reply,
          (view) => reply.send({ kind: 'workload', ...view, missing: gathered.missing }),
        ),
      );
    });
  };

  retention: AnalyticsService['retention'] = ({ tenant, queue, groupBy, window }, reply) => {
    const { state } = this.#options;
    this.#gather(queuesOnly(window, tenant, queue, false), reply, (gathered) => {
      const own = {
        ...gathered,
        nodes: gathered.nodes.filter(({ node }) => node === gathered.self),
      };
      const filter = { queue, namespace: null, task: null };
      this.#rows(
        gathered,
        () => queueRows(state, own, filter),
        reply,
        (rows) => reply.send(retentionView(rows, groupBy)),
      );
    });
  };

  parked: AnalyticsService['parked'] = ({ tenant, queue, window }, reply) => {
    this.#gather(queuesOnly(window, tenant, queue, true), reply, (gathered) => {
      this.#rows(
        gathered,
        () => parkedRows(gathered),
        reply,
        ({ rows, truncated }) => {
          reply.send({
            kind: 'parked-series',
            rows,
            hostnames: gathered.nodes
              .map(({ hostname }) => hostname)
              .filter((name) => rows.some(({ hostname }) => hostname === name)),
            truncated,
            missing: gathered.missing,
          });
        },
      );
    });
  };

  // --- processes over time -----------------------------------------------------------------------

  processes: AnalyticsService['processes'] = (window, withQueues, reply) => {
    const { state } = this.#options;
    const question: SeriesQuestion = {
      ...minutesOf(window),
      process: true,
      totals: false,
      recentFrom: minuteAt(this.nowUs()) - RECENT_WORKERS_MINUTES,
      queues: withQueues ? { tenant: null, queue: null, names: false } : null,
    };
    this.#gather(question, reply, (gathered) => {
      this.#rows(
        gathered,
        () => queueRows(state, gathered, EVERY_QUEUE),
        reply,
        (rows) =>
          reply.send({
            kind: 'process-series',
            nodes: gathered.nodes.map(viewOf),
            queues: deliveredByQueue(rows),
            missing: gathered.missing,
          }),
      );
    });
  };

  /** A walk over rows of queues; what such walks hold is bounded by how many there are. */
  #rows<Result>(
    { nodes }: GatheredSeries,
    begin: () => Generator<void, Result>,
    reply: Refusable,
    done: (result: Result) => void,
  ): void {
    const hasRows = nodes.some(({ queueBuckets }) => queueBuckets.length > 0);
    if (hasRows && this.#rowReads >= ROW_READS_MAX) reply.send(OVERLOADED);
    else this.#options.reads.local(hasRows ? () => this.#counted(begin) : begin, reply, done);
  }

  *#counted<Result>(begin: () => Generator<void, Result>): Generator<void, Result> {
    this.#rowReads++;
    try {
      return yield* begin();
    } finally {
      this.#rowReads--;
    }
  }

  #gather(
    question: SeriesQuestion,
    reply: Refusable,
    done: (gathered: GatheredSeries) => void,
  ): void {
    const asked = this.#options.gather.ask(question, (gathered) => {
      if (!reply.gone) done(gathered);
    });
    if (!asked) reply.send(OVERLOADED);
  }
}

const EVERY_QUEUE: QueueFilter = { queue: null, namespace: null, task: null };

function* workloadsOf(
  state: State,
  figures: Figures,
  tenant: Tenant,
  nowUs: number,
): Generator<void, QueueWorkload[]> {
  const workloads: QueueWorkload[] = [];
  yield* queueWorkloads(state, figures, tenant, nowUs, (one) => workloads.push(one));
  return workloads;
}

function* workloadView(
  state: State,
  gathered: GatheredSeries,
  workloads: readonly QueueWorkload[],
  sums: WorkloadSums,
): Generator<void, ReturnType<WorkloadSums['view']>> {
  const rows = yield* queueRows(state, gathered, EVERY_QUEUE);
  let steps = 0;
  for (const workload of workloads) {
    sums.holds(workload);
    if (++steps % ROWS_PER_STEP === 0) yield;
  }
  for (const { minute, row, counts } of rows) {
    sums.moved(row, minute, counts);
    if (++steps % ROWS_PER_STEP === 0) yield;
  }
  return sums.view();
}

/** One queue in one bucket, over all nodes. */
interface QueueSum {
  readonly minute: number;
  readonly row: QueueRow;
  readonly counts: QueueCounts;
}

/** Rows of the queues that exist and match; buckets of a queue are one, over all nodes. */
function* queueRows(
  state: State,
  { nodes, self }: GatheredSeries,
  filter: QueueFilter,
): Generator<void, QueueSum[]> {
  const queues = new Map<number, QueueRow | null>();
  const sums = new Map<number, Map<number, QueueSum>>();
  const found: QueueSum[] = [];
  let steps = 0;
  for (const { node, queueBuckets } of nodes) {
    for (const { minute, number, counts } of eachQueueRow(queueBuckets)) {
      if (++steps % ROWS_PER_STEP === 0) yield;
      let row = queues.get(number);
      if (row === undefined) {
        const known = queueByNumber(state, number);
        row = known !== undefined && isWanted(known, filter) ? known : null;
        queues.set(number, row);
      }
      if (row === null) continue;
      const own = node === self ? counts : withoutApplied(counts);
      let ofQueue = sums.get(number);
      if (ofQueue === undefined) {
        ofQueue = new Map();
        sums.set(number, ofQueue);
      }
      const sum = ofQueue.get(minute);
      if (sum !== undefined) {
        addCounts(sum.counts, own);
        continue;
      }
      const one = { minute, row, counts: own };
      ofQueue.set(minute, one);
      found.push(one);
    }
  }
  return found;
}

function withoutApplied(counts: QueueCounts): QueueCounts {
  return {
    ...counts,
    partitionsCreated: 0,
    partitionsDeleted: 0,
    agedMessages: 0,
    readMessages: 0,
    waitedMessages: 0,
    trims: 0,
  };
}

function byMinute(rows: readonly QueueSum[]): { minute: number; counts: QueueCounts }[] {
  const sums = new Map<number, QueueCounts>();
  for (const { minute, counts } of rows) {
    let sum = sums.get(minute);
    if (sum === undefined) {
      sum = newQueueCounts();
      sums.set(minute, sum);
    }
    addCounts(sum, counts);
  }
  return [...sums]
    .sort(([one], [other]) => one - other)
    .map(([minute, counts]) => ({ minute, counts }));
}

function* newestOfQueues(
  state: State,
  gathered: GatheredSeries,
  filter: QueueFilter,
): Generator<void, NewestRows<QueueSum>> {
  const found = yield* queueRows(state, gathered, filter);
  return yield* newestRows(found, ROWS_SHOWN_MAX, byMinuteAndQueue);
}

function byMinuteAndQueue(a: QueueSum, b: QueueSum): number {
  return a.minute - b.minute || (a.row.name < b.row.name ? -1 : 1);
}

const RETENTION = ['agedMessages', 'readMessages', 'waitedMessages'] as const;

function removedOf(counts: QueueCounts): number {
  return RETENTION.reduce((sum, column) => sum + counts[column], 0);
}

function retentionView(rows: readonly QueueSum[], groupBy: WorkloadKey | null): RetentionView {
  const removed = rows.filter(({ counts }) => counts.trims > 0);
  const buckets = byMinute(removed);
  const totals = newQueueCounts();
  for (const { counts } of buckets) addCounts(totals, counts);
  if (groupBy === null) return { kind: 'retention-series', buckets, totals, groups: null };
  const groups = new Map<string, { queues: Set<number>; counts: QueueCounts }>();
  for (const { row, counts } of removed) {
    const key = groupBy === 'queue' ? row.name : row.options[groupBy];
    const group = groups.get(key) ?? { queues: new Set(), counts: newQueueCounts() };
    groups.set(key, group);
    group.queues.add(row.number);
    addCounts(group.counts, counts);
  }
  return {
    kind: 'retention-series',
    buckets,
    totals,
    groups: [...groups]
      .map(([key, { queues, counts }]) => ({ key, queues: queues.size, counts }))
      .sort((a, b) => removedOf(b.counts) - removedOf(a.counts) || (a.key < b.key ? -1 : 1)),
  };
}

/** Each node by itself; a queue that is gone shows under the name that it had. */
function* parkedRows({
  nodes,
}: GatheredSeries): Generator<void, NewestRows<ParkedSeriesView['rows'][number]>> {
  const rows: ParkedSeriesView['rows'][number][] = [];
  let steps = 0;
  for (const { hostname, names, queueBuckets } of nodes) {
    for (const { minute, number, counts } of eachQueueRow(queueBuckets)) {
      if (++steps % ROWS_PER_STEP === 0) yield;
      const queue = names.get(number)?.queue;
      if (queue === undefined || counts.parkedSamples === 0) continue;
      rows.push({ minute, queue, hostname, parked: counts.parkedSum / counts.parkedSamples });
    }
  }
  return yield* newestRows(
    rows,
    ROWS_SHOWN_MAX,
    (a, b) =>
      a.minute - b.minute ||
      (a.queue === b.queue ? 0 : a.queue < b.queue ? -1 : 1) ||
      (a.hostname < b.hostname ? -1 : 1),
  );
}

function deliveredByQueue(rows: readonly QueueSum[]): ProcessSeriesView['queues'] {
  const sums = new Map<number, { queue: string; counts: QueueCounts }>();
  for (const { row, counts } of rows) {
    const sum = sums.get(row.number) ?? { queue: row.name, counts: newQueueCounts() };
    sums.set(row.number, sum);
    addCounts(sum.counts, counts);
  }
  return [...sums.values()]
    .filter(({ counts }) => counts.popMessages > 0)
    .sort((a, b) => b.counts.popMessages - a.counts.popMessages || (a.queue < b.queue ? -1 : 1))
    .slice(0, QUEUES_SHOWN_MAX);
}

function statusOf(gathered: GatheredSeries, nowUs: number) {
  const { nodes, missing } = gathered;
  const totals = nodes.reduce(
    (sum, one) => (one.totals === null ? sum : mergedCounts(sum, one.totals)),
    newProcessCounts(),
  );
  const statsAge = ageOf(gathered, nowUs);
  return { kind: 'status', nodes: nodes.map(viewOf), totals, statsAge, missing } as const;
}

function viewOf({ node, hostname, port, process, recent }: SeriesOfNode): NodeSeriesView {
  return { node, hostname, port, buckets: process, recent };
}

function ageOf({ nodes }: GatheredSeries, nowUs: number): number {
  let newest = -1;
  for (const { newestMinute } of nodes) newest = Math.max(newest, newestMinute ?? -1);
  return newest < 0 ? -1 : Math.max(0, Math.floor((nowUs - minuteUs(newest)) / 1_000_000));
}

function minutesOf({ fromUs, toUs, widthMinutes }: SeriesWindow) {
  return { fromMinute: minuteFrom(fromUs), toMinute: minuteAt(toUs), widthMinutes };
}

function queuesOnly(
  window: SeriesWindow,
  tenant: Tenant,
  queue: string | null,
  names: boolean,
): SeriesQuestion {
  return {
    ...minutesOf(window),
    process: false,
    totals: false,
    recentFrom: null,
    queues: { tenant, queue, names },
  };
}
