/** The log of a source's node, for the tests of what standbys read. */
import { DamageError, type LogEntry } from '@svc/storage';
import { NORMAL } from '../consensus/consensus-storage.js';

/** A log that is a list. */
export class FakeLog {
  firstIndex = 1;
  readonly list: LogEntry[] = [];
  /** From here on entries are in memory. */
  recentFrom = 1;
  damagedAt = 0;
  /** Bytes that were read from files, and the most in one call. */
  fileBytes = 0;
  mostBytes = 0;
  /** The sum over all calls. */
  readBytes = 0;

  get lastIndex(): number {
    return this.list.length;
  }

  add(bytes: number, type = NORMAL, term = 1): void {
    const index = this.list.length + 1;
    this.list.push({ index, term, type, data: new Uint8Array(bytes).fill(index) });
  }

  term(index: number): number | undefined {
    if (index < this.firstIndex - 1 || index === this.damagedAt) return undefined;
    return this.list[index - 1]?.term;
  }

  entries(from: number, to: number, bytesMax: number): readonly LogEntry[] {
    if (to > this.list.length + 1) throw new Error(`entry ${to - 1} is not there`);
    if (from < this.firstIndex) throw new Error(`entry ${from} was given up`);
    if (from <= this.damagedAt && this.damagedAt < to) {
      throw new DamageError('log_damaged', '/log', 0, `entry ${this.damagedAt}`, '');
    }
    const found: LogEntry[] = [];
    let bytes = 0;
    for (const entry of this.list.slice(from - 1, to - 1)) {
      bytes += entry.data.length;
      if (found.length > 0 && bytes > bytesMax) break;
      found.push(entry);
    }
    const read = found.reduce((sum, { data }) => sum + data.length, 0);
    this.readBytes += read;
    this.mostBytes = Math.max(this.mostBytes, read);
    if (from < this.recentFrom) this.fileBytes += read;
    return found;
  }

  recent({ index }: { index: number }): Uint8Array | undefined {
    return index < this.recentFrom ? undefined : this.list[index - 1]?.data;
  }
}
