/**
 * How the leader of a standby follows its source (standby-link 5, 9 and 12): a state machine.
 *
 * The job. Read the entries of the source after the standby's position, in order, and hand each to
 * the leadership, which proposes it in the standby's own log. Say how far that is, and what stands
 * in the way if something does.
 *
 *     idle ---- lead ----> waiting --- a node answers ---> following
 *      ^                     ^  ^------ an obstacle ---------'  |
 *      '--- yield (from any) |                                  |
 *                            '---- halted <-- an obstacle that lasts
 *
 * Why it is hard. A source may answer anything, at any time, or never: it is another cluster with
 * faults of its own, and it may be the wrong one. Reading runs ahead of proposing, which runs ahead
 * of applying, and the leadership may end between any two events. Each node of the source may say
 * something else about the same entry: it is behind, it has purged it, it is not there.
 *
 * What must hold:
 * - Every entry that is handed over follows, in the answer of one node, the one handed over before
 *   it or the position at which the read began. So each is handed over once in a leadership unless
 *   the leadership itself lost it, which its position shows, and in the order of the source.
 * - Nothing is remembered that matters. After anything that was not expected the read is given up
 *   with what waits of it, and another one begins at the position that the leadership then has.
 * - What arrives for a call that was given up changes nothing.
 * - The hold at the source is where the standby has *applied*, not where it reads: what is in
 *   flight may be lost with the leadership, and the next leader has to find it at the source. A
 *   halted follower leaves no hold, so a standby that needs a new seed does not keep the source's
 *   log for ever.
 * - Between the source and apply there are at most `ENTRIES_MAX` entries and `BYTES_MAX` bytes, and
 *   what one piece of the socket held: reading pauses before.
 * - A source that answers at once and says nothing is asked ten times a second at most.
 *
 * There is no clock in here: each event says what time it is, and `dueMs` when `tick` is wanted.
 * There is no I/O either: reads leave through `FollowerPort`, which answers by calling `answered`,
 * `entry`, `ended` or `failed` later, never before `read` has returned.
 *
 * A read begins where the answer before it ended, which may be an entry of consensus after the last
 * entry of the standby: a source at whose end such entries are would answer at once for ever else.
 *
 * Rejected: keeping what was read when a connection breaks. It saves one answer and adds a state in
 * which what waits and what is read come from two nodes.
 */
import {
  disorderText,
  divergedText,
  mismatchText,
  otherClusterText,
  purgedText,
  unreadText,
} from './follower-texts.js';
import type { ReadRequest } from './read.js';
import type { AnswerEnd, AnswerHead, SourceEntry } from './read-answer.js';
import { type Denial, SourceNodes } from './source-nodes.js';

/** A place in the source's log. All zero: before its first entry. */
export interface SourcePlace {
  readonly index: number;
  readonly term: number;
}

export type MirrorResult =
  | { readonly kind: 'proposed' }
  /** Not now: `room` says when. */
  | { readonly kind: 'full' }
  /** It does not follow the leadership's position. */
  | { readonly kind: 'moved' }
  /** Members of the standby have to be upgraded first. */
  | { readonly kind: 'waits'; readonly error: string }
  /** The source is this cluster, or follows it. */
  | { readonly kind: 'own-entry'; readonly error: string }
  /** `error`: why this state is not the one that the entry was planned for. */
  | { readonly kind: 'diverged'; readonly error: string };

/** What a follower needs of the leadership of a standby. It may end in any of these calls. */
export interface StandbyLeadership {
  /** Where the standby will be when what is in flight is applied. */
  readonly position: SourcePlace;
  /** Where it is, for good. */
  readonly appliedPosition: SourcePlace;
  /** Entries that were proposed and are not applied yet. */
  readonly inFlight: { readonly entries: number; readonly bytes: number };
  readonly role: {
    readonly id: string;
    /** The source's cluster id; null: nobody noted it yet. */
    readonly sourceCluster: string | null;
  };
  /** `previous`: the index of the source's entry before it. */
  mirror(previous: number, entry: SourceEntry): MirrorResult;
  /** The first contact with the source: from now on no other cluster is followed. */
  noteSource(clusterId: string): void;
}

