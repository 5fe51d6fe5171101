/** The state of a machine, and what its own log makes of an empty one, as digests. */
import { applyEntry, applyMembership, MapState, type TransactionSink } from '@svc/engine';
import { digestOf } from '../simulation/state-digest.js';
import type { Machine } from './machine.js';

const NORMAL = 0;
const CONFIGURATION = 1;
const IGNORE: TransactionSink = { insertBytes: () => {} };

/** null when the log does not reach back to the first entry. */
export function replayed({ parts, node }: Machine): string | null {
  if (parts === null || node === null || parts.log.firstIndex > 1) return null;
  const state = new MapState();
  const last = node.broker.raftFigures().applied;
  for (let index = 1; index <= last; index++) {
    const [entry] = parts.log.entries(index, index + 1, 0);
    if (entry?.type === NORMAL) applyEntry(state, IGNORE, index, entry.data);
    else if (entry?.type === CONFIGURATION) applyMembership(state, index, entry.data);
  }
  return digestOf(state);
}

export function stateOf({ parts }: Machine): string {
  return parts === null ? '' : digestOf(parts.state);
}
