/**
 * The state of one node that the parts of the protocol share, and the few moves that several of
 * them make: changing role, sending, appending. `election.ts`, `replication.ts`, `following.ts`,
 * `reading.ts` and `membership.ts` hold the rules; `raft.ts` is what the host sees.
 *
 * Whoever changes `term` or `vote` need not mention it: `raft.ts` compares with what was reported.
 */
import { AppendWatch } from './append-watch.js';
import { assert } from './assert.js';
import { type Configuration, isJoint, isVoter, members } from './configuration.js';
import type { Entry, EntryType } from './entry.js';
import { type LogIndex, logIndex, NO_NODE, type NodeId, type Term, term } from './identifiers.js';
import { type DropReason, isCount, noDrops, TERM_MAX } from './intake.js';
import { RaftLog } from './log.js';
import type { HeartbeatResponse, Message } from './messages.js';
import type { RaftOptions, RaftSettings } from './options.js';
import { Progress } from './progress.js';
import { Reads } from './reads.js';
import type { Role } from './ready.js';
import { Recovery } from './recovery.js';
import { RunningTime } from './running-time.js';

const NO_CONTEXT = new Uint8Array(0);

export class Core {
  readonly id: NodeId;
  readonly settings: RaftSettings;
  readonly log: RaftLog;
  readonly appends: AppendWatch;
  readonly reads: Reads;
  readonly #storage: RaftOptions['storage'];
  readonly #random: () => number;
  readonly #context: () => Uint8Array;

  term: Term;
  vote: NodeId;
  role: Role = 'follower';
  leader: NodeId = NO_NODE;
  /** Present while this node misses entries that it had acknowledged. */
  recovery: Recovery | undefined;
  /** The host's word: a node that mends its log, or is about to stop, should not be elected. */
  electable = true;

  configuration: Configuration;
  configurationIndex: LogIndex;
  /** No change may be proposed while this is above `applied`: one may stand there. */
  pendingConfigurationIndex: LogIndex = logIndex(0);
  /** Handed out for apply; they take effect when the host has applied them. Ascending. */
  readonly configurationsInApply: Entry[] = [];

  /** Peers and this node itself, ascending by id, so that sends go out in that order. */
  peers: Map<NodeId, Progress> = new Map();
  readonly votes: Map<NodeId, boolean> = new Map();

  /** The sum of forward steps of the host's clock: it never goes back. */
  nowMs = 0;
  readonly #running: RunningTime;
  /** In running time, as are `transferSinceMs`, the appends and the last replies of the peers. */
  electionSinceMs = 0;
  heartbeatSinceMs = 0;
  /** This round's own random waiting time, in [1, 2) election timeouts. */
  campaignAfterMs = 0;
  /**
   * Under lease reads, until when a leader may count on this node's word not to elect another.
   * After a restart that word may have been given in the former life, unless the disk holds no
   * term.
   */
  promisedUntilMs: number;
  /** The disk holds a term, so that a restart knows that there was a life before it. */
  hasDurableTerm: boolean;
  /** A leader was heard since the clock was last read: the promise counts from the next reading. */
  promiseRenewed = false;

  transferTarget: NodeId = NO_NODE;
  transferSinceMs = 0;
  /** A forced election may come at any time in this term: its leader has no lease any more. */
  leaseGivenUp = false;
  uncommittedBytes = 0;
  /** The new leader's own entry; it leads upward once that is applied. */
  ownTermIndex: LogIndex = logIndex(0);

  /** Messages that changed nothing, by reason. */
  readonly drops: Record<DropReason, number> = noDrops();

  messages: Message[] = [];
  afterDurable: Message[] = [];

