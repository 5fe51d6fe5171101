/** Work that is done again and again, each time so long after it was done before. */
import type { Cancel, Clock } from '../base/clock.js';

export class Repeating {
  readonly #clock: Pick<Clock, 'after'>;
  readonly #onFault: (error: unknown) => void;
  readonly #timers = new Set<Cancel>();
  #isClosed = false;

  /** `onFault` hears what a work rejects with; the work goes on. */
  constructor(clock: Pick<Clock, 'after'>, onFault: (error: unknown) => void) {
    this.#clock = clock;
    this.#onFault = onFault;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  every(ms: number, work: () => Promise<void>): void {
    if (this.#isClosed) return;
    const cancel = this.#clock.after(ms, () => {
      this.#timers.delete(cancel);
      void this.guarded(work).then(() => this.every(ms, work));
    });
    this.#timers.add(cancel);
  }

  async guarded(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#onFault(error);
    }
  }

  /** Nothing begins any more; what runs ends by itself. */
  close(): void {
    this.#isClosed = true;
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
  }
}
