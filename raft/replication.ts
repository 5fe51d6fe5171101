/**
 * The leader's side of the log: what each peer is sent and when, and what is committed.
 *
 * A peer that answers is sent entries as they come, many appends in flight (`replicate`); one whose
 * log must be found again gets one append at a time (`probe`); one that needs entries that are gone
 * gets a snapshot. Losses need no timer of their own: heartbeat replies show who is behind and
 * allow one more append. A full window allows one empty append per heartbeat reply, or a peer that
 * lost everything in flight would never be sent anything again.
 *
 * An entry is committed when a quorum holds it AND it is of the leader's own term. Counting copies
 * of an older term is not enough: another node could still win with a log that lacks it.
 */
import { assert } from './assert.js';
import type { Core } from './core.js';
import { type Entry, payloadBytes } from './entry.js';
import { logIndex, NO_NODE, type NodeId } from './identifiers.js';
import type { AppendRejection, AppendResponse, HeartbeatResponse, Life } from './messages.js';
import type { Progress } from './progress.js';
import { quorumActive, quorumValue } from './quorum.js';
import { confirmReads, startEarlyReads } from './reading.js';

const NO_ENTRIES: readonly Entry[] = [];
/** Appends read from the storage for one acknowledgement: the window opens, but not at a stroke. */
const STORED_APPENDS_MAX = 2;

export function broadcastAppend(core: Core): void {
  for (const [id, peer] of core.peers) {
    if (id !== core.id && !isBeingFed(core, peer)) sendAppend(core, id, peer, true);
  }
}

/**
 * What the peer lacks has to be read from the storage, and the acknowledgement of what is on its
 * way will bring it. Whoever proposes does not wait for the reading.
 */
function isBeingFed(core: Core, peer: Progress): boolean {
  return peer.state === 'replicate' && peer.inFlight.count > 0 && core.log.isStored(peer.next);
}

/** After a change of configuration: whoever is behind and may be sent something. */
export function sendMissing(core: Core): void {
  for (const [id, peer] of core.peers) {
    if (id !== core.id) sendAppend(core, id, peer, false);
  }
}

/** Sends what comes next for a peer; without entries only when `evenEmpty`. True when sent. */
export function sendAppend(core: Core, to: NodeId, peer: Progress, evenEmpty: boolean): boolean {
  if (peer.waiting) return false;
  const { log } = core;
  const previousIndex = logIndex(peer.next - 1);
  const previousTerm = log.term(previousIndex);
  if (previousTerm === undefined || peer.next < log.first) return sendSnapshot(core, to, peer);
  let entries = NO_ENTRIES;
  if (peer.next <= log.last && !(peer.state === 'replicate' && peer.inFlight.full)) {
    const end = logIndex(log.last + 1);
    entries = log.entries(peer.next, end, core.settings.appendBytesMax, 'send');
  }
  if (entries.length === 0 && !evenEmpty) return false;
  core.send({
    type: 'append',
    from: core.id,
    to,
    term: core.term,
    previousIndex,
    previousTerm,
    entries,
    commit: log.committed,
    life: peer.life,
  });
  const end = logIndex(previousIndex + entries.length);
  peer.sent(entries.length, end, payloadBytes(entries));
  peer.sentCommit = log.committed;
  return true;
}

/** Every broadcast is a round: the waiting reads ride on it, and its replies carry the lease. */
export function broadcastHeartbeat(core: Core): void {
  const round = core.reads.startRound();
  for (const [to, peer] of core.peers) {
    if (to === core.id) continue;
    const commit = logIndex(Math.min(peer.match, core.log.committed));
    const { id: from, term, nowMs: sentMs } = core;
    core.send({ type: 'heartbeat', from, to, term, commit, round, sentMs });
    peer.sentCommit = commit;
  }
  // No answer will come that could confirm the round.
  if (core.alone) confirmReads(core);
}

export function onAppendResponse(core: Core, message: AppendResponse): void {
  const peer = heard(core, message.from);
  // An acknowledgement of before a loss must not count, however late it comes.
  if (peer === undefined || isOfOldLife(core, peer, message.life)) return;
  const { log } = core;
  const news = peer.advance(message.index);
  if (!news && !(peer.match === message.index && peer.state === 'probe')) return;
  switch (peer.state) {
    case 'probe':
      peer.becomeReplicate();
      break;
    case 'snapshot':
      // Any acknowledgement that the log can follow on ends the wait, whatever was sent.
      if (peer.match + 1 >= log.first) peer.becomeReplicate();
      // It took what was sent, but the log has moved on since: it needs a newer one.
      else if (peer.match >= peer.snapshotIndex) peer.becomeProbe();
      break;
    case 'replicate':
      peer.inFlight.freeUpTo(message.index);
      break;
  }
  if (advanceCommit(core)) afterCommit(core);
  else if (message.from !== core.id && peer.wantsCommit(log.committed)) {
    sendAppend(core, message.from, peer, true);
  }
  if (message.from === core.id) return;
  fillWindow(core, message.from, peer);
  if (message.from === core.transferTarget && peer.match === log.last) sendTimeoutNow(core);
  retireWhenDone(core);
}

/**
 * The window may have room for several appends. What has to be read for them costs the host's time,
 * which others want too: the acknowledgements of those that are on their way bring the next ones.
 */
