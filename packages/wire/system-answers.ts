/** Status of queues, and the system routes that say what this build is (inspection 4, 7, 8.3). */
import type { MessageFigures, PartitionRow, QueueRow } from './answers.js';
import type { NodeRole, RaftFigures } from './node-answers.js';

/** inspection 4.2. */
export interface StatusQueuesAnswer {
  readonly queues: readonly QueueRow[];
}

/** inspection 4.3. */
export interface StatusQueueAnswer {
  readonly queue: {
    readonly id: string;
    readonly name: string;
    readonly namespace: string;
    readonly task: string;
    readonly priority: number;
    readonly createdAt: string;
    readonly config: { readonly leaseTime: number };
  };
  readonly partitions: readonly PartitionRow[];
  readonly partitionsTruncated?: true;
  readonly totals: { readonly messages: MessageFigures };
  /** Present in a page only. */
  readonly nextAfter?: string | null;
}

/** inspection 7. */
export interface StatsRefreshAnswer {
  readonly success: true;
  readonly refreshed: false;
  readonly engine: 'raft';
}

export interface SharedStateAnswer {
  readonly enabled: true;
  readonly reason: 'raft_state_machine';
  readonly appliedIndex: number;
  readonly durableIndex: number;
  readonly queues: number;
}

/** Of a cluster that is linked to no other. */
export interface LinkAnswer {
  readonly role: 'primary';
  readonly leader: boolean;
}

/** inspection 8.3: the process, and the parts of it that other protocols speak to. */
export interface ProcessStatusAnswer {
  readonly engine: 'raft';
  readonly version: string;
  readonly serverId: string;
  readonly nodeId: number;
  readonly hostname: string | null;
  readonly pid: number;
  readonly uptimeSeconds: number;
  readonly status: 'healthy' | 'settling';
  readonly role: NodeRole;
  readonly memory: { readonly rss: number };
  readonly raft: RaftFigures;
  /** Not part of this build. */
  readonly kafka: { readonly mode: 'off'; readonly phase: 'stopped' };
  readonly s3: {
    readonly mode: 'off';
    readonly phase: 'stopped';
    readonly threads: 0;
    readonly controlPlane: false;
    readonly sinks: readonly [];
  };
}
