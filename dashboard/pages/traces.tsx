/** Traces: the names that they have, the events of a name, the events of a message. */
import { useState } from 'preact/hooks';
import { distinct, holds } from '../base/order.js';
import { withQuery } from '../base/routes.js';
import { Crumb } from '../components/crumb.js';
import { type Column, DataTable } from '../components/data-table.js';
import { Dialog } from '../components/dialog.js';
import { StoredText } from '../components/json-tree.js';
import { Link } from '../components/link.js';
import { SearchField } from '../components/list-filter.js';
import { Page } from '../components/page.js';
import { Empty, Loaded } from '../components/states.js';
import { Ago, Count, Name, Time } from '../components/text.js';
import { navigate, setQuery, usePlace } from '../data/location.js';
import { EVERY_MS_SLOW } from '../data/poll.js';
import { call, type Success } from '../data/request.js';
import { usePages } from '../data/use-pages.js';
import { MessageTraces, type Trace, TraceTimeline } from './message-traces.js';

type NameRow = Success<'GET /api/v1/traces/names'>['trace_names'][number];

const PAGE_ROWS = 500;
/** Events carry data of their own. */
const PAGE_EVENTS = 100;

const pathOfName = (name: string) => withQuery('/traces', { name });

const nameOf = (row: NameRow) => row.trace_name;
const eventKey = ({ traceId, createdAt, eventType, transactionId }: Trace) =>
  [traceId, createdAt, eventType, transactionId].join('\n');

const NAME_COLUMNS: readonly Column<NameRow>[] = [
  {
    key: 'name',
    title: 'Name',
    value: (row) => row.trace_name,
    cell: (row) => (
      <Link to={pathOfName(row.trace_name)}>
        <Name text={row.trace_name} />
      </Link>
    ),
  },
  {
    key: 'events',
    title: 'Events',
    value: (row) => row.trace_count,
    cell: (row) => <Count of={row.trace_count} />,
  },
  {
    key: 'messages',
    title: 'Messages',
    isMinor: true,
    value: (row) => row.message_count,
    cell: (row) => <Count of={row.message_count} />,
  },
  {
    key: 'seen',
    title: 'Last seen',
    value: (row) => row.last_seen,
    cell: (row) => <Ago at={row.last_seen} />,
  },
];

const EVENT_COLUMNS: readonly Column<Trace>[] = [
  {
    key: 'at',
    title: 'At',
    value: ({ createdAt }) => createdAt,
    cell: ({ createdAt }) => <Time at={createdAt} />,
  },
  {
    key: 'event',
    title: 'Event',
    isText: true,
    value: ({ eventType }) => eventType,
    cell: ({ eventType }) => <Name text={eventType} />,
  },
  {
    key: 'message',
    title: 'Message',
    isText: true,
    isMinor: true,
    value: ({ transactionId }) => transactionId,
    cell: ({ partitionId, transactionId }) =>
      partitionId === null ? (
        <Name text={transactionId} />
      ) : (
        <Link to={withQuery('/messages', { pid: partitionId, txn: transactionId })}>
          <Name text={transactionId} />
        </Link>
      ),
  },
  {
    key: 'queue',
    title: 'Queue',
    isText: true,
    isMinor: true,
    value: (row) => row.queue_name,
    cell: (row) => <Name text={row.queue_name ?? '–'} />,
  },
  {
    key: 'group',
    title: 'Group',
    isText: true,
    isMinor: true,
    value: ({ consumerGroup }) => consumerGroup,
    cell: ({ consumerGroup }) => <Name text={consumerGroup ?? '–'} />,
  },
  {
    key: 'data',
    title: 'Data',
    isText: true,
    isLong: true,
    cell: ({ data, dataAvailable }) =>
      dataAvailable === false ? <span class="quiet">no room</span> : <StoredText value={data} />,
  },
];

