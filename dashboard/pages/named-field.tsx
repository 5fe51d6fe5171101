/** One of many that have names: a list where they are few, else a field with suggestions. */
import { useId } from 'preact/hooks';
import { Field, Select, Suggestions, TextInput } from '../components/form.js';

interface NamedFieldProps {
  readonly label: string;
  readonly value: string;
  readonly names: readonly string[];
  readonly error?: string | null;
  readonly onInput: (name: string) => void;
}

/** A list of more is scrolled for longer than a name is typed. */
const LISTED_MAX = 30;
const SUGGESTED_MAX = 50;

export function NamedField({ label, value, names, error = null, onInput }: NamedFieldProps) {
  const suggestions = useId();
  if (names.length <= LISTED_MAX) {
    const choices = ['', ...names].map((name) => ({ value: name, label: name || 'choose one' }));
    return (
      <Field label={label} error={error}>
        {(id) => <Select id={id} value={value} choices={choices} onInput={onInput} />}
      </Field>
    );
  }
  const fitting = names.filter((name) => name.includes(value.trim().toLowerCase()));
  return (
    <Field label={label} error={error}>
      {(id) => (
        <>
          <TextInput id={id} value={value} list={suggestions} onInput={onInput} />
          <Suggestions id={suggestions} values={fitting.slice(0, SUGGESTED_MAX)} />
        </>
      )}
    </Field>
  );
}
