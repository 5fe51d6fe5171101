/**
 * The part of the loop's time that long work for clients gets: reading large bodies, making large
 * answers, and reads of messages and state. A process has one for each thread with a loop.
 *
 * The job: a body of 64 MiB takes a second to read, an answer of 32 MiB a tenth of one to make, a
 * fetch of a megabyte a third of a millisecond; and a hundred of them may come at once. Heartbeats,
 * acknowledgements and small calls wait for none of them longer than a few milliseconds.
 *
 * What must hold:
 * - Long work comes in steps that take less than a millisecond or two each: bounded items, bounded
 *   bytes. All of it together gets TURN_MS in each turn of the loop, and one step at least.
 * - Steps of different calls take turns. So a call waits for the parts of others, and never for
 *   another call as a whole.
 * - Work is begun in the call that brings it while the turn has something left of its share and
 *   nothing waits. So a call that comes alone pays for its place with two looks at the clock: what
 *   took less than UNTOLD_MS since the last new turn does not ask for one.
 *
 * A new turn begins in the phase of immediates, behind the one that reads sockets. What waits goes
 * on there with what the sockets left of the share, and not at all when they left nothing.
 *
 * Rejected: a bound of time for each call, or for each kind of calls, because a hundred of them are
 * a hundred times that; a bound of bytes for each turn, because a byte of a message costs a
 * nanosecond to copy and a byte of an acknowledgement's answer twenty to make.
 */

/**
 * A step is called again until it returns true. One that can go on for long stops when the clock
 * has reached `untilMs`. A step that throws is over; the error goes to whoever runs it.
 */
export type Step = (untilMs: number) => boolean;

/** The clock of the loop that is shared. */
export interface LoopClock {
  /** Milliseconds with a fraction; only differences mean something. */
  nowMs(): number;
  /** Runs `work` among the immediates of the loop. */
  soon(work: () => void): unknown;
}

const TURN_MS = 4;
/** Time since the last new turn below which none is asked for; it may be of several turns. */
const UNTOLD_MS = 1;

export class LoopShare {
  readonly #clock: LoopClock;
  /** In the order of their turns. */
  readonly #line: Step[] = [];
  /** Time that steps took in this turn of the loop. */
  #usedMs = 0;
  #isWorking = false;
  /** A new turn has been asked for. */
  #isArmed = false;

  constructor(clock: LoopClock) {
    this.#clock = clock;
  }

  /** Number of calls whose work is not done. */
  get waiting(): number {
    return this.#line.length;
  }

  run(step: Step): void {
    const isFirst = this.#line.length === 0 && !this.#isWorking;
    this.#line.push(step);
    try {
      if (isFirst && this.#usedMs < TURN_MS) this.#work();
    } finally {
      this.#arm();
    }
  }

  #work(): void {
    this.#isWorking = true;
    const sinceMs = this.#clock.nowMs();
    const untilMs = sinceMs + TURN_MS - this.#usedMs;
    let nowMs = sinceMs;
    try {
      do {
        const step = this.#line.shift();
        if (step === undefined) break;
        if (!step(untilMs)) this.#line.push(step);
        nowMs = this.#clock.nowMs();
      } while (nowMs < untilMs);
    } finally {
      // A handler may catch what a step has thrown, and all other work has to go on then.
      this.#usedMs += nowMs - sinceMs;
      this.#isWorking = false;
    }
  }

  #arm(): void {
    if (this.#isArmed || (this.#line.length === 0 && this.#usedMs < UNTOLD_MS)) return;
    this.#isArmed = true;
    this.#clock.soon(() => {
      this.#isArmed = false;
      try {
        if (this.#usedMs < TURN_MS) this.#work();
      } finally {
        this.#usedMs = 0;
        this.#arm();
      }
    });
  }
}
