/**
 * Room for the answers of pops.
 *
 * The job: a hundred groups wait at one queue, and one push of 7 MB arrives. Each of them is to get
 * its 7 MB, and the node must not hold all these answers at once.
 *
 * Why it is hard: a claim is decided here, and the memory for its answer is needed at the rim, on
 * this node or on another one, later. Whoever claims first and looks for memory afterwards has
 * either too much of it in use, or a leased batch that nobody gets.
 *
 * What must hold:
 * - A pop whose answer is counted claims no more than the room that it was shown. When the first
 *   message alone needs more, nothing is claimed and nothing in the lines changes: the pop stays
 *   parked. One that does not wait, or whose time is up, is refused as overloaded.
 * - Pops that wait behind a pop without room are not tried before it: a group is served again when
 *   there is room (`Delivery.roomFreed`) or the pop has gone. Until then it costs no turn anything.
 * - The engine counts nothing: the rim does. What it says is input, as the time is.
 *
 * Bytes are those of `PopBudget`: an append's average message and MESSAGE_ANSWER_BYTES for each. A
 * message may be longer than the average of its append: the broker, which makes the answer, knows
 * its bytes exactly and reserves them first (`pop-delivery.ts`).
 *
 * Rejected: a number of bytes for the whole turn, because the room of two clients differs; claims
 * that are undone when there is no room (a row and an attempt for each, over and over, and the
 * order of the line is lost).
 */
import type { RefusedOutcome } from './commands/commands.js';
import { POP_BYTES_MAX } from './delivery-limits.js';

export interface PopRoom {
  /** Bytes that the answer of this pop may take now. Infinity: its answer is not counted here. */
  bytesFor(ticket: object): number;
  /** The pop has claimed, and its answer takes so many bytes. */
  claimed(ticket: object, bytes: number): void;
  /** Nothing was claimed, because the first message needs so many bytes. */
  starved(ticket: object, bytes: number): void;
}

/** What comes of a pop whose first message needs more room than there is. */
export const NO_ROOM = 'no-room';

/** One attempt of a pop: what it may take, and what came of it. */
export class PopShare {
  roomBytes = Number.POSITIVE_INFINITY;
  /** Set when it claims. */
  takenBytes = 0;
  /** Set with `NO_ROOM`. */
  neededBytes = 0;

  open(room: PopRoom | undefined, ticket: object): this {
    this.takenBytes = 0;
    this.roomBytes = room === undefined ? Number.POSITIVE_INFINITY : room.bytesFor(ticket);
    return this;
  }

  close(bytesLeft: number, neededBytes: number): void {
    this.takenBytes = POP_BYTES_MAX - bytesLeft;
    this.neededBytes = neededBytes;
  }
}

export const ANSWERS_FULL: RefusedOutcome = {
  kind: 'refused',
  refusal: {
    reason: 'overloaded',
    error: 'too many answer bytes wait for their readers; retry',
  },
};
