/**
 * Follows groups of entries from the append to the sync, for `WriteTiming`.
 *
 * What must hold: it only watches. Appends that a truncation takes back are forgotten when a later
 * one begins at or below them, so what is kept is bounded by the appends that wait to be written.
 */
import type { WriteTiming } from '../disk/write-timing.js';

interface Arrived {
  readonly index: number;
  readonly atMs: number;
}

export class LogGroupTiming {
  readonly #timing: WriteTiming;
  /** Appends by their first entry, ascending, that no group has taken. */
  #arrived: Arrived[] = [];
  /** Place of the first entry that is left; those before it are taken. */
  #next = 0;
  #entries = 0;
  #bytes = 0;
  #syncSinceMs = 0;

  constructor(timing: WriteTiming) {
    this.#timing = timing;
  }

  /** An append whose first entry is `index` was given to the log. */
  appended(index: number): void {
    const last = this.#arrived[this.#arrived.length - 1];
    if (last !== undefined && last.index >= index) this.#forget(index);
    this.#arrived.push({ index, atMs: this.#timing.nowMs() });
  }

  /** The entry is part of the next write. */
  taken(index: number, bytes: number): void {
    this.#entries++;
    this.#bytes += bytes;
    const first = this.#arrived[this.#next];
    if (first === undefined || first.index > index) return;
    this.#next++;
    this.#timing.pickedUp(this.#timing.nowMs() - first.atMs);
    if (this.#next < this.#arrived.length) return;
    this.#arrived = [];
    this.#next = 0;
  }

  syncing(): void {
    this.#syncSinceMs = this.#timing.nowMs();
  }

  synced(): void {
    if (this.#entries === 0) return;
    this.#timing.synced(this.#entries, this.#bytes, this.#timing.nowMs() - this.#syncSinceMs);
    this.#entries = 0;
    this.#bytes = 0;
  }

  removed(files: number): void {
    if (files > 0) this.#timing.removed(files);
  }

  #forget(from: number): void {
    this.#arrived = this.#arrived.slice(this.#next).filter(({ index }) => index < from);
    this.#next = 0;
  }
}
