/** Nodes, members, the link, switches and grants: what their routes take and answer. */

/** At least one of them. */
export type SwitchesTo =
  | { readonly kv: boolean; readonly timersSchedule?: boolean; readonly timersFire?: boolean }
  | { readonly kv?: boolean; readonly timersSchedule: boolean; readonly timersFire?: boolean }
  | { readonly kv?: boolean; readonly timersSchedule?: boolean; readonly timersFire: boolean };

/** A limit that is absent is none. */
export interface Grant {
  readonly tenant?: string;
  readonly kind: 'kv' | 'ephemeral' | 'streams';
  readonly enabled?: boolean;
  readonly maxRows?: number;
  readonly maxBytes?: number;
  readonly maxTimers?: number;
  readonly maxTimerHorizonSeconds?: number;
  readonly maxReadsPerSecond?: number;
  readonly maxWritesPerSecond?: number;
  readonly maxQueues?: number;
  readonly maxMessagesPerSecond?: number;
  readonly maxQueries?: number;
}
export interface MembershipQuery {
  readonly timeoutMs?: number;
  readonly force?: boolean;
}

export interface Health {
  readonly status: 'healthy' | 'settling';
  readonly engine: 'raft';
  readonly version: string;
  readonly raft: {
    readonly role: 'leader' | 'follower' | 'learner' | 'candidate' | 'stopped';
    readonly leader: boolean;
    readonly term: number;
    readonly applied: number;
    readonly commit: number;
    readonly lag: number;
    readonly storageReady: boolean;
    readonly clusterVersion: number;
    readonly kinds: number;
    readonly apply?: {
      readonly failure: {
        readonly class: 'deterministic' | 'node-local';
        readonly index: number;
        readonly term: number;
        readonly digest: string;
        readonly command: string | null;
        readonly effect: string | null;
        readonly error: string;
      } | null;
      readonly skipped: readonly number[];
    };
    readonly link?: {
      readonly role: 'primary' | 'standby' | 'promoted';
      readonly id?: string;
      readonly name?: string;
      readonly source?: string;
      readonly sinceUs?: number;
      readonly promotedAtUs?: number;
      readonly position?: { readonly index: number; readonly term: number; readonly nowUs: number };
      readonly configuredSource?: readonly string[];
      readonly follower?: {
        readonly state: 'idle' | 'following' | 'waiting' | 'halted';
        readonly source: string | null;
        readonly scanned: number;
        readonly sourceApplied: number;
        readonly lagEntries: number;
        readonly lagMs: number;
        readonly lastAnswerMs: number | null;
        readonly entries: number;
        readonly error: string | null;
      };
      readonly readers?: readonly {
        readonly name: string;
        readonly after: number;
        readonly idleMs: number;
        readonly heldBytes: number;
      }[];
      readonly holding?: boolean;
      readonly limits?: {
        readonly idleMs: number;
        readonly diskPct: number;
        readonly usedPct: number;
      };
    };
  };
}

export interface RaftFigures {
  readonly role: 'leader' | 'follower' | 'learner' | 'candidate' | 'stopped';
  readonly leader: boolean;
  readonly term: number;
  readonly applied: number;
  readonly commit: number;
  readonly lag: number;
  readonly storageReady: boolean;
}

export interface StoreFigures {
  readonly mapBytes: number | null;
  readonly usedBytes: number | null;
  readonly mapUsedPct: number | null;
  readonly readersInUse: number | null;
  readonly maxReaders: number | null;
}

export interface Membership {
  readonly nodeId: number;
  readonly source: 'leader' | 'follower';
  readonly viewAgeMs: number | null;
  readonly leader: number | null;
  readonly term: number;
  readonly voters: readonly number[];
  readonly learners: readonly number[];
  readonly joint: readonly (readonly number[])[] | null;
  readonly membershipIndex: number;
  readonly membershipCommitted: boolean;
  readonly changeInFlight: boolean;
  readonly lastLogIndex: number;
  readonly committedIndex: number;
  readonly liveWithinMs: number;
  readonly promoteMaxLag: number;
  readonly members: readonly {
    readonly nodeId: number;
    readonly voter: boolean;
    readonly raft: string | null;
    readonly http: string | null;
    readonly matched: number | null;
    readonly lag: number | null;
    readonly lastAckMs: number | null;
    readonly live: boolean;
  }[];
}

