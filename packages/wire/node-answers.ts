/**
 * What a node says of itself and its cluster: `/health`, `/metrics` and the raft routes. These
 * shapes are filled in by the broker as they are; an unknown figure is null, never 0.
 */

export type NodeRole = 'leader' | 'follower' | 'learner' | 'candidate' | 'stopped';

/** cluster-and-config 6, inspection 8.1. */
export interface HealthAnswer {
  readonly status: 'healthy' | 'settling';
  readonly engine: 'raft';
  readonly version: string;
  readonly raft: RaftHealth;
}

/** The figures that `/health` and `/metrics` share. */
export interface RaftFigures {
  readonly role: NodeRole;
  /** Whether a leader is known. */
  readonly leader: boolean;
  readonly term: number;
  readonly applied: number;
  readonly commit: number;
  /** Milliseconds; 0 on a leader. */
  readonly lag: number;
  readonly storageReady: boolean;
}

export interface RaftHealth extends RaftFigures {
  readonly clusterVersion: number;
  /** The highest data version that this build reads. */
  readonly kinds: number;
  readonly apply?: {
    readonly failure: ApplyFailure | null;
    readonly skipped: readonly number[];
  };
  /** Only on a linked cluster. */
  readonly link?: Readonly<Record<string, unknown>>;
}

export interface ApplyFailure {
  readonly class: 'deterministic' | 'node-local';
  readonly index: number;
  readonly term: number;
  readonly digest: string;
  readonly command: string | null;
  readonly effect: string | null;
  readonly error: string;
}

/** inspection 8.2. */
export interface MetricsAnswer {
  readonly uptime: number;
  readonly requests: { readonly total: number; readonly rate: 0 };
  readonly messages: { readonly total: number; readonly rate: 0 };
  readonly memory: {
    readonly rss: number;
    readonly heapTotal: 0;
    readonly heapUsed: 0;
    readonly external: 0;
    readonly arrayBuffers: 0;
  };
  readonly cpu: { readonly user: 0; readonly system: 0 };
  readonly engine: 'raft';
  readonly raft: RaftFigures;
}

/** cluster-and-config 4: the node block, alike in both raft routes. */
export interface RaftNodeBlock {
  readonly nodeId: number;
  readonly hostname: string | null;
  readonly raftAddr: string | null;
  readonly httpAddr: string | null;
  readonly role: 'voter' | 'learner';
  readonly state: 'leader' | 'follower' | 'candidate' | 'learner' | 'shutdown';
  readonly local: boolean;
  readonly reachable: true;
  readonly leaderId: number | null;
  readonly term: number;
  readonly lastLogIndex: number | null;
  readonly committedIndex: number | null;
  readonly appliedIndex: number | null;
  readonly durableIndex: number | null;
  readonly inflight: number | null;
  readonly proposals: number | null;
  readonly log: { readonly files: number | null; readonly bytes: number | null };
  readonly store: {
    readonly mapBytes: number | null;
    readonly usedBytes: number | null;
    /** A percentage already. */
    readonly mapUsedPct: number | null;
    readonly readersInUse: number | null;
    readonly maxReaders: number | null;
  };
  readonly version: string;
  readonly uptimeSeconds: number;
  readonly error: string | null;
}

/** The leader shows how far the others are; on other nodes null. */
export interface RaftPeerFigures {
  readonly nodeId: number;
  readonly matchIndex: number | null;
  readonly heartbeatAgeMs: number | null;
}

export interface RaftStatusAnswer extends RaftNodeBlock {
  readonly engine: 'raft';
  readonly clusterId: string;
  readonly self: number;
  readonly voters: number;
  readonly singleNode: boolean;
  readonly replication: readonly RaftPeerFigures[] | null;
  /** Frames of other nodes that this one did not take, by reason. */
  readonly refusedFrames: Readonly<Record<string, number>>;
}

/** What the members route adds to each block from the leader's own. */
export interface RaftMemberProgress {
  readonly matchIndex: number | null;
  readonly heartbeatAgeMs: number | null;
  readonly lagEntries: number | null;
}

export interface RaftMemberHost {
  readonly rssBytes: number | null;
  readonly anonBytes: number | null;
  readonly cpuPct: number | null;
  /** Memory limit of the container, or the memory of the machine where no limit is set. */
  readonly memoryLimitBytes?: number | null;
  /** Used part of the volume that holds the data, 0 to 100; null when the machine does not tell. */
  readonly diskUsedPct?: number | null;
}

/** Messages of clients of the node, per second of its last flush bucket. */
export interface RaftMemberRates {
  readonly pushedPerSecond: number;
  readonly deliveredPerSecond: number;
  readonly ackedPerSecond: number;
}

