import { bug } from '../disk/faults.js';
import type { LogEntry } from './entry.js';

/** Dropped slots are cut off once they are many and most of the array. */
const COMPACT_SLOTS_MIN = 1024;

/**
 * The newest entries of the log, by reference. It always holds every entry that is not durable yet,
 * and beyond those as many as fit a byte bound, so a consumer at the tail is served from memory.
 *
 * Invariant: the entries are consecutive and end with the last entry of the log.
 */
export class RecentEntries {
  #entries: (LogEntry | null)[] = [];
  /** Slots before it are dropped. */
  #head = 0;
  #firstIndex: number;
  #bytes = 0;

  constructor(nextIndex: number) {
    this.#firstIndex = nextIndex;
  }

  /** The oldest entry held; nextIndex when there is none. */
  get firstIndex(): number {
    return this.#firstIndex;
  }

  get nextIndex(): number {
    return this.#firstIndex + this.#entries.length - this.#head;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get(index: number): LogEntry | undefined {
    if (index < this.#firstIndex) return undefined;
    return this.#entries[this.#head + index - this.#firstIndex] ?? undefined;
  }

  push(entry: LogEntry): void {
    if (entry.index !== this.nextIndex) {
      bug(`entry ${entry.index} follows ${this.nextIndex - 1}`);
    }
    this.#entries.push(entry);
    this.#bytes += entry.data.length;
  }

  /** Drops the oldest until `bytesMax` holds, but none above `durableIndex`. */
  trim(durableIndex: number, bytesMax: number): void {
    while (this.#bytes > bytesMax && this.#firstIndex <= durableIndex) {
      this.#bytes -= this.#entries[this.#head]?.data.length ?? 0;
      this.#entries[this.#head] = null;
      this.#head++;
      this.#firstIndex++;
    }
    if (this.#head > COMPACT_SLOTS_MIN && this.#head * 2 > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#head);
      this.#head = 0;
    }
  }

  /** Forgets `index` and all after it. */
  truncate(index: number): void {
    if (index < this.#firstIndex) {
      this.clear(index);
      return;
    }
    while (this.nextIndex > index) this.#bytes -= this.#entries.pop()?.data.length ?? 0;
  }

  clear(nextIndex: number): void {
    this.#entries = [];
    this.#head = 0;
    this.#bytes = 0;
    this.#firstIndex = nextIndex;
  }
}
