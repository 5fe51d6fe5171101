/**
 * Finds a live message by a transaction id that the index has forgotten: reads the old appends of
 * its partition, the first ones first, until one holds the id.
 *
 * Such a search may read gigabytes for one answer, and anybody may ask for an id that is nowhere.
 * So one runs at a time on a node, in slices, with nothing kept of what it read; it ends when its
 * client has gone or its time is up, and says so. SEARCHES_MAX wait; more are refused.
 */
import {
  type AppendSlice,
  findAppend,
  offsetOfTransaction,
  type PartitionRow,
  partitionOf,
  type Refusal,
  type RefusedOutcome,
  type State,
} from '@svc/engine';
import type { Clock } from '../system/clock.js';
import { TIMED_OUT } from './held-reads.js';
import type { MessageReader } from './message-reader.js';

interface Search {
  readonly partition: number;
  readonly id: Uint8Array;
  /** Offsets from here on are still to be looked at. */
  next: number;
  readonly end: number;
  readonly deadlineMs: number;
  readonly reply: { readonly gone: boolean; send(refused: RefusedOutcome): boolean };
  readonly done: (offset: number | null) => void;
}

/** Each is a closure and its client's connection. */
const SEARCHES_MAX = 64;
/** How long a search holds the loop at a stretch. */
const SLICE_MS = 4;
const REST_MS = 4;

const TOO_MANY: Refusal = {
  reason: 'overloaded',
  error: 'too many messages are being looked for in the log; retry',
};

export class MessageSearch {
  readonly #state: State;
  readonly #reader: Pick<MessageReader, 'readOnce'>;
  readonly #clock: Clock;
  /** The first one is at work. */
  readonly #searches: Search[] = [];
  #stopped = false;

  constructor(state: State, reader: Pick<MessageReader, 'readOnce'>, clock: Clock) {
    this.#state = state;
    this.#reader = reader;
    this.#clock = clock;
  }

  get idle(): boolean {
    return this.#searches.length === 0;
  }

  /** `done` gets null when no message from the log start up to offset `end` has the id. */
  find(
    partition: PartitionRow,
    transactionId: string,
    end: number,
    deadlineMs: number,
    reply: Search['reply'],
    done: Search['done'],
  ): void {
    if (this.#stopped) return;
    if (this.#searches.length >= SEARCHES_MAX) {
      reply.send({ kind: 'refused', refusal: TOO_MANY });
      return;
    }
    const id = Buffer.from(transactionId, 'utf8');
    const { number, logStart: next } = partition;
    this.#searches.push({ partition: number, id, next, end, deadlineMs, reply, done });
    if (this.#searches.length === 1) this.#slice();
  }

  stop(): void {
    this.#stopped = true;
    const refusal: Refusal = { reason: 'retry', error: 'this node stops; retry' };
    for (const { reply } of this.#searches.splice(0)) reply.send({ kind: 'refused', refusal });
  }

  #slice(): void {
    const search = this.#searches[0];
    if (this.#stopped || search === undefined) return;
    const untilMs = this.#clock.nowMs() + SLICE_MS;
    this.#step(search, untilMs);
  }

  /** Goes on until something has to be waited for. */
  #step(search: Search, untilMs: number): void {
    while (this.#mayGoOn(search, untilMs)) {
      const slice = this.#next(search);
      if (slice === null) {
        this.#end(search, () => search.done(null));
        return;
      }
      if (!this.#look(search, slice, untilMs)) return;
    }
  }

  #mayGoOn(search: Search, untilMs: number): boolean {
    const nowMs = this.#clock.nowMs();
    const { reply, deadlineMs } = search;
    if (reply.gone) this.#end(search, () => {});
    else if (nowMs >= deadlineMs) {
      this.#end(search, () => reply.send({ kind: 'refused', refusal: TIMED_OUT }));
    } else if (nowMs < untilMs) return true;
    else this.#clock.after(REST_MS, () => this.#slice());
    return false;
  }

  /** True: the append was at hand, and does not have the id. Otherwise what follows comes later. */
  #look(search: Search, slice: AppendSlice, untilMs: number): boolean {
    let isHere = true;
    let isPassed = false;
    this.#reader.readOnce(slice, (error, bytes) => {
      if (this.#stopped) return;
      const offset = bytes === null ? null : offsetOfTransaction(bytes, search.id);
      if (error !== null) this.#fail(search, slice, error);
      else if (offset !== null) this.#end(search, () => search.done(offset));
      else {
        search.next = slice.last + 1;
        isPassed = isHere;
        if (!isHere) this.#step(search, untilMs);
      }
    });
    isHere = false;
    return isPassed;
  }

  /** What was given up, or moved, while it was read is looked up once more. */
  #fail(search: Search, slice: AppendSlice, error: Error): void {
    const now = this.#next(search);
    if (now !== null && now.index === slice.index && now.position === slice.position) {
      const refusal: Refusal = { reason: 'internal', error: error.message };
      this.#end(search, () => search.reply.send({ kind: 'refused', refusal }));
    } else this.#clock.after(REST_MS, () => this.#slice());
  }

  /** null: there is no more. */
  #next(search: Search): AppendSlice | null {
    const partition = partitionOf(this.#state, search.partition);
    if (partition === undefined) return null;
    const offset = Math.max(search.next, partition.logStart);
    if (offset >= search.end) return null;
    const found = findAppend(this.#state, partition.number, offset);
    if (found === undefined) return null;
    const { baseOffset, row } = found;
    const { index, position, length, stampUs, count } = row;
    const last = baseOffset + count - 1;
    return { index, position, length, baseOffset, stampUs, first: offset, last };
  }

  #end(search: Search, tell: () => void): void {
    if (this.#searches[0] !== search) return;
    this.#searches.shift();
    tell();
    if (this.#searches.length > 0) this.#clock.soon(() => this.#slice());
  }
}
