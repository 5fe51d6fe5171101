/**
 * Walks over the state for management reads: a list of all queues looks at every partition, and
 * there may be a million.
 *
 * The job: such a read takes seconds of this node's time, however it is cut, and messages must go
 * on meanwhile. A dashboard that is open in ten windows, and asks again before it was answered,
 * must not make it ten times as much.
 *
 * What must hold:
 * - A walk runs in slices, which are steps of the loop's share (`LoopShare`). What is small ends
 *   within the first one, in the call that brings it while this turn of the loop has time left.
 *   All walks that are longer have one slice together, then all of them rest for REST_MS, as long
 *   as a slice: what is left of them never has more than half of the loop.
 * - Of equal walks, which have the same key, one runs at a time. Who asks meanwhile must not be
 *   told what was looked at before he asked: he waits for the next, together with all who come
 *   until that begins. So the work for one key is that of one reader who asks again and again,
 *   however many there are, and figures are exact and fresh.
 * - A row that is not what was written ends the walk that meets it and nothing else: who waits for
 *   it is refused, and the node goes on, for all other rows are in order. What is to be done about
 *   the state is for its scrubber to say, which looks at every row.
 * - Nobody is walked for who has gone. A walk that is given up is told so (its `finally` runs), for
 *   it may have taken room that others need.
 *
 * Rejected: figures from a sampler that walks all queues all the time, for the sake of reads that
 * nobody may make, and is behind when somebody does.
 */
import type { Refusal, RefusedOutcome } from '@svc/engine';
import type { LoopShare } from '@svc/http';
import { DamageError } from '@svc/storage';
import type { Cancel, Clock } from '../system/clock.js';

/** A client that waits for the end of a walk. */
export interface WalkReply {
  readonly gone: boolean;
  send(refused: RefusedOutcome): boolean;
}

interface Asker<Result> {
  readonly reply: WalkReply;
  readonly done: (result: Result) => void;
}

/**
 * Slices of a walk before it is a long one. The first may be what others have left of a turn, and
 * then the next one is a whole turn, or what a walk before it leaves.
 */
const FRESH_SLICES = 2;
const REST_MS = 4;

const STOPPED: Refusal = { reason: 'retry', error: 'this node stops; retry' };
const DAMAGED: Refusal = {
  reason: 'internal',
  error: 'a stored row is damaged; the log of this node says which',
};

export class StateWalks {
  readonly #clock: Clock;
  readonly #loop: LoopShare;
  readonly #onDamage: (error: DamageError) => void;
  readonly #keyed = new Map<string, SharedWalk<unknown>>();
  /** Each has its own step in the line of the loop's share. */
  readonly #fresh = new Set<SharedWalk<unknown>>();
  /** Longer than a slice, the next one first. */
  #long: SharedWalk<unknown>[] = [];
  #cancelSlice: Cancel | null = null;
  #stopped = false;

  constructor(clock: Clock, loop: LoopShare, onDamage: (error: DamageError) => void) {
    this.#clock = clock;
    this.#loop = loop;
    this.#onDamage = onDamage;
  }

  get idle(): boolean {
    return this.#fresh.size === 0 && this.#long.length === 0;
  }

  /**
   * Walks, and calls `done` with what comes of it, in this call if the loop has time for it. `key`
   * names what is asked, so that equal walks are made once; null: it is like no other. `release` is
   * told each result once, when all who asked for it have it.
   */
  walk<Result>(
    key: string | null,
    begin: () => Generator<void, Result>,
    reply: WalkReply,
    done: (result: Result) => void,
    release: ((result: Result) => void) | null = null,
  ): void {
    const asker: Asker<Result> = { reply, done };
    if (this.#stopped) {
      refuse(asker, STOPPED);
      return;
    }
    const known = key === null ? undefined : this.#keyed.get(key);
    if (known !== undefined) {
      known.join(asker as Asker<unknown>);
      return;
    }
    const shared = new SharedWalk<Result>(key, begin, release, asker, this.#onDamage);
    const walk = shared as unknown as SharedWalk<unknown>;
    if (key !== null) this.#keyed.set(key, walk);
    this.#fresh.add(walk);
    let slicesLeft = FRESH_SLICES;
    this.#loop.run((untilMs) => {
      if (!this.#fresh.has(walk)) return true;
      slicesLeft--;
      const isOver = this.#ends(walk, untilMs);
      if (!isOver && slicesLeft > 0) return false;
      this.#fresh.delete(walk);
      if (!isOver) {
        this.#long.push(walk);
        this.#arm();
      }
      return true;
    });
  }

