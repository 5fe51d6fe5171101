/** Queues in memory: sums over the nodes that have answered this page, one at a time. */
import { useMemo, useRef } from 'preact/hooks';
import { heardPage, sumsOf, whose } from '../base/ephemeral-sums.js';
import { counted, formatBytes } from '../base/format.js';
import { holds } from '../base/order.js';
import { type Column, DataTable, type More } from '../components/data-table.js';
import { ListFilter } from '../components/list-filter.js';
import { Page } from '../components/page.js';
import { Empty, Loaded } from '../components/states.js';
import { Badge, Bytes, Count, Name } from '../components/text.js';
import { isReachable, useCluster } from '../data/cluster.js';
import { setQuery, usePlace } from '../data/location.js';
import { call } from '../data/request.js';
import { usePages } from '../data/use-pages.js';
import { type EphemeralRow, OneEphemeralQueue } from './ephemeral-queue.js';

const PAGE_ROWS = 500;
const droppedOf = ({ drops }: EphemeralRow) => drops.bounds + drops.ttl + drops.retry;

const COLUMNS: readonly Column<EphemeralRow>[] = [
  {
    key: 'queue',
    title: 'Queue',
    value: ({ queue }) => queue,
    cell: ({ queue }) => <Name text={queue} />,
  },
  {
    key: 'tier',
    title: 'Tier',
    isText: true,
    isMinor: true,
    value: ({ tier }) => tier,
    cell: ({ tier }) => <Badge tone={tier === 'declared' ? 'good' : 'plain'}>{tier}</Badge>,
  },
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
    cell: ({ bytes, options }) => (
      <span title={`${formatBytes(options.maxBytes)} at most in a partition`}>
        <Bytes of={bytes} />
      </span>
    ),
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
    value: droppedOf,
    cell: (row) => <Count of={droppedOf(row)} isBad />,
  },
  {
    key: 'policy',
    title: 'When full',
    isText: true,
    isMinor: true,
    cell: ({ options }) => (options.policy === 'reject' ? 'refuses' : 'drops its oldest'),
  },
];

export function EphemeralPage() {
  const { query } = usePlace();
  const chosen = query.get('queue');
  const heard = useRef(new Map<number, readonly EphemeralRow[]>());
  const { members } = useCluster();
  // A node that is gone took its queues along.
  const there = members.data?.members.filter(isReachable).map(({ nodeId }) => nodeId);
  const { poll, more } = usePages('ephemeral', async (after, signal) => {
    const asked = { limit: PAGE_ROWS, after };
    for (;;) {
      const at = 'GET /api/v1/ephemeral/queues';
      const { queues, nodeId, nextAfter } = await call(at, { query: asked, signal });
      const isNew = !heard.current.has(nodeId);
      heard.current.set(nodeId, heardPage(heard.current.get(nodeId), queues, after === null));
      // Another node than before has answered, so the next one may be one that has not yet.
      const isMissing = there?.some((node) => !heard.current.has(node)) !== false;
      if (!isNew || !isMissing) return { rows: queues, nextAfter };
    }
  });
  const nodes = there ?? [...heard.current.keys()];
  // Anew with each answer.
  const rows = useMemo(
    () => sumsOf(nodes.map((node) => heard.current.get(node) ?? [])),
    [poll.data, nodes.join()],
  );
  return (
    <Page title="Ephemeral queues">
      <Loaded poll={poll} what="the queues">
        {() => (
          <>
            <Filtered rows={rows} more={more} told={whose([...heard.current.keys()], nodes)} />
            {chosen !== null && (
              <OneEphemeralQueue
                key={chosen}
                queue={chosen}
                row={rows.find(({ queue }) => queue === chosen) ?? null}
                onClose={() => setQuery({ queue: null })}
                onChange={poll.refresh}
              />
            )}
          </>
        )}
      </Loaded>
    </Page>
  );
}

interface FilteredProps {
  readonly rows: readonly EphemeralRow[];
  readonly more: More | null;
  /** The nodes whose figures these are. */
  readonly told: string;
}

function Filtered({ rows, more, told }: FilteredProps) {
  const { query } = usePlace();
  const text = query.get('q') ?? '';
  const shown = useMemo(() => rows.filter(({ queue }) => holds(text, [queue])), [rows, text]);
  if (rows.length === 0) {
    return (
      <Empty>
        No ephemeral queue. One is there once it is named by POST /api/v1/ephemeral/push. {told}
      </Empty>
    );
  }
  return (
    <div>
      <ListFilter label="Name holds" count={counted(shown.length, 'queue', 'queues')}>
        {told !== '' && <span class="quiet">{told}</span>}
      </ListFilter>
      <DataTable
        caption="Ephemeral queues"
        columns={COLUMNS}
        rows={shown}
        rowKey={({ queue }) => queue}
        order={{ column: 'depth', descending: true }}
        onOpen={({ queue }) => setQuery({ queue })}
        more={more}
        empty="No queue has this in its name."
      />
    </div>
  );
}
