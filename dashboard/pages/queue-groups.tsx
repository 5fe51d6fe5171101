/** The consumer groups of a queue: how far behind each is. */
import { pathOfGroup } from '../base/consumer-groups.js';
import { type Column, DataTable } from '../components/data-table.js';
import { Link } from '../components/link.js';
import { Section } from '../components/page.js';
import { Loaded } from '../components/states.js';
import { Count } from '../components/text.js';
import { EVERY_MS_LIST } from '../data/poll.js';
import { callFully, type Success } from '../data/request.js';
import { type Pages, usePages } from '../data/use-pages.js';
import { Behind, GroupName, GroupState, OldestUnread } from './group-texts.js';

type Group = Success<'GET /api/v1/consumer-groups'>[number];

const PAGE_ROWS = 1000;
/** A page ends before it is full when the node has passed many groups at other queues. */
const PAGES_AT_ONCE = 10;

const COLUMNS: readonly Column<Group>[] = [
  {
    key: 'name',
    title: 'Group',
    value: ({ name }) => name,
    cell: ({ name, queueName }) => (
      <Link to={pathOfGroup(name, queueName)}>
        <GroupName group={name} />
      </Link>
    ),
  },
  {
    key: 'state',
    title: 'State',
    isText: true,
    isMinor: true,
    value: ({ state }) => state,
    cell: ({ state }) => <GroupState state={state} />,
  },
  {
    key: 'lag',
    title: 'Lag',
    value: ({ totalLag }) => totalLag,
    cell: ({ totalLag }) => <Count of={totalLag} />,
  },
  {
    key: 'time',
    title: 'Oldest unread',
    value: ({ maxTimeLag }) => maxTimeLag,
    cell: ({ maxTimeLag }) => <OldestUnread seconds={maxTimeLag} />,
  },
  {
    key: 'behind',
    title: 'Partitions behind',
    isMinor: true,
    value: ({ partitionsWithLag }) => partitionsWithLag,
    cell: (row) => <Behind of={row} />,
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
        const query = { queue, limit: PAGE_ROWS, after };
        const { body, nextAfter } = await callFully('GET /api/v1/consumer-groups', {
          query,
          signal,
        });
        for (const group of body) rows.push(group);
        after = nextAfter;
        if (after === null || rows.length >= PAGE_ROWS) break;
      }
      return { rows, nextAfter: after };
    },
    EVERY_MS_LIST,
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
