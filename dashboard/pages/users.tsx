/** Operators: the users, clusters and tenants of the cell that the acting cluster is in. */
import { useMemo } from 'preact/hooks';
import {
  adminCounts,
  type CellCluster,
  type CellUser,
  type CellUsers,
  tenantCounts,
  usersHolding,
} from '../base/cell-users.js';
import { counted, formatInteger } from '../base/format.js';
import { STATUS_WORDS } from '../base/gateway-words.js';
import { holds } from '../base/order.js';
import { type Column, DataTable } from '../components/data-table.js';
import { ListFilter } from '../components/list-filter.js';
import { Page } from '../components/page.js';
import { Loaded } from '../components/states.js';
import { Tabs } from '../components/tabs.js';
import { Ago, Badge, Count, Name } from '../components/text.js';
import { setQuery, usePlace } from '../data/location.js';
import { type Poll, usePoll } from '../data/poll.js';
import { call } from '../data/request.js';
import { CreateUser } from './create-user.js';
import { OneUser } from './one-user.js';

/** The answer has 10,000 users of the cell: megabytes. What is changed is asked anew. */
const EVERY_MS = 60_000;
const MS_MAX = 60_000;

export function UsersPage() {
  const poll = usePoll(
    'users of the cell',
    (signal) => call('GET /api/operator/users', { signal, msMax: MS_MAX }),
    EVERY_MS,
    { restMsMax: 10 * EVERY_MS },
  );
  const actions = poll.data !== null && <CreateUser cell={poll.data} onChange={poll.refresh} />;
  return (
    <Page title="Users" actions={actions}>
      <Loaded poll={poll} what="the users">
        {(cell) => <Cell cell={cell} poll={poll} />}
      </Loaded>
    </Page>
  );
}

function Cell({ cell, poll }: { readonly cell: CellUsers; readonly poll: Poll<CellUsers> }) {
  const { query } = usePlace();
  const { users, clusters, tenants, nextAfter = null } = cell;
  const more = nextAfter === null ? '' : ' and more';
  const view = query.get('view') ?? 'users';
  const views = [
    { value: 'users', label: `Users ${formatInteger(users.length)}${more}` },
    { value: 'clusters', label: `Clusters ${formatInteger(clusters.length)}` },
    { value: 'tenants', label: `Tenants ${formatInteger(tenants.length)}` },
  ];
  const open = users.find(({ id }) => id === query.get('user'));
  return (
    <div class="stack">
      <div class="section-head">
        <Tabs
          label="What is listed"
          value={view}
          choices={views}
          onChoose={(value) => setQuery({ view: value === 'users' ? null : value, q: null })}
        />
        <span class="quiet">
          of the cell <Name text={cell.cell.slug} />
        </span>
      </div>
      {view === 'clusters' && <Clusters cell={cell} />}
      {view === 'tenants' && <Tenants cell={cell} />}
      {view === 'users' && <Users users={users} />}
      {open !== undefined && (
        <OneUser
          key={open.id}
          user={open}
          cell={cell}
          onClose={() => setQuery({ user: null })}
          onChange={poll.refresh}
        />
      )}
    </div>
  );
}

/** In words as far as a line has room for them. */
const ROLES_SHOWN = 2;

function rolesText({ roles, is_operator: isOperator }: CellUser): string {
  if (roles.length === 0) return isOperator ? 'operator' : 'none';
  const shown = roles.slice(0, ROLES_SHOWN).map(({ cluster_slug, role }) => {
    return `${cluster_slug}: ${role}`;
  });
  const more = roles.length - shown.length;
  const first = isOperator ? ['operator'] : [];
  return [...first, ...shown, ...(more > 0 ? [`${more} more`] : [])].join(', ');
}

const USER_COLUMNS: readonly Column<CellUser>[] = [
  {
    key: 'email',
    title: 'Address',
    isLong: true,
    value: ({ email }) => email,
    cell: ({ email }) => <Name text={email} />,
  },
  {
    key: 'name',
    title: 'Name',
    isText: true,
    isMinor: true,
    isLong: true,
    value: ({ name }) => name,
    cell: ({ name }) => (name === null ? <span class="quiet">–</span> : <Name text={name} />),
  },
  {
    key: 'tenant',
    title: 'Tenant',
    isText: true,
    isMinor: true,
    value: ({ tenant_slug }) => tenant_slug,
    cell: ({ tenant_slug }) => <Name text={tenant_slug} />,
  },
  {
    key: 'roles',
    title: 'Roles',
    isText: true,
    isMinor: true,
    value: rolesText,
    cell: (user) => <Name text={rolesText(user)} />,
  },
  {
    key: 'password',
    title: 'Password',
    isText: true,
    isMinor: true,
    value: ({ has_local_password }) => Number(has_local_password),
    cell: ({ has_local_password }) => (has_local_password ? 'yes' : <span class="quiet">no</span>),
  },
  {
    key: 'created',
    title: 'Created',
    isMinor: true,
    value: ({ created_at }) => created_at,
    cell: ({ created_at }) => <Ago at={created_at} />,
  },
  {
    key: 'login',
    title: 'Last login',
    value: ({ last_login_at }) => last_login_at,
    cell: ({ last_login_at: at }) =>
      at === null ? <span class="quiet">never</span> : <Ago at={at} />,
  },
];

