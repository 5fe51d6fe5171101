/**
 * Bytes of request bodies that are in memory: reserved as a body arrives, released when its request
 * is answered. Bodies of writes that grow storage and bodies of drain work (acks, renewals, reads)
 * draw from two shares, so that a flood of pushes cannot keep acks out.
 *
 * The job: whoever sends many bodies and ends none of them must not take the room of others. A half
 * body costs its sender a few bytes, holds up to 64 KiB here, and is cut off only after seconds.
 *
 * Why it is hard: most owners (a cluster behind the gateway, else a client's address) are the only
 * ones on their node, and may use all of it: one body of 64 MiB beside ordinary ones, a hundred
 * connections that load data. Others come later, when nothing can be taken back. And a node that is
 * calm must pay nothing for fairness: asking for an address costs as much as a small body.
 *
 * What must hold in each share:
 * - Its first half is for anybody, and no owner is asked for. What is reserved above it counts for
 *   its owner, small bodies and large ones apart, and a reservation must leave free as much as its
 *   owner then holds of the kind above the half. So one owner alone has three quarters of a share
 *   with one kind and seven eighths with both, and each further owner half of what it finds.
 * - What leaves a quarter free is granted to anybody: what an owner holds above the half is no more
 *   than what all do. So large bodies that were read in part can be completed (`body-turns.ts`).
 * - A body is counted as of its last reservation: the part of it that was above the half then.
 * - Large bodies of all owners take seven eighths, so that a few of them, which may take long to
 *   arrive, cannot keep ordinary requests out. A body that grows beyond the small size is a large
 *   one with all its bytes.
 * - The only large body is admitted whatever its size, as is a lone one, and counts for nobody.
 * - A large body that has the turn to be read (`body-turns.ts`) was promised its room: its owner is
 *   compared when it gets the turn, and not again while it has it.
 * - Less than before is always granted.
 *
 * A short body lies in a slab of the runtime that it shares with others, and keeps the whole slab
 * in memory when the others have gone: it counts as a slab (`countedBytes`).
 *
 * Rejected: a fixed part for each owner (a lone one could not use the rest, and some owners would
 * take all of it); counting every body for its owner (the address of each push, 3 % of its cost);
 * a bound on half bodies alone (whole ones that wait for the disk take as much); cutting off the
 * owner that holds most (its good bodies would end with the bad ones, and a refusal is cheaper).
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

/** One body; only the budget changes its numbers. It stays in the share that it began in. */
export interface BodyHolder {
  /** The client or tenant that it counts for. Asked only where the share is more than half full. */
  readonly owner: string;
  /** Bytes that are reserved for it. */
  bodyBytes: number;
  /** The part of `bodyBytes` above the half of the share. */
  upperBytes: number;
  /** The owner that `upperBytes` count for. */
  upperOwner: string;
}

interface Pool {
  readonly bytesMax: number;
  /** Small bodies have room up to it however large the only large body is. */
  readonly smallBytesKept: number;
  /** The byte at which the upper half begins. */
  readonly upperFrom: number;
  smallBytes: number;
  largeBytes: number;
  /** Bytes above the half by owner, of small bodies and of large ones; no zeroes. */
  readonly smallUpper: Map<string, number>;
  readonly largeUpper: Map<string, number>;
}

export class BodyBudget {
  readonly #pools: { readonly [share in BodyShare]: Pool };

  constructor(growingBytesMax: number, drainBytesMax: number) {
    this.#pools = { growing: newPool(growingBytesMax), drain: newPool(drainBytesMax) };
  }

  /**
   * `bytes` more than it holds; negative for less. `isPromised`: its owner is not compared. False:
   * no room, nothing has changed.
   */
  reserve(share: BodyShare, body: BodyHolder, bytes: number, isPromised = false): boolean {
    if (bytes > 0 && !this.fits(share, body, bytes, isPromised)) return false;
    const wanted = body.bodyBytes + bytes;
    this.release(share, body);
    const pool = this.#pools[share];
    const isOnly = isLargeBody(wanted) && pool.largeBytes === 0;
    const upper = isOnly ? 0 : upperOf(pool, pool.smallBytes + pool.largeBytes, wanted);
    put(pool, body, wanted, upper, upper === 0 ? '' : body.owner);
    return true;
  }

