/** Reads of the applied state for clients: when they may look, and how long at a stretch. */
import type { Clock } from './clock.js';
import { HeldReads, type ReadSource } from './held-reads.js';
import { StateWalks, type WalkReply } from './state-walks.js';

export class StateReads {
  readonly #held: HeldReads;
  readonly #walks: StateWalks;
  readonly #clock: Clock;
  readonly #allowedMs: number;

  constructor(source: ReadSource, clock: Clock, allowedMs: number) {
    this.#held = new HeldReads(source, clock);
    this.#walks = new StateWalks(clock);
    this.#clock = clock;
    this.#allowedMs = allowedMs;
  }

  get idle(): boolean {
    return this.#held.idle && this.#walks.idle;
  }

  /** Shows everything answered before it was asked. `key` as in `StateWalks.walk`. */
  confirmed<Result>(
    key: string | null,
    begin: () => Generator<void, Result>,
    reply: WalkReply,
    done: (result: Result) => void,
    deadlineMs = this.#clock.nowMs() + this.#allowedMs,
  ): void {
    this.#held.read(deadlineMs, reply, () => this.#walks.walk(key, begin, reply, done));
  }

  /** Shows what this node has applied. */
  local<Result>(
    begin: () => Generator<void, Result>,
    reply: WalkReply,
    done: (result: Result) => void,
  ): void {
    if (this.#held.mayLook(reply)) this.#walks.walk(null, begin, reply, done);
  }

  /** Who leads may have changed. */
  follow(): void {
    this.#held.follow();
  }

  /** From here on nothing waits long for a leader. */
  drain(): void {
    this.#held.drain();
  }

  /** Everything held is refused; the state is not looked at any more. */
  stop(): void {
    this.#held.stop();
    this.#walks.stop();
  }
}
