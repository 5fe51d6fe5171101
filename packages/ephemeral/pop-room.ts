/**
 * Room for the answers of pops, as whoever makes the answers has it.
 *
 * What must hold:
 * - A pop takes no more than the room that it is shown. When its first message alone needs more it
 *   takes nothing and goes on waiting, before all others of its group that can take from there; one
 *   that does not wait, or whose time is up, ends with `no-room`.
 * - One push is an answer to a thousand groups. So pops that wait are answered in turns of the
 *   loop: when a turn has answered enough, the others are put off until they are tried again.
 *
 * The rings count nothing of it: what room says is input, as the time is.
 */
export interface PopRoom {
  /** Bytes that the answer may take now. Infinity: it is not counted here. */
  bytesFor(ticket: object): number;
  /** The pop has taken messages, and its answer takes so many bytes. */
  claimed(ticket: object, bytes: number): void;
  /** Nothing was taken, because the first message needs so many bytes. */
  starved(ticket: object, bytes: number): void;
  /** True: this turn of the loop has answered enough, and the pop that waits is tried later. */
  postpones(ticket: object): boolean;
}

/** What a message takes in an answer beside its payload, but for long names. */
export const ANSWER_BYTES = 256;
