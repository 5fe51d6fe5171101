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
}

export interface RaftReachableMember extends RaftNodeBlock, RaftMemberProgress {
  readonly host: RaftMemberHost;
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
