/**
 * Repair of the log while consensus runs: damage that a scrub or a read found is fetched from the
 * other members and put back in place.
 *
 * Nothing is ever cut here. What is damaged below the commit index stands at others, and what is
 * damaged above it is either replaced by a leader or repaired as well; so the answer to "nobody has
 * it" is to ask again. While a slot is damaged the node does not campaign (`onChange` tells the
 * host): a leader must be able to read its log to whoever needs it. A leader that finds damage goes
 * on until the host has handed leadership over, and is repaired like any other.
 */
import type { NodeId } from '@svc/raft';
import type { FrameContent, RepairAnswer } from '../peers/frames.js';
import type { Clock } from '../system/clock.js';
import { type RepairingLog, RepairRounds } from './rounds.js';

/** How often the log is asked whether anything is damaged: damaged reads register by themselves. */
const LOOK_MS = 1000;

export interface RepairRunningOptions {
  readonly log: RepairingLog;
  /** The members now, without this node. */
  readonly peers: () => readonly NodeId[];
  readonly send: (to: NodeId, content: FrameContent) => boolean;
  readonly clock: Clock;
  /** Drawn at random: 0..2^32-1. */
  readonly round: number;
  readonly report: (text: string) => void;
  /** Whether the log is whole; told when it changes. */
  readonly onChange: (whole: boolean) => void;
}

export class RepairRunning {
  readonly #options: RepairRunningOptions;
  readonly #rounds: RepairRounds;
  readonly #stopLooking: () => void;
  #whole = true;

  constructor(options: RepairRunningOptions) {
    this.#options = options;
    this.#rounds = new RepairRounds({
      log: options.log,
      peers: options.peers,
      send: options.send,
      clock: options.clock,
      round: options.round,
      report: options.report,
      onProgress: () => this.look(),
    });
    this.#stopLooking = options.clock.every(LOOK_MS, () => this.look());
  }

  get whole(): boolean {
    return this.#whole;
  }

  /** To be called at once when damage was met; otherwise it is noticed within a second. */
  look(): void {
    const whole = this.#options.log.isWhole;
    if (whole === this.#whole) return;
    this.#whole = whole;
    if (whole) {
      this.#rounds.stop();
      this.#options.report(`the log is whole again; slots repaired: ${this.#rounds.repaired}`);
    } else {
      this.#rounds.start();
    }
    this.#options.onChange(whole);
  }

  onAnswer(from: NodeId, answer: RepairAnswer): void {
    if (!this.#whole) this.#rounds.onAnswer(from, answer);
  }

  stop(): void {
    this.#stopLooking();
    this.#rounds.stop();
  }
}
