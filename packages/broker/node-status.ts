/** What this node says of itself: health, figures, raft status (cluster-and-config 4, 6). */

import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { memoryUsage, resourceUsage } from 'node:process';
import { isVoter, members, type NodeId, type PeerStatus, type Status } from '@svc/raft';
import type { Log } from '@svc/storage';
import {
  type HealthAnswer,
  type NodeRole,
  type RaftFigures,
  type RaftMemberHost,
  type RaftMemberProgress,
  type RaftMembersAnswer,
  type RaftNodeBlock,
  type RaftPeerFigures,
  type RaftStatusAnswer,
  type RaftUnreachableMember,
  VERSION,
} from '@svc/wire';
import type { Clock } from './clock.js';
import type { Peer } from './config-peers.js';
import type { Consensus } from './consensus.js';
import { nodeNumber } from './member-id.js';

/** The version of the data that this build writes, and the highest that it reads. */
export const CLUSTER_VERSION = 5;

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
  readonly readiness: { readonly lagMs: number; readonly lagEntries: number };
  readonly inFlight: () => number;
  readonly stopping: () => boolean;
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
    const figures = this.figures();
    const ready = figures.leader && figures.role !== 'stopped';
    return {
      status: ready && figures.lag <= this.#sources.readiness.lagMs ? 'healthy' : 'settling',
      engine: 'raft',
      version: VERSION,
      raft: { ...figures, clusterVersion: CLUSTER_VERSION, kinds: CLUSTER_VERSION },
    };
  }

  figures(): RaftFigures {
    const status = this.#sources.consensus.status();
    return {
      role: this.#role(status),
      leader: leaderOf(status) !== null,
      term: status?.term ?? 0,
      applied: this.#sources.appliedIndex(),
      commit: status?.commit ?? 0,
      lag: this.#lagMs(status),
      storageReady: true,
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
      replication: status?.role === 'leader' ? status.peers.flatMap(replicationOf(status)) : null,
    };
  }

  members(): RaftMembersAnswer {
    const status = this.#sources.consensus.status();
    const own = status?.role === 'leader' ? status.lastIndex : null;
    const self: RaftMembersAnswer['members'][number] = {
      ...this.#block(status),
      matchIndex: own,
      heartbeatAgeMs: null,
      lagEntries: own === null ? null : 0,
      host: hostFigures(),
    };
    const others = status === null ? [] : members(status.configuration);
    return {
      engine: 'raft',
      clusterId: this.#sources.clusterId,
      leaderId: leaderOf(status),
      term: status?.term ?? 0,
      self: this.#sources.nodeId,
      voters: status?.configuration.voters.length ?? 0,
      members: [
        self,
        ...others.filter((id) => id !== status?.id).map((id) => this.#unasked(id, status)),
      ].sort((one, other) => one.nodeId - other.nodeId),
    };
  }

  /** Another member: what this node itself knows of it. */
  #unasked(id: NodeId, status: Status | null): RaftUnreachableMember {
    const nodeId = nodeNumber(id);
    const address = this.#sources.addresses().find((peer) => peer.id === nodeId);
    const peer = status?.peers.find((one) => one.id === id);
    return {
      nodeId,
      role: status !== null && isVoter(status.configuration, id) ? 'voter' : 'learner',
      state: 'unreachable',
      local: false,
      reachable: false,
      raftAddr: address?.raftAddress ?? null,
      httpAddr: address?.httpAddress ?? null,
      hostname: null,
      error: 'this build does not ask other nodes',
      ...progressOf(peer, status),
    };
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
    const { appliedIndex, appliedAtMs, readiness, clock } = this.#sources;
    if (status === null || status.role === 'leader') return 0;
    if (status.commit - appliedIndex() <= readiness.lagEntries) return 0;
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
      durableIndex: log.durableIndex,
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
      error: null,
    };
  }
}

function leaderOf(status: Status | null): number | null {
  if (status === null) return null;
  const number = nodeNumber(status.leader);
  return number === 0 ? null : number;
}

function replicationOf(status: Status): (peer: PeerStatus) => RaftPeerFigures[] {
  return (peer) => {
    if (peer.id === status.id) return [];
    const { matchIndex, heartbeatAgeMs } = progressOf(peer, status);
    return [{ nodeId: nodeNumber(peer.id), matchIndex, heartbeatAgeMs }];
  };
}

function progressOf(peer: PeerStatus | undefined, status: Status | null): RaftMemberProgress {
  if (peer === undefined || status === null) {
    return { matchIndex: null, heartbeatAgeMs: null, lagEntries: null };
  }
  const { match, lastReplyAgeMs } = peer;
  return {
    matchIndex: match,
    heartbeatAgeMs: Number.isFinite(lastReplyAgeMs) ? Math.round(lastReplyAgeMs) : null,
    lagEntries: status.lastIndex - match,
  };
}

function hostFigures(): RaftMemberHost {
  const { userCPUTime, systemCPUTime } = resourceUsage();
  const cpuUs = userCPUTime + systemCPUTime;
  return {
    rssBytes: memoryUsage.rss(),
    anonBytes: anonymousBytes(),
    cpuPct: Math.round((cpuUs / (process.uptime() * 1_000_000)) * 1000) / 10,
  };
}

/** null where the platform does not tell. */
function anonymousBytes(): number | null {
  if (process.platform !== 'linux') return null;
  const line = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'latin1'));
  return line?.[1] === undefined ? null : Number(line[1]) * 1024;
}
