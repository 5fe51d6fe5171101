/**
 * The damage of a log that is known: holes by index, the entries that were given for them so far,
 * and the lost tail.
 *
 * Invariants: holes ascend and do not overlap; each lies within one segment of the log; the tail
 * begins behind the last entry.
 */
import { assert } from '../disk/faults.js';
import type { DamagedSlot, RepairOutcome } from './damage.js';
import type { LogEntry } from './entry.js';
import type { Hole } from './scan-kept.js';
import type { Segment } from './segment.js';

/** A caller repairs these and asks again; a lost segment can have hundreds of thousands. */
const LISTED_MAX = 1024;

export interface Given {
  readonly entry: LogEntry;
  readonly done: (outcome: RepairOutcome) => void;
}

export interface KnownHole {
  readonly hole: Hole;
  readonly segment: Segment;
  /** By index; all of them when it is being written. */
  readonly given: Map<number, Given>;
  writing: boolean;
}

export interface LostTail {
  readonly index: number;
  readonly lastIndex: number;
  readonly file: string;
  readonly offset: number;
}

export class LogHoles {
  #holes: KnownHole[] = [];
  tail: LostTail | null = null;
  /** Damage before this index is dead: no reader asks for it, and it counts no more. */
  #deadBefore = 0;

  /** Nothing before it is ever read again. */
  get deadBefore(): number {
    return this.#deadBefore;
  }

  bury(before: number): void {
    this.#deadBefore = before;
    for (const known of this.#holes.filter(({ hole }) => hole.lastIndex < before)) {
      this.remove(known, 'gone');
    }
  }

  get list(): readonly KnownHole[] {
    return this.#holes;
  }

  get isEmpty(): boolean {
    return this.#holes.length === 0 && this.tail === null;
  }

  /** The hole that `index` lies in. */
  find(index: number): KnownHole | undefined {
    return this.#holes.find(({ hole }) => hole.firstIndex <= index && index <= hole.lastIndex);
  }

  /** The first damaged index from `index` on and before `to`; `to` when there is none. */
  nextFrom(index: number, to: number): number {
    for (const { hole } of this.#holes) {
      if (hole.lastIndex < index) continue;
      return Math.max(index, Math.min(to, hole.firstIndex));
    }
    return to;
  }

  /** Replaces what was known of a segment; entries given for a hole that is the same are kept. */
  replace(segment: Segment, holes: readonly Hole[]): void {
    const known = new Map(
      this.#holes
        .filter((each) => each.segment === segment)
        .map((each) => [`${each.hole.firstIndex}-${each.hole.lastIndex}`, each]),
    );
    const alive = holes.filter(({ lastIndex }) => lastIndex >= this.#deadBefore);
    const kept: KnownHole[] = alive.map((hole) => {
      const same = known.get(`${hole.firstIndex}-${hole.lastIndex}`);
      if (same !== undefined) known.delete(`${hole.firstIndex}-${hole.lastIndex}`);
      return same ?? { hole, segment, given: new Map(), writing: false };
    });
    this.#holes = [...this.#holes.filter((each) => each.segment !== segment), ...kept].sort(
      (a, b) => a.hole.firstIndex - b.hole.firstIndex,
    );
    for (const gone of known.values()) this.release(gone, 'gone');
  }

  remove(known: KnownHole, outcome: RepairOutcome): void {
    this.#holes = this.#holes.filter((each) => each !== known);
    this.release(known, outcome);
  }

  /** Forgets what was given for a hole, and says why. */
  release(known: KnownHole, outcome: RepairOutcome): void {
    const given = [...known.given.values()];
    known.given.clear();
    known.writing = false;
    for (const { done } of given) done(outcome);
  }

  /** Forgets `index` and all after it. A run of damaged headers leaves as a whole. */
  truncate(index: number): void {
    for (const known of this.#holes.filter(({ hole }) => hole.lastIndex >= index)) {
      this.remove(known, 'gone');
    }
    if (this.tail !== null && index <= this.tail.index) this.tail = null;
  }

  /** Forgets what lies in a segment that left the log. */
  drop(segment: Segment): void {
    for (const known of this.#holes.filter((each) => each.segment === segment)) {
      this.remove(known, 'gone');
    }
  }

  /** Whether a cut at `index` would keep a part of a run whose chain is not known within. */
  splits(index: number): Hole | undefined {
    return this.#holes.find(({ hole }) => hole.firstIndex < index && index <= hole.lastIndex)?.hole;
  }

  /** Whether nobody knows where the last records of the segment end. */
  isOpenEnded(segment: Segment): boolean {
    return this.#holes.some((each) => each.segment === segment && each.hole.endPosition === null);
  }

  has(segment: Segment): boolean {
    return this.#holes.some((each) => each.segment === segment);
  }

  /** Slots that still need an entry, ascending. */
  slots(): DamagedSlot[] {
    const slots: DamagedSlot[] = [];
    for (const known of this.#holes) {
      const { hole } = known;
      for (let index = hole.firstIndex; index <= hole.lastIndex; index++) {
        if (slots.length === LISTED_MAX) return slots;
        if (!known.given.has(index)) slots.push(slotOf(known, index));
      }
    }
    const { tail } = this;
    if (tail !== null && slots.length < LISTED_MAX) {
      const nothing = { term: null, bodyCrc: null, headerCrc: null };
      slots.push({ ...tail, runFirst: tail.index, kind: 'tail', ...nothing });
    }
    return slots;
  }

  /** The first slot of the first hole in `segment`, or null. */
  firstIn(segment: Segment): DamagedSlot | null {
    const known = this.#holes.find((each) => each.segment === segment);
    return known === undefined ? null : slotOf(known, known.hole.firstIndex);
  }
}

/** The term of an entry in a hole; null when it is not known. */
export function termInHole({ hole, segment }: KnownHole, index: number): number | null {
  assert(index >= hole.firstIndex && index <= hole.lastIndex, `entry ${index} is in no such hole`);
  if (segment.termsKnown || hole.termMin === hole.termMax) return segment.term(index);
  // The last record before the known end of a segment or log has its term from there.
  return hole.termMaxIsLast && index === hole.lastIndex ? hole.termMax : null;
}

function slotOf(known: KnownHole, index: number): DamagedSlot {
  const { hole, segment } = known;
  return {
    index,
    runFirst: hole.firstIndex,
    kind: 'record',
    term: termInHole(known, index),
    bodyCrc: hole.header?.bodyCrc ?? null,
    headerCrc: index === hole.lastIndex ? hole.lastCrc : null,
    lastIndex: index,
    file: segment.path,
    offset: hole.position,
  };
}
