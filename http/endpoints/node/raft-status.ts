/** GET /api/v1/raft/status (cluster-and-config 4): this node as it sees itself. */

import { raftStatusAnswer } from '@svc/wire';
import { answer, endpoint } from '../../routing/endpoint.js';
import { sendAnswer } from '../../routing/reply.js';

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
