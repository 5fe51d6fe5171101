/** Consuming processes that report themselves: what each runs, and when it was heard last. */
import { formatDuration } from '../base/format.js';
import { holds } from '../base/order.js';
import { pathOfQueue } from '../base/routes.js';
import {
  type ConsumerProcess,
  type Pool,
  processesOf,
  type ReportRow,
  SUPERVISION,
} from '../base/supervision.js';
import { type Column, DataTable } from '../components/data-table.js';
import { Link } from '../components/link.js';
import { SearchField } from '../components/list-filter.js';
import { Facts, Page } from '../components/page.js';
import { Loaded } from '../components/states.js';
import { Ago, Badge, Count, Name } from '../components/text.js';
import { usePlace } from '../data/location.js';
import { call } from '../data/request.js';
import { usePages } from '../data/use-pages.js';

const PAGE_ROWS = 1000;
/** Reports come every 10 s. */
const EVERY_MS = 5_000;

interface Row {
  readonly process: ConsumerProcess;
  readonly pool: Pool;
}

const COLUMNS: readonly Column<Row>[] = [
  {
    key: 'group',
    title: 'Supervised as',
    value: ({ process }) => process.group,
    cell: ({ process }) => <Name text={process.group} />,
  },
  {
    key: 'process',
    title: 'Process',
    isText: true,
    value: ({ process }) => process.host,
    cell: ({ process }) => (
      <>
        <Name text={process.host} /> <span class="quiet">{process.pid}</span>
      </>
    ),
  },
  {
    key: 'state',
    title: 'State',
    isText: true,
    value: ({ process }) => process.state,
    cell: ({ process: { state } }) => (
      <Badge tone={state === 'running' ? 'good' : 'wait'}>{state}</Badge>
    ),
  },
  {
    key: 'queue',
    title: 'Reads',
    isText: true,
    value: ({ pool }) => pool.name,
    cell: ({ pool }) =>
      pool.queue === '' ? (
        <Name text={pool.name} />
      ) : (
        <>
          <Link to={pathOfQueue(pool.queue)}>
            <Name text={pool.queue} />
          </Link>{' '}
          <span class="quiet">
            as <Name text={pool.group} />
          </span>
        </>
      ),
  },
  {
    key: 'running',
    title: 'Running',
    value: ({ pool }) => pool.running,
    cell: ({ pool: { running, desired } }) => (
      <span data-tone={(running ?? 0) < (desired ?? 0) ? 'wait' : undefined}>
        {running ?? '–'} of {desired ?? '–'}
      </span>
    ),
  },
  {
    key: 'busy',
    title: 'Busy',
    isMinor: true,
    value: ({ pool }) => pool.busy,
    cell: ({ pool }) => <Count of={pool.busy} />,
  },
  {
    key: 'completed',
    title: 'Completed',
    isMinor: true,
    value: ({ pool }) => pool.completed,
    cell: ({ pool }) => <Count of={pool.completed} />,
  },
  {
    key: 'failed',
    title: 'Failed',
    value: ({ pool }) => pool.failed,
    cell: ({ pool }) => <Count of={pool.failed} isBad />,
  },
  {
    key: 'oldest',
    title: 'Oldest in work',
    isMinor: true,
    value: ({ pool }) => pool.oldestInflightSeconds,
    cell: ({ pool }) => formatDuration(pool.oldestInflightSeconds),
  },
  {
    key: 'last',
    title: 'Last completed',
    isMinor: true,
    value: ({ pool }) => pool.lastCompletedMs,
    cell: ({ pool }) => <Ago at={pool.lastCompletedMs} />,
  },
  {
    key: 'heard',
    title: 'Heard',
    isMinor: true,
    value: ({ process }) => process.updatedAt,
    cell: ({ process }) => <Ago at={process.updatedAt} />,
  },
];

export function SupervisorsPage() {
  const { poll, more } = usePages(
    'supervisors',
    (after, signal) => {
      const body = { namespace: SUPERVISION, limit: PAGE_ROWS, includeExpired: false, after };
      return call('POST /api/v1/resources/kv/list', { body, signal });
    },
    EVERY_MS,
  );
  return (
    <Page title="Supervision">
      <Loaded poll={poll} what="the reports">
        {({ rows }) => <Reports rows={rows} more={more} />}
      </Loaded>
    </Page>
  );
}

interface ReportsProps {
  readonly rows: readonly ReportRow[];
  readonly more: { readonly isLoading: boolean; readonly load: () => void } | null;
}

function Reports({ rows, more }: ReportsProps) {
  const text = usePlace().query.get('q') ?? '';
  const { processes, unread } = processesOf(rows);
  const all = processes.flatMap((process) => process.pools.map((pool) => ({ process, pool })));
  const shown = all.filter(({ process: { group, host }, pool: { name } }) =>
    holds(text, [group, host, name]),
  );
  const sum = (of: (pool: Pool) => number | null) =>
    all.reduce((total, { pool }) => total + (of(pool) ?? 0), 0);
  return (
    <>
      <Facts
        facts={[
          { label: 'Processes', value: processes.length },
          { label: 'Running', value: sum(({ running }) => running) },
          { label: 'Busy', value: sum(({ busy }) => busy) },
          { label: 'Failed', value: sum(({ failed }) => failed), note: 'since their start' },
        ]}
      />
      <div class="filters after">
        <SearchField label="Process or queue holds" />
        {unread > 0 && <span class="quiet">{unread} reports cannot be read.</span>}
      </div>
      <DataTable
        caption="Consuming processes"
        isDense
        columns={COLUMNS}
        rows={shown}
        rowKey={({ process, pool }) => `${process.group}\n${process.id}\n${pool.name}`}
        more={more}
        empty={
          all.length === 0
            ? 'No process reports itself. The client does with .supervision in its consume loop.'
            : 'No process has this in its name.'
        }
      />
    </>
  );
}
