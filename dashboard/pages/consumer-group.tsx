/** One consumer group: its queues, the partitions of one of them, seeks and its deletion. */
import { useMemo, useState } from 'preact/hooks';
import { type Cursor, QUEUE_MODE, type QueueSums, queueSums } from '../base/consumer-groups.js';
import { counted, formatDuration, formatInteger } from '../base/format.js';
import { holds } from '../base/order.js';
import { pathOfQueue } from '../base/routes.js';
import { Crumb } from '../components/crumb.js';
import { type Column, DataTable, type More } from '../components/data-table.js';
import { TextInput } from '../components/form.js';
import { Link } from '../components/link.js';
import { Facts, Page, Section } from '../components/page.js';
import { Loaded } from '../components/states.js';
import { Badge, Count, Name } from '../components/text.js';
import { useCapabilities } from '../data/identity.js';
import { setQuery, usePlace } from '../data/location.js';
import { EVERY_MS_LIST } from '../data/poll.js';
import { callFully, type Success } from '../data/request.js';
import { usePages } from '../data/use-pages.js';
import { DeleteGroup } from './delete-group.js';
import { OldestUnread, WITHOUT_A_GROUP } from './group-texts.js';
import { SeekPartition, SeekQueue } from './seek-group.js';

type Answer = Success<'GET /api/v1/consumer-groups/{group}'>;
type CursorRow = Cursor & Answer[string]['partitions'][number];

const PAGE_ROWS = 1000;

interface GroupProps {
  readonly group: string;
}

export function ConsumerGroupPage({ group }: GroupProps) {
  const { clusterAdmin } = useCapabilities();
  const [isDeleting, setDeleting] = useState(false);
  const ask = async (after: string | null, signal: AbortSignal) => {
    const { body, nextAfter } = await callFully('GET /api/v1/consumer-groups/{group}', {
      params: { group },
      query: { limit: PAGE_ROWS, after },
      signal,
    });
    return { rows: cursorsOf(body), nextAfter };
  };
  const { poll, more } = usePages(`group ${group}`, ask, EVERY_MS_LIST);
  const name = group === QUEUE_MODE ? WITHOUT_A_GROUP : group;
  const heading = <Crumb to="/consumers" title="Consumer groups" name={name} />;
  const deletion = clusterAdmin && poll.data !== null && (
    <button type="button" onClick={() => setDeleting(true)}>
      Delete the group
    </button>
  );
  return (
    <Page title={name} heading={heading} actions={deletion}>
      <Loaded poll={poll} what="the group">
        {({ rows }) => (
          <>
            <Group group={group} rows={rows} more={more} onChange={poll.refresh} />
            {isDeleting && (
              <DeleteGroup
                group={group}
                sums={queueSums(rows)}
                isWhole={more === null}
                onClose={() => setDeleting(false)}
                onDeleted={poll.refresh}
              />
            )}
          </>
        )}
      </Loaded>
    </Page>
  );
}

function cursorsOf(answer: Answer): CursorRow[] {
  return Object.entries(answer).flatMap(([queue, { conflation, partitions }]) =>
    partitions.map((partition) => ({ ...partition, queue, conflation })),
  );
}

interface RowsProps extends GroupProps {
  readonly rows: readonly CursorRow[];
  readonly more: More | null;
  readonly onChange: () => void;
}

function Group({ group, rows, more, onChange }: RowsProps) {
  const { query } = usePlace();
  const sums = useMemo(() => queueSums(rows), [rows]);
  // A queue of the address that is gone gives way to the worst.
  const asked = query.get('queue');
  const isThere = more !== null || sums.some((one) => one.queue === asked);
  const queue = (isThere ? asked : null) ?? sums[0]?.queue ?? '';
  const cursors = useMemo(() => rows.filter((row) => row.queue === queue), [rows, queue]);
  return (
    <div class="page">
      <Totals sums={sums} isWhole={more === null} />
      <Section title="Queues">
        <Queues group={group} sums={sums} onChange={onChange} />
      </Section>
      <Partitions group={group} queue={queue} rows={cursors} more={more} onChange={onChange} />
    </div>
  );
}

function Totals({ sums, isWhole }: { readonly sums: readonly QueueSums[]; isWhole: boolean }) {
  const total = (of: (sums: QueueSums) => number) => sums.reduce((sum, one) => sum + of(one), 0);
  const oldest = sums.reduce((longest, one) => Math.max(longest, one.oldestSeconds), 0);
  const partitions = total((one) => one.partitions);
  const note = isWhole ? undefined : `in the first ${formatInteger(partitions)} partitions`;
  return (
    <Facts
      facts={[
        { label: 'Lag', value: formatInteger(total(({ lag }) => lag)), note },
        {
          label: 'Oldest unread',
          value: oldest === 0 ? '–' : formatDuration(oldest),
          tone: oldest > OLD_SECONDS ? 'wait' : undefined,
        },
        {
          label: 'Partitions behind',
          value: formatInteger(total(({ behind }) => behind)),
          note: `of ${formatInteger(partitions)}`,
        },
        { label: 'Leased now', value: formatInteger(total(({ leased }) => leased)), note },
        { label: 'Consumed', value: formatInteger(total(({ consumed }) => consumed)), note },
      ]}
    />
  );
}

/** A group whose oldest unread message is older is called lagging. */
const OLD_SECONDS = 300;

