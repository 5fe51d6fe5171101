/**
 * The content of one simulated file: what readers see, what is on the medium, and the changes in
 * between that a power loss may keep, drop or tear.
 */
import type { SeededRandom } from './random.js';

/** What a device writes whole or not at all. */
export const SECTOR_BYTES = 512;

interface Write {
  readonly kind: 'write';
  readonly position: number;
  readonly bytes: Uint8Array;
}

type Change = Write | { readonly kind: 'truncate'; readonly length: number };

/** What of the write lies in `start..end`: one write, or none. */
function within({ position, bytes }: Write, start: number, end: number): Write[] {
  const from = Math.max(0, start - position);
  const to = Math.min(bytes.length, end - position);
  if (from >= to) return [];
  return [{ kind: 'write', position: position + from, bytes: bytes.subarray(from, to) }];
}

/** Bytes with a length that grows with zeros. */
class Content {
  #bytes = new Uint8Array(0);
  length = 0;

  write(position: number, bytes: Uint8Array): void {
    this.resize(Math.max(this.length, position + bytes.length));
    this.#bytes.set(bytes, position);
  }

  resize(length: number): void {
    if (length > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(length, this.#bytes.length * 2));
      grown.set(this.#bytes.subarray(0, this.length));
      this.#bytes = grown;
    }
    if (length < this.length) this.#bytes.fill(0, length, this.length);
    this.length = length;
  }

  view(): Uint8Array {
    return this.#bytes.subarray(0, this.length);
  }

  apply(change: Change): void {
    if (change.kind === 'write') this.write(change.position, change.bytes);
    else this.resize(change.length);
  }
}

export class Inode {
  #seen = new Content();
  #stored = new Content();
  #unsynced: Change[] = [];

  get size(): number {
    return this.#seen.length;
  }

  bytes(): Uint8Array {
    return this.#seen.view();
  }

  /** A write of no bytes changes nothing: it does not even lengthen the file. */
  write(position: number, bytes: Uint8Array): void {
    if (bytes.length > 0) this.#change({ kind: 'write', position, bytes: bytes.slice() });
  }

  truncate(length: number): void {
    this.#change({ kind: 'truncate', length });
  }

  #change(change: Change): void {
    this.#seen.apply(change);
    this.#unsynced.push(change);
  }

  /** Bytes outside of the range stay unsynced; truncations are in one journal: all are stored. */
  sync(start: number, end: number): void {
    let waiting: Write[] = [];
    for (const change of this.#unsynced) {
      if (change.kind === 'truncate') {
        this.#stored.apply(change);
        waiting = waiting.flatMap((write) => within(write, 0, change.length));
        continue;
      }
      for (const part of within(change, start, end)) this.#stored.apply(part);
      waiting = waiting.concat(
        within(change, 0, start),
        within(change, end, Number.POSITIVE_INFINITY),
      );
    }
    this.#unsynced = waiting;
  }

  /**
   * The system takes the changes for stored although some are not: readers go on seeing them, and
   * no later sync stores them unless they are written again. Truncations are stored: they are in
   * the file system's journal, and one that cannot write its journal takes no further writes at
   * all.
   */
  failSync(random: SeededRandom): void {
    this.#storeSome(random, 1);
  }

  flipBit(position: number, bit: number): void {
    for (const content of [this.#seen, this.#stored]) {
      const bytes = content.view();
      const old = bytes[position];
      if (old !== undefined) bytes[position] = old ^ (1 << bit);
    }
  }

  /**
   * Every sector of every unsynced write survives or not by itself; so does every truncation. The
   * odds differ between losses, so that all, none and some are each likely.
   */
  losePower(random: SeededRandom): void {
    this.#storeSome(random, null);
    this.#seen = new Content();
    this.#seen.write(0, this.#stored.view());
  }

  #storeSome(random: SeededRandom, truncateOdds: number | null): void {
    const odds = [0, 0.5, 0.9, 1][random.below(4)] ?? 0;
    for (const change of this.#unsynced) {
      if (change.kind === 'write') {
        this.#storeSectors(change.position, change.bytes, random, odds);
      } else if (random.chance(truncateOdds ?? odds)) {
        this.#stored.apply(change);
      }
    }
    this.#unsynced = [];
  }

  #storeSectors(position: number, bytes: Uint8Array, random: SeededRandom, odds: number): void {
    const end = position + bytes.length;
    for (let at = position; at < end; ) {
      const next = Math.min(end, (Math.floor(at / SECTOR_BYTES) + 1) * SECTOR_BYTES);
      if (random.chance(odds)) {
        this.#stored.write(at, bytes.subarray(at - position, next - position));
      }
      at = next;
    }
    // The new size may be stored although the data is not.
    if (this.#stored.length < end && random.chance(odds / 2)) this.#stored.resize(end);
  }
}
