import type { Core } from './core.js';
import { NO_NODE } from './identifiers.js';
import type { PeerStatus, Status } from './ready.js';

/** A picture of the moment, for operators and tests; nothing decides by it. */
export function statusOf(core: Core): Status {
  const { log } = core;
  return {
    id: core.id,
    term: core.term,
    vote: core.vote,
    role: core.role,
    leader: core.leader,
    leading: core.leading,
    recovering: core.recovery !== undefined,
    commit: log.committed,
    applied: log.applied,
    firstIndex: log.first,
    lastIndex: log.last,
    durableIndex: log.durable,
    configuration: core.configuration,
    configurationIndex: core.configurationIndex,
    changing: core.pendingConfigurationIndex > log.applied,
    transferTarget: core.transferTarget,
    uncommittedBytes: core.uncommittedBytes,
    pendingReads: core.reads.pending,
    appendStuck: core.appendStuck,
    appendFailed: core.appends.failed,
    leaderContactAgeMs: contactAgeMs(core),
    peers: core.role === 'leader' ? peersOf(core) : [],
  };
}

function contactAgeMs(core: Core): number {
  if (core.role === 'leader') return 0;
  return core.leader === NO_NODE ? Infinity : core.sinceLeaderMs();
}

function peersOf(core: Core): readonly PeerStatus[] {
  return [...core.peers].map(([id, peer]) => ({
    id,
    learner: peer.learner,
    live: core.live(id),
    state: peer.state,
    match: peer.match,
    next: peer.next,
    paused: peer.paused,
    inFlightMessages: peer.inFlight.count,
    inFlightBytes: peer.inFlight.bytes,
    recentlyActive: peer.recentlyActive,
    lastReplyAgeMs: core.ranMs - peer.lastReplyMs,
  }));
}
