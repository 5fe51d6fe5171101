/** Queues in memory, as the node that answers holds them. */
import { type Column, DataTable } from '../components/data-table.js';
import { Page } from '../components/page.js';
import { Loaded } from '../components/states.js';
import { Bytes, Count, Name } from '../components/text.js';
import { call, type Success } from '../data/request.js';
import { usePages } from '../data/use-pages.js';

type Row = Success<'GET /api/v1/ephemeral/queues'>['queues'][number];

const PAGE_ROWS = 500;
const dropped = ({ drops }: Row) => drops.bounds + drops.ttl + drops.retry;

const COLUMNS: readonly Column<Row>[] = [
  {
    key: 'queue',
    title: 'Queue',
    value: ({ queue }) => queue,
    cell: ({ queue }) => <Name text={queue} />,
  },
  { key: 'tier', title: 'Tier', isText: true, isMinor: true, cell: ({ tier }) => tier },
  {
    key: 'depth',
    title: 'Depth',
    value: ({ depth }) => depth,
    cell: ({ depth }) => <Count of={depth} />,
  },
  {
    key: 'bytes',
    title: 'Bytes',
    value: ({ bytes }) => bytes,
    cell: ({ bytes }) => <Bytes of={bytes} />,
  },
  {
    key: 'partitions',
    title: 'Partitions',
    isMinor: true,
    value: ({ partitions }) => partitions,
    cell: ({ partitions }) => <Count of={partitions} />,
  },
  {
    key: 'groups',
    title: 'Groups',
    isMinor: true,
    value: ({ groups }) => groups,
    cell: ({ groups }) => <Count of={groups} />,
  },
  {
    key: 'dropped',
    title: 'Dropped',
    value: dropped,
    cell: (row) => <Count of={dropped(row)} isBad />,
  },
  {
    key: 'policy',
    title: 'When full',
    isText: true,
    isMinor: true,
    cell: ({ options }) => options.policy,
  },
];

export function EphemeralPage() {
  const { poll, more } = usePages('ephemeral', async (after, signal) => {
    const query = { limit: PAGE_ROWS, after };
    const { queues, nextAfter } = await call('GET /api/v1/ephemeral/queues', { query, signal });
    return { rows: queues, nextAfter };
  });
  return (
    <Page title="Ephemeral queues">
      <Loaded poll={poll} what="the queues">
        {({ rows }) => (
          <DataTable
            caption="Ephemeral queues"
            columns={COLUMNS}
            rows={rows}
            rowKey={({ queue }) => queue}
            more={more}
            empty="This node holds no ephemeral queue."
          />
        )}
      </Loaded>
    </Page>
  );
}
