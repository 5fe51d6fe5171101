/**
 * How long front threads that listen have said nothing: each tells its times once a second, so
 * silence is a loop that does not turn. Whoever has a connection there waits for ever, and the
 * kernel gives it new ones.
 *
 * Only time in which the core itself was on time counts. On a machine that stands still (no
 * processor, no memory, suspended) the core is late as well, and what threads have said in the
 * meantime is not read yet: such a look counts for nothing.
 */

/** The core looks so often. */
export const LOOK_MS = 1000;
/** A second late at most. */
const ON_TIME_MS_MAX = 2 * LOOK_MS;
/** A front's longest piece of work is some milliseconds, and a collection of its heap a second. */
export const SILENT_MS = 10_000;
/** From here on it is not expected to speak again. */
export const HANGING_MS = 30_000;

/** The finding of a look, told once each time that it changes. */
export type Finding = 'silent' | 'hanging' | 'speaks';

export class Silence {
  #silentMs = 0;
  #found: Finding = 'speaks';

  get isSilent(): boolean {
    return this.#found !== 'speaks';
  }

  /** The thread has said something. */
  heard(): void {
    this.#silentMs = 0;
  }

  /** `sinceMs`: since the last look of the core. null: as before. */
  look(sinceMs: number): Finding | null {
    if (sinceMs <= ON_TIME_MS_MAX) this.#silentMs += sinceMs;
    const before = this.#found;
    if (this.#silentMs >= HANGING_MS) this.#found = 'hanging';
    else this.#found = this.#silentMs >= SILENT_MS ? 'silent' : 'speaks';
    return this.#found === before ? null : this.#found;
  }
}
