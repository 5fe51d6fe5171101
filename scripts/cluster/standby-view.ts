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

/** With all figures. A narrow terminal cuts the end of a line, so what matters most is in front. */
export function standbyLines(view: StandbyView | null): string[] {
  const follower = view?.role === 'standby' ? view.follower : undefined;
  const lag =
    follower === undefined
      ? ''
      : `, ${follower.lagEntries} entries and ${follower.lagMs} ms behind`;
  const at = view?.position === undefined ? '' : `, at entry ${view.position.index}`;
  const source = follower?.state === 'following' ? ` of ${follower.source}` : '';
  const error = view?.follower?.error ?? null;
  return [`the standby is ${standbyState(view)}${lag}${at}${source}`].concat(error ?? []);
}

/** null: it does what it did. Whom it asks, and why in vain, changes while it waits. */
export function standbyChange(view: StandbyView | null, before: StandbyView | null): string | null {
  const isSame = view?.role === before?.role && view?.follower?.state === before?.follower?.state;
  const error = view?.follower?.error ?? null;
  return isSame
    ? null
    : `the standby is ${standbyState(view)}${error === null ? '' : `: ${error}`}`;
}

function standbyState(view: StandbyView | null): string {
  if (view === null) return 'without a leader that answers';
  const { role, follower } = view;
  return role === 'standby' && follower !== undefined ? follower.state : role;
}
