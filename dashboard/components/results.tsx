/** What became of an action on many things: how far it is, and what happened to each. */
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { formatInteger } from '../base/format.js';
import { Store } from '../base/store.js';
import { useStore } from '../data/use-store.js';
import { Badge, Name, type Tone } from './text.js';

export interface Result {
  readonly name: string;
  readonly tone: Tone;
  /** "moved to orders", "refused: no_leader". */
  readonly text: string;
}

interface ResultListProps {
  readonly results: readonly Result[];
  readonly total: number;
  readonly isBusy: boolean;
  readonly onStop?: () => void;
}

const SHOWN_MAX = 500;

export function ResultList({ results, total, isBusy, onStop }: ResultListProps) {
  const bad = results.filter(({ tone }) => tone === 'bad').length;
  // Two may have one name: each is known by the number that it was told with.
  const numbered = results.map((result, at) => ({ ...result, at }));
  const shown = numbered.slice(-SHOWN_MAX).reverse();
  return (
    <div class="results">
      <label class="progress">
        <progress max={Math.max(total, 1)} value={results.length} />
        <span role="status">
          {formatInteger(results.length)} of {formatInteger(total)}
          {bad > 0 ? `, ${formatInteger(bad)} refused` : ''}
          {isBusy ? '' : ', over'}
        </span>
      </label>
      {isBusy && onStop !== undefined && (
        <button type="button" onClick={onStop}>
          Stop
        </button>
      )}
      <ul>
        {shown.map(({ at, name, tone, text }) => (
          <li key={at}>
            <Name text={name} /> <Badge tone={tone}>{text}</Badge>
          </li>
        ))}
      </ul>
    </div>
  );
}

interface Told {
  readonly id: number;
  readonly tone: Tone;
  readonly text: ComponentChildren;
}

const TOLD_MS = 6_000;
const TOLD_MAX = 4;
const told = new Store<readonly Told[]>([]);
let ids = 0;

/** Says for a while that something was done. A refusal stays where it was asked for. */
export function tell(text: ComponentChildren, tone: Tone = 'good'): void {
  told.value = [...told.value, { id: ++ids, tone, text }].slice(-TOLD_MAX);
}

export function Toasts() {
  const all = useStore(told);
  const oldest = all[0]?.id;
  useEffect(() => {
    if (oldest === undefined) return;
    const timer = setTimeout(() => {
      told.value = told.value.filter(({ id }) => id !== oldest);
    }, TOLD_MS);
    return () => clearTimeout(timer);
  }, [oldest]);
  return (
    <div class="toasts" role="status">
      {all.map(({ id, tone, text }) => (
        <p key={id} data-tone={tone} dir="auto">
          {text}
        </p>
      ))}
    </div>
  );
}
