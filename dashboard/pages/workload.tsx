/** What moved in a span of time, and what is there now: by namespace, by task, by queue. */
import { useMemo } from 'preact/hooks';
import { formatBytes, formatInteger, formatMs, formatRate } from '../base/format.js';
import { holds } from '../base/order.js';
import { mayStillCome } from '../base/queue-history.js';
import { pathOfQueue } from '../base/routes.js';
import type { Timeline } from '../base/series.js';
import { rangeQuery } from '../base/time-range.js';
import { type Column, DataTable } from '../components/data-table.js';
import { Select } from '../components/form.js';
import { ListFilter } from '../components/list-filter.js';
import { Facts, Page, Section } from '../components/page.js';
import { RangePicker, useTimeRange } from '../components/range-picker.js';
import { Loaded, Notice } from '../components/states.js';
import { Bytes, Count, Name } from '../components/text.js';
import { TimeSeries } from '../components/time-series.js';
import { navigate, setQuery, usePlace } from '../data/location.js';
import { EVERY_MS_SLOW, usePoll } from '../data/poll.js';
import { call, type Success } from '../data/request.js';
import { FirstMessage } from './first-message.js';

type Workload = Success<'GET /api/v1/analytics/workload'>;
type Row = Workload['rows'][number];

const GROUPINGS = [
  { value: 'namespace', label: 'By namespace' },
  { value: 'task', label: 'By task' },
  { value: 'queue', label: 'By queue' },
];

const figure = (
  key: string,
  title: string,
  of: (row: Row) => number,
  isMinor = false,
): Column<Row> => ({
  key,
  title,
  isMinor,
  value: of,
  cell: (row) => <Count of={of(row)} isBad={key === 'failed' || key === 'dead'} />,
});

const COLUMNS: readonly Column<Row>[] = [
  {
    key: 'key',
    title: 'Name',
    isLong: true,
    value: ({ key }) => key,
    cell: ({ key }) => <Name text={key === '' ? '(none)' : key} />,
  },
  figure('pushed', 'Pushed', ({ window }) => window.pushMessages),
  figure('delivered', 'Delivered', ({ window }) => window.popMessages),
  figure('failed', 'Failed', ({ window }) => window.ackFailed, true),
  figure('empty', 'Empty pops', ({ window }) => window.popEmpty, true),
  {
    key: 'age',
    title: 'Mean age',
    isMinor: true,
    value: ({ window }) => window.avgLagMs,
    cell: ({ window }) => formatMs(window.avgLagMs),
  },
  {
    key: 'longest',
    title: 'Longest',
    isMinor: true,
    value: ({ window }) => window.maxLagMs,
    cell: ({ window }) => formatMs(window.maxLagMs),
  },
  figure('pending', 'Pending', ({ now }) => now.pending),
  figure('dead', 'Dead letters', ({ now }) => now.deadLetter),
  {
    key: 'retained',
    title: 'Retained',
    isMinor: true,
    value: ({ now }) => now.retainedBytes,
    cell: ({ now }) => <Bytes of={now.retainedBytes} />,
  },
  figure('queues', 'Queues', ({ queues }) => queues, true),
  figure('groups', 'Groups', ({ now }) => now.groups, true),
  {
    key: 'parked',
    title: 'Parked pops',
    isMinor: true,
    value: ({ window }) => window.parkedAvg,
    cell: ({ window }) => formatRate(window.parkedAvg),
  },
];

/** A queue is one queue. */
const QUEUE_COLUMNS = COLUMNS.filter(({ key }) => key !== 'queues');

export function WorkloadPage() {
  const { query } = usePlace();
  const { key, now } = useTimeRange();
  const [by, namespace, task] = ['by', 'namespace', 'task'].map((name) => query.get(name));
  const groupBy = GROUPINGS.some(({ value }) => value === by) ? (by ?? '') : 'namespace';
  const poll = usePoll(
    `workload ${key}\n${groupBy}\n${namespace}\n${task}`,
    async (signal) => {
      const range = now();
      const filter = { namespace: namespace ?? undefined, task: task ?? undefined };
      const asked = { groupBy, ...filter, ...rangeQuery(range) };
      return {
        range,
        workload: await call('GET /api/v1/analytics/workload', { query: asked, signal }),
      };
    },
    EVERY_MS_SLOW,
  );
  return (
    <Page
      title="Workload"
      actions={
        <>
          <Select
            label="Grouped"
            value={groupBy}
            choices={GROUPINGS}
            onInput={(value) => setQuery({ by: value, namespace: null, task: null, q: null })}
          />
          <RangePicker />
        </>
      }
    >
      <Loaded poll={poll} what="the workload">
        {({ workload, range }) => (
          <Shown workload={workload} fromS={range.fromMs / 1000} toS={range.toMs / 1000} />
        )}
      </Loaded>
    </Page>
  );
}

