/** Consumer groups: how far each is behind at each queue; one group is a page of its own. */
import { useMemo } from 'preact/hooks';
import { pathOfGroup } from '../base/consumer-groups.js';
import { counted, formatDuration } from '../base/format.js';
import { holds } from '../base/order.js';
import { type Column, DataTable, type More } from '../components/data-table.js';
import { Select } from '../components/form.js';
import { Link } from '../components/link.js';
import { ListFilter } from '../components/list-filter.js';
import { Page } from '../components/page.js';
import { partitionColumn, queueColumn } from '../components/queue-column.js';
import { Empty, Loaded } from '../components/states.js';
import { Tabs } from '../components/tabs.js';
import { Count, Name, Time } from '../components/text.js';
import { navigate, setQuery, usePlace } from '../data/location.js';
import { EVERY_MS_LIST } from '../data/poll.js';
import { callFully, type Success } from '../data/request.js';
import { usePages } from '../data/use-pages.js';
import { ConsumerGroupPage } from './consumer-group.js';
import { Behind, GroupName, GroupState, OldestUnread } from './group-texts.js';

type Row = Success<'GET /api/v1/consumer-groups'>[number];
type LaggingRow = Success<'GET /api/v1/consumer-groups/lagging'>[number];

const PAGE_ROWS = 1000;

const COLUMNS: readonly Column<Row>[] = [
  {
    key: 'group',
    title: 'Group',
    value: ({ name }) => name,
    cell: ({ name, queueName }) => (
      <Link to={pathOfGroup(name, queueName)}>
        <GroupName group={name} />
      </Link>
    ),
  },
  queueColumn(({ queueName }) => queueName),
  {
    key: 'lag',
    title: 'Lag',
    value: ({ totalLag }) => totalLag,
    cell: ({ totalLag }) => <Count of={totalLag} />,
  },
  {
    key: 'oldest',
    title: 'Oldest unread',
    isMinor: true,
    value: ({ maxTimeLag }) => maxTimeLag,
    cell: ({ maxTimeLag }) => <OldestUnread seconds={maxTimeLag} />,
  },
  {
    key: 'behind',
    title: 'Partitions behind',
    isMinor: true,
    value: ({ partitionsWithLag }) => partitionsWithLag,
    cell: (row) => <Behind of={row} />,
  },
  {
    key: 'state',
    title: 'State',
    isText: true,
    isMinor: true,
    value: ({ state }) => state,
    cell: ({ state }) => <GroupState state={state} />,
  },
  {
    key: 'from',
    title: 'Begins with',
    isText: true,
    isMinor: true,
    cell: ({ subscriptionMode, subscriptionTimestamp, conflation }) => (
      <>
        {subscriptionMode === 'all' || subscriptionMode === null ? (
          'everything'
        ) : (
          <Time at={subscriptionTimestamp} />
        )}
        {conflation && <span class="quiet">, newest only</span>}
      </>
    ),
  },
];

const LAGGING_COLUMNS: readonly Column<LaggingRow>[] = [
  {
    key: 'group',
    title: 'Group',
    value: (row) => row.consumer_group,
    cell: (row) => (
      <Link to={pathOfGroup(row.consumer_group, row.queue_name)}>
        <GroupName group={row.consumer_group} />
      </Link>
    ),
  },
  queueColumn((row) => row.queue_name),
  partitionColumn((row) => row.partition_name),
  {
    key: 'lag',
    title: 'Lag',
    isMinor: true,
    value: (row) => row.offset_lag,
    cell: (row) => <Count of={row.offset_lag} />,
  },
  {
    key: 'oldest',
    title: 'Oldest unread',
    value: (row) => row.time_lag_seconds,
    cell: (row) => (
      <span title={row.oldest_unconsumed_at}>{formatDuration(row.time_lag_seconds)}</span>
    ),
  },
  {
    key: 'lease',
    title: 'Leased',
    isText: true,
    isMinor: true,
    cell: (row) => (row.worker_id === null ? 'no' : <Name text={row.worker_id} />),
  },
];

