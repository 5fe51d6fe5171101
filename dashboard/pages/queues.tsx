/** Every queue: what waits in it; creates one, deletes one after its name was typed. */
import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { counted } from '../base/format.js';
import { holds } from '../base/order.js';
import { pathOfQueue } from '../base/routes.js';
import { type Column, DataTable } from '../components/data-table.js';
import { ConfirmByName } from '../components/dialog.js';
import { Suggestions, TextInput } from '../components/form.js';
import { Link } from '../components/link.js';
import { SearchField } from '../components/list-filter.js';
import { Page } from '../components/page.js';
import { tell } from '../components/results.js';
import { Loaded } from '../components/states.js';
import { Bytes, Count, Name } from '../components/text.js';
import { useCapabilities } from '../data/identity.js';
import { navigate, setQuery, usePlace } from '../data/location.js';
import { call, type Success } from '../data/request.js';
import { useAction } from '../data/use-action.js';
import { usePages } from '../data/use-pages.js';
import { CreateQueue } from './create-queue.js';
import { FirstMessage } from './first-message.js';

export type QueueRow = Extract<
  Success<'GET /api/v1/resources/queues'>['queues'][number],
  { messages: object }
>;

const PAGE_ROWS = 1000;

const figure = (key: string, title: string, of: (row: QueueRow) => number, isMinor = false) => ({
  key,
  title,
  isMinor,
  value: of,
  cell: (row: QueueRow) => <Count of={of(row)} isBad={key === 'deadLetter'} />,
});

const COLUMNS: readonly Column<QueueRow>[] = [
  {
    key: 'name',
    title: 'Queue',
    value: ({ name }) => name,
    cell: ({ name }) => (
      <Link to={pathOfQueue(name)}>
        <Name text={name} />
      </Link>
    ),
  },
  figure('pending', 'Pending', ({ messages }) => messages.pending),
  figure('processing', 'Leased', ({ messages }) => messages.processing, true),
  figure('deadLetter', 'Dead letters', ({ messages }) => messages.deadLetter),
  figure('completed', 'Completed', ({ messages }) => messages.completed, true),
  figure('partitions', 'Partitions', ({ partitions }) => partitions, true),
  {
    key: 'retained',
    title: 'Retained',
    isMinor: true,
    value: ({ retainedBytes }) => retainedBytes,
    cell: ({ retainedBytes }) => <Bytes of={retainedBytes} />,
  },
];

export function QueuesPage() {
  const { queueAdmin } = useCapabilities();
  const [isCreating, setCreating] = useState(false);
  const { poll, more } = usePages('queues', async (after, signal) => {
    const found = await call('GET /api/v1/resources/queues', {
      query: { limit: PAGE_ROWS, after },
      signal,
    });
    return { rows: found.queues as QueueRow[], nextAfter: found.nextAfter ?? null };
  });
  const create = queueAdmin && (
    <button type="button" class="primary" onClick={() => setCreating(true)}>
      Create a queue
    </button>
  );
  return (
    <Page title="Queues" actions={create}>
      <Loaded poll={poll} what="the queues">
        {({ rows }) => <Filtered rows={rows} more={more} onChange={poll.refresh} />}
      </Loaded>
      {isCreating && <CreateQueue onClose={() => setCreating(false)} onCreated={poll.refresh} />}
    </Page>
  );
}

interface FilteredProps {
  readonly rows: readonly QueueRow[];
  readonly more: { readonly isLoading: boolean; readonly load: () => void } | null;
  readonly onChange: () => void;
}

function Filtered({ rows, more, onChange }: FilteredProps) {
  const { query } = usePlace();
  const { clusterAdmin } = useCapabilities();
  const [deleting, setDeleting] = useState<string | null>(null);
  const [text, namespace, task] = ['q', 'namespace', 'task'].map((name) => query.get(name) ?? '');
  const shown = useMemo(
    () =>
      rows.filter(
        (row) =>
          holds(text ?? '', [row.name]) &&
          (!namespace || row.namespace === namespace) &&
          (!task || row.task === task),
      ),
    [rows, text, namespace, task],
  );
  const columns = useMemo(
    () => (clusterAdmin ? [...COLUMNS, deleteColumn(setDeleting)] : COLUMNS),
    [clusterAdmin],
  );
  const labels = useMemo(() => labelsOf(rows), [rows]);
  if (rows.length === 0) return <FirstMessage />;
  return (
    <>
      <div class="filters">
        <SearchField label="Name holds" />
        <TextInput
          label="Namespace"
          placeholder="Namespace"
          list="namespaces"
          value={namespace ?? ''}
          onInput={(value) => setQuery({ namespace: value })}
        />
        <TextInput
          label="Task"
          placeholder="Task"
          list="tasks"
          value={task ?? ''}
          onInput={(value) => setQuery({ task: value })}
        />
        <span class="quiet" role="status">
          {counted(shown.length, 'queue', 'queues')}
        </span>
        <Suggestions id="namespaces" values={labels.namespaces} />
        <Suggestions id="tasks" values={labels.tasks} />
      </div>
      <DataTable
        caption="Queues"
        columns={columns}
        rows={shown}
        rowKey={({ name }) => name}
        order={{ column: 'pending', descending: true }}
        more={more}
        onOpen={({ name }) => navigate(pathOfQueue(name))}
        empty="No queue has this in its name."
      />
      {deleting !== null && (
        <DeleteQueue queue={deleting} onClose={() => setDeleting(null)} onDeleted={onChange} />
      )}
    </>
  );
}

function deleteColumn(onDelete: (queue: string) => void): Column<QueueRow> {
  return {
    key: 'delete',
    title: 'Actions',
    isMinor: true,
    cell: ({ name }) => (
      <button
        type="button"
        class="plain"
        aria-label={`Delete ${name}`}
        onClick={() => onDelete(name)}
      >
        Delete
      </button>
    ),
  };
}

function labelsOf(rows: readonly QueueRow[]) {
  const distinct = (names: readonly string[]) => [...new Set(names)].sort();
  return {
    namespaces: distinct(rows.map(({ namespace }) => namespace ?? '').filter(Boolean)),
    tasks: distinct(rows.map(({ task }) => task ?? '').filter(Boolean)),
  };
}

interface DeleteQueueProps {
  readonly queue: string;
  readonly onClose: () => void;
  readonly onDeleted: () => void;
  /** Said besides, where the numbers are known. */
  readonly children?: ComponentChildren;
}

/** Used by the page of one queue too. */
export function DeleteQueue({ queue, onClose, onDeleted, children }: DeleteQueueProps) {
  const deletion = useAction(async () => {
    await call('DELETE /api/v1/resources/queues/{queue}', { params: { queue } });
    tell(
      <>
        Deleted <Name text={queue} />
      </>,
    );
    onDeleted();
    onClose();
  });
  return (
    <ConfirmByName
      title="Delete a queue"
      name={queue}
      action="Delete the queue"
      onConfirm={() => void deletion.run()}
      onClose={onClose}
      isBusy={deletion.isBusy}
      error={deletion.error}
    >
      {children}
      <p>
        Its messages go with it, consumed or not, and so do its dead letters, its timers and the
        positions of every consumer group. Nothing of it comes back.
      </p>
    </ConfirmByName>
  );
}
