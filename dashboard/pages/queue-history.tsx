/** What happened to a queue over a span of time, from the history that the nodes keep. */
import { useMemo } from 'preact/hooks';
import { formatInteger, formatMs, formatRate } from '../base/format.js';
import { byBucket, filledRows } from '../base/queue-history.js';
import { type Series, timelineOf } from '../base/series.js';
import { rangeQuery, type TimeRange } from '../base/time-range.js';
import { Section } from '../components/page.js';
import { RangePicker, useTimeRange } from '../components/range-picker.js';
import { Loaded, Notice } from '../components/states.js';
import { TimeSeries } from '../components/time-series.js';
import { EVERY_MS_SLOW, usePoll } from '../data/poll.js';
import { call, type Success } from '../data/request.js';

type Operations = Success<'GET /api/v1/analytics/queue-ops'>;
type Lag = Success<'GET /api/v1/analytics/queue-lag'>;
type Parked = Success<'GET /api/v1/analytics/queue-parked-replicas'>;
type Retention = Success<'GET /api/v1/analytics/retention'>;

interface History {
  readonly range: TimeRange;
  readonly operations: Operations;
  readonly lag: Lag;
  readonly parked: Parked;
  readonly retention: Retention;
}

export function QueueHistory({ queue }: { readonly queue: string }) {
  const { key, now } = useTimeRange();
  const poll = usePoll(
    `history ${queue}\n${key}`,
    async (signal): Promise<History> => {
      const range = now();
      const query = { queue, ...rangeQuery(range) };
      const [operations, lag, parked, retention] = await Promise.all([
        call('GET /api/v1/analytics/queue-ops', { query, signal }),
        call('GET /api/v1/analytics/queue-lag', { query, signal }),
        call('GET /api/v1/analytics/queue-parked-replicas', { query, signal }),
        call('GET /api/v1/analytics/retention', { query, signal }),
      ]);
      return { range, operations, lag, parked, retention };
    },
    EVERY_MS_SLOW,
  );
  return (
    <Section title="Over time" actions={<RangePicker />}>
      <Loaded poll={poll} what="the history">
        {(history) => <Charts history={history} />}
      </Loaded>
    </Section>
  );
}

function Charts({ history }: { readonly history: History }) {
  const { rates, failures, lag, parked, removed } = useMemo(() => timelinesOf(history), [history]);
  const { range, operations } = history;
  const span = { fromS: range.fromMs / 1000, toS: range.toMs / 1000 };
  const missing = operations.nodesMissing ?? [];
  return (
    <>
      {missing.length > 0 && (
        <Notice tone="wait">The history of node {missing.join(', ')} is missing.</Notice>
      )}
      <div class="columns">
        <TimeSeries title="Messages per second" timeline={rates} format={formatRate} {...span} />
        <TimeSeries title="Age when delivered" timeline={lag} format={formatMs} {...span} />
        <TimeSeries title="Parked pops" timeline={parked} format={formatRate} {...span} />
        <TimeSeries
          title="Retention removed"
          timeline={removed}
          format={formatInteger}
          isWhole
          {...span}
        />
        <TimeSeries
          title="Failures and partitions"
          timeline={failures}
          format={formatInteger}
          isWhole
          {...span}
        />
      </div>
      <p class="table-note quiet">
        Nodes keep no lag of a group over time: the age when delivered tells how late its messages
        were. Prometheus has the lag by group as svc_consumer_group_lag_messages.
      </p>
    </>
  );
}

interface Bucket {
  readonly bucket: string;
}

function timelinesOf({ range, operations, lag, parked, retention }: History) {
  const nowMs = Date.now();
  const of = <Row extends Bucket>(
    rows: readonly Row[],
    bucketMinutes: number,
    series: readonly {
      readonly label: Series['label'];
      readonly of: (row: Row) => number | null;
    }[],
  ) => {
    const { fromMs, toMs } = range;
    // Zeros are what `empty` has in every figure that is asked for.
    const empty = (bucket: string) => ({ bucket }) as Row;
    const window = { fromMs, toMs, nowMs, bucketMinutes };
    const rowsOfAll = filledRows(rows, (row) => row.bucket, empty, window);
    return timelineOf(rowsOfAll, (row) => row.bucket, bucketMinutes, series);
  };
  const { series: ops, bucketMinutes } = operations;
  const nodes = [...new Set(parked.replicas.map(({ hostname }) => hostname))];
  const waiting = nodes.map((node) => ({
    label: node,
    of: (row: { readonly byNode?: ReadonlyMap<string, number> }) => row.byNode?.get(node) ?? 0,
  }));
  const nobody = [{ label: 'parked', of: () => 0 }];
  return {
    rates: of(ops, bucketMinutes, [
      { label: 'pushed', of: ({ pushPerSecond = 0 }) => pushPerSecond },
      { label: 'delivered', of: ({ popPerSecond = 0 }) => popPerSecond },
      { label: 'acknowledged', of: ({ ackPerSecond = 0 }) => ackPerSecond },
      { label: 'empty pops', of: ({ emptyPerSecond = 0 }) => emptyPerSecond },
    ]),
    failures: of(ops, bucketMinutes, [
      { label: 'failed acknowledgements', of: ({ ackFailed = 0 }) => ackFailed },
      { label: 'partitions made', of: ({ partitionsCreated = 0 }) => partitionsCreated },
      { label: 'partitions removed', of: ({ partitionsDeleted = 0 }) => partitionsDeleted },
    ]),
    lag: timelineOf(lag, ({ bucketTime }) => bucketTime, bucketMinutes, [
      { label: 'mean', of: ({ avgLagMs }) => avgLagMs },
      { label: 'longest', of: ({ maxLagMs }) => maxLagMs },
    ]),
    parked: of(byBucket(parked.series), parked.bucketMinutes, nodes.length > 0 ? waiting : nobody),
    removed: of(retention.series, retention.bucketMinutes, [
      { label: 'by age', of: ({ retentionMsgs = 0 }) => retentionMsgs },
      { label: 'after reading', of: ({ completedRetentionMsgs = 0 }) => completedRetentionMsgs },
      { label: 'evicted', of: ({ evictionMsgs = 0 }) => evictionMsgs },
    ]),
  };
}
