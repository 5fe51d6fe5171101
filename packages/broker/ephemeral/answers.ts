/**
 * Room for the answers of ephemeral pops, by the same rules as for those of durable ones
 * (`pop-answers.ts`), and turns for those that wait: one push of a megabyte is an answer of a
 * megabyte to each of a thousand groups.
 *
 * What must hold:
 * - A pop takes messages only into room that its client's answer has reserved. Without room it
 *   stands in line for it, parked, its messages untouched.
 * - Pops that wait are answered until a turn of the loop has TURN_BYTES_MAX, and the others in the
 *   turns that follow, in the order in which they were put off.
 *
 * A pop of another node has no room here: its turns are counted, and its node counts its answer
 * when it comes.
 */
import type { PopRoom } from '@svc/ephemeral';
import { PopAnswers } from '../leader/pop-answers.js';
import type { Clock } from '../system/clock.js';

/** Bytes of answers after which a turn serves no more of those that wait. */
const TURN_BYTES_MAX = 1024 * 1024;

export class EphemeralAnswers implements PopRoom {
  readonly #clock: Clock;
  readonly #answers = new PopAnswers();
  readonly #retry: (ticket: object) => void;
  #turnBytes = 0;
  #isArmed = false;
  readonly #postponed = new Set<object>();

  /** `retry` tries a pop again that is parked still. */
  constructor(clock: Clock, retry: (ticket: object) => void) {
    this.#clock = clock;
    this.#retry = retry;
    this.#answers.onRoom = (ticket) => {
      retry(ticket);
      this.#answers.turned();
    };
  }

  bytesFor(ticket: object): number {
    return this.#answers.bytesFor(ticket);
  }

  claimed(ticket: object, bytes: number): void {
    this.#answers.claimed(ticket, bytes);
    this.#turnBytes += bytes;
    this.#arm();
  }

  starved(ticket: object, bytes: number): void {
    this.#answers.starved(ticket, bytes);
  }

  postpones(ticket: object): boolean {
    if (this.#turnBytes < TURN_BYTES_MAX) return false;
    this.#postponed.add(ticket);
    return true;
  }

  /** Ends the answers: no waiting pop is tried again. */
  stop(): void {
    this.#answers.stop();
    this.#postponed.clear();
  }

  #arm(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    this.#clock.soon(() => {
      this.#isArmed = false;
      this.#turnBytes = 0;
      for (const ticket of this.#postponed) {
        if (this.#turnBytes >= TURN_BYTES_MAX) break;
        this.#postponed.delete(ticket);
        this.#retry(ticket);
      }
    });
  }
}
