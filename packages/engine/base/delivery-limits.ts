/** Bounds of delivery, each with its arithmetic. */
import { PRICES, SLICE_UNITS } from './work-prices.js';

export interface DeliveryLimits {
  /**
   * Rows that scans of groups and of queue lists read in one turn: about 2 us each, so 2 ms. A
   * queue of a million partitions is loaded in 1,000 turns between which everything else goes on.
   */
  readonly scanRowsPerTurn: number;
  /** A scan pauses while this many partitions are ready: it is ahead of what consumers can take. */
  readonly readyLow: number;
  /**
   * Ready partitions that a group remembers: 64 Ki * 160 bytes = 10 MiB. What becomes ready beyond
   * that is found by another scan.
   */
  readonly readyMax: number;
  /** Leases, delays and deadlines that one turn fires: 10,000 * 1 us = 10 ms. */
  readonly duePerTurn: number;
  /**
   * What waiters that can be served add to the entry of one turn, beside the last of them: 1 MiB,
   * some 5,000 claims of 200 bytes. Their work ends a turn before that (`waiters-room.ts`), unless
   * claims are long. The others are served in the turns that follow at once.
   */
  readonly servedBytesPerTurn: number;
  /**
   * Groups remembered before unused ones are dropped ahead of IDLE_MS: 50,000 * 2 KiB = 100 MiB.
   * Group names are the clients' to choose, so time alone bounds nothing.
   */
  readonly groupsMax: number;
}

export const DELIVERY_LIMITS: DeliveryLimits = {
  scanRowsPerTurn: 1000,
  readyLow: 4096,
  readyMax: 65_536,
  duePerTurn: 10_000,
  servedBytesPerTurn: 1024 * 1024,
  groupsMax: 50_000,
};

/**
 * Groups that one new group beyond `groupsMax` looks at: more than one, so the surplus shrinks.
 */
export const DROP_LOOKS = 4;

/** A watched group used this recently is not dropped early: its scan would have to start over. */
export const DROP_SPARES_MS = 1000;

/** Log bytes that one pop answers at most, unless the first message alone is longer: 16 MiB. */
export const POP_BYTES_MAX = 16 * 1024 * 1024;

/**
 * What an answer adds to each message, counted against POP_BYTES_MAX: keys, ids, stamps, names. So
 * a pop of tiny messages takes 32,768 of them at most, and its answer stays far from the longest
 * text that can be made.
 */
export const MESSAGE_ANSWER_BYTES = 512;

/**
 * Code units of an error that a dead letter keeps; what is longer is cut. At three bytes each they
 * are 768 KiB, so a dead letter is hardly longer than its message, and an entry with one passes
 * between nodes as any push does.
 */
export const DEAD_LETTER_ERROR_CHARS_MAX = 262_144;

/**
 * Dead letters that one entry files: 16 MiB, as much as a pop answers, so that what was delivered
 * together can nearly always be filed together. Two kinds go beyond it, because a message must be
 * fileable however long it is: the first of a target while the entry stays below `entryBytesMax`
 * (96 MiB), and the first of the entry, if that fits or little else (SMALL_BYTES) is in it. With a
 * request body of 64 MiB at most, an entry is thus at most 4 MiB of earlier commands + the cursor
 * rows of one ack (1,048,576 targets of 600 bytes, 600 MiB, if a tenant has a million partitions
 * leased) + one message with its error text (65 MiB): less than the 1 GiB that the log can store.
 * Usual entries stay below 20 MiB. A request record adds less than the effects that it stands
 * beside, or the command that it answers, take.
 *
 * A transaction has this room to itself, and rolls back when all that it adds to its entry is more
 * than `entryBytesMax`.
 */
export const DEAD_LETTER_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Dead letters that the acknowledgements of one entry file, beside one for each target: a slice of
 * work (work-prices.ts), 12,000 units at 20. Pops file none beyond it. Transactions are bounded by
 * what they cost.
 */
export const DEAD_LETTERS_MAX = SLICE_UNITS / PRICES.deadLetter;

/**
 * Bytes of a dead letter beside payload, error and transaction id, at most but for a long producer
 * subject: three UUIDs, numbers, and a group name of 447 bytes.
 */
export const DEAD_LETTER_ROW_BYTES = 600;

/** Appends that one pop reads at most: 10,000 rows of 1 us. */
export const POP_APPENDS_MAX = 10_000;

/** A group or discovery list that nobody used for this long is dropped from memory. */
export const IDLE_MS = 300_000;

/** A lease of a queue whose `leaseTime` is not positive. */
export const LEASE_SECONDS_DEFAULT = 60;

/**
 * A client-supplied transaction id is known to the index for at least this long (message-plane
 * 4.2); only messages older than this are looked for in the log itself.
 */
export const ACK_WINDOW_SECONDS_MIN = 900;

/**
 * A waiter is answered this much before its deadline, so that a claim can still reach its client.
 */
export const ANSWER_MARGIN_MS = 50;
export const ANSWER_EARLY_MS_MAX = 250;
