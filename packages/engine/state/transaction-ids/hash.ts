/**
 * The 128-bit hash under which a transaction id is known: of the partition number and the UTF-8
 * bytes of the id, in 32-bit arithmetic because that is what JavaScript does without allocating.
 *
 * Each word of input is first spread over 32 bits by two odd multiplications with a rotation
 * between them, so that the neat differences between real ids (counters, digits, dates) look random
 * before they meet the state. Four words at a time are then xored into a state of four words, which
 * a round of additions, xors and rotations stirs. Every step can be undone given the input, so no
 * entropy is lost on the way, and two ids can only collide by meeting in all 128 bits.
 *
 * It is not a cryptographic hash: someone who tries can build two ids that collide. That gains
 * nothing over using one id twice, because whoever does it must know the other id, and because the
 * index compares the partition number exactly: an id can never be mistaken for one of another
 * partition.
 *
 * The hash is part of the file format: a change of any constant loses every stored id.
 */

const SPREAD_FIRST = 0x9e3779b1 | 0;
const SPREAD_SECOND = 0x85ebca77 | 0;
const FINISH_FIRST = 0xc2b2ae3d | 0;
const FINISH_SECOND = 0x27d4eb2f | 0;
const STATE_A = 0x243f6a88 | 0;
const STATE_B = 0x85a308d3 | 0;
const STATE_C = 0x13198a2e | 0;
const STATE_D = 0x03707344 | 0;

const BLOCK_BYTES = 16;
const FINISH_ROUNDS = 3;

/** Words of a hash. */
export const HASH_WORDS = 4;

/** Hashes `bytes[start..end)` into the first four words of `out`. */
export function hashTransactionId(
  seed: number,
  partition: number,
  bytes: Uint8Array,
  start: number,
  end: number,
  out: Int32Array,
): void {
  let a = STATE_A ^ seed;
  let b = STATE_B ^ spread(partition);
  let c = STATE_C ^ spread(seed);
  let d = STATE_D ^ spread(end - start);
  let at = start;
  for (; at + BLOCK_BYTES <= end; at += BLOCK_BYTES) {
    a ^= spread(word(bytes, at));
    b ^= spread(word(bytes, at + 4));
    c ^= spread(word(bytes, at + 8));
    d ^= spread(word(bytes, at + 12));
    // One round, written out here and below: a function could return only one of the four words.
    a = (a + b) | 0;
    d = rotate(d ^ a, 16);
    c = (c + d) | 0;
    b = rotate(b ^ c, 12);
    a = (a + b) | 0;
    d = rotate(d ^ a, 8);
    c = (c + d) | 0;
    b = rotate(b ^ c, 7);
  }
  // The rest is padded with zeros; the length in the state tells it from ids that end in zeros.
  a ^= spread(partWord(bytes, at, end));
  b ^= spread(partWord(bytes, at + 4, end));
  c ^= spread(partWord(bytes, at + 8, end));
  d ^= spread(partWord(bytes, at + 12, end));
  for (let round = 0; round < FINISH_ROUNDS; round++) {
    a = (a + b) | 0;
    d = rotate(d ^ a, 16);
    c = (c + d) | 0;
    b = rotate(b ^ c, 12);
    a = (a + b) | 0;
    d = rotate(d ^ a, 8);
    c = (c + d) | 0;
    b = rotate(b ^ c, 7);
    a = finish(a);
    b = finish(b);
    c = finish(c);
    d = finish(d);
  }
  out[0] = a;
  out[1] = b;
  out[2] = c;
  out[3] = d;
}

function rotate(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}

function spread(word: number): number {
  return Math.imul(rotate(Math.imul(word, SPREAD_FIRST), 15), SPREAD_SECOND);
}

/** High bits reach low ones by the shifts, low bits reach high ones by the multiplications. */
function finish(word: number): number {
  let mixed = word;
  mixed = Math.imul(mixed ^ (mixed >>> 16), FINISH_FIRST);
  mixed = Math.imul(mixed ^ (mixed >>> 13), FINISH_SECOND);
  return mixed ^ (mixed >>> 16);
}

function word(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at] ?? 0) |
    ((bytes[at + 1] ?? 0) << 8) |
    ((bytes[at + 2] ?? 0) << 16) |
    ((bytes[at + 3] ?? 0) << 24)
  );
}

/** The word at `at` with zeros for what lies at or behind `end`. */
function partWord(bytes: Uint8Array, at: number, end: number): number {
  if (at + 4 <= end) return word(bytes, at);
  let value = 0;
  for (let i = end - 1; i >= at; i--) value = (value << 8) | (bytes[i] ?? 0);
  return value;
}
