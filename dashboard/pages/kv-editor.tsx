/**
 * Writes a row of the key/value store under a guard: the version that was read, or that there is no
 * row. Who loses the race sees what is there now, beside what he typed.
 */
import { useState } from 'preact/hooks';
import { formatInteger } from '../base/format.js';
import { indented } from '../base/indented-json.js';
import { type Expiry, type KvWrite, putBody, valueFault } from '../base/kv-lists.js';
import { Dialog, FormFoot, Refusal } from '../components/dialog.js';
import { Field, Select, TextArea, TextInput } from '../components/form.js';
import { textOfStored } from '../components/json-tree.js';
import { tell } from '../components/results.js';
import { Notice } from '../components/states.js';
import { StoredValue } from '../components/stored-value.js';
import { Ago, Name } from '../components/text.js';
import { call } from '../data/request.js';
import { useAction } from '../data/use-action.js';

interface CreateRowProps {
  readonly namespace: string;
  readonly onClose: () => void;
  readonly onCreated: (ns: string, key: string) => void;
}

export function CreateRow({ namespace, onClose, onCreated }: CreateRowProps) {
  const [ns, setNs] = useState(namespace);
  const [key, setKey] = useState('');
  return (
    <Editor
      title="Create a row"
      action="Create"
      ns={ns}
      rowKey={key}
      version={0}
      text=""
      expiresAt={null}
      onClose={onClose}
      onSaved={() => onCreated(ns, key)}
    >
      <div class="fields">
        <Field label="Namespace" note="a to z, digits, dots, _ and -; 64 at most">
          {(id) => <TextInput id={id} value={ns} onInput={setNs} />}
        </Field>
        <Field label="Key" note="512 bytes at most">
          {(id) => <TextInput id={id} value={key} onInput={setKey} />}
        </Field>
      </div>
    </Editor>
  );
}

export interface EditedRow {
  readonly key: string;
  readonly value?: unknown;
  readonly version: number;
  readonly expiresAt: string | null;
}

interface EditRowProps {
  readonly ns: string;
  readonly row: EditedRow;
  readonly onClose: () => void;
  readonly onSaved: () => void;
}

export function EditRow({ ns, row, onClose, onSaved }: EditRowProps) {
  return (
    <Editor
      title="Edit a row"
      action="Save"
      ns={ns}
      rowKey={row.key}
      version={row.version}
      text={indented(textOfStored(row.value))}
      expiresAt={row.expiresAt}
      onClose={onClose}
      onSaved={onSaved}
    >
      <p>
        <Name text={row.key} /> <span class="quiet">version {formatInteger(row.version)}</span>
      </p>
    </Editor>
  );
}

interface EditorProps {
  readonly title: string;
  readonly action: string;
  readonly ns: string;
  readonly rowKey: string;
  /** The version that was read; 0: there was no row. */
  readonly version: number;
  readonly text: string;
  readonly expiresAt: string | null;
  readonly children: preact.ComponentChildren;
  readonly onClose: () => void;
  readonly onSaved: () => void;
}

/** The row that is there in place of the one that was read. */
interface Lost {
  readonly ns: string;
  readonly key: string;
  /** 0: no row. */
  readonly version: number;
  readonly value: unknown;
}

