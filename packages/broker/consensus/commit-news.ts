/**
 * When followers are told of a commit index that rose: behind the turn of the leader, which was
 * asked for when what is committed now was applied. The entry that the turn proposes brings the
 * index along, and no message is needed for the index alone; without an entry it leaves in the same
 * turn of the loop, as the answers do that rest on it.
 *
 * Rejected: to wait for the next append some milliseconds. A follower answers its own clients when
 * it has applied what they asked for.
 */
import type { Cancel, Clock } from '../system/clock.js';

export class CommitNews {
  readonly #clock: Clock;
  readonly #tell: () => void;
  #cancel: Cancel | null = null;

  constructor(clock: Clock, tell: () => void) {
    this.#clock = clock;
    this.#tell = tell;
  }

  tellSoon(): void {
    this.#cancel ??= this.#clock.soon(() => {
      this.#cancel = null;
      this.#tell();
    });
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
  }
}
