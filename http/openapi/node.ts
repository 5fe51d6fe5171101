/**
 * What a node says of itself, and the members of its cluster (inspection 8, cluster-and-config 4).
 */
import type {
  ApplyFailure,
  HealthAnswer,
  LeadershipTransferAnswer,
  Membership,
  MembershipAnswer,
  MembershipChangedAnswer,
  MembershipErrorAnswer,
  MembershipMember,
  MetricsAnswer,
  RaftFigures,
  RaftHealth,
  RaftLivenessAnswer,
  RaftLivenessMember,
  RaftMemberHost,
  RaftMemberRates,
  RaftMembersAnswer,
  RaftNodeBlock,
  RaftPeerFigures,
  RaftReachableMember,
  RaftStatusAnswer,
  RaftUnreachableMember,
} from '@svc/wire';
import { CHANGED_NODES_MAX } from '../limits.js';
import { MEMBERSHIP_BODY_KEYS, TIMEOUT_MS_MAX } from '../membership-body.js';
import { answer, type Operation, type Operations, parameter } from './operation.js';
import {
  anything,
  body,
  constant,
  count,
  describedAs,
  either,
  integer,
  integerBetween,
  list,
  named,
  nothing,
  nullable,
  number,
  object,
  oneOf,
  optional,
  record,
  text,
  truth,
} from './schema.js';

export const RAFT_FIGURES = {
  role: oneOf('leader', 'follower', 'learner', 'candidate', 'stopped'),
  leader: truth,
  term: count,
  applied: count,
  commit: count,
  lag: number,
  storageReady: truth,
};

const raftHealth = object<RaftHealth>({
  ...RAFT_FIGURES,
  clusterVersion: count,
  kinds: count,
  apply: optional(
    object<NonNullable<RaftHealth['apply']>>({
      failure: nullable(
        object<ApplyFailure>({
          class: oneOf('deterministic', 'node-local'),
          index: count,
          term: count,
          digest: text,
          command: nullable(text),
          effect: nullable(text),
          error: text,
        }),
      ),
      skipped: list(count),
    }),
  ),
  link: optional(record(anything)),
});

const healthAnswer = named(
  'Health',
  object<HealthAnswer>({
    status: oneOf('healthy', 'settling'),
    engine: constant('raft'),
    version: text,
    raft: raftHealth,
  }),
);

const health: Operation = {
  tag: 'node',
  summary: 'Whether this node is ready to serve.',
  answers: {
    200: answer('It is.', healthAnswer),
    503: answer('It is not, or not yet.', healthAnswer),
  },
};

const counted = object<MetricsAnswer['requests']>({ total: count, rate: constant(0) });

