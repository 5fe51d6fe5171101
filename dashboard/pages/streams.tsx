/** Streaming queries: each reads its source as a consumer group. */

import { formatDuration } from '../base/format.js';
import { type Column, DataTable } from '../components/data-table.js';
import { Page } from '../components/page.js';
import { Loaded } from '../components/states.js';
import { Badge, Count, Name } from '../components/text.js';
import { callFully, type Success } from '../data/request.js';
import { usePages } from '../data/use-pages.js';

type Row = Success<'GET /api/v1/consumer-groups'>[number];

/** Groups of streaming queries are called so. */
const STREAM_GROUP = 'streams.';
const PAGE_ROWS = 1000;

const COLUMNS: readonly Column<Row>[] = [
  {
    key: 'stream',
    title: 'Stream',
    value: ({ name }) => name,
    cell: ({ name }) => <Name text={name.slice(STREAM_GROUP.length)} />,
  },
  {
    key: 'source',
    title: 'Source',
    isText: true,
    value: ({ queueName }) => queueName,
    cell: ({ queueName }) => <Name text={queueName} />,
  },
  {
    key: 'state',
    title: 'State',
    isText: true,
    value: ({ state }) => state,
    cell: ({ state }) => <Badge tone={state === 'Stable' ? 'good' : 'wait'}>{state}</Badge>,
  },
  {
    key: 'lag',
    title: 'Lag',
    value: ({ totalLag }) => totalLag,
    cell: ({ totalLag }) => <Count of={totalLag} />,
  },
  {
    key: 'oldest',
    title: 'Oldest',
    value: ({ maxTimeLag }) => maxTimeLag,
    cell: ({ maxTimeLag }) => formatDuration(maxTimeLag),
  },
  {
    key: 'behind',
    title: 'Partitions behind',
    isMinor: true,
    value: ({ partitionsWithLag }) => partitionsWithLag,
    cell: ({ partitionsWithLag }) => <Count of={partitionsWithLag} />,
  },
  {
    key: 'partitions',
    title: 'Partitions',
    isMinor: true,
    value: ({ partitionCursors }) => partitionCursors,
    cell: ({ partitionCursors }) => <Count of={partitionCursors} />,
  },
];

export function StreamsPage() {
  const { poll, more } = usePages('streams', async (after, signal) => {
    const query = { limit: PAGE_ROWS, after };
    const { body, nextAfter } = await callFully('GET /api/v1/consumer-groups', { query, signal });
    return { rows: body.filter(({ name }) => name.startsWith(STREAM_GROUP)), nextAfter };
  });
  return (
    <Page title="Streams">
      <Loaded poll={poll} what="the streams">
        {({ rows }) => (
          <DataTable
            caption="Streams"
            columns={COLUMNS}
            rows={rows}
            rowKey={({ name, queueName }) => `${name}\n${queueName}`}
            more={more}
            empty="No stream has read anything yet."
          />
        )}
      </Loaded>
    </Page>
  );
}
