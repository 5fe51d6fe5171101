/**
 * The exchanges of one listener share it: budgets, turns, the sweep of those that are slow, and
 * the count of requests that are open.
 */
import {
  ANSWER_BYTES_IN_FLIGHT_DEFAULT,
  BODY_BYTES_IN_FLIGHT_DEFAULT,
  DRAIN_BODY_BYTES_IN_FLIGHT_DEFAULT,
  SWEEP_INTERVAL_MS,
} from '../base/limits.js';
import { AnswerBudget } from './answer-budget.js';
import { BodyBudget } from './body-budget.js';
import { BodyTurns } from './body-turns.js';
import { LoopShare } from './loop-share.js';

/** What exchanges share and report to. */
export interface Rim {
  readonly budget: BodyBudget;
  readonly answers: AnswerBudget;
  /** For reading large bodies and making large answers. */
  readonly loop: LoopShare;
  /** Large bodies that are not complete. */
  readonly bodies: BodyTurns;
  readonly logger: FrontLogger;
  /** A request came; `settled` follows when it is answered or gone. */
  opened(): void;
  settled(): void;
  /** The server stops: each connection is closed with its next answer. */
  stopping: boolean;
  /** Bodies that come in pieces, which the sweep looks at. */
  readonly slow: Set<Slow>;
  monotonicMs(): number;
}

export interface Slow {
  /** Cuts itself off when it is too slow. */
  sweep(nowMs: number): void;
}

export interface FrontLogger {
  error(message: string, error: unknown): void;
}

export interface RimOptions {
  readonly logger: FrontLogger;
  readonly nowMs: () => number;
  /** Share of the listener's loop; absent: it shares the loop with no other long work. */
  readonly loop?: LoopShare | undefined;
  /** Bodies in memory over all connections, from admission to answer; pushes and the like. */
  readonly bodyBytesInFlightMax?: number | undefined;
  /** The same for acks and lease renewals. */
  readonly drainBodyBytesInFlightMax?: number | undefined;
  /**
   * Bytes of large answers that slow readers may leave waiting before others are refused; for pops
   * and for all else each.
   */
  readonly answerBytesInFlightMax?: number | undefined;
}

const CLOSE_DELAY_MS = 50;

export class ListenerRim implements Rim {
  readonly budget: BodyBudget;
  readonly answers: AnswerBudget;
  readonly loop: LoopShare;
  readonly bodies: BodyTurns;
  readonly logger: FrontLogger;
  readonly slow: Rim['slow'] = new Set();
  stopping = false;
  readonly #nowMs: () => number;
  #open = 0;
  #sweeper: NodeJS.Timeout | null = null;
  #draining: Promise<void> | null = null;
  /** `drained` waits for nobody any more. */
  #isDrained = false;
  /** Set while `drained` waits for the last request. */
  #onIdle: (() => void) | null = null;

  constructor(options: RimOptions) {
    const { nowMs } = options;
    this.#nowMs = nowMs;
    this.logger = options.logger;
    this.answers = new AnswerBudget(
      options.answerBytesInFlightMax ?? ANSWER_BYTES_IN_FLIGHT_DEFAULT,
    );
    this.budget = new BodyBudget(
      options.bodyBytesInFlightMax ?? BODY_BYTES_IN_FLIGHT_DEFAULT,
      options.drainBodyBytesInFlightMax ?? DRAIN_BODY_BYTES_IN_FLIGHT_DEFAULT,
    );
    this.loop = options.loop ?? new LoopShare({ nowMs, soon: setImmediate });
    this.bodies = new BodyTurns(this.budget, nowMs);
  }

  /** Requests that have not been answered. */
  get open(): number {
    return this.#open;
  }

  opened(): void {
    this.#open++;
  }

  settled(): void {
    this.#open--;
    if (this.#open === 0) this.#onIdle?.();
  }

  monotonicMs(): number {
    return this.#nowMs();
  }

  /** Looks at those that are slow from now on, until `stopSweeping`. */
  startSweeping(): void {
    this.#sweeper ??= setInterval(() => this.#sweep(), SWEEP_INTERVAL_MS);
  }

  stopSweeping(): void {
    if (this.#sweeper !== null) clearInterval(this.#sweeper);
    this.#sweeper = null;
  }

  /**
   * Closes each connection with its answer from now on. Resolves when no request is open, or after
   * `drainMs`; called more than once, after the shortest of the times.
   */
  drained(drainMs: number): Promise<void> {
    const timer = setTimeout(() => {
      this.#isDrained = true;
      this.#onIdle?.();
    }, drainMs);
    this.#draining ??= this.#drain();
    return this.#draining.finally(() => clearTimeout(timer));
  }

  async #drain(): Promise<void> {
    this.stopping = true;
    do {
      if (this.#open > 0 && !this.#isDrained) {
        await new Promise<void>((resolve) => {
          this.#onIdle = resolve;
        });
      }
      this.#onIdle = null;
      // The last answer may still be in the native layer's hands, and a request may come on
      // a connection that was silent until now.
      await new Promise((resolve) => setTimeout(resolve, CLOSE_DELAY_MS));
    } while (this.#open > 0 && !this.#isDrained);
  }

  #sweep(): void {
    const nowMs = this.monotonicMs();
    for (const slow of this.slow) slow.sweep(nowMs);
    this.bodies.look();
    this.answers.sweep(nowMs);
  }
}
