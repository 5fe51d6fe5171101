/**
 * What a node says of itself, and the members of its cluster (inspection 8, cluster-and-config 4).
 */
import {
  describedAs,
  integer,
  integerBetween,
  list,
  nullable,
  optional,
  text,
  truth,
} from '@svc/schema';
import {
  healthAnswer,
  leadershipTransferAnswer,
  membershipAnswer,
  membershipChangedAnswer,
  membershipErrorAnswer,
  metricsAnswer,
  raftLivenessAnswer,
  raftMembersAnswer,
  raftStatusAnswer,
} from '@svc/wire';
import { CHANGED_NODES_MAX } from '../base/limits.js';
import { MEMBERSHIP_BODY_KEYS, TIMEOUT_MS_MAX } from '../endpoints/node/membership-body.js';
import { answer, type Operation, type Operations, parameter } from './operation.js';
import { body } from './schema.js';

const health: Operation = {
  tag: 'node',
  summary: 'Whether this node is ready to serve.',
  answers: {
    200: answer('It is.', healthAnswer),
    503: answer('It is not, or not yet.', healthAnswer),
  },
};

const metrics: Operation = {
  tag: 'node',
  summary: 'A few figures of this node, as JSON.',
  answers: {
    200: answer('Counted since its start.', metricsAnswer),
  },
};

const prometheus: Operation = {
  tag: 'node',
  summary: 'What this node counts, as exposition text.',
  answers: {
    200: {
      description: 'Every family with its help and type.',
      schema: text,
      contentType: 'text/plain; version=0.0.4; charset=utf-8',
    },
  },
};

const raftStatus: Operation = {
  tag: 'node',
  summary: 'This node as a member of its cluster, as it sees itself.',
  answers: {
    200: answer('The node.', raftStatusAnswer),
  },
};

const raftMembers: Operation = {
  tag: 'node',
  summary: 'Every member of the cluster, each as it answered this node.',
  answers: {
    200: answer('Ascending by `nodeId`.', raftMembersAnswer),
  },
};

const raftLiveness: Operation = {
  tag: 'node',
  summary: 'Whom the leader hears, as far as this node knows it.',
  answers: {
    200: answer(
      'Ascending by `nodeId`. `viewAgeMs` and `viewLeaderId` say whose picture it is, and how old.',
      raftLivenessAnswer,
    ),
  },
};

const MEMBERSHIP_ERRORS = {
  400: answer('The request is malformed.', membershipErrorAnswer),
  403: answer('No tenant but the default one acts on the members.', membershipErrorAnswer),
  409: answer('The change cannot be made; `code` says why.', membershipErrorAnswer),
  503: answer('Nothing was changed; the same request may succeed soon.', membershipErrorAnswer),
  504: answer('Not in time; the change may still complete.', membershipErrorAnswer),
};

const members: Operation = {
  tag: 'membership',
  summary: 'The members as the leader sees them.',
  answers: {
    ...MEMBERSHIP_ERRORS,
    200: answer('The membership.', membershipAnswer),
  },
};

const nodes = nullable(list(integer, CHANGED_NODES_MAX));

const changeBody = body(MEMBERSHIP_BODY_KEYS, {
  id: optional(nullable(integer)),
  nodeId: optional(describedAs('Another name of `id`.', nullable(integer))),
  raft: optional(describedAs('`host:port` for other nodes.', nullable(text))),
  http: optional(describedAs('`host:port` for clients.', nullable(text))),
  ids: optional(nodes),
  voters: optional(nodes),
  to: optional(nullable(integer)),
  force: optional(nullable(truth)),
});

function change(summary: string): Operation {
  return {
    tag: 'membership',
    summary,
    query: [
      parameter('timeoutMs', 'How long to wait.', integerBetween(1, TIMEOUT_MS_MAX)),
      parameter('force', '`true`, `1` or `yes`.', text),
    ],
    body: { schema: changeBody, optional: true },
    answers: {
      ...MEMBERSHIP_ERRORS,
      200: answer('The membership after it.', membershipChangedAnswer),
    },
  };
}

const transfer: Operation = {
  ...change('Hand leadership to the voter `to`.'),
  answers: {
    ...MEMBERSHIP_ERRORS,
    200: answer('It leads, from this term on or already.', leadershipTransferAnswer),
  },
};

const PATH = '/api/v1/system/raft/membership';

export const NODE_OPERATIONS: Operations = {
  'GET /health': health,
  'GET /metrics': metrics,
  'GET /metrics/prometheus': prometheus,
  'GET /api/v1/raft/status': raftStatus,
  'GET /api/v1/raft/members': raftMembers,
  'GET /api/v1/raft/liveness': raftLiveness,
  [`GET ${PATH}`]: members,
  [`POST ${PATH}/learners`]: change('Add a node that does not vote: `id`, `raft`, `http`.'),
  [`POST ${PATH}/promote`]: change('Let learners vote: `ids`, or one `id`.'),
  [`PUT ${PATH}/voters`]: change('Replace the set of voters: `voters`.'),
  [`DELETE ${PATH}/members/{id}`]: change('Remove a node.'),
  'POST /api/v1/system/raft/transfer': transfer,
};