export interface Link {
  readonly role: 'primary' | 'standby' | 'promoted';
  readonly leader: boolean;
  readonly id?: string;
  readonly name?: string;
  readonly source?: string;
  readonly sinceUs?: number;
  readonly promotedAtUs?: number;
  readonly position?: LinkPosition;
  readonly configuredSource?: readonly string[];
  readonly follower?: LinkFollower;
  readonly readers?: readonly LinkReader[];
  readonly holding?: boolean;
  readonly limits?: LinkLimits;
}

export interface LinkPosition {
  readonly index: number;
  readonly term: number;
  readonly nowUs: number;
}

export interface LinkFollower {
  readonly state: 'idle' | 'following' | 'waiting' | 'halted';
  readonly source: string | null;
  readonly scanned: number;
  readonly sourceApplied: number;
  readonly lagEntries: number;
  readonly lagMs: number;
  readonly lastAnswerMs: number | null;
  readonly entries: number;
  readonly error: string | null;
}

export interface LinkReader {
  readonly name: string;
  readonly after: number;
  readonly idleMs: number;
  readonly heldBytes: number;
}

export interface LinkLimits {
  readonly idleMs: number;
  readonly diskPct: number;
  readonly usedPct: number;
}

export interface Switches {
  readonly kvEnabled: boolean;
  readonly timersScheduleEnabled: boolean;
  readonly timersFireEnabled: boolean;
  readonly quotaTenants: number;
  readonly quotaAgeMs: number | null;
  readonly quotaHot: number;
}

export interface Quota {
  readonly success: true;
  readonly tenant: string;
  readonly kind: 'kv' | 'ephemeral' | 'streams';
  readonly enabled: boolean;
  readonly maxRows: number | null;
  readonly maxBytes: number | null;
  readonly maxTimers: number | null;
  readonly maxTimerHorizonSeconds: number | null;
  readonly maxReadsPerSecond: number | null;
  readonly maxWritesPerSecond: number | null;
  readonly maxQueues: number | null;
  readonly maxMessagesPerSecond: number | null;
  readonly maxQueries: number | null;
}