export interface FollowerPort {
  /** Asks a node of the source. `call` names it in all that follows. */
  read(call: number, address: string, request: ReadRequest): void;
  /** Stops the socket of a read; entries that it has already may still come. */
  pause(call: number): void;
  resume(call: number): void;
  /** The follower is not interested any more. */
  cancel(call: number): void;
}

export interface FollowerOptions {
  /** `host:port` of the source's nodes, at least one. */
  readonly sources: readonly string[];
  /** `SVC_LINK_NAME`; null: `standby-<id>`. */
  readonly name: string | null;
  /** The cluster id of the standby itself. */
  readonly cluster: string;
}

export const FOLLOWER_STATES = ['idle', 'following', 'waiting', 'halted'] as const;
export type FollowerState = (typeof FOLLOWER_STATES)[number];

/** The `follower` of the status view (standby-link 5). */
export interface FollowerView {
  readonly state: FollowerState;
  readonly source: string | null;
  readonly scanned: number;
  readonly sourceApplied: number;
  readonly lagEntries: number;
  readonly lagMs: number;
  readonly lastAnswerMs: number | null;
  readonly entries: number;
  readonly error: string | null;
}

/** Between the source and apply. */
export const ENTRIES_MAX = 256;
export const BYTES_MAX = 64 * 1024 * 1024;
/** Bodies of one answer: a sixth of a second at 50 MB/s. */
export const READ_BYTES = 8 * 1024 * 1024;
/** How long a read is held at the source while nothing new is applied there. */
export const READ_WAIT_MS = 2000;
export const BACK_OFF_MS_MIN = 100;
export const BACK_OFF_MS_MAX = 5000;
export const HALTED_MS = 10_000;
/** After an answer that held nothing and was not held itself. */
const EMPTY_MS = 100;

interface Read {
  readonly call: number;
  readonly address: string;
  readonly request: ReadRequest;
  readonly beganMs: number;
  /** Its head came, and entries may. */
  isAnswered: boolean;
  isPaused: boolean;
  /** It does not break off, and brings next to nothing. */
  isSlow: boolean;
  entries: number;
}

export class Follower {
  readonly #options: FollowerOptions;
  readonly #port: FollowerPort;
  readonly #nodes: SourceNodes;
  #leadership: StandbyLeadership | null = null;
  #state: FollowerState = 'idle';
  #error: string | null = null;
  #calls = 0;
  #read: Read | null = null;
  #nextReadMs = 0;
  #backOffMs = BACK_OFF_MS_MIN;
  /** Received and not handed over, in order. */
  readonly #queue: SourceEntry[] = [];
  #queuedBytes = 0;
  #isHanding = false;
  /** How far the source's log was received; null: a read begins at the leadership's position. */
  #received: SourcePlace | null = null;
  /** The last entry handed over, or the position before it. */
  #handed = 0;
  #scanned = 0;
  #sourceApplied = 0;
  #answeredMs: number | null = null;
  #entries = 0;

  constructor(options: FollowerOptions, port: FollowerPort) {
    this.#options = options;
    this.#port = port;
    this.#nodes = new SourceNodes(options.sources);
  }

  get state(): FollowerState {
    return this.#state;
  }

