/**
 * What a node says of itself and its cluster: `/health`, `/metrics` and the raft routes. The broker
 * fills in these shapes as they are; an unknown figure is null, never 0.
 */
import {
  constant,
  count,
  describedAs,
  either,
  type Infer,
  integer,
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
} from '@svc/schema';
import { linkView } from './standby-answers.js';

export const nodeRole = oneOf('leader', 'follower', 'learner', 'candidate', 'stopped');
export type NodeRole = Infer<typeof nodeRole>;

export const healthStatus = oneOf('healthy', 'settling');

const RAFT_FIGURES = {
  role: nodeRole,
  leader: describedAs('Whether a leader is known.', truth),
  term: count,
  applied: count,
  commit: count,
  lag: describedAs('Milliseconds; 0 on a leader.', number),
  storageReady: truth,
};

/** The figures that `/health` and `/metrics` share. */
export const raftFigures = object(RAFT_FIGURES);
export type RaftFigures = Infer<typeof raftFigures>;

export const applyFailure = object({
  class: oneOf('deterministic', 'node-local'),
  index: count,
  term: count,
  digest: text,
  command: nullable(text),
  effect: nullable(text),
  error: text,
});

export const raftHealth = object({
  ...RAFT_FIGURES,
  clusterVersion: count,
  kinds: describedAs('The highest data version that this build reads.', count),
  apply: optional(object({ failure: nullable(applyFailure), skipped: list(count) })),
  link: optional(describedAs('Only a node with a part in a link has this member.', linkView)),
});

/** cluster-and-config 6, inspection 8.1. */
export const healthAnswer = named(
  'Health',
  object({ status: healthStatus, engine: constant('raft'), version: text, raft: raftHealth }),
);
export type HealthAnswer = Infer<typeof healthAnswer>;

const votes = oneOf('voter', 'learner');

const NODE_BLOCK = {
  nodeId: integer,
  hostname: nullable(text),
  raftAddr: nullable(text),
  httpAddr: nullable(text),
  role: votes,
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
  log: object({ files: nullable(count), bytes: nullable(count) }),
  store: object({
    mapBytes: nullable(count),
    usedBytes: nullable(count),
    mapUsedPct: describedAs('A percentage, not a fraction.', nullable(number)),
    readersInUse: nullable(count),
    maxReaders: nullable(count),
  }),
  version: text,
  uptimeSeconds: count,
  error: nullable(text),
};

/** cluster-and-config 4: the node block, alike in both raft routes. */
export const raftNodeBlock = object(NODE_BLOCK);
export type RaftNodeBlock = Infer<typeof raftNodeBlock>;

/** The leader shows how far the others are; on other nodes null. */
export const raftPeerFigures = object({
  nodeId: integer,
  matchIndex: nullable(count),
  heartbeatAgeMs: nullable(number),
});
export type RaftPeerFigures = Infer<typeof raftPeerFigures>;

export const raftStatusAnswer = object({
  ...NODE_BLOCK,
  engine: constant('raft'),
  clusterId: text,
  self: integer,
  voters: count,
  singleNode: truth,
  replication: describedAs(
    'How far the other nodes are, as the leader shows it; `null` on every other node.',
    nullable(list(raftPeerFigures)),
  ),
  refusedFrames: describedAs(
    'Frames of other nodes that this node did not take, by reason.',
    record(count),
  ),
});
export type RaftStatusAnswer = Infer<typeof raftStatusAnswer>;

const PROGRESS = {
  matchIndex: nullable(count),
  heartbeatAgeMs: nullable(number),
  lagEntries: nullable(count),
};

/** What the members route adds to each block from the leader's own. */
const raftMemberProgress = object(PROGRESS);
export type RaftMemberProgress = Infer<typeof raftMemberProgress>;

export const raftMemberHost = object({
  rssBytes: nullable(count),
  anonBytes: nullable(count),
  cpuPct: describedAs(
    'Processor time in percent of one core, since it was told before.',
    nullable(number),
  ),
  memoryLimitBytes: optional(
    describedAs(
      'The memory limit of the container, or the memory of the machine where no limit is set.',
      nullable(count),
    ),
  ),
  diskUsedPct: optional(
    describedAs(
      'The used part of the volume that holds the data, 0 to 100; `null` when the machine does ' +
        'not tell.',
      nullable(number),
    ),
  ),
  diskGatePct: optional(
    describedAs('The fullness of that volume at which writes that grow are refused.', number),
  ),
});
export type RaftMemberHost = Infer<typeof raftMemberHost>;

