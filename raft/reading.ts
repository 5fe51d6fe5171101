/** Linearizable reads: who may answer one, and when. The bookkeeping is in `reads.ts`. */
import type { Core } from './core.js';
import type { LogIndex } from './identifiers.js';
import type { ReadRequest, ReadResponse } from './messages.js';
import { quorumValue } from './quorum.js';
import type { WaitingRead } from './reads.js';

/** A leader takes a read of its own or of a follower. */
export function startRead(core: Core, read: WaitingRead): void {
  const { committed } = core.log;
  if (!core.committedInOwnTerm) core.reads.waitForOwnTerm(read);
  else if (core.alone || (read.from === core.id && leaseHolds(core))) answer(core, read, committed);
  else core.reads.waitForRound(read, committed);
}

/** The leader has committed in its own term, so it knows the commit index now. */
export function startEarlyReads(core: Core): void {
  if (!core.committedInOwnTerm) return;
  for (const read of core.reads.takeEarly()) startRead(core, read);
}

/** After a heartbeat reply: the reads whose round a quorum has seen are answered. */
export function confirmReads(core: Core): void {
  const round = quorumValue(core.configuration, core.peers, 'ackedRound');
  for (const read of core.reads.takeConfirmed(round)) answer(core, read, read.index);
}

export function onReadRequest(core: Core, message: ReadRequest): void {
  // A node that does not lead stays silent: the asker gives up by itself.
  if (core.role !== 'leader' || core.reads.pending >= core.settings.readsMax) return;
  if (!core.peers.has(message.from)) {
    core.drops.unknown_sender++;
    return;
  }
  startRead(core, { id: message.id, from: message.from });
}

export function onReadResponse(core: Core, message: ReadResponse): void {
  if (!core.reads.answered(message.id, message.index)) core.drops.unawaited++;
}

/**
 * A quorum answered a heartbeat that left less than a lease ago, and each of them elects nobody for
 * an election timeout after it came. A transfer breaks that promise on purpose.
 *
 * Only a read of this node itself may be answered so. `readIndex` brought the time when it began,
 * so the lease held then or later, and nobody else had committed anything before. The request of a
 * follower came by `step`, which brings no time: a leader that wakes from a pause handles it before
 * its clock moves, by a lease that is over. Rejected: a time for `step` (a reading of the clock per
 * message for what a round does as well: it takes no longer than the request and its answer, and
 * all waiting reads share it), and an answer at the next tick (later than a round).
 */
function leaseHolds(core: Core): boolean {
  const { settings } = core;
  if (settings.reads !== 'lease' || !settings.checkQuorum || core.leaseGivenUp) return false;
  const ackedMs = quorumValue(core.configuration, core.peers, 'ackedSentMs');
  return core.nowMs < ackedMs + settings.electionTimeoutMs - settings.leaseMarginMs;
}

function answer(core: Core, read: WaitingRead, index: LogIndex): void {
  if (read.from === core.id) {
    core.reads.finish(read.id, index);
    return;
  }
  core.send({
    type: 'read-response',
    from: core.id,
    to: read.from,
    term: core.term,
    id: read.id,
    index,
  });
}
