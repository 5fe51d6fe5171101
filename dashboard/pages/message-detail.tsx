/** One message: what it is, what became of it for each group, its payload, its traces. */
import { useState } from 'preact/hooks';
import { CallError } from '../base/call-error.js';
import { pathOfGroup } from '../base/consumer-groups.js';
import { placeOfMessage } from '../base/message-id.js';
import { pathOfQueue } from '../base/routes.js';
import { type MessageStatus, reasonWords, STATUS_WORDS } from '../base/words.js';
import { type Column, DataTable } from '../components/data-table.js';
import { Dialog, Refusal } from '../components/dialog.js';
import { Link } from '../components/link.js';
import { Pairs, Section } from '../components/page.js';
import { Payload } from '../components/payload.js';
import { tell } from '../components/results.js';
import { Empty, Loaded } from '../components/states.js';
import { Ago, Badge, Count, Name, Time } from '../components/text.js';
import { useCapabilities } from '../data/identity.js';
import { EVERY_MS_SLOW, usePoll } from '../data/poll.js';
import { call, type Success } from '../data/request.js';
import { useAction } from '../data/use-action.js';
import { MessageTraces } from './message-traces.js';

type Message = Success<'GET /api/v1/messages/{partitionId}/{transactionId}'>;
type Group = Message['consumerGroups'][number];

const TONES = {
  pending: 'wait',
  processing: 'plain',
  completed: 'good',
  dead_letter: 'bad',
} as const;

export function StatusBadge({ status }: { readonly status: MessageStatus }) {
  return <Badge tone={TONES[status]}>{STATUS_WORDS[status]}</Badge>;
}

interface AddressProps {
  readonly partitionId: string;
  readonly transactionId: string;
}

interface MessageDetailProps extends AddressProps {
  readonly onClose: () => void;
  /** Something was done to it. */
  readonly onChange: () => void;
}

export function MessageDetail({ onClose, onChange, ...params }: MessageDetailProps) {
  const poll = usePoll(
    `message ${params.partitionId}\n${params.transactionId}`,
    (signal) =>
      call('GET /api/v1/messages/{partitionId}/{transactionId}', {
        params,
        signal,
        keepStored: true,
      }),
    EVERY_MS_SLOW,
  );
  return (
    <Dialog title="One message" onClose={onClose} isWide>
      {poll.data === null && poll.error?.status === 404 ? (
        <Gone transactionId={params.transactionId} />
      ) : (
        <Loaded poll={poll} what="the message">
          {(message) => (
            <div class="stack">
              <About message={message} />
              {message.status === 'dead_letter' && (
                <DeadLetterActions
                  {...params}
                  message={message}
                  onChange={() => {
                    poll.refresh();
                    onChange();
                  }}
                />
              )}
              <Payload value={message.payload} />
              <Groups groups={message.consumerGroups} />
              <Section title="Traces">
                <MessageTraces {...params} />
              </Section>
            </div>
          )}
        </Loaded>
      )}
    </Dialog>
  );
}

function Gone({ transactionId }: { readonly transactionId: string }) {
  return (
    <Empty>
      No stored message has the transaction id <Name text={transactionId} /> in this partition.
      Retention may have removed it. A dead letter of it stays in the{' '}
      <Link to="/dlq">dead letters</Link>.
    </Empty>
  );
}

function About({ message }: { readonly message: Message }) {
  const { id, transactionId, queue, partition, traceId, producerSub, errorMessage } = message;
  const offset = placeOfMessage(id)?.offset;
  const optional = [
    { label: 'Trace id', text: traceId },
    { label: 'Producer', text: producerSub },
    { label: 'Error', text: errorMessage },
  ].flatMap(({ label, text }) => (text === null ? [] : [{ label, value: <Name text={text} /> }]));
  return (
    <Pairs
      facts={[
        { label: 'Status', value: <StatusBadge status={message.status} /> },
        {
          label: 'Queue',
          value: (
            <Link to={pathOfQueue(queue)}>
              <Name text={queue} />
            </Link>
          ),
        },
        { label: 'Partition', value: <Name text={partition} /> },
        { label: 'Offset', value: <Count of={offset} /> },
        { label: 'Pushed', value: <Time at={message.createdAt} /> },
        { label: 'Transaction id', value: <Name text={transactionId} /> },
        { label: 'Message id', value: id },
        ...optional,
        ...(message.status === 'dead_letter'
          ? [
              { label: 'Reason', value: reasonWords(message.deadLetterReason) },
              { label: 'Failures', value: <Count of={message.retryCount} /> },
            ]
          : []),
        { label: 'Stored encrypted', value: message.isEncrypted ? 'yes' : 'no' },
      ]}
    />
  );
}