/** `?group=` is one group; else all of them, or with `?view=lagging` the partitions behind. */
export function ConsumersPage() {
  const { query } = usePlace();
  const group = query.get('group');
  if (group !== null && group !== '') return <ConsumerGroupPage key={group} group={group} />;
  const view = query.get('view') === 'lagging' ? 'lagging' : '';
  const tabs = (
    <Tabs
      label="View"
      value={view}
      choices={[
        { value: '', label: 'All groups' },
        { value: 'lagging', label: 'Partitions behind' },
      ]}
      onChoose={(chosen) => setQuery({ view: chosen })}
    />
  );
  return (
    <Page title="Consumer groups" actions={tabs}>
      {view === '' ? <Groups /> : <Lagging />}
    </Page>
  );
}

function Groups() {
  const ask = async (after: string | null, signal: AbortSignal) => {
    const query = { limit: PAGE_ROWS, after };
    const { body, nextAfter } = await callFully('GET /api/v1/consumer-groups', { query, signal });
    return { rows: body, nextAfter };
  };
  const { poll, more } = usePages('groups', ask, EVERY_MS_LIST);
  return (
    <Loaded poll={poll} what="the groups">
      {({ rows }) => <FilteredGroups rows={rows} more={more} />}
    </Loaded>
  );
}

interface FilteredProps {
  readonly rows: readonly Row[];
  readonly more: More | null;
}

function FilteredGroups({ rows, more }: FilteredProps) {
  const { query } = usePlace();
  const text = query.get('q') ?? '';
  const shown = useMemo(
    () => rows.filter(({ name, queueName }) => holds(text, [name, queueName])),
    [rows, text],
  );
  if (rows.length === 0) return <NoGroup />;
  return (
    <div>
      <ListFilter
        label="Group or queue holds"
        count={counted(shown.length, 'group at a queue', 'groups at queues')}
      />
      <DataTable
        caption="Consumer groups"
        columns={COLUMNS}
        rows={shown}
        rowKey={({ name, queueName }) => `${name}\n${queueName}`}
        order={{ column: 'lag', descending: true }}
        more={more}
        onOpen={({ name, queueName }) => navigate(pathOfGroup(name, queueName))}
        empty="No group and no queue has this in its name."
      />
    </div>
  );
}

function NoGroup() {
  return (
    <Empty>
      No group has read anything yet. A group is there once a worker pops with its name: GET
      /api/v1/pop/queue/QUEUE?consumerGroup=NAME.
    </Empty>
  );
}

const AGES = [
  { value: '60', label: 'Unread for a minute' },
  { value: '300', label: 'Unread for 5 minutes' },
  { value: '3600', label: 'Unread for an hour' },
  { value: '86400', label: 'Unread for a day' },
  { value: '0', label: 'Unread at all' },
] as const;

/** The most lagging first, as the node orders them. */
function Lagging() {
  const { query } = usePlace();
  const age = AGES.find(({ value }) => value === query.get('age'))?.value ?? AGES[0].value;
  const text = query.get('q') ?? '';
  const ask = async (after: string | null, signal: AbortSignal) => {
    const asked = { minLagSeconds: age, limit: PAGE_ROWS, after };
    const at = 'GET /api/v1/consumer-groups/lagging';
    const { body, nextAfter } = await callFully(at, { query: asked, signal });
    return { rows: body, nextAfter };
  };
  const { poll, more } = usePages(`lagging ${age}`, ask, EVERY_MS_LIST);
  return (
    <div class="tight">
      <ListFilter label="Group, queue or partition holds">
        <Select
          label="Oldest unread"
          value={age}
          choices={AGES}
          onInput={(chosen) => setQuery({ age: chosen === AGES[0].value ? null : chosen })}
        />
      </ListFilter>
      <Loaded poll={poll} what="the partitions">
        {({ rows }) => (
          <DataTable
            caption="Partitions behind"
            isDense
            columns={LAGGING_COLUMNS}
            rows={rows.filter((row) =>
              holds(text, [row.consumer_group, row.queue_name, row.partition_name]),
            )}
            rowKey={(row) => `${row.consumer_group}\n${row.queue_name}\n${row.partition_name}`}
            order={{ column: 'oldest', descending: true }}
            more={more}
            onOpen={(row) => navigate(pathOfGroup(row.consumer_group, row.queue_name))}
            empty="No group leaves a message unread for so long."
          />
        )}
      </Loaded>
    </div>
  );
}
