/**
 * The cluster as a node sees it: itself, every member as it answered, and whom the leader hears.
 * `viewAgeMs` and `viewLeaderId` say whose picture the members are, and how old it is.
 */

import {
  constant,
  count,
  describedAs,
  integer,
  nullable,
  number,
  oneOf,
  text,
  truth,
} from '@svc/schema';
import {
  type Membership,
  type MembershipMember,
  type RaftStatusAnswer,
  raftMembersAnswer,
  raftStatusAnswer,
} from '@svc/wire';
import { STATUS_OF_MEMBERSHIP_ERROR } from '../../exchange/errors.js';
import type { Exchange } from '../../exchange/exchange.js';
import { rowsOf, shown } from '../../json/shown.js';
import type { MembershipRefused, MembershipView, RaftMembersView } from '../../ports/service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { replyBy, sendAnswer, sendShown, viewReply } from '../../routing/reply.js';
import type { Front } from '../../routing/route.js';

export const raftStatusEndpoint = endpoint({
  at: 'GET /api/v1/raft/status',
  level: 'read-write',
  gateway: 'operator',
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
  gateway: 'operator',
  tag: 'node',
  summary: 'Every member of the cluster, each as it answered this node.',
  answers: {
    200: answer('Ascending by `nodeId`.', raftMembersAnswer),
  },
  scoped: false,
  handle: (front, { exchange }) =>
    front.service.raftMembers(
      viewReply(exchange, null, (to: Exchange, _: null, { answer }: RaftMembersView) =>
        sendAnswer(to, '200 OK', raftMembersAnswer, answer),
      ),
    ),
});

interface Liveness {
  readonly own: RaftStatusAnswer;
  readonly membership: Membership;
}

const livenessMember = shown<MembershipMember, Liveness>()({
  nodeId: integer,
  role: [oneOf('voter', 'learner'), ({ voter }) => (voter ? 'voter' : 'learner')],
  state: [
    oneOf('leader', 'follower', 'candidate', 'learner', 'shutdown', 'unreachable'),
    (member, { own, membership }) =>
      member.nodeId === own.nodeId ? own.state : stateOf(member, membership.leader),
  ],
  http: nullable(text),
  raft: nullable(text),
  lastAckMs: describedAs(
    'Milliseconds since the leader last heard the member; `null`: it never did, or this is not ' +
      'known.',
    nullable(number),
  ),
  matchIndex: [nullable(count), ({ matched }) => matched],
  local: [truth, ({ nodeId }, { own }) => nodeId === own.nodeId],
});

function stateOf({ nodeId, live, voter }: MembershipMember, leader: number | null) {
  if (nodeId === leader) return 'leader';
  if (!live) return 'unreachable';
  return voter ? 'follower' : 'learner';
}

/** inspection 12. */
const livenessAnswer = shown<Liveness, Liveness>()({
  engine: constant('raft'),
  nodeId: [integer, ({ own }) => own.nodeId],
  leaderId: [nullable(integer), ({ own }) => own.leaderId],
  term: [count, ({ own }) => own.term],
  viewAgeMs: [
    describedAs(
      'How old the picture of the members is; `null`: this node never had one.',
      nullable(number),
    ),
    ({ membership }) => membership.viewAgeMs,
  ],
  viewLeaderId: [
    describedAs(
      'The leader that gave this picture; `null`: no leader could be asked.',
      nullable(integer),
    ),
    ({ membership }) => membership.leader,
  ],
  members: rowsOf(livenessMember, ({ membership }) => membership.members),
});

export const raftLivenessEndpoint = endpoint({
  at: 'GET /api/v1/raft/liveness',
  level: 'read-write',
  gateway: 'operator',
  tag: 'node',
  summary: 'Whom the leader hears, as far as this node knows it.',
  answers: {
    200: answer(
      'Ascending by `nodeId`. `viewAgeMs` and `viewLeaderId` say whose picture it is, and how old.',
      livenessAnswer,
    ),
  },
  scoped: false,
  handle: (front, { exchange }) => front.service.membership(replyBy(exchange, front, render)),
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
  const view = { own: front.service.raftStatus(), membership: outcome.membership };
  sendShown(exchange, '200 OK', livenessAnswer, view, view);
}
