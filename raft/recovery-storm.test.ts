/**
 * Goal: losses of acknowledged entries at fewer than a majority of nodes break no promise and are
 * mended. Method: seeded runs of groups of 3 and 5 in which nodes crash, some of them losing the
 * end of their log, among late and repeated messages; the judge watches; then everything is
 * repaired and must come to rest with nobody recovering. RAFT_SEED=<seed> replays one.
 */
import process from 'node:process';
import { expect, it } from 'vitest';
import { nodeId } from './identifiers.js';
import { Chance } from './testing/chance.js';
import { ELECTION_MS, FakeGroup, type FakeNode } from './testing/group.fake.js';
import { CALM } from './testing/network.fake.js';

const SEEDS = 300;
const STEPS = 800;

it('loses nothing that was committed, and recovers', () => {
  const only = process.env.RAFT_SEED;
  const seeds = only === undefined ? Array.from({ length: SEEDS }, (_, i) => i) : [Number(only)];
  const sums = { losses: 0, settled: 0 };
  for (const seed of seeds) {
    try {
      const storm = new LossStorm(seed);
      for (let step = 0; step < STEPS; step++) storm.step();
      storm.calm();
      sums.losses += storm.losses;
      sums.settled += storm.group.judge.settledIndex;
    } catch (fault) {
      throw new Error(`RAFT_SEED=${seed}`, { cause: fault });
    }
  }
  // A storm in which nothing happens proves nothing.
  if (only !== undefined) return;
  expect(sums.losses).toBeGreaterThan(SEEDS * 2);
  expect(sums.settled).toBeGreaterThan(SEEDS * 20);
});

class LossStorm {
  readonly group: FakeGroup;
  readonly #chance: Chance;
  /** How many may recover at a time: the rest must still be a majority. */
  readonly #recoveringMax: number;
  losses = 0;
  #proposed = 0;

  constructor(seed: number) {
    this.#chance = new Chance(seed ^ 0x1055);
    const chance = this.#chance;
    const nodes = chance.hits(0.5) ? 3 : 5;
    this.#recoveringMax = nodes >> 1;
    this.group = new FakeGroup({
      nodes,
      seed,
      settings: {
        preVote: chance.hits(0.5),
        appendBytesMax: chance.between(1, 100),
        inFlightMessagesMax: chance.between(1, 8),
      },
      diskShowsAccepted: chance.hits(0.5),
      keepEntries: chance.hits(0.5) ? chance.between(5, 20) : Infinity,
    });
    this.group.network.weather = {
      lossProbability: chance.pick([0, 0.02, 0.1]) ?? 0,
      repeatProbability: chance.pick([0, 0.1, 0.3]) ?? 0,
      delayMsMax: chance.pick([0, 5, 20]) ?? 0,
      stragglerProbability: chance.pick([0, 0.05, 0.2]) ?? 0,
      stragglerMsMax: 2 * ELECTION_MS,
    };
  }

  step(): void {
    const { group } = this;
    const chance = this.#chance;
    group.nowMs += chance.between(0, 8);
    for (const { raft } of group.nodes.values()) raft?.tick(group.nowMs);
    if (chance.hits(0.5)) this.#propose();
    if (chance.hits(0.04)) this.#breakSomething();
    for (const message of group.network.receive(group.nowMs)) group.deliver(message);
    for (const node of group.nodes.values()) {
      group.handleReady(node);
      while (!node.diskHangs && node.disk.writesUnderWay > 0 && chance.hits(0.6)) {
        group.syncOne(node);
      }
    }
  }

  calm(): void {
    const { group } = this;
    group.network.weather = CALM;
    group.network.heal();
    for (const node of group.nodes.values()) {
      node.diskHangs = false;
      if (node.raft === undefined) group.start(node.id);
    }
    group.passUntil(() => {
      const leader = group.leader();
      if (leader === undefined || !group.propose(leader, 'calm').accepted) return false;
      group.pass(20);
      const { lastIndex } = group.status(leader);
      return group.ids.every((id) => {
        const { recovering, applied } = group.status(id);
        return !recovering && applied === lastIndex;
      });
    }, 100 * ELECTION_MS);
  }

  #propose(): void {
    const leaders = [...this.group.nodes.values()].filter((one) => one.lastRole === 'leader');
    const node = this.#chance.pick(leaders);
    if (node?.raft !== undefined) this.group.propose(node.id, `p${this.#proposed++}`);
  }

  #breakSomething(): void {
    const { group } = this;
    const chance = this.#chance;
    const node = group.node(chance.between(1, group.ids.length));
    switch (chance.between(0, 5)) {
      case 0:
      case 1:
      case 2:
        if (node.raft === undefined) group.start(node.id);
        else this.#crash(node);
        return;
      case 3:
        node.diskHangs = !node.diskHangs;
        return;
      case 4:
        group.network.cut(node.id, nodeId(chance.between(1, group.ids.length)));
        return;
      default:
        group.network.heal();
    }
  }

  /** Often back at once, in the term in which it had acknowledged what it lost. */
  #crash(node: FakeNode): void {
    const { group } = this;
    const chance = this.#chance;
    group.crash(node.id, chance.between(0, node.disk.writesUnderWay));
    const recovering = [...group.nodes.values()].filter((one) => one.recovering).length;
    if (chance.hits(0.7) && (node.recovering || recovering < this.#recoveringMax)) {
      group.lose(node.id, node.disk.lastIndex() - chance.between(0, 5));
      this.losses++;
    }
    if (chance.hits(0.7)) group.start(node.id);
  }
}
