/** Asks for a token over the page, which stays as it is with all that was typed into it. */
import { useState } from 'preact/hooks';
import { Dialog } from '../components/dialog.js';
import { Field, TextInput } from '../components/form.js';
import { access, declineToken, keepAccess } from '../data/access.js';

export function AccessDialog() {
  const [token, setToken] = useState(access.value.token);
  const [tenant, setTenant] = useState(access.value.tenant);
  return (
    <Dialog title="Access" onClose={declineToken}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          keepAccess({ token, tenant });
        }}
      >
        <p class="quiet">
          This node checks tokens. One that is valid shows this page, and allows what its role
          allows.
        </p>
        <Field label="Bearer token">
          {(id) => <TextInput id={id} type="password" value={token} onInput={setToken} />}
        </Field>
        <Field label="Tenant" note="Empty: the default tenant.">
          {(id) => <TextInput id={id} value={tenant} onInput={setTenant} />}
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
