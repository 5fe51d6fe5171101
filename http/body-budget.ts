/**
 * Bytes of request bodies that are in memory: reserved before a body is read, released when its
 * request is answered. Bodies of writes that grow storage and bodies of drain work (acks, renewals)
 * draw from two shares, so that a flood of pushes cannot keep acks out.
 */
export type BodyShare = 'growing' | 'drain';

export class BodyBudget {
  readonly #max: { readonly [share in BodyShare]: number };
  readonly #used: { [share in BodyShare]: number } = { growing: 0, drain: 0 };

  constructor(growingBytesMax: number, drainBytesMax: number) {
    this.#max = { growing: growingBytesMax, drain: drainBytesMax };
  }

  /** False: the share is spent, nothing is reserved. A lone body is admitted whatever its size. */
  reserve(share: BodyShare, bytes: number): boolean {
    const used = this.#used[share];
    if (used > 0 && used + bytes > this.#max[share]) return false;
    this.#used[share] = used + bytes;
    return true;
  }

  release(share: BodyShare, bytes: number): void {
    this.#used[share] -= bytes;
  }

  used(share: BodyShare): number {
    return this.#used[share];
  }
}
