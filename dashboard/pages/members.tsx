/** The members of the cluster and their roles. A cluster keeps an administrator. */
import { useMemo } from 'preact/hooks';
import { counted } from '../base/format.js';
import { isLastAdmin } from '../base/last-admin.js';
import { holds } from '../base/order.js';
import { type Column, DataTable } from '../components/data-table.js';
import { ListFilter } from '../components/list-filter.js';
import { Page } from '../components/page.js';
import { Empty, Loaded } from '../components/states.js';
import { Ago, Badge, Name } from '../components/text.js';
import { useSession } from '../data/identity.js';
import { setQuery, usePlace } from '../data/location.js';
import { EVERY_MS_SLOW, usePoll } from '../data/poll.js';
import { call, type Success } from '../data/request.js';
import { AddMember } from './member-role.js';
import { OneMember } from './one-member.js';

type Member = Success<'GET /api/console/members'>[number];

export function MembersPage() {
  const { query } = usePlace();
  const poll = usePoll(
    'members of the cluster',
    (signal) => call('GET /api/console/members', { signal }),
    EVERY_MS_SLOW,
  );
  const members = poll.data ?? [];
  const open = members.find(({ user_id }) => user_id === query.get('member'));
  return (
    <Page title="Members" actions={<AddMember known={members} onChange={poll.refresh} />}>
      <Loaded poll={poll} what="the members">
        {(all) => <Listed members={all} />}
      </Loaded>
      {open !== undefined && (
        <OneMember
          key={open.user_id}
          member={open}
          isLast={isLastAdmin(members, open.user_id)}
          onClose={() => setQuery({ member: null })}
          onChange={poll.refresh}
        />
      )}
    </Page>
  );
}

function Listed({ members }: { readonly members: readonly Member[] }) {
  const { query } = usePlace();
  const text = query.get('q') ?? '';
  const you = useSession()?.user_id;
  const columns = useMemo(() => columnsOf(members, you), [members, you]);
  const shown = useMemo(
    () => members.filter(({ email, role }) => holds(text, [email, role])),
    [members, text],
  );
  if (members.length === 0) {
    return <Empty>Nobody has a role here yet. Operators act on every cluster without one.</Empty>;
  }
  return (
    <>
      <ListFilter
        label="Address or role holds"
        count={counted(shown.length, 'member', 'members')}
      />
      <DataTable
        caption="Members of the cluster"
        columns={columns}
        rows={shown}
        rowKey={({ user_id }) => user_id}
        onOpen={({ user_id }) => setQuery({ member: user_id })}
        empty="No member has this in the address or role."
      />
    </>
  );
}

function columnsOf(members: readonly Member[], you: string | undefined): readonly Column<Member>[] {
  return [
    {
      key: 'email',
      title: 'Address',
      isLong: true,
      value: ({ email }) => email,
      cell: ({ email, user_id }) => (
        <>
          <Name text={email} /> {user_id === you && <Badge>you</Badge>}
        </>
      ),
    },
    {
      key: 'role',
      title: 'Role',
      isText: true,
      value: ({ role }) => role,
      cell: ({ role, user_id }) => (
        <>
          {role} {isLastAdmin(members, user_id) && <Badge>the only one</Badge>}
        </>
      ),
    },
    {
      key: 'since',
      title: 'Since',
      value: ({ granted_at }) => granted_at,
      cell: ({ granted_at }) => <Ago at={granted_at} />,
    },
  ];
}
