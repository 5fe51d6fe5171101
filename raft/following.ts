/**
 * The follower's side: taking the leader's entries, commit index and snapshots.
 *
 * Nothing committed is ever replaced (asserted in the log). A reply names only what this node
 * holds, and leaves only when its disk holds it.
 */
import type { Core } from './core.js';
import { type LogIndex, logIndex, type Term } from './identifiers.js';
import type { AppendRequest, Heartbeat, Life, SnapshotRequest } from './messages.js';
import type { Snapshot } from './storage.js';

export function onAppend(core: Core, message: AppendRequest): void {
  core.hearLeader(message.from);
  const { log } = core;
  const { previousIndex, previousTerm, entries } = message;
  if (lossUntold(core, message.life)) {
    reject(core, message, previousIndex, previousTerm);
    return;
  }
  if (previousIndex < log.committed) {
    acknowledge(core, message, log.committed, message.commit);
    return;
  }
  if (log.matches(previousIndex, previousTerm)) {
    log.merge(entries);
    const end = logIndex(previousIndex + entries.length);
    // Entries of ours beyond the message may differ from the leader's: they are not meant.
    log.commitTo(logIndex(Math.min(message.commit, end)));
    acknowledge(core, message, end, message.commit);
    return;
  }
  reject(core, message, previousIndex, previousTerm);
}

export function onHeartbeat(core: Core, message: Heartbeat): void {
  core.hearLeader(message.from);
  // The leader never names more than this node acknowledged to it, and what was acknowledged to the
  // leader of a term is not replaced within it: beyond the end means lost since. This node must not
  // claim it committed, nor vote as if it had never held it.
  if (message.commit <= core.log.last) core.log.commitTo(message.commit);
  else {
    core.drops.commit_beyond_log++;
    core.noticeLoss();
  }
  core.answerHeartbeat({
    type: 'heartbeat-response',
    from: core.id,
    to: message.from,
    term: core.term,
    round: message.round,
    sentMs: message.sentMs,
    lost: core.recovery?.life ?? 0,
  });
}

export function onSnapshot(core: Core, message: SnapshotRequest): void {
  core.hearLeader(message.from);
  const { snapshot } = message;
  if (lossUntold(core, message.life)) {
    reject(core, message, snapshot.index, snapshot.term);
    return;
  }
  const restored = restore(core, snapshot);
  const end = restored ? core.log.last : core.log.committed;
  // Where a snapshot ends says nothing about how far its leader's log is committed.
  acknowledge(core, message, end, logIndex(0));
}

/** Whether a snapshot offer would bring this node anything; its state is fetched only then. */
export function needsSnapshot(core: Core, message: SnapshotRequest): boolean {
  if (message.term < core.term || lossUntold(core, message.life)) return false;
  return bringsSomething(core, message.snapshot);
}

/**
 * Once the log reaches what the leader named after it knew of the loss, this node votes again. A
 * snapshot that is not durable yet counts for nothing, nor do entries after it, since a crash takes
 * both.
 */
export function endRecovery(core: Core): void {
  if (core.log.snapshotPending) return;
  if (core.recovery?.ended(core.term, core.log) === true) core.recovery = undefined;
}

function bringsSomething(core: Core, snapshot: Snapshot): boolean {
  const { log } = core;
  return snapshot.index > log.committed && !log.matches(snapshot.index, snapshot.term);
}

/** The leader does not know yet that this node lost entries, or knows of an earlier loss only. */
function lossUntold(core: Core, life: Life): boolean {
  return core.recovery !== undefined && core.recovery.life !== life;
}

/**
 * False when the snapshot brings nothing. One whose configuration does not name this node is taken
 * all the same: the entries after it may add this node, and refusing would leave it without them.
 */
function restore(core: Core, snapshot: Snapshot): boolean {
  const { log } = core;
  if (!bringsSomething(core, snapshot)) {
    log.commitTo(snapshot.index);
    return false;
  }
  log.restore(snapshot);
  core.configuration = snapshot.configuration;
  core.configurationIndex = snapshot.configurationIndex;
  core.configurationsInApply.length = 0;
  core.trackMembers();
  return true;
}

type Replicating = AppendRequest | SnapshotRequest;

function acknowledge(core: Core, message: Replicating, index: LogIndex, commit: LogIndex): void {
  const { id: from, term, recovery } = core;
  core.send({ type: 'append-response', from, to: message.from, term, index, life: message.life });
  if (recovery === undefined) return;
  recovery.committed(term, commit, core.log);
  endRecovery(core);
}

function reject(core: Core, message: Replicating, index: LogIndex, entryTerm: Term): void {
  const hint = core.log.meetingPoint(logIndex(Math.min(index, core.log.last)), entryTerm);
  core.send({
    type: 'append-rejection',
    from: core.id,
    to: message.from,
    term: core.term,
    rejectedIndex: index,
    hintIndex: hint.index,
    hintTerm: hint.term,
    life: message.life,
    lost: lossUntold(core, message.life) ? (core.recovery?.life ?? 0) : 0,
  });
}
