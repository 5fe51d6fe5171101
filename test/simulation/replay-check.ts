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
 * What all committed entries make of an empty state, as far as it was asked for last. Machines that
 * have applied equally much, and later looks at one, share the work.
 */
export class Replay {
  readonly #judge: Judge;
  #state: WatchedState;
  #applied = 0;
  /** Digest of the state after the entry; null: not computed since it changed. */
  #digest: string | null = null;

  constructor(judge: Judge) {
    this.#judge = judge;
    this.#state = this.#empty();
  }

  #empty(): WatchedState {
    return new WatchedState((index) => this.#judge.committed(index)?.data);
  }

  /**
   * What the checkpoint and the log after it gave is what all entries from the first on give.
   * Returns what these did with appends; null when they are not all known.
   */
  check(machine: SimulatedMachine): { readonly trimmed: number; readonly moved: number } | null {
    const { node, parts, number } = machine;
    if (node === null || parts === null) return null;
    const last = node.broker.raftFigures().applied;
    if (!this.#moveTo(last)) return null;
    this.#digest ??= digestOf(this.#state);
    const { trimmed, moved } = this.#state;
    if (this.#digest === digestOf(parts.state)) return { trimmed, moved };
    throw new Violation('replay', `machine ${number}: log and state differ at entry ${last}`);
  }

  /** False where an entry is not known. */
  #moveTo(last: number): boolean {
    if (last < this.#applied) {
      this.#state = this.#empty();
      this.#applied = 0;
      this.#digest = null;
    }
    for (let index = this.#applied + 1; index <= last; index++) {
      const entry = this.#judge.committed(index);
      // The machine that had it died before it could be looked at, and it was given back meanwhile.
      if (entry === undefined) return false;
      if (entry.type === NORMAL) applyEntry(this.#state, IGNORE, index, entry.data);
      else if (entry.type === CONFIGURATION) applyMembership(this.#state, index, entry.data);
      this.#applied = index;
      this.#digest = null;
    }
    return true;
  }
}

/** What was planned is what was applied, once nothing is in flight. */
export function checkPlanned(machine: SimulatedMachine): void {
  const leader = machine.node?.leader;
  const { parts, number } = machine;
  if (leader == null || parts === null || leader.inFlight > 0) return;
  if (digestOf(leader.plannedState) === digestOf(parts.state)) return;
  throw new Violation('planned', `machine ${number}: planned and applied state differ`);
}
