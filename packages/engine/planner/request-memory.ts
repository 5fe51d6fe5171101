/**
 * What the leader knows of requests that nodes bring it under an id, so that each has its
 * effects once and one outcome, however often and over however many leaders it is sent.
 *
 * What must hold:
 * - A request that changed anything left its outcome in the same entry (request-record.ts). Whoever
 *   leads later has applied that entry, or it never counted: so a leader that finds no record may
 *   plan the request, and one that finds it answers with it.
 * - Within one leadership memory knows more than rows: what is still planned, parked or swept (a
 *   repetition takes the place of the one before, whose way back is broken), verdicts that changed
 *   nothing, and settled requests, of which a copy that comes late is never planned again. Copies
 *   meant for an earlier leadership do not come here: their caller names the term.
 * - A record is deleted when its request is settled, with the next entry that has anything else to
 *   say, and otherwise when it has been known for the window, by this node's monotonic clock.
 *
 * A command without an id is never looked up here, and a leader that has met no id does nothing.
 */
import { assert } from '../base/assert.js';
import { type Command, ITEM_QUEUED, type Outcome, type Ticket } from '../base/commands/commands.js';
import { SettledNumbers } from '../base/settled-numbers.js';
import type { Key, State } from '../base/state.js';
import { requests } from '../base/tables.js';
import type { Draft } from '../draft/draft.js';
import { keptOutcome, recalledOutcome } from '../features/kv/record.js';
import type { RequestRecord } from '../state/effects.js';
import {
  type RequestId,
  type RequestOrigin,
  type RequestSession,
  requestKey,
  requestOfKey,
  SESSION_BYTES,
  sessionRange,
} from '../state/request-id.js';
import { decodeRecord, encodeRecord } from './request-record.js';

/** On its way through the planner. */
interface Underway {
  readonly stage: 'underway';
  readonly command: Command;
  readonly session: Session;
  readonly sequence: number;
  /** What the planner and its waiters know it by. */
  readonly first: Ticket;
  /** The ticket to be answered: `first`, or the latest repetition. */
  current: Ticket;
  /** Its sender has settled it: there is no ticket to answer any more. */
  isSettled: boolean;
  /** Its record is in the entry being planned or in an earlier one. */
  isRecorded: boolean;
  /** The repetitions, to be forgotten with it. */
  readonly others: Ticket[];
}

/** Its verdict changed nothing, and is remembered here only. */
interface Judged {
  readonly stage: 'judged';
  readonly outcome: Outcome;
  readonly sinceMs: number;
}

/** Its outcome is in a row. */
interface Recorded {
  readonly stage: 'recorded';
  readonly sinceMs: number;
}

type Known = Underway | Judged | Recorded;

interface Session {
  readonly name: RequestSession;
  readonly settled: SettledNumbers;
  /** By sequence, in order of arrival, which is nearly ascending. */
  readonly known: Map<number, Known>;
  /** Records to be deleted by the next entry. */
  dropping: number[];
  /** Records of the entry being planned. */
  fresh: RequestRecord[];
  /** Monotonic. */
  heardMs: number;
}

/** A request that begins to be under way. */
interface Begun {
  readonly command: Command;
  readonly sequence: number;
  readonly ticket: Ticket;
  readonly isRecorded: boolean;
}

/** A repetition of something that has its outcome, to be answered by the next turn. */
interface Repetition {
  readonly ticket: Ticket;
  readonly command: Command;
  readonly id: RequestId;
}

/** What the planner does for this memory. */
export interface RequestPlanner {
  /** Ends the wait of a parked request; false when it is not parked. */
  withdraw(first: Ticket): boolean;
  /**
   * True when the repetition waits once more, for what its first outcome promised but has not
   * come yet.
   */
  waitAgain(command: Command, outcome: Outcome, ticket: Ticket): boolean;
}

export type AnswerRequest = (ticket: Ticket, outcome: Outcome) => void;

/** Node lives known at a time, each forgotten after a window of silence. */
const SESSIONS_MAX = 1024;
/** Rows read at a time when a session is met. */
const ROWS_PER_READ = 256;
/** Records that one turn deletes because of their age: 1,000 * 1 us. */
const EXPIRED_PER_TURN = 1000;
const CHECKS_PER_WINDOW = 4;
/** It is aged from the next check on. */
const AGE_UNKNOWN = -1;
/** Bytes of a record in its entry, beside the outcome: its number and a length, at most. */
const RECORD_BYTES = 16;
const FIRST_KEY = '' as Key;
const LAST_KEY = '\xff'.repeat(SESSION_BYTES + 8) as Key;

