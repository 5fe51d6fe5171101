/**
 * Replaces a state that cannot be trusted. It is never deleted and never repaired: it is moved
 * aside, and an empty one takes its place, when there is something to fill it from. That is
 * this node's own log when it reaches back to its first entry, or else a snapshot of another node.
 * Without either the node refuses to start, and nothing is changed.
 */
import { type Backing, DamageError } from '@svc/storage';
import type { StateStore } from './state-store.js';

export interface StateRecoveryFacts {
  readonly identity: Uint8Array;
  /** The first and the last entry of this node's log. */
  readonly firstIndex: number;
  readonly lastIndex: number;
  /** Other members that may have a snapshot. */
  readonly hasPeers: boolean;
  readonly warn: (text: string) => void;
}

/**
 * `from-log`: the entries after `backing.applied` are all there. `from-snapshot`: they are not, and
 * this node cannot serve or lead before it has installed a snapshot.
 */
export interface OpenedState {
  readonly backing: Backing;
  readonly recovery: 'from-log' | 'from-snapshot';
}

/**
 * A store of another directory, or of another version of this program, is in order: an operator put
 * it there.
 */
const NOT_DAMAGE: ReadonlySet<string> = new Set(['state_foreign', 'state_format_version']);

/** Throws DamageError when there is nothing to recover from. */
export function openState(store: StateStore, facts: StateRecoveryFacts): OpenedState {
  try {
    return choose(store.open(facts.identity), facts);
  } catch (error) {
    if (!(error instanceof DamageError) || NOT_DAMAGE.has(error.code)) throw error;
    refuseWithoutSource(error, facts);
    const path = store.moveAside();
    const opened = choose(store.open(facts.identity), facts);
    const source =
      opened.recovery === 'from-log'
        ? `it is rebuilt from the log, entries 1 to ${facts.lastIndex}`
        : `the log begins at entry ${facts.firstIndex}: it is taken from another node`;
    facts.warn(`the state cannot be trusted (${error.message}). Moved to ${path}; ${source}`);
    return opened;
  }
}

function choose(backing: Backing, facts: StateRecoveryFacts): OpenedState {
  const reaches = facts.firstIndex <= backing.applied.index + 1;
  // A lone node has nobody to ask; that its log is incomplete is for its opening to refuse.
  return { backing, recovery: reaches || !facts.hasPeers ? 'from-log' : 'from-snapshot' };
}

/** An empty log beside a state is not a log that reaches back: it was lost. */
function refuseWithoutSource(error: DamageError, facts: StateRecoveryFacts): void {
  const { firstIndex, lastIndex, hasPeers } = facts;
  if (hasPeers || (firstIndex === 1 && lastIndex > 0)) return;
  const log = lastIndex === 0 ? 'the log is empty' : `the log begins at entry ${firstIndex}`;
  throw new DamageError(
    error.code,
    error.file,
    error.offset,
    `the state cannot be trusted (${error.message}), and it cannot be rebuilt: ${log}, and there ` +
      'is no other node to take it from',
    'Nothing was changed. Restore the whole data directory from one copy',
  );
}
