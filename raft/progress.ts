import { type LogIndex, logIndex } from './identifiers.js';
import { InFlight } from './in-flight.js';
import type { Life } from './messages.js';

/**
 * - `probe`: where the logs meet is not known; one append with entries per heartbeat, to find out.
 * - `replicate`: appends flow without waiting, as far as the window allows.
 * - `snapshot`: the entries the peer needs are gone; nothing is sent until it reconnects.
 */
export type ProgressState = 'probe' | 'replicate' | 'snapshot';

/**
 * What a leader knows and believes about one peer.
 * Invariants: 0 <= match < next <= last index + 1; in `replicate`, match < next with everything in
 * [match + 1, next) in flight; `match` falls only when the peer says that it lost entries.
 */
export class Progress {
  learner: boolean;
  state: ProgressState = 'probe';
  /** Known to be on the peer's disk. */
  match: LogIndex = logIndex(0);
  /** The first entry of the next append. */
  next: LogIndex;
  /** The highest commit index in flight to the peer, as far as it can use it. */
  sentCommit: LogIndex = logIndex(0);
  /** No further append until a reply moves things, or a heartbeat reply allows one. */
  paused = false;
  snapshotIndex: LogIndex = logIndex(0);
  /** Heard from since the last check of the quorum. */
  recentlyActive = false;
  lastReplyMs = -Infinity;
  /** The newest life of the peer's log heard of; answers of an older one are ignored. */
  life: Life = 0;
  /** When the snapshot was last offered. */
  offeredMs = -Infinity;
  ackedRound = 0;
  ackedSentMs = -Infinity;
  readonly inFlight: InFlight;

  constructor(next: LogIndex, learner: boolean, messagesMax: number, bytesMax: number) {
    this.next = next;
    this.learner = learner;
    this.inFlight = new InFlight(messagesMax, bytesMax);
  }

  get waiting(): boolean {
    return this.state === 'snapshot' || this.paused;
  }

  becomeProbe(): void {
    // A snapshot that was sent counts as arrived until the probe says otherwise: starting below it
    // would only send it again.
    const after = this.state === 'snapshot' ? Math.max(this.match, this.snapshotIndex) : this.match;
    this.#enter('probe');
    this.next = logIndex(after + 1);
    this.sentCommit = logIndex(Math.min(this.sentCommit, after));
  }

  becomeReplicate(): void {
    this.#enter('replicate');
    this.next = logIndex(this.match + 1);
  }

  becomeSnapshot(index: LogIndex): void {
    this.#enter('snapshot');
    this.snapshotIndex = index;
    this.next = logIndex(index + 1);
    this.sentCommit = index;
  }

  /** The peer acknowledged `index`; false when that was known. */
  advance(index: LogIndex): boolean {
    if (index <= this.match) return false;
    this.match = index;
    if (this.next <= index) this.next = logIndex(index + 1);
    this.paused = false;
    return true;
  }

  /** The peer rejected an append after `rejected`; false when the rejection is outdated. */
  retreat(rejected: LogIndex, hint: number): boolean {
    // Believed, the rejection of what was acknowledged would be answered by the same append at
    // once, and so on without end.
    if (rejected <= this.match) return false;
    if (this.state === 'replicate') {
      this.next = logIndex(this.match + 1);
    } else {
      // A probe is the only append in flight, so a rejection of anything else is an old one.
      if (this.next - 1 !== rejected) return false;
      this.next = logIndex(Math.max(Math.min(rejected, hint + 1), this.match + 1));
      this.paused = false;
    }
    this.sentCommit = logIndex(Math.min(this.sentCommit, this.next - 1));
    return true;
  }

  /**
   * The peer lost entries that it had acknowledged, and may meet the log at `hint`. What is in
   * flight was sent to its former life and is not waited for.
   */
  takeBack(life: Life, hint: LogIndex): void {
    this.life = life;
    this.match = logIndex(0);
    this.#enter('probe');
    this.next = logIndex(hint + 1);
    this.sentCommit = logIndex(0);
  }

  /** An append with `count` entries up to `end` (the last of them) leaves. */
  sent(count: number, end: LogIndex, bytes: number): void {
    if (this.state === 'replicate') {
      if (count > 0) {
        this.next = logIndex(end + 1);
        this.inFlight.add(end, bytes);
      }
      this.paused = this.inFlight.full;
    } else if (count > 0) {
      this.paused = true;
    }
  }

  /**
   * Whether a commit index sent now can tell the peer something: it cannot use more than it has
   * been sent entries for.
   */
  wantsCommit(commit: LogIndex): boolean {
    return commit > this.sentCommit && this.sentCommit < this.next - 1;
  }

  #enter(state: ProgressState): void {
    this.state = state;
    this.paused = false;
    this.snapshotIndex = logIndex(0);
    this.inFlight.clear();
  }
}