const SETTLED_BEFORE: Outcome = {
  kind: 'refused',
  refusal: { reason: 'outcome_unknown', error: 'this request was given up by its sender' },
};
const TOO_MANY_SESSIONS: Outcome = {
  kind: 'refused',
  refusal: { reason: 'overloaded', error: 'too many nodes have sent requests within a minute' },
};

export class RequestMemory {
  readonly #state: State;
  readonly #windowMs: number;
  readonly #planner: RequestPlanner;
  readonly #sessions = new Map<RequestSession, Session>();
  readonly #byTicket = new Map<Ticket, Underway>();
  /** Sessions that called since the last turn. */
  readonly #heard = new Set<Session>();
  #repetitions: Repetition[] = [];
  #refusals: { readonly ticket: Ticket; readonly outcome: Outcome }[] = [];
  /** Sessions whose records the next entry changes. */
  readonly #changed = new Set<Session>();
  #freshBytes = 0;
  /** Sessions of earlier leaderships are looked for from this key on; null: all were found. */
  #unseenFrom: Key | null;
  #nextCheckMs = 0;

  constructor(state: State, windowMs: number, planner: RequestPlanner) {
    this.#state = state;
    this.#windowMs = windowMs;
    this.#planner = planner;
    const isEmpty = state.range(requests, FIRST_KEY, LAST_KEY, 1).length === 0;
    this.#unseenFrom = isEmpty ? null : FIRST_KEY;
  }

  /** False: no request with an id is known of, and a turn need not look here. */
  get isActive(): boolean {
    return this.#sessions.size > 0 || this.#unseenFrom !== null || this.#refusals.length > 0;
  }

  /** What the records made so far in this turn will take in its entry. */
  get freshBytes(): number {
    return this.#freshBytes;
  }

  /** There are answers for the next turn. */
  get busy(): boolean {
    return this.#repetitions.length > 0 || this.#refusals.length > 0;
  }

  /** Monotonic milliseconds at which a turn has something to do; null: never. */
  nextDueMs(): number | null {
    if (this.#unseenFrom !== null) return 0;
    return this.#sessions.size === 0 ? null : this.#nextCheckMs;
  }

  // --- between turns -----------------------------------------------------------------------------

  /** Waiting, judged, recorded or settled: it will not be planned, or not again. */
  knows({ session, sequence }: RequestId): boolean {
    const found = this.#sessionOf(session);
    return found !== null && (found.settled.has(sequence) || found.known.has(sequence));
  }

  /**
   * Takes a request in; true when it is to be planned. Otherwise this memory answers it, with what
   * it has or when it has it.
   */
  enter(origin: RequestOrigin, command: Command, ticket: Ticket): boolean {
    const { sequence } = origin;
    const session = this.#sessionOf(origin.session);
    if (session === null) return this.#refuse(ticket, TOO_MANY_SESSIONS);
    this.settle(origin.session, origin.settledBelow, origin.settled);
    if (session.settled.has(sequence)) return this.#refuse(ticket, SETTLED_BEFORE);
    const known = session.known.get(sequence);
    if (known === undefined) {
      this.#begin(session, { command, sequence, ticket, isRecorded: false });
      return true;
    }
    if (known.stage === 'underway') this.#replace(known, ticket);
    else this.#repetitions.push({ ticket, command, id: origin });
    return false;
  }

  /** The sender will not send these again: all below `below`, and those listed. */
  settle(name: RequestSession, below: number, listed: readonly number[]): void {
    const session = this.#sessionOf(name);
    if (session === null) return;
    this.#heard.add(session);
    const { settled, known } = session;
    const before = settled.below;
    settled.addBelow(below);
    for (const sequence of listed) {
      settled.add(sequence);
      this.#forget(session, sequence);
    }
    if (settled.below === before) return;
    // Not exact when requests came out of order; what is passed over goes with the window.
    for (const sequence of known.keys()) {
      if (sequence >= settled.below) break;
      this.#forget(session, sequence);
    }
  }

  /** The caller of `ticket` has gone. True: it was parked, and will never take anything. */
  withdraw(ticket: Ticket): boolean {
    const underway = this.#byTicket.get(ticket);
    if (underway === undefined) return this.#planner.withdraw(ticket);
    // Another one has taken its place.
    if (underway.current !== ticket || !this.#planner.withdraw(underway.first)) return false;
    this.#end(underway);
    underway.session.known.delete(underway.sequence);
    return true;
  }

  #refuse(ticket: Ticket, outcome: Outcome): false {
    this.#refusals.push({ ticket, outcome });
    return false;
  }

  #begin(session: Session, { command, sequence, ticket, isRecorded }: Begun): void {
    const underway: Underway = {
      stage: 'underway',
      command,
      session,
      sequence,
      first: ticket,
      current: ticket,
      isSettled: false,
      isRecorded,
      others: [],
    };
    session.known.set(sequence, underway);
    this.#byTicket.set(ticket, underway);
  }

