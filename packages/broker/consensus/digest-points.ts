/**
 * Whether this node's state is what the others have. Every so many entries each node makes a
 * checkpoint at exactly that entry and tells the others the digest of its rows; here they meet.
 *
 * What must hold: only what a majority of the voters says at one and the same entry is believed
 * over the own digest. A node that has no majority against it goes on, for the fault may be
 * another's; a lost word costs a comparison, and the next point brings another.
 *
 * Bounds: POINTS_KEPT points of this node and of each member.
 */
import type { NodeId } from '@svc/raft';

/** A node that is this many points behind is compared at later ones. */
const POINTS_KEPT = 32;

export interface Divergence {
  readonly index: number;
  readonly own: string;
  readonly majority: string;
}

export class DigestPoints {
  readonly #self: NodeId;
  readonly #voters: () => readonly NodeId[];
  /** By member, then by entry, oldest first. */
  readonly #told = new Map<NodeId, Map<number, string>>();

  constructor(self: NodeId, voters: () => readonly NodeId[]) {
    this.#self = self;
    this.#voters = voters;
  }

  /** The state of `member` after entry `index`; what a majority holds against this node, if so. */
  tell(member: NodeId, index: number, digest: string): Divergence | null {
    let points = this.#told.get(member);
    if (points === undefined) {
      points = new Map();
      this.#told.set(member, points);
    }
    points.delete(index);
    points.set(index, digest);
    for (const [oldest] of points) {
      if (points.size <= POINTS_KEPT) break;
      points.delete(oldest);
    }
    return this.#compare(index);
  }

  /** A member is gone: its word counts no more, and is not kept. */
  keepOnly(members: readonly NodeId[]): void {
    for (const member of this.#told.keys()) {
      if (member !== this.#self && !members.includes(member)) this.#told.delete(member);
    }
  }

  #compare(index: number): Divergence | null {
    const own = this.#told.get(this.#self)?.get(index);
    if (own === undefined) return null;
    const voters = this.#voters();
    const counts = new Map<string, number>();
    for (const voter of voters) {
      const digest = this.#told.get(voter)?.get(index);
      if (digest !== undefined) counts.set(digest, (counts.get(digest) ?? 0) + 1);
    }
    for (const [majority, count] of counts) {
      if (count * 2 > voters.length && majority !== own) return { index, own, majority };
    }
    return null;
  }
}
