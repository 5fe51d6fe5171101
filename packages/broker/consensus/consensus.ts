/**
 * Drives the consensus core: the core decides, this file does. It takes what the core has ready,
 * has term, vote and entries made durable, tells the core when they are, sends what is for other
 * members, and hands committed entries over.
 *
 * What must hold:
 * - What may only leave "after durable" (votes, append acknowledgements, also those to this node)
 *   waits for the writes of its own round and of every round before it.
 * - An entry is applied only when this node's own log holds it durably, even if a majority
 *   elsewhere does already: otherwise a checkpoint could claim what a power loss takes from the
 *   log.
 * - Entries are applied one batch at a time. Whoever applies may call back at once (a proposal, a
 *   read, more room), and what is committed meanwhile waits until the batch counts as applied.
 * - An error inside a round leaves it half done: messages unsent, entries unwritten or applied in
 *   part. Nothing may go on from there, whoever catches the error.
 * - A failed write ends the process (the log's owner sees to it); nothing is retried on a disk that
 *   lost a write.
 * - Who waits for a read or a change of members is answered once, and nothing of a leadership
 *   outlives it.
 */

import {
  type ConfigurationChange,
  type ConfigurationRefusal,
  DEFAULT_SETTINGS,
  type Entry,
  isJoint,
  logIndex,
  type Message,
  NO_NODE,
  type NodeId,
  Raft,
  type RaftSettings,
  type ReadState,
  type Ready,
  type Snapshot,
  type SnapshotRequest,
  type SoftState,
  type Status,
  type Transfer,
  term as toTerm,
} from '@svc/raft';
import type { HardStateFile, Log } from '@svc/storage';
import type { Cancel, Clock } from '../system/clock.js';
import { LogStorage, provenCommit, storedEntry } from './consensus-storage.js';
import type { KnownMembers } from './group-founding.js';
import { LaggardAnswers } from './laggard-answers.js';

export interface ConsensusOptions {
  readonly id: NodeId;
  readonly log: Log;
  readonly hardState: HardStateFile;
  readonly clock: Clock;
  readonly random: () => number;
  readonly settings: Partial<RaftSettings>;
  readonly tickMs: number;
  /** What a configuration that the core writes by itself is to carry. */
  readonly context: () => Uint8Array;
  /** A message for another member; it may be lost. */
  readonly send: (message: Message) => void;
  /** Memory for entries that are read for a message to `send`, and for nothing else. */
  readonly memoryToSend: (bytes: number) => Uint8Array;
  /** For what members lack that are far behind, to all of them together. */
  readonly catchUpBytesPerSecond: number;
  /** Consumers read what was logged a moment ago: false on a standby, which has none. */
  readonly isConsumed: () => boolean;
  /** What stands for the log before its first entry, when it can be offered. */
  readonly snapshot: () => Snapshot | undefined;
  /** A member was to be sent entries that cannot be read. */
  readonly onDamage: () => void;
  /**
   * Entries in log order, durable here and on a majority. Returns how many of them it applied; the
   * rest is offered again with `applyMore()`, or when more is committed.
   */
  readonly onCommitted: (entries: readonly Entry[]) => number;
  /** They count as applied from now on. */
  readonly onApplied: () => void;
  readonly onRole: (role: SoftState) => void;
  /** This node lost what it had acknowledged. Nothing leaves it before this returns. */
  readonly onLoss: () => void;
  /** Proposals are taken again after a time in which they were not. */
  readonly onAccepting: () => void;
}

/** A follower campaigns at a random time between one and so many election timeouts. */
const CAMPAIGN_TIMEOUTS_MAX = 2;
/** How long a confirmed read waits for this node to apply what it has to show. */
const READ_APPLY_MS_MAX = 10_000;

/** false: to be asked again; leadership changed, nobody answered, or this node is far behind. */
export type ReadDone = (confirmed: boolean) => void;

export type MemberChangeRefusal = ConfigurationRefusal | 'leader_changed';

export type MemberChangeDone = (
  result:
    | { readonly accepted: true; readonly index: number }
    | { readonly accepted: false; readonly reason: MemberChangeRefusal },
) => void;

interface Round {
  writesLeft: number;
  readonly afterDurable: readonly Message[];
}