function Editor(props: EditorProps) {
  const { title, action, ns, rowKey, version, expiresAt, children, onClose, onSaved } = props;
  const [text, setText] = useState(props.text);
  const [kind, setKind] = useState<Expiry['kind']>(expiresAt === null ? 'never' : 'same');
  const [seconds, setSeconds] = useState('3600');
  const [race, setRace] = useState<Lost | null>(null);
  // Another name is another row.
  const lost = race !== null && race.ns === ns && race.key === rowKey ? race : null;
  const expiry = expiryOf(kind, seconds, expiresAt);
  const fault = text.trim() === '' ? null : valueFault(text);
  const save = useAction(async () => {
    if (expiry === null) return;
    const expect = lost?.version ?? version;
    const found = await write({ ns, key: rowKey, value: text, expiry, expect });
    setRace(found);
    if (found !== null) return;
    tell(
      <>
        Wrote <Name text={rowKey} />
      </>,
    );
    onSaved();
  });
  const isReady = fault === null && text.trim() !== '' && expiry !== null;
  return (
    <Dialog title={title} onClose={onClose} isWide isForm>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady) void save.run();
        }}
      >
        {children}
        <Field label="Value, as JSON" error={fault}>
          {(id) => (
            <TextArea id={id} value={text} onInput={setText} rows={10} isWrong={fault !== null} />
          )}
        </Field>
        <ExpiryFields
          kind={kind}
          onKind={setKind}
          seconds={seconds}
          onSeconds={setSeconds}
          expiresAt={expiresAt}
        />
        {lost !== null && (
          <Race lost={lost} isNew={version === 0} onTake={(theirs) => setText(indented(theirs))} />
        )}
        <Refusal error={save.error} />
        <FormFoot
          label={actionText(action, lost)}
          onClose={onClose}
          isBusy={save.isBusy}
          isForbidden={!isReady}
          isDangerous={lost !== null}
        />
      </form>
    </Dialog>
  );
}

function actionText(action: string, lost: Lost | null): string {
  if (lost === null) return action;
  return lost.version === 0 ? 'Create it again' : 'Write mine over it';
}

/** null: it was written. */
async function write(row: KvWrite): Promise<Lost | null> {
  const body = putBody(row, Date.now());
  const answer = await call('POST /api/v1/kv', { body, keepStored: true });
  const result = 'results' in answer ? answer.results[0] : undefined;
  if (result === undefined || result.applied === true) return null;
  const { ns, key } = row;
  return { ns, key, version: result.version ?? 0, value: result.value ?? null };
}

interface RaceProps {
  readonly lost: Lost;
  /** The row was to be created. */
  readonly isNew: boolean;
  readonly onTake: (text: string) => void;
}

function Race({ lost, isNew, onTake }: RaceProps) {
  if (lost.version === 0) {
    return (
      <Notice tone="bad">
        Not written: the row is gone, it was deleted or has expired meanwhile.
      </Notice>
    );
  }
  return (
    <div class="stack" role="alert">
      <Notice tone="bad">
        Not written: {isNew ? 'there is such a row already' : 'somebody else wrote it meanwhile'},
        version {formatInteger(lost.version)}. What you typed is still above; this is there now.
      </Notice>
      <StoredValue value={lost.value} label="Value now" />
      <div>
        <button type="button" onClick={() => onTake(textOfStored(lost.value))}>
          Drop mine and edit this one
        </button>
      </div>
    </div>
  );
}

interface ExpiryFieldsProps {
  readonly kind: Expiry['kind'];
  readonly onKind: (kind: Expiry['kind']) => void;
  readonly seconds: string;
  readonly onSeconds: (seconds: string) => void;
  readonly expiresAt: string | null;
}

function ExpiryFields({ kind, onKind, seconds, onSeconds, expiresAt }: ExpiryFieldsProps) {
  const kinds = [
    ...(expiresAt === null ? [] : [{ value: 'same', label: 'when it did before' }]),
    { value: 'never', label: 'never' },
    { value: 'after', label: 'after so many seconds' },
  ];
  const error = expiryOf(kind, seconds, expiresAt) === null ? 'A whole number above 0.' : null;
  return (
    <div class="fields">
      <Field label="Expires" note={kind === 'same' ? <Ago at={expiresAt} /> : undefined}>
        {(id) => (
          <Select
            id={id}
            value={kind}
            choices={kinds}
            onInput={(chosen) => onKind(chosen as Expiry['kind'])}
          />
        )}
      </Field>
      {kind === 'after' && (
        <Field label="Seconds" error={error}>
          {(id) => (
            <TextInput
              id={id}
              type="number"
              value={seconds}
              onInput={onSeconds}
              isWrong={error !== null}
            />
          )}
        </Field>
      )}
    </div>
  );
}

/** null: what was typed is no number of seconds. */
function expiryOf(kind: Expiry['kind'], typed: string, at: string | null): Expiry | null {
  if (kind === 'never') return { kind };
  if (kind === 'same') return { kind, at };
  const seconds = Number(typed);
  return Number.isSafeInteger(seconds) && seconds > 0 ? { kind, seconds } : null;
}
