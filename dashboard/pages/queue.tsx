/**
 * One queue: what waits in it, where, and for whom; what happened to it; its options. A message is
 * pushed, the queue is changed or deleted from here.
 */
import { useState } from 'preact/hooks';
import { counted, formatInteger } from '../base/format.js';
import type { PageParams } from '../base/routes.js';
import { withQuery } from '../base/routes.js';
import { Link } from '../components/link.js';
import { Facts, Page } from '../components/page.js';
import { Empty, Loaded } from '../components/states.js';
import { Ago, Bytes, Name } from '../components/text.js';
import { useCapabilities } from '../data/identity.js';
import { navigate, usePlace } from '../data/location.js';
import { EVERY_MS_SLOW, usePoll } from '../data/poll.js';
import { call, type Success } from '../data/request.js';
import { OnePartition } from './one-partition.js';
import { PeekMessages } from './peek-messages.js';
import { PushMessage } from './push-message.js';
import { QueueGroups, useQueueGroups } from './queue-groups.js';
import { QueueHistory } from './queue-history.js';
import { QueueOptions } from './queue-options.js';
import { MANY_PARTITIONS, QueuePartitions, useRanking } from './queue-partitions.js';
import { DeleteQueue } from './queues.js';

type Queue = Success<'GET /api/v1/resources/queues/{queue}'>;
type Asked = 'push' | 'peek' | 'delete';

const EVERY_MS = 5_000;

export function QueuePage({ params: { queue = '' } }: PageParams) {
  const { query } = usePlace();
  const [asked, setAsked] = useState<Asked | null>(null);
  const ranking = useRanking(queue);
  const areMany = (ranking.data?.walked ?? 0) > MANY_PARTITIONS;
  const detail = usePoll(
    `queue ${queue}`,
    // Sums are of all partitions on every page: one row of them is the least to ask for.
    (signal) =>
      call('GET /api/v1/resources/queues/{queue}', {
        params: { queue },
        query: { limit: 1 },
        signal,
      }),
    areMany ? EVERY_MS_SLOW : EVERY_MS,
  );
  const groups = useQueueGroups(queue);
  const heading = <Name text={queue} />;
  if (detail.data === null && detail.error?.status === 404) {
    return (
      <Page title={queue} heading={heading}>
        <NoQueue queue={queue} asked={asked} onAsk={setAsked} onPushed={detail.refresh} />
      </Page>
    );
  }
  const partitions = ranking.data?.partitions ?? [];
  const refresh = () => {
    detail.refresh();
    ranking.refresh();
  };
  const partition = query.get('partition');
  const names = groups.poll.data?.rows.map(({ name }) => name) ?? [];
  const close = () => setAsked(null);
  return (
    <Page title={queue} heading={heading} actions={<Actions onAsk={setAsked} />}>
      <Loaded poll={detail} what="the queue">
        {(found) => <Totals queue={found} partitions={ranking.data?.walked ?? null} />}
      </Loaded>
      <QueuePartitions queue={queue} ranking={ranking} />
      <QueueGroups groups={groups} />
      <QueueHistory queue={queue} />
      {detail.data !== null && <QueueOptions queue={detail.data} onChange={refresh} />}
      {partition !== null && asked !== 'peek' && (
        <OnePartition
          queue={queue}
          partition={partition}
          ranked={partitions.find((one) => one.partition === partition)}
          groups={names}
          onPeek={() => setAsked('peek')}
        />
      )}
      {asked === 'peek' && (
        <PeekMessages
          queue={queue}
          partition={partition ?? ''}
          partitions={partitions}
          onClose={close}
        />
      )}
      {asked === 'push' && <PushMessage queue={queue} onClose={close} onPushed={refresh} />}
      {asked === 'delete' && (
        <DeleteQueue queue={queue} onClose={close} onDeleted={() => navigate('/queues')}>
          <Doomed queue={detail.data} partitions={ranking.data?.walked} groups={names.length} />
        </DeleteQueue>
      )}
    </Page>
  );
}

function Actions({ onAsk }: { readonly onAsk: (asked: Asked) => void }) {
  const { produce, consume, clusterAdmin } = useCapabilities();
  return (
    <>
      {clusterAdmin && (
        <button type="button" onClick={() => onAsk('delete')}>
          Delete…
        </button>
      )}
      {consume && (
        <button type="button" onClick={() => onAsk('peek')}>
          Peek
        </button>
      )}
      {produce && (
        <button type="button" class="primary" onClick={() => onAsk('push')}>
          Push a message
        </button>
      )}
    </>
  );
}

interface TotalsProps {
  readonly queue: Queue;
  readonly partitions: number | null;
}

function Totals({ queue, partitions }: TotalsProps) {
  const { name, totals, retainedBytes, createdAt } = queue;
  const messages = withQuery('/messages', { queue: name, range: '7d' });
  return (
    <Facts
      facts={[
        {
          label: 'Pending',
          value: formatInteger(totals.pending),
          note: `${formatInteger(totals.processing)} of them leased`,
        },
        {
          label: 'Dead letters',
          value: (
            <Link to={withQuery('/dlq', { queue: name })}>{formatInteger(totals.deadLetter)}</Link>
          ),
          tone: totals.deadLetter > 0 ? 'bad' : undefined,
        },
        { label: 'Completed', value: formatInteger(totals.completed) },
        {
          label: 'Stored',
          value: <Link to={messages}>{formatInteger(totals.total)}</Link>,
          note: <Bytes of={retainedBytes} />,
        },
        {
          label: 'Partitions',
          value: formatInteger(partitions),
          note: (
            <>
              created <Ago at={createdAt} />
            </>
          ),
        },
      ]}
    />
  );
}

interface DoomedProps {
  readonly queue: Queue | null;
  readonly partitions: number | undefined;
  readonly groups: number;
}

/** What goes with the queue. */
function Doomed({ queue, partitions, groups }: DoomedProps) {
  if (queue === null) return null;
  const { total, pending, deadLetter } = queue.totals;
  const held =
    partitions === undefined ? '' : ` in ${counted(partitions, 'partition', 'partitions')}`;
  return (
    <p>
      {`Deletes ${counted(total, 'message', 'messages')}${held}, ${formatInteger(pending)} of them
        not consumed, and ${counted(deadLetter, 'dead letter', 'dead letters')}. 
        ${counted(groups, 'group loses its', 'groups lose their')} positions.`}
    </p>
  );
}

interface NoQueueProps {
  readonly queue: string;
  readonly asked: Asked | null;
  readonly onAsk: (asked: Asked | null) => void;
  readonly onPushed: () => void;
}

function NoQueue({ queue, asked, onAsk, onPushed }: NoQueueProps) {
  const { produce } = useCapabilities();
  return (
    <Empty>
      <p class="table-note">
        No queue has this name. <Link to="/queues">All queues</Link>
      </p>
      {produce && (
        <p>
          <button type="button" onClick={() => onAsk('push')}>
            Make it by a first message
          </button>
        </p>
      )}
      {asked === 'push' && (
        <PushMessage queue={queue} onClose={() => onAsk(null)} onPushed={onPushed} />
      )}
    </Empty>
  );
}
