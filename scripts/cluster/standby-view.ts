/** What a standby does, from the answer of its leader, and how that is shown. */
import { localGet } from './local-get.js';
import { HOST } from './plan.js';

export interface StandbyView {
  readonly role: string;
  readonly position?: { readonly index: number };
  readonly follower?: {
    readonly state: string;
    readonly source: string | null;
    readonly lagEntries: number;
    readonly lagMs: number;
    readonly error: string | null;
  };
}

const ANSWER_MS_MAX = 900;

/** null: no answer. */
export async function askStandby(httpPort: number): Promise<StandbyView | null> {
  try {
    const { status, text } = await localGet(
      `http://${HOST}:${httpPort}/api/v1/system/link`,
      ANSWER_MS_MAX,
    );
    return status === 200 ? (JSON.parse(text) as StandbyView) : null;
  } catch {
    // Refused, reset or late: there is nothing to show.
    return null;
  }
}

/** With all figures. */
export function standbyLine(view: StandbyView | null): string {
  const position = view?.position;
  const follower = view?.role === 'standby' ? view.follower : undefined;
  const at = position === undefined ? '' : `, entry ${position.index} of the source`;
  const lag =
    follower === undefined
      ? ''
      : `, behind by ${follower.lagEntries} entries and ${follower.lagMs} ms`;
  return `${standbyState(view)}${at}${lag}${errorOf(view)}`;
}

/** null: it does what it did. Whom it asks, and why in vain, changes while it waits. */
export function standbyChange(view: StandbyView | null, before: StandbyView | null): string | null {
  const isSame = view?.role === before?.role && view?.follower?.state === before?.follower?.state;
  return isSame ? null : `${standbyState(view)}${errorOf(view)}`;
}

function standbyState(view: StandbyView | null): string {
  if (view === null) return 'the standby has no leader that answers';
  const { role, follower } = view;
  if (role !== 'standby' || follower === undefined) return `the standby is ${role}`;
  const { state, source } = follower;
  return `the standby is ${state}${state === 'following' ? ` (${source ?? ''})` : ''}`;
}

function errorOf(view: StandbyView | null): string {
  const error = view?.follower?.error ?? null;
  return error === null ? '' : `: ${error}`;
}
