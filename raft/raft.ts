/**
 * One member of a consensus group, as a pure function of what it is told: messages, proposals, the
 * passing of time. It has no clock, no randomness of its own, no socket and no disk; what it wants
 * done comes out of `ready()`. The same class runs in the process and in the simulator.
 *
 * The host's loop: call `tick`, `step`, `propose` as things happen; while `hasReady()`, take
 * `ready()` and do what its comment says. See README.md for the protocol and the reasons.
 */
import { ApplyWindow } from './apply-window.js';
import { assert } from './assert.js';
import { type ConfigurationChange, isVoter } from './configuration.js';
import { Core } from './core.js';
import { campaign, onVoteRequest, onVoteResponse, refusedByLease } from './election.js';
import { type Entry, entryBytes } from './entry.js';
import { endRecovery, needsSnapshot, onAppend, onHeartbeat, onSnapshot } from './following.js';
import { isNodeId, type LogIndex, logIndex, NO_NODE, type NodeId } from './identifiers.js';
import { type DropReason, refusalOf } from './intake.js';
import { promoteWhenReady, proposeChange, takeEffect } from './membership.js';
import type { AppendDurable, Message, SnapshotRequest, TransferRequest } from './messages.js';
import { completed, type RaftOptions } from './options.js';
import { onReadRequest, onReadResponse, startRead } from './reading.js';
import type {
  ConfigurationForce,
  ConfigurationProposal,
  Forgotten,
  HardState,
  Proposal,
  ProposalRefusal,
  ReadTicket,
  Ready,
  SoftState,
  Status,
  Transfer,
} from './ready.js';
import {
  broadcastAppend,
  broadcastHeartbeat,
  checkQuorum,
  onAppendRejection,
  onAppendResponse,
  onHeartbeatResponse,
  onSnapshotReport,
  startTransfer,
} from './replication.js';
import { statusOf } from './status.js';

const NO_MESSAGES: Message[] = [];
const NO_ENTRIES: readonly Entry[] = [];

export class Raft {
  readonly #core: Core;
  readonly #applyWindow: ApplyWindow;
  #hostMs: number;
  #reportedHard: HardState;
  #reportedSoft: SoftState;

  constructor(options: RaftOptions) {
    const settings = completed(options.settings);
    assert(isNodeId(options.id), `node id ${options.id}`);
    assert(Number.isFinite(options.nowMs), `the clock says ${options.nowMs}`);
    this.#hostMs = options.nowMs;
    this.#reportedHard = options.hardState;
    const recovering = options.recovering === true;
    this.#reportedSoft = { role: 'follower', leader: NO_NODE, leading: false, recovering };
    this.#core = new Core(options, settings);
    this.#applyWindow = new ApplyWindow(settings.applyingBytesMax);
  }

  /**
   * Time has come to `nowMs` on the host's monotonic clock. Call at least every heartbeat, and
   * between two calls step the messages that had arrived before the first (`running-time.ts`).
   */
  tick(nowMs: number): void {
    const core = this.#core;
    this.#advanceTo(nowMs);
    core.tick();
    core.reads.expire(core.ranMs - core.settings.electionTimeoutMs);
    if (core.role === 'leader') this.#tickLeader();
    else if (core.sinceLeaderMs() >= core.campaignAfterMs) campaign(core, false);
  }

  /**
   * A message arrived, from a peer or (out of `afterDurable`) from this node itself. The transport
   * vouches for `from`. A message that cannot be changes nothing and is counted.
   */
  step(message: Message): void {
    const core = this.#core;
    const drop = this.#dropReason(message);
    if (drop !== undefined) {
      core.drops[drop]++;
      return;
    }
    if (message.type === 'append-durable') {
      this.#onAppendDurable(message);
      return;
    }
    if (message.term < core.term) {
      core.drops.old_term++;
      this.#onOldTerm(message);
      return;
    }
    if (message.term > core.term) this.#onNewTerm(message);
    this.#dispatch(message);
  }

