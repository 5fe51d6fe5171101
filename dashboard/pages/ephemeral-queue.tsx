/** One queue in memory: its partitions and groups, its options; reset and delete. */
import { useState } from 'preact/hooks';
import { counted, formatBytes, formatDuration, formatInteger } from '../base/format.js';
import { type Column, DataTable } from '../components/data-table.js';
import { ConfirmByName, Dialog } from '../components/dialog.js';
import { Facts, Pairs, Section } from '../components/page.js';
import { tell } from '../components/results.js';
import { Empty, Loaded } from '../components/states.js';
import { Bytes, Count, Name } from '../components/text.js';
import { useCapabilities } from '../data/identity.js';
import { usePoll } from '../data/poll.js';
import { call, type Success } from '../data/request.js';
import { useAction } from '../data/use-action.js';

export type EphemeralRow = Success<'GET /api/v1/ephemeral/queues'>['queues'][number];
type Depth = Success<'GET /api/v1/ephemeral/queues/{queue}/depth'>;

const AT = 'GET /api/v1/ephemeral/queues/{queue}/depth';

const PARTITION_COLUMNS: readonly Column<Depth['partitions'][number]>[] = [
  {
    key: 'partition',
    title: 'Partition',
    value: ({ partition }) => partition,
    cell: ({ partition }) => <Name text={partition} />,
  },
  {
    key: 'pending',
    title: 'Pending',
    value: ({ pending }) => pending,
    cell: ({ pending }) => <Count of={pending} />,
  },
  {
    key: 'bytes',
    title: 'Bytes',
    value: ({ bytes }) => bytes,
    cell: ({ bytes }) => <Bytes of={bytes} />,
  },
];

const GROUP_COLUMNS: readonly Column<Depth['groups'][number]>[] = [
  {
    key: 'group',
    title: 'Group',
    value: ({ group }) => group,
    cell: ({ group }) => <Name text={group} />,
  },
  {
    key: 'pending',
    title: 'Pending',
    value: ({ pending }) => pending,
    cell: ({ pending }) => <Count of={pending} />,
  },
  {
    key: 'skipped',
    title: 'Lost by dropping',
    value: ({ skipped }) => skipped,
    cell: ({ skipped }) => <Count of={skipped} isBad />,
  },
];

interface OneQueueProps {
  readonly queue: string;
  /** Its row of the list; null: it is not in what was loaded of it. */
  readonly row: EphemeralRow | null;
  readonly onClose: () => void;
  readonly onChange: () => void;
}

export function OneEphemeralQueue({ queue, row, onClose, onChange }: OneQueueProps) {
  const poll = usePoll(`ephemeral ${queue}`, (signal) => call(AT, { params: { queue }, signal }));
  return (
    <Dialog title="One ephemeral queue" onClose={onClose} isWide>
      {poll.data === null && poll.error?.status === 404 ? (
        <Empty>
          The node that answered holds no queue <Name text={queue} />.
        </Empty>
      ) : (
        <Loaded poll={poll} what="the queue">
          {(depth) => (
            <Shown
              depth={depth}
              row={row}
              onClose={onClose}
              onChange={() => {
                poll.refresh();
                onChange();
              }}
            />
          )}
        </Loaded>
      )}
    </Dialog>
  );
}

interface ShownProps {
  readonly depth: Depth;
  readonly row: EphemeralRow | null;
  readonly onClose: () => void;
  readonly onChange: () => void;
}

function Shown({ depth, row, onClose, onChange }: ShownProps) {
  const { write } = useCapabilities();
  const [asked, setAsked] = useState<'reset' | 'delete' | null>(null);
  const { queue, pending, bytes, partitions, groups } = depth;
  const confirm = { depth, onClose: () => setAsked(null) };
  return (
    <div class="stack">
      <p>
        <Name text={queue} /> <span class="quiet">{depth.tier}</span>
      </p>
      <Facts
        facts={[
          { label: 'Pending', value: formatInteger(pending) },
          { label: 'In memory', value: formatBytes(bytes) },
          { label: 'Partitions', value: formatInteger(partitions.length) },
          { label: 'Groups', value: formatInteger(groups.length) },
        ]}
      />
      {row !== null && <Options row={row} />}
      <Section title="Partitions">
        <DataTable
          caption="Partitions"
          columns={PARTITION_COLUMNS}
          rows={partitions}
          rowKey={({ partition }) => partition}
          order={{ column: 'pending', descending: true }}
          empty="No partition holds anything."
        />
      </Section>
      <Section title="Groups">
        <DataTable
          caption="Groups"
          columns={GROUP_COLUMNS}
          rows={groups}
          rowKey={({ group }) => group}
          order={{ column: 'pending', descending: true }}
          empty="No group has asked yet."
        />
      </Section>
      {write && (
        <div class="dialog-foot">
          <button type="button" onClick={() => setAsked('delete')}>
            Delete…
          </button>
          <button type="button" onClick={() => setAsked('reset')}>
            Drop its messages…
          </button>
        </div>
      )}
      {asked === 'reset' && <ResetQueue {...confirm} onDone={onChange} />}
      {asked === 'delete' && (
        <DeleteQueue
          {...confirm}
          onDone={() => {
            onChange();
            onClose();
          }}
        />
      )}
    </div>
  );
}

