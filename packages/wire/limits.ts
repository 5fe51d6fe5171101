/**
 * Bounds of the public API, each with its arithmetic. Bounds that only one layer knows stand in
 * that layer's own limits file.
 */

/**
 * The longest composite key of the store is 511 bytes (4,096-byte pages hold two keys each beside
 * their headers); 64 of them are kept for table prefixes, numbers and separators.
 */
export const NAME_BYTES_MAX = 511 - 64;

/** A length prefix of 16 bits: 2^16 - 1. */
export const TRANSACTION_ID_BYTES_MAX = 65_535;

/** 64 MiB = 64 * 2^20; `SVC_MAX_BODY_BYTES` changes it. */
export const BODY_BYTES_DEFAULT = 67_108_864;

/** One answer never waits longer than a minute (message-plane 1.5). */
export const DEADLINE_MS_MAX = 60_000;
export const DEADLINE_MS_MIN = 1;
export const POP_TIMEOUT_MS_DEFAULT = 30_000;

export const POP_BATCH_DEFAULT = 200;
export const POP_PARTITIONS_MAX = 64;
export const LEASE_EXTEND_SECONDS_DEFAULT = 60;

/** message-plane 10. The longest answer of one fetch is 1,024 entries * 8 MiB. */
export const FETCH_ENTRIES_MAX = 1024;
export const FETCH_ENTRY_BYTES_DEFAULT = 1_048_576;
export const FETCH_ENTRY_BYTES_MAX = 8_388_608;
export const FETCH_RECORDS_MAX = 10_000;
export const FETCH_WAIT_MS_MAX = 30_000;

/** Entries of one question about changed partitions or about offsets, and rows of a page. */
export const POSITION_ENTRIES_MAX = 1024;
export const CHANGED_PAGE_MAX = 1000;

/** The partitions with most pending messages that are shown unless it is said otherwise. */
export const RANKED_PARTITIONS_DEFAULT = 610;
export const RANKED_PARTITIONS_MAX = 5000;

/**
 * A name or a transaction id of a trace in a key of the store (state-surfaces 6.1), whose other
 * parts take 57 bytes at most: table, tenant 36, an end mark, place 12, or partition 4 and
 * transaction 16. NAME_BYTES_MAX leaves 64.
 */
export const TRACE_KEY_TEXT_BYTES_MAX = NAME_BYTES_MAX;
/** Names of one trace: each name is three rows, so 770 rows of about 1 us. */
export const TRACE_NAMES_MAX = 256;

/** A partition number takes 32 bits of a message id, an offset 41: 2.2 * 10^12 messages. */
export const PARTITION_NUMBER_MAX = 2 ** 32 - 1;
export const OFFSET_MAX = 2 ** 41 - 1;

export const INT32_MIN = -(2 ** 31);
export const INT32_MAX = 2 ** 31 - 1;

/** Positions of one transaction (message-plane 6), and what stands beside each. */
export const POSITIONS_MAX = 16_384;
export const POSITION_METADATA_BYTES_MAX = 4096;

/** Key/value (state-surfaces 1): names, and the rows of one page. */
export const KV_NAMESPACE = /^[a-z0-9][a-z0-9._-]{0,63}$/;
export const KV_KEY_BYTES_MAX = 512;
export const KV_PREFIX_LIMIT_DEFAULT = 100;
export const KV_PREFIX_LIMIT_MAX = 1000;
/** Operations of one call, and keys that they name, whoever makes it. */
export const KV_CALL_KEYS_MAX = 4096;

/** A key of streaming state, as of a key/value row; two numbers stand before it: 520 bytes. */
export const STREAM_KEY_BYTES_MAX = 512;
/** What a client calls the shape of its query: 16 times the length of a SHA-256 in digits. */
export const STREAM_CONFIG_HASH_BYTES_MAX = 1024;
/**
 * One answer of streaming state: a quarter of what answers may wait for their readers. A single row
 * comes however long it is.
 */
export const STREAM_STATE_BYTES_MAX = 33_554_432;
/** Rows that one question looks at, 5 us each; and keys that it may name. */
export const STREAM_ROWS_WALKED_MAX = 1_000_000;
export const STREAM_KEYS_MAX = 100_000;

/** Timers (state-surfaces 3): 90 days, and ten years at most, whatever is configured. */
export const TIMER_HORIZON_SECONDS_DEFAULT = 7_776_000;
export const TIMER_HORIZON_SECONDS_MAX = 315_360_000;
export const TIMER_DELAY_US_MAX = TIMER_HORIZON_SECONDS_MAX * 1_000_000;
/** Operations of one call at most, whatever is configured: rows of one turn, about 20 us each. */
export const TIMER_OPS_MAX = 10_000;

/** Ephemeral queues (state-surfaces 4): messages of a push or a pop, acks of a call; and names. */
export const EPHEMERAL_ITEMS_MAX = 10_000;
export const EPHEMERAL_NAME_BYTES_MAX = 512;
/** Options of a declared queue: seven, each with the longest of numbers, and room for spaces. */
export const EPHEMERAL_OPTIONS_BYTES_MAX = 4096;

/** Dead letters that one redrive tries: 200 of 43 units of work each are less than a turn. */
export const REDRIVE_LETTERS_MAX = 200;