export interface NodeApi {
  'GET /health': { readonly answer: Health };
  'GET /auth/me': {
    readonly answer: {
      readonly user_id: string;
      readonly email: string | null;
      readonly tenant_slug: string;
      readonly is_operator: boolean;
      readonly operator_enabled: boolean;
      readonly operator_live: boolean;
      readonly acting_cluster: { readonly id: string; readonly slug: string } | null;
      readonly act_cluster_header: string;
      readonly role: string;
      readonly cluster: string | null;
      readonly clusters: readonly {
        readonly id: string;
        readonly slug: string;
        readonly role: string;
        readonly tenant_slug: string;
        readonly tenant_id: string;
        readonly status: string;
        readonly cell_slug: string;
      }[];
      readonly standalone: true;
      readonly server_id: string;
    };
  };
  'GET /status': {
    readonly answer: {
      readonly engine: 'raft';
      readonly version: string;
      readonly serverId: string;
      readonly nodeId: number;
      readonly hostname: string | null;
      readonly pid: number;
      readonly uptimeSeconds: number;
      readonly status: 'healthy' | 'settling';
      readonly role: 'leader' | 'follower' | 'learner' | 'candidate' | 'stopped';
      readonly memory: { readonly rss: number };
      readonly raft: RaftFigures;
      readonly kafka: { readonly mode: 'off'; readonly phase: 'stopped' };
      readonly s3: {
        readonly mode: 'off';
        readonly phase: 'stopped';
        readonly threads: 0;
        readonly controlPlane: false;
        readonly sinks: readonly [];
      };
    };
  };
  'GET /metrics': {
    readonly answer: {
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
    };
  };
  'GET /metrics/prometheus': { readonly answer: string };
  'GET /api/v1/raft/status': {
    readonly answer: {
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
      readonly store: StoreFigures;
      readonly version: string;
      readonly uptimeSeconds: number;
      readonly error: string | null;
      readonly engine: 'raft';
      readonly clusterId: string;
      readonly self: number;
      readonly voters: number;
      readonly singleNode: boolean;
      readonly replication:
        | readonly {
            readonly nodeId: number;
            readonly matchIndex: number | null;
            readonly heartbeatAgeMs: number | null;
          }[]
        | null;
      readonly refusedFrames: Readonly<Record<string, number>>;
    };
  };
  'GET /api/v1/raft/members': {
    readonly answer: {
      readonly engine: 'raft';
      readonly clusterId: string;
      readonly leaderId: number | null;
      readonly term: number;
      readonly self: number;
      readonly voters: number;
      readonly members: readonly (
        | {
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
            readonly store: StoreFigures;
            readonly version: string;
            readonly uptimeSeconds: number;
            readonly error: string | null;
            readonly matchIndex: number | null;
            readonly heartbeatAgeMs: number | null;
            readonly lagEntries: number | null;
            readonly host: {
              readonly rssBytes: number | null;
              readonly anonBytes: number | null;
              readonly cpuPct: number | null;
              readonly memoryLimitBytes?: number | null;
              readonly diskUsedPct?: number | null;
              readonly diskGatePct?: number;
            };
            readonly rates?: {
              readonly pushedPerSecond: number;
              readonly deliveredPerSecond: number;
              readonly ackedPerSecond: number;
            };
          }
        | {
            readonly matchIndex: number | null;
            readonly heartbeatAgeMs: number | null;
            readonly lagEntries: number | null;
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
      )[];
    };
  };
  'GET /api/v1/raft/liveness': {
    readonly answer: {
      readonly engine: 'raft';
      readonly nodeId: number;
      readonly leaderId: number | null;
      readonly term: number;
      readonly viewAgeMs: number | null;
      readonly viewLeaderId: number | null;
      readonly members: readonly {
        readonly nodeId: number;
        readonly role: 'voter' | 'learner';
        readonly state:
          | 'leader'
          | 'follower'
          | 'candidate'
          | 'learner'
          | 'shutdown'
          | 'unreachable';
        readonly http: string | null;
        readonly raft: string | null;
        readonly lastAckMs: number | null;
        readonly matchIndex: number | null;
        readonly local: boolean;
      }[];
    };
  };
  'GET /api/v1/system/raft/membership': {
    readonly answer: { readonly engine: 'raft'; readonly membership: Membership };
  };
  'POST /api/v1/system/raft/membership/learners': {
    readonly query: MembershipQuery;
    readonly body: { readonly id: number; readonly raft: string; readonly http: string };
    readonly answer: { readonly ok: true; readonly membership: Membership };
  };
  'POST /api/v1/system/raft/membership/promote': {
    readonly query: MembershipQuery;
    readonly body: { readonly ids: readonly number[] };
    readonly answer: { readonly ok: true; readonly membership: Membership };
  };
  'PUT /api/v1/system/raft/membership/voters': {
    readonly query: MembershipQuery;
    readonly body: { readonly voters: readonly number[] };
    readonly answer: { readonly ok: true; readonly membership: Membership };
  };
  'DELETE /api/v1/system/raft/membership/members/{id}': {
    readonly query: MembershipQuery;
    readonly answer: { readonly ok: true; readonly membership: Membership };
  };
  'POST /api/v1/system/raft/transfer': {
    readonly query: MembershipQuery;
    readonly body: { readonly to: number };
    readonly answer: { readonly ok: true; readonly leader: number; readonly term: number };
  };
  'GET /api/v1/system/link': { readonly answer: Link };
  'POST /api/v1/system/link/promote': { readonly answer: Link };
  'GET /api/v1/system/shared-state': {
    readonly answer: {
      readonly enabled: true;
      readonly reason: 'raft_state_machine';
      readonly appliedIndex: number;
      readonly durableIndex: number;
      readonly queues: number;
    };
  };
  'POST /api/v1/stats/refresh': {
    readonly answer: { readonly success: true; readonly refreshed: false; readonly engine: 'raft' };
  };
  'GET /api/v1/system/kv-timers': { readonly answer: Switches };
  'POST /api/v1/system/kv-timers': { readonly body: SwitchesTo; readonly answer: Switches };
  'GET /api/v1/system/ephemeral': { readonly answer: { readonly ephemeralEnabled: boolean } };
  'POST /api/v1/system/ephemeral': {
    readonly body: { readonly enabled: boolean };
    readonly answer: { readonly ephemeralEnabled: boolean; readonly mirrored: true };
  };
  'POST /api/v1/resources/quota': { readonly body: Grant; readonly answer: Quota };
  'DELETE /api/v1/resources/tenant': {
    readonly query: { readonly tenant?: string };
    readonly answer: {
      readonly success: true;
      readonly tenant: string;
      readonly partitionsDeleted: number;
      readonly done: true;
    };
  };
}
