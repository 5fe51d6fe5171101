/** Creates a key, and shows it: this once, for the gateway keeps no more than its digest. */
import { useEffect, useId, useState } from 'preact/hooks';
import { CallError } from '../base/call-error.js';
import { firstCall } from '../base/first-call.js';
import { SCOPE_WORDS, SCOPES, type Scope } from '../base/gateway-words.js';
import { CopyButton } from '../components/copy-button.js';
import { Dialog, FormFoot, Refusal } from '../components/dialog.js';
import { Field, TextInput, Toggle } from '../components/form.js';
import { tell } from '../components/results.js';
import { Notice } from '../components/states.js';
import { Name } from '../components/text.js';
import { useMembership, useSession } from '../data/identity.js';
import { urlOf } from '../data/location.js';
import { call } from '../data/request.js';
import { useAction } from '../data/use-action.js';

interface Made {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly key: string;
}

type Step = 'closed' | 'asked' | Made;

export function NewKey({ onChange }: { readonly onChange: () => void }) {
  const [step, setStep] = useState<Step>('closed');
  const close = () => setStep('closed');
  return (
    <>
      <button type="button" class="primary" onClick={() => setStep('asked')}>
        Create a key
      </button>
      {step === 'asked' && <AskForKey onClose={close} onMade={setStep} onChange={onChange} />}
      {typeof step === 'object' && <ShownOnce made={step} onClose={close} />}
    </>
  );
}

interface AskForKeyProps {
  readonly onClose: () => void;
  readonly onMade: (made: Made) => void;
  readonly onChange: () => void;
}

function AskForKey({ onClose, onMade, onChange }: AskForKeyProps) {
  const [typed, setName] = useState('');
  const [chosen, setChosen] = useState<readonly Scope[]>(['produce', 'consume']);
  const [isTold, setTold] = useState(false);
  const name = typed.trim();
  const creation = useAction(async () => {
    const scopes = SCOPES.filter((scope) => chosen.includes(scope));
    const { key } = await made(name, scopes).finally(onChange);
    onMade({ name, scopes, key });
  });
  const submit = (event: Event) => {
    event.preventDefault();
    setTold(true);
    if (name !== '' && chosen.length > 0) void creation.run();
  };
  return (
    <Dialog title="Create a key" onClose={onClose} isForm>
      <form class="stack" onSubmit={submit}>
        <Field
          label="Name"
          note="For people: the program or the team that uses it"
          error={isTold && name === '' ? 'A name is needed.' : null}
        >
          {(id) => <TextInput id={id} value={typed} onInput={setName} />}
        </Field>
        <ScopeFields chosen={chosen} onInput={setChosen} />
        {isTold && chosen.length === 0 && (
          <p class="error" role="alert">
            A key that may do nothing is of no use: choose one at least.
          </p>
        )}
        <Refusal error={creation.error} />
        <FormFoot label="Create" onClose={onClose} isBusy={creation.isBusy} />
      </form>
    </Dialog>
  );
}

/** A key whose answer is lost is in the list, and can be revoked there. */
async function made(name: string, scopes: readonly Scope[]): Promise<{ readonly key: string }> {
  try {
    return await call('POST /api/console/keys', { body: { name, scopes } });
  } catch (error) {
    if (!(error instanceof CallError) || error.status !== 503) throw error;
    throw new Error(`${error.message}; if it is in the list all the same, revoke it there`);
  }
}

interface ScopeFieldsProps {
  readonly chosen: readonly Scope[];
  readonly onInput: (chosen: readonly Scope[]) => void;
}

function ScopeFields({ chosen, onInput }: ScopeFieldsProps) {
  const heading = useId();
  const toggle = (scope: Scope, isOn: boolean) =>
    onInput(isOn ? [...chosen, scope] : chosen.filter((one) => one !== scope));
  return (
    <div class="scopes" role="group" aria-labelledby={heading}>
      <span class="quiet" id={heading}>
        It may
      </span>
      {SCOPES.map((scope) => (
        <Toggle
          key={scope}
          label={`${scope}: ${SCOPE_WORDS[scope]}`}
          isOn={chosen.includes(scope)}
          onInput={(isOn) => toggle(scope, isOn)}
        />
      ))}
    </div>
  );
}

const QUESTION = 'This key is not shown again. Close it all the same?';

function ShownOnce({ made, onClose }: { readonly made: Made; readonly onClose: () => void }) {
  const { name, scopes, key } = made;
  const line = firstCall(urlOf('/').replace(/\/$/, ''), key, scopes);
  const done = () => {
    tell(
      <>
        Created <Name text={name} />
      </>,
    );
    onClose();
  };
  useKeptPage();
  return (
    <Dialog title="Your new key" onClose={done} question={QUESTION}>
      <div class="stack">
        <Notice tone="wait">
          Copy it now and keep it where secrets are kept. It is shown this once: nobody can read it
          again, and one that is lost is replaced by a new one.
        </Notice>
        <Field label={`Key ${name}`}>
          {(id) => (
            <input
              id={id}
              class="mono"
              value={key}
              readOnly
              spellcheck={false}
              onFocus={(event) => event.currentTarget.select()}
            />
          )}
        </Field>
        <div>
          <CopyButton text={key} label="Copy the key" />
        </div>
        <div class="stack">
          <span class="quiet">Try it in a shell:</span>
          <pre class="wrapped">{line}</pre>
          <OtherAddress />
          <div>
            <CopyButton text={line} label="Copy the command" />
          </div>
        </div>
        <div class="dialog-foot">
          <button type="button" class="primary" onClick={done}>
            I have kept it
          </button>
        </div>
      </div>
    </Dialog>
  );
}

/** A key is taken at the address of its cluster, which need not be the one in the browser. */
function OtherAddress() {
  const session = useSession();
  const cluster = useMembership();
  if (cluster === null || (session?.clusters.length ?? 0) < 2) return null;
  return (
    <span class="quiet">
      The key is for <Name text={cluster.slug} />. Where this address leads to another cluster, put
      that of <Name text={cluster.slug} /> in its place.
    </span>
  );
}

/** The browser asks, too, before it leaves the document. */
function useKeptPage(): void {
  useEffect(() => {
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener('beforeunload', ask);
    return () => removeEventListener('beforeunload', ask);
  }, []);
}