const QUEUE_COLUMNS: readonly Column<QueueSums>[] = [
  {
    key: 'queue',
    title: 'Queue',
    value: ({ queue }) => queue,
    cell: ({ queue, conflation }) => (
      <>
        <Link to={pathOfQueue(queue)}>
          <Name text={queue} />
        </Link>
        {conflation && <span class="quiet"> newest only</span>}
      </>
    ),
  },
  {
    key: 'lag',
    title: 'Lag',
    value: ({ lag }) => lag,
    cell: ({ lag }) => <Count of={lag} />,
  },
  {
    key: 'oldest',
    title: 'Oldest unread',
    isMinor: true,
    value: ({ oldestSeconds }) => oldestSeconds,
    cell: ({ oldestSeconds }) => <OldestUnread seconds={oldestSeconds} />,
  },
  {
    key: 'behind',
    title: 'Partitions behind',
    isMinor: true,
    value: ({ behind }) => behind,
    cell: ({ behind, partitions }) => (
      <>
        <Count of={behind} />
        <span class="quiet"> of {formatInteger(partitions)}</span>
      </>
    ),
  },
  {
    key: 'leased',
    title: 'Leased now',
    isMinor: true,
    value: ({ leased }) => leased,
    cell: ({ leased }) => <Count of={leased} />,
  },
];

interface QueuesProps extends GroupProps {
  readonly sums: readonly QueueSums[];
  readonly onChange: () => void;
}

function Queues({ group, sums, onChange }: QueuesProps) {
  const { queueAdmin } = useCapabilities();
  const [seeking, setSeeking] = useState<string | null>(null);
  const columns = useMemo(() => {
    const seek: Column<QueueSums> = {
      key: 'seek',
      title: 'Actions',
      cell: ({ queue }) => (
        <button
          type="button"
          class="plain"
          aria-label={`Seek at ${queue}`}
          onClick={() => setSeeking(queue)}
        >
          Seek…
        </button>
      ),
    };
    return queueAdmin ? [...QUEUE_COLUMNS, seek] : QUEUE_COLUMNS;
  }, [queueAdmin]);
  return (
    <>
      <DataTable
        caption="Queues of the group"
        columns={columns}
        rows={sums}
        rowKey={({ queue }) => queue}
        order={{ column: 'lag', descending: true }}
        onOpen={({ queue }) => setQuery({ queue })}
        empty="The group reads no queue any more."
      />
      {seeking !== null && (
        <SeekQueue
          group={group}
          queue={seeking}
          leased={sums.find(({ queue }) => queue === seeking)?.leased ?? 0}
          onClose={() => setSeeking(null)}
          onMoved={onChange}
        />
      )}
    </>
  );
}

const PARTITION_COLUMNS: readonly Column<CursorRow>[] = [
  {
    key: 'partition',
    title: 'Partition',
    value: ({ partition }) => partition,
    cell: ({ partition }) => <Name text={partition} />,
  },
  {
    key: 'lag',
    title: 'Lag',
    value: ({ offsetLag }) => offsetLag,
    cell: ({ offsetLag }) => <Count of={offsetLag} />,
  },
  {
    key: 'oldest',
    title: 'Oldest unread',
    isMinor: true,
    value: ({ timeLagSeconds }) => timeLagSeconds,
    cell: ({ timeLagSeconds }) => <OldestUnread seconds={timeLagSeconds} />,
  },
  {
    key: 'consumed',
    title: 'Consumed',
    isMinor: true,
    value: ({ totalConsumed }) => totalConsumed,
    cell: ({ totalConsumed }) => <Count of={totalConsumed} />,
  },
  {
    key: 'lease',
    title: 'Lease',
    isText: true,
    isMinor: true,
    value: ({ leaseActive }) => leaseActive,
    cell: ({ leaseActive, workerId }) =>
      leaseActive ? (
        <span title={workerId === null ? undefined : `Lease ${workerId}`}>
          <Badge tone="good">leased</Badge>
        </span>
      ) : (
        <span class="quiet">free</span>
      ),
  },
];

interface PartitionsProps extends RowsProps {
  readonly queue: string;
}

function Partitions({ group, queue, rows, more, onChange }: PartitionsProps) {
  const { query } = usePlace();
  const { queueAdmin } = useCapabilities();
  const [seeking, setSeeking] = useState<CursorRow | null>(null);
  const text = query.get('partition') ?? '';
  const columns = useMemo(() => {
    const skip: Column<CursorRow> = {
      key: 'skip',
      title: 'Actions',
      cell: (row) =>
        row.offsetLag > 0 && (
          <button
            type="button"
            class="plain"
            aria-label={`Skip to end: ${row.partition}`}
            onClick={() => setSeeking(row)}
          >
            Skip to end
          </button>
        ),
    };
    return queueAdmin ? [...PARTITION_COLUMNS, skip] : PARTITION_COLUMNS;
  }, [queueAdmin]);
  const note = counted(rows.length, 'partition', 'partitions');
  if (queue === '') return null;
  return (
    <section class="section" aria-label="Partitions">
      <div class="section-head">
        <h2>
          Partitions of <Name text={queue} />
        </h2>
        <span class="quiet">{more === null ? note : `${note} loaded`}</span>
      </div>
      {(rows.length > FEW || text !== '') && (
        <div class="filters">
          <TextInput
            label="Partition holds"
            placeholder="Partition holds"
            type="search"
            value={text}
            onInput={(partition) => setQuery({ partition })}
            isSearch
          />
        </div>
      )}
      <DataTable
        key={queue}
        caption="Partitions"
        columns={columns}
        rows={rows.filter(({ partition }) => holds(text, [partition]))}
        rowKey={({ partition }) => partition}
        order={{ column: 'lag', descending: true }}
        more={more}
        empty="The group has no cursor in such a partition."
      />
      {seeking !== null && (
        <SeekPartition
          group={group}
          queue={queue}
          partition={seeking.partition}
          lag={seeking.offsetLag}
          isLeased={seeking.leaseActive}
          onClose={() => setSeeking(null)}
          onMoved={onChange}
        />
      )}
    </section>
  );
}

/** So many are found without a search. */
const FEW = 10;
