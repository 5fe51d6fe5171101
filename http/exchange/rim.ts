/**
 * What the exchanges of one listener share: budgets, turns, the sweep of those that are slow, and
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
import type { FrontLogger, Rim } from './exchange.js';
import { LoopShare } from './loop-share.js';

export interface RimOptions {
  readonly logger: FrontLogger;
  readonly nowMs: () => number;
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
    this.loop = new LoopShare(nowMs);
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

  /** Closes each connection with its answer from now on; resolves when no request is open. */
  async drained(drainMs: number): Promise<void> {
    this.stopping = true;
    let isOver = false;
    const timer = setTimeout(() => {
      isOver = true;
      this.#onIdle?.();
    }, drainMs);
    do {
      if (this.#open > 0) {
        await new Promise<void>((resolve) => {
          this.#onIdle = resolve;
        });
      }
      this.#onIdle = null;
      // What was answered last may still be in the native layer's hands, and a request may come on
      // a connection that was silent until now.
      await new Promise((resolve) => setTimeout(resolve, CLOSE_DELAY_MS));
    } while (this.#open > 0 && !isOver);
    clearTimeout(timer);
  }

  #sweep(): void {
    const nowMs = this.monotonicMs();
    for (const slow of this.slow) slow.sweep(nowMs);
    this.bodies.look();
    this.answers.sweep(nowMs);
  }
}
