/**
 * Room in memory for one answer. Whoever is about to make an answer, or to read what it is made of,
 * reserves its upper bound first; once it is made its real length counts, until the last byte has
 * left. What is reserved is let go of by itself when the request is answered or its client gone.
 */
export interface AnswerRoom {
  /** What `reserve` would grant now, at most. */
  readonly freeBytes: number;
  readonly reservedBytes: number;
  /**
   * Reserves so much in all, in place of what was reserved. False: no room, nothing changed. A wait
   * ends with it, and its `done` does not run.
   */
  reserve(bytes: number): boolean;
  /**
   * Stands in line for so much. `done` runs once, in no call of this object but the one that ends
   * the request: with true when it is reserved, with false when it is not by `untilMs` (monotonic)
   * or the client has gone.
   */
  wait(bytes: number, untilMs: number, done: (hasRoom: boolean) => void): void;
}
