/**
 * CRC-32 of a few bytes. The platform's `crc32` is many times faster for each byte, but calling it
 * costs as much as SHORT_BYTES_MAX steps here, and a view of the bytes as much again.
 */
export const SHORT_BYTES_MAX = 64;

/** The remainders of CRC-32, reflected, for each byte. */
const REMAINDERS = Int32Array.from({ length: 256 }, (_, byte) => {
  let rest = byte;
  for (let bit = 0; bit < 8; bit++) rest = (rest >>> 1) ^ (rest & 1 ? 0xedb88320 : 0);
  return rest;
});

/** `rest` is the complement of a checksum, as is the result. */
export function crcStep(rest: number, byte: number): number {
  return (rest >>> 8) ^ (REMAINDERS[(rest ^ byte) & 0xff] as number);
}

/** The same as `crc32(bytes.subarray(from, to), seed)`; of no bytes, `seed`. */
export function shortCrc(bytes: Uint8Array, from: number, to: number, seed: number): number {
  let rest = ~seed;
  for (let at = from; at < to; at++) rest = crcStep(rest, bytes[at] as number);
  return ~rest >>> 0;
}
