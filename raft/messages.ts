/**
 * Everything that nodes say to each other, and what a node says to itself once its disk has done
 * its part. `term` is the sender's term, except in a pre-vote request and a granted pre-vote, where
 * it is the term the candidate would take. Losing, repeating, delaying or reordering any of them is
 * safe; each may therefore travel on any transport.
 */
import type { Entry } from './entry.js';
import type { LogIndex, NodeId, Term } from './identifiers.js';
import type { Snapshot } from './storage.js';

/**
 * Names what a node is since it lost entries: drawn at random when it starts to recover, 0 for a
 * node of which no loss is known. A leader writes on every append what it knows of the receiver,
 * and counts only answers to what it wrote with that knowledge, see `recovery.ts`.
 */
export type Life = number;

interface Envelope {
  readonly from: NodeId;
  readonly to: NodeId;
  readonly term: Term;
}

/** Would you vote for me? Changes nothing at the receiver. */
export interface PreVoteRequest extends Envelope {
  readonly type: 'pre-vote-request';
  readonly lastIndex: LogIndex;
  readonly lastTerm: Term;
}

export interface PreVoteResponse extends Envelope {
  readonly type: 'pre-vote-response';
  readonly granted: boolean;
}

export interface VoteRequest extends Envelope {
  readonly type: 'vote-request';
  readonly lastIndex: LogIndex;
  readonly lastTerm: Term;
  /** The leader itself asked for this election: its lease does not stand in the way. */
  readonly forced: boolean;
}

export interface VoteResponse extends Envelope {
  readonly type: 'vote-response';
  readonly granted: boolean;
}

/** Entries that follow (previousIndex, previousTerm), and how far the log is committed. */
export interface AppendRequest extends Envelope {
  readonly type: 'append';
  readonly previousIndex: LogIndex;
  readonly previousTerm: Term;
  readonly entries: readonly Entry[];
  readonly commit: LogIndex;
  readonly life: Life;
}

/** The sender holds the leader's log up to `index`, durably. Index 0 only tells the term. */
export interface AppendResponse extends Envelope {
  readonly type: 'append-response';
  readonly index: LogIndex;
  /** Repeats that of the message it answers. */
  readonly life: Life;
}

/**
 * The sender has no entry (rejectedIndex, previousTerm), or lost entries of which the leader does
 * not know; the hint is where the logs may meet.
 */
export interface AppendRejection extends Envelope {
  readonly type: 'append-rejection';
  readonly rejectedIndex: LogIndex;
  readonly hintIndex: LogIndex;
  /** The sender's term at `hintIndex`; 0 when it does not know it any more. */
  readonly hintTerm: Term;
  /** Repeats that of the message it answers. */
  readonly life: Life;
  /** Not 0: the sender lost entries that it had acknowledged, and this is its life since. */
  readonly lost: Life;
}

export interface Heartbeat extends Envelope {
  readonly type: 'heartbeat';
  /** Never above what the receiver is known to hold. */
  readonly commit: LogIndex;
  /** Rises with every broadcast of a leader; the reply repeats it, which confirms waiting reads. */
  readonly round: number;
  /** The leader's own clock when it sent; the reply repeats it, which carries the lease. */
  readonly sentMs: number;
}

export interface HeartbeatResponse extends Envelope {
  readonly type: 'heartbeat-response';
  readonly round: number;
  readonly sentMs: number;
  /** As in a rejection: while nothing is written, nothing else would tell of the loss. */
  readonly lost: Life;
}

/**
 * A follower's host first fetches the state that the manifest names and only then steps this
 * message; by then it may be outdated, which the core notices.
 */
export interface SnapshotRequest extends Envelope {
  readonly type: 'snapshot';
  readonly snapshot: Snapshot;
  readonly life: Life;
}

/** The leader hands over: campaign at once. */
export interface TimeoutNow extends Envelope {
  readonly type: 'timeout-now';
}

/** A follower passes a wish for a transfer on to the leader. */
export interface TransferRequest extends Envelope {
  readonly type: 'transfer-request';
  readonly target: NodeId;
}

export interface ReadRequest extends Envelope {
  readonly type: 'read-request';
  readonly id: number;
}

export interface ReadResponse extends Envelope {
  readonly type: 'read-response';
  readonly id: number;
  readonly index: LogIndex;
}

/**
 * To itself: the writes of one ready, and of all before it, are durable. It names the newest entry
 * of the log at that ready, so that a later one also vouches for the appends before it.
 */
export interface AppendDurable extends Envelope {
  readonly type: 'append-durable';
  /** Numbers the appends of this instance, from 1. */
  readonly sequence: number;
  readonly index: LogIndex;
  readonly entryTerm: Term;
  /** The index of the snapshot that this append installed; 0 for none. */
  readonly snapshotIndex: LogIndex;
}

export type Message =
  | PreVoteRequest
  | PreVoteResponse
  | VoteRequest
  | VoteResponse
  | AppendRequest
  | AppendResponse
  | AppendRejection
  | Heartbeat
  | HeartbeatResponse
  | SnapshotRequest
  | TimeoutNow
  | TransferRequest
  | ReadRequest
  | ReadResponse
  | AppendDurable;
