/** What this node says of itself: health, figures, raft status (cluster-and-config 4, 6). */

import { hostname } from 'node:os';
import { CLUSTER_VERSION_READ } from '@svc/engine';
import { isVoter, members, type PeerStatus, type Status } from '@svc/raft';
import type { Log } from '@svc/storage';
import {
  type HealthAnswer,
  type NodeRole,
  type RaftFigures,
  type RaftNodeBlock,
  type RaftPeerFigures,
  type RaftStatusAnswer,
  VERSION,
} from '@svc/wire';
import { nodeNumber } from '../config/member-id.js';
import type { Peer } from '../config/peers.js';
import type { Consensus } from '../consensus/consensus.js';
import type { Clock } from '../system/clock.js';

/** The highest version of the data that this build reads. */
export const CLUSTER_VERSION = CLUSTER_VERSION_READ;

export interface StoreFigures {
  readonly mapBytes: number | null;
  readonly usedBytes: number | null;
  readonly readersInUse: number | null;
  readonly maxReaders: number | null;
}

export interface StatusSources {
  readonly clusterId: string;
  readonly nodeId: number;
  readonly consensus: Consensus;
  readonly log: Log;
  readonly clock: Clock;
  readonly store: () => StoreFigures;
  readonly appliedIndex: () => number;
  /** Monotonic; when this node last applied something. */
  readonly appliedAtMs: () => number;
  /** Where the members are to be reached, as the membership says. */
  readonly addresses: () => readonly Peer[];
  /** What the newest checkpoint holds. */
  readonly durableIndex: () => number;
  /** A leader that was not heard for this long is not known any more. */
  readonly leaderHeardWithinMs: number;
  /** The highest commit index that the leader has told; its own appends tell no more than fit. */
  readonly leaderCommit: () => number;
  /** What the cluster's entries are written in. */
  readonly clusterVersion: () => number;
  /** Not with SVC_RAFT_REPLICATOR=local. */
  readonly isClustered: boolean;
  /** This node has caught up once. */
  readonly serving: () => boolean;
  /** Frames of other nodes that were not taken, by reason. */
  readonly refusedFrames: () => Readonly<Record<string, number>>;
  readonly readiness: { readonly lagMs: number; readonly lagEntries: number };
  readonly inFlight: () => number;
  readonly stopping: () => boolean;
  /** Why this node takes no part any more; null while it does. */
  readonly failure: () => string | null;
}

export class NodeStatus {
  readonly #sources: StatusSources;
  readonly #startedMs: number;

  constructor(sources: StatusSources) {
    this.#sources = sources;
    this.#startedMs = sources.clock.nowMs();
  }

  get nodeId(): number {
    return this.#sources.nodeId;
  }

  health(): HealthAnswer {
    const { readiness, serving, clusterVersion, isClustered } = this.#sources;
    const figures = this.figures();
    const ready = figures.leader && figures.role !== 'stopped' && serving();
    return {
      status: ready && figures.lag <= readiness.lagMs ? 'healthy' : 'settling',
      engine: 'raft',
      version: VERSION,
      raft: {
        ...figures,
        clusterVersion: clusterVersion(),
        kinds: CLUSTER_VERSION_READ,
        ...(isClustered ? { apply: { failure: null, skipped: [] } } : {}),
      },
    };
  }

  figures(): RaftFigures {
    const status = this.#sources.consensus.status();
    return {
      role: this.#role(status),
      leader: this.#isLed(status),
      term: status?.term ?? 0,
      applied: this.#sources.appliedIndex(),
      commit: status?.commit ?? 0,
      lag: this.#lagMs(status),
      storageReady: this.#sources.failure() === null,
    };
  }

  raftStatus(): RaftStatusAnswer {
    const status = this.#sources.consensus.status();
    const voters = status?.configuration.voters.length ?? 0;
    return {
      engine: 'raft',
      clusterId: this.#sources.clusterId,
      self: this.#sources.nodeId,
      voters,
      singleNode: voters === 1,
      ...this.#block(status),
      replication: replicationOf(status),
      refusedFrames: this.#sources.refusedFrames(),
    };
  }

