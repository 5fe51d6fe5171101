/**
 * Linearizable reads without a log entry. A leader may answer "everything up to index i is visible"
 * once it knows that it was still the leader after the question came: a quorum must acknowledge a
 * heartbeat sent later than the question. One round serves all reads that wait when it starts.
 *
 * What has gone wrong elsewhere: a read keyed by an id that its caller reused was answered by the
 * acknowledgement of an older one. So ids are minted here, start at a random place (a restart must
 * not meet the answers to its former life), and everything that waits is dropped when the role or
 * the term changes.
 *
 * Invariants: `#waiting` is in order of `round`, with those of no round yet (0) at its end;
 * a read's round is above every round that had been sent when it came.
 */
import type { LogIndex, NodeId } from './identifiers.js';
import type { ReadState } from './ready.js';

export interface WaitingRead {
  readonly id: number;
  /** The node that asked; the answer goes there. */
  readonly from: NodeId;
}

interface RoundedRead extends WaitingRead {
  readonly index: LogIndex;
  round: number;
}

const NO_STATES: readonly ReadState[] = [];
const ID_BLOCK = 1_048_576;
const ID_BLOCKS = 4_294_967_296;

export class Reads {
  #nextId: number;
  /** The newest round of heartbeats; rises for the life of this object, across terms. */
  round = 0;
  /** A leader's reads before it has committed in its own term: it may not know the commit index. */
  #early: WaitingRead[] = [];
  #waiting: RoundedRead[] = [];
  /** A follower's reads, on their way to the leader, by id: the time they left. */
  readonly #forwarded: Map<number, number> = new Map();
  #states: ReadState[] = [];
  readonly #self: NodeId;

  constructor(self: NodeId, random: () => number) {
    this.#self = self;
    this.#nextId = Math.floor(random() * ID_BLOCKS) * ID_BLOCK + 1;
  }

  get pending(): number {
    return this.#early.length + this.#waiting.length + this.#forwarded.size;
  }

  get hasStates(): boolean {
    return this.#states.length > 0;
  }

  /** Reads wait for a round and none is under way. */
  get wantsRound(): boolean {
    return this.#waiting.length > 0 && this.#waiting[0]?.round === 0;
  }

  mint(): number {
    return this.#nextId++;
  }

  waitForOwnTerm(read: WaitingRead): void {
    this.#early.push(read);
  }

  takeEarly(): readonly WaitingRead[] {
    const early = this.#early;
    this.#early = [];
    return early;
  }

  waitForRound(read: WaitingRead, index: LogIndex): void {
    this.#waiting.push({ id: read.id, from: read.from, index, round: 0 });
  }

  startRound(): number {
    this.round++;
    for (let place = this.#waiting.length - 1; place >= 0; place--) {
      const read = this.#waiting[place];
      if (read === undefined || read.round !== 0) break;
      read.round = this.round;
    }
    return this.round;
  }

  /** Takes the reads whose round a quorum has acknowledged. */
  takeConfirmed(round: number): readonly RoundedRead[] {
    let count = 0;
    for (const read of this.#waiting) {
      if (read.round === 0 || read.round > round) break;
      count++;
    }
    return count === 0 ? [] : this.#waiting.splice(0, count);
  }

  /** `ranMs`, as everything here that is a time: while the host stands, the answer is unread. */
  forward(id: number, ranMs: number): void {
    this.#forwarded.set(id, ranMs);
  }

  /** The leader's answer; false when nobody waits for it any more. */
  answered(id: number, index: LogIndex): boolean {
    if (!this.#forwarded.delete(id)) return false;
    this.#states.push({ id, index });
    return true;
  }

  /** A question or its answer may be lost: those that left before `sentMs` are given up. */
  expire(sentMs: number): void {
    for (const [id, leftMs] of this.#forwarded) {
      if (leftMs > sentMs) return;
      this.#forwarded.delete(id);
      this.#states.push({ id, index: undefined });
    }
  }

  /** Ends a read of this node itself. */
  finish(id: number, index: LogIndex): void {
    this.#states.push({ id, index });
  }

  takeStates(): readonly ReadState[] {
    if (this.#states.length === 0) return NO_STATES;
    const states = this.#states;
    this.#states = [];
    return states;
  }

  /** Nothing that waits survives a change of role or term. */
  drop(): void {
    for (const read of this.#early) this.#dropOwn(read);
    for (const read of this.#waiting) this.#dropOwn(read);
    for (const id of this.#forwarded.keys()) this.#states.push({ id, index: undefined });
    this.#early = [];
    this.#waiting = [];
    this.#forwarded.clear();
  }

  /** Reads of other nodes end at their own node, which notices the change itself. */
  #dropOwn(read: WaitingRead): void {
    if (read.from === this.#self) this.#states.push({ id: read.id, index: undefined });
  }
}
