/**
 * The clocks of the nodes in a storm: each runs at its own rate, and where nothing rests on clocks
 * they also jump. A node that restarts begins with the group's time.
 */
import type { Chance } from './chance.js';
import type { FakeGroup, FakeNode } from './group.fake.js';

/** Far less than a lease's margin within an election timeout, for two clocks that part. */
const DRIFT_SAFE = 0.04;
const DRIFT_WILD = 0.5;
const JUMP_MS_MAX = 1000;

export class StormClocks {
  readonly #group: FakeGroup;
  readonly #chance: Chance;
  readonly #drift: number;
  readonly #jumpProbability: number;
  readonly #rates: Map<FakeNode, number> = new Map();
  /** For the life of a Raft object that has read its clock already. */
  readonly #aheadMs: Map<object, number> = new Map();

  constructor(group: FakeGroup, chance: Chance, leases: boolean) {
    this.#group = group;
    this.#chance = chance;
    const odd = chance.hits(0.4);
    if (leases) this.#drift = odd ? DRIFT_SAFE : 0;
    else this.#drift = odd ? DRIFT_WILD : 0;
    this.#jumpProbability = odd && !leases ? 0.002 : 0;
  }

  /** The group's time moves; each node's clock at its rate. */
  advance(ms: number): void {
    this.#group.nowMs += ms;
    for (const node of this.#group.nodes.values()) {
      if (node.raft === undefined) continue;
      const jumps = this.#chance.hits(this.#jumpProbability);
      const jumpMs = jumps ? this.#chance.between(-JUMP_MS_MAX, JUMP_MS_MAX) : 0;
      const before = this.#aheadMs.get(node.raft) ?? 0;
      this.#aheadMs.set(node.raft, before + ms * this.#rateOf(node) + jumpMs);
    }
  }

  nowMs(node: FakeNode): number {
    const aheadMs = node.raft === undefined ? 0 : (this.#aheadMs.get(node.raft) ?? 0);
    return this.#group.nowMs + aheadMs;
  }

  #rateOf(node: FakeNode): number {
    let rate = this.#rates.get(node);
    if (rate === undefined) {
      rate = (this.#chance.next() * 2 - 1) * this.#drift;
      this.#rates.set(node, rate);
    }
    return rate;
  }
}
