/** Makes a user of a tenant with a first role. Users of a provider get no password. */
import { useState } from 'preact/hooks';
import {
  type CellUsers,
  emailFault,
  type NewUser,
  nameFault,
  PASSWORD_LENGTH,
  passwordFault,
} from '../base/cell-users.js';
import type { MemberRole } from '../base/gateway-words.js';
import { Dialog, FormFoot, Refusal } from '../components/dialog.js';
import { Field, Select, TextInput } from '../components/form.js';
import { tell } from '../components/results.js';
import { Name } from '../components/text.js';
import { call } from '../data/request.js';
import { useAction } from '../data/use-action.js';
import { RoleField } from './member-role.js';
import { NamedField } from './named-field.js';

interface CreateUserProps {
  readonly cell: CellUsers;
  readonly onChange: () => void;
}

export function CreateUser({ cell, onChange }: CreateUserProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" class="primary" onClick={() => setOpen(true)}>
        Create a user
      </button>
      {isOpen && <CreateDialog cell={cell} onClose={() => setOpen(false)} onChange={onChange} />}
    </>
  );
}

type Provider = NewUser['provider'];

const PROVIDERS: readonly { readonly value: Provider; readonly label: string }[] = [
  { value: 'local', label: 'a password' },
  { value: 'google', label: 'Google' },
  { value: 'github', label: 'GitHub' },
];

interface Typed {
  readonly tenant: string;
  readonly cluster: string;
  readonly email: string;
  readonly name: string;
  readonly provider: Provider;
  readonly password: string;
  readonly role: MemberRole;
}

function CreateDialog({ cell, onClose, onChange }: CreateUserProps & { onClose: () => void }) {
  const [typed, setTyped] = useState<Typed>(() => firstTyped(cell));
  const [isTold, setTold] = useState(false);
  const set = (changed: Partial<Typed>) => setTyped({ ...typed, ...changed });
  const faults = faultsOf(typed, cell);
  const told = (of: keyof typeof faults) => (isTold ? faults[of] : null);
  const creation = useAction(async () => {
    const body = bodyOf(typed, cell);
    await call('POST /api/operator/users', { body }).finally(onChange);
    tell(
      <>
        Created <Name text={body.email} />
      </>,
    );
    onClose();
  });
  const submit = (event: Event) => {
    event.preventDefault();
    setTold(true);
    if (Object.values(faults).every((fault) => fault === null)) void creation.run();
  };
  return (
    <Dialog title="Create a user" onClose={onClose} isForm>
      <form class="stack" onSubmit={submit}>
        <div class="fields">
          <NamedField
            label="Tenant"
            value={typed.tenant}
            names={cell.tenants.map(({ slug }) => slug)}
            error={told('tenant')}
            onInput={(slug) => set({ tenant: slug, cluster: onlyCluster(cell, slug) })}
          />
          <NamedField
            label="Cluster"
            value={typed.cluster}
            names={clustersOf(cell, typed.tenant).map(({ slug }) => slug)}
            error={told('cluster')}
            onInput={(slug) => set({ cluster: slug })}
          />
        </div>
        <RoleField role={typed.role} onInput={(role) => set({ role })} />
        <Field label="Address" error={told('email')}>
          {(id) => <TextInput id={id} value={typed.email} onInput={(email) => set({ email })} />}
        </Field>
        <Field label="Name" error={told('name')}>
          {(id) => <TextInput id={id} value={typed.name} onInput={(name) => set({ name })} />}
        </Field>
        <LoginFields typed={typed} onInput={set} fault={told('password')} />
        <Refusal error={creation.error} />
        <FormFoot label="Create" onClose={onClose} isBusy={creation.isBusy} />
      </form>
    </Dialog>
  );
}

function tenantOf({ tenants }: CellUsers, slug: string) {
  return tenants.find((tenant) => tenant.slug === slug.trim());
}

/** Those of a tenant; none while no tenant has that name. */
function clustersOf(cell: CellUsers, tenantSlug: string) {
  const tenant = tenantOf(cell, tenantSlug);
  return cell.clusters.filter(({ tenant_id }) => tenant_id === tenant?.id);
}

function clusterOf(cell: CellUsers, { tenant, cluster }: Typed) {
  return clustersOf(cell, tenant).find(({ slug }) => slug === cluster.trim());
}

/** null: nothing is wrong with it. */
function faultsOf(typed: Typed, cell: CellUsers) {
  const isTenant = tenantOf(cell, typed.tenant) !== undefined;
  const isCluster = clusterOf(cell, typed) !== undefined;
  return {
    tenant: isTenant ? null : 'No tenant of this cell has that name.',
    cluster: isCluster ? null : 'No cluster of the tenant has that name.',
    email: emailFault(typed.email),
    name: nameFault(typed.name),
    password: passwordFault(typed.provider, typed.password),
  };
}

function bodyOf(typed: Typed, cell: CellUsers): NewUser {
  const { provider, password, role } = typed;
  return {
    tenant_id: tenantOf(cell, typed.tenant)?.id ?? '',
    cluster_id: clusterOf(cell, typed)?.id ?? '',
    email: typed.email.trim().toLowerCase(),
    name: typed.name.trim(),
    provider,
    role,
    ...(provider === 'local' && { password }),
  };
}

interface LoginFieldsProps {
  readonly typed: Typed;
  readonly fault: string | null;
  readonly onInput: (changed: Partial<Typed>) => void;
}

function LoginFields({ typed: { provider, password }, fault, onInput }: LoginFieldsProps) {
  const choose = (value: string) =>
    onInput({ provider: PROVIDERS.find((one) => one.value === value)?.value ?? provider });
  return (
    <>
      <Field label="Logs in by">
        {(id) => <Select id={id} value={provider} choices={PROVIDERS} onInput={choose} />}
      </Field>
      {provider === 'local' && (
        <Field
          label="Password"
          note={`${PASSWORD_LENGTH.min} to ${PASSWORD_LENGTH.max} characters`}
          error={fault}
        >
          {(id) => (
            <TextInput
              id={id}
              type="password"
              value={password}
              onInput={(text) => onInput({ password: text })}
            />
          )}
        </Field>
      )}
    </>
  );
}

/** A list of one is chosen from at once. */
function firstTyped(cell: CellUsers): Typed {
  const tenant = cell.tenants.length === 1 ? (cell.tenants[0]?.slug ?? '') : '';
  return {
    tenant,
    cluster: onlyCluster(cell, tenant),
    email: '',
    name: '',
    provider: 'local',
    password: '',
    role: 'viewer',
  };
}

function onlyCluster(cell: CellUsers, tenantSlug: string): string {
  const here = clustersOf(cell, tenantSlug);
  return here.length === 1 ? (here[0]?.slug ?? '') : '';
}
