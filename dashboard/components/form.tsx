/** Fields with their errors in place. */
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

interface FieldProps {
  readonly label: string;
  readonly note?: ComponentChildren;
  readonly error?: string | null;
  /** Gets the id that its label names. */
  readonly children: (id: string) => ComponentChildren;
}

export function Field({ label, note, error = null, children }: FieldProps) {
  const id = useId();
  return (
    <div class="field" data-wrong={error === null ? undefined : ''}>
      <label for={id} dir="auto">
        {label}
      </label>
      {children(id)}
      {note !== undefined && error === null && <span class="quiet">{note}</span>}
      {error !== null && (
        <span class="error" role="alert" id={`${id}-error`}>
          {error}
        </span>
      )}
    </div>
  );
}

interface TextInputProps {
  readonly id?: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly label?: string;
  readonly placeholder?: string;
  readonly type?: 'text' | 'search' | 'password' | 'number' | 'datetime-local';
  readonly isWrong?: boolean;
  readonly list?: string;
  /** `/` takes the reader there. */
  readonly isSearch?: boolean;
}

export function TextInput(props: TextInputProps) {
  const { id, value, onInput, label, placeholder, type = 'text', list } = props;
  const { isWrong = false, isSearch = false } = props;
  return (
    <input
      id={id}
      // The types of JSX want one kind of field; what is given here fits all of these.
      type={type as 'text'}
      step={type === 'datetime-local' ? 1 : undefined}
      value={value}
      placeholder={placeholder}
      aria-label={label}
      aria-invalid={isWrong}
      aria-errormessage={isWrong && id !== undefined ? `${id}-error` : undefined}
      list={list}
      dir="auto"
      spellcheck={false}
      autocomplete="off"
      data-search={isSearch ? '' : undefined}
      onInput={(event) => onInput(event.currentTarget.value)}
    />
  );
}

interface TextAreaProps {
  readonly id?: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly rows?: number;
  readonly label?: string;
  readonly isWrong?: boolean;
}

export function TextArea({ id, value, onInput, rows = 8, label, isWrong = false }: TextAreaProps) {
  return (
    <textarea
      id={id}
      rows={rows}
      value={value}
      aria-label={label}
      aria-invalid={isWrong}
      spellcheck={false}
      onInput={(event) => onInput(event.currentTarget.value)}
    />
  );
}

export interface Choice {
  readonly value: string;
  readonly label: string;
}

interface SelectProps {
  readonly id?: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly choices: readonly Choice[];
  readonly label?: string;
}

export function Select({ id, value, onInput, choices, label }: SelectProps) {
  return (
    <select
      id={id}
      value={value}
      aria-label={label}
      onInput={(event) => onInput(event.currentTarget.value)}
    >
      {choices.map((choice) => (
        <option key={choice.value} value={choice.value}>
          {choice.label}
        </option>
      ))}
    </select>
  );
}

interface ToggleProps {
  readonly label: string;
  readonly isOn: boolean;
  readonly onInput: (isOn: boolean) => void;
}

export function Toggle({ label, isOn, onInput }: ToggleProps) {
  return (
    <label class="toggle">
      <input
        type="checkbox"
        checked={isOn}
        onInput={(event) => onInput(event.currentTarget.checked)}
      />
      {label}
    </label>
  );
}

/** Suggestions below a field; the number that a browser lists without harm. */
const SUGGESTIONS_MAX = 200;

export function Suggestions({ id, values }: { id: string; values: readonly string[] }) {
  return (
    <datalist id={id}>
      {values.slice(0, SUGGESTIONS_MAX).map((value) => (
        <option key={value} value={value} />
      ))}
    </datalist>
  );
}