const metrics: Operation = {
  tag: 'node',
  summary: 'A few figures of this node, as JSON.',
  answers: {
    200: answer(
      'Counted since its start.',
      object<MetricsAnswer>({
        uptime: count,
        requests: counted,
        messages: counted,
        memory: object<MetricsAnswer['memory']>({
          rss: count,
          heapTotal: constant(0),
          heapUsed: constant(0),
          external: constant(0),
          arrayBuffers: constant(0),
        }),
        cpu: object<MetricsAnswer['cpu']>({ user: constant(0), system: constant(0) }),
        engine: constant('raft'),
        raft: object<RaftFigures>(RAFT_FIGURES),
      }),
    ),
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

const NODE_BLOCK = {
  nodeId: integer,
  hostname: nullable(text),
  raftAddr: nullable(text),
  httpAddr: nullable(text),
  role: oneOf('voter', 'learner'),
  state: oneOf('leader', 'follower', 'candidate', 'learner', 'shutdown'),
  local: truth,
  reachable: constant(true),
  leaderId: nullable(integer),
  term: count,
  lastLogIndex: nullable(count),
  committedIndex: nullable(count),
  appliedIndex: nullable(count),
  durableIndex: nullable(count),
  inflight: nullable(count),
  proposals: nullable(count),
  log: object<RaftNodeBlock['log']>({ files: nullable(count), bytes: nullable(count) }),
  store: object<RaftNodeBlock['store']>({
    mapBytes: nullable(count),
    usedBytes: nullable(count),
    mapUsedPct: nullable(number),
    readersInUse: nullable(count),
    maxReaders: nullable(count),
  }),
  version: text,
  uptimeSeconds: count,
  error: nullable(text),
};

const raftStatus: Operation = {
  tag: 'node',
  summary: 'This node as a member of its cluster, as it sees itself.',
  answers: {
    200: answer(
      'The node.',
      object<RaftStatusAnswer>({
        ...NODE_BLOCK,
        engine: constant('raft'),
        clusterId: text,
        self: integer,
        voters: count,
        singleNode: truth,
        replication: nullable(
          list(
            object<RaftPeerFigures>({
              nodeId: integer,
              matchIndex: nullable(count),
              heartbeatAgeMs: nullable(number),
            }),
          ),
        ),
        refusedFrames: record(count),
      }),
    ),
  },
};

const PROGRESS = {
  matchIndex: nullable(count),
  heartbeatAgeMs: nullable(number),
  lagEntries: nullable(count),
};

const raftMembers: Operation = {
  tag: 'node',
  summary: 'Every member of the cluster, each as it answered this node.',
  answers: {
    200: answer(
      'Ascending by `nodeId`.',
      object<RaftMembersAnswer>({
        engine: constant('raft'),
        clusterId: text,
        leaderId: nullable(integer),
        term: count,
        self: integer,
        voters: count,
        members: list(
          either<RaftMembersAnswer['members'][number]>(
            object<RaftReachableMember>({
              ...NODE_BLOCK,
              ...PROGRESS,
              host: object<RaftMemberHost>({
                rssBytes: nullable(count),
                anonBytes: nullable(count),
                cpuPct: nullable(number),
                memoryLimitBytes: optional(nullable(count)),
                diskUsedPct: optional(nullable(number)),
              }),
              rates: optional(
                describedAs(
                  'Messages of clients of the node, per second of its last flush bucket.',
                  object<RaftMemberRates>({
                    pushedPerSecond: number,
                    deliveredPerSecond: number,
                    ackedPerSecond: number,
                  }),
                ),
              ),
            }),
            object<RaftUnreachableMember>({
              ...PROGRESS,
              nodeId: integer,
              role: oneOf('voter', 'learner'),
              state: constant('unreachable'),
              local: constant(false),
              reachable: constant(false),
              raftAddr: nullable(text),
              httpAddr: nullable(text),
              hostname: nothing,
              error: text,
            }),
          ),
        ),
      }),
    ),
  },
};

const raftLiveness: Operation = {
  tag: 'node',
  summary: 'Whom the leader hears, as far as this node knows it.',
  answers: {
    200: answer(
      'Ascending by `nodeId`. `viewAgeMs` and `viewLeaderId` say whose picture it is, and how old.',
      object<RaftLivenessAnswer>({
        engine: constant('raft'),
        nodeId: integer,
        leaderId: nullable(integer),
        term: count,
        viewAgeMs: nullable(number),
        viewLeaderId: nullable(integer),
        members: list(
          object<RaftLivenessMember>({
            nodeId: integer,
            role: oneOf('voter', 'learner'),
            state: oneOf('leader', 'follower', 'candidate', 'learner', 'shutdown', 'unreachable'),
            http: nullable(text),
            raft: nullable(text),
            lastAckMs: nullable(number),
            matchIndex: nullable(count),
            local: truth,
          }),
        ),
      }),
    ),
  },
};

const membership = named(
  'Membership',
  object<Membership>({
    nodeId: integer,
    source: oneOf('leader', 'follower'),
    viewAgeMs: nullable(number),
    leader: nullable(integer),
    term: count,
    voters: list(integer),
    learners: list(integer),
    joint: nullable(list(list(integer))),
    membershipIndex: count,
    membershipCommitted: truth,
    changeInFlight: truth,
    lastLogIndex: count,
    committedIndex: count,
    liveWithinMs: count,
    promoteMaxLag: count,
    members: list(
      object<MembershipMember>({
        nodeId: integer,
        voter: truth,
        raft: nullable(text),
        http: nullable(text),
        matched: nullable(count),
        lag: nullable(count),
        lastAckMs: nullable(number),
        live: truth,
      }),
    ),
  }),
);

const membershipError = named(
  'MembershipError',
  object<MembershipErrorAnswer>({
    ok: constant(false),
    code: oneOf(
      'bad_request',
      'forbidden',
      'in_flight',
      'no_quorum',
      'last_voter',
      'learner_behind',
      'already_voter',
      'address_mismatch',
      'membership_changed',
      'leader_changed',
      'not_a_learner',
      'not_a_member',
      'not_a_voter',
      'leader_unreachable',
      'retry',
      'timeout',
    ),
    error: text,
  }),
);

const MEMBERSHIP_ERRORS = {
  400: answer('The request is malformed.', membershipError),
  403: answer('No tenant but the default one acts on the members.', membershipError),
  409: answer('The change cannot be made; `code` says why.', membershipError),
  503: answer('Nothing was changed; the same request may succeed soon.', membershipError),
  504: answer('Not in time; the change may still complete.', membershipError),
};

const members: Operation = {
  tag: 'membership',
  summary: 'The members as the leader sees them.',
  answers: {
    ...MEMBERSHIP_ERRORS,
    200: answer(
      'The membership.',
      object<MembershipAnswer>({ engine: constant('raft'), membership }),
    ),
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
      200: answer(
        'The membership after it.',
        object<MembershipChangedAnswer>({ ok: constant(true), membership }),
      ),
    },
  };
}

const transfer: Operation = {
  ...change('Hand leadership to the voter `to`.'),
  answers: {
    ...MEMBERSHIP_ERRORS,
    200: answer(
      'It leads, from this term on or already.',
      object<LeadershipTransferAnswer>({ ok: constant(true), leader: integer, term: count }),
    ),
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
