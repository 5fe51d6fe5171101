/**
 * What members answer that are far behind. Each such answer makes this node read, verify and send
 * another part of its log, so that it is done one at a time, with everything else that has come
 * meanwhile in between: a member that is caught up with a gigabyte slows nobody down by more than
 * one part. Nobody waits for these answers: what they acknowledge is long committed.
 *
 * Bound: ANSWERS_MAX, more than there are appends on their way to all members together. What does
 * not fit is dropped, as the network may do, and a heartbeat finds out.
 */
import type { AppendResponse } from '@svc/raft';
import type { Cancel, Clock } from './clock.js';

const ANSWERS_MAX = 4096;

export class LaggardAnswers {
  readonly #clock: Clock;
  readonly #take: (answer: AppendResponse) => void;
  #waiting: AppendResponse[] = [];
  #cancel: Cancel | null = null;

  constructor(clock: Clock, take: (answer: AppendResponse) => void) {
    this.#clock = clock;
    this.#take = take;
  }

  add(answer: AppendResponse): void {
    if (this.#waiting.length < ANSWERS_MAX) this.#waiting.push(answer);
    this.#arm();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
    this.#waiting = [];
  }

  #arm(): void {
    if (this.#cancel !== null || this.#waiting.length === 0) return;
    this.#cancel = this.#clock.soon(() => {
      this.#cancel = null;
      const answer = this.#waiting.shift();
      if (answer !== undefined) this.#take(answer);
      this.#arm();
    });
  }
}