  constructor(options: RaftOptions, settings: RaftSettings) {
    this.id = options.id;
    this.settings = settings;
    this.#storage = options.storage;
    this.#random = options.random;
    this.#context = options.context ?? (() => NO_CONTEXT);
    const { hardState } = options;
    this.log = new RaftLog(options.storage, hardState.commit, options.applied, settings);
    this.#running = new RunningTime(settings.heartbeatMs);
    this.appends = new AppendWatch(settings.appendStuckMs);
    this.reads = new Reads(options.id, options.random);
    assert(isCount(hardState.term) && hardState.term <= TERM_MAX, `term ${hardState.term}`);
    assert(isCount(hardState.vote), `vote ${hardState.vote}`);
    this.term = hardState.term;
    this.vote = hardState.vote;
    if (options.recovering === true) this.recovery = new Recovery(options.random);
    this.configuration = options.configuration;
    this.configurationIndex = options.configurationIndex;
    this.hasDurableTerm = hardState.term > 0;
    const mayHavePromised = settings.reads === 'lease' && this.hasDurableTerm;
    this.promisedUntilMs = mayHavePromised ? settings.electionTimeoutMs : 0;
    this.trackMembers();
    this.becomeFollower(this.term, NO_NODE);
  }

  get storage(): RaftOptions['storage'] {
    return this.#storage;
  }

  /** The host's part of a configuration entry that nobody asked for. */
  get context(): Uint8Array {
    return this.#context();
  }

  get leading(): boolean {
    return this.takesProposals && this.log.applied >= this.ownTermIndex;
  }

  get committedInOwnTerm(): boolean {
    return this.role === 'leader' && this.log.committed >= this.ownTermIndex;
  }

  /**
   * A leader that is no voter any more: it takes no proposals and steps down as soon as its whole
   * log is committed. Earlier, its entries could keep the others from electing anybody.
   */
  get retiring(): boolean {
    if (this.role !== 'leader' || isVoter(this.configuration, this.id)) return false;
    return this.settings.stepDownOnRemoval;
  }

  get takesProposals(): boolean {
    return this.role === 'leader' && !this.retiring && this.peers.has(this.id);
  }

  /** A peer, or this node itself, that counts when it is asked who could carry a change. */
  live(id: NodeId): boolean {
    const peer = this.peers.get(id);
    if (id === this.id || peer === undefined) return id === this.id;
    return this.ranMs - peer.lastReplyMs < this.settings.liveWithinMs;
  }

  /** No other node's word is needed for anything. */
  get alone(): boolean {
    const { configuration: config } = this;
    return config.voters.length === 1 && config.voters[0] === this.id && !isJoint(config);
  }

  get appendStuck(): boolean {
    return this.appends.stuck(this.ranMs);
  }

  /** How long the host has run: what every silence is measured by. See `running-time.ts`. */
  get ranMs(): number {
    return this.#running.ms;
  }

  sinceLeaderMs(): number {
    return this.ranMs - this.electionSinceMs;
  }

  becomeFollower(newTerm: Term, leader: NodeId): void {
    this.#reset(newTerm);
    this.role = 'follower';
    this.leader = leader;
  }

