/**
 * A digest of a set of rows that is kept while the rows change: adding and removing a row are each
 * the other's opposite, and their order does not matter.
 *
 * A row enters with its checksum, which covers its key and is stored with it, so that a change
 * costs no reading of whole rows. Checksums of this kind are linear: if the same bits are wrong in
 * two rows of one length, their checksums change by the same difference, and it would cancel in the
 * exclusive or and, one time in 65,536, in the sum. So each checksum is first mixed by two
 * functions that are not linear: the sum adds up one, the exclusive or takes the other. One changed
 * row is missed with its checksum, one time in 2^32; several in as many as chance has it, for the
 * digest has 64 bits.
 *
 * `lmdb/writer.ts` holds the same arithmetic in the text of its program.
 */

/** Stands in front of every value. */
export const ROW_CHECKSUM_BYTES = 4;

export class RowsDigest {
  #sum: number;
  #exclusive: number;

  /** Goes on from `text`, the 16 hex digits of another. */
  constructor(text: string) {
    this.#sum = Number.parseInt(text.slice(0, 8), 16);
    this.#exclusive = Number.parseInt(text.slice(8, 16), 16);
  }

  add(value: Uint8Array): void {
    const checksum = checksumOf(value);
    this.#sum = (this.#sum + mixForSum(checksum)) >>> 0;
    this.#exclusive = (this.#exclusive ^ mixForExclusive(checksum)) >>> 0;
  }

  remove(value: Uint8Array): void {
    const checksum = checksumOf(value);
    this.#sum = (this.#sum - mixForSum(checksum)) >>> 0;
    this.#exclusive = (this.#exclusive ^ mixForExclusive(checksum)) >>> 0;
  }

  toString(): string {
    return hex(this.#sum) + hex(this.#exclusive);
  }
}

function checksumOf(value: Uint8Array): number {
  return (
    (value[0] ?? 0) | ((value[1] ?? 0) << 8) | ((value[2] ?? 0) << 16) | ((value[3] ?? 0) << 24)
  );
}

function mixForSum(checksum: number): number {
  let mixed = checksum ^ (checksum >>> 16);
  mixed = Math.imul(mixed, 0x45d9f3b);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

function mixForExclusive(checksum: number): number {
  let mixed = Math.imul(checksum ^ 0x5bd1e995, 0x297a2d39);
  mixed = Math.imul(mixed ^ (mixed >>> 14), 0x3d4d51cb);
  return (mixed ^ (mixed >>> 17)) >>> 0;
}

function hex(word: number): string {
  return word.toString(16).padStart(8, '0');
}
