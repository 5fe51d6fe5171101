/** The node's report of itself: health, figures, raft status. */

import { hostname } from 'node:os';
import { CLUSTER_VERSION_READ, clusterVersionOf } from '@svc/engine';
import { isVoter, members, type NodeId, type PeerStatus, type Status } from '@svc/raft';
import {
  type HealthAnswer,
  type LinkAnswer,
  type LinkView,
  type NodeRole,
  type RaftFigures,
  type RaftNodeBlock,
  type RaftPeerFigures,
  type RaftStatusAnswer,
  VERSION,
} from '@svc/wire';
import type { Config } from '../config/config.js';
import { nodeNumber } from '../config/member-id.js';
import type { Consensus } from '../consensus/consensus.js';
import { liveWithinMs } from '../consensus/group.js';
import type { MemberAddresses } from '../consensus/group-addresses.js';
import type { GroupLink } from '../consensus/group-link.js';
import type { OpenDirectory } from '../directory/node-directory.js';
import type { Replica } from '../leader/replica.js';
import type { Leadership } from '../requests/leadership.js';
import { type LinkSources, linkViewOf } from '../standby/status.js';
import type { Clock } from '../system/clock.js';
import type { NodeLife } from '../system/node-life.js';

/** The highest version of the data that this build reads. */
export const CLUSTER_VERSION = CLUSTER_VERSION_READ;

export interface StatusSources {
  readonly config: Config;
  readonly opened: Pick<OpenDirectory, 'identity' | 'log' | 'backing' | 'state'>;
  readonly clock: Clock;
  readonly life: NodeLife;
  readonly consensus: Consensus;
  readonly replica: Replica;
  readonly addresses: MemberAddresses;
  /** The newest report of a member; its own appends tell no more of its commit than fits. */
  readonly reports: { of(member: NodeId): { readonly commit: number } | null };
  readonly leadership: Leadership;
  /** null: there are no other nodes. */
  readonly link: GroupLink | null;
  readonly follower: LinkSources['follower'];
  readonly holds: LinkSources['holds'];
  /** Frames of other nodes that the connections did not take, by reason. */
  readonly peerCounters?: (() => Counters) | undefined;
}

type Counters = Readonly<Record<string, number>>;

export class NodeStatus {
  readonly #sources: StatusSources;
  readonly #startedMs: number;

  constructor(sources: StatusSources) {
    this.#sources = sources;
    this.#startedMs = sources.clock.nowMs();
  }

  get nodeId(): number {
    return this.#sources.opened.identity.nodeId;
  }

  get clusterId(): string {
    const { config, opened } = this.#sources;
    return config.cellId ?? `c-${opened.identity.clusterId.slice(0, 6)}`;
  }

  health(): HealthAnswer {
    const { config, opened, life } = this.#sources;
    const figures = this.figures();
    const link = this.linkView();
    const ready = figures.leader && figures.role !== 'stopped' && life.serving;
    return {
      status: ready && figures.lag <= config.readyLagMs ? 'healthy' : 'settling',
      engine: 'raft',
      version: VERSION,
      raft: {
        ...figures,
        clusterVersion: clusterVersionOf(opened.state),
        kinds: CLUSTER_VERSION_READ,
        ...(config.replicator === 'local' ? {} : { apply: { failure: null, skipped: [] } }),
        ...(link === null ? {} : { link }),
      },
    };
  }

  figures(): RaftFigures {
    const status = this.#sources.consensus.status();
    return {
      role: this.#role(status),
      leader: this.#isLed(status),
      term: status?.term ?? 0,
      applied: this.#sources.replica.appliedIndex,
      commit: status?.commit ?? 0,
      lag: this.#lagMs(status),
      storageReady: !this.#sources.life.halted,
    };
  }

  /** null: this node has no part in any link to another cluster. */
  linkView(): LinkView | null {
    const { opened } = this.#sources;
    return linkViewOf({ ...this.#sources, state: opened.state });
  }

  link(): LinkAnswer {
    const { role, ...view } = this.linkView() ?? { role: 'primary' };
    return { role, leader: this.#sources.leadership.office !== null, ...view };
  }

  raftStatus(): RaftStatusAnswer {
    const { consensus, link, peerCounters } = this.#sources;
    const status = consensus.status();
    const voters = status?.configuration.voters.length ?? 0;
    return {
      engine: 'raft',
      clusterId: this.clusterId,
      self: this.nodeId,
      voters,
      singleNode: voters === 1,
      ...this.#block(status),
      replication: replicationOf(status),
      refusedFrames: summed(link?.counters() ?? {}, peerCounters?.() ?? {}),
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

  /**
   * A leader counts once it has applied an entry of its term. Who cannot campaign keeps the leader
   * that it heard last, a learner that was cut off for one, so it must have been heard lately; and
   * a node that was removed has none, although it may still hear of one.
   */
  #isLed(status: Status | null): boolean {
    if (status === null || leaderOf(status) === null) return false;
    if (status.role === 'leader') return status.leading;
    const isMember = members(status.configuration).includes(status.id);
    return isMember && status.leaderContactAgeMs <= liveWithinMs(this.#sources.config);
  }

  /** A leader that has not applied an entry of its term yet shows as a candidate. */
  #role(status: Status | null): NodeRole {
    if (this.#sources.life.ending) return 'stopped';
    if (status === null) return 'follower';
    if (status.leading) return 'leader';
    if (status.role !== 'follower') return 'candidate';
    return isVoter(status.configuration, status.id) ? 'follower' : 'learner';
  }

  /** How old the newest applied entry is, once this node is far behind; else 0. */
  #lagMs(status: Status | null): number {
    const { config, consensus, replica, reports, clock } = this.#sources;
    if (status === null || status.role === 'leader') return 0;
    const commit = Math.max(status.commit, reports.of(consensus.leader)?.commit ?? 0);
    if (commit - replica.appliedIndex <= config.readyLagEntries) return 0;
    return Math.round(clock.nowMs() - replica.appliedAtMs);
  }

  #block(status: Status | null): RaftNodeBlock {
    const { opened, leadership, clock, addresses, replica, life } = this.#sources;
    const { log, backing, state } = opened;
    const role = this.#role(status);
    const segments = log.segments();
    const figures = backing.figures();
    const { mapBytes, usedBytes } = figures;
    const own = addresses.get().find(({ id }) => id === this.nodeId);
    return {
      nodeId: this.nodeId,
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
      appliedIndex: replica.appliedIndex,
      durableIndex: state.appliedIndex,
      inflight: leadership.leader?.inFlight ?? 0,
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
      error: life.failure,
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

/** A reason may be counted in several places. */
function summed(...counters: readonly Counters[]): Counters {
  const sums: Record<string, number> = {};
  for (const [reason, count] of counters.flatMap((each) => Object.entries(each))) {
    sums[reason] = (sums[reason] ?? 0) + count;
  }
  return sums;
}