  /** This node found out that it no longer holds what it had acknowledged. */
  noticeLoss(): void {
    this.recovery ??= new Recovery(this.#random);
  }

  /** A message of this term's leader arrived. */
  hearLeader(from: NodeId): void {
    if (this.role !== 'follower') this.becomeFollower(this.term, from);
    this.leader = from;
    this.electionSinceMs = this.ranMs;
    if (this.settings.reads === 'lease') this.promiseRenewed = true;
  }

  /** Whether a leader may count on this node not to elect another. */
  get promised(): boolean {
    return this.promiseRenewed || this.nowMs < this.promisedUntilMs;
  }

  /**
   * The host read its clock. A promise given since the last reading starts here: the core cannot
   * know how old its own time was when the leader's message came, and must not promise too little.
   */
  timePasses(ms: number): void {
    this.nowMs += ms;
    if (!this.promiseRenewed) return;
    this.promiseRenewed = false;
    this.promisedUntilMs = this.nowMs + this.settings.electionTimeoutMs;
  }

  /** The host has begun another turn: what arrived before its last one was read. */
  tick(): void {
    this.#running.tick(this.nowMs);
  }

  /** Asking around changes neither the term nor the vote. */
  becomePreCandidate(): void {
    assert(this.role !== 'leader', `leader of term ${this.term} cannot ask for pre-votes`);
    this.role = 'pre-candidate';
    this.leader = NO_NODE;
    this.votes.clear();
    this.reads.drop();
  }

  becomeCandidate(): void {
    assert(this.role !== 'leader', `leader of term ${this.term} cannot campaign`);
    this.#reset(term(this.term + 1));
    this.role = 'candidate';
    this.vote = this.id;
  }

  becomeLeader(): void {
    assert(this.role === 'candidate', `a ${this.role} of term ${this.term} cannot lead`);
    this.#reset(this.term);
    this.role = 'leader';
    this.leader = this.id;
    const own = this.peers.get(this.id);
    if (own !== undefined) {
      own.match = this.log.durable;
      own.becomeReplicate();
      own.recentlyActive = true;
      // This node's own word counts for every round and instant.
      own.ackedRound = Infinity;
      own.ackedSentMs = Infinity;
    }
    // A change may stand anywhere in the log up to here, unapplied.
    this.pendingConfigurationIndex = this.log.last;
    this.ownTermIndex = this.append('normal', new Uint8Array(0));
  }

  /** Adds a leader's entry; its own acknowledgement follows when the disk has it. */
  append(type: EntryType, data: Uint8Array): LogIndex {
    const index = logIndex(this.log.last + 1);
    this.log.append({ index, term: this.term, type, data });
    this.uncommittedBytes += data.length;
    this.#acknowledgeOwn(index);
    return index;
  }

  /** Votes, acknowledgements of appends and vote requests wait for the disk; the rest does not. */
  send(message: Message): void {
    switch (message.type) {
      case 'append-response':
      case 'append-rejection':
      case 'vote-request':
      case 'vote-response':
      case 'pre-vote-response':
        this.afterDurable.push(message);
        return;
      default:
        assert(message.to !== this.id, `${message.type} to itself`);
        this.messages.push(message);
    }
  }

  /**
   * The answer to a heartbeat. Under lease reads it is a promise, and a restart keeps it only if
   * the disk holds a term: the first answers of a new node wait for that.
   */
  answerHeartbeat(message: HeartbeatResponse): void {
    const waits = this.settings.reads === 'lease' && !this.hasDurableTerm;
    (waits ? this.afterDurable : this.messages).push(message);
  }

  /** Brings the list of peers in line with the configuration, keeping what is known of each. */
  trackMembers(): void {
    const { settings, log } = this;
    const before = this.peers;
    this.peers = new Map();
    for (const id of members(this.configuration)) {
      const learner = this.configuration.learners.includes(id);
      let peer = before.get(id);
      if (peer === undefined) {
        const next = logIndex(Math.max(log.last, 1));
        const { inFlightMessagesMax, inFlightBytesMax } = settings;
        peer = new Progress(next, learner, inFlightMessagesMax, inFlightBytesMax);
        // Without this, a check of the quorum right after the change would find it silent.
        peer.recentlyActive = true;
      }
      peer.learner = learner;
      this.peers.set(id, peer);
    }
  }

  #reset(newTerm: Term): void {
    if (this.term !== newTerm) {
      this.term = newTerm;
      this.vote = NO_NODE;
    }
    this.leader = NO_NODE;
    this.electionSinceMs = this.ranMs;
    this.heartbeatSinceMs = this.nowMs;
    const { electionTimeoutMs, inFlightMessagesMax, inFlightBytesMax } = this.settings;
    this.campaignAfterMs =
      electionTimeoutMs +
      Math.floor(this.#random() * electionTimeoutMs) +
      this.settings.campaignDelayMs;
    this.votes.clear();
    this.reads.drop();
    this.transferTarget = NO_NODE;
    this.leaseGivenUp = false;
    this.uncommittedBytes = 0;
    this.pendingConfigurationIndex = logIndex(0);
    const next = logIndex(this.log.last + 1);
    for (const [id, peer] of this.peers) {
      this.peers.set(id, new Progress(next, peer.learner, inFlightMessagesMax, inFlightBytesMax));
    }
  }

  /** One acknowledgement per ready is enough, however many entries were appended. */
  #acknowledgeOwn(index: LogIndex): void {
    const response: Message = {
      type: 'append-response',
      from: this.id,
      to: this.id,
      term: this.term,
      index,
      life: 0,
    };
    const last = this.afterDurable.length - 1;
    const previous = this.afterDurable[last];
    const replaces =
      previous?.type === 'append-response' &&
      previous.to === this.id &&
      previous.term === this.term;
    if (replaces) this.afterDurable[last] = response;
    else this.afterDurable.push(response);
  }
}
