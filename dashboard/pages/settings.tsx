/** What all readers of the tenant see: kept in the key/value store. */
import { useContext, useState } from 'preact/hooks';
import { isWait, type Settings, settingsWrite } from '../base/settings.js';
import { RANGES } from '../base/time-range.js';
import { Refusal } from '../components/dialog.js';
import { Field, Select, TextInput } from '../components/form.js';
import { Page, Pairs } from '../components/page.js';
import { tell } from '../components/results.js';
import { Loaded } from '../components/states.js';
import { Name } from '../components/text.js';
import {
  type Identity,
  sessionOf,
  useCapabilities,
  useIdentity,
  useMembership,
} from '../data/identity.js';
import { useFeatures } from '../data/plan.js';
import { call } from '../data/request.js';
import { type KeptSettings, SettingsContext } from '../data/settings.js';
import { useAction } from '../data/use-action.js';

export function SettingsPage() {
  const poll = useContext(SettingsContext);
  const identity = useIdentity();
  return (
    <Page title="Settings">
      <Loaded poll={poll} what="the settings">
        {(kept) => <Form kept={kept} onSaved={poll.refresh} />}
      </Loaded>
      {identity !== null && <WhoYouAre identity={identity} />}
    </Page>
  );
}

function WhoYouAre({ identity }: { readonly identity: Identity }) {
  const cluster = useMembership();
  const session = sessionOf(identity);
  const role = session === null ? identity.role : (cluster?.role ?? 'none');
  const facts = [
    { label: 'You are', value: <Name text={session?.email ?? identity.user_id} /> },
    { label: 'Role', value: role },
  ];
  if ('server_id' in identity) {
    facts.push({ label: 'Answered by', value: <Name text={identity.server_id} /> });
  }
  return <Pairs facts={facts} />;
}

interface FormProps {
  readonly kept: KeptSettings;
  readonly onSaved: () => void;
}

/** What was typed stays while the settings are asked for anew. */
function Form({ kept, onSaved }: FormProps) {
  const { queueAdmin } = useCapabilities();
  const hasStore = useFeatures()?.kv === true;
  const maySave = queueAdmin && hasStore;
  const [typed, setTyped] = useState({
    range: kept.settings.range,
    wait: String(kept.settings.waitSeconds),
  });
  const waitSeconds = Number(typed.wait.trim());
  const isRight = typed.wait.trim() !== '' && isWait(waitSeconds);
  const saving = useAction(async () => {
    await save({ range: typed.range, waitSeconds }, kept.version);
    tell('Saved for everybody');
    onSaved();
  });
  return (
    <form
      class="stack settings"
      onSubmit={(event) => {
        event.preventDefault();
        if (isRight) void saving.run();
      }}
    >
      <fieldset class="stack" disabled={!maySave}>
        <Field label="Span of time that charts show at first">
          {(id) => (
            <Select
              id={id}
              value={typed.range}
              choices={RANGES.map(({ key, label }) => ({ value: key, label }))}
              onInput={(range) => setTyped({ ...typed, range })}
            />
          )}
        </Field>
        <Field
          label="Seconds after which a message that waits is told on the overview"
          error={isRight ? null : 'A whole number from 1.'}
        >
          {(id) => (
            <TextInput
              id={id}
              value={typed.wait}
              isWrong={!isRight}
              onInput={(wait) => setTyped({ ...typed, wait })}
            />
          )}
        </Field>
      </fieldset>
      <Refusal error={saving.error} />
      {maySave ? (
        <div>
          <button type="submit" class="primary" disabled={!isRight || saving.isBusy}>
            {saving.isBusy ? 'Under way…' : 'Save for everybody'}
          </button>
        </div>
      ) : (
        <p class="quiet">
          {queueAdmin
            ? 'The plan has no store to keep them in.'
            : 'Your role does not change them.'}
        </p>
      )}
    </form>
  );
}

/** Rejects when somebody else has saved since they were read. */
async function save(settings: Settings, version: number): Promise<void> {
  const body = settingsWrite(settings, version);
  const answer = await call('POST /api/v1/kv', { body });
  const result = 'results' in answer ? answer.results[0] : undefined;
  if (result?.applied === true) return;
  throw new Error('somebody else has saved meanwhile: load the page again to see it');
}
