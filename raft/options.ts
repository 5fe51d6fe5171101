import { assert } from './assert.js';
import type { Configuration } from './configuration.js';
import type { LogIndex, NodeId } from './identifiers.js';
import type { HardState } from './ready.js';
import type { RaftStorage } from './storage.js';

/**
 * `nowMs` is the host's monotonic clock, the same that `tick()` is called with. `random` returns a
 * number in [0, 1) and is the only source of chance.
 */
export interface RaftOptions {
  readonly id: NodeId;
  readonly nowMs: number;
  readonly random: () => number;
  readonly storage: RaftStorage;
  readonly hardState: HardState;
  /** The configuration as of `applied`, from the checkpoint or from the founding of the group. */
  readonly configuration: Configuration;
  /** The entry that set `configuration`; 0 for the founding one. */
  readonly configurationIndex: LogIndex;
  /** What the host's state already contains: nothing up to here is handed out again. */
  readonly applied: LogIndex;
  /**
   * This node lost entries that it had acknowledged; its term and vote are intact. It neither votes
   * nor campaigns until `recovery.ts` finds that it holds again what it may have helped to commit.
   */
  readonly recovering?: boolean;
  /**
   * The host's context of a configuration that the core writes by itself: leaving a joint one,
   * promoting a learner. Empty unless given.
   */
  readonly context?: () => Uint8Array;
  readonly settings?: Partial<RaftSettings>;
}

export interface RaftSettings {
  /** A follower campaigns after a random time in [1, 2) of this without its leader. */
  readonly electionTimeoutMs: number;
  readonly heartbeatMs: number;
  /** Added to that time; the node with the lowest is the preferred leader. */
  readonly campaignDelayMs: number;
  /** Ask before raising the term, so that a node that was cut off does not depose a leader. */
  readonly preVote: boolean;
  /** A leader without a quorum steps down, and votes are refused while a leader lives. */
  readonly checkQuorum: boolean;
  /**
   * `lease` answers reads from the leader's clock while a quorum acknowledged a heartbeat sent less
   * than `electionTimeoutMs - leaseMarginMs` ago; it needs `checkQuorum`.
   */
  readonly reads: 'quorum' | 'lease';
  /** How far clocks may drift apart in an election timeout. Default: a tenth of it. */
  readonly leaseMarginMs: number;
  /** Appends sent to one peer and not yet acknowledged. */
  readonly inFlightMessagesMax: number;
  readonly inFlightBytesMax: number;
  /** Entries in one append, in `entryBytes`; one entry always fits. */
  readonly appendBytesMax: number;
  /** Data proposed and not yet handed out for apply; one entry is always taken when none waits. */
  readonly uncommittedBytesMax: number;
  /** Entries handed out for apply and not yet reported applied, in `entryBytes`. */
  readonly applyingBytesMax: number;
  /** Durable entries kept in memory beside those that are not durable yet. */
  readonly tailBytesMax: number;
  /** The same for entries that are still to be applied, whether committed or not. */
  readonly tailUnappliedBytesMax: number;
  readonly readsMax: number;
  /** A leader whose append shows no progress this long steps down. Default: electionTimeoutMs. */
  readonly appendStuckMs: number;
  /** A peer that did not answer for this long is dead to whoever changes the members. */
  readonly liveWithinMs: number;
  /** A learner with at most so many entries to go has caught up. */
  readonly promoteMaxLag: number;
  /** As a leader, makes voters of learners that were added for it, once they have caught up. */
  readonly autoPromote: boolean;
  /** A leader that is no voter any more steps down once its log is committed. */
  readonly stepDownOnRemoval: boolean;
  /** A snapshot that a live peer has not answered for this long is offered again. */
  readonly snapshotRepeatMs: number;
}

export const DEFAULT_SETTINGS: RaftSettings = {
  electionTimeoutMs: 1000,
  heartbeatMs: 100,
  campaignDelayMs: 0,
  preVote: true,
  checkQuorum: true,
  reads: 'quorum',
  leaseMarginMs: 100,
  inFlightMessagesMax: 256,
  inFlightBytesMax: 64 * 1024 * 1024,
  appendBytesMax: 1024 * 1024,
  uncommittedBytesMax: 256 * 1024 * 1024,
  applyingBytesMax: 64 * 1024 * 1024,
  tailBytesMax: 64 * 1024 * 1024,
  tailUnappliedBytesMax: 64 * 1024 * 1024,
  readsMax: 65_536,
  appendStuckMs: 1000,
  liveWithinMs: 2000,
  promoteMaxLag: 1000,
  autoPromote: true,
  stepDownOnRemoval: true,
  snapshotRepeatMs: 2000,
};

/** Fills in what the host left open; checks what would break promises. */
export function completed(given: Partial<RaftSettings> = {}): RaftSettings {
  const electionTimeoutMs = given.electionTimeoutMs ?? DEFAULT_SETTINGS.electionTimeoutMs;
  const settings: RaftSettings = {
    ...DEFAULT_SETTINGS,
    leaseMarginMs: electionTimeoutMs / 10,
    appendStuckMs: electionTimeoutMs,
    // A check of the quorum may pass between two replies; two timeouts without one are a death.
    liveWithinMs: 2 * electionTimeoutMs,
    snapshotRepeatMs: 2 * electionTimeoutMs,
    ...given,
  };
  for (const [name, value] of Object.entries(settings)) {
    // Not a number would compare as false with everything, so that no bound held.
    assert(typeof value !== 'number' || value >= 0, `${name} is ${value}`);
  }
  const { heartbeatMs, leaseMarginMs } = settings;
  assert(
    heartbeatMs > 0 && electionTimeoutMs > heartbeatMs,
    `election timeout ${electionTimeoutMs} ms, heartbeat ${heartbeatMs} ms`,
  );
  assert(
    leaseMarginMs < electionTimeoutMs,
    `lease margin ${leaseMarginMs} ms of election timeout ${electionTimeoutMs} ms`,
  );
  assert(settings.reads === 'quorum' || settings.checkQuorum, 'lease reads need checkQuorum');
  return settings;
}
