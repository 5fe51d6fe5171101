/**
 * Messages: the newest of a span of time, by queue, partition and status; one of them with all that
 * is known of it. What is chosen stands in the address, the message that is open among it.
 */
import { useMemo, useState } from 'preact/hooks';
import { withQuery } from '../base/routes.js';
import { rangeQuery } from '../base/time-range.js';
import { STATUS_WORDS } from '../base/words.js';
import { type Column, DataTable } from '../components/data-table.js';
import { Select, TextInput } from '../components/form.js';
import { Link } from '../components/link.js';
import { Page } from '../components/page.js';
import { PayloadText } from '../components/payload.js';
import { partitionColumn, queueColumn } from '../components/queue-column.js';
import { RangePicker, useTimeRange } from '../components/range-picker.js';
import { Loaded, Notice } from '../components/states.js';
import { Badge, Count, Name, Time } from '../components/text.js';
import { useCapabilities } from '../data/identity.js';
import { setQuery, usePlace } from '../data/location.js';
import { EVERY_MS_SLOW, usePoll } from '../data/poll.js';
import { call, type Success } from '../data/request.js';
import { FindMessage } from './find-message.js';
import { MessageDetail, StatusBadge } from './message-detail.js';
import { Pager, useOffset } from './pager.js';
import { PushMessage } from './push-message.js';

type Listed = Success<'GET /api/v1/messages'>;
type Row = Listed['messages'][number];

const PAGE_ROWS = 100;

const STATUS_CHOICES = [
  { value: '', label: 'Any status' },
  ...Object.entries(STATUS_WORDS).map(([value, label]) => ({ value, label })),
];

const COLUMNS: readonly Column<Row>[] = [
  {
    key: 'created',
    title: 'Pushed',
    value: ({ createdAt }) => createdAt,
    cell: ({ createdAt }) => <Time at={createdAt} />,
  },
  queueColumn(({ queue }) => queue),
  partitionColumn(({ partition }) => partition),
  {
    key: 'offset',
    title: 'Offset',
    isMinor: true,
    value: ({ offset }) => offset,
    cell: ({ offset }) => <Count of={offset} />,
  },
  {
    key: 'status',
    title: 'Status',
    isText: true,
    value: ({ status }) => status,
    cell: ({ status }) => <StatusBadge status={status} />,
  },
  {
    key: 'transaction',
    title: 'Transaction id',
    isText: true,
    isMinor: true,
    value: ({ transactionId }) => transactionId,
    cell: ({ transactionId }) => <Name text={transactionId} />,
  },
  {
    key: 'payload',
    title: 'Payload',
    isText: true,
    isLong: true,
    cell: ({ payload, payloadAvailable }) =>
      payloadAvailable ? (
        <PayloadText value={payload} />
      ) : (
        <span class="quiet">too large for the list</span>
      ),
  },
];

export function MessagesPage() {
  const { query } = usePlace();
  const { produce } = useCapabilities();
  const [isPushing, setPushing] = useState(false);
  const list = useMessages();
  const [pid, txn] = [query.get('pid'), query.get('txn')];
  const actions = (
    <>
      <RangePicker />
      {produce && (
        <button type="button" class="primary" onClick={() => setPushing(true)}>
          Push a message
        </button>
      )}
    </>
  );
  return (
    <Page title="Messages" actions={actions}>
      <div>
        <Filters />
        <FindMessage />
        <Loaded poll={list} what="the messages">
          {(listed) => <Listing listed={listed} />}
        </Loaded>
      </div>
      {isPushing && (
        <PushMessage
          queue={query.get('queue') ?? ''}
          partition={query.get('partition') ?? ''}
          onClose={() => setPushing(false)}
          onPushed={list.refresh}
        />
      )}
      {pid !== null && txn !== null && (
        <MessageDetail
          key={`${pid}\n${txn}`}
          partitionId={pid}
          transactionId={txn}
          onClose={() => setQuery({ pid: null, txn: null })}
          onChange={list.refresh}
        />
      )}
    </Page>
  );
}

interface WithPositions {
  readonly listed: Listed;
  /** By queue and partition; null: no group is chosen. */
  readonly positions: ReadonlyMap<string, number | null> | null;
}

