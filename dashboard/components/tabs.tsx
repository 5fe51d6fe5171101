import type { Choice } from './form.js';

interface TabsProps {
  readonly label: string;
  readonly value: string;
  readonly choices: readonly Choice[];
  readonly onChoose: (value: string) => void;
}

/** One of a few views of the same thing. */
export function Tabs({ label, value, choices, onChoose }: TabsProps) {
  return (
    <div class="tabs" role="group" aria-label={label}>
      {choices.map((choice) => (
        <button
          key={choice.value}
          type="button"
          aria-pressed={choice.value === value}
          onClick={() => onChoose(choice.value)}
        >
          {choice.label}
        </button>
      ))}
    </div>
  );
}
