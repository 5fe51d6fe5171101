/** Timers that wait: the queues that have any, those of one queue, one timer. */
import { useMemo } from 'preact/hooks';
import { counted } from '../base/format.js';
import { holds } from '../base/order.js';
import { type Column, DataTable, type More } from '../components/data-table.js';
import { ListFilter } from '../components/list-filter.js';
import { Page, Section } from '../components/page.js';
import { Empty, Loaded } from '../components/states.js';
import { Ago, Count, Name } from '../components/text.js';
import { setQuery, usePlace } from '../data/location.js';
import { EVERY_MS_LIST, EVERY_MS_SLOW } from '../data/poll.js';
import { call, type Success } from '../data/request.js';
import { usePages } from '../data/use-pages.js';
import { OneTimer } from './timer.js';

type Row = Success<'GET /api/v1/timers/{queue}'>['rows'][number];
type QueueRow = Success<'GET /api/v1/resources/timers'>['timers'][number];

const PAGE_ROWS = 500;

const QUEUE_COLUMNS: readonly Column<QueueRow>[] = [
  {
    key: 'queue',
    title: 'Queue',
    value: ({ queue }) => queue,
    cell: ({ queue }) => <Name text={queue} />,
  },
  {
    key: 'pending',
    title: 'Pending',
    value: ({ pending }) => pending,
    cell: ({ pending }) => <Count of={pending} />,
  },
  {
    key: 'next',
    title: 'Next',
    value: ({ nextAt }) => nextAt,
    cell: ({ nextAt }) => <Ago at={nextAt} />,
  },
];

const COLUMNS: readonly Column<Row>[] = [
  {
    key: 'timer',
    title: 'Timer',
    value: ({ timerKey }) => timerKey,
    cell: ({ timerKey }) => <Name text={timerKey} />,
  },
  {
    key: 'partition',
    title: 'Partition',
    isText: true,
    isMinor: true,
    value: ({ partition }) => partition,
    cell: ({ partition }) => <Name text={partition} />,
  },
  {
    key: 'delivers',
    title: 'Delivers',
    value: ({ deliverAt }) => deliverAt,
    cell: ({ deliverAt }) => <Ago at={deliverAt} />,
  },
  {
    key: 'attempts',
    title: 'Attempts',
    value: ({ attempts }) => attempts,
    cell: ({ attempts }) => <Count of={attempts} isBad />,
  },
  {
    key: 'error',
    title: 'Last error',
    isText: true,
    isMinor: true,
    cell: ({ lastError }) =>
      lastError === null ? <span class="quiet">–</span> : <Name text={lastError} />,
  },
];

export function TimersPage() {
  const { query } = usePlace();
  const ask = async (after: string | null, signal: AbortSignal) => {
    const asked = { limit: PAGE_ROWS, after };
    const found = await call('GET /api/v1/resources/timers', { query: asked, signal });
    return { rows: found.timers, nextAfter: found.nextAfter ?? null };
  };
  const { poll, more } = usePages('timers', ask, EVERY_MS_SLOW);
  return (
    <Page title="Timers">
      <Loaded poll={poll} what="the queues with timers">
        {({ rows }) => (
          <Queues queues={rows} more={more} chosen={query.get('queue')} onChange={poll.refresh} />
        )}
      </Loaded>
    </Page>
  );
}

interface QueuesProps {
  readonly queues: readonly QueueRow[];
  readonly more: More | null;
  readonly chosen: string | null;
  readonly onChange: () => void;
}

/** The queue with most timers is shown until another is chosen. */
function Queues({ queues, more, chosen, onChange }: QueuesProps) {
  const most = useMemo(
    () => queues.reduce<QueueRow | null>((a, b) => (a && a.pending >= b.pending ? a : b), null),
    [queues],
  );
  const queue = chosen ?? most?.queue ?? null;
  if (queue === null) {
    return (
      <Empty>
        No timer waits. One is scheduled by POST /api/v1/timers, and becomes a message of its queue.
      </Empty>
    );
  }
  return (
    <div class="page">
      <Section title="Queues with timers">
        <DataTable
          caption="Queues with timers"
          columns={QUEUE_COLUMNS}
          rows={queues}
          rowKey={(row) => row.queue}
          order={{ column: 'pending', descending: true }}
          onOpen={(row) => setQuery({ queue: row.queue, timer: null, q: null })}
          more={more}
          empty="No timer waits."
        />
      </Section>
      <Rows key={queue} queue={queue} onChange={onChange} />
    </div>
  );
}

interface RowsProps {
  readonly queue: string;
  readonly onChange: () => void;
}

function Rows({ queue, onChange }: RowsProps) {
  const { query } = usePlace();
  const timer = query.get('timer');
  const ask = (after: string | null, signal: AbortSignal) =>
    call('GET /api/v1/timers/{queue}', {
      params: { queue },
      query: { limit: PAGE_ROWS, after },
      signal,
    });
  const { poll, more } = usePages(`timers of ${queue}`, ask, EVERY_MS_LIST);
  return (
    <section class="section" aria-label="Timers of the queue">
      <div class="section-head">
        <h2>
          Timers of <Name text={queue} />
        </h2>
      </div>
      <Loaded poll={poll} what="the timers">
        {({ rows }) => <Filtered rows={rows} more={more} />}
      </Loaded>
      {timer !== null && (
        <OneTimer
          key={timer}
          queue={queue}
          timerKey={timer}
          onClose={() => setQuery({ timer: null })}
          onChange={() => {
            poll.refresh();
            onChange();
          }}
        />
      )}
    </section>
  );
}

function Filtered({ rows, more }: { readonly rows: readonly Row[]; readonly more: More | null }) {
  const { query } = usePlace();
  const text = query.get('q') ?? '';
  const shown = useMemo(
    () => rows.filter(({ timerKey, partition }) => holds(text, [timerKey, partition])),
    [rows, text],
  );
  if (rows.length === 0) return <Empty>No timer waits for this queue.</Empty>;
  return (
    <>
      <ListFilter
        label="Timer or partition holds"
        count={counted(shown.length, 'timer', 'timers')}
      />
      <DataTable
        caption="Timers"
        columns={COLUMNS}
        rows={shown}
        rowKey={({ timerKey }) => timerKey}
        onOpen={({ queue, timerKey }) => setQuery({ queue, timer: timerKey })}
        more={more}
        empty="No timer has this in its name."
      />
    </>
  );
}