interface ConfirmedRead {
  readonly index: number;
  readonly untilMs: number;
  readonly done: ReadDone;
}

interface PendingChange {
  readonly index: number;
  readonly term: number;
  readonly done: MemberChangeDone;
}

export class Consensus {
  readonly #options: ConsensusOptions;
  /** null until the log is whole. */
  #raft: Raft | null = null;
  readonly #laggards: LaggardAnswers;
  readonly #rounds: Round[] = [];
  #committed: Entry[] = [];
  readonly #reads = new Map<number, ReadDone>();
  /** Confirmed, and waiting for this node to apply up to their index; ascending. */
  #confirmed: ConfirmedRead[] = [];
  #change: PendingChange | null = null;
  #saved: { term: number; vote: number } = { term: 0, vote: 0 };
  #pumping = false;
  #applying = false;
  #failed = false;
  #started = false;
  #stopTicking: Cancel | null = null;
  #lastIndex: number;
  /** As of the last ready that changed it. */
  #commit = 0;
  #applied = 0;
  #role: SoftState = { role: 'follower', leader: NO_NODE, leading: false, recovering: false };
  #alone = false;
  #transferring = false;
  #leaderSilenceMs = 0;
  #leaderHeardMs = 0;
  /** As of the last tick: how far the log came with large writes. */
  #partBytes = 0;

