/** Timers that wait: the queues that have any, and those of one queue. */

import { counted } from '../base/format.js';
import { type Column, DataTable } from '../components/data-table.js';
import { Select } from '../components/form.js';
import { Page } from '../components/page.js';
import { Empty, Loaded } from '../components/states.js';
import { Ago, Count, Name } from '../components/text.js';
import { setQuery, usePlace } from '../data/location.js';
import { call, type Success } from '../data/request.js';
import { usePages } from '../data/use-pages.js';

type Row = Success<'GET /api/v1/timers/{queue}'>['rows'][number];
type QueueRow = Success<'GET /api/v1/resources/timers'>['timers'][number];

const PAGE_ROWS = 500;

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
    isLong: true,
    cell: ({ lastError }) => <Name text={lastError ?? '–'} />,
  },
];

export function TimersPage() {
  const { query } = usePlace();
  const { poll } = usePages('timers', async (after, signal) => {
    const found = await call('GET /api/v1/resources/timers', {
      query: { limit: PAGE_ROWS, after },
      signal,
    });
    return { rows: found.timers, nextAfter: found.nextAfter ?? null };
  });
  return (
    <Page title="Timers">
      <Loaded poll={poll} what="the queues with timers">
        {({ rows }) => <OfQueue queues={rows} chosen={query.get('queue')} />}
      </Loaded>
    </Page>
  );
}

/** The queue with most timers is shown until another is chosen. */
function OfQueue({ queues, chosen }: { queues: readonly QueueRow[]; chosen: string | null }) {
  const [first] = [...queues].sort((a, b) => b.pending - a.pending);
  const queue = chosen ?? first?.queue ?? null;
  if (queue === null) return <Empty>No timer waits.</Empty>;
  const known = queues.map((row) => ({
    value: row.queue,
    label: `${row.queue}: ${counted(row.pending, 'timer', 'timers')}`,
  }));
  const isKnown = queues.some((row) => row.queue === queue);
  const choices = isKnown ? known : [{ value: queue, label: `${queue}: none` }, ...known];
  return (
    <div>
      <div class="filters">
        <Select
          label="Queue"
          value={queue}
          choices={choices}
          onInput={(name) => setQuery({ queue: name })}
        />
      </div>
      <Rows key={queue} queue={queue} />
    </div>
  );
}

function Rows({ queue }: { readonly queue: string }) {
  const { poll, more } = usePages(`timers of ${queue}`, (after, signal) =>
    call('GET /api/v1/timers/{queue}', {
      params: { queue },
      query: { limit: PAGE_ROWS, after },
      signal,
    }),
  );
  return (
    <Loaded poll={poll} what="the timers">
      {({ rows }) => (
        <DataTable
          caption={`Timers of ${queue}`}
          columns={COLUMNS}
          rows={rows}
          rowKey={({ timerKey }) => timerKey}
          more={more}
          empty="No timer waits for this queue."
        />
      )}
    </Loaded>
  );
}