  #replace(underway: Underway, ticket: Ticket): void {
    underway.current = ticket;
    underway.others.push(ticket);
    this.#byTicket.set(ticket, underway);
  }

  #end(underway: Underway): void {
    this.#byTicket.delete(underway.first);
    for (const ticket of underway.others) this.#byTicket.delete(ticket);
  }

  #forget(session: Session, sequence: number): void {
    const known = session.known.get(sequence);
    if (known === undefined) return;
    session.known.delete(sequence);
    if (known.stage === 'recorded') this.#drop(session, sequence);
    if (known.stage !== 'underway') return;
    known.isSettled = true;
    if (known.isRecorded) this.#drop(session, sequence);
    this.#refuse(known.current, SETTLED_BEFORE);
    if (this.#planner.withdraw(known.first)) this.#end(known);
  }

  #drop(session: Session, sequence: number): void {
    session.dropping.push(sequence);
    this.#changed.add(session);
  }

  /** null: there are too many. */
  #sessionOf(name: RequestSession): Session | null {
    const found = this.#sessions.get(name);
    if (found !== undefined) return found;
    if (this.#sessions.size >= SESSIONS_MAX) return null;
    const session: Session = {
      name,
      settled: new SettledNumbers(),
      known: new Map(),
      dropping: [],
      fresh: [],
      heardMs: 0,
    };
    this.#sessions.set(name, session);
    this.#heard.add(session);
    this.#load(session);
    return session;
  }

  /** Its records are of earlier leaderships: this one has recorded nothing of it yet. */
  #load({ name, known }: Session): void {
    const [first, end] = sessionRange(name);
    let from = first;
    for (;;) {
      const rows = this.#state.range(requests, from, end, ROWS_PER_READ);
      for (const { key } of rows) {
        known.set(requestOfKey(key).sequence, { stage: 'recorded', sinceMs: AGE_UNKNOWN });
      }
      const last = rows[rows.length - 1];
      if (last === undefined || rows.length < ROWS_PER_READ) return;
      from = `${last.key}\0` as Key;
    }
  }

  // --- in a turn ---------------------------------------------------------------------------------

  /** Answers repetitions of what has its outcome, and what was refused. */
  begin(nowMs: number, answer: AnswerRequest): void {
    for (const session of this.#heard) session.heardMs = nowMs;
    this.#heard.clear();
    const repetitions = this.#repetitions;
    this.#repetitions = [];
    for (const repetition of repetitions) this.#repeat(repetition, answer);
    for (const { ticket, outcome } of this.#refusals) answer(ticket, outcome);
    this.#refusals = [];
  }

  #repeat({ ticket, command, id }: Repetition, answer: AnswerRequest): void {
    const session = this.#sessions.get(id.session);
    const known = session?.known.get(id.sequence);
    if (session === undefined || known === undefined) {
      answer(ticket, SETTLED_BEFORE);
      return;
    }
    if (known.stage === 'underway') {
      this.#replace(known, ticket);
      return;
    }
    const kept = known.stage === 'judged' ? known.outcome : this.#read(id);
    const outcome = recalledOutcome(this.#state, command, kept);
    if (!this.#planner.waitAgain(command, outcome, ticket)) answer(ticket, outcome);
    else this.#begin(session, { command, sequence: id.sequence, ticket, isRecorded: true });
  }

  #read({ session, sequence }: RequestId): Outcome {
    const row = this.#state.get(requests, requestKey(session, sequence));
    assert(row !== undefined, `request ${sequence} is known as recorded, but has no record`);
    return decodeRecord(this.#state, row);
  }

  /** False: it was settled before it was planned, and must not be. */
  isWanted(ticket: Ticket): boolean {
    const underway = this.#byTicket.get(ticket);
    if (underway?.isSettled !== true) return true;
    this.#end(underway);
    return false;
  }

  /** The request has changed the state, and will be answered so in this turn or a later one. */
  record(ticket: Ticket, outcome: Outcome): void {
    const underway = this.#byTicket.get(ticket);
    if (underway === undefined || underway.isSettled || underway.isRecorded) return;
    underway.isRecorded = true;
    const { session, sequence } = underway;
    const record = encodeRecord(keptOutcome(underway.command, outcome));
    this.#freshBytes += RECORD_BYTES + record.length;
    session.fresh.push({ sequence, outcome: record });
    this.#changed.add(session);
  }

  /** As `record`, for a request that is at work over several entries: its record changes. */
  amend(ticket: Ticket, outcome: Outcome): void {
    const underway = this.#byTicket.get(ticket);
    if (underway === undefined || underway.isSettled) return;
    underway.isRecorded = false;
    this.record(ticket, outcome);
  }

  /** There is a verdict. Who is to be told; null: nobody. */
  close(ticket: Ticket, outcome: Outcome, nowMs: number): Ticket | null {
    const underway = this.#byTicket.get(ticket);
    if (underway === undefined) return ticket;
    if (changesState(outcome)) this.record(ticket, outcome);
    this.#end(underway);
    if (underway.isSettled) return null;
    const { command, session, sequence, isRecorded } = underway;
    session.known.set(
      sequence,
      isRecorded
        ? { stage: 'recorded', sinceMs: nowMs }
        : { stage: 'judged', outcome: keptOutcome(command, outcome), sinceMs: nowMs },
    );
    return underway.current;
  }

  /** Writes what became of records into the entry, which they begin only when they are old. */
  finish(draft: Draft): void {
    const isDue = draft.nowMs >= this.#nextCheckMs || this.#unseenFrom !== null;
    const isOverdue = isDue && this.#check(draft.nowMs);
    if (draft.empty && !isOverdue) return;
    for (const session of this.#changed) {
      const { name, dropping, fresh } = session;
      session.dropping = [];
      session.fresh = [];
      const settled = dropping.sort((a, b) => a - b);
      draft.emit({ kind: 'requests', session: name, settled, records: fresh });
    }
    this.#changed.clear();
    this.#freshBytes = 0;
  }

  /** True when records have become too old. */
  #check(nowMs: number): boolean {
    if (this.#unseenFrom !== null) this.#find(this.#unseenFrom);
    if (nowMs < this.#nextCheckMs) return false;
    this.#nextCheckMs = nowMs + this.#windowMs / CHECKS_PER_WINDOW;
    let left = EXPIRED_PER_TURN;
    for (const session of this.#sessions.values()) {
      left -= this.#expire(session, nowMs, left);
      const isSilent = session.heardMs + this.#windowMs < nowMs;
      if (isSilent && session.known.size === 0 && !this.#changed.has(session)) {
        this.#sessions.delete(session.name);
      }
    }
    if (left === 0) this.#nextCheckMs = nowMs;
    return left < EXPIRED_PER_TURN;
  }

  /** How many became too old, at most `most`. */
  #expire(session: Session, nowMs: number, most: number): number {
    let expired = 0;
    for (const [sequence, known] of session.known) {
      if (expired === most) break;
      if (known.stage === 'underway') continue;
      if (known.sinceMs === AGE_UNKNOWN) session.known.set(sequence, { ...known, sinceMs: nowMs });
      else if (known.sinceMs + this.#windowMs < nowMs) {
        expired++;
        session.settled.add(sequence);
        this.#forget(session, sequence);
      }
    }
    return expired;
  }

  /** Meets the next session that has records. */
  #find(from: Key): void {
    const [row] = this.#state.range(requests, from, LAST_KEY, 1);
    const session = row && this.#sessionOf(requestOfKey(row.key).session);
    // With too many sessions in memory the others' records wait for a leader that has room.
    this.#unseenFrom = session ? sessionRange(session.name)[1] : null;
  }
}

/** Tells it of pushes and pops by the outcome; for others the planner has seen it. */
function changesState(outcome: Outcome): boolean {
  if (outcome.kind === 'popped') return outcome.claims.length > 0;
  if (outcome.kind === 'replayed') return outcome.replay?.result === 'moved';
  if (outcome.kind === 'redriven') return outcome.moved > 0;
  if (outcome.kind === 'transacted') return outcome.pushed !== null;
  if (outcome.kind === 'stream-cycled') {
    return outcome.verdict.result === 'committed' && outcome.verdict.pushed !== null;
  }
  return outcome.kind === 'pushed' && outcome.status.includes(ITEM_QUEUED);
}
