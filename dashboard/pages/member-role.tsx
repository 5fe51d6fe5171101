/** Gives somebody a role on the cluster. */
import { useState } from 'preact/hooks';
import { CallError } from '../base/call-error.js';
import { emailFault } from '../base/cell-users.js';
import { MEMBER_ROLES, type MemberRole, ROLE_WORDS } from '../base/gateway-words.js';
import { Dialog, FormFoot, Refusal } from '../components/dialog.js';
import { Field, Select, TextInput } from '../components/form.js';
import { tell } from '../components/results.js';
import { Name } from '../components/text.js';
import { call, type Success } from '../data/request.js';
import { useAction } from '../data/use-action.js';

type Member = Success<'GET /api/console/members'>[number];

interface AddMemberProps {
  readonly known: readonly Member[];
  readonly onChange: () => void;
}

export function AddMember({ known, onChange }: AddMemberProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" class="primary" onClick={() => setOpen(true)}>
        Add a member
      </button>
      {isOpen && <AddDialog known={known} onClose={() => setOpen(false)} onChange={onChange} />}
    </>
  );
}

const UNKNOWN_USER =
  'No user of this tenant has that address. Whoever runs this service makes users, and who logs ' +
  'in by Google or GitHub may become one; then they can be added here.';

function AddDialog({ known, onClose, onChange }: AddMemberProps & { onClose: () => void }) {
  const [typed, setTyped] = useState('');
  const [role, setRole] = useState<MemberRole>('viewer');
  const [isTold, setTold] = useState(false);
  const email = typed.trim().toLowerCase();
  const isMember = known.some((member) => member.email === email);
  const fault =
    emailFault(email) ?? (isMember ? 'A member already: change the role instead.' : null);
  const addition = useAction(async () => {
    await grantRole(email, role).finally(onChange);
    onClose();
  });
  const submit = (event: Event) => {
    event.preventDefault();
    setTold(true);
    if (fault === null) void addition.run();
  };
  return (
    <Dialog title="Add a member" onClose={onClose} isForm>
      <form class="stack" onSubmit={submit}>
        <Field
          label="Address"
          note="Of a user of this tenant"
          error={isTold || isMember ? fault : null}
        >
          {(id) => <TextInput id={id} value={typed} onInput={setTyped} />}
        </Field>
        <RoleField role={role} onInput={setRole} />
        <Refusal error={addition.error} />
        <FormFoot label="Add" onClose={onClose} isBusy={addition.isBusy} />
      </form>
    </Dialog>
  );
}

/** Rejects with words for the reader. */
export async function grantRole(email: string, role: MemberRole): Promise<void> {
  try {
    await call('POST /api/console/members', { body: { email, role } });
  } catch (error) {
    if (error instanceof CallError && error.status === 404) throw new Error(UNKNOWN_USER);
    throw error;
  }
  tell(
    <>
      <Name text={email} /> is {role} now
    </>,
  );
}

interface RoleProps {
  readonly role: MemberRole;
  readonly onInput: (role: MemberRole) => void;
}

export function RoleField({ role, onInput }: RoleProps) {
  return (
    <Field label="Role" note={`May ${ROLE_WORDS[role]}`}>
      {(id) => <RoleSelect id={id} role={role} onInput={onInput} />}
    </Field>
  );
}

const ROLE_CHOICES = MEMBER_ROLES.map((role) => ({ value: role, label: role }));

interface RoleSelectProps extends RoleProps {
  readonly id?: string;
  readonly label?: string;
}

export function RoleSelect({ role, onInput, ...named }: RoleSelectProps) {
  const choose = (value: string) => onInput(MEMBER_ROLES.find((one) => one === value) ?? role);
  return <Select {...named} value={role} choices={ROLE_CHOICES} onInput={choose} />;
}
