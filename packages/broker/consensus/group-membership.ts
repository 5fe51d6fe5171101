/** Shows the members as an operator sees them: who, where, and how far behind. */
import {
  type Configuration,
  type ConfigurationChange,
  isVoter,
  members,
  type NodeChange,
  type NodeId,
  type Status,
} from '@svc/raft';
import type { Membership, MembershipMember } from '@svc/wire';
import { nodeNumber } from '../config/member-id.js';
import type { Peer } from '../config/peers.js';

export interface MemberChange {
  /** Empty: leave a joint configuration. */
  readonly changes: readonly NodeChange[];
  readonly transition: ConfigurationChange['transition'];
  /** Where nodes that are new are to be reached. */
  readonly added: readonly Peer[];
}

export interface MembershipLimits {
  readonly promoteMaxLag: number;
  readonly liveWithinMs: number;
}

export function membershipView(
  status: Status,
  addresses: readonly Peer[],
  { promoteMaxLag, liveWithinMs }: MembershipLimits,
): Membership {
  const { configuration, id, leaderContactAgeMs } = status;
  const { voters, learners, outgoing } = configuration;
  const leader = nodeNumber(status.leader);
  return {
    nodeId: nodeNumber(id),
    source: status.role === 'leader' ? 'leader' : 'follower',
    viewAgeMs: roundedOrNull(leaderContactAgeMs),
    leader: leader === 0 ? null : leader,
    term: status.term,
    voters: voters.map(nodeNumber),
    learners: learners.map(nodeNumber),
    joint: outgoing.length === 0 ? null : [outgoing.map(nodeNumber), voters.map(nodeNumber)],
    membershipIndex: status.configurationIndex,
    membershipCommitted: !status.changing,
    changeInFlight: status.changing || outgoing.length > 0,
    lastLogIndex: status.lastIndex,
    committedIndex: status.commit,
    liveWithinMs,
    promoteMaxLag,
    members: members(configuration).map((member) => viewOf(member, status, addresses)),
  };
}

function viewOf(member: NodeId, status: Status, addresses: readonly Peer[]): MembershipMember {
  const nodeId = nodeNumber(member);
  const address = addresses.find((peer) => peer.id === nodeId);
  const voter = isVoter(status.configuration, member);
  const raft = address?.raftAddress ?? null;
  const http = address?.httpAddress ?? null;
  const known = { nodeId, voter, raft, http };
  if (status.role !== 'leader') {
    return { ...known, matched: null, lag: null, lastAckMs: null, live: false };
  }
  if (member === status.id) {
    return { ...known, matched: status.lastIndex, lag: 0, lastAckMs: 0, live: true };
  }
  const peer = status.peers.find(({ id }) => id === member);
  const { match = 0, lastReplyAgeMs = Infinity, live = false } = peer ?? {};
  return {
    ...known,
    matched: match,
    lag: status.lastIndex - match,
    lastAckMs: roundedOrNull(lastReplyAgeMs),
    live,
  };
}

/** For the log: `voters 1, 2, 4; learners 5; leaving 3`. */
export function describeMembers({ voters, learners, outgoing }: Configuration): string {
  const leaving = outgoing.filter((id) => !voters.includes(id));
  const lists = [
    ['voters', voters],
    ['learners', learners],
    ['leaving', leaving],
  ] as const;
  return lists
    .filter(([, ids]) => ids.length > 0)
    .map(([name, ids]) => `${name} ${ids.map(nodeNumber).join(', ')}`)
    .join('; ');
}

/** What a leader said `ageMs` ago, as it may be shown once no leader can be asked. */
export function agedView(view: Membership, ageMs: number): Membership {
  return {
    ...view,
    source: 'follower',
    leader: null,
    viewAgeMs: Math.round(ageMs),
    members: view.members.map((member) => {
      const lastAckMs = member.lastAckMs === null ? null : Math.round(member.lastAckMs + ageMs);
      const live = member.live && lastAckMs !== null && lastAckMs <= view.liveWithinMs;
      return { ...member, lastAckMs, live };
    }),
  };
}

function roundedOrNull(ms: number): number | null {
  return Number.isFinite(ms) ? Math.round(ms) : null;
}

/**
 * Voters that leadership can go to: those heard lately, the one with the most log first, without
 * those that are about to leave.
 */
export function successors(
  status: Status,
  heardWithinMs: number,
  leaving: readonly NodeId[] = [],
): readonly NodeId[] {
  return status.peers
    .filter(({ id, learner, lastReplyAgeMs }) => {
      if (id === status.id || learner || leaving.includes(id)) return false;
      return status.configuration.voters.includes(id) && lastReplyAgeMs <= heardWithinMs;
    })
    .sort((one, other) => other.match - one.match || one.id - other.id)
    .map(({ id }) => id);
}
