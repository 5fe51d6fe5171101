/**
 * What members answer that are far behind. Each such answer makes this node read, verify and send
 * another part of its log, so that it is done one at a time, with everything else that has come
 * meanwhile in between: a member that is caught up with a gigabyte slows nobody down by more than
 * one part. Nobody waits for these answers: what they acknowledge is long committed.
 *
 * Parts leave at a stated rate and evenly. As fast as it goes would be a little sooner done, and
 * until then all processors and disks on the way would be busy with nothing else: where nodes share
 * a machine, or a disk, clients would wait for the whole of it. Time that passes unused is lost but
 * for BURST_MS, so that a timer which comes late costs no rate. Whatever is read for a member of
 * what is applied here counts, also what the answer to a heartbeat brought about, which does not
 * wait here.
 *
 * Bound: ANSWERS_MAX, more than there are appends on their way to all members together. What does
 * not fit is dropped, as the network may do, and a heartbeat finds out.
 */
import type { AppendResponse } from '@svc/raft';
import type { Cancel, Clock } from '../system/clock.js';

const ANSWERS_MAX = 4096;
const BURST_MS = 20;
/** Timers are no finer. */
const TIMER_MS = 1;

export interface LaggardPace {
  readonly clock: Clock;
  /** To all members together. */
  readonly bytesPerSecond: number;
}

export class LaggardAnswers {
  readonly #pace: LaggardPace;
  readonly #take: (answer: AppendResponse) => void;
  #waiting: AppendResponse[] = [];
  #cancel: Cancel | null = null;
  /** When the next part may leave. */
  #dueMs = 0;

  constructor(pace: LaggardPace, take: (answer: AppendResponse) => void) {
    this.#pace = pace;
    this.#take = take;
  }

  add(answer: AppendResponse): void {
    if (this.#waiting.length < ANSWERS_MAX) this.#waiting.push(answer);
    this.#arm();
  }

  /** So much of the log was read for a member that is behind, and leaves now. */
  sent(bytes: number): void {
    const { clock, bytesPerSecond } = this.#pace;
    const takesMs = (bytes * 1000) / bytesPerSecond;
    this.#dueMs = Math.max(this.#dueMs, clock.nowMs() - BURST_MS) + takesMs;
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
    this.#waiting = [];
  }

  #arm(): void {
    if (this.#cancel !== null || this.#waiting.length === 0) return;
    const { clock } = this.#pace;
    const delayMs = this.#dueMs - clock.nowMs();
    const work = () => {
      this.#cancel = null;
      this.#next();
      this.#arm();
    };
    this.#cancel = delayMs < TIMER_MS ? clock.soon(work) : clock.after(delayMs, work);
  }

  #next(): void {
    const answer = this.#waiting.shift();
    if (answer !== undefined) this.#take(answer);
  }
}
