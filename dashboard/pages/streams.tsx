/**
 * Streaming queries. A query is known by what it leaves: it reads its source as the consumer group
 * `streams.NAME`. Its registration and its state have no list in the API.
 */
import { useMemo } from 'preact/hooks';
import { pathOfGroup, STREAM_GROUP } from '../base/consumer-groups.js';
import { counted } from '../base/format.js';
import { holds } from '../base/order.js';
import { type Column, DataTable, type More } from '../components/data-table.js';
import { Link } from '../components/link.js';
import { ListFilter } from '../components/list-filter.js';
import { Page } from '../components/page.js';
import { queueColumn } from '../components/queue-column.js';
import { Empty, Loaded } from '../components/states.js';
import { Count, Name } from '../components/text.js';
import { navigate, usePlace } from '../data/location.js';
import { EVERY_MS_LIST } from '../data/poll.js';
import { callFully, type Success } from '../data/request.js';
import { usePages } from '../data/use-pages.js';
import { Behind, GroupState, OldestUnread } from './group-texts.js';

type Row = Success<'GET /api/v1/consumer-groups'>[number];

const PAGE_ROWS = 1000;
/** A page may be empty when the node has passed many other groups: so many in one go. */
const PAGES_MAX = 20;

const nameOf = ({ name }: Row) => name.slice(STREAM_GROUP.length);

const COLUMNS: readonly Column<Row>[] = [
  {
    key: 'stream',
    title: 'Query',
    value: nameOf,
    cell: (row) => (
      <Link to={pathOfGroup(row.name, row.queueName)}>
        <Name text={nameOf(row)} />
      </Link>
    ),
  },
  queueColumn(({ queueName }) => queueName, 'Source'),
  {
    key: 'state',
    title: 'State',
    isText: true,
    isMinor: true,
    value: ({ state }) => state,
    cell: ({ state }) => <GroupState state={state} />,
  },
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
];

export function StreamsPage() {
  const ask = async (after: string | null, signal: AbortSignal) => {
    let nextAfter = after;
    for (let pages = 1; ; pages++) {
      const query = { prefix: STREAM_GROUP, limit: PAGE_ROWS, after: nextAfter };
      const { body, ...page } = await callFully('GET /api/v1/consumer-groups', { query, signal });
      nextAfter = page.nextAfter;
      if (body.length > 0 || nextAfter === null || pages === PAGES_MAX) {
        return { rows: body, nextAfter };
      }
    }
  };
  const { poll, more } = usePages('streams', ask, EVERY_MS_LIST);
  return (
    <Page title="Streams">
      <Loaded poll={poll} what="the streams">
        {({ rows }) => <Filtered rows={rows} more={more} />}
      </Loaded>
    </Page>
  );
}

function Filtered({ rows, more }: { readonly rows: readonly Row[]; readonly more: More | null }) {
  const { query } = usePlace();
  const text = query.get('q') ?? '';
  const shown = useMemo(
    () => rows.filter((row) => holds(text, [nameOf(row), row.queueName])),
    [rows, text],
  );
  if (rows.length === 0 && more === null) {
    return (
      <Empty>
        No stream has read anything yet. A streaming query is there once its worker pops as the
        group {STREAM_GROUP}NAME.
      </Empty>
    );
  }
  return (
    <div>
      <ListFilter
        label="Query or source holds"
        count={counted(shown.length, 'query at a source', 'queries at sources')}
      />
      <DataTable
        caption="Streams"
        columns={COLUMNS}
        rows={shown}
        rowKey={({ name, queueName }) => `${name}\n${queueName}`}
        order={{ column: 'lag', descending: true }}
        more={more}
        onOpen={({ name, queueName }) => navigate(pathOfGroup(name, queueName))}
        empty="No query and no source has this in its name."
      />
    </div>
  );
}