  constructor(options: ConsensusOptions) {
    this.#options = options;
    const { clock, catchUpBytesPerSecond: bytesPerSecond } = options;
    this.#laggards = new LaggardAnswers({ clock, bytesPerSecond }, (answer) => {
      this.#running.step(answer);
      this.#pump();
    });
    this.#lastIndex = options.log.lastIndex;
  }

  /**
   * Begins to tick and to take messages, once what the log was opened with is durable. The log must
   * be whole: what it holds is what this node vouches for. `recovering`: it lost entries that it
   * may have acknowledged. Nothing up to `appliedIndex` is handed out. A group of one elects itself
   * at once instead of waiting for its time-out.
   */
  start(members: KnownMembers, appliedIndex: number, recovering: boolean): void {
    const { log } = this.#options;
    this.#applied = appliedIndex;
    this.#raft = this.#newRaft(members, appliedIndex, recovering);
    if (log.durableIndex < log.lastIndex) log.append([], () => this.#begin());
    else this.#begin();
  }

  #newRaft(members: KnownMembers, appliedIndex: number, recovering: boolean): Raft {
    const { id, log, hardState, clock, ...options } = this.#options;
    const stored = hardState.state ?? { term: 0, vote: 0 };
    const lastTerm = log.term(log.lastIndex) ?? 0;
    // Entries of a term may be durable before that term is: the vote of such a term was never sent.
    this.#saved = lastTerm > stored.term ? { term: lastTerm, vote: NO_NODE } : stored;
    this.#lastIndex = log.lastIndex;
    return new Raft({
      id,
      nowMs: clock.nowMs(),
      random: options.random,
      context: options.context,
      storage: new LogStorage(log, {
        applied: () => this.#applied,
        offer: options.snapshot,
        onDamage: options.onDamage,
        memoryToSend: options.memoryToSend,
        onSend: (bytes) => this.#laggards.sent(bytes),
      }),
      hardState: {
        term: toTerm(this.#saved.term),
        vote: this.#saved.vote as NodeId,
        commit: logIndex(provenCommit(log, appliedIndex)),
      },
      configuration: members.configuration,
      configurationIndex: logIndex(members.index),
      applied: logIndex(appliedIndex),
      recovering,
      settings: options.settings,
    });
  }

  /** Nothing is said or taken from here on. */
  stop(): void {
    this.#started = false;
    this.#laggards.stop();
    this.#stopTicking?.();
    this.#stopTicking = null;
  }

  /** null until consensus has started. */
  status(): Status | null {
    return this.#raft?.status() ?? null;
  }

  /** False: this node does not campaign; a leader goes on until it hands over. */
  setElectable(electable: boolean): void {
    this.#raft?.setElectable(electable);
  }

  /** Everything up to here was handed over and is applied. */
  get applied(): number {
    return this.#applied;
  }

  /** The leader that this node knows of; NO_NODE when it knows none. */
  get leader(): NodeId {
    return this.#role.leader;
  }

  /** How long this follower's leader had not been heard a tick ago, or when it had one last. */
  get leaderSilenceMs(): number {
    return this.#leaderSilenceMs;
  }

  /** The index that the next proposal will have, if this node leads. */
  get nextIndex(): number {
    return this.#lastIndex + 1;
  }

  /** The only voter, as of what this node has applied: a start may not know of later members. */
  get alone(): boolean {
    return this.#alone;
  }

  /** No other member's word is needed: what this node has applied is all there is. */
  get leadsAlone(): boolean {
    return this.#alone && this.#role.leading;
  }

  /** False before it starts, and once it has stopped: nothing is sent or written any more. */
  get isRunning(): boolean {
    return this.#started;
  }

  /** False while a transfer is under way: it may fail, and this node then leads on. */
  get accepting(): boolean {
    return !this.#transferring;
  }

  /** null: it is not logged; ask the leader, or again. */
  propose(body: Uint8Array): { readonly index: number; readonly term: number } | null {
    if (!this.#started) return null;
    const proposal = this.#running.propose(body);
    if (!proposal.accepted) {
      // The leader bounds what is in flight by itself. If it does not, the node would refuse every
      // write from here on while it leads: better to end and start again.
      if (proposal.reason === 'uncommitted_full') {
        const what = `a leader with room for this entry was refused: ${proposal.reason}`;
        this.#endProcess(new Error(what));
      }
      return null;
    }
    this.#pump();
    return proposal;
  }

  /** A message of another member; whoever calls has made sure that it is for this one. */
  receive(message: Message): void {
    if (!this.#started) return;
    if (message.type === 'append-response' && this.#running.isCatchingUp(message.index)) {
      this.#laggards.add(message);
      return;
    }
    this.#running.step(message);
    if (message.type === 'transfer-request') this.#lookAtTransfer();
    this.#pump();
  }

  /** Whether the rows that a leader offers would bring this node anything. */
  needsSnapshot(message: SnapshotRequest): boolean {
    return this.#started && this.#running.needsSnapshot(message);
  }

  /** A member has installed what it was offered, or cannot. */
  snapshotSent(member: NodeId, installed: boolean): void {
    if (!this.#started) return;
    this.#running.reportSnapshot(member, installed ? 'sent' : 'failed');
    this.#pump();
  }

  /** Messages that were not taken, by reason. */
  counters(): Readonly<Record<string, number>> {
    return this.#raft?.counters() ?? {};
  }

  /** There is room again for what committed entries change. */
  applyMore(): void {
    if (!this.#started) return;
    this.#apply();
    this.#pump();
  }

  unreachable(member: NodeId): void {
    if (!this.#started) return;
    this.#running.reportUnreachable(member);
    this.#pump();
  }

  /**
   * Calls `done` once this node has applied everything that was committed when it was asked, as the
   * leader of the moment has it confirmed by a quorum; or with false.
   */
  read(done: ReadDone): void {
    const raft = this.#started ? this.#raft : null;
    const ticket = raft?.readIndex(this.#options.clock.nowMs());
    if (ticket?.accepted !== true) {
      done(false);
      return;
    }
    this.#reads.set(ticket.id, done);
    this.#pump();
  }

  /**
   * `expectedIndex` is the entry of the configuration that the caller looked at. `done` runs once
   * the change counts, joint steps included, or when it is refused or can no longer be followed.
   */
  changeMembers(
    change: ConfigurationChange,
    expectedIndex: number,
    force: boolean,
    done: MemberChangeDone,
  ): void {
    if (this.#change !== null || this.#raft === null) {
      done({ accepted: false, reason: this.#raft === null ? 'not_leader' : 'in_flight' });
      return;
    }
    const expected = logIndex(expectedIndex);
    const proposal = this.#raft.proposeConfiguration(change, expected, { force });
    if (proposal.accepted) this.#change = { index: proposal.index, term: proposal.term, done };
    else done(proposal);
    this.#pump();
  }

  /** Hands leadership to a member. If that fails within an election timeout, this one goes on. */
  transfer(target: NodeId): Transfer {
    if (this.#raft === null) return { accepted: false, reason: 'no_leader' };
    const transfer = this.#raft.transferLeader(target);
    this.#lookAtTransfer();
    this.#pump();
    return transfer;
  }

  get #running(): Raft {
    if (this.#raft === null) throw new Error('consensus has not started');
    return this.#raft;
  }

  #begin(): void {
    const { clock, tickMs } = this.#options;
    this.#started = true;
    this.#stopTicking = clock.every(tickMs, () => {
      this.#lookAtWriting();
      this.#running.tick(clock.nowMs());
      if (this.#transferring) this.#lookAtTransfer();
      this.#forgetSilentLeader();
      if (this.#confirmed.length > 0) this.#endReads();
      this.#pump();
    });
    this.#pump();
    this.#countMembers();
    if (this.#alone) this.#running.campaign();
    this.#pump();
  }

  /** An entry of 60 MB takes a busy disk seconds: that it gets on is said before time is told. */
  #lookAtWriting(): void {
    const { partBytes } = this.#options.log;
    if (partBytes === this.#partBytes) return;
    this.#partBytes = partBytes;
    this.#running.appendMoved();
  }

  /**
   * A voter that may campaign does so when its leader falls silent, and has none from then on. A
   * learner, a node that mends its log, stops or was removed would count on that leader for ever.
   */
  #forgetSilentLeader(): void {
    const { role, leader } = this.#role;
    if (role !== 'follower' || leader === NO_NODE) return;
    const { clock, settings } = this.#options;
    const { electionTimeoutMs = DEFAULT_SETTINGS.electionTimeoutMs } = settings;
    const { leaderContactAgeMs } = this.#running.status();
    // The core knows none any more when the tick has made this node ask for votes.
    if (leaderContactAgeMs !== Infinity) this.#leaderHeardMs = clock.nowMs() - leaderContactAgeMs;
    this.#leaderSilenceMs = clock.nowMs() - this.#leaderHeardMs;
    if (leaderContactAgeMs > CAMPAIGN_TIMEOUTS_MAX * electionTimeoutMs) {
      this.#running.forgetLeader();
    }
  }

  #countMembers(): void {
    const { configuration, id } = this.#running.status();
    const { voters } = configuration;
    this.#alone = voters.length === 1 && voters[0] === id && !isJoint(configuration);
  }

  /** A write that fails at once may stop this node in the middle of a round: none follows it. */
  #pump(): void {
    if (this.#pumping || !this.#started) return;
    this.#pumping = true;
    const raft = this.#running;
    try {
      while (this.#started && raft.hasReady()) this.#take(raft.ready());
    } catch (error) {
      this.#endProcess(error);
    }
    this.#pumping = false;
  }

  /**
   * A handler of HTTP answers 500 for an error and goes on, with a node that would be silent for
   * ever after. So the error is thrown once more where nobody catches it.
   */
  #endProcess(error: unknown): never {
    this.stop();
    if (!this.#failed) {
      this.#failed = true;
      this.#options.clock.soon(() => {
        throw error;
      });
    }
    throw error;
  }

  #take(ready: Ready): void {
    if (ready.softState?.recovering === true && !this.#role.recovering) this.#options.onLoss();
    for (const message of ready.messages) this.#options.send(message);
    const round: Round = { writesLeft: 1, afterDurable: ready.afterDurable };
    this.#rounds.push(round);
    if (ready.hardState !== undefined) this.#commit = ready.hardState.commit;
    this.#save(ready, round);
    const first = ready.entries[0];
    if (first !== undefined) {
      round.writesLeft++;
      this.#lastIndex = first.index + ready.entries.length - 1;
      // Committed before they came: this node is being caught up.
      const isOld = this.#lastIndex <= this.#commit || !this.#options.isConsumed();
      this.#options.log.append(ready.entries.map(storedEntry), () => this.#written(round), isOld);
    }
    for (const entry of ready.committed) this.#committed.push(entry);
    for (const read of ready.readStates) this.#confirm(read);
    this.#written(round);
    if (ready.softState !== undefined) this.#follow(ready.softState);
    this.#apply();
  }

  /** Term and vote are written only when they change; of the commit index see `provenCommit`. */
  #save(ready: Ready, round: Round): void {
    const next = ready.hardState;
    if (next === undefined) return;
    if (next.term === this.#saved.term && next.vote === this.#saved.vote) return;
    this.#saved = { term: next.term, vote: next.vote };
    round.writesLeft++;
    this.#options.hardState.save(this.#saved, () => this.#written(round));
  }

  #written(round: Round): void {
    round.writesLeft--;
    if (!this.#started) return;
    for (;;) {
      const first = this.#rounds[0];
      if (first === undefined || first.writesLeft > 0) break;
      this.#rounds.shift();
      for (const message of first.afterDurable) {
        if (message.to === this.#options.id) this.#running.step(message);
        else this.#options.send(message);
      }
    }
    this.#apply();
    this.#pump();
  }

  #apply(): void {
    if (this.#applying) return;
    this.#applying = true;
    try {
      while (this.#started && this.#applyBatch());
    } catch (error) {
      this.#endProcess(error);
    }
    this.#applying = false;
  }

  /** False when there was nothing to apply, or no room for all of it. */
  #applyBatch(): boolean {
    const durable = this.#options.log.durableIndex;
    let count = 0;
    while (count < this.#committed.length) {
      const entry = this.#committed[count];
      if (entry === undefined || entry.index > durable) break;
      count++;
    }
    if (count === 0) return false;
    const offered = this.#committed.splice(0, count);
    const taken = this.#options.onCommitted(offered);
    if (taken < count) this.#committed = offered.slice(taken).concat(this.#committed);
    if (taken === 0) return false;
    const entries = offered.slice(0, taken);
    const { index } = entries[taken - 1] as Entry;
    this.#applied = index;
    this.#running.applied(logIndex(index));
    if (entries.some(({ type }) => type === 'configuration')) this.#countMembers();
    this.#options.onApplied();
    this.#endReads();
    if (this.#change !== null) this.#lookAtChange(this.#change, entries);
    return taken === count;
  }

  #follow(role: SoftState): void {
    const led = this.#role.role === 'leader';
    this.#role = role;
    if (role.leader !== NO_NODE) this.#leaderHeardMs = this.#options.clock.nowMs();
    if (led && role.role !== 'leader') this.#endLeadership();
    this.#options.onRole(role);
  }

  /** Flags and waiting calls of a leadership end with it. */
  #endLeadership(): void {
    this.#transferring = false;
    const change = this.#change;
    this.#change = null;
    change?.done({ accepted: false, reason: 'leader_changed' });
  }

  #lookAtTransfer(): void {
    const before = this.#transferring;
    this.#transferring = this.#running.status().transferTarget !== NO_NODE;
    if (before && !this.#transferring) this.#options.onAccepting();
  }

  #lookAtChange(change: PendingChange, entries: readonly Entry[]): void {
    const own = entries.find((entry) => entry.index === change.index);
    if (own !== undefined && own.term !== change.term) {
      this.#change = null;
      change.done({ accepted: false, reason: 'leader_changed' });
      return;
    }
    const { configuration, configurationIndex } = this.#running.status();
    // A joint configuration that nobody leaves by himself is what was asked for.
    const leaving = isJoint(configuration) && configuration.autoLeave;
    if (configurationIndex < change.index || leaving) return;
    this.#change = null;
    change.done({ accepted: true, index: configurationIndex });
  }

  #confirm({ id, index }: ReadState): void {
    const done = this.#reads.get(id);
    if (done === undefined) return;
    this.#reads.delete(id);
    if (index === undefined) done(false);
    else if (index <= this.#applied) done(true);
    else {
      const untilMs = this.#options.clock.nowMs() + READ_APPLY_MS_MAX;
      this.#confirmed.push({ index, untilMs, done });
    }
  }

  #endReads(): void {
    if (this.#confirmed.length === 0) return;
    const nowMs = this.#options.clock.nowMs();
    const waits = ({ index, untilMs }: ConfirmedRead) => index > this.#applied && untilMs > nowMs;
    const ended = this.#confirmed.filter((read) => !waits(read));
    if (ended.length === 0) return;
    this.#confirmed = this.#confirmed.filter(waits);
    for (const { index, done } of ended) done(index <= this.#applied);
  }
}