interface ActionsProps extends AddressProps {
  readonly message: Message;
  readonly onChange: () => void;
}

/** Live messages stay where they are: what can be done is done to the dead letters of one. */
function DeadLetterActions({ message, onChange, ...params }: ActionsProps) {
  const { queueAdmin } = useCapabilities();
  const [asked, setAsked] = useState<'retry' | 'delete' | null>(null);
  const retry = useAction(async () => {
    const { result } = await call('POST /api/v1/messages/{partitionId}/{transactionId}/retry', {
      params,
    });
    if (result === 'duplicate') {
      throw new CallError('refused', 'It was replayed before; the dead letter stays.');
    }
    finish('Pushed again');
  });
  const deletion = useAction(async () => {
    await call('DELETE /api/v1/messages/{partitionId}/{transactionId}', { params });
    finish('Dead letter deleted');
  });
  const finish = (text: string) => {
    tell(text);
    setAsked(null);
    onChange();
  };
  if (!queueAdmin) return null;
  const action = asked === 'retry' ? retry : deletion;
  return (
    <div class="stack">
      <div class="actions">
        <button type="button" onClick={() => setAsked('retry')}>
          Replay…
        </button>
        <button type="button" onClick={() => setAsked('delete')}>
          Delete the dead letter…
        </button>
      </div>
      {asked !== null && (
        <div class="stack asked">
          <p>
            {asked === 'retry' ? (
              <>
                Pushes the payload to <Name text={message.queue} /> again, as a new message at the
                end of partition <Name text={message.partition} />, and removes the dead letter in
                the same step. Every group gets the new message.
              </>
            ) : (
              <>
                Removes the dead letters of this message, of every group. The stored message stays
                until retention removes it; nothing delivers it again.
              </>
            )}
          </p>
          <Refusal error={action.error} />
          <div class="dialog-foot">
            <button type="button" onClick={() => setAsked(null)}>
              Cancel
            </button>
            <button
              type="button"
              class={asked === 'retry' ? 'primary' : 'danger'}
              disabled={action.isBusy}
              onClick={() => void action.run()}
            >
              {asked === 'retry' ? 'Replay' : 'Delete the dead letter'}
            </button>
          </div>
        </div>
      )}
    </div>
  );
}

const GROUP_COLUMNS: readonly Column<Group>[] = [
  {
    key: 'name',
    title: 'Group',
    value: ({ name }) => name,
    cell: ({ name }) => (
      <Link to={pathOfGroup(name)}>
        <Name text={name} />
      </Link>
    ),
  },
  {
    key: 'consumed',
    title: 'This message',
    isText: true,
    cell: ({ consumed, leaseExpiresAt }) => (
      <Badge tone={consumed ? 'good' : 'wait'}>
        {consumed ? 'passed' : leaseExpiresAt === null ? 'waits' : 'leased'}
      </Badge>
    ),
  },
  {
    key: 'committed',
    title: 'Done up to offset',
    value: ({ committed }) => committed,
    cell: ({ committed }) => (committed < 0 ? '–' : <Count of={committed} />),
  },
  {
    key: 'lease',
    title: 'Lease of the partition',
    cell: ({ leaseExpiresAt }) => (leaseExpiresAt === null ? '–' : <Ago at={leaseExpiresAt} />),
  },
];

function Groups({ groups }: { readonly groups: readonly Group[] }) {
  return (
    <Section title="By group">
      <DataTable
        caption="By group"
        columns={GROUP_COLUMNS}
        rows={groups}
        rowKey={({ name }) => name}
        empty="No group has read this partition."
      />
    </Section>
  );
}
