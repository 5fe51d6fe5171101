/** What this node says of itself: health, figures, raft status (cluster-and-config 4, 6). */

import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { memoryUsage, resourceUsage } from 'node:process';
import type { Log } from '@svc/storage';
import {
  type HealthAnswer,
  type NodeRole,
  type RaftFigures,
  type RaftMemberHost,
  type RaftMembersAnswer,
  type RaftNodeBlock,
  type RaftStatusAnswer,
  VERSION,
} from '@svc/wire';
import type { Clock } from './clock.js';
import type { Consensus } from './consensus.js';

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

  health(): HealthAnswer {
    const figures = this.figures();
    const ready = figures.leader && figures.role !== 'stopped';
    return {
      status: ready ? 'healthy' : 'settling',
      engine: 'raft',
      version: VERSION,
      raft: { ...figures, clusterVersion: CLUSTER_VERSION, kinds: CLUSTER_VERSION },
    };
  }

  figures(): RaftFigures {
    const status = this.#sources.consensus.status();
    return {
      role: this.#role(),
      leader: status.leader !== 0,
      term: status.term,
      applied: this.#sources.appliedIndex(),
      commit: status.commit,
      lag: 0,
      storageReady: true,
    };
  }

  raftStatus(): RaftStatusAnswer {
    const voters = this.#sources.consensus.status().configuration.voters.length;
    return {
      engine: 'raft',
      clusterId: this.#sources.clusterId,
      self: this.#sources.nodeId,
      voters,
      singleNode: voters === 1,
      ...this.#block(),
      replication: this.#role() === 'leader' ? [] : null,
    };
  }

  members(): RaftMembersAnswer {
    const status = this.#sources.consensus.status();
    const leads = this.#role() === 'leader';
    return {
      engine: 'raft',
      clusterId: this.#sources.clusterId,
      leaderId: status.leader === 0 ? null : status.leader,
      term: status.term,
      self: this.#sources.nodeId,
      voters: status.configuration.voters.length,
      members: [
        {
          ...this.#block(),
          matchIndex: leads ? status.lastIndex : null,
          heartbeatAgeMs: null,
          lagEntries: leads ? 0 : null,
          host: hostFigures(),
        },
      ],
    };
  }

  /** A leader that has not applied an entry of its term yet shows as a candidate. */
  #role(): NodeRole {
    if (this.#sources.stopping()) return 'stopped';
    const { role, leading } = this.#sources.consensus.status();
    if (leading) return 'leader';
    return role === 'follower' ? 'follower' : 'candidate';
  }

  #block(): RaftNodeBlock {
    const { consensus, log, nodeId, inFlight, store, clock } = this.#sources;
    const status = consensus.status();
    const role = this.#role();
    const segments = log.segments();
    const figures = store();
    const { mapBytes, usedBytes } = figures;
    return {
      nodeId,
      hostname: hostname(),
      raftAddr: null,
      httpAddr: null,
      role: 'voter',
      state: role === 'stopped' ? 'shutdown' : role,
      local: true,
      reachable: true,
      leaderId: status.leader === 0 ? null : status.leader,
      term: status.term,
      lastLogIndex: log.lastIndex,
      committedIndex: status.commit,
      appliedIndex: this.#sources.appliedIndex(),
      durableIndex: log.durableIndex,
      inflight: inFlight(),
      proposals: status.lastIndex - status.commit,
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
