/**
 * Goal: majorities, counted. Method: every small case against a count that is too slow and too
 * plain to be wrong.
 */
import { expect, it } from 'vitest';
import { type Configuration, configuration } from './configuration.js';
import { logIndex, type NodeId, nodeId } from './identifiers.js';
import { Progress } from './progress.js';
import { quorumValue, voteResult } from './quorum.js';
import { Chance } from './testing/chance.js';

const SEED = 7;

function randomConfiguration(chance: Chance): Configuration {
  const ids = [1, 2, 3, 4, 5, 6, 7].map(nodeId);
  const some = (): NodeId[] => ids.filter(() => chance.hits(0.5));
  const voters = some();
  return { ...configuration(voters.length > 0 ? voters : [nodeId(1)]), outgoing: some() };
}

function majority(ids: readonly NodeId[], has: (id: NodeId) => boolean): boolean {
  return ids.length === 0 || ids.filter(has).length > ids.length / 2;
}

it(`the value of a quorum is the highest that both majorities have reached (seed ${SEED})`, () => {
  const chance = new Chance(SEED);
  for (let run = 0; run < 5000; run++) {
    const config = randomConfiguration(chance);
    const peers = new Map<NodeId, Progress>();
    for (const id of [...config.voters, ...config.outgoing]) {
      const peer = new Progress(logIndex(1), false, 1, 1);
      peer.match = logIndex(chance.between(0, 5));
      peers.set(id, peer);
    }
    const reached = (value: number): boolean => {
      const has = (id: NodeId): boolean => (peers.get(id)?.match ?? 0) >= value;
      return majority(config.voters, has) && majority(config.outgoing, has);
    };
    const expected = [5, 4, 3, 2, 1, 0].find(reached);
    expect(quorumValue(config, peers, 'match')).toBe(expected);
  }
});

it(`an election is won or lost as soon as it is certain (seed ${SEED})`, () => {
  const chance = new Chance(SEED);
  for (let run = 0; run < 5000; run++) {
    const config = randomConfiguration(chance);
    const votes = new Map<NodeId, boolean>();
    for (const id of [1, 2, 3, 4, 5, 6, 7].map(nodeId)) {
      if (chance.hits(0.6)) votes.set(id, chance.hits(0.5));
    }
    const wins = (open: boolean): boolean => {
      const has = (id: NodeId): boolean => votes.get(id) ?? open;
      return majority(config.voters, has) && majority(config.outgoing, has);
    };
    const expected = wins(false) ? 'won' : wins(true) ? 'pending' : 'lost';
    expect(voteResult(config, votes)).toBe(expected);
  }
});
