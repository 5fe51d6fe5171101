/** Bounds of the front, with their arithmetic. What clients rely on stands in @svc/wire. */

/**
 * Containers inside one another in a body. The scanner keeps one byte for each level; what reads a
 * payload later may recurse, and 128 levels are far below what any parser's stack takes.
 */
export const JSON_DEPTH_MAX = 128;

/**
 * Items of one push. With the shortest item, `{"queue":"","payload":0}` and a comma, a body of 64
 * MiB holds 2.7 million; columns of 1,048,576 are 5 * 8 MiB.
 */
export const PUSH_ITEMS_MAX = 1_048_576;

/**
 * Acks of one call: 1,048,576 records of about 100 bytes are 100 MiB of heap while it is planned.
 */
export const ACK_ITEMS_MAX = 1_048_576;

/**
 * Memory for bodies between admission and answer, over all connections: eight bodies of the largest
 * size. Acks have their own share, so that pushes cannot keep them out.
 */
export const BODY_BYTES_IN_FLIGHT_DEFAULT = 8 * 67_108_864;
export const DRAIN_BODY_BYTES_IN_FLIGHT_DEFAULT = 2 * 67_108_864;

/**
 * A body must arrive at 32 KB/s at least after a grace of seven seconds: a body of 64 MiB has
 * 7 s + 2,097 s, one that sends a byte each second is cut after seven. (The native layer cuts off
 * without an answer after about ten.)
 */
export const BODY_GRACE_MS = 7_000;
export const BODY_BYTES_PER_MS_MIN = 32;

/** The first allocation for a body of unknown length; it doubles from there. */
export const CHUNKED_BODY_BYTES_FIRST = 16_384;

/**
 * Answers above this size are written as the socket takes them, from one buffer of ours, instead of
 * being copied into the native layer's queue, where they could not be counted.
 */
export const STREAMED_ANSWER_BYTES_MIN = 32_768;

/**
 * Answers that slow readers have not taken yet, over all connections. Above it, requests whose
 * answer can be large are refused until some are taken: 256 MiB = 32 answers of 8 MiB.
 */
export const ANSWER_BYTES_IN_FLIGHT_DEFAULT = 268_435_456;
/** An answer must be taken at 32 KB/s after a grace of ten seconds, as a body must arrive. */
export const ANSWER_GRACE_MS = 10_000;
export const ANSWER_BYTES_PER_MS_MIN = 32;

/** How often slow bodies and slow readers are looked at. */
export const SWEEP_INTERVAL_MS = 1_000;

/** How long `stop` waits for requests in flight: one long poll. */
export const DRAIN_MS_DEFAULT = 60_000;

/** Dashboard files are held in memory: 4,096 files, 64 MiB in all. */
export const STATIC_FILES_MAX = 4_096;
export const STATIC_BYTES_MAX = 67_108_864;