  /** As it goes into another node's list of the members. */
  block(): RaftNodeBlock {
    return this.#block(this.#sources.consensus.status());
  }

  /** How far this leader knows the others to be; null on all other nodes. */
  replication(): readonly RaftPeerFigures[] | null {
    return replicationOf(this.#sources.consensus.status());
  }

  get clusterId(): string {
    return this.#sources.clusterId;
  }

  /**
   * A leader counts once it has applied an entry of its term. Who cannot campaign keeps the leader
   * that it heard last, a learner that was cut off for one, so it must have been heard lately; and
   * a node that was removed has none, although it may still hear of one.
   */
  #isLed(status: Status | null): boolean {
    if (status === null || leaderOf(status) === null) return false;
    if (status.role === 'leader') return status.leading;
    const isMember = members(status.configuration).includes(status.id);
    return isMember && status.leaderContactAgeMs <= this.#sources.leaderHeardWithinMs;
  }

  /** A leader that has not applied an entry of its term yet shows as a candidate. */
  #role(status: Status | null): NodeRole {
    if (this.#sources.stopping()) return 'stopped';
    if (status === null) return 'follower';
    if (status.leading) return 'leader';
    if (status.role !== 'follower') return 'candidate';
    return isVoter(status.configuration, status.id) ? 'follower' : 'learner';
  }

  /** How old the newest applied entry is, once this node is far behind; else 0. */
  #lagMs(status: Status | null): number {
    const { appliedIndex, appliedAtMs, leaderCommit, readiness, clock } = this.#sources;
    if (status === null || status.role === 'leader') return 0;
    const commit = Math.max(status.commit, leaderCommit());
    if (commit - appliedIndex() <= readiness.lagEntries) return 0;
    return Math.round(clock.nowMs() - appliedAtMs());
  }

  #block(status: Status | null): RaftNodeBlock {
    const { log, nodeId, inFlight, store, clock, addresses } = this.#sources;
    const role = this.#role(status);
    const segments = log.segments();
    const figures = store();
    const { mapBytes, usedBytes } = figures;
    const own = addresses().find(({ id }) => id === nodeId);
    return {
      nodeId,
      hostname: hostname(),
      raftAddr: own?.raftAddress ?? null,
      httpAddr: own?.httpAddress ?? null,
      role: role === 'learner' ? 'learner' : 'voter',
      state: role === 'stopped' ? 'shutdown' : role,
      local: true,
      reachable: true,
      leaderId: leaderOf(status),
      term: status?.term ?? 0,
      lastLogIndex: log.lastIndex,
      committedIndex: status?.commit ?? null,
      appliedIndex: this.#sources.appliedIndex(),
      durableIndex: this.#sources.durableIndex(),
      inflight: inFlight(),
      proposals: status === null ? null : status.lastIndex - status.commit,
      log: {
        files: segments.length,
        bytes: segments.reduce((sum, segment) => sum + segment.bytes, 0),
      },
      store: {
        ...figures,
        mapUsedPct:
          mapBytes === null || usedBytes === null
            ? null
            : Math.round((usedBytes / mapBytes) * 100_000) / 1000,
      },
      version: VERSION,
      uptimeSeconds: Math.floor((clock.nowMs() - this.#startedMs) / 1000),
      error: this.#sources.failure(),
    };
  }
}

function leaderOf(status: Status | null): number | null {
  if (status === null) return null;
  const number = nodeNumber(status.leader);
  return number === 0 ? null : number;
}

function replicationOf(status: Status | null): readonly RaftPeerFigures[] | null {
  if (status?.role !== 'leader') return null;
  return status.peers.filter(({ id }) => id !== status.id).map(figuresOf);
}

function figuresOf({ id, match, lastReplyAgeMs: ageMs }: PeerStatus): RaftPeerFigures {
  const heartbeatAgeMs = Number.isFinite(ageMs) ? Math.round(ageMs) : null;
  return { nodeId: nodeNumber(id), matchIndex: match, heartbeatAgeMs };
}
