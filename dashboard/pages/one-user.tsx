/** One user of the cell: the name, and the roles on clusters of the tenant. */
import { useState } from 'preact/hooks';
import {
  adminCounts,
  type CellUser,
  type CellUsers,
  clustersWithout,
  nameFault,
} from '../base/cell-users.js';
import type { MemberRole } from '../base/gateway-words.js';
import { LAST_ADMIN } from '../base/last-admin.js';
import { type Column, DataTable } from '../components/data-table.js';
import { Dialog, Refusal } from '../components/dialog.js';
import { Field, TextInput } from '../components/form.js';
import { Pairs } from '../components/page.js';
import { tell } from '../components/results.js';
import { Name, Time } from '../components/text.js';
import { call } from '../data/request.js';
import { useAction } from '../data/use-action.js';
import { RoleSelect } from './member-role.js';
import { NamedField } from './named-field.js';

interface OneUserProps {
  readonly user: CellUser;
  readonly cell: CellUsers;
  readonly onClose: () => void;
  readonly onChange: () => void;
}

export function OneUser({ user, cell, onClose, onChange }: OneUserProps) {
  const { email, tenant_slug, is_operator, has_local_password, created_at, last_login_at } = user;
  return (
    <Dialog title={email} onClose={onClose} isWide isForm>
      <div class="stack">
        <Pairs
          facts={[
            { label: 'Tenant', value: <Name text={tenant_slug} /> },
            { label: 'Operator', value: is_operator ? 'yes' : 'no' },
            { label: 'Has a password', value: has_local_password ? 'yes' : 'no' },
            { label: 'Created', value: <Time at={created_at} /> },
            {
              label: 'Last login',
              value: last_login_at === null ? 'never' : <Time at={last_login_at} />,
            },
          ]}
        />
        <Rename user={user} onChange={onChange} />
        <Roles user={user} cell={cell} onChange={onChange} />
        <div class="dialog-foot">
          <button type="button" onClick={onClose}>
            Done
          </button>
        </div>
      </div>
    </Dialog>
  );
}

type PartProps = Omit<OneUserProps, 'onClose'>;

function Rename({ user: { id, name }, onChange }: Pick<PartProps, 'user' | 'onChange'>) {
  const [typed, setTyped] = useState(name ?? '');
  const wanted = typed.trim();
  const isNew = wanted !== (name ?? '');
  const renaming = useAction(async () => {
    const params = { id };
    await call('PATCH /api/operator/users/{id}', { params, body: { name: wanted } });
    tell(
      <>
        Renamed to <Name text={wanted} />
      </>,
    );
    onChange();
  });
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        if (isNew && nameFault(typed) === null) void renaming.run();
      }}
    >
      <Field label="Name" error={isNew ? nameFault(typed) : null}>
        {(id) => <TextInput id={id} value={typed} onInput={setTyped} />}
      </Field>
      <Refusal error={renaming.error} />
      {isNew && (
        <div>
          <button type="submit" disabled={renaming.isBusy || nameFault(typed) !== null}>
            {renaming.isBusy ? 'Under way…' : 'Rename'}
          </button>
        </div>
      )}
    </form>
  );
}

type RoleHeld = CellUser['roles'][number];

function Roles({ user, cell, onChange }: PartProps) {
  const { id, roles } = user;
  const admins = adminCounts(cell.users);
  const setting = useAction(async (cluster: string, slug: string, role: MemberRole | null) => {
    const params = { id, cluster };
    const given = { params, body: { role } };
    try {
      if (role === null) await call('DELETE /api/operator/users/{id}/roles/{cluster}', { params });
      else await call('PUT /api/operator/users/{id}/roles/{cluster}', given);
    } finally {
      onChange();
    }
    tell(
      <>
        <Name text={user.email} /> {role === null ? 'has no role' : `is ${role}`} on{' '}
        <Name text={slug} /> now
      </>,
    );
  });
  const isLast = ({ cluster_id, role }: RoleHeld) =>
    role === 'admin' && (admins.get(cluster_id) ?? 0) < 2;
  const set = (held: RoleHeld, role: MemberRole | null) =>
    void setting.run(held.cluster_id, held.cluster_slug, role);
  return (
    <>
      <h3>Roles</h3>
      <div class="roles">
        <DataTable
          caption="Roles of the user"
          isDense
          columns={columnsOf({ isLast, isBusy: setting.isBusy, onSet: set })}
          rows={roles}
          rowKey={({ cluster_id }) => cluster_id}
          empty="No role on any cluster."
        />
      </div>
      {roles.some(isLast) && <p class="quiet">{LAST_ADMIN}</p>}
      <GiveRole user={user} cell={cell} isBusy={setting.isBusy} onGive={setting.run} />
      <Refusal error={setting.error} />
    </>
  );
}

