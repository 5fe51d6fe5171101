/**
 * The cluster as a node sees it: itself, every member as it answered, and whom the leader hears.
 * `viewAgeMs` and `viewLeaderId` say whose picture the members are, and how old it is.
 */
import {
  type MembershipMember,
  type RaftLivenessMember,
  raftLivenessAnswer,
  raftMembersAnswer,
  raftStatusAnswer,
} from '@svc/wire';
import { STATUS_OF_MEMBERSHIP_ERROR } from '../../exchange/errors.js';
import type { Exchange } from '../../exchange/exchange.js';
import type { MembershipRefused, MembershipView, RaftMembersView } from '../../ports/service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { PendingReply, sendAnswer, viewReply } from '../../routing/reply.js';
import type { Front } from '../../routing/route.js';

export const raftStatusEndpoint = endpoint({
  at: 'GET /api/v1/raft/status',
  level: 'read-write',
  tag: 'node',
  summary: 'This node as a member of its cluster, as it sees itself.',
  answers: {
    200: answer('The node.', raftStatusAnswer),
  },
  scoped: false,
  handle: (front, { exchange }) =>
    sendAnswer(exchange, '200 OK', raftStatusAnswer, front.service.raftStatus()),
});

export const raftMembersEndpoint = endpoint({
  at: 'GET /api/v1/raft/members',
  level: 'read-write',
  tag: 'node',
  summary: 'Every member of the cluster, each as it answered this node.',
  answers: {
    200: answer('Ascending by `nodeId`.', raftMembersAnswer),
  },
  scoped: false,
  handle: (front, { exchange }) =>
    front.service.raftMembers(
      viewReply(front, exchange, null, (to: Exchange, _: null, { answer }: RaftMembersView) =>
        sendAnswer(to, '200 OK', raftMembersAnswer, answer),
      ),
    ),
});

export const raftLivenessEndpoint = endpoint({
  at: 'GET /api/v1/raft/liveness',
  level: 'read-write',
  tag: 'node',
  summary: 'Whom the leader hears, as far as this node knows it.',
  answers: {
    200: answer(
      'Ascending by `nodeId`. `viewAgeMs` and `viewLeaderId` say whose picture it is, and how old.',
      raftLivenessAnswer,
    ),
  },
  scoped: false,
  handle: (front, { exchange }) =>
    front.service.membership(new PendingReply(exchange, front.logger, front, render)),
});

function render(
  exchange: Exchange,
  front: Front,
  outcome: MembershipView | MembershipRefused,
): void {
  if (outcome.kind === 'membership-refused') {
    const { code, error } = outcome;
    const { status, retryAfter } = STATUS_OF_MEMBERSHIP_ERROR[code];
    exchange.json(status, JSON.stringify({ error, code }), retryAfter);
    return;
  }
  const { membership } = outcome;
  const own = front.service.raftStatus();
  sendAnswer(exchange, '200 OK', raftLivenessAnswer, {
    engine: 'raft',
    nodeId: own.nodeId,
    leaderId: own.leaderId,
    term: own.term,
    viewAgeMs: membership.viewAgeMs,
    viewLeaderId: membership.leader,
    members: membership.members.map((member): RaftLivenessMember => {
      const local = member.nodeId === own.nodeId;
      return {
        nodeId: member.nodeId,
        role: member.voter ? 'voter' : 'learner',
        state: local ? own.state : stateOf(member, membership.leader),
        http: member.http,
        raft: member.raft,
        lastAckMs: member.lastAckMs,
        matchIndex: member.matched,
        local,
      };
    }),
  });
}

function stateOf(member: MembershipMember, leader: number | null): RaftLivenessMember['state'] {
  if (member.nodeId === leader) return 'leader';
  if (!member.live) return 'unreachable';
  return member.voter ? 'follower' : 'learner';
}
