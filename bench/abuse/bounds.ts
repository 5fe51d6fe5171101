// What must hold beside every attack, for a machine with two cores that does nothing else.

/** Answers to an honest client: the slowest of a hundred, and the slowest of all. */
export const HONEST_P99_MS_MAX = 250;
export const HONEST_MS_MAX = 1000;
/** The longest time without an answer from `/health`. */
export const HEALTH_AWAY_MS_MAX = 250;
/** Resident memory above that of the same node before the attack and before it was filled. */
export const RESIDENT_GROWTH_BYTES_MAX = 512 * 1024 * 1024;
/** One bulk load of so many new partitions has its answer within this time. */
export const BULK_LOAD_MS_MAX = 30_000;
