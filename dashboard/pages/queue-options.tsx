/** The options of a queue, and the form that changes them: what will change is said first. */
import { useMemo, useState } from 'preact/hooks';
import { counted } from '../base/format.js';
import {
  changesOf,
  currentValues,
  faultOf,
  IDLE_OPTIONS,
  OPTION_GROUPS,
  type OptionChange,
  type OptionValues,
  type QueueOption,
  shownValue,
  type Typed,
  typedOf,
} from '../base/queue-options.js';
import { Dialog, FormFoot, Refusal } from '../components/dialog.js';
import { Field, TextInput, Toggle } from '../components/form.js';
import { Pairs, Section } from '../components/page.js';
import { tell } from '../components/results.js';
import { useCapabilities } from '../data/identity.js';
import { call, type Success } from '../data/request.js';
import { useAction } from '../data/use-action.js';

type Queue = Success<'GET /api/v1/resources/queues/{queue}'>;

interface QueueOptionsProps {
  readonly queue: Queue;
  readonly onChange: () => void;
}

export function QueueOptions({ queue, onChange }: QueueOptionsProps) {
  const { queueAdmin } = useCapabilities();
  const [isEditing, setEditing] = useState(false);
  const values = currentValues({ ...queue.options, ...labelsOf(queue) });
  const edit = (
    <button type="button" onClick={() => setEditing(true)}>
      Edit options
    </button>
  );
  const idle = IDLE_OPTIONS.map((name) => `${name} ${queue.options[name] || '–'}`).join(', ');
  return (
    <Section title="Options" actions={queueAdmin ? edit : undefined}>
      <div class="options">
        {OPTION_GROUPS.map(({ title, options }) => (
          <div key={title}>
            <h3 class="group-title">{title}</h3>
            <Pairs facts={options.map((option) => factOf(option, values))} />
          </div>
        ))}
      </div>
      <p class="table-note quiet">Kept without effect: {idle}.</p>
      {isEditing && (
        <EditOptions
          queue={queue.name}
          before={values}
          onClose={() => setEditing(false)}
          onChanged={onChange}
        />
      )}
    </Section>
  );
}

function labelsOf({ namespace, task }: Queue) {
  return { namespace, task };
}

function factOf(option: QueueOption, values: OptionValues) {
  const value = values[option.name] ?? option.standard;
  return {
    label: option.label,
    value: <span title={option.effect(value)}>{shownValue(option, value)}</span>,
  };
}

interface EditOptionsProps {
  readonly queue: string;
  readonly before: OptionValues;
  readonly onClose: () => void;
  readonly onChanged: () => void;
}

function EditOptions({ queue, before, onClose, onChanged }: EditOptionsProps) {
  // As they were when it was opened: what others change meanwhile is not sent back.
  const [values] = useState(before);
  const [typed, setTyped] = useState<Typed>(() => typedOf(before));
  const changes = useMemo(() => changesOf(values, typed), [typed]);
  const isWrong = changes.some(({ option }) => faultOf(option, typed[option.name] ?? '') !== null);
  const edit = useAction(async () => {
    const options = Object.fromEntries(changes.map(({ option, sent }) => [option.name, sent]));
    // Options of a queue that somebody has deleted meanwhile would make it anew.
    await call('GET /api/v1/resources/queues/{queue}', { params: { queue }, query: { limit: 1 } });
    await call('POST /api/v1/configure', { body: { queue, options } });
    tell(`Changed ${counted(changes.length, 'option', 'options')}`);
    onChanged();
    onClose();
  });
  return (
    <Dialog title="Edit options" onClose={onClose} isWide isForm>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (!isWrong && changes.length > 0) void edit.run();
        }}
      >
        {OPTION_GROUPS.map(({ title, options }) => (
          <fieldset key={title}>
            <legend>{title}</legend>
            <div class="fields">
              {options.map((option) => (
                <OptionField
                  key={option.name}
                  option={option}
                  typed={typed[option.name] ?? ''}
                  onInput={(value) => setTyped({ ...typed, [option.name]: value })}
                />
              ))}
            </div>
          </fieldset>
        ))}
        <Preview changes={isWrong ? [] : changes} isWrong={isWrong} />
        <Refusal error={edit.error} />
        <FormFoot
          label={`Change ${counted(changes.length, 'option', 'options')}`}
          onClose={onClose}
          isBusy={edit.isBusy}
          isForbidden={isWrong || changes.length === 0}
        />
      </form>
    </Dialog>
  );
}

interface OptionFieldProps {
  readonly option: QueueOption;
  readonly typed: string | boolean;
  readonly onInput: (typed: string | boolean) => void;
}

function OptionField({ option, typed, onInput }: OptionFieldProps) {
  const { label, unit, standard } = option;
  if (typeof typed === 'boolean') return <Toggle label={label} isOn={typed} onInput={onInput} />;
  const fault = faultOf(option, typed);
  const note =
    typeof standard === 'number' ? `Default: ${shownValue(option, standard)}` : undefined;
  return (
    <Field label={unit === '' ? label : `${label}, ${unit}`} note={note} error={fault}>
      {(id) => <TextInput id={id} value={typed} onInput={onInput} isWrong={fault !== null} />}
    </Field>
  );
}

interface PreviewProps {
  readonly changes: readonly OptionChange[];
  readonly isWrong: boolean;
}

function Preview({ changes, isWrong }: PreviewProps) {
  const none = isWrong ? 'A field holds what cannot be sent.' : 'Nothing yet.';
  return (
    <div class="asked stack" role="status" aria-label="What changes">
      <strong>What changes</strong>
      {changes.length === 0 && <p class="quiet">{none}</p>}
      <ul class="plain-list">
        {changes.map(({ option, from, to, sent }) => (
          <li key={option.name}>
            {option.label}: {shownValue(option, from)} → {shownValue(option, to)}
            {sent === null ? ', the default' : ''}. {option.effect(to)}
          </li>
        ))}
      </ul>
    </div>
  );
}
