/** One key: what it may do, and its end. */
import { useState } from 'preact/hooks';
import { SCOPE_WORDS } from '../base/gateway-words.js';
import { ConfirmByName, Dialog } from '../components/dialog.js';
import { Pairs } from '../components/page.js';
import { tell } from '../components/results.js';
import { Ago, Name, Time } from '../components/text.js';
import { call, type Success } from '../data/request.js';
import { useAction } from '../data/use-action.js';

interface OneKeyProps {
  readonly of: Success<'GET /api/console/keys'>[number];
  readonly onClose: () => void;
  readonly onChange: () => void;
}

export function OneKey(props: OneKeyProps) {
  const [isRevocation, setRevocation] = useState(false);
  if (isRevocation) return <RevokeKey {...props} onBack={() => setRevocation(false)} />;
  return <ShownKey {...props} onRevoke={() => setRevocation(true)} />;
}

function ShownKey({ of: key, onClose, onRevoke }: OneKeyProps & { readonly onRevoke: () => void }) {
  const { id, name, scopes, created_at, last_used_at, revoked_at } = key;
  return (
    <Dialog title="API key" onClose={onClose}>
      <div class="stack">
        <Pairs
          facts={[
            { label: 'Name', value: <Name text={name} /> },
            ...scopes.map((scope) => ({ label: scope, value: SCOPE_WORDS[scope] ?? '–' })),
            { label: 'Created', value: <Time at={created_at} /> },
            { label: 'Last used', value: <LastUsed at={last_used_at} /> },
            ...(revoked_at === null
              ? []
              : [{ label: 'Revoked', value: <Time at={revoked_at} />, tone: 'bad' as const }]),
            { label: 'Id', value: <Name text={id} /> },
          ]}
        />
        <div class="dialog-foot">
          {revoked_at === null && (
            <button type="button" class="apart" onClick={onRevoke}>
              Revoke
            </button>
          )}
          <button type="button" onClick={onClose}>
            Done
          </button>
        </div>
      </div>
    </Dialog>
  );
}

function LastUsed({ at }: { readonly at: string | null }) {
  return at === null ? <>never</> : <Ago at={at} />;
}

function RevokeKey(props: OneKeyProps & { readonly onBack: () => void }) {
  const { of: key, onClose, onChange, onBack } = props;
  const { id, name, last_used_at } = key;
  const revocation = useAction(async () => {
    // Somebody else may have revoked it: the list is asked anew in any case.
    await call('DELETE /api/console/keys/{id}', { params: { id } }).finally(onChange);
    tell(
      <>
        Revoked <Name text={name} />
      </>,
    );
    onClose();
  });
  return (
    <ConfirmByName
      title="Revoke a key"
      name={name}
      action="Revoke the key"
      onConfirm={() => void revocation.run()}
      onClose={onBack}
      isBusy={revocation.isBusy}
      error={revocation.error}
    >
      <p>
        What still uses it is refused within one and a half seconds, on every node. A key that is
        revoked stays so; another one is created in its place.
      </p>
      <p>
        Last used: <LastUsed at={last_used_at} />.
      </p>
    </ConfirmByName>
  );
}