export const raftMemberRates = object({
  pushedPerSecond: number,
  deliveredPerSecond: number,
  ackedPerSecond: number,
});
export type RaftMemberRates = Infer<typeof raftMemberRates>;

export const raftReachableMember = object({
  ...NODE_BLOCK,
  ...PROGRESS,
  host: raftMemberHost,
  rates: optional(
    describedAs(
      'Messages of clients of the node, per second of its last flush bucket. A node of an ' +
        'earlier build does not have this member.',
      raftMemberRates,
    ),
  ),
});
export type RaftReachableMember = Infer<typeof raftReachableMember>;

export const raftUnreachableMember = object({
  ...PROGRESS,
  nodeId: integer,
  role: votes,
  state: constant('unreachable'),
  local: constant(false),
  reachable: constant(false),
  raftAddr: nullable(text),
  httpAddr: nullable(text),
  hostname: nothing,
  error: text,
});
export type RaftUnreachableMember = Infer<typeof raftUnreachableMember>;

export const raftMembersAnswer = object({
  engine: constant('raft'),
  clusterId: text,
  leaderId: nullable(integer),
  term: count,
  self: integer,
  voters: count,
  members: describedAs(
    'The members ascend by `nodeId`.',
    list(either(raftReachableMember, raftUnreachableMember)),
  ),
});
export type RaftMembersAnswer = Infer<typeof raftMembersAnswer>;

// --- membership (cluster-and-config 5) -----------------------------------------------------------

const ofLeader = (description: string) =>
  `${description} Only the leader knows; \`null\` elsewhere.`;

export const membershipMember = object({
  nodeId: integer,
  voter: truth,
  raft: describedAs('`null` where the membership does not say.', nullable(text)),
  http: describedAs('`null` where the membership does not say.', nullable(text)),
  matched: describedAs(ofLeader('The last index that the member has.'), nullable(count)),
  lag: describedAs(ofLeader('The entries that the member is behind.'), nullable(count)),
  lastAckMs: describedAs(
    ofLeader('Milliseconds since the member last acknowledged.'),
    nullable(number),
  ),
  live: describedAs('Only the leader knows; `false` elsewhere.', truth),
});
export type MembershipMember = Infer<typeof membershipMember>;

export const membership = named(
  'Membership',
  object({
    nodeId: describedAs('The node that answered.', integer),
    source: describedAs('`follower`: no leader could be asked.', oneOf('leader', 'follower')),
    viewAgeMs: describedAs(
      'How old the picture is: the time since this node last heard from a leader; `null`: it ' +
        'never did.',
      nullable(number),
    ),
    leader: nullable(integer),
    term: count,
    voters: describedAs('This list ascends, as do all lists of nodes here.', list(integer)),
    learners: list(integer),
    joint: describedAs(
      'The old and the new voters of an unfinished change.',
      nullable(list(list(integer))),
    ),
    membershipIndex: describedAs('The index of the entry that brought this membership.', count),
    membershipCommitted: truth,
    changeInFlight: truth,
    lastLogIndex: count,
    committedIndex: count,
    liveWithinMs: describedAs('A member that acknowledged within this time is live.', count),
    promoteMaxLag: describedAs(
      'The entries that a learner may be behind when it is promoted without `force`.',
      count,
    ),
    members: list(membershipMember),
  }),
);
export type Membership = Infer<typeof membership>;

export const membershipAnswer = object({ engine: constant('raft'), membership });

export const membershipChangedAnswer = object({ ok: constant(true), membership });

export const leadershipTransferAnswer = object({
  ok: constant(true),
  leader: describedAs('The node that was asked for.', integer),
  term: count,
});

const membershipErrorCode = oneOf(
  'bad_request',
  'forbidden',
  /** A change is running, or the members are joint, or their entry is not committed. */
  'in_flight',
  /** The old or the new voters have no majority that lives. */
  'no_quorum',
  'last_voter',
  /** Too many entries to go, or not live; or it cannot read what the cluster writes. */
  'learner_behind',
  'already_voter',
  /** The node is known at, or answers from, another place than the request says. */
  'address_mismatch',
  /** Somebody else changed the members while this change was being prepared. */
  'membership_changed',
  /** The leader lost its leadership: the change may still complete. */
  'leader_changed',
  'not_a_learner',
  'not_a_member',
  /** Leadership can go to a voter only. */
  'not_a_voter',
  'leader_unreachable',
  /** Nothing was changed, and the same request may succeed soon. */
  'retry',
  'timeout',
);
export type MembershipErrorCode = Infer<typeof membershipErrorCode>;

export const membershipErrorAnswer = named(
  'MembershipError',
  object({ ok: constant(false), code: membershipErrorCode, error: text }),
);