  /** What was received and not handed over. */
  get queued(): { readonly entries: number; readonly bytes: number } {
    return { entries: this.#queue.length, bytes: this.#queuedBytes };
  }

  /** When `tick` is wanted; null: after another event. */
  get dueMs(): number | null {
    const leadership = this.#leadership;
    if (leadership === null) return null;
    const isReading = this.#read !== null || this.#isFull(leadership);
    const readMs = isReading ? Number.POSITIVE_INFINITY : this.#nextReadMs;
    const holdMs = this.#state === 'halted' ? null : this.#nodes.holdDueMs;
    const dueMs = Math.min(readMs, holdMs ?? Number.POSITIVE_INFINITY);
    return dueMs === Number.POSITIVE_INFINITY ? null : dueMs;
  }

  /** `applied`: the position in the state of this node; `wallUs`: what time it is. */
  view(
    nowMs: number,
    wallUs: number,
    applied: { readonly index: number; readonly stampUs: number },
  ): FollowerView {
    const scanned = Math.max(this.#scanned, applied.index);
    const lagEntries = Math.max(0, this.#sourceApplied - scanned);
    const isOld = lagEntries > 0 && applied.index > 0;
    const answeredMs = this.#answeredMs;
    return {
      state: this.#state,
      source: this.#leadership === null ? null : this.#nodes.current,
      scanned,
      sourceApplied: this.#sourceApplied,
      lagEntries,
      lagMs: isOld ? Math.max(0, Math.floor((wallUs - applied.stampUs) / 1000)) : 0,
      lastAnswerMs: answeredMs === null ? null : Math.max(0, Math.floor(nowMs - answeredMs)),
      entries: this.#entries,
      error: this.#error,
    };
  }

  // --- the node's own events ---------------------------------------------------------------------

  /** This node leads a standby. */
  lead(leadership: StandbyLeadership, nowMs: number): void {
    this.yield();
    this.#leadership = leadership;
    this.#state = 'waiting';
    this.#nextReadMs = nowMs;
    this.tick(nowMs);
  }

  /** It does not any more, or the cluster is no standby any more. */
  yield(): void {
    this.#drop();
    this.#nodes.forget((call) => this.#port.cancel(call));
    this.#leadership = null;
    this.#state = 'idle';
    this.#error = null;
    this.#backOffMs = BACK_OFF_MS_MIN;
    this.#sourceApplied = 0;
    this.#answeredMs = null;
  }

  tick(nowMs: number): void {
    this.#readOn(nowMs);
    const leadership = this.#leadership;
    if (leadership === null || this.#state === 'halted') return;
    this.#nodes.callHolds(nowMs, (address) => {
      const call = ++this.#calls;
      const request = this.#requestOf(leadership, leadership.appliedPosition);
      this.#port.read(call, address, { ...request, holdOnly: true });
      return call;
    });
  }

  /** The leadership takes entries again, or has applied some. */
  room(nowMs: number): void {
    this.#handOver(nowMs);
  }

  // --- what a source's node says -----------------------------------------------------------------

  answered(call: number, head: AnswerHead, nowMs: number): void {
    const read = this.#read;
    const leadership = this.#leadership;
    if (leadership === null) return;
    const { sourceCluster } = leadership.role;
    if (read?.call !== call) {
      if (head.clusterId === sourceCluster) this.#holdAnswered(call, head.applied, nowMs);
      return;
    }
    const { after, afterTerm } = read.request;
    const { clusterId, applied } = head;
    if (sourceCluster !== null && clusterId !== sourceCluster) {
      this.#halt(otherClusterText(clusterId, sourceCluster), nowMs);
      return;
    }
    this.#answeredMs = nowMs;
    this.#sourceApplied = applied;
    if (head.kind === 'purged') {
      const error = purgedText(read.address, head.purged, leadership.position.index);
      this.#deny({ kind: 'purged', error }, nowMs);
    } else if (head.kind === 'mismatch') {
      this.#halt(mismatchText(after, head.term, afterTerm), nowMs);
    } else if (applied < after) {
      this.#deny({ kind: 'behind', applied }, nowMs);
    } else {
      read.isAnswered = true;
      // Its own log says itself that it is: with an entry, which stands before all others in it.
      const isOwn = clusterId === this.#options.cluster;
      if (sourceCluster === null && !isOwn) leadership.noteSource(clusterId);
    }
  }

  entry(call: number, entry: SourceEntry, nowMs: number): void {
    const read = this.#read;
    if (read?.call !== call || !read.isAnswered || this.#received === null) return;
    const disorder = disorderText(entry, this.#received);
    if (disorder !== null) {
      this.#deny({ kind: 'failed', error: unreadText(disorder) }, nowMs);
      return;
    }
    read.entries++;
    this.#received = { index: entry.index, term: entry.term };
    this.#queue.push(entry);
    this.#queuedBytes += entry.body.length;
    this.#handOver(nowMs);
  }

  /** The answer is whole. */
  ended(call: number, { upto, term, applied }: AnswerEnd, nowMs: number): void {
    const read = this.#read;
    if (this.#nodes.holdEnded(call) || read?.call !== call || !read.isAnswered) return;
    const wasHeld = nowMs >= read.beganMs + read.request.waitMs / 2;
    this.#read = null;
    this.#nextReadMs = read.entries === 0 && !wasHeld ? nowMs + EMPTY_MS : nowMs;
    this.#sourceApplied = applied;
    if (this.#received !== null && upto > this.#received.index) {
      this.#received = { index: upto, term };
    }
    this.#getOn();
    this.#handOver(nowMs);
  }

  /** There is no answer, or no more of it. */
  failed(call: number, error: string, nowMs: number): void {
    if (this.#nodes.holdEnded(call) || this.#read?.call !== call) return;
    this.#deny({ kind: 'failed', error }, nowMs);
  }

  /** The call has brought next to nothing for as long as a silent one is given. */
  slow(call: number): void {
    if (this.#read?.call === call) this.#read.isSlow = true;
  }

  /**
   * The node that is read may have lost its cluster: it answers, and has nothing new. Another one
   * that had applied more a while ago shows it. A read that brings something is not given up for
   * that: the way to the other one is no faster, and an entry may take longer than this while.
   */
  #holdAnswered(call: number, applied: number, nowMs: number): void {
    const read = this.#read;
    // The claim of a slow node is no reason to stay with it.
    const known = read?.isSlow === true ? this.#scanned : this.#sourceApplied;
    const wasAhead = this.#nodes.holdAnswered(call, applied, known);
    const bringsSome = read === null || (read.isAnswered && !read.isSlow);
    if (!wasAhead || bringsSome || this.#state === 'halted' || this.#queue.length > 0) return;
    this.#drop();
    this.#nodes.moveTo(call);
    this.#nextReadMs = nowMs;
    this.#readOn(nowMs);
  }

  // --- reading -----------------------------------------------------------------------------------

  #readOn(nowMs: number): void {
    const leadership = this.#leadership;
    if (leadership === null || this.#read !== null || nowMs < this.#nextReadMs) return;
    if (this.#isFull(leadership)) return;
    const from = this.#readFrom(leadership.position);
    const call = ++this.#calls;
    const address = this.#nodes.current;
    // Whoever does not follow wants to know soon whether it can.
    const waitMs = this.#state === 'following' ? READ_WAIT_MS : 0;
    const request = { ...this.#requestOf(leadership, from), waitMs };
    const answer = { isAnswered: false, isPaused: false, isSlow: false, entries: 0 };
    this.#read = { call, address, request, beganMs: nowMs, ...answer };
    this.#nodes.readBegins(nowMs);
    this.#port.read(call, address, request);
  }

  /** Where the last read ended, unless the leadership is not where that left it. */
  #readFrom({ index, term }: SourcePlace): SourcePlace {
    const isThere = this.#queue.length > 0 || index === this.#handed;
    if (this.#received !== null && isThere) return this.#received;
    this.#received = { index, term };
    this.#handed = index;
    this.#scanned = index;
    return this.#received;
  }

  #requestOf(leadership: StandbyLeadership, { index, term }: SourcePlace): ReadRequest {
    return {
      after: index,
      afterTerm: term,
      maxBytes: READ_BYTES,
      waitMs: 0,
      reader: this.#options.name ?? `standby-${leadership.role.id}`,
      holdOnly: false,
      holdAfter: this.#state === 'halted' ? null : leadership.appliedPosition.index,
    };
  }

  /** Only while entries wait: then the leadership was full, and says when it is no more. */
  #isFull({ inFlight }: StandbyLeadership): boolean {
    if (this.#queue.length === 0) return false;
    const entries = inFlight.entries + this.#queue.length;
    return entries >= ENTRIES_MAX || inFlight.bytes + this.#queuedBytes >= BYTES_MAX;
  }

  #handOver(nowMs: number): void {
    const leadership = this.#leadership;
    // The leadership may have room again while it takes an entry.
    if (leadership === null || this.#isHanding) return;
    this.#isHanding = true;
    let entry = this.#queue[0];
    while (entry !== undefined) {
      const result = leadership.mirror(this.#handed, entry);
      if (leadership !== this.#leadership) break;
      if (result.kind !== 'proposed') {
        this.#isHanding = false;
        this.#notProposed(leadership, result, nowMs);
        return;
      }
      this.#queue.shift();
      this.#queuedBytes -= entry.body.length;
      this.#handed = entry.index;
      this.#scanned = Math.max(this.#scanned, entry.index);
      this.#entries++;
      this.#getOn();
      entry = this.#queue[0];
    }
    this.#isHanding = false;
    if (leadership === this.#leadership) this.#handedAll(nowMs);
  }

  #handedAll(nowMs: number): void {
    this.#scanned = Math.max(this.#scanned, this.#received?.index ?? 0);
    const read = this.#read;
    if (read?.isPaused === true) {
      read.isPaused = false;
      this.#port.resume(read.call);
    }
    this.#readOn(nowMs);
  }

  #notProposed(
    leadership: StandbyLeadership,
    result: Exclude<MirrorResult, { readonly kind: 'proposed' }>,
    nowMs: number,
  ): void {
    switch (result.kind) {
      case 'full':
        this.#pauseOrReadOn(leadership, nowMs);
        return;
      case 'moved':
        this.#drop();
        this.#backOff(nowMs);
        return;
      case 'waits':
        this.#drop();
        this.#state = 'waiting';
        this.#error = result.error;
        this.#backOff(nowMs);
        return;
      case 'own-entry':
        this.#halt(result.error, nowMs);
        return;
      case 'diverged':
        this.#halt(divergedText(result.error), nowMs);
        return;
    }
  }

  /** Entries wait: another answer may come beside them, as long as all have room. */
  #pauseOrReadOn(leadership: StandbyLeadership, nowMs: number): void {
    const read = this.#read;
    if (read === null) {
      this.#readOn(nowMs);
    } else if (!read.isPaused && this.#isFull(leadership)) {
      read.isPaused = true;
      this.#port.pause(read.call);
    }
  }

  // --- what stands in the way --------------------------------------------------------------------

  #getOn(): void {
    this.#state = 'following';
    this.#error = null;
    this.#backOffMs = BACK_OFF_MS_MIN;
    this.#nodes.endRound();
  }

  /** The node that is read does not do: the next one may. */
  #deny(denial: Denial, nowMs: number): void {
    this.#drop();
    this.#nodes.deny(denial);
    const round = this.#nodes.takeRound(this.#leadership?.position.index ?? 0);
    if (round?.isFinal === true) this.#stay('halted', round.error, nowMs);
    else if (round !== null) this.#wait(round.error, nowMs);
    else if (denial.kind === 'failed') this.#wait(denial.error, nowMs);
    else if (this.#state === 'halted') this.#nextReadMs = nowMs + HALTED_MS;
    else this.#nextReadMs = nowMs;
    this.#readOn(nowMs);
  }

  /** An obstacle that may pass does not end one that will not. */
  #wait(error: string, nowMs: number): void {
    if (this.#state === 'halted') this.#nextReadMs = nowMs + HALTED_MS;
    else this.#stay('waiting', error, nowMs);
  }

  #halt(error: string, nowMs: number): void {
    this.#drop();
    this.#nodes.moveOn();
    this.#stay('halted', error, nowMs);
  }

  #stay(state: 'waiting' | 'halted', error: string, nowMs: number): void {
    this.#state = state;
    this.#error = error;
    if (state === 'waiting') this.#backOff(nowMs);
    else this.#nextReadMs = nowMs + HALTED_MS;
  }

  #backOff(nowMs: number): void {
    this.#nextReadMs = nowMs + this.#backOffMs;
    this.#backOffMs = Math.min(2 * this.#backOffMs, BACK_OFF_MS_MAX);
  }

  /** Gives the read up, with what waits of it. */
  #drop(): void {
    if (this.#read !== null) this.#port.cancel(this.#read.call);
    this.#read = null;
    this.#queue.length = 0;
    this.#queuedBytes = 0;
    this.#received = null;
    this.#scanned = 0;
  }
}
