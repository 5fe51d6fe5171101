/**
 * Bytes of request bodies that are in memory: reserved as a body arrives, released when its request
 * is answered. Bodies of writes that grow storage and bodies of drain work (acks, renewals, reads)
 * draw from two shares, so that a flood of pushes cannot keep acks out.
 *
 * A short body lies in a slab of the runtime that it shares with others, and keeps the whole slab
 * in memory when the others have gone: it counts as a slab (`countedBytes`).
 *
 * In each share a quarter is for small bodies alone, so that a few large ones, which may take long
 * to arrive, cannot keep ordinary requests out. A body that grows beyond the small size counts as a
 * large one from then on, with all its bytes.
 */
import { SMALL_BODY_BYTES_MAX } from '../base/limits.js';

/**
 * The slab of Node 20 and 22. Node 24 has slabs of 64 KiB, so a budget would hold an eighth of the
 * short bodies; the process sets its size back, which Node documents as allowed.
 */
const SLAB_BYTES = 8192;
Buffer.poolSize = SLAB_BYTES;

/** Largest number of bytes that a body of this length keeps in memory. */
export function countedBytes(length: number): number {
  // `Buffer.allocUnsafe` takes shorter buffers than half a slab out of one.
  return length < SLAB_BYTES >>> 1 ? SLAB_BYTES : length;
}

export type BodyShare = 'growing' | 'drain';

interface Pool {
  readonly bytesMax: number;
  /** The part of `bytesMax` that only small bodies may take. */
  readonly smallBytesKept: number;
  smallBytes: number;
  largeBytes: number;
}

export class BodyBudget {
  readonly #pools: { readonly [share in BodyShare]: Pool };

  constructor(growingBytesMax: number, drainBytesMax: number) {
    this.#pools = { growing: newPool(growingBytesMax), drain: newPool(drainBytesMax) };
  }

  /**
   * For a body that holds `heldBytes` and needs `bytes` more. False: there is no room, nothing is
   * reserved. A lone body, and the only large one, is admitted whatever its size.
   */
  reserve(share: BodyShare, heldBytes: number, bytes: number): boolean {
    if (!this.fits(share, heldBytes, bytes)) return false;
    this.release(share, heldBytes);
    const pool = this.#pools[share];
    if (this.isLarge(heldBytes + bytes)) pool.largeBytes += heldBytes + bytes;
    else pool.smallBytes += heldBytes + bytes;
    return true;
  }

  /** Whether `reserve` would succeed now. */
  fits(share: BodyShare, heldBytes: number, bytes: number): boolean {
    const pool = this.#pools[share];
    const wasLarge = this.isLarge(heldBytes);
    const smallOthers = pool.smallBytes - (wasLarge ? 0 : heldBytes);
    const largeOthers = pool.largeBytes - (wasLarge ? heldBytes : 0);
    const wanted = heldBytes + bytes;
    const isWithin = smallOthers + largeOthers + wanted <= pool.bytesMax;
    if (this.isLarge(wanted)) {
      const largeBytesMax = pool.bytesMax - pool.smallBytesKept;
      return largeOthers === 0 || (isWithin && largeOthers + wanted <= largeBytesMax);
    }
    if (smallOthers + largeOthers === 0) return true;
    return isWithin || smallOthers + wanted <= pool.smallBytesKept;
  }

  /** Whether a large body would fit if all that is held were these bytes of other large ones. */
  fitsBeside(share: BodyShare, otherBytes: number, bytes: number): boolean {
    const { bytesMax, smallBytesKept } = this.#pools[share];
    return otherBytes === 0 || otherBytes + bytes <= bytesMax - smallBytesKept;
  }

  /** All that a body holds. */
  release(share: BodyShare, heldBytes: number): void {
    const pool = this.#pools[share];
    if (this.isLarge(heldBytes)) pool.largeBytes -= heldBytes;
    else pool.smallBytes -= heldBytes;
  }

  /** A body that holds so many bytes is a large one. */
  isLarge(bytes: number): boolean {
    return bytes > SMALL_BODY_BYTES_MAX;
  }

  used(share: BodyShare): number {
    const { smallBytes, largeBytes } = this.#pools[share];
    return smallBytes + largeBytes;
  }
}

function newPool(bytesMax: number): Pool {
  return { bytesMax, smallBytesKept: Math.floor(bytesMax / 4), smallBytes: 0, largeBytes: 0 };
}
