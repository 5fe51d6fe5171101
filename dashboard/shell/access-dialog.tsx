/** Asks for a token over the page, which stays as it is with all that was typed into it. */
import { useState } from 'preact/hooks';
import { Dialog } from '../components/dialog.js';
import { Field, TextInput } from '../components/form.js';
import { access, declineToken, keepAccess, tokenRefusal } from '../data/access.js';
import { useStore } from '../data/use-store.js';

export function AccessDialog() {
  const [token, setToken] = useState(access.value.token);
  const [tenant, setTenant] = useState(access.value.tenant);
  const refusal = useStore(tokenRefusal);
  const isRefused = refusal !== null && token === access.value.token;
  const tokenFault = faultOf(token) ?? (isRefused ? `Not accepted: ${refusal}.` : null);
  const tenantFault = faultOf(tenant);
  return (
    <Dialog title="Access" onClose={declineToken} isForm>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (faultOf(token) === null && tenantFault === null) keepAccess({ token, tenant });
        }}
      >
        <p class="quiet">
          This node checks tokens. One that is valid shows this page, and allows what its role
          allows.
        </p>
        <Field label="Bearer token" error={tokenFault}>
          {(id) => (
            <TextInput
              id={id}
              type="password"
              value={token}
              onInput={setToken}
              isWrong={tokenFault !== null}
            />
          )}
        </Field>
        <Field label="Tenant" note="Empty: the default tenant." error={tenantFault}>
          {(id) => (
            <TextInput id={id} value={tenant} onInput={setTenant} isWrong={tenantFault !== null} />
          )}
        </Field>
        <p class="quiet">Kept for this tab, until it is closed.</p>
        <div class="dialog-foot">
          <button type="button" onClick={declineToken}>
            Cancel
          </button>
          <button type="submit" class="primary">
            Use
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** Both go as headers, which hold nothing else. */
function faultOf(text: string): string | null {
  if (/^[\x20-\x7e]*$/.test(text.trim())) return null;
  return 'It holds a character that it cannot have: one was copied with it, or left out.';
}
