/** One member: another role, or none. The only administrator keeps it, and that is said first. */
import { useState } from 'preact/hooks';
import type { MemberRole } from '../base/gateway-words.js';
import { LAST_ADMIN } from '../base/last-admin.js';
import { ConfirmByName, Dialog, FormFoot, Refusal } from '../components/dialog.js';
import { tell } from '../components/results.js';
import { Notice } from '../components/states.js';
import { Name } from '../components/text.js';
import { useSession } from '../data/identity.js';
import { call, type Success } from '../data/request.js';
import { useAction } from '../data/use-action.js';
import { grantRole, RoleField } from './member-role.js';

interface OneMemberProps {
  readonly member: Success<'GET /api/console/members'>[number];
  /** The only admin. */
  readonly isLast: boolean;
  readonly onClose: () => void;
  readonly onChange: () => void;
}

export function OneMember(props: OneMemberProps) {
  const [isRemoval, setRemoval] = useState(false);
  if (isRemoval) return <RemoveMember {...props} onBack={() => setRemoval(false)} />;
  return <ChangeRole {...props} onRemove={() => setRemoval(true)} />;
}

function ChangeRole(props: OneMemberProps & { readonly onRemove: () => void }) {
  const { member, isLast, onClose, onChange, onRemove } = props;
  const { email, user_id, role: has } = member;
  const [role, setRole] = useState<MemberRole>(has);
  const isYou = useSession()?.user_id === user_id;
  const change = useAction(async () => {
    await grantRole(email, role).finally(onChange);
    onClose();
  });
  const submit = (event: Event) => {
    event.preventDefault();
    if (role !== has && !isLast) void change.run();
  };
  return (
    <Dialog title="Change a member" onClose={onClose}>
      <form class="stack" onSubmit={submit}>
        <p>
          <Name text={email} /> is {has}.
        </p>
        {isLast ? (
          <Notice tone="wait">{LAST_ADMIN}</Notice>
        ) : (
          <RoleField role={role} onInput={setRole} />
        )}
        {isYou && has === 'admin' && role !== 'admin' && (
          <Notice tone="wait">
            This is you: without the role of an admin you cannot come back to this page.
          </Notice>
        )}
        <Refusal error={change.error} />
        <FormFoot
          label="Change"
          onClose={onClose}
          isBusy={change.isBusy}
          isForbidden={isLast || role === has}
        >
          <button type="button" class="apart" disabled={isLast} onClick={onRemove}>
            Remove
          </button>
        </FormFoot>
      </form>
    </Dialog>
  );
}

function RemoveMember(props: OneMemberProps & { readonly onBack: () => void }) {
  const { member, onClose, onChange, onBack } = props;
  const { email, user_id } = member;
  const isYou = useSession()?.user_id === user_id;
  const removal = useAction(async () => {
    await call('DELETE /api/console/members', { body: { email } }).finally(onChange);
    tell(
      <>
        Removed <Name text={email} />
      </>,
    );
    onClose();
  });
  return (
    <ConfirmByName
      title="Remove a member"
      action="Remove the member"
      onConfirm={() => void removal.run()}
      onClose={onBack}
      isBusy={removal.isBusy}
      error={removal.error}
    >
      <p>
        <Name text={email} /> has no role on this cluster any more, and sees nothing of it. The
        account stays, and so do keys that were created with it.
      </p>
      {isYou && <p>This is you: another admin would have to add you again.</p>}
    </ConfirmByName>
  );
}
