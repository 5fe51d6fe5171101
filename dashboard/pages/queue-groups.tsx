/** The consumer groups of a queue: how far behind each is. */
import { formatDuration } from '../base/format.js';
import { withQuery } from '../base/routes.js';
import { type Column, DataTable } from '../components/data-table.js';
import { Link } from '../components/link.js';
import { Section } from '../components/page.js';
import { Loaded } from '../components/states.js';
import { Badge, Count, Name } from '../components/text.js';
import { EVERY_MS_SLOW } from '../data/poll.js';
import { callFully, type Success } from '../data/request.js';
import { type Pages, usePages } from '../data/use-pages.js';

type Group = Success<'GET /api/v1/consumer-groups'>[number];

const PAGE_ROWS = 1000;
/** The list is of all groups at all queues; so many pages of it are looked through at once. */
const PAGES_AT_ONCE = 10;

const TONES = { Stable: 'good', Lagging: 'bad', Dead: 'plain' } as const;
const STATES = { Stable: 'stable', Lagging: 'lagging', Dead: 'has read nothing' } as const;

const COLUMNS: readonly Column<Group>[] = [
  {
    key: 'name',
    title: 'Group',
    value: ({ name }) => name,
    cell: ({ name, queueName }) => (
      <Link to={withQuery('/consumers', { group: name, queue: queueName })}>
        <Name text={name} />
      </Link>
    ),
  },
  {
    key: 'state',
    title: 'State',
    isText: true,
    value: ({ state }) => state,
    cell: ({ state }) => <Badge tone={TONES[state]}>{STATES[state]}</Badge>,
  },
  {
    key: 'lag',
    title: 'Unread',
    value: ({ totalLag }) => totalLag,
    cell: ({ totalLag }) => <Count of={totalLag} />,
  },
  {
    key: 'time',
    title: 'Oldest waits for',
    value: ({ maxTimeLag }) => maxTimeLag,
    cell: ({ maxTimeLag }) => formatDuration(maxTimeLag),
  },
  {
    key: 'behind',
    title: 'Partitions behind',
    isMinor: true,
    value: ({ partitionsWithLag }) => partitionsWithLag,
    cell: ({ partitionsWithLag }) => <Count of={partitionsWithLag} />,
  },
  {
    key: 'cursors',
    title: 'Partitions read',
    isMinor: true,
    value: ({ partitionCursors }) => partitionCursors,
    cell: ({ partitionCursors }) => <Count of={partitionCursors} />,
  },
  {
    key: 'reads',
    title: 'Reads',
    isText: true,
    isMinor: true,
    cell: ({ conflation }) => (conflation ? 'the newest of each partition' : 'every message'),
  },
];

export function useQueueGroups(queue: string): Pages<Group> {
  return usePages(
    `groups of ${queue}`,
    async (from, signal) => {
      const rows: Group[] = [];
      let after = from;
      for (let page = 0; page < PAGES_AT_ONCE; page++) {
        const query = { limit: PAGE_ROWS, after };
        const { body, nextAfter } = await callFully('GET /api/v1/consumer-groups', {
          query,
          signal,
        });
        for (const group of body) if (group.queueName === queue) rows.push(group);
        after = nextAfter;
        if (after === null) break;
      }
      return { rows, nextAfter: after };
    },
    EVERY_MS_SLOW,
  );
}

export function QueueGroups({ groups: { poll, more } }: { readonly groups: Pages<Group> }) {
  return (
    <Section title="Consumer groups">
      <Loaded poll={poll} what="the groups">
        {({ rows }) => (
          <DataTable
            caption="Consumer groups"
            columns={COLUMNS}
            rows={rows}
            rowKey={({ name }) => name}
            order={{ column: 'lag', descending: true }}
            more={more}
            empty="No group reads this queue."
          />
        )}
      </Loaded>
    </Section>
  );
}
