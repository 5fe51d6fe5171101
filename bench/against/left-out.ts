// Rounds that brought nothing, because the other system failed in them: it closed its connections,
// or acknowledged nothing for so long that the load program gave up. NATS with synchronous files
// on three nodes did so once in some 60 minutes, and took the rest of the run with it. A failure of
// ours is a finding, and ends the run; so does another system that goes on failing.

import { LoadProgramError } from '../native/load-program.js';
import type { Contender, LeftOutRound, Pairing } from './result.js';

type RateLoad = Pick<Pairing, 'work' | 'payloadBytes' | 'batch'>;

/** No other system speaks it. */
const OUR_PROTOCOL = 'http';
/** A system with more of them in one run is not left out of a round, it is broken. */
const FAILURES_MAX = 3;

export class LeftOut {
  readonly #rounds: LeftOutRound[] = [];

  get rounds(): readonly LeftOutRound[] {
    return this.#rounds;
  }

  /** Keeps the round with why it failed; throws `error` when the run may not go on after it. */
  add(contender: Contender, load: RateLoad, error: unknown): LeftOutRound {
    if (!(error instanceof LoadProgramError) || error.protocol === OUR_PROTOCOL) throw error;
    const { system: peer, setting, nodes } = contender;
    if (peer === 'ours') throw error;
    const before = this.#rounds.filter(
      (one) => one.peer === peer && one.setting === setting && one.nodes === nodes,
    );
    if (before.length >= FAILURES_MAX) throw error;
    const round = { peer, setting, nodes, ...load, reason: error.message };
    this.#rounds.push(round);
    return round;
  }
}
