/** Looks into a partition without consuming: no lease is taken and no cursor moves. */
import { useEffect, useState } from 'preact/hooks';
import { CallError } from '../base/call-error.js';
import { formatInteger } from '../base/format.js';
import { withQuery } from '../base/routes.js';
import { type Column, DataTable } from '../components/data-table.js';
import { Dialog, Refusal } from '../components/dialog.js';
import { Field, Select, Suggestions, TextInput } from '../components/form.js';
import { Link } from '../components/link.js';
import { PayloadText } from '../components/payload.js';
import { Count, Name, Time } from '../components/text.js';
import { call, type Success } from '../data/request.js';
import { useAction } from '../data/use-action.js';
import type { Ranking } from './queue-partitions.js';

type Entry = Success<'POST /api/v1/fetch'>['entries'][number];
type Stored = Entry['records'][number];

const ROWS = 20;
const BYTES_MAX = 1_048_576;

const STARTS = [
  { value: 'oldest', label: 'The oldest' },
  { value: 'newest', label: 'The newest' },
  { value: 'offset', label: 'From an offset' },
];

interface PeekProps {
  readonly queue: string;
  readonly partition: string;
  readonly partitions: Ranking['partitions'];
  readonly onClose: () => void;
}

interface Wanted {
  readonly partition: string;
  readonly start: string;
  readonly offset: string;
}

export function PeekMessages({ queue, partition, partitions, onClose }: PeekProps) {
  const first = partition || (partitions[0]?.partition ?? 'Default');
  const [wanted, setWanted] = useState<Wanted>({ partition: first, start: 'oldest', offset: '0' });
  const [found, setFound] = useState<Entry | null>(null);
  const set = (changed: Partial<Wanted>) => setWanted({ ...wanted, ...changed });
  const look = useAction(async () => setFound(await peek(queue, wanted)));
  useEffect(() => void look.run(), []);
  return (
    <Dialog title="Peek" onClose={onClose} isWide>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void look.run();
        }}
      >
        <div class="fields">
          <Field label="Partition">
            {(id) => (
              <TextInput
                id={id}
                list="peek-partitions"
                value={wanted.partition}
                onInput={(name) => set({ partition: name })}
              />
            )}
          </Field>
          <Field label="Which">
            {(id) => (
              <Select
                id={id}
                value={wanted.start}
                onInput={(start) => set({ start })}
                choices={STARTS}
              />
            )}
          </Field>
          {wanted.start === 'offset' && (
            <Field label="Offset">
              {(id) => (
                <TextInput id={id} value={wanted.offset} onInput={(offset) => set({ offset })} />
              )}
            </Field>
          )}
        </div>
        <Suggestions id="peek-partitions" values={partitions.map((one) => one.partition)} />
        <Refusal error={look.error} />
        {found !== null && <Records queue={queue} entry={found} partitions={partitions} />}
        <div class="dialog-foot">
          <button type="button" onClick={onClose}>
            Close
          </button>
          <button type="submit" class="primary" disabled={look.isBusy}>
            {look.isBusy ? 'Looking…' : 'Look'}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

interface RecordsProps {
  readonly queue: string;
  readonly entry: Entry;
  readonly partitions: Ranking['partitions'];
}

function Records({ queue, entry, partitions }: RecordsProps) {
  const { partition, records, logStartOffset, highWatermark } = entry;
  const pid = partitions.find((one) => one.partition === partition)?.id ?? null;
  const columns: readonly Column<Stored>[] = [
    {
      key: 'transaction',
      title: 'Transaction id',
      cell: ({ transactionId: txn }) => (
        <Link to={withQuery('/messages', { queue, partition, pid, txn: pid && txn })}>
          <Name text={txn} />
        </Link>
      ),
    },
    { key: 'offset', title: 'Offset', cell: ({ offset }) => <Count of={offset} /> },
    { key: 'ts', title: 'Pushed', isMinor: true, cell: ({ ts }) => <Time at={ts} /> },
    {
      key: 'payload',
      title: 'Payload',
      isText: true,
      isLong: true,
      cell: ({ payload }) => <PayloadText value={payload} />,
    },
  ];
  return (
    <div>
      <p class="table-note quiet" role="status">
        Stored from offset {formatInteger(logStartOffset)}, next {formatInteger(highWatermark)}.
        Nothing was consumed.
      </p>
      <DataTable
        caption="Stored messages"
        columns={columns}
        rows={records.slice(0, ROWS)}
        rowKey={({ offset }) => String(offset)}
        empty="Nothing is stored there."
      />
    </div>
  );
}

async function peek(queue: string, { partition, start, offset }: Wanted): Promise<Entry> {
  if (start === 'offset') {
    if (!/^\d+$/.test(offset.trim())) throw new CallError('refused', 'An offset is a number.');
    return fetchFrom(queue, partition, Number(offset), BYTES_MAX);
  }
  const { logStartOffset, highWatermark } = await fetchFrom(queue, partition, 0, 1);
  const from = start === 'oldest' ? 0 : highWatermark - ROWS;
  return fetchFrom(queue, partition, Math.max(from, logStartOffset), BYTES_MAX);
}

/** Offsets that are not stored are answered with those that are, and with no records. */
async function fetchFrom(queue: string, partition: string, offset: number, maxBytes: number) {
  const body = { entries: [{ queue, partition, offset, maxBytes }], maxWaitMs: 0 };
  const { entries } = await call('POST /api/v1/fetch', { body, keepStored: true });
  const [entry] = entries;
  if (entry === undefined || entry.error === 'UNKNOWN_TOPIC_OR_PARTITION') {
    throw new CallError('refused', 'The queue is gone.');
  }
  return entry;
}
