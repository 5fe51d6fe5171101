/** Behind a gateway: who is logged in, a token for other programs, and the way out. */
import { useState } from 'preact/hooks';
import { CopyButton } from '../components/copy-button.js';
import { Dialog, Refusal } from '../components/dialog.js';
import { Field } from '../components/form.js';
import { Pairs } from '../components/page.js';
import { Badge, Hidden, Name, Time } from '../components/text.js';
import { leave } from '../data/access.js';
import { type Session, useMembership } from '../data/identity.js';
import { call } from '../data/request.js';
import { useAction } from '../data/use-action.js';

interface AccountButtonProps {
  readonly session: Session;
  readonly onOpen: () => void;
}

export function AccountButton({ session, onOpen }: AccountButtonProps) {
  return (
    <button type="button" class="account wide-only" aria-haspopup="dialog" onClick={onOpen}>
      <Hidden>Account of </Hidden>
      <bdi>{session.email}</bdi>
    </button>
  );
}

interface AccountDialogProps {
  readonly session: Session;
  readonly onClose: () => void;
}

export function AccountDialog({ session, onClose }: AccountDialogProps) {
  const cluster = useMembership();
  const leaving = useAction(async () => {
    await call('POST /auth/logout');
    leave();
  });
  return (
    <Dialog title="Account" onClose={onClose}>
      <div class="stack">
        <Pairs
          facts={[
            { label: 'Logged in as', value: <Name text={session.email} /> },
            { label: 'Tenant', value: <Name text={session.tenant_slug} /> },
            { label: 'Cluster', value: <Name text={cluster?.slug ?? 'none'} /> },
            { label: 'Role', value: <RoleShown session={session} role={cluster?.role ?? null} /> },
          ]}
        />
        <SessionToken />
        <Refusal error={leaving.error} />
        <div class="dialog-foot">
          <button type="button" class="primary" disabled={leaving.isBusy} onClick={leaving.run}>
            Log out
          </button>
        </div>
      </div>
    </Dialog>
  );
}

interface RoleShownProps {
  readonly session: Session;
  readonly role: string | null;
}

function RoleShown({ session, role }: RoleShownProps) {
  const mark = session.operator_live ? 'operator' : 'operator, switched off here';
  return (
    <>
      {role ?? 'none'} {session.is_operator && <Badge tone="good">{mark}</Badge>}
    </>
  );
}

/** It is made when it is asked for, and lives for a quarter of an hour. */
function SessionToken() {
  const [made, setMade] = useState<{ readonly token: string; readonly endsMs: number } | null>(
    null,
  );
  const making = useAction(async () => {
    const { token, expires_in: seconds } = await call('GET /auth/session-token');
    setMade({ token, endsMs: Date.now() + seconds * 1000 });
  });
  return (
    <section class="stack" aria-label="Token for the command line">
      <p class="quiet">
        The command line and other programs act as you with a token that ends by itself. For
        anything that stays, make an API key.
      </p>
      {made === null ? (
        <div>
          <button type="button" disabled={making.isBusy} onClick={making.run}>
            Make a token
          </button>
        </div>
      ) : (
        <Field
          label="Bearer token"
          note={
            <>
              Ends at <Time at={made.endsMs} />, whether you log out before or not.
            </>
          }
        >
          {(id) => (
            <span class="token">
              <input id={id} readOnly value={made.token} onFocus={selectAll} />
              <CopyButton text={made.token} label="Copy the token" />
            </span>
          )}
        </Field>
      )}
      <Refusal error={making.error} />
    </section>
  );
}

function selectAll({ currentTarget }: { readonly currentTarget: HTMLInputElement }): void {
  currentTarget.select();
}