function Options({ row: { options, drops } }: { readonly row: EphemeralRow }) {
  const { windowBuffer } = options;
  const bound = (value: number, text: string) => (value === 0 ? 'no bound' : text);
  return (
    <Pairs
      facts={[
        {
          label: 'When full',
          value: options.policy === 'reject' ? 'refuses what is pushed' : 'drops its oldest',
        },
        {
          label: 'In a partition, at most',
          value:
            `${bound(options.maxBytes, formatBytes(options.maxBytes))}, ` +
            bound(options.maxLength, counted(options.maxLength, 'message', 'messages')),
        },
        {
          label: 'Messages live',
          value: options.ttlSeconds === 0 ? 'for ever' : formatDuration(options.ttlSeconds),
        },
        { label: 'Lease', value: formatDuration(options.leaseSeconds) },
        { label: 'Failures until dropped', value: formatInteger(options.retryLimit) },
        ...(windowBuffer === null
          ? []
          : [
              {
                label: 'Delivered in batches',
                value: `of ${windowBuffer.count}, or after ${windowBuffer.ms} ms`,
              },
            ]),
        {
          label: 'Dropped so far',
          value:
            `${formatInteger(drops.bounds)} by its bounds, ${formatInteger(drops.ttl)} by age, ` +
            `${formatInteger(drops.retry)} by failures`,
        },
      ]}
    />
  );
}

interface ConfirmProps {
  readonly depth: Depth;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** What the asked node holds is counted; the others drop theirs too. */
function held({ partitions }: Depth, messages: number): string {
  const where = counted(partitions.length, 'partition', 'partitions');
  return `${counted(messages, 'message', 'messages')} of ${where} on the node that answered`;
}

function ResetQueue({ depth, onClose, onDone }: ConfirmProps) {
  const { queue, pending } = depth;
  const reset = useAction(async () => {
    const { dropped } = await call('POST /api/v1/ephemeral/reset', { body: { queue } });
    tell(
      <>
        Dropped {counted(dropped, 'message', 'messages')} of <Name text={queue} />
      </>,
    );
    onClose();
    onDone();
  });
  return (
    <ConfirmByName
      title="Drop the messages"
      action="Drop the messages"
      onConfirm={() => void reset.run()}
      onClose={onClose}
      isBusy={reset.isBusy}
      error={reset.error}
    >
      <p>
        Drops what <Name text={queue} /> holds on every node: {held(depth, pending)}, and what the
        other nodes hold. Its options and its groups stay.
      </p>
    </ConfirmByName>
  );
}

function DeleteQueue({ depth, onClose, onDone }: ConfirmProps) {
  const { queue, pending, groups, tier } = depth;
  const deletion = useAction(async () => {
    await call('DELETE /api/v1/ephemeral/queue/{queue}', { params: { queue } });
    tell(
      <>
        Deleted <Name text={queue} />
      </>,
    );
    onDone();
  });
  return (
    <ConfirmByName
      title="Delete an ephemeral queue"
      name={queue}
      action="Delete the queue"
      onConfirm={() => void deletion.run()}
      onClose={onClose}
      isBusy={deletion.isBusy}
      error={deletion.error}
    >
      <p>
        Ends the queue on every node: {held(depth, pending)}, and what the other nodes hold, also
        what {counted(groups.length, 'group', 'groups')} had still to read.
        {tier === 'declared' && ' Its options are forgotten.'} A push or a pop that names it makes
        it anew, with the options of the broker.
      </p>
    </ConfirmByName>
  );
}
