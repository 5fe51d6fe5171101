/**
 * What clients did and saw, as plain records: the input of the checkers. Times are milliseconds of
 * one monotonic clock that all clients of a history share; `beganMs` is before the request was
 * written, `endedMs` after its answer was read.
 */

/**
 * How a request for one message ended. `refused` is definite: nothing was stored. `unknown` is no
 * answer, or one that leaves the effect open (503 timeout and outcome_unknown, 500, a lost
 * connection).
 */
export type SendOutcome = 'queued' | 'duplicate' | 'refused' | 'unknown';

/** One attempt to store one message; an unanswered message has several. */
export interface Send {
  /** Names the message and nothing else in the history. */
  readonly value: string;
  /** `<queue>/<partition>`. */
  readonly partition: string;
  readonly transactionId: string | null;
  readonly payload: string;
  /** Attempts of one call share it; `index` is the place in the request. */
  readonly call: number;
  readonly index: number;
  readonly beganMs: number;
  readonly endedMs: number;
  readonly outcome: SendOutcome;
  /** As answered; null without an answer. */
  readonly messageId: string | null;
}

/** One message as a read by offset or a delivery showed it. */
export interface ReadRecord {
  readonly partition: string;
  readonly offset: number;
  readonly transactionId: string;
  readonly payload: string;
}

/** One delivered message. */
export interface Delivery extends ReadRecord {
  readonly group: string;
  readonly messageId: string;
  readonly leaseId: string;
  /** The pop call, and its lease time as asked for. */
  readonly call: number;
  readonly leaseMs: number;
  readonly beganMs: number;
  readonly endedMs: number;
}

/**
 * `done`: the cursor is at or above the message; `noop`: it was before; `released`: the lease ended
 * and the message comes again; `refused`: an item error.
 */
export type AckOutcome = 'done' | 'noop' | 'released' | 'refused' | 'unknown';

/** What a client said about one message. */
export interface Ack {
  readonly group: string;
  readonly partition: string;
  readonly offset: number;
  readonly leaseId: string;
  /** `failed`, `retry` or `dlq`: it ends the lease wherever in the batch it stands. */
  readonly signal: boolean;
  readonly beganMs: number;
  readonly endedMs: number;
  readonly outcome: AckOutcome;
}

export interface Anomaly<Kind extends string> {
  readonly kind: Kind;
  readonly text: string;
}

/** Answers a duplicate whose original cannot be read any more. */
export const ZERO_ID = '00000000-0000-0000-0000-000000000000';

export function groupBy<Item>(
  items: Iterable<Item>,
  keyOf: (item: Item) => string,
): Map<string, Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}
