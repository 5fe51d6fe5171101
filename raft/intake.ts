/**
 * What a node does not listen to. A message is refused, before anything changes, when no node that
 * keeps the protocol could have sent it to this one: a broken or malicious sender may cost work,
 * but must not move the term, the log, the lease or the commit index. Whatever the numbers of a
 * message are, it ends here or finds code that can take it.
 *
 * Only what a message alone can show is refused here. A forged message that a member could have
 * sent is obeyed: the transport proves the sender.
 */
import { isPossible } from './configuration.js';
import { readConfiguration } from './configuration-codec.js';
import type { Core } from './core.js';
import type { Entry } from './entry.js';
import { type LogIndex, NO_NODE, type Term } from './identifiers.js';
import type {
  AppendDurable,
  AppendRejection,
  AppendRequest,
  AppendResponse,
  HeartbeatResponse,
  Message,
} from './messages.js';
import type { Snapshot } from './storage.js';

/**
 * A term may be this far above the own one: so many elections while a node was away, 136 years of
 * one a second. One absurd message thus spends at most 1 / 2^21 of the term space, and whoever
 * repeats it needs two million of them.
 */
export const TERM_JUMP_MAX = 4_294_967_296;
/** No node campaigns above it: a term plus one jump stays a safe integer. */
export const TERM_MAX = Number.MAX_SAFE_INTEGER - TERM_JUMP_MAX;
/** No log comes near it; an index above it is an attempt to commit or to win with nothing. */
const INDEX_MAX = Number.MAX_SAFE_INTEGER - TERM_JUMP_MAX;

/** No node that keeps the protocol says that, or not to this node, or not that one. */
export const REFUSED_REASONS = [
  'wrong_receiver',
  'impossible_sender',
  /** Another node leads, or led, the term of the message. */
  'second_leader',
  /** Numbers that are none, or contradict each other. */
  'malformed',
  'bad_entries',
  'bad_configuration',
  'term_out_of_reach',
  /** It speaks of entries that this leader does not have. */
  'beyond_log',
  /** It answers what was never asked. */
  'not_asked',
] as const;

export type RefusedReason = (typeof REFUSED_REASONS)[number];

/** True once, or true elsewhere, and of no use here. */
export type IgnoredReason =
  | 'old_term'
  /** An answer of the sender's life before it lost entries. */
  | 'old_life'
  | 'unknown_sender'
  /** The answer to a read that was given up, or to a pre-vote for another term. */
  | 'unawaited'
  /** A vote is asked for while a leader lives. */
  | 'lease'
  /** A vote is asked of a node that lost entries. */
  | 'recovering'
  /** A heartbeat tells of commits beyond what this node has left; it is answered all the same. */
  | 'commit_beyond_log'
  | 'append_failed';

export type DropReason = RefusedReason | IgnoredReason;

export function noDrops(): Record<DropReason, number> {
  return {
    wrong_receiver: 0,
    impossible_sender: 0,
    second_leader: 0,
    malformed: 0,
    bad_entries: 0,
    bad_configuration: 0,
    term_out_of_reach: 0,
    beyond_log: 0,
    not_asked: 0,
    old_term: 0,
    old_life: 0,
    unknown_sender: 0,
    unawaited: 0,
    lease: 0,
    recovering: 0,
    commit_beyond_log: 0,
    append_failed: 0,
  };
}

/** Undefined when the message may be handled. */
export function refusalOf(core: Core, message: Message): RefusedReason | undefined {
  const { from, to, term } = message;
  if (to !== core.id) return 'wrong_receiver';
  if (!isCount(from) || !isCount(term) || from === 0) return 'malformed';
  if (from === core.id ? !saysToItself(message) : message.type === 'append-durable') {
    return 'impossible_sender';
  }
  if (term > core.term + TERM_JUMP_MAX || term > TERM_MAX) return 'term_out_of_reach';
  return refusalByType(core, message);
}

function refusalByType(core: Core, message: Message): RefusedReason | undefined {
  switch (message.type) {
    case 'pre-vote-request':
    case 'vote-request':
      if (!isPlace(message.lastIndex, message.lastTerm)) return 'malformed';
      // Entries of the term that it asks for cannot exist before it is elected.
      return message.lastTerm < message.term ? undefined : 'malformed';
    case 'pre-vote-response':
      // Requests do not wait for the disk: a crash may have undone the term that was asked for.
      return undefined;
    case 'vote-response':
      return message.granted && message.term > core.term ? 'not_asked' : undefined;
    case 'append':
      return refusalOfLeader(core, message) ?? refusalOfAppend(message);
    case 'snapshot':
      return refusalOfLeader(core, message) ?? refusalOfSnapshot(message.snapshot, message.term);
    case 'heartbeat':
      if (!isIndex(message.commit) || !isClock(message)) return 'malformed';
      return refusalOfLeader(core, message);
    case 'timeout-now':
      return refusalOfLeader(core, message);
    case 'read-response':
      if (!isCount(message.id) || !isIndex(message.index)) return 'malformed';
      return refusalOfLeader(core, message);
    case 'append-response':
      return refusalOfAppendResponse(core, message);
    case 'append-rejection':
      return refusalOfAppendRejection(core, message);
    case 'heartbeat-response':
      return refusalOfHeartbeatResponse(core, message);
    case 'read-request':
      return isCount(message.id) ? refusalOfReply(core, message) : 'malformed';
    case 'transfer-request':
      return isCount(message.target) ? refusalOfReply(core, message) : 'malformed';
    case 'append-durable':
      return refusalOfReport(core, message);
    default:
      // A kind of a later version: handled, it would raise the term at least.
      return 'malformed';
  }
}