  /** Whether `reserve` would succeed now. */
  fits(share: BodyShare, body: BodyHolder, bytes: number, isPromised = false): boolean {
    const pool = this.#pools[share];
    const { bytesMax, smallBytesKept } = pool;
    const held = body.bodyBytes;
    const wanted = held + bytes;
    const others = pool.smallBytes + pool.largeBytes - held;
    // Nearly always.
    if (others + wanted <= bytesMax - smallBytesKept) return true;
    const largeOthers = pool.largeBytes - (isLargeBody(held) ? held : 0);
    const isLarge = isLargeBody(wanted);
    if ((isLarge ? largeOthers : others) === 0) return true;
    let left = bytesMax - others - wanted;
    if (!isLarge) left = Math.max(left, smallBytesKept - (others - largeOthers) - wanted);
    else if (largeOthers + wanted > bytesMax - smallBytesKept / 2) return false;
    if (isPromised) return left >= 0;
    const own = Math.min(upperOfOthers(pool, body, isLarge), upperOf(pool, 0, others));
    return left >= own + upperOf(pool, others, wanted);
  }

  /** Whether `bytes` more of one body leave another one the room for `missing` more. */
  leavesRoom(
    share: BodyShare,
    body: BodyHolder,
    bytes: number,
    other: BodyHolder,
    missing: number,
  ): boolean {
    const { bodyBytes, upperBytes, upperOwner } = body;
    if (!this.reserve(share, body, bytes)) return false;
    const isLeft = this.fits(share, other, missing);
    this.release(share, body);
    put(this.#pools[share], body, bodyBytes, upperBytes, upperOwner);
    return isLeft;
  }

  /** Whether a large body would fit if all that is held were these bytes of other large ones. */
  fitsBeside(share: BodyShare, otherBytes: number, bytes: number): boolean {
    const { bytesMax, smallBytesKept } = this.#pools[share];
    return otherBytes === 0 || otherBytes + bytes <= bytesMax - smallBytesKept;
  }

  /** All that a body holds. */
  release(share: BodyShare, body: BodyHolder): void {
    const pool = this.#pools[share];
    const { bodyBytes, upperBytes, upperOwner } = body;
    if (isLargeBody(bodyBytes)) pool.largeBytes -= bodyBytes;
    else pool.smallBytes -= bodyBytes;
    if (upperBytes > 0) addUpper(pool, isLargeBody(bodyBytes), upperOwner, -upperBytes);
    body.bodyBytes = 0;
    body.upperBytes = 0;
  }

  used(share: BodyShare): number {
    const { smallBytes, largeBytes } = this.#pools[share];
    return smallBytes + largeBytes;
  }
}

/** A body that holds so many bytes is a large one. */
export function isLargeBody(bytes: number): boolean {
  return bytes > SMALL_BODY_BYTES_MAX;
}

function newPool(bytesMax: number): Pool {
  return {
    bytesMax,
    smallBytesKept: Math.floor(bytesMax / 4),
    upperFrom: Math.floor(bytesMax / 2),
    smallBytes: 0,
    largeBytes: 0,
    smallUpper: new Map(),
    largeUpper: new Map(),
  };
}

/** The part of `bytes` that is above the half, beside `others`. */
function upperOf({ upperFrom }: Pool, others: number, bytes: number): number {
  return Math.max(0, Math.min(bytes, others + bytes - upperFrom));
}

/** Bytes above the half of the other bodies of its owner, of the kind that it is to be. */
function upperOfOthers(pool: Pool, body: BodyHolder, isLarge: boolean): number {
  const upper = isLarge ? pool.largeUpper : pool.smallUpper;
  if (upper.size === 0) return 0;
  const { owner } = body;
  const isAmong = body.upperOwner === owner && isLargeBody(body.bodyBytes) === isLarge;
  return (upper.get(owner) ?? 0) - (isAmong ? body.upperBytes : 0);
}

/** For a body that holds nothing. */
function put(pool: Pool, body: BodyHolder, bytes: number, upper: number, owner: string): void {
  const isLarge = isLargeBody(bytes);
  if (isLarge) pool.largeBytes += bytes;
  else pool.smallBytes += bytes;
  body.bodyBytes = bytes;
  if (upper === 0) return;
  body.upperBytes = upper;
  body.upperOwner = owner;
  addUpper(pool, isLarge, owner, upper);
}

function addUpper(pool: Pool, isLarge: boolean, owner: string, bytes: number): void {
  const upper = isLarge ? pool.largeUpper : pool.smallUpper;
  const sum = (upper.get(owner) ?? 0) + bytes;
  if (sum === 0) upper.delete(owner);
  else upper.set(owner, sum);
}