export interface RaftReachableMember extends RaftNodeBlock, RaftMemberProgress {
  readonly host: RaftMemberHost;
  /** A node of an earlier build does not say. */
  readonly rates?: RaftMemberRates;
}

export interface RaftUnreachableMember extends RaftMemberProgress {
  readonly nodeId: number;
  readonly role: 'voter' | 'learner';
  readonly state: 'unreachable';
  readonly local: false;
  readonly reachable: false;
  readonly raftAddr: string | null;
  readonly httpAddr: string | null;
  readonly hostname: null;
  readonly error: string;
}

export interface RaftMembersAnswer {
  readonly engine: 'raft';
  readonly clusterId: string;
  readonly leaderId: number | null;
  readonly term: number;
  readonly self: number;
  readonly voters: number;
  /** Ascending by `nodeId`. */
  readonly members: readonly (RaftReachableMember | RaftUnreachableMember)[];
}

// --- membership (cluster-and-config 5) -----------------------------------------------------------

export interface MembershipMember {
  readonly nodeId: number;
  readonly voter: boolean;
  /** null where the membership does not say. */
  readonly raft: string | null;
  readonly http: string | null;
  /** The rest is known to the leader only: null, and not live, elsewhere. */
  readonly matched: number | null;
  readonly lag: number | null;
  readonly lastAckMs: number | null;
  readonly live: boolean;
}

export interface Membership {
  /** Who answered. */
  readonly nodeId: number;
  /** `follower`: no leader could be asked. */
  readonly source: 'leader' | 'follower';
  /** How old the picture is: since this node last heard from a leader; null: it never did. */
  readonly viewAgeMs: number | null;
  readonly leader: number | null;
  readonly term: number;
  /** Ascending, as all lists of nodes here. */
  readonly voters: readonly number[];
  readonly learners: readonly number[];
  /** The old and the new voters of an unfinished change. */
  readonly joint: readonly (readonly number[])[] | null;
  /** The entry that brought this membership. */
  readonly membershipIndex: number;
  readonly membershipCommitted: boolean;
  readonly changeInFlight: boolean;
  readonly lastLogIndex: number;
  readonly committedIndex: number;
  /** A member that acknowledged within this time is live. */
  readonly liveWithinMs: number;
  /** Entries that a learner may be behind when it is promoted without `force`. */
  readonly promoteMaxLag: number;
  readonly members: readonly MembershipMember[];
}

/** inspection 12. */
export interface RaftLivenessAnswer {
  readonly engine: 'raft';
  readonly nodeId: number;
  readonly leaderId: number | null;
  readonly term: number;
  /** How old the picture of the members is; null: this node never had one. */
  readonly viewAgeMs: number | null;
  /** The leader that gave this picture; null: no leader could be asked. */
  readonly viewLeaderId: number | null;
  readonly members: readonly RaftLivenessMember[];
}

export interface RaftLivenessMember {
  readonly nodeId: number;
  readonly role: 'voter' | 'learner';
  readonly state: RaftNodeBlock['state'] | 'unreachable';
  readonly http: string | null;
  readonly raft: string | null;
  /** Since the leader heard it last; null: never, or not known. */
  readonly lastAckMs: number | null;
  readonly matchIndex: number | null;
  readonly local: boolean;
}

export interface MembershipAnswer {
  readonly engine: 'raft';
  readonly membership: Membership;
}

export interface MembershipChangedAnswer {
  readonly ok: true;
  readonly membership: Membership;
}

export interface LeadershipTransferAnswer {
  readonly ok: true;
  /** The node that was asked for. */
  readonly leader: number;
  readonly term: number;
}

export type MembershipErrorCode =
  | 'bad_request'
  | 'forbidden'
  /** A change is running, or the members are joint, or their entry is not committed. */
  | 'in_flight'
  /** The old or the new voters have no majority that lives. */
  | 'no_quorum'
  | 'last_voter'
  /** Too many entries to go, or not live; or it cannot read what the cluster writes. */
  | 'learner_behind'
  | 'already_voter'
  /** The node is known at, or answers from, another place than the request says. */
  | 'address_mismatch'
  /** Somebody else changed the members while this change was being prepared. */
  | 'membership_changed'
  /** The leader lost its leadership: the change may still complete. */
  | 'leader_changed'
  | 'not_a_learner'
  | 'not_a_member'
  /** Leadership can go to a voter only. */
  | 'not_a_voter'
  | 'leader_unreachable'
  /** Nothing was changed, and the same request may succeed soon. */
  | 'retry'
  | 'timeout';

export interface MembershipErrorAnswer {
  readonly ok: false;
  readonly code: MembershipErrorCode;
  readonly error: string;
}
