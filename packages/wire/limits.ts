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
/** Of one trace: each name is three rows, so 770 rows of about 1 us. */
export const TRACE_NAMES_MAX = 256;

/** A partition number takes 32 bits of a message id, an offset 41: 2.2 * 10^12 messages. */
export const PARTITION_NUMBER_MAX = 2 ** 32 - 1;
export const OFFSET_MAX = 2 ** 41 - 1;

export const INT32_MIN = -(2 ** 31);
export const INT32_MAX = 2 ** 31 - 1;

/** Positions of one transaction (message-plane 6), and what stands beside each. */
export const POSITIONS_MAX = 16_384;
export const POSITION_METADATA_BYTES_MAX = 4096;
