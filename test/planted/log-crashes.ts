/**
 * Several lives of one log, each ended by a crash at a random step. What the log had reported
 * durable must be there afterwards; what was under way may be there in part, from its beginning on;
 * nothing else may, and the log must open.
 */
import { Log, type LogEntry } from '@svc/storage';
import { SimulatedDisk } from '@svc/storage/testing';
import type { SeededRandom } from '../seeded-random.js';

const LIVES = 4;
const STEPS_MAX = 100;
const CUT_BACK_MAX = 10;
const IDENTITY = new Uint8Array(16).fill(3);

/** A log as the texts of its entries; the first is that of entry `base + 1`. */
interface Content {
  readonly base: number;
  readonly texts: readonly string[];
}

type Change =
  | { readonly kind: 'append'; readonly first: number; readonly texts: readonly string[] }
  | { readonly kind: 'reset'; readonly base: number };

export function logCrashes(random: SeededRandom, seed: number): void {
  const life = new LogLives(random, new SimulatedDisk({ seed }));
  for (let i = 0; i < LIVES; i++) life.live();
  life.open();
}

class LogLives {
  readonly #random: SeededRandom;
  readonly #disk: SimulatedDisk;
  readonly #segmentBytes: number;
  readonly #zeroFillBytes: number;
  /** Everything that was done to the log has reached the disk. */
  #certain: Content = { base: 0, texts: [] };
  #pending: Change[] = [];
  /** Entries before it may be gone. */
  #removedBefore = 0;
  #term = 1;
  #failed = false;
  #count = 0;
  /** Called durable before the crash, whatever else was under way. */
  #promised: Content = { base: 0, texts: [] };

  constructor(random: SeededRandom, disk: SimulatedDisk) {
    this.#random = random;
    this.#disk = disk;
    this.#segmentBytes = random.between(300, 3000);
    this.#zeroFillBytes = random.chance(0.7) ? random.between(1, 2000) : 0;
  }

  live(): void {
    const random = this.#random;
    const log = this.open();
    for (let left = random.between(0, STEPS_MAX); left > 0 && !this.#failed; left--) {
      this.#operate(log);
    }
    this.#promised = upTo(this.#asked(), log.durableIndex);
    this.#disk.crash(random.chance(0.7) ? 'power' : 'process');
  }

  /** Opens the log and compares what it holds. */
  open(): Log {
    this.#failed = false;
    const log = Log.open({
      disk: this.#disk,
      directory: '/log',
      identity: IDENTITY,
      segmentBytes: this.#segmentBytes,
      zeroFillBytes: this.#zeroFillBytes,
      recentBytesMax: 1000,
      onFailure: () => {
        this.#failed = true;
      },
    });
    const found = contentOf(log);
    if (!this.#isAllowed(found)) {
      const { base, texts } = this.#certain;
      throw new Error(
        `found ${found.base + 1}..${endOf(found)} or another content, ` +
          `stored were ${base + 1}..${base + texts.length}, ${this.#pending.length} under way`,
      );
    }
    this.#certain = found;
    this.#pending = [];
    this.#term = Math.max(this.#term, log.term(log.lastIndex) ?? 0) + 1;
    return log;
  }

  #isAllowed(found: Content): boolean {
    if (!this.#keeps(found, this.#promised)) return false;
    let before = this.#certain;
    for (const change of this.#pending) {
      if (this.#isWithin(found, before, change)) return true;
      before = after(before, change);
    }
    return this.#isBeginning(found, before, endOf(before));
  }

  #isWithin(found: Content, before: Content, change: Change): boolean {
    if (change.kind === 'reset') return this.#isBeginning(found, before, endOf(before));
    return (
      this.#isBeginning(found, before, Math.min(endOf(before), change.first - 1)) ||
      this.#isBeginning(found, after(before, change), change.first - 1)
    );
  }

  /** The same entries, up to `endMin` at least; some of the oldest may have been removed. */
  #isBeginning(found: Content, content: Content, endMin: number): boolean {
    const end = endOf(found);
    if (end < endMin || end > endOf(content)) return false;
    if (found.base < content.base) return false;
    if (found.base > Math.max(content.base, this.#removedBefore - 1)) return false;
    return found.texts.every((text, i) => text === content.texts[found.base + i - content.base]);
  }

  #keeps(found: Content, promised: Content): boolean {
    return promised.texts.every((text, i) => {
      const place = promised.base + i - found.base;
      return place < 0 || found.texts[place] === text;
    });
  }

  #asked(): Content {
    return this.#pending.reduce(after, this.#certain);
  }

  #operate(log: Log): void {
    const random = this.#random;
    const what = random.between(0, 99);
    if (what < 30) this.#append(log);
    else if (what < 33) this.#remove(log);
    else if (what === 33) this.#reset(log);
    else if (what < 36) this.#disk.settle();
    else if (what < 39) log.tick();
    else if (what === 39 && random.chance(0.3)) this.#disk.failNext('fdatasync', 'EIO', '.log');
    else this.#disk.step();
  }

  #append(log: Log): void {
    const random = this.#random;
    const { base, texts } = this.#asked();
    const next = base + texts.length + 1;
    const replaces = texts.length > 0 && random.chance(0.2);
    if (replaces || random.chance(0.1)) this.#term++;
    const first = replaces ? next - random.between(1, Math.min(texts.length, CUT_BACK_MAX)) : next;
    if (first < log.firstIndex) return;
    const entries = Array.from({ length: random.between(1, 5) }, (_, i) => this.#entry(first + i));
    this.#change({ kind: 'append', first, texts: entries.map(textOf) }, (done) =>
      log.append(entries, done),
    );
  }

  #remove(log: Log): void {
    if (this.#random.chance(0.5)) this.#disk.settle();
    if (this.#failed || this.#pending.length > 0) return;
    log.removeBefore(this.#random.between(log.firstIndex, log.lastIndex + 1), () => {});
    this.#removedBefore = Math.max(this.#removedBefore, log.firstIndex);
  }

  #reset(log: Log): void {
    const base = endOf(this.#asked()) + this.#random.between(1, 5);
    this.#change({ kind: 'reset', base }, (done) => log.reset(base, this.#term, done));
  }

  #change(change: Change, begin: (done: () => void) => void): void {
    this.#pending.push(change);
    begin(() => {
      if (this.#pending.shift() !== change) throw new Error('changes end in another order');
      this.#certain = after(this.#certain, change);
    });
  }

  #entry(index: number): LogEntry {
    const data = new Uint8Array(this.#random.between(4, this.#random.chance(0.1) ? 2000 : 100));
    new DataView(data.buffer).setUint32(0, ++this.#count);
    return { index, term: this.#term, type: 0, data };
  }
}

function after(content: Content, change: Change): Content {
  if (change.kind === 'reset') return { base: change.base, texts: [] };
  const { base, texts } = content;
  return { base, texts: [...texts.slice(0, change.first - base - 1), ...change.texts] };
}

function endOf({ base, texts }: Content): number {
  return base + texts.length;
}

function upTo({ base, texts }: Content, index: number): Content {
  return { base, texts: texts.slice(0, Math.max(0, index - base)) };
}

function contentOf(log: Log): Content {
  const texts: string[] = [];
  for (let index = log.firstIndex; index <= log.lastIndex; ) {
    for (const entry of log.entries(index, log.lastIndex + 1, 1000)) {
      texts.push(textOf(entry));
      index++;
    }
  }
  return { base: log.firstIndex - 1, texts };
}

function textOf({ term, data }: LogEntry): string {
  return `${term} ${Buffer.from(data).toString('latin1')}`;
}