/** What only the leader of its term says. */
function refusalOfLeader(core: Core, { from, term }: Message): RefusedReason | undefined {
  if (term === 0) return 'malformed';
  const known = term === core.term && core.leader !== NO_NODE;
  return known && core.leader !== from ? 'second_leader' : undefined;
}

/**
 * Checks a reply, which only the leader of its term or a candidate in it receives. Such a node has
 * that term on its disk, because its requests for votes waited for the write.
 */
function refusalOfReply(core: Core, { term }: Message): RefusedReason | undefined {
  return term > core.term ? 'not_asked' : undefined;
}

function refusalOfAppend(message: AppendRequest): RefusedReason | undefined {
  const { previousIndex, previousTerm, entries, term } = message;
  if (!isPlace(previousIndex, previousTerm) || previousTerm > term) return 'malformed';
  if (!isIndex(message.commit) || !isCount(message.life)) return 'malformed';
  let termBefore = Math.max(previousTerm, 1);
  let index: number = previousIndex;
  for (const entry of entries) {
    index++;
    if (entry.index !== index || !(entry.term >= termBefore && entry.term <= term)) {
      return 'bad_entries';
    }
    if (!Number.isSafeInteger(entry.term) || !isReadable(entry)) return 'bad_entries';
    termBefore = entry.term;
  }
  return index <= INDEX_MAX ? undefined : 'malformed';
}

/** A configuration that this version cannot follow must not come into the log: it would stop it. */
function isReadable(entry: Entry): boolean {
  return entry.type === 'normal' || readConfiguration(entry.data) !== undefined;
}

function refusalOfSnapshot(snapshot: Snapshot, ofTerm: Term): RefusedReason | undefined {
  const { index, term, configurationIndex } = snapshot;
  if (index === 0 || !isPlace(index, term) || term > ofTerm) return 'malformed';
  if (!isCount(configurationIndex) || configurationIndex > index) return 'bad_configuration';
  return isPossible(snapshot.configuration) ? undefined : 'bad_configuration';
}

function refusalOfAppendResponse(core: Core, message: AppendResponse): RefusedReason | undefined {
  const { index, term, life, from } = message;
  if (!isCount(index) || !isCount(life)) return 'malformed';
  // Index 0 only tells a term that is higher than that of an append or heartbeat.
  if (term > core.term) return index === 0 ? undefined : 'not_asked';
  const { handedOut, last } = core.log;
  return inThisTerm(core, term) && index > (from === core.id ? handedOut : last)
    ? 'beyond_log'
    : undefined;
}

function refusalOfAppendRejection(core: Core, message: AppendRejection): RefusedReason | undefined {
  const { rejectedIndex, hintIndex, hintTerm, term, life, lost } = message;
  if (!isCount(rejectedIndex) || !isCount(hintIndex) || !isCount(hintTerm)) return 'malformed';
  if (!isCount(life) || !isCount(lost) || (lost !== 0 && lost === life)) return 'malformed';
  if (hintIndex > rejectedIndex || hintTerm > term) return 'malformed';
  if (hintTerm > 0 && hintIndex === 0) return 'malformed';
  if (term > core.term) return 'not_asked';
  return inThisTerm(core, term) && rejectedIndex > core.log.last ? 'beyond_log' : undefined;
}

/** A round or a time that this leader has not sent would confirm reads and prolong its lease. */
function refusalOfHeartbeatResponse(
  core: Core,
  message: HeartbeatResponse,
): RefusedReason | undefined {
  if (!isClock(message) || !isCount(message.lost)) return 'malformed';
  if (message.term > core.term) return 'not_asked';
  const ahead = message.round > core.reads.round || message.sentMs > core.nowMs;
  return inThisTerm(core, message.term) && ahead ? 'not_asked' : undefined;
}

function refusalOfReport(core: Core, message: AppendDurable): RefusedReason | undefined {
  const { sequence, index, entryTerm, snapshotIndex } = message;
  if (![sequence, index, entryTerm, snapshotIndex].every(isCount)) return 'malformed';
  return message.term > core.term || sequence > core.appends.started ? 'not_asked' : undefined;
}

function inThisTerm(core: Core, term: Term): boolean {
  return core.role === 'leader' && term === core.term;
}

function saysToItself({ type }: Message): boolean {
  return (
    type === 'append-durable' ||
    type === 'append-response' ||
    type === 'vote-response' ||
    type === 'pre-vote-response'
  );
}

export function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

function isIndex(value: LogIndex): boolean {
  return isCount(value) && value <= INDEX_MAX;
}

/** The place of an entry, or before the first one. */
function isPlace(index: LogIndex, term: Term): boolean {
  return isIndex(index) && isCount(term) && (index === 0) === (term === 0);
}

function isClock({ round, sentMs }: { readonly round: number; readonly sentMs: number }): boolean {
  return isCount(round) && Number.isFinite(sentMs) && sentMs >= 0;
}
