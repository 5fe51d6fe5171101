/** Compares the states of machines with what the committed entries alone make of an empty one. */
import { applyEntry, applyMembership, type TransactionSink } from '@svc/engine';
import type { Judge } from './judge.js';
import type { SimulatedMachine } from './simulated-machine.js';
import { digestOf } from './state-digest.js';
import { Violation } from './violation.js';
import { WatchedState } from './watched-state.js';

const NORMAL = 0;
const CONFIGURATION = 1;
const IGNORE: TransactionSink = { insertBytes: () => {} };

/**
 * What the checkpoint and the log after it gave is what all entries from the first on give. Returns
 * what these did with appends; null when they are not all known.
 */
export function checkReplay(
  judge: Judge,
  machine: SimulatedMachine,
): { readonly trimmed: number; readonly moved: number } | null {
  const { node, parts, number } = machine;
  if (node === null || parts === null) return null;
  const last = node.broker.raftFigures().applied;
  const replayed = new WatchedState((index) => judge.committed(index)?.data);
  for (let index = 1; index <= last; index++) {
    const entry = judge.committed(index);
    // Whoever had it died before it could be looked at, and it was given back meanwhile.
    if (entry === undefined) return null;
    if (entry.type === NORMAL) applyEntry(replayed, IGNORE, index, entry.data);
    else if (entry.type === CONFIGURATION) applyMembership(replayed, index, entry.data);
  }
  if (digestOf(replayed) === digestOf(parts.state)) return replayed;
  throw new Violation('replay', `machine ${number}: log and state differ at entry ${last}`);
}

/** What was planned is what was applied, once nothing is in flight. */
export function checkPlanned(machine: SimulatedMachine): void {
  const leader = machine.node?.broker.leader;
  const { parts, number } = machine;
  if (leader == null || parts === null || leader.inFlight > 0) return;
  if (digestOf(leader.plannedState) === digestOf(parts.state)) return;
  throw new Violation('planned', `machine ${number}: planned and applied state differ`);
}
