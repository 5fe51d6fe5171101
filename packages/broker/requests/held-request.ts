/**
 * One command on its way to a leader and back, from its arrival until nothing can come of it any
 * more. What it is to the request of a client stands in `http/ports/service.ts`.
 *
 *     entering  waits for room among what is to be written
 *     held      waits for a leader, or for room on the way to it
 *     leader    this node leads and has it
 *     in doubt  this node led: its entry was proposed and is not known to be applied
 *     sent      another node leads and was sent it
 *     applying  the messages that its outcome names have not been applied here yet
 *
 * What must hold: its client is answered once. A pop that its client does not wait for any longer
 * goes on until its outcome is known, so that a claim which reaches nobody can be given back.
 */
import {
  type Command,
  DEADLINE_OVER,
  fills,
  growingBytes,
  type Outcome,
  type RequestOrigin,
} from '@svc/engine';
import type { AnswerRoom, Reply } from '@svc/http';
import type { Request } from '../leader/leader.js';
import type { OwnCall } from '../peers/calls.js';
import type { Cancel } from '../system/clock.js';

export type Place = 'entering' | 'held' | 'leader' | 'in-doubt' | 'sent' | 'applying' | 'ended';

/**
 * `late`: the client has been answered or has gone; only claims come so. With the request, so that
 * one function serves all requests of a kind, and none is made for each of them.
 */
export type OnOutcome = (outcome: Outcome, late: boolean, request: ClientRequest) => void;

/** Where a request is settled. */
export interface RequestTable {
  end(request: ClientRequest, outcome: Outcome): void;
}

/**
 * Requests that are released together go by rank, then in order of arrival: what drains, what asks
 * or arranges, pops that may wait long, and at last what fills. One rank never waits for another's
 * room.
 */
export const RANKS = 4;
const PUSH_RANK = 3;
export const WAITING_POP_RANK = 2;

function rankOf(command: Command): number {
  switch (command.kind) {
    case 'ack':
    case 'extend':
    case 'give-back':
      return 0;
    case 'pop':
      return command.wait ? WAITING_POP_RANK : 1;
    case 'transaction':
      return fills(command) ? PUSH_RANK : 0;
    default:
      return fills(command) || growingBytes(command) > 0 ? PUSH_RANK : 1;
  }
}

/**
 * A large command may be what costs a leader its office: its entry has to be planned, sent and
 * written in one piece, and a node or network that cannot do that within an election timeout fails
 * at the next leader too. Meanwhile all others wait. So it is handed to two leaders, for one change
 * of leadership is the usual failure of a machine, and then it ends with an error of its own.
 * 4 MiB are four times what a group of the log holds, and less than any disk takes 100 ms for;
 * nothing smaller is ever refused because leadership moved.
 */
const LARGE_BYTES = 4 * 1024 * 1024;
const LEADERS_OF_LARGE_MAX = 2;

export class ClientRequest implements Request {
  command: Command;
  /** Monotonic; when the client is answered at the latest, but for `slackMs`. */
  readonly deadlineMs: number;
  readonly rank: number;
  /** By order of arrival. */
  arrival = 0;
  arrivedMs = 0;
  place: Place = 'held';
  /** The client has its answer or has gone. */
  answered = false;
  /** A pop that does not wait any longer, see `hasten`. */
  hasty = false;
  /** Its number among what may be repeated; 0: none, so no other leader can know it. */
  sequence = 0;
  origin: RequestOrigin | null = null;
  call: OwnCall | null = null;
  /** Sendings whose end was not heard of. */
  attempts = 0;
  /** It was handed to a leader whose answer is lost: it may have been applied. */
  isDoubtful = false;
  /** It was there when the deadlines were looked at: so it has been waiting. */
  isSeen = false;
  /** Bytes that count in the admission until the end. */
  admittedBytes = 0;
  cancelAdmission: Cancel | null = null;
  /** Room for a pop's answer; when this node leads, it looks there before it claims. */
  readonly room: AnswerRoom | undefined;
  /** The client's, for its `OnOutcome`; null: somebody within this node waits. */
  readonly reply: Reply<never> | null;
  /** Leaderships that were handed it, and the term of the last one; null: this node's own. */
  #leaders = 0;
  #lastTerm: number | null = null;
  readonly #table: RequestTable;
  readonly #onOutcome: OnOutcome;

  constructor(
    table: RequestTable,
    command: Command,
    deadlineMs: number,
    onOutcome: OnOutcome,
    reply: Reply<never> | null,
  ) {
    this.#table = table;
    this.reply = reply;
    this.room = command.kind === 'pop' ? reply?.room : undefined;
    this.command = command;
    this.deadlineMs = deadlineMs;
    this.rank = rankOf(command);
    this.#onOutcome = onOutcome;
  }

  /**
   * A leadership is about to be handed it: of that term, or null for this node's own. False: it is
   * large, and enough leaders had it that did not finish it.
   */
  handTo(term: number | null): boolean {
    if (term !== null && term === this.#lastTerm) return true;
    if (this.#leaders >= LEADERS_OF_LARGE_MAX && growingBytes(this.command) >= LARGE_BYTES) {
      return false;
    }
    this.#lastTerm = term;
    this.#leaders++;
    return true;
  }

  /** From the leader of this node. */
  onOutcome(outcome: Outcome): void {
    this.#table.end(this, outcome);
  }

  /** The client is told; what became of the request may still be open. */
  answer(outcome: Outcome): void {
    if (this.answered && !claims(outcome)) return;
    const late = this.answered;
    this.answered = true;
    this.#onOutcome(outcome, late, this);
  }

  /** It asks for its outcome from now on, and claims nothing. */
  hasten(): void {
    const { command } = this;
    this.hasty = true;
    if (command.kind !== 'pop') return;
    this.command = { ...command, wait: false, deadlineMs: DEADLINE_OVER };
  }
}

function claims(outcome: Outcome): boolean {
  return outcome.kind === 'popped' && outcome.claims.length > 0;
}

/**
 * Reads by position show what is applied on the node that is asked, so a client that has written
 * through it and been answered must find it there.
 */
export function isSeenHere({ kind }: Command): boolean {
  return kind !== 'pop' && kind !== 'give-back' && kind !== 'ack' && kind !== 'extend';
}

/** The last entry that the messages of a pop stand in; what is known to be applied otherwise. */
export function lastIndexOf(outcome: Outcome): number {
  if (outcome.kind !== 'popped') return 0;
  let last = 0;
  for (const { slices } of outcome.claims) {
    for (const { index } of slices) if (index > last) last = index;
  }
  return last;
}
