/**
 * Majorities, plain and joint. A decision of a joint configuration needs both majorities, so the
 * value that a joint quorum has reached is the lower of the two.
 */
import { type Configuration, isJoint } from './configuration.js';
import type { NodeId } from './identifiers.js';
import type { Progress } from './progress.js';

/** The numbers of a peer that only ever rise while one leader leads. */
export type RisingField = 'match' | 'ackedRound' | 'ackedSentMs';

export type VoteResult = 'won' | 'lost' | 'pending';

/** The highest value that a quorum has reached or passed. */
export function quorumValue(
  config: Configuration,
  peers: ReadonlyMap<NodeId, Progress>,
  field: RisingField,
): number {
  const incoming = majorityValue(config.voters, peers, field);
  if (!isJoint(config)) return incoming;
  return Math.min(incoming, majorityValue(config.outgoing, peers, field));
}

export function voteResult(config: Configuration, votes: ReadonlyMap<NodeId, boolean>): VoteResult {
  const incoming = majorityResult(config.voters, votes);
  if (!isJoint(config)) return incoming;
  const outgoing = majorityResult(config.outgoing, votes);
  if (incoming === outgoing) return incoming;
  return incoming === 'lost' || outgoing === 'lost' ? 'lost' : 'pending';
}

export function quorumActive(config: Configuration, peers: ReadonlyMap<NodeId, Progress>): boolean {
  const votes = new Map<NodeId, boolean>();
  for (const [id, peer] of peers) votes.set(id, peer.recentlyActive);
  return voteResult(config, votes) === 'won';
}

/**
 * Sorts anew each time: groups are small, and an order kept between calls once let a commit pass
 * without a quorum elsewhere.
 */
function majorityValue(
  voters: readonly NodeId[],
  peers: ReadonlyMap<NodeId, Progress>,
  field: RisingField,
): number {
  const values: number[] = [];
  for (const id of voters) {
    const value = peers.get(id)?.[field] ?? 0;
    let place = values.length;
    values.push(value);
    for (; place > 0; place--) {
      const before = values[place - 1] ?? 0;
      if (before >= value) break;
      values[place] = before;
    }
    values[place] = value;
  }
  return values[values.length >> 1] ?? 0;
}

function majorityResult(
  voters: readonly NodeId[],
  votes: ReadonlyMap<NodeId, boolean>,
): VoteResult {
  let granted = 0;
  let missing = 0;
  for (const id of voters) {
    const vote = votes.get(id);
    if (vote === true) granted++;
    else if (vote === undefined) missing++;
  }
  const needed = (voters.length >> 1) + 1;
  if (granted >= needed) return 'won';
  return granted + missing >= needed ? 'pending' : 'lost';
}