  /** Every client that still waits is refused: the state is not to be looked at any more. */
  stop(): void {
    this.#stopped = true;
    this.#cancelSlice?.();
    this.#cancelSlice = null;
    for (const walk of [...this.#fresh, ...this.#long]) walk.refuse();
    this.#fresh.clear();
    this.#long = [];
    this.#keyed.clear();
  }

  #arm(): void {
    this.#cancelSlice ??= this.#clock.after(REST_MS, () =>
      this.#loop.run((untilMs) => {
        this.#cancelSlice = null;
        this.#slice(untilMs);
        return true;
      }),
    );
  }

  #slice(untilMs: number): void {
    do {
      const walk = this.#long.shift();
      if (walk === undefined) return;
      if (!this.#ends(walk, untilMs)) this.#long.push(walk);
    } while (this.#clock.nowMs() < untilMs);
    if (this.#long.length > 0) this.#arm();
  }

  #ends(walk: SharedWalk<unknown>, untilMs: number): boolean {
    // It may bring new walks, from within its end.
    const isOver = walk.ends(this.#clock, untilMs);
    if (isOver && walk.key !== null) this.#keyed.delete(walk.key);
    return isOver;
  }
}

/** One walk after the other, for those who ask the same. */
class SharedWalk<Result> {
  readonly key: string | null;
  readonly #begin: () => Generator<void, Result>;
  readonly #onDamage: (error: DamageError) => void;
  readonly #release: ((result: Result) => void) | null;
  /** null: it has not begun. */
  #walk: Generator<void, Result> | null = null;
  #askers: Asker<Result>[];
  /** They came after the walk had begun. */
  #next: Asker<Result>[] = [];
  /** What the walk has come to, while those who asked are answered. */
  #found: { readonly result: Result } | null = null;

  constructor(
    key: string | null,
    begin: () => Generator<void, Result>,
    release: ((result: Result) => void) | null,
    asker: Asker<Result>,
    onDamage: (error: DamageError) => void,
  ) {
    this.key = key;
    this.#begin = begin;
    this.#release = release;
    this.#onDamage = onDamage;
    this.#askers = [asker];
  }

  join(asker: Asker<Result>): void {
    if (this.#walk === null) this.#askers.push(asker);
    else this.#next.push(asker);
  }

  refuse(): void {
    this.#walk?.return(undefined as Result);
    if (this.#found !== null) this.#release?.(this.#found.result);
    for (const asker of [...this.#askers, ...this.#next]) refuse(asker, STOPPED);
  }

  /** Goes on until then; true: nobody waits for anything any more. */
  ends(clock: Clock, untilMs: number): boolean {
    do {
      if (this.#found === null && this.#askers.every(({ reply }) => reply.gone)) {
        // What it holds is let go of; nobody hears of its result.
        this.#walk?.return(undefined as Result);
        if (!this.#beginsAgain()) return true;
      }
      if (this.#found !== null) {
        if (this.#answersOne(this.#found.result)) continue;
        this.#release?.(this.#found.result);
        this.#found = null;
        if (!this.#beginsAgain()) return true;
        continue;
      }
      const step = this.#step();
      if (step === null) {
        for (const asker of this.#askers) refuse(asker, DAMAGED);
        if (!this.#beginsAgain()) return true;
      } else if (step.done === true) this.#found = { result: step.value };
    } while (clock.nowMs() < untilMs);
    return false;
  }

  /** null: it met a damaged row, and is over. */
  #step(): IteratorResult<void, Result> | null {
    try {
      this.#walk ??= this.#begin();
      return this.#walk.next();
    } catch (error) {
      if (!(error instanceof DamageError)) throw error;
      this.#onDamage(error);
      return null;
    }
  }

  /** A step of its own for each: a large answer takes a while to hand over. False: all have it. */
  #answersOne(result: Result): boolean {
    const asker = this.#askers.shift();
    if (asker === undefined) return false;
    if (!asker.reply.gone) asker.done(result);
    return true;
  }

  #beginsAgain(): boolean {
    this.#askers = this.#next.filter(({ reply }) => !reply.gone);
    this.#next = [];
    if (this.#askers.length === 0) return false;
    this.#walk = null;
    return true;
  }
}

function refuse({ reply }: Asker<never>, refusal: Refusal): void {
  if (!reply.gone) reply.send({ kind: 'refused', refusal });
}
