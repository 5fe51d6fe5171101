/** Goes anywhere by typing a part of its name: pages, queues, what the shell can do. */
import { useId, useRef, useState } from 'preact/hooks';
import { formatInteger } from '../base/format.js';
import { holds } from '../base/order.js';
import { pathOfQueue } from '../base/routes.js';
import { Dialog } from '../components/dialog.js';
import { askForToken } from '../data/access.js';
import { useCapabilities, useSession } from '../data/identity.js';
import { navigate } from '../data/location.js';
import { useFeatures } from '../data/plan.js';
import { EVERY_MS_SLOW, usePoll } from '../data/poll.js';
import { call } from '../data/request.js';
import { isListed, ROUTES } from './routes.js';
import type { ShellDialog } from './top-bar.js';

interface Entry {
  readonly name: string;
  readonly kind: string;
  readonly go: () => void;
}

interface PaletteProps {
  readonly onClose: () => void;
  readonly onCollapse: () => void;
  readonly onOpen: (dialog: ShellDialog) => void;
}

const SHOWN_MAX = 50;
const QUEUES_MAX = 1000;

export function Palette({ onClose, onCollapse, onOpen }: PaletteProps) {
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const list = useId();
  const { entries, isPart } = useEntries(onCollapse, onOpen);
  const found = foundBy(text, entries, isPart);
  const at = Math.min(chosen, found.length - 1);
  const go = (entry: Entry | undefined) => {
    if (entry === undefined) return;
    onClose();
    entry.go();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter') go(found[at]);
    else if (event.key === 'ArrowDown') setChosen(Math.min(at + 1, found.length - 1));
    else if (event.key === 'ArrowUp') setChosen(Math.max(at - 1, 0));
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Go to" onClose={onClose}>
      <div class="palette">
        <input
          ref={input}
          type="text"
          role="combobox"
          aria-label="Page, queue or action"
          aria-expanded="true"
          aria-controls={list}
          aria-activedescendant={at >= 0 ? `${list}-${at}` : undefined}
          aria-autocomplete="list"
          autocomplete="off"
          spellcheck={false}
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setChosen(0);
          }}
          onKeyDown={onKeyDown}
        />
        <div class="palette-list" id={list} role="listbox" aria-label="Found">
          {found.map((entry, i) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the field takes the keys
            <div
              key={`${entry.kind} ${entry.name}`}
              id={`${list}-${i}`}
              role="option"
              tabIndex={-1}
              aria-selected={i === at}
              onClick={() => go(entry)}
            >
              <bdi>{entry.name}</bdi> <span class="quiet">{entry.kind}</span>
            </div>
          ))}
        </div>
        {found.length === 0 && <p class="state quiet">Nothing has this in its name.</p>}
        {isPart && (
          <p class="quiet">
            Of the queues, the newest {formatInteger(QUEUES_MAX)} are looked at; any other one opens
            by its whole name.
          </p>
        )}
      </div>
    </Dialog>
  );
}

/** A queue that is not among those that are looked at is found by its whole name. */
function foundBy(text: string, entries: readonly Entry[], isPart: boolean): readonly Entry[] {
  const holding = entries.filter(({ name }) => holds(text, [name])).slice(0, SHOWN_MAX);
  const isNamed = !isPart || text === '' || holding.some(({ name }) => name === text);
  return isNamed ? holding : [...holding, queueEntry(text, 'queue of this name')];
}

function queueEntry(name: string, kind: string): Entry {
  return { name, kind, go: () => navigate(pathOfQueue(name)) };
}

interface Entries {
  readonly entries: readonly Entry[];
  /** There are more queues than these. */
  readonly isPart: boolean;
}

function useEntries(onCollapse: () => void, onOpen: (dialog: ShellDialog) => void): Entries {
  const capabilities = useCapabilities();
  const session = useSession();
  const features = useFeatures();
  const queues = usePoll(
    capabilities.read ? 'palette' : null,
    (signal) => {
      const query = { stats: 'lanes', limit: QUEUES_MAX };
      return call('GET /api/v1/resources/queues', { query, signal });
    },
    EVERY_MS_SLOW,
  );
  const pages = ROUTES.filter(
    (route) => route.group !== null && isListed(route, capabilities, features),
  );
  const entries = [
    ...pages.map(({ title, path }) => ({ name: title, kind: 'page', go: () => navigate(path) })),
    { name: 'Show or hide the navigation', kind: 'action', go: onCollapse },
    ...(session === null
      ? [{ name: 'Token and tenant', kind: 'action', go: askForToken }]
      : [
          { name: 'Act on another cluster', kind: 'action', go: () => onOpen('cluster') },
          { name: 'Account and logout', kind: 'action', go: () => onOpen('account') },
        ]),
    ...(queues.data?.queues ?? []).map(({ name }) => queueEntry(name, 'queue')),
  ];
  return { entries, isPart: typeof queues.data?.nextAfter === 'string' };
}
