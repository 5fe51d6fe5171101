/** Bounds of delivery, each with its arithmetic. */

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
}

export const DELIVERY_LIMITS: DeliveryLimits = {
  scanRowsPerTurn: 1000,
  readyLow: 4096,
  readyMax: 65_536,
  duePerTurn: 10_000,
};

/** Log bytes that one pop answers at most, unless the first message alone is longer: 16 MiB. */
export const POP_BYTES_MAX = 16 * 1024 * 1024;

/**
 * What an answer adds to each message, counted against POP_BYTES_MAX: keys, ids, stamps, names. So
 * a pop of tiny messages takes 32,768 of them at most, and its answer stays far from the longest
 * text that can be made.
 */
export const MESSAGE_ANSWER_BYTES = 512;

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
