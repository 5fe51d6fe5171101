/**
 * The replicated state of this node: applies committed entries and writes checkpoints.
 *
 * What must hold: an entry is applied exactly once over any number of restarts. The checkpoint and
 * the applied index become durable in one transaction; a restart continues with the entry after it.
 */
import {
  type AppendObserver,
  applyEntry,
  applyMembership,
  readMeta,
  type TransactionIndex,
  WindowSurvey,
} from '@svc/engine';
import type { Entry } from '@svc/raft';
import type { Checkpoint, Log } from '@svc/storage';
import type { Cancel, Clock } from './clock.js';
import type { Reach } from './crash-points.js';

/** How soon a checkpoint is tried again while the last one is still being written. */
const BUSY_RETRY_MS = 20;
/** Queues looked at per checkpoint to learn how long transaction ids are wanted. */
const SURVEY_QUEUES = 1000;

export interface DigestPolicy {
  /** A checkpoint follows each entry whose index is a multiple of it; 0 for none. */
  readonly every: number;
  /** The newest durable checkpoint is the state after entry `index`, which is such a multiple. */
  readonly onPoint: (index: number) => void;
}

export interface CheckpointPolicy {
  /** A checkpoint follows the last one after this time, if anything was applied. */
  readonly everyMs: number;
  /** Or after this many bytes of entries, which bounds the replay of a restart. */
  readonly everyBytes: number;
  readonly digests: DigestPolicy;
}

export interface ReplicaOptions {
  readonly state: Checkpoint;
  readonly transactions: TransactionIndex;
  readonly log: Log;
  readonly policy: CheckpointPolicy;
  readonly clock: Clock;
  readonly reach: Reach;
  readonly observer: AppendObserver;
  /** The newest effect catalogue that this node reads. */
  readonly readVersion: number;
}

export class Replica {
  readonly #state: Checkpoint;
  readonly #transactions: TransactionIndex;
  readonly #log: Log;
  readonly #policy: CheckpointPolicy;
  readonly #clock: Clock;
  readonly #reach: Reach;
  readonly #observer: AppendObserver;
  readonly #readVersion: number;
  readonly #windows: WindowSurvey;
  readonly #collector: AppendObserver = {
    appended: (partition) => {
      this.#reach('inside-apply');
      this.#appended.push(partition);
    },
  };
  #index: number;
  #term: number;
  #appliedAtMs: number;
  #bytesSince = 0;
  #halted = false;
  #cancelTimer: Cancel | null = null;
  /** Partitions that the entry being applied appended to. */
  readonly #appended: number[] = [];

  constructor(options: ReplicaOptions) {
    const { state } = options;
    this.#state = state;
    this.#transactions = options.transactions;
    this.#log = options.log;
    this.#policy = options.policy;
    this.#clock = options.clock;
    this.#reach = options.reach;
    this.#observer = options.observer;
    this.#readVersion = options.readVersion;
    this.#windows = new WindowSurvey(state);
    this.#index = state.appliedIndex;
    this.#term = state.appliedTerm;
    this.#appliedAtMs = this.#clock.nowMs();
  }

  get appliedIndex(): number {
    return this.#index;
  }

  /** Monotonic; when the last batch of entries was applied. */
  get appliedAtMs(): number {
    return this.#appliedAtMs;
  }

  apply(entry: Entry): void {
    this.#reach('before-apply');
    if (entry.type === 'normal') {
      const { index, data } = entry;
      const version = this.#readVersion;
      applyEntry(this.#state, this.#transactions, index, data, this.#collector, version);
    } else {
      applyMembership(this.#state, entry.index, entry.data);
    }
    this.#index = entry.index;
    this.#term = entry.term;
    this.#appliedAtMs = this.#clock.nowMs();
    this.#bytesSince += entry.data.length;
    if (this.#bytesSince >= this.#policy.everyBytes) this.#checkpoint();
    else if (this.#isDigestPoint() && !this.#state.busy) this.#checkpoint();
    else this.#cancelTimer ??= this.#clock.after(this.#policy.everyMs, () => this.#checkpoint());
    this.#reach('after-apply');
    this.#tellAppended();
  }

  /**
   * All nodes make a checkpoint at the same entries, if they can, so that they can be compared. A
   * node whose last checkpoint is still being written passes one over.
   */
  #isDigestPoint(): boolean {
    const { every } = this.#policy.digests;
    return every > 0 && this.#index % every === 0;
  }

  /** Only now: whoever reads because of it must see all of the entry or nothing. */
  #tellAppended(): void {
    if (this.#appended.length === 0) return;
    for (const partition of this.#appended.splice(0)) this.#observer.appended(partition);
  }

  /** No checkpoint is begun any more. */
  halt(): void {
    this.#halted = true;
    this.#cancelTimer?.();
    this.#cancelTimer = null;
  }

  /** Writes what is not checkpointed yet; `done` when it is durable. */
  close(done: () => void): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    if (this.#state.busy) {
      this.#clock.after(BUSY_RETRY_MS, () => this.close(done));
      return;
    }
    if (this.#index === this.#state.appliedIndex) done();
    else this.#write(done);
  }

  #checkpoint(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    if (this.#halted) return;
    if (this.#state.busy) {
      // The store is slower than the rate of change; the overlay grows until it has caught up.
      this.#cancelTimer = this.#clock.after(BUSY_RETRY_MS, () => this.#checkpoint());
      return;
    }
    this.#write(() => {});
  }

  /** Lets go of transaction ids that are older than any queue's window. */
  #forgetOldIds(): void {
    const windowSeconds = this.#windows.step(SURVEY_QUEUES);
    if (windowSeconds === null) return;
    this.#transactions.expire(readMeta(this.#state).stampUs - windowSeconds * 1_000_000);
  }

  #write(done: () => void): void {
    this.#bytesSince = 0;
    this.#forgetOldIds();
    this.#transactions.flush();
    const index = this.#index;
    const isPoint = this.#isDigestPoint();
    this.#state.checkpoint(index, this.#term, this.#log.durableIndex, () => {
      if (isPoint) this.#policy.digests.onPoint(index);
      done();
    });
  }
}
