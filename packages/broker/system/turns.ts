/** Lets a bounded number of workers work at a time; the others wait in the order they came. */
export class Turns {
  #free: number;
  /** From `#next` on; those before have had their turn. */
  #waiting: (() => void)[] = [];
  #next = 0;

  constructor(workersMax: number) {
    this.#free = workersMax;
  }

  /** Resolves with what ends the turn, to be called once. */
  async take(): Promise<() => void> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return () => this.#end();
  }

  /** The turn goes to who waits longest. */
  #end(): void {
    const next = this.#waiting[this.#next];
    if (next === undefined) {
      this.#free++;
      return;
    }
    this.#next++;
    if (this.#next === this.#waiting.length) {
      this.#waiting = [];
      this.#next = 0;
    }
    next();
  }
}