function useMessages() {
  const { query } = usePlace();
  const offset = useOffset();
  const { key, now } = useTimeRange();
  const [queue, partition, status, group] = ['queue', 'partition', 'status', 'group'].map(
    (name) => query.get(name) ?? '',
  );
  return usePoll(
    ['messages', key, queue, partition, status, group, offset].join('\n'),
    async (signal): Promise<WithPositions> => {
      const asked = { queue, partition, ...rangeQuery(now()), limit: PAGE_ROWS, offset };
      // The type knows the words of a status; what else stands in an address is refused in words.
      const chosen = { ...asked, status: status as keyof typeof STATUS_WORDS };
      const listed = await call('GET /api/v1/messages', {
        query: chosen,
        signal,
        keepStored: true,
      });
      if (!group) return { listed, positions: null };
      return { listed, positions: await positionsOf(group, listed.messages, signal) };
    },
    EVERY_MS_SLOW,
    { isTyped: true },
  );
}

const placeOf = (row: { readonly queue: string; readonly partition: string }) =>
  JSON.stringify([row.queue, row.partition]);

/** Where the group is in each partition of these rows. */
async function positionsOf(consumerGroup: string, rows: readonly Row[], signal: AbortSignal) {
  const places = new Map(rows.map((row) => [placeOf(row), row]));
  const positions = [...places.values()].map(({ queue, partition }) => ({
    queue,
    partition,
    consumerGroup,
  }));
  const found = await call('POST /api/v1/consumer-groups/positions', {
    body: { positions },
    signal,
  });
  return new Map(found.positions.map((position) => [placeOf(position), position.offset]));
}

function Filters() {
  const { query } = usePlace();
  const { positions } = useCapabilities();
  const field = (name: string, label: string, isSearch = false) => (
    <TextInput
      label={label}
      placeholder={label}
      value={query.get(name) ?? ''}
      onInput={(text) => setQuery({ [name]: text, offset: null })}
      isSearch={isSearch}
    />
  );
  return (
    <div class="filters">
      {field('queue', 'Queue', true)}
      {field('partition', 'Partition')}
      <Select
        label="Status"
        value={query.get('status') ?? ''}
        onInput={(status) => setQuery({ status, offset: null })}
        choices={STATUS_CHOICES}
      />
      {positions && field('group', 'As read by the group')}
    </div>
  );
}

function Listing({ listed: { listed, positions } }: { readonly listed: WithPositions }) {
  const { query } = usePlace();
  const { now } = useTimeRange();
  const offset = useOffset();
  const group = query.get('group') ?? '';
  const queue = query.get('queue');
  const columns = useMemo(() => {
    const all = positions === null ? COLUMNS : withGroup(group, positions);
    // Where they are of one queue, its column says nothing.
    return queue ? all.filter(({ key }) => key !== 'queue') : all;
  }, [positions, group, queue]);
  // Pages further back are of one span: what is pushed meanwhile does not move them.
  const hold = () => ({ range: null, ...rangeQuery(now()) });
  return (
    <>
      {listed.truncated === true && (
        <Notice tone="wait">
          There may be more than one answer could look at. A queue, a partition or a shorter span
          shows them.
        </Notice>
      )}
      <DataTable
        caption="Messages"
        columns={columns}
        rows={listed.messages}
        rowKey={({ id }) => id}
        onOpen={({ partitionId, transactionId }) =>
          setQuery({ pid: partitionId, txn: transactionId })
        }
        empty={<Nothing />}
      />
      <Pager
        offset={offset}
        pageRows={PAGE_ROWS}
        count={listed.messages.length}
        total={null}
        onOlder={hold}
      />
    </>
  );
}

function Nothing() {
  const { query } = usePlace();
  const parts = ['queue', 'partition'].map((name): [string, string | null] => [
    name,
    query.get(name),
  ]);
  return (
    <p>
      No message of this span fits.{' '}
      <Link to={withQuery('/messages', { ...Object.fromEntries(parts), range: '7d' })}>
        Look at the last 7 days
      </Link>
    </p>
  );
}

function withGroup(group: string, positions: ReadonlyMap<string, number | null>) {
  const words = (row: Row) => {
    const position = positions.get(placeOf(row)) ?? null;
    if (position === null) return 'not begun';
    return row.offset < position ? 'read' : 'unread';
  };
  const column: Column<Row> = {
    key: 'group',
    title: `For ${group}`,
    isText: true,
    value: words,
    cell: (row) => <Badge tone={words(row) === 'read' ? 'good' : 'wait'}>{words(row)}</Badge>,
  };
  return [...COLUMNS.slice(0, -1), column, ...COLUMNS.slice(-1)];
}
