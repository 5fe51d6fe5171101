/**
 * The follower's side: taking the leader's entries, commit index and snapshots.
 *
 * Nothing committed is ever replaced (asserted in the log). A reply names only what this node
 * holds, and leaves only when its disk holds it.
 */
import type { Core } from './core.js';
import { type LogIndex, logIndex } from './identifiers.js';
import type { AppendRequest, Heartbeat, SnapshotRequest } from './messages.js';
import type { Snapshot } from './storage.js';

export function onAppend(core: Core, message: AppendRequest): void {
  core.hearLeader(message.from);
  const { log } = core;
  const { previousIndex, previousTerm, entries } = message;
  if (previousIndex < log.committed) {
    acknowledge(core, message.from, log.committed);
    return;
  }
  if (log.matches(previousIndex, previousTerm)) {
    log.merge(entries);
    const end = logIndex(previousIndex + entries.length);
    // Entries of ours beyond the message may differ from the leader's: they are not meant.
    log.commitTo(logIndex(Math.min(message.commit, end)));
    acknowledge(core, message.from, end);
    return;
  }
  const from = logIndex(Math.min(previousIndex, log.last));
  const hint = log.meetingPoint(from, previousTerm);
  core.send({
    type: 'append-rejection',
    from: core.id,
    to: message.from,
    term: core.term,
    rejectedIndex: previousIndex,
    hintIndex: hint.index,
    hintTerm: hint.term,
  });
}

export function onHeartbeat(core: Core, message: Heartbeat): void {
  core.hearLeader(message.from);
  // A commit index beyond the end means that this node acknowledged entries and lost them since: it
  // must not claim them committed. The next append finds out what is missing.
  if (message.commit <= core.log.last) core.log.commitTo(message.commit);
  core.send({
    type: 'heartbeat-response',
    from: core.id,
    to: message.from,
    term: core.term,
    round: message.round,
    sentMs: message.sentMs,
  });
}

export function onSnapshot(core: Core, message: SnapshotRequest): void {
  core.hearLeader(message.from);
  const restored = restore(core, message.snapshot);
  acknowledge(core, message.from, restored ? core.log.last : core.log.committed);
}

/**
 * False when the snapshot brings nothing. One whose configuration does not name this node is taken
 * all the same: the entries after it may add this node, and refusing would leave it without them.
 */
function restore(core: Core, snapshot: Snapshot): boolean {
  const { log } = core;
  if (snapshot.index <= log.committed) return false;
  if (log.matches(snapshot.index, snapshot.term)) {
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

function acknowledge(core: Core, to: Core['id'], index: LogIndex): void {
  core.send({ type: 'append-response', from: core.id, to, term: core.term, index });
}
