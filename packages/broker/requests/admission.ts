/**
 * How many bytes of growing commands may wait to be planned and made durable (cluster-and-config
 * 2.4), and how long a command waits for room.
 *
 * The job: when producers outrun the disk, what they send has to wait somewhere. It waits here, in
 * the order of its arrival, for a bounded time, and is then refused as overloaded, which is
 * definite: nothing was planned. Drain kinds never come here, so a backlog of pushes cannot hold
 * acks, and the turn of the loop takes them first in any case.
 *
 * What must hold:
 * - The bytes inside are at most `bytesMax`, or those of a single command that is larger.
 * - Whoever is let in leaves exactly once, when its outcome is known; nobody overtakes.
 * - A hold ends within its time whether anything leaves or not. Holds are drawn a quarter around
 *   their length, so that those who came together do not come back together.
 *
 * The bodies of those who wait were admitted by the front, or by the bound of calls in flight
 * between nodes: that bounds their number and bytes.
 */
import type { Refusal } from '@svc/engine';
import { type Counts, counts } from '@svc/wire';
import type { Cancel, Clock } from '../system/clock.js';

/** Answered 503 with `Retry-After`. */
export const OVERLOADED: Refusal = {
  reason: 'overloaded',
  error: 'too many request bytes wait to be written; retry',
};

export interface AdmissionOptions {
  /** 0: everything is let in. */
  readonly bytesMax: number;
  readonly holdMs: number;
  /** For commands of other nodes, whose clients wait there. */
  readonly forwardedHoldMs: number;
  readonly clock: Clock;
  /** 0 <= fraction < 1. */
  readonly fraction: () => number;
  /** Commands that had to wait for room, and those that it was refused to in the end. */
  readonly counts?: Counts<'waited' | 'refused'>;
}

interface Waiting {
  readonly bytes: number;
  readonly untilMs: number;
  readonly done: (admitted: boolean) => void;
  gone: boolean;
}

const JITTER = 0.25;
/** How often holds are looked at while any is waiting. */
const CHECK_MS = 100;

export class Admission {
  readonly #options: AdmissionOptions;
  readonly #counts: Counts<'waited' | 'refused'>;
  #bytes = 0;
  /** From `#next` on, in order of arrival. */
  #waiting: Waiting[] = [];
  #next = 0;
  #stopChecking: Cancel | null = null;
  #admitting = false;

  constructor(options: AdmissionOptions) {
    this.#options = options;
    this.#counts = options.counts ?? counts(['waited', 'refused']);
  }

  get bytesMax(): number {
    return this.#options.bytesMax;
  }

  /** Bytes of commands that were let in and have not left. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Commands that wait for room. */
  get waiting(): number {
    return this.#waiting.length - this.#next;
  }

  /** True: the bytes count until `leave`. False: it has to `wait`. */
  tryEnter(bytes: number): boolean {
    if (this.waiting > 0 || !this.#hasRoom(bytes)) return false;
    this.#bytes += bytes;
    return true;
  }

  /**
   * After `tryEnter` has said no. `done` runs once and not within this call: with true when the
   * bytes count from now on, with false when the time for it is over. Cancelled: it does not run.
   */
  wait(
    bytes: number,
    origin: 'client' | 'forwarded',
    deadlineMs: number,
    done: (admitted: boolean) => void,
  ): Cancel {
    const { clock, holdMs, forwardedHoldMs, fraction } = this.#options;
    const length = origin === 'client' ? holdMs : forwardedHoldMs;
    const drawn = length * (1 - JITTER + 2 * JITTER * fraction());
    const untilMs = Math.min(deadlineMs, clock.nowMs() + drawn);
    const one: Waiting = { bytes, untilMs, done, gone: false };
    this.#waiting.push(one);
    this.#counts.waited++;
    this.#stopChecking ??= clock.every(CHECK_MS, () => this.#expire());
    return () => {
      if (one.gone) return;
      one.gone = true;
      // It may have stood before others that fit.
      clock.soon(() => this.#admit());
    };
  }

  /** The outcome of a command that was let in is known. */
  leave(bytes: number): void {
    this.#bytes -= bytes;
    if (this.#waiting.length > 0) this.#admit();
  }

  /** Ends the admission: all who wait are told no. */
  stop(): void {
    const waiting = this.#waiting.slice(this.#next);
    this.#clear();
    for (const one of waiting) if (!one.gone) one.done(false);
  }

  #hasRoom(bytes: number): boolean {
    const { bytesMax } = this.#options;
    return bytesMax === 0 || this.#bytes === 0 || this.#bytes + bytes <= bytesMax;
  }

  /**
   * A request may leave before `done` returns, because it is refused at once. That makes room for
   * the next one, which this loop lets in, and not a loop within it.
   */
  #admit(): void {
    if (this.#admitting) return;
    this.#admitting = true;
    try {
      if (this.#admitWhileRoom()) this.#clear();
    } finally {
      this.#admitting = false;
    }
  }

  /** True: nobody waits any more. */
  #admitWhileRoom(): boolean {
    for (;;) {
      const first = this.#waiting[this.#next];
      if (first === undefined) return true;
      if (!first.gone) {
        if (!this.#hasRoom(first.bytes)) return false;
        this.#bytes += first.bytes;
      }
      this.#next++;
      if (!first.gone) {
        first.gone = true;
        first.done(true);
      }
    }
  }

  #expire(): void {
    const nowMs = this.#options.clock.nowMs();
    const ended: Waiting[] = [];
    this.#waiting = this.#waiting.slice(this.#next).filter((one) => {
      if (one.gone) return false;
      if (one.untilMs > nowMs) return true;
      one.gone = true;
      ended.push(one);
      return false;
    });
    this.#next = 0;
    this.#counts.refused += ended.length;
    for (const one of ended) one.done(false);
    this.#admit();
  }

  #clear(): void {
    this.#waiting = [];
    this.#next = 0;
    this.#stopChecking?.();
    this.#stopChecking = null;
  }
}