interface RolesProps {
  readonly isLast: (held: RoleHeld) => boolean;
  readonly isBusy: boolean;
  readonly onSet: (held: RoleHeld, role: MemberRole | null) => void;
}

function columnsOf({ isLast, isBusy, onSet }: RolesProps): readonly Column<RoleHeld>[] {
  return [
    {
      key: 'cluster',
      title: 'Cluster',
      value: ({ cluster_slug }) => cluster_slug,
      cell: ({ cluster_slug }) => <Name text={cluster_slug} />,
    },
    {
      key: 'role',
      title: 'Role',
      isText: true,
      value: ({ role }) => role,
      cell: (held) => {
        if (isLast(held)) return 'admin, the only one';
        const change = (role: MemberRole) => onSet(held, role);
        return <OtherRole key={held.role} held={held} isBusy={isBusy} onChange={change} />;
      },
    },
    {
      key: 'actions',
      title: 'Actions',
      isText: true,
      cell: (held) =>
        isLast(held) ? (
          <span class="quiet">–</span>
        ) : (
          <button
            type="button"
            class="plain"
            aria-label={`Remove the role on ${held.cluster_slug}`}
            disabled={isBusy}
            onClick={() => onSet(held, null)}
          >
            Remove
          </button>
        ),
    },
  ];
}

interface OtherRoleProps {
  readonly held: RoleHeld;
  readonly isBusy: boolean;
  readonly onChange: (role: MemberRole) => void;
}

/** The button sends it: a choice alone does not, since arrow keys make one with each press. */
function OtherRole({ held: { cluster_slug: slug, role: has }, isBusy, onChange }: OtherRoleProps) {
  const [role, setRole] = useState(has);
  return (
    <span class="other-role">
      <RoleSelect label={`Role on ${slug}`} role={role} onInput={setRole} />
      <button
        type="button"
        class="plain"
        aria-label={`Change the role on ${slug}`}
        disabled={isBusy || role === has}
        onClick={() => onChange(role)}
      >
        Change
      </button>
    </span>
  );
}

interface GiveRoleProps {
  readonly user: CellUser;
  readonly cell: CellUsers;
  readonly isBusy: boolean;
  readonly onGive: (cluster: string, slug: string, role: MemberRole) => Promise<boolean>;
}

/** A role on one more cluster of the tenant. */
function GiveRole({ user, cell, isBusy, onGive }: GiveRoleProps) {
  const [slug, setSlug] = useState('');
  const [role, setRole] = useState<MemberRole>('viewer');
  const open = clustersWithout(user, cell.clusters);
  const cluster = open.find((one) => one.slug === slug.trim());
  if (open.length === 0) return null;
  const submit = async (event: Event) => {
    event.preventDefault();
    if (cluster !== undefined && (await onGive(cluster.id, cluster.slug, role))) setSlug('');
  };
  return (
    <form class="fields" onSubmit={(event) => void submit(event)}>
      <NamedField
        label="On the cluster"
        value={slug}
        names={open.map((one) => one.slug)}
        onInput={setSlug}
      />
      <Field label="As">{(id) => <RoleSelect id={id} role={role} onInput={setRole} />}</Field>
      <div class="at-foot">
        <button type="submit" disabled={isBusy || cluster === undefined}>
          {isBusy ? 'Under way…' : 'Give the role'}
        </button>
      </div>
    </form>
  );
}
