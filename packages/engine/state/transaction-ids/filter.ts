/**
 * A filter over the ids of one generation: "certainly not here" or "look it up". A lookup of a new
 * id, the common case, must cost one cache line per generation and no disk.
 *
 * The filter is split into blocks of eight words, half a cache line. The leading bits of the hash
 * choose the block; in each of its words, five other bits choose one bit. At 14 ids in a block (18
 * bits for each id) 36 % of the bits are set, so an unknown id passes with a chance of about
 * 0.36^8, measured with the unevenness of blocks 0.06 %.
 */
export const BLOCK_WORDS = 8;

/** Words of the block that this hash belongs to begin here; `blockBits` = log2 of all blocks. */
function blockOf(hashWord: number, blockBits: number): number {
  return (hashWord >>> (32 - blockBits)) * BLOCK_WORDS;
}

/** Adds the hash whose four words stand at `at`. */
export function addToFilter(
  filter: Int32Array,
  blockBits: number,
  words: Int32Array,
  at: number,
): void {
  const block = blockOf(words[at] ?? 0, blockBits);
  const third = words[at + 2] ?? 0;
  const fourth = words[at + 3] ?? 0;
  for (let i = 0; i < BLOCK_WORDS; i++) {
    // A shift uses the low five bits of its right side only.
    const bit = 1 << (i < 6 ? third >>> (5 * i) : fourth >>> (5 * (i - 6)));
    filter[block + i] = (filter[block + i] ?? 0) | bit;
  }
}

export function filterMayHold(filter: Int32Array, blockBits: number, hash: Int32Array): boolean {
  const block = blockOf(hash[0] ?? 0, blockBits);
  const third = hash[2] ?? 0;
  // To stop at the first missing bit is a fifth faster than to combine all eight without a branch.
  for (let i = 0; i < 6; i++) {
    if ((((filter[block + i] ?? 0) >>> (third >>> (5 * i))) & 1) === 0) return false;
  }
  const fourth = hash[3] ?? 0;
  if ((((filter[block + 6] ?? 0) >>> fourth) & 1) === 0) return false;
  return (((filter[block + 7] ?? 0) >>> (fourth >>> 5)) & 1) === 1;
}
