/** The members as an operator sees them (cluster-and-config 5): who, where, and how far behind. */
import {
  type ConfigurationChange,
  isVoter,
  members,
  type NodeChange,
  type NodeId,
  type Status,
} from '@svc/raft';
import type { Peer } from './config-peers.js';
import { nodeNumber } from './member-id.js';

export interface MemberChange {
  /** Empty: leave a joint configuration. */
  readonly changes: readonly NodeChange[];
  readonly transition: ConfigurationChange['transition'];
  /** Where nodes that are new are to be reached. */
  readonly added: readonly Peer[];
}

export interface MemberView {
  readonly nodeId: number;
  readonly member: NodeId;
  readonly voter: boolean;
  /** null where the membership does not say. */
  readonly raft: string | null;
  readonly http: string | null;
  /** The rest is known to the leader only: null elsewhere. */
  readonly matched: number | null;
  readonly lag: number | null;
  readonly lastAckMs: number | null;
  readonly live: boolean;
}

export interface MembershipView {
  readonly nodeId: number;
  readonly source: 'leader' | 'follower';
  readonly leader: number | null;
  readonly term: number;
  readonly voters: readonly number[];
  readonly learners: readonly number[];
  /** Both voter sets of an unfinished change. */
  readonly joint: readonly (readonly number[])[] | null;
  /** What a change has to name. */
  readonly membershipIndex: number;
  readonly lastLogIndex: number;
  readonly committedIndex: number;
  readonly promoteMaxLag: number;
  /** Ascending. */
  readonly members: readonly MemberView[];
}

export function membershipView(
  status: Status,
  addresses: readonly Peer[],
  promoteMaxLag: number,
): MembershipView {
  const { configuration, id } = status;
  const { voters, learners, outgoing } = configuration;
  const leads = status.role === 'leader';
  const leader = nodeNumber(status.leader);
  return {
    nodeId: nodeNumber(id),
    source: leads ? 'leader' : 'follower',
    leader: leader === 0 ? null : leader,
    term: status.term,
    voters: voters.map(nodeNumber),
    learners: learners.map(nodeNumber),
    joint: outgoing.length === 0 ? null : [outgoing.map(nodeNumber), voters.map(nodeNumber)],
    membershipIndex: status.configurationIndex,
    lastLogIndex: status.lastIndex,
    committedIndex: status.commit,
    promoteMaxLag,
    members: members(configuration).map((member) => viewOf(member, status, addresses)),
  };
}

function viewOf(member: NodeId, status: Status, addresses: readonly Peer[]): MemberView {
  const nodeId = nodeNumber(member);
  const address = addresses.find((peer) => peer.id === nodeId);
  const voter = isVoter(status.configuration, member);
  const raft = address?.raftAddress ?? null;
  const http = address?.httpAddress ?? null;
  const known = { nodeId, member, voter, raft, http };
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
    lastAckMs: Number.isFinite(lastReplyAgeMs) ? Math.round(lastReplyAgeMs) : null,
    live,
  };
}

/** Whom to hand leadership to: the voter with the most log among those heard lately. */
export function bestSuccessor(status: Status, heardWithinMs: number): NodeId | null {
  let best: { readonly id: NodeId; readonly match: number } | null = null;
  for (const { id, learner, match, lastReplyAgeMs } of status.peers) {
    if (id === status.id || learner || lastReplyAgeMs > heardWithinMs) continue;
    if (best === null || match > best.match) best = { id, match };
  }
  return best?.id ?? null;
}
