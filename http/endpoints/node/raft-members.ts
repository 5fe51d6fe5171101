/** GET /api/v1/raft/members (cluster-and-config 4): every member, as far as it can be reached. */

import { raftMembersAnswer } from '@svc/wire';
import type { RaftMembersView } from '../../ports/service.js';
import { answer, endpoint } from '../../routing/endpoint.js';
import { shownReply } from '../../routing/reply.js';

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
      shownReply(front, exchange, raftMembersAnswer, ({ answer }: RaftMembersView) => answer),
    ),
});