function Users({ users }: { readonly users: readonly CellUser[] }) {
  const { query } = usePlace();
  const text = query.get('q') ?? '';
  const shown = useMemo(() => usersHolding(users, text), [users, text]);
  return (
    <div>
      <ListFilter
        label="Address, name or tenant holds"
        count={counted(shown.length, 'user', 'users')}
      />
      <DataTable
        caption="Users of the cell"
        columns={USER_COLUMNS}
        rows={shown}
        rowKey={({ id }) => id}
        onOpen={({ id }) => setQuery({ user: id })}
        empty={users.length === 0 ? 'No user yet.' : 'No user has this.'}
      />
    </div>
  );
}

interface ClusterLine extends CellCluster {
  readonly tenant: string;
  readonly admins: number;
}

const CLUSTER_COLUMNS: readonly Column<ClusterLine>[] = [
  {
    key: 'slug',
    title: 'Cluster',
    isLong: true,
    value: ({ slug }) => slug,
    cell: ({ slug }) => <Name text={slug} />,
  },
  {
    key: 'tenant',
    title: 'Tenant',
    isText: true,
    value: ({ tenant }) => tenant,
    cell: ({ tenant }) => <Name text={tenant} />,
  },
  {
    key: 'status',
    title: 'Status',
    isText: true,
    value: ({ status }) => status,
    cell: ({ status }) => (
      <Badge tone={status === 'active' ? 'good' : 'wait'}>{STATUS_WORDS[status] ?? status}</Badge>
    ),
  },
  {
    key: 'admins',
    title: 'Admins',
    value: ({ admins }) => admins,
    cell: ({ admins }) => <Count of={admins} />,
  },
];

function Clusters({ cell: { clusters, tenants, users } }: { readonly cell: CellUsers }) {
  const { query } = usePlace();
  const text = query.get('q') ?? '';
  const lines = useMemo(() => clusterLines({ clusters, tenants, users }), [clusters]);
  const shown = useMemo(
    () => lines.filter(({ slug, tenant }) => holds(text, [slug, tenant])),
    [lines, text],
  );
  return (
    <div>
      <ListFilter
        label="Cluster or tenant holds"
        count={counted(shown.length, 'cluster', 'clusters')}
      />
      <DataTable
        caption="Clusters of the cell"
        columns={CLUSTER_COLUMNS}
        rows={shown}
        rowKey={({ id }) => id}
        empty="No cluster has this."
      />
    </div>
  );
}

function clusterLines({
  clusters,
  tenants,
  users,
}: Pick<CellUsers, 'clusters' | 'tenants' | 'users'>): readonly ClusterLine[] {
  const slugs = new Map(tenants.map(({ id, slug }) => [id, slug]));
  const admins = adminCounts(users);
  return clusters.map((cluster) => ({
    ...cluster,
    tenant: slugs.get(cluster.tenant_id) ?? '',
    admins: admins.get(cluster.id) ?? 0,
  }));
}

interface TenantLine {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  readonly users: number;
  readonly clusters: number;
}

const TENANT_COLUMNS: readonly Column<TenantLine>[] = [
  {
    key: 'slug',
    title: 'Tenant',
    value: ({ slug }) => slug,
    cell: ({ slug }) => <Name text={slug} />,
  },
  {
    key: 'name',
    title: 'Name',
    isText: true,
    isLong: true,
    value: ({ name }) => name,
    cell: ({ name }) => <Name text={name} />,
  },
  {
    key: 'clusters',
    title: 'Clusters',
    value: ({ clusters }) => clusters,
    cell: ({ clusters }) => <Count of={clusters} />,
  },
  {
    key: 'users',
    title: 'Users',
    value: ({ users }) => users,
    cell: ({ users }) => <Count of={users} />,
  },
];

function Tenants({ cell: { tenants, clusters, users } }: { readonly cell: CellUsers }) {
  const { query } = usePlace();
  const text = query.get('q') ?? '';
  const lines = useMemo(() => {
    const [has, of] = [tenantCounts(users), tenantCounts(clusters)];
    return tenants.map((tenant) => ({
      ...tenant,
      users: has.get(tenant.id) ?? 0,
      clusters: of.get(tenant.id) ?? 0,
    }));
  }, [tenants]);
  const shown = useMemo(
    () => lines.filter(({ slug, name }) => holds(text, [slug, name])),
    [lines, text],
  );
  return (
    <div>
      <ListFilter label="Tenant or name holds" count={counted(shown.length, 'tenant', 'tenants')} />
      <DataTable
        caption="Tenants of the cell"
        columns={TENANT_COLUMNS}
        rows={shown}
        rowKey={({ id }) => id}
        empty="No tenant has this."
      />
    </div>
  );
}
