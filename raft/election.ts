/**
 * Elections: when a node campaigns, what it asks, and when it votes.
 *
 * Safety rests on three things. A voter gives one vote a term and remembers it on disk before it
 * answers. A voter refuses a candidate whose log is behind its own. And a candidate's term, its
 * vote for itself and its whole log are durable before it asks: otherwise it could win, crash,
 * forget, and win the same term once more with another log, helped by answers still on their way.
 * That is why vote requests, unlike appends, wait for the disk.
 *
 * Liveness rests on the pre-vote (a node that was cut off cannot depose a leader by a high term)
 * and on the refusal to vote while a leader is heard.
 */
import { isVoter, members } from './configuration.js';
import type { Core } from './core.js';
import { logIndex, NO_NODE, term } from './identifiers.js';
import { TERM_MAX } from './intake.js';
import type { PreVoteRequest, PreVoteResponse, VoteRequest, VoteResponse } from './messages.js';
import { voteResult } from './quorum.js';
import { broadcastAppend } from './replication.js';

/** Any voter that can win has tried several times by then. */
const LAST_HOLDER_TIMEOUTS = 5;
const SCAN_BYTES_MAX = 1_048_576;

/** Starts an election unless this node must not win one. */
export function campaign(core: Core, forced: boolean): void {
  if (core.role === 'leader' || !electable(core)) return;
  // Its own vote, too, is promised to nobody while a leader may count on it.
  if (!forced && core.promised) return;
  if (forced && !isVoter(core.configuration, core.id)) return;
  core.electionSinceMs = core.ranMs;
  if (configurationUnapplied(core)) return;
  if (core.settings.preVote && !forced) askForPreVotes(core);
  else askForVotes(core, forced);
}

function electable(core: Core): boolean {
  return (
    (isVoter(core.configuration, core.id) || lastHolder(core)) &&
    core.electable &&
    core.term < TERM_MAX &&
    core.recovery === undefined &&
    !core.appends.failed &&
    !core.appendStuck &&
    !core.log.snapshotPending
  );
}

/** A candidate from further ahead: the lease of a living leader comes first, unless it agreed. */
export function refusedByLease(core: Core, message: VoteRequest | PreVoteRequest): boolean {
  if (message.type === 'vote-request' && message.forced) return false;
  if (core.promised) return true;
  return (
    message.term > core.term &&
    core.settings.checkQuorum &&
    core.leader !== NO_NODE &&
    core.sinceLeaderMs() < core.settings.electionTimeoutMs
  );
}

export function onVoteRequest(core: Core, message: VoteRequest | PreVoteRequest): void {
  if (core.recovery !== undefined) {
    core.drops.recovering++;
    return;
  }
  const pre = message.type === 'pre-vote-request';
  const free =
    core.vote === message.from ||
    (core.vote === NO_NODE && core.leader === NO_NODE) ||
    (pre && message.term > core.term);
  const granted = free && core.log.upToDate(message.lastIndex, message.lastTerm);
  core.send({
    type: pre ? 'pre-vote-response' : 'vote-response',
    from: core.id,
    to: message.from,
    // A grant speaks of the candidate's term, a rejection tells it ours.
    term: granted ? message.term : core.term,
    granted,
  });
  if (granted && !pre) {
    core.vote = message.from;
    core.electionSinceMs = core.ranMs;
  }
}

export function onVoteResponse(core: Core, message: VoteResponse | PreVoteResponse): void {
  const pre = message.type === 'pre-vote-response';
  // A granted pre-vote speaks of the term that was asked for: it may be an older one.
  if (pre && message.granted && message.term !== core.term + 1) {
    core.drops.unawaited++;
    return;
  }
  if (core.role !== (pre ? 'pre-candidate' : 'candidate')) return;
  if (!isVoter(core.configuration, message.from) && message.from !== core.id) {
    core.drops.unknown_sender++;
    return;
  }
  if (!core.votes.has(message.from)) core.votes.set(message.from, message.granted);
  const result = voteResult(core.configuration, core.votes);
  if (result === 'pending') return;
  if (result === 'lost') {
    core.becomeFollower(core.term, NO_NODE);
  } else if (core.role === 'pre-candidate') {
    askForVotes(core, false);
  } else {
    core.becomeLeader();
    broadcastAppend(core);
  }
}

/**
 * A node without a vote that holds entries beyond those it knows committed, and has waited long in
 * vain for a leader. It led when it lost its vote, and its leadership ended before the others had
 * the entries; they may still need its vote, which it must refuse to whoever lacks them. Were it
 * not to campaign, nobody could ever win. Its pre-vote fails wherever a leader lives or a log is
 * longer, and once it leads it retires with its log committed.
 */
function lastHolder(core: Core): boolean {
  const { settings, log } = core;
  if (!settings.preVote || log.last === log.committed) return false;
  return core.sinceLeaderMs() >= LAST_HOLDER_TIMEOUTS * settings.electionTimeoutMs;
}

function askForPreVotes(core: Core): void {
  core.becomePreCandidate();
  const { id: from, log } = core;
  const next = term(core.term + 1);
  const { last: lastIndex, lastTerm } = log;
  for (const to of voters(core)) {
    if (to === from) {
      core.send({ type: 'pre-vote-response', from, to, term: next, granted: true });
    } else {
      core.send({ type: 'pre-vote-request', from, to, term: next, lastIndex, lastTerm });
    }
  }
}

function askForVotes(core: Core, forced: boolean): void {
  core.becomeCandidate();
  const { id: from, log } = core;
  const { last: lastIndex, lastTerm } = log;
  for (const to of voters(core)) {
    if (to === from) {
      core.send({ type: 'vote-response', from, to, term: core.term, granted: true });
    } else {
      core.send({ type: 'vote-request', from, to, term: core.term, lastIndex, lastTerm, forced });
    }
  }
}

function voters(core: Core): readonly Core['id'][] {
  return members(core.configuration).filter((id) => isVoter(core.configuration, id));
}

/**
 * A committed change of configuration that this node has not applied could mean that it counts the
 * wrong votes.
 */
function configurationUnapplied(core: Core): boolean {
  const { log } = core;
  let from = logIndex(log.applied + 1);
  const end = logIndex(log.committed + 1);
  while (from < end) {
    const entries = log.entries(from, end, SCAN_BYTES_MAX);
    if (entries.length === 0) return true;
    if (entries.some((entry) => entry.type === 'configuration')) return true;
    from = logIndex(from + entries.length);
  }
  return false;
}