function fillWindow(core: Core, to: NodeId, peer: Progress): void {
  let stored = 0;
  while (stored < STORED_APPENDS_MAX) {
    const isStored = core.log.isStored(peer.next);
    if (!sendAppend(core, to, peer, false)) return;
    if (isStored) stored++;
  }
}

export function onAppendRejection(core: Core, message: AppendRejection): void {
  const peer = heard(core, message.from);
  if (peer === undefined || isOfOldLife(core, peer, message.life)) return;
  // The peer skipped its terms above ours; skip ours above its, and only then ask again.
  const meeting =
    message.hintTerm > 0
      ? core.log.meetingPoint(message.hintIndex, message.hintTerm).index
      : message.hintIndex;
  if (message.lost !== 0) {
    peer.takeBack(message.lost, logIndex(Math.min(meeting, core.log.last)));
    // It does not campaign, whatever it is told.
    if (core.transferTarget === message.from) core.transferTarget = NO_NODE;
  } else if (!peer.retreat(message.rejectedIndex, meeting)) return;
  if (peer.state === 'replicate') peer.becomeProbe();
  sendAppend(core, message.from, peer, true);
}

export function onHeartbeatResponse(core: Core, message: HeartbeatResponse): void {
  const peer = heard(core, message.from);
  if (peer === undefined) return;
  peer.paused = false;
  peer.ackedRound = Math.max(peer.ackedRound, message.round);
  peer.ackedSentMs = Math.max(peer.ackedSentMs, message.sentMs);
  // An empty append is enough: it does not carry the life, and the rejection tells of the loss.
  const lossUnknown = message.lost !== 0 && message.lost !== peer.life;
  if (peer.state === 'snapshot') repeatOffer(core, message.from, peer);
  else if (peer.match < core.log.last || peer.state === 'probe' || lossUnknown) {
    sendAppend(core, message.from, peer, true);
  }
  confirmReads(core);
}

/** The end of a leader that was removed: nothing in its log is missing elsewhere. */
export function retireWhenDone(core: Core): void {
  if (core.retiring && core.log.committed === core.log.last) {
    core.becomeFollower(core.term, NO_NODE);
  }
}

/** True when the commit index rose. */
export function advanceCommit(core: Core): boolean {
  const index = logIndex(quorumValue(core.configuration, core.peers, 'match'));
  if (index <= core.log.committed || core.log.term(index) !== core.term) return false;
  return core.log.commitTo(index);
}

/** The commit index rose: reads may have waited for that, and the peers are told. */
export function afterCommit(core: Core): void {
  startEarlyReads(core);
  broadcastAppend(core);
}

/** Once per election timeout: a leader that no quorum answered since the last time steps down. */
export function checkQuorum(core: Core): void {
  const own = core.peers.get(core.id);
  if (own !== undefined) own.recentlyActive = true;
  if (!quorumActive(core.configuration, core.peers)) {
    core.becomeFollower(core.term, NO_NODE);
    return;
  }
  for (const [id, peer] of core.peers) {
    if (id !== core.id) peer.recentlyActive = false;
  }
}

/** Hands over at once when the target has everything, else as soon as it has. */
export function startTransfer(core: Core, target: NodeId, peer: Progress): void {
  core.transferTarget = target;
  // It has one election timeout from now. The check of the quorum goes by a time of its own: else
  // one transfer after the other would put it off for ever.
  core.transferSinceMs = core.ranMs;
  if (peer.match === core.log.last) sendTimeoutNow(core);
  else sendAppend(core, target, peer, true);
}

export function onSnapshotReport(core: Core, from: NodeId, outcome: 'sent' | 'failed'): void {
  const peer = core.peers.get(from);
  if (core.role !== 'leader' || peer?.state !== 'snapshot') return;
  if (outcome === 'failed') peer.snapshotIndex = logIndex(0);
  peer.becomeProbe();
  // The peer's own acknowledgement, or the next heartbeat reply, goes on from here.
  peer.paused = true;
}

function sendTimeoutNow(core: Core): void {
  core.leaseGivenUp = true;
  core.send({ type: 'timeout-now', from: core.id, to: core.transferTarget, term: core.term });
}

function sendSnapshot(core: Core, to: NodeId, peer: Progress): boolean {
  if (!peer.recentlyActive) return false;
  const snapshot = core.storage.snapshot();
  if (snapshot === undefined) return false;
  assert(
    snapshot.index + 1 >= core.log.first,
    `snapshot at ${snapshot.index} ends before the log's first entry ${core.log.first}`,
  );
  peer.becomeSnapshot(snapshot.index);
  peer.offeredMs = core.nowMs;
  core.send({ type: 'snapshot', from: core.id, to, term: core.term, snapshot, life: peer.life });
  return true;
}

/**
 * The offer may be lost, and so may its answer. Whoever fetches the state already goes on; whoever
 * has it says so, and the log follows.
 */
function repeatOffer(core: Core, to: NodeId, peer: Progress): void {
  if (core.nowMs - peer.offeredMs >= core.settings.snapshotRepeatMs) sendSnapshot(core, to, peer);
}

function isOfOldLife(core: Core, peer: Progress, life: Life): boolean {
  if (life === peer.life) return false;
  core.drops.old_life++;
  return true;
}

function heard(core: Core, from: NodeId): Progress | undefined {
  if (core.role !== 'leader') return undefined;
  const peer = core.peers.get(from);
  if (peer === undefined) {
    core.drops.unknown_sender++;
    return undefined;
  }
  peer.recentlyActive = true;
  peer.lastReplyMs = core.ranMs;
  return peer;
}
