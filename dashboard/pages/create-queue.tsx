/** Creates a queue. Options that are not typed keep the defaults of the broker. */
import { useState } from 'preact/hooks';
import { CallError } from '../base/call-error.js';
import { Dialog, FormFoot, Refusal } from '../components/dialog.js';
import { Field, TextInput, Toggle } from '../components/form.js';
import { tell } from '../components/results.js';
import { Name } from '../components/text.js';
import { call } from '../data/request.js';
import { useAction } from '../data/use-action.js';

interface CreateQueueProps {
  readonly onClose: () => void;
  readonly onCreated: () => void;
}

/** Name of the option, its label, its unit. */
const NUMBERS = [
  ['leaseTime', 'Lease', 'seconds; 300 where nothing is said'],
  ['retryLimit', 'Retries', 'until a message is a dead letter; 3 where nothing is said'],
  ['retentionSeconds', 'Retention', 'seconds; without it messages are kept'],
] as const;

export function CreateQueue({ onClose, onCreated }: CreateQueueProps) {
  const [queue, setQueue] = useState('');
  const [labels, setLabels] = useState({ namespace: '', task: '' });
  const [numbers, setNumbers] = useState<Readonly<Record<string, string>>>({});
  const [isEncrypted, setEncrypted] = useState(false);
  const [isTold, setTold] = useState(false);
  const wrong = wrongOnes(numbers);
  const creation = useAction(async () => {
    const body = { queue, ...labels, options: optionsOf(numbers, isEncrypted) };
    // It would change the options of a queue that is there, and say that it was created.
    if (await isThere(queue)) throw new CallError('refused', 'There is such a queue already.');
    await call('POST /api/v1/configure', { body });
    tell(
      <>
        Created <Name text={queue} />
      </>,
    );
    onCreated();
    onClose();
  });
  const submit = (event: Event) => {
    event.preventDefault();
    setTold(true);
    if (queue !== '' && wrong.size === 0) void creation.run();
  };
  return (
    <Dialog title="Create a queue" onClose={onClose} isForm>
      <form class="stack" onSubmit={submit}>
        <Field label="Name" error={isTold && queue === '' ? 'A name is needed.' : null}>
          {(id) => <TextInput id={id} value={queue} onInput={setQueue} />}
        </Field>
        <LabelFields labels={labels} onInput={setLabels} />
        {NUMBERS.map(([name, label, note]) => (
          <Field
            key={name}
            label={label}
            note={note}
            error={wrong.has(name) ? 'A whole number, not below 0.' : null}
          >
            {(id) => (
              <TextInput
                id={id}
                value={numbers[name] ?? ''}
                isWrong={wrong.has(name)}
                onInput={(text) => setNumbers({ ...numbers, [name]: text })}
              />
            )}
          </Field>
        ))}
        <Toggle label="Encrypt payloads" isOn={isEncrypted} onInput={setEncrypted} />
        <Refusal error={creation.error} />
        <FormFoot label="Create" onClose={onClose} isBusy={creation.isBusy} />
      </form>
    </Dialog>
  );
}

async function isThere(queue: string): Promise<boolean> {
  const input = { params: { queue }, query: { limit: 1 } };
  try {
    await call('GET /api/v1/resources/queues/{queue}', input);
    return true;
  } catch (error) {
    if (error instanceof CallError && error.status === 404) return false;
    throw error;
  }
}

interface Labels {
  readonly namespace: string;
  readonly task: string;
}

interface LabelFieldsProps {
  readonly labels: Labels;
  readonly onInput: (labels: Labels) => void;
}

function LabelFields({ labels, onInput }: LabelFieldsProps) {
  const set = (changed: Partial<Labels>) => onInput({ ...labels, ...changed });
  return (
    <div class="fields">
      <Field label="Namespace">
        {(id) => (
          <TextInput id={id} value={labels.namespace} onInput={(namespace) => set({ namespace })} />
        )}
      </Field>
      <Field label="Task">
        {(id) => <TextInput id={id} value={labels.task} onInput={(task) => set({ task })} />}
      </Field>
    </div>
  );
}

function wrongOnes(numbers: Readonly<Record<string, string>>): ReadonlySet<string> {
  const isWrong = ([, text]: [string, string]) =>
    text.trim() !== '' && !/^\d{1,9}$/.test(text.trim());
  return new Set(
    Object.entries(numbers)
      .filter(isWrong)
      .map(([name]) => name),
  );
}

/** What was typed and nothing else; a retention is switched on with its seconds. */
function optionsOf(numbers: Readonly<Record<string, string>>, isEncrypted: boolean) {
  const typed = Object.entries(numbers).flatMap(([name, text]): [string, number | boolean][] =>
    text.trim() === '' ? [] : [[name, Number(text)]],
  );
  const keeps = Number(numbers.retentionSeconds ?? 0) > 0;
  return {
    ...Object.fromEntries(typed),
    ...(keeps && { retentionEnabled: true }),
    ...(isEncrypted && { encryptionEnabled: true }),
  };
}