  /**
   * Logs `data`, which nobody changes any more. Committed: handed out with this index AND term.
   */
  propose(data: Uint8Array): Proposal {
    const refusal = this.#refusal(data.length);
    if (refusal !== undefined) return { accepted: false, reason: refusal };
    const index = this.#core.append('normal', data);
    broadcastAppend(this.#core);
    return { accepted: true, index, term: this.#core.term };
  }

  /** Logs all or none, in one append message per peer; the answer names the last. */
  proposeAll(data: readonly Uint8Array[]): Proposal {
    assert(data.length > 0, 'a proposal of nothing');
    let bytes = 0;
    for (const one of data) bytes += one.length;
    const refusal = this.#refusal(bytes);
    if (refusal !== undefined) return { accepted: false, reason: refusal };
    let index = logIndex(0);
    for (const one of data) index = this.#core.append('normal', one);
    broadcastAppend(this.#core);
    return { accepted: true, index, term: this.#core.term };
  }

  /**
   * Changes the members, if `expectedIndex` still names the current configuration. It counts once
   * applied. `in_flight` and `nothing_to_leave` leave an empty entry in the log.
   */
  proposeConfiguration(
    change: ConfigurationChange,
    expectedIndex: LogIndex,
    { force = false }: ConfigurationForce = {},
  ): ConfigurationProposal {
    const refusal = this.#refusal(0);
    if (refusal !== undefined) return { accepted: false, reason: refusal };
    return proposeChange(this.#core, change, expectedIndex, force);
  }

  /** Asks for `target` to lead. A follower passes it on. It may fail; proposals wait meanwhile. */
  transferLeader(target: NodeId): Transfer {
    const core = this.#core;
    if (core.appends.failed) return { accepted: false, reason: 'append_failed' };
    if (core.leader === NO_NODE) return { accepted: false, reason: 'no_leader' };
    if (core.leader === target) return { accepted: false, reason: 'already_leader' };
    if (!isVoter(core.configuration, target)) return { accepted: false, reason: 'not_voter' };
    if (core.role === 'leader') this.#startTransfer(target);
    else {
      const { id: from, leader: to, term } = core;
      core.send({ type: 'transfer-request', from, to, term, target });
    }
    return { accepted: true };
  }

  /** Starts a linearizable read; its end comes as a `ReadState` with the id of the ticket. */
  readIndex(nowMs: number): ReadTicket {
    const core = this.#core;
    this.#advanceTo(nowMs);
    if (core.appends.failed) return { accepted: false, reason: 'append_failed' };
    if (core.leader === NO_NODE) return { accepted: false, reason: 'no_leader' };
    if (core.reads.pending >= core.settings.readsMax) {
      return { accepted: false, reason: 'too_many_reads' };
    }
    const id = core.reads.mint();
    if (core.role === 'leader') startRead(core, { id, from: core.id });
    else {
      core.reads.forward(id, core.ranMs);
      core.send({ type: 'read-request', from: core.id, to: core.leader, term: core.term, id });
    }
    return { accepted: true, id };
  }

  /** Campaigns now instead of after the election timeout, if this node may. */
  campaign(): void {
    campaign(this.#core, false);
  }

  /**
   * A follower or candidate no longer counts on its leader, so that it may vote for another at
   * once. The next message of that leader undoes it.
   */
  forgetLeader(): Forgotten {
    const core = this.#core;
    if (core.appends.failed) return { accepted: false, reason: 'append_failed' };
    if (core.role === 'leader') return { accepted: false, reason: 'leading' };
    if (core.settings.reads === 'lease') return { accepted: false, reason: 'lease_reads' };
    core.leader = NO_NODE;
    return { accepted: true };
  }

  /**
   * False: this node does not campaign, not even when leadership is handed to it, because it mends
   * its log or is about to stop. It goes on voting, and leading if it does.
   */
  setElectable(electable: boolean): void {
    this.#core.electable = electable;
  }

  /**
   * Whether the state that the message offers is worth fetching. If not, step the message at once:
   * the answer, if it deserves one, tells the leader where to go on.
   */
  needsSnapshot(message: SnapshotRequest): boolean {
    return refusalOf(this.#core, message) === undefined && needsSnapshot(this.#core, message);
  }

  hasReady(): boolean {
    const core = this.#core;
    if (core.messages.length > 0 || core.afterDurable.length > 0) return true;
    if (core.reads.hasStates || this.#softChanged() || this.#hardChanged()) return true;
    if (core.appends.failed) return false;
    return (
      core.log.hasUnwritten() ||
      (core.log.hasCommittedToApply() && this.#applyWindow.roomBytes > 0) ||
      (core.role === 'leader' && core.reads.wantsRound)
    );
  }

  ready(): Ready {
    const core = this.#core;
    if (core.role === 'leader' && core.reads.wantsRound) broadcastHeartbeat(core);
    const failed = core.appends.failed;
    const snapshot = failed ? undefined : core.log.takeSnapshot();
    const entries = failed ? NO_ENTRIES : core.log.takeUnwritten();
    const voteChanged =
      core.term !== this.#reportedHard.term || core.vote !== this.#reportedHard.vote;
    const hardState = this.#takeHard();
    const mustSync = !failed && (voteChanged || entries.length > 0 || snapshot !== undefined);
    if (mustSync) this.#askForReport(snapshot?.index ?? logIndex(0));
    const { messages, afterDurable } = core;
    core.messages = messages.length > 0 ? [] : messages;
    core.afterDurable = afterDurable.length > 0 ? [] : afterDurable;
    return {
      softState: this.#takeSoft(),
      hardState,
      snapshot,
      entries,
      mustSync,
      messages: messages.length > 0 ? messages : NO_MESSAGES,
      afterDurable: afterDurable.length > 0 ? afterDurable : NO_MESSAGES,
      committed: this.#takeCommitted(),
      readStates: core.reads.takeStates(),
    };
  }

  /** The host's state contains everything up to `index`, which was handed out before. */
  applied(index: LogIndex): void {
    const { log } = this.#core;
    assert(Number.isSafeInteger(index), `applied ${index}`);
    // A snapshot that came in between already contains it.
    if (index <= log.applied) return;
    log.appliedTo(index);
    this.#applyWindow.settle(index);
    takeEffect(this.#core);
  }

  /**
   * A write of the log failed, so what the disk holds is not known. Leadership ends before anything
   * else: were it to go on, the next entry would reuse an index that peers already hold. This
   * object takes part no more; a new one is made from what the disk is found to hold.
   */
  appendFailed(): void {
    const core = this.#core;
    core.becomeFollower(core.term, NO_NODE);
    core.appends.failed = true;
    core.messages = [];
    core.afterDurable = [];
  }

  /** A part of the oldest append under way is durable: the disk works, though it is not done. */
  appendMoved(): void {
    this.#core.appends.moved(this.#core.ranMs);
  }

  /** The transport could not send to a peer: probe instead of piling up appends. */
  reportUnreachable(peer: NodeId): void {
    const progress = this.#core.peers.get(peer);
    if (this.#core.role === 'leader' && progress?.state === 'replicate') progress.becomeProbe();
  }

  /** A snapshot has been streamed to a peer, or cannot be. */
  reportSnapshot(peer: NodeId, outcome: 'sent' | 'failed'): void {
    onSnapshotReport(this.#core, peer, outcome);
  }

  status(): Status {
    return statusOf(this.#core);
  }

  /** A member that holds so much is caught up with what is committed, out of the storage. */
  isCatchingUp(match: LogIndex): boolean {
    const { log } = this.#core;
    return match <= log.committed && log.isStored(logIndex(match + 1));
  }

  /** Messages that were refused or of no use, by reason, since this object was made. */
  counters(): Readonly<Record<DropReason, number>> {
    return { ...this.#core.drops };
  }

  /**
   * Moves the core's own clock, which only goes forward. A step forward, whatever its size, ends a
   * lease that is over by then, and costs nobody the leadership (`running-time.ts`). When the clock
   * goes back, nobody can tell how much time has passed: a lease may be over, so a leader steps
   * down.
   */
  #advanceTo(nowMs: number): void {
    const core = this.#core;
    // No time of ours would move again: a leader without a quorum would stay one.
    assert(Number.isFinite(nowMs), `the clock says ${nowMs}`);
    const deltaMs = nowMs - this.#hostMs;
    this.#hostMs = nowMs;
    core.timePasses(Math.max(deltaMs, 0));
    if (deltaMs < 0 && core.role === 'leader' && core.settings.checkQuorum && !core.alone) {
      core.becomeFollower(core.term, NO_NODE);
    }
  }

  #tickLeader(): void {
    const core = this.#core;
    const { settings } = core;
    if (core.sinceLeaderMs() >= settings.electionTimeoutMs) {
      core.electionSinceMs = core.ranMs;
      if (settings.checkQuorum) checkQuorum(core);
    }
    if (core.ranMs - core.transferSinceMs >= settings.electionTimeoutMs) {
      core.transferTarget = NO_NODE;
    }
    // Alone, nobody could take over, and stepping down would only add an election to a slow disk.
    if (core.appendStuck && !core.alone) core.becomeFollower(core.term, NO_NODE);
    if (core.role !== 'leader') return;
    if (core.nowMs - core.heartbeatSinceMs >= settings.heartbeatMs) {
      core.heartbeatSinceMs = core.nowMs;
      broadcastHeartbeat(core);
      promoteWhenReady(core);
    }
  }

  #dropReason(message: Message): DropReason | undefined {
    const core = this.#core;
    if (core.appends.failed) return 'append_failed';
    const refused = refusalOf(core, message);
    if (refused !== undefined) return refused;
    const asksForVote = message.type === 'vote-request' || message.type === 'pre-vote-request';
    const byLease = asksForVote && message.term >= core.term && refusedByLease(core, message);
    return byLease ? 'lease' : undefined;
  }

  #onNewTerm(message: Message): void {
    switch (message.type) {
      case 'pre-vote-request':
        return;
      case 'pre-vote-response':
        // A grant echoes the term that this node would take. A rejection tells a real one, which
        // must be adopted: asking for it again and again would never win.
        if (message.granted) return;
        break;
      case 'append':
      case 'heartbeat':
      case 'snapshot':
        this.#core.becomeFollower(message.term, message.from);
        return;
      default:
    }
    this.#core.becomeFollower(message.term, NO_NODE);
  }

  #onOldTerm(message: Message): void {
    const core = this.#core;
    const { preVote, checkQuorum: checks } = core.settings;
    const { id: from, term } = core;
    const to = message.from;
    switch (message.type) {
      case 'append':
      case 'heartbeat':
        // The sender may be a leader that nobody tells, because under these two settings a node of
        // a higher term does not disturb it, and one that recovers or must not be elected never
        // does. The reply's term makes it step down.
        if (preVote || checks || core.recovery !== undefined || !core.electable) {
          core.send({ type: 'append-response', from, to, term, index: logIndex(0), life: 0 });
        }
        return;
      case 'pre-vote-request':
        core.send({ type: 'pre-vote-response', from, to, term, granted: false });
        return;
      default:
    }
  }

  #dispatch(message: Exclude<Message, AppendDurable>): void {
    const core = this.#core;
    switch (message.type) {
      case 'pre-vote-request':
      case 'vote-request':
        onVoteRequest(core, message);
        break;
      case 'pre-vote-response':
      case 'vote-response':
        onVoteResponse(core, message);
        break;
      case 'append':
        onAppend(core, message);
        break;
      case 'heartbeat':
        onHeartbeat(core, message);
        break;
      case 'snapshot':
        onSnapshot(core, message);
        break;
      case 'append-response':
        onAppendResponse(core, message);
        break;
      case 'append-rejection':
        onAppendRejection(core, message);
        break;
      case 'heartbeat-response':
        onHeartbeatResponse(core, message);
        break;
      case 'timeout-now':
        if (core.role === 'follower') campaign(core, true);
        break;
      case 'transfer-request':
        this.#onTransferRequest(message);
        break;
      case 'read-request':
        onReadRequest(core, message);
        break;
      case 'read-response':
        onReadResponse(core, message);
        break;
    }
  }

  #onTransferRequest({ from, target }: TransferRequest): void {
    const core = this.#core;
    if (core.role !== 'leader' || !isVoter(core.configuration, target)) return;
    if (core.peers.has(from)) this.#startTransfer(target);
    else core.drops.unknown_sender++;
  }

  #onAppendDurable(message: AppendDurable): void {
    const { appends, log, term } = this.#core;
    appends.settle(message.sequence, this.#core.ranMs);
    if (message.term > 0) this.#core.hasDurableTerm = true;
    // In a later term the entries may have been replaced; the write of that term's vote follows and
    // vouches for whatever stands then. A snapshot is committed and cannot be replaced.
    const index = message.term === term ? message.index : logIndex(0);
    const before = log.applied;
    log.durableTo(index, message.entryTerm, message.snapshotIndex);
    endRecovery(this.#core);
    if (log.applied !== before) this.#applyWindow.clear();
  }

  #refusal(bytes: number): ProposalRefusal | undefined {
    const core = this.#core;
    if (core.appends.failed) return 'append_failed';
    if (!core.takesProposals) return 'not_leader';
    if (core.transferTarget !== NO_NODE) return 'transferring';
    const waiting = core.uncommittedBytes;
    const full = bytes > 0 && waiting > 0 && waiting + bytes > core.settings.uncommittedBytesMax;
    return full ? 'uncommitted_full' : undefined;
  }

  #startTransfer(target: NodeId): void {
    const core = this.#core;
    const peer = core.peers.get(target);
    if (peer === undefined || target === core.id || target === core.transferTarget) return;
    startTransfer(core, target, peer);
  }

  #askForReport(snapshotIndex: LogIndex): void {
    const core = this.#core;
    const index = core.log.handedOut;
    core.afterDurable.push({
      type: 'append-durable',
      from: core.id,
      to: core.id,
      term: core.term,
      sequence: core.appends.start(core.ranMs),
      index,
      entryTerm: core.log.lastTerm,
      snapshotIndex,
    });
  }

  #takeCommitted(): readonly Entry[] {
    const core = this.#core;
    const room = this.#applyWindow.roomBytes;
    if (room <= 0 || core.appends.failed) return NO_ENTRIES;
    const entries = core.log.takeCommitted(room);
    const last = entries.at(-1);
    if (last === undefined) return NO_ENTRIES;
    let bytes = 0;
    for (const entry of entries) {
      bytes += entryBytes(entry);
      // Only what this leader itself proposed was ever counted.
      if (core.role === 'leader' && entry.term === core.term)
        core.uncommittedBytes -= entry.data.length;
      if (entry.type === 'configuration') core.configurationsInApply.push(entry);
    }
    this.#applyWindow.add(last.index, bytes);
    return entries;
  }

  #hardChanged(): boolean {
    const { term, vote, log, appends } = this.#core;
    const before = this.#reportedHard;
    if (appends.failed) return false;
    return term !== before.term || vote !== before.vote || log.committed !== before.commit;
  }

  #takeHard(): HardState | undefined {
    if (!this.#hardChanged()) return undefined;
    const { term, vote, log } = this.#core;
    this.#reportedHard = { term, vote, commit: log.committed };
    return this.#reportedHard;
  }

  #softChanged(): boolean {
    const { role, leader, leading, recovery } = this.#core;
    const before = this.#reportedSoft;
    if (role !== before.role || leader !== before.leader) return true;
    return leading !== before.leading || (recovery !== undefined) !== before.recovering;
  }

  #takeSoft(): SoftState | undefined {
    if (!this.#softChanged()) return undefined;
    const { role, leader, leading, recovery } = this.#core;
    this.#reportedSoft = { role, leader, leading, recovering: recovery !== undefined };
    return this.#reportedSoft;
  }
}
