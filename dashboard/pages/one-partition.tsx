/** One partition of a queue: what waits in it, and where each group is. */
import { formatDuration } from '../base/format.js';
import { withQuery } from '../base/routes.js';
import { type Column, DataTable } from '../components/data-table.js';
import { Dialog } from '../components/dialog.js';
import { Link } from '../components/link.js';
import { Pairs, Section } from '../components/page.js';
import { Loaded } from '../components/states.js';
import { Count, Name } from '../components/text.js';
import { useCapabilities } from '../data/identity.js';
import { setQuery } from '../data/location.js';
import { EVERY_MS_SLOW, usePoll } from '../data/poll.js';
import { call, type Success } from '../data/request.js';
import type { Ranking } from './queue-partitions.js';

type Position = Success<'POST /api/v1/consumer-groups/positions'>['positions'][number];

interface OnePartitionProps {
  readonly queue: string;
  readonly partition: string;
  /** undefined: it is not among the deepest. */
  readonly ranked: Ranking['partitions'][number] | undefined;
  readonly groups: readonly string[];
  readonly onPeek: () => void;
}

const COLUMNS: readonly Column<Position>[] = [
  {
    key: 'group',
    title: 'Group',
    cell: ({ consumerGroup, queue, partition }) => (
      <Link to={withQuery('/consumers', { group: consumerGroup, queue, partition })}>
        <Name text={consumerGroup} />
      </Link>
    ),
  },
  {
    key: 'offset',
    title: 'Reads next',
    cell: ({ offset }) => (offset === null ? 'not begun' : <Count of={offset} />),
  },
  {
    key: 'metadata',
    title: 'Note of its last transaction',
    isText: true,
    isLong: true,
    cell: ({ metadata }) => <Name text={metadata ?? '–'} />,
  },
];

export function OnePartition({ queue, partition, ranked, groups, onPeek }: OnePartitionProps) {
  const { consume, positions: mayAsk } = useCapabilities();
  const isAsked = mayAsk && groups.length > 0;
  const poll = usePoll(
    isAsked ? `positions ${queue}\n${partition}\n${groups.join('\n')}` : null,
    (signal) => {
      const positions = groups.map((consumerGroup) => ({ queue, partition, consumerGroup }));
      return call('POST /api/v1/consumer-groups/positions', { body: { positions }, signal });
    },
    EVERY_MS_SLOW,
  );
  const depth = (count: number | undefined) =>
    count === undefined ? 'not among the deepest' : <Count of={count} />;
  return (
    <Dialog title="One partition" onClose={() => setQuery({ partition: null })} isWide>
      <div class="stack">
        <Pairs
          facts={[
            { label: 'Partition', value: <Name text={partition} /> },
            { label: 'Pending', value: depth(ranked?.pending) },
            { label: 'Leased', value: depth(ranked?.processing) },
            { label: 'Oldest unread', value: formatDuration(ranked?.lagSeconds) },
          ]}
        />
        <div class="actions">
          {consume && (
            <button type="button" onClick={onPeek}>
              Peek
            </button>
          )}
          <Link to={withQuery('/messages', { queue, partition, range: '7d' })}>Its messages</Link>
        </div>
        <Section title="Where each group is">
          {!isAsked ? (
            <p class="quiet">
              {mayAsk ? 'No group reads this queue.' : 'Shown to those who consume.'}
            </p>
          ) : (
            <Loaded poll={poll} what="the positions">
              {({ positions }) => (
                <DataTable
                  caption="Where each group is"
                  columns={COLUMNS}
                  rows={positions}
                  rowKey={({ consumerGroup }) => consumerGroup}
                />
              )}
            </Loaded>
          )}
        </Section>
      </div>
    </Dialog>
  );
}
