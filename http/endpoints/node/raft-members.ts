/** GET /api/v1/raft/members (cluster-and-config 4): every member, as far as it can be reached. */
import { raftMembersAnswer } from '@svc/wire';
import type { Exchange } from '../../exchange/exchange.js';
import type { RaftMembersView } from '../../ports/service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { viewReply } from '../../routing/reply.js';
import type { Front, RouteRequest } from '../../routing/route.js';
import { sendAnswer } from '../../routing/send-answer.js';

export const raftMembersEndpoint = endpoint({
  at: 'GET /api/v1/raft/members',
  level: 'read-write',
  tag: 'node',
  summary: 'Every member of the cluster, each as it answered this node.',
  answers: {
    200: answer('Ascending by `nodeId`.', raftMembersAnswer),
  },
  scoped: false,
  handle,
});

function handle(front: Front, request: RouteRequest): void {
  const reply = viewReply(front, request.exchange, null, render);
  front.service.raftMembers(reply);
}

function render(exchange: Exchange, _: null, outcome: RaftMembersView): void {
  sendAnswer(exchange, '200 OK', raftMembersAnswer, outcome.answer);
}
