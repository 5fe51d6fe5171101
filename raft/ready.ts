/**
 * What the core hands to its host, and what the host may ask and tell it.
 */
import type { Configuration } from './configuration.js';
import type { Entry } from './entry.js';
import type { LogIndex, NodeId, Term } from './identifiers.js';
import type { Message } from './messages.js';
import type { ProgressState } from './progress.js';
import type { Snapshot } from './storage.js';

export type Role = 'follower' | 'pre-candidate' | 'candidate' | 'leader';

/** Must survive a crash before a vote or an append acknowledgement leaves the node. */
export interface HardState {
  readonly term: Term;
  /** The node voted for in `term`, or NO_NODE. */
  readonly vote: NodeId;
  /**
   * Need not be synced for its own sake, but must be on disk no later than any entries handed out
   * with or after it: a node that restarts with a configuration entry and without knowing that the
   * one before it was committed would count votes by a configuration that is two steps old.
   */
  readonly commit: LogIndex;
}

export interface SoftState {
  readonly role: Role;
  /** NO_NODE when unknown. */
  readonly leader: NodeId;
  /**
   * This node leads and has applied an entry of its own term: only now is its state complete, and
   * only now may it plan commands.
   */
  readonly leading: boolean;
  /** As given to the constructor, until the core finds what was lost to be there again. */
  readonly recovering: boolean;
}

/**
 * One turn's work for the host. In order:
 * 1. send `messages` (no need to wait for the disk);
 * 2. append `hardState`, `snapshot`, `entries` to the log in the order of readies; `entries`
 *    replace whatever stands at `entries[0].index` and after. When `mustSync` is false the write
 *    may wait for the next one that must be synced, but not be left out;
 * 3. once this ready's writes and those of every earlier ready are durable, send `afterDurable`;
 *    those addressed to this node go to `step()`. With nothing to write and no write under way,
 *    that is at once;
 * 4. apply `committed` in order, then call `applied(last index)`.
 * A next ready may be taken before 3 and 4 have ended; nothing is handed out twice.
 */
export interface Ready {
  /** Present only on change. */
  readonly softState: SoftState | undefined;
  /** Present only on change. */
  readonly hardState: HardState | undefined;
  readonly snapshot: Snapshot | undefined;
  readonly entries: readonly Entry[];
  readonly mustSync: boolean;
  readonly messages: readonly Message[];
  readonly afterDurable: readonly Message[];
  readonly committed: readonly Entry[];
  readonly readStates: readonly ReadState[];
}

/**
 * The end of a `readIndex()`. With an index: a read may be served from the state once that index is
 * applied. With undefined: leadership changed or nobody answered; ask again.
 */
export interface ReadState {
  readonly id: number;
  readonly index: LogIndex | undefined;
}

export type ProposalRefusal =
  | 'not_leader'
  /** A transfer of leadership is under way; it ends within an election timeout. */
  | 'transferring'
  /** As many bytes wait for commit as the options allow. */
  | 'uncommitted_full'
  /** The log could not be written; this instance takes part no more. */
  | 'append_failed';

export type Proposal =
  | { readonly accepted: true; readonly index: LogIndex; readonly term: Term }
  | { readonly accepted: false; readonly reason: ProposalRefusal };

/** The names are those of the API's membership errors (cluster-and-config 5). */
export type ConfigurationRefusal =
  | ProposalRefusal
  /** A change names a node whose number is not a safe integer from 1. */
  | 'impossible_node'
  /** The configuration is not the one that the caller looked at. */
  | 'membership_changed'
  /** An earlier change is unapplied, or the group is joint. An empty entry was logged. */
  | 'in_flight'
  /** The group is not joint. An empty entry was logged. */
  | 'nothing_to_leave'
  /** No voter would be left. */
  | 'last_voter'
  /** The old or the new voters would have no majority that lives. */
  | 'no_quorum'
  /** A new voter is no learner yet. */
  | 'not_a_learner'
  /** A learner that is to vote has too many entries to go, or does not live. */
  | 'learner_behind';

export interface ConfigurationForce {
  /** Takes `no_quorum`, `not_a_learner` and `learner_behind` upon the caller. */
  readonly force?: boolean;
}

export type Forgotten =
  | { readonly accepted: true }
  | {
      readonly accepted: false;
      /** Under lease reads the leader counts on this node not to elect another. */
      readonly reason: 'leading' | 'lease_reads' | 'append_failed';
    };

export type ConfigurationProposal =
  | { readonly accepted: true; readonly index: LogIndex; readonly term: Term }
  | { readonly accepted: false; readonly reason: ConfigurationRefusal };

export type TransferRefusal = 'no_leader' | 'not_voter' | 'already_leader' | 'append_failed';

export type Transfer =
  | { readonly accepted: true }
  | { readonly accepted: false; readonly reason: TransferRefusal };

export type ReadRefusal = 'no_leader' | 'too_many_reads' | 'append_failed';

/** The id is minted by the core and comes back in a `ReadState`. */
export type ReadTicket =
  | { readonly accepted: true; readonly id: number }
  | { readonly accepted: false; readonly reason: ReadRefusal };

export interface PeerStatus {
  readonly id: NodeId;
  readonly learner: boolean;
  /** Answered lately enough to count for a change of the members. */
  readonly live: boolean;
  readonly state: ProgressState;
  readonly match: LogIndex;
  readonly next: LogIndex;
  readonly paused: boolean;
  readonly inFlightMessages: number;
  readonly inFlightBytes: number;
  readonly recentlyActive: boolean;
  /** Since the last reply in this term; Infinity before the first. */
  readonly lastReplyAgeMs: number;
}

export interface Status {
  readonly id: NodeId;
  readonly term: Term;
  readonly vote: NodeId;
  readonly role: Role;
  readonly leader: NodeId;
  readonly leading: boolean;
  readonly recovering: boolean;
  readonly commit: LogIndex;
  readonly applied: LogIndex;
  readonly firstIndex: LogIndex;
  readonly lastIndex: LogIndex;
  /** What this node's own disk holds. */
  readonly durableIndex: LogIndex;
  readonly configuration: Configuration;
  readonly configurationIndex: LogIndex;
  /** On a leader: a configuration may stand in the log that does not count yet. */
  readonly changing: boolean;
  readonly transferTarget: NodeId;
  readonly uncommittedBytes: number;
  readonly pendingReads: number;
  /** An append has been under way for an election timeout. */
  readonly appendStuck: boolean;
  readonly appendFailed: boolean;
  /** Since this follower last heard from its leader; 0 at the leader, Infinity without a leader. */
  readonly leaderContactAgeMs: number;
  /** Ascending ids; empty unless this node leads. */
  readonly peers: readonly PeerStatus[];
}
