/** Usage over hours: lines over time, totals by kind, and the same in rows. */
import { useMemo } from 'preact/hooks';
import { formatBytes, formatInteger } from '../base/format.js';
import { formatMoment } from '../base/moment.js';
import {
  KIND_WORDS,
  USAGE_SPANS,
  type UsageBucket,
  type UsageMinute,
  type UsageOfKind,
  type UsageSpan,
  usageBuckets,
  usageByKind,
  usageSpanOf,
  usageTimeline,
} from '../base/usage.js';
import { type Column, DataTable } from '../components/data-table.js';
import { Select } from '../components/form.js';
import { Section } from '../components/page.js';
import { Loaded } from '../components/states.js';
import { Bytes, Count } from '../components/text.js';
import { TimeSeries } from '../components/time-series.js';
import { setQuery, usePlace } from '../data/location.js';
import { EVERY_MS_SLOW, usePoll } from '../data/poll.js';
import { call } from '../data/request.js';

interface Counted {
  readonly minutes: readonly UsageMinute[];
  readonly span: UsageSpan;
  readonly nowMs: number;
}

export function ConsoleUsage() {
  const { query } = usePlace();
  const span = usageSpanOf(query.get('hours'));
  const poll = usePoll<Counted>(
    `usage of ${span.hours} hours`,
    async (signal) => {
      const asked = { hours: span.hours };
      const minutes = await call('GET /api/console/usage', { query: asked, signal });
      return { minutes, span, nowMs: Date.now() };
    },
    EVERY_MS_SLOW,
  );
  const choices = USAGE_SPANS.map(({ hours, label }) => ({ value: String(hours), label }));
  return (
    <Section
      title="Usage"
      note="a minute is counted when it is over"
      actions={
        <Select
          label="Span of time"
          value={String(span.hours)}
          choices={choices}
          onInput={(hours) => setQuery({ hours })}
        />
      }
    >
      <Loaded poll={poll} what="the usage">
        {(counted) => <Shown counted={counted} />}
      </Loaded>
    </Section>
  );
}

const MESSAGE_LINES = [
  { label: 'Pushed', of: 'pushed' },
  { label: 'Delivered', of: 'delivered' },
] as const;
const REQUEST_LINES = [{ label: 'Requests', of: 'reqs' }] as const;

function Shown({ counted: { minutes, span, nowMs } }: { readonly counted: Counted }) {
  const buckets = useMemo(() => usageBuckets(minutes, span, nowMs), [minutes]);
  const [messages, requests] = useMemo(
    () => [usageTimeline(buckets, MESSAGE_LINES), usageTimeline(buckets, REQUEST_LINES)],
    [buckets],
  );
  const kinds = useMemo(() => usageByKind(minutes), [minutes]);
  const used = useMemo(() => buckets.filter(({ reqs }) => reqs > 0).reverse(), [buckets]);
  const per = `per ${widthText(span)}`;
  const toS = nowMs / 1000;
  const axis = { fromS: toS - span.hours * 3600, toS, format: formatInteger, isWhole: true };
  return (
    <div class="page">
      <div class="columns">
        <TimeSeries title={`Messages ${per}`} timeline={messages} {...axis} />
        <TimeSeries title={`Requests ${per}`} timeline={requests} {...axis} />
      </div>
      <DataTable
        caption={`By kind, ${span.label}`}
        columns={KIND_COLUMNS}
        rows={kinds}
        rowKey={({ op }) => op}
        empty="Nothing was used in this span. What was refused is not counted."
      />
      {used.length > 0 && (
        <DataTable
          caption={`Usage ${per}`}
          columns={BUCKET_COLUMNS}
          rows={used}
          rowKey={({ fromS }) => String(fromS)}
        />
      )}
    </div>
  );
}

function widthText({ bucketMinutes }: UsageSpan): string {
  if (bucketMinutes === 1) return 'minute';
  if (bucketMinutes === 60) return 'hour';
  return bucketMinutes > 60 ? `${bucketMinutes / 60} hours` : `${bucketMinutes} minutes`;
}

const KIND_COLUMNS: readonly Column<UsageOfKind>[] = [
  {
    key: 'kind',
    title: 'Kind',
    isLong: true,
    value: ({ op }) => KIND_WORDS[op] ?? op,
    cell: ({ op }) => KIND_WORDS[op] ?? op,
  },
  ...figures<UsageOfKind>([
    ['reqs', 'Requests', formatInteger, false],
    ['msgs', 'Messages', formatInteger, false],
    ['bytes_in', 'Received', formatBytes, true],
    ['bytes_out', 'Sent', formatBytes, true],
  ]),
];

const BUCKET_COLUMNS: readonly Column<UsageBucket>[] = [
  {
    key: 'from',
    title: 'From',
    value: ({ fromS }) => fromS,
    cell: ({ fromS }) => formatMoment(fromS * 1000).slice(0, -':00'.length),
  },
  ...figures<UsageBucket>([
    ['pushed', 'Pushed', formatInteger, false],
    ['delivered', 'Delivered', formatInteger, false],
    ['reqs', 'Requests', formatInteger, true],
    ['bytes_in', 'Received', formatBytes, true],
    ['bytes_out', 'Sent', formatBytes, true],
  ]),
];

type Told<Row> = readonly [
  key: keyof Row & string,
  title: string,
  format: typeof formatInteger,
  isMinor: boolean,
];

function figures<Row>(told: readonly Told<Row>[]): readonly Column<Row>[] {
  return told.map(([key, title, format, isMinor]) => ({
    key,
    title,
    isMinor,
    value: (row) => Number(row[key]),
    cell: (row) => {
      const value = Number(row[key]);
      return format === formatBytes ? <Bytes of={value} /> : <Count of={value} />;
    },
  }));
}
