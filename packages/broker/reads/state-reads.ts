/**
 * Reads of the applied state for clients: when they may look, how long at a stretch, and into how
 * much room.
 *
 * A read reserves room for its answer before it collects the rows. A walk that several reads share
 * collects once for all of them: there each read reserves before its own answer is made of what was
 * found. A read that finds no room stands in line until its deadline, HOLD_MS at most, and is then
 * refused.
 */
import { ANSWERS_FULL, type PageQuery } from '@svc/engine';
import type { AnswerRoom, LoopShare } from '@svc/http';
import type { Clock } from '../system/clock.js';
import { HeldReads, type ReadSource } from './held-reads.js';
import { StateWalks, type WalkReply } from './state-walks.js';

/** The client of a read, and the room that its answer is counted in. */
export interface ReadReply extends WalkReply {
  readonly room?: AnswerRoom | undefined;
}

/**
 * Bytes reserved for an answer unless the caller says how many. Pages are far smaller; a whole list
 * that is longer reserves more while it is written (`sendSliced` of the front).
 */
const ANSWER_BYTES = 4 * 1024 * 1024;
/** How long a read waits for room. After that its client is told to come again. */
const HOLD_MS = 5000;

export class StateReads {
  readonly #held: HeldReads;
  readonly #walks: StateWalks;
  readonly #clock: Clock;
  readonly #allowedMs: number;
  #stopped = false;

  /** `onDamage`: told of a row that a read met and that is not what was written. */
  constructor(
    source: ReadSource,
    clock: Clock,
    loop: LoopShare,
    allowedMs: number,
    onDamage: (error: Error) => void,
  ) {
    this.#held = new HeldReads(source, clock);
    this.#walks = new StateWalks(clock, loop, onDamage);
    this.#clock = clock;
    this.#allowedMs = allowedMs;
  }

  get idle(): boolean {
    return this.#held.idle && this.#walks.idle;
  }

  /**
   * Shows everything answered before it was asked. `key` as in `StateWalks.walk`; `answerBytes` is
   * the most that the answer takes.
   */
  confirmed<Result>(
    key: string | null,
    begin: () => Generator<void, Result>,
    reply: ReadReply,
    done: (result: Result) => void,
    deadlineMs = this.#clock.nowMs() + this.#allowedMs,
    answerBytes = ANSWER_BYTES,
  ): void {
    const untilMs = Math.min(deadlineMs, this.#clock.nowMs() + HOLD_MS);
    this.#held.read(deadlineMs, reply, () => {
      if (key === null) {
        this.inRoom(reply, answerBytes, () => this.#walks.walk(key, begin, reply, done), untilMs);
        return;
      }
      this.#walks.walk(key, begin, reply, (result) =>
        this.inRoom(reply, answerBytes, () => done(result), untilMs),
      );
    });
  }

  /** Calls `go` once so much is reserved for the answer, in this call if there is room. */
  inRoom(
    reply: ReadReply,
    bytes: number,
    go: () => void,
    untilMs = this.#clock.nowMs() + HOLD_MS,
  ): void {
    const { room } = reply;
    if (room === undefined || room.reserve(bytes)) {
      go();
      return;
    }
    room.wait(bytes, untilMs, (hasRoom) => {
      if (hasRoom && !this.#stopped && !reply.gone) go();
      // Also who has gone: the body of a command is let go of with its answer.
      else reply.send(ANSWERS_FULL);
    });
  }

  /** As `confirmed`; `release` as in `StateWalks.walk`. */
  confirmedOnce<Result>(
    key: string,
    begin: () => Generator<void, Result>,
    reply: WalkReply,
    done: (result: Result) => void,
    release: (result: Result) => void,
  ): void {
    const deadlineMs = this.#clock.nowMs() + this.#allowedMs;
    this.#held.read(deadlineMs, reply, () => this.#walks.walk(key, begin, reply, done, release));
  }

  /** Shows what this node has applied. */
  local<Result>(
    begin: () => Generator<void, Result>,
    reply: ReadReply,
    done: (result: Result) => void,
  ): void {
    if (!this.#held.mayLook(reply)) return;
    this.inRoom(reply, ANSWER_BYTES, () => this.#walks.walk(null, begin, reply, done));
  }

  /** Another node may lead now. */
  follow(): void {
    this.#held.follow();
  }

  /** From here on nothing waits long for a leader. */
  drain(): void {
    this.#held.drain();
  }

  /** Everything held is refused; the state is not looked at any more. */
  stop(): void {
    this.#stopped = true;
    this.#held.stop();
    this.#walks.stop();
  }
}

/** Names come from clients and may hold any character: the lengths keep two lists apart. */
export function keyOf(...parts: readonly string[]): string {
  return parts.map((part) => `${part.length}:${part}`).join('');
}

/** The key under which reads of the same page of a list, or of the whole list, share a walk. */
export function pageKeyOf(list: string, of: string, { after, limit }: PageQuery): string {
  return keyOf(list, of, after, String(limit));
}