export function TracesPage() {
  const { query } = usePlace();
  const name = query.get('name') ?? '';
  const [pid, txn] = [query.get('pid'), query.get('txn')];
  const heading = name === '' ? undefined : <Crumb to="/traces" title="Traces" name={name} />;
  return (
    <Page title="Traces" heading={heading}>
      {name === '' ? <Names /> : <Events key={name} name={name} />}
      {pid !== null && txn !== null && (
        <Dialog
          title="Traces of a message"
          onClose={() => setQuery({ pid: null, txn: null })}
          isWide
        >
          <div class="stack">
            <p>
              <Name text={txn} />{' '}
              <Link to={withQuery('/messages', { pid, txn })}>Open the message</Link>
            </p>
            <MessageTraces partitionId={pid} transactionId={txn} />
          </div>
        </Dialog>
      )}
    </Page>
  );
}

/** Pages by offset, as `usePages` goes through them. */
function nextOffset(offset: number, rows: number, total: number): string | null {
  return rows > 0 && offset + rows < total ? String(offset + rows) : null;
}

function Names() {
  const { query } = usePlace();
  const text = query.get('q') ?? '';
  const ask = async (after: string | null, signal: AbortSignal) => {
    const offset = Number(after ?? 0);
    const asked = { limit: PAGE_ROWS, offset };
    const found = await call('GET /api/v1/traces/names', { query: asked, signal });
    const rows = found.trace_names;
    return { rows, nextAfter: nextOffset(offset, rows.length, found.total) };
  };
  const { poll, more } = usePages('trace names', ask, EVERY_MS_SLOW);
  const openTyped = (event: Event) => {
    event.preventDefault();
    if (text !== '') navigate(pathOfName(text));
  };
  return (
    <Loaded poll={poll} what="the names">
      {({ rows }) =>
        rows.length === 0 ? (
          <Empty>
            No trace has a name yet. A worker notes one by POST /api/v1/traces with traceNames.
          </Empty>
        ) : (
          <div class="tight">
            <form class="filters" onSubmit={openTyped}>
              <SearchField label="Name holds" />
              {more !== null && (
                <button type="submit" disabled={text === ''}>
                  Open this name
                </button>
              )}
            </form>
            <DataTable
              caption="Names of traces"
              columns={NAME_COLUMNS}
              rows={distinct(rows, nameOf).filter((row) => holds(text, [nameOf(row)]))}
              rowKey={nameOf}
              order={{ column: 'seen', descending: true }}
              onOpen={(row) => navigate(pathOfName(row.trace_name))}
              more={more}
              empty="No name that was loaded has this in it."
            />
          </div>
        )
      }
    </Loaded>
  );
}

function Events({ name }: { readonly name: string }) {
  const ask = async (after: string | null, signal: AbortSignal) => {
    const offset = Number(after ?? 0);
    const { traces, total } = await call('GET /api/v1/traces/by-name/{traceName}', {
      params: { traceName: name },
      query: { limit: PAGE_EVENTS, offset },
      signal,
      keepStored: true,
    });
    return { rows: traces, nextAfter: nextOffset(offset, traces.length, total) };
  };
  const { poll, more } = usePages(`traces ${name}`, ask, EVERY_MS_SLOW);
  // A trace that names no partition belongs to no message that could be asked for.
  const [alone, setAlone] = useState<Trace | null>(null);
  return (
    <>
      <Loaded poll={poll} what="the events">
        {({ rows }) => (
          <DataTable
            caption="Events"
            isDense
            columns={EVENT_COLUMNS}
            rows={distinct(rows, eventKey)}
            rowKey={eventKey}
            onOpen={(trace) => {
              const { partitionId, transactionId } = trace;
              if (partitionId === null) setAlone(trace);
              else setQuery({ pid: partitionId, txn: transactionId });
            }}
            more={more}
            empty="No event has this name, or its events have expired."
          />
        )}
      </Loaded>
      {alone !== null && (
        <Dialog title="One event" onClose={() => setAlone(null)} isWide>
          <div class="stack">
            <p>
              <Name text={alone.transactionId} /> <span class="quiet">of no partition</span>
            </p>
            <TraceTimeline traces={[alone]} />
          </div>
        </Dialog>
      )}
    </>
  );
}