/** The sums of a tenant, without its rows. */
export function TenantHistory() {
  const { key, now } = useTimeRange();
  const poll = usePoll(
    `tenant ${key}`,
    async (signal) => {
      const range = now();
      const query = { groupBy: 'namespace', ...rangeQuery(range) };
      return { range, workload: await call('GET /api/v1/analytics/workload', { query, signal }) };
    },
    EVERY_MS_SLOW,
  );
  return (
    <Loaded poll={poll} what="the history">
      {({ range, workload }) =>
        isTenant(workload.tenant) && (
          <Charts
            workload={workload}
            tenant={workload.tenant}
            fromS={range.fromMs / 1000}
            toS={range.toMs / 1000}
          />
        )
      }
    </Loaded>
  );
}

interface ShownProps {
  readonly workload: Workload;
  readonly fromS: number;
  readonly toS: number;
}

function Shown({ workload, fromS, toS }: ShownProps) {
  const { tenant, rows, nodesMissing } = workload;
  if (!isTenant(tenant)) return <FirstMessage />;
  const missing = nodesMissing ?? [];
  return (
    <div class="page">
      {missing.length > 0 && (
        <Notice tone="wait">What node {missing.join(', ')} counted is missing.</Notice>
      )}
      <Totals tenant={tenant} />
      <Charts workload={workload} tenant={tenant} fromS={fromS} toS={toS} />
      <Breakdown rows={rows} groupBy={workload.groupBy} />
    </div>
  );
}

type Tenant = Extract<Workload['tenant'], { queues: number; window: object }>;

/** It is empty while there is no queue. */
function isTenant(tenant: Workload['tenant']): tenant is Tenant {
  return tenant.window !== undefined;
}

/** All queues, whatever is chosen below. */
function Totals({ tenant: { window, now } }: { readonly tenant: Tenant }) {
  return (
    <Facts
      facts={[
        { label: 'Pushed', value: formatInteger(window.pushMessages), note: 'in this span' },
        { label: 'Delivered', value: formatInteger(window.popMessages), note: 'in this span' },
        {
          label: 'Failed',
          value: formatInteger(window.ackFailed),
          note: 'acknowledgements',
          tone: window.ackFailed > 0 ? 'wait' : undefined,
        },
        {
          label: 'Mean age',
          value: formatMs(window.avgLagMs),
          note: `longest ${formatMs(window.maxLagMs)}`,
        },
        {
          label: 'Pending',
          value: formatInteger(now.pending),
          note: `${formatInteger(now.pendingWithoutGroup)} read by no group`,
        },
        { label: 'Retained', value: formatBytes(now.retainedBytes) },
      ]}
    />
  );
}

function Charts(props: ShownProps & { readonly tenant: Tenant }) {
  const { workload, tenant, fromS, toS } = props;
  const { moved, age } = useMemo(() => timelinesOf(workload, tenant), [workload]);
  return (
    <div class="columns">
      <TimeSeries
        title="Messages per second"
        timeline={moved}
        format={formatRate}
        {...{ fromS, toS }}
      />
      <TimeSeries title="Age when delivered" timeline={age} format={formatMs} {...{ fromS, toS }} />
    </div>
  );
}

function timelinesOf({ buckets, bucketMinutes }: Workload, { series }: Tenant) {
  const times = buckets.map((bucket) => Date.parse(bucket) / 1000);
  const nowMs = Date.now();
  const untouched = times.map((at) => (mayStillCome(at * 1000, bucketMinutes, nowMs) ? null : 0));
  const rates = (counts: readonly (number | null)[]) =>
    counts.map((count, at) =>
      count === null ? (untouched[at] ?? null) : count / (bucketMinutes * 60),
    );
  const moved: Timeline = {
    times,
    series: [
      { label: 'pushed', values: rates(series.push) },
      { label: 'delivered', values: rates(series.pop) },
    ],
  };
  const age: Timeline = {
    times,
    series: [
      { label: 'mean', values: series.avgLagMs },
      { label: 'longest', values: series.maxLagMs },
    ],
  };
  return { moved, age };
}

interface BreakdownProps {
  readonly rows: readonly Row[];
  readonly groupBy: string;
}

/** A row leads on: from a label to its queues, from a queue to its page. */
function Breakdown({ rows, groupBy }: BreakdownProps) {
  const { query } = usePlace();
  const text = query.get('q') ?? '';
  const shown = useMemo(() => rows.filter(({ key }) => holds(text, [key])), [rows, text]);
  const open = ({ key }: Row) => {
    if (groupBy === 'queue') navigate(pathOfQueue(key));
    else if (key !== '') setQuery({ by: 'queue', [groupBy]: key, q: null });
  };
  const chosen = ['namespace', 'task'].flatMap((name) => {
    const value = query.get(name);
    return value ? [{ name, value }] : [];
  });
  return (
    <Section title={GROUPINGS.find(({ value }) => value === groupBy)?.label ?? ''}>
      <ListFilter label="Name holds">
        {chosen.map(({ name, value }) => (
          <button key={name} type="button" onClick={() => setQuery({ [name]: null })}>
            {name}: <bdi>{value}</bdi> ✕
          </button>
        ))}
      </ListFilter>
      <DataTable
        caption="Workload"
        isDense
        columns={groupBy === 'queue' ? QUEUE_COLUMNS : COLUMNS}
        rows={shown}
        rowKey={({ key }) => key}
        order={{ column: 'pushed', descending: true }}
        onOpen={open}
        empty="Nothing has this in its name."
      />
    </Section>
  );
}
