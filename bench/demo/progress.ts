// Shows how far a run is: one line that is rewritten on a terminal, a line now and then elsewhere.

import type { Ledger } from './ledger.js';

const TERMINAL_PERIOD_MS = 200;
const PLAIN_PERIOD_MS = 2000;
const CLEAR_LINE = '\r\x1b[2K';

/** Where a run speaks: standard output, or nowhere in a test. */
export interface ProgressOutput {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

export class Progress {
  readonly #ledger: Ledger;
  readonly #output: ProgressOutput;
  readonly #terminal: boolean;
  readonly #startedMs = performance.now();
  readonly #timer: NodeJS.Timeout;
  #state = 'running';

  constructor(ledger: Ledger, output: ProgressOutput) {
    this.#ledger = ledger;
    this.#output = output;
    this.#terminal = output.isTTY === true;
    const periodMs = this.#terminal ? TERMINAL_PERIOD_MS : PLAIN_PERIOD_MS;
    this.#timer = setInterval(() => this.#show(), periodMs);
  }

  /** A line that stays, for example about a kill. */
  say(line: string): void {
    this.#output.write(`${this.#terminal ? CLEAR_LINE : ''}${line}\n`);
  }

  /** What the run is doing now, in a word or two. */
  set state(state: string) {
    this.#state = state;
  }

  close(): void {
    clearInterval(this.#timer);
    if (this.#terminal) {
      this.#output.write(CLEAR_LINE);
    }
  }

  #show(): void {
    const line = this.#line();
    this.#output.write(this.#terminal ? `${CLEAR_LINE}${line}` : `${line}\n`);
  }

  #line(): string {
    const { sentCount, acknowledgedCount, deliveredCount, redeliveredCount } = this.#ledger;
    const seconds = ((performance.now() - this.#startedMs) / 1000).toFixed(0);
    const percent = Math.floor((acknowledgedCount / sentCount) * 100);
    return (
      `${seconds.padStart(3)} s  stored ${acknowledgedCount} of ${sentCount} (${percent} %)` +
      `  delivered ${deliveredCount}  redelivered ${redeliveredCount}  ${this.#state}`
    );
  }
}
