/**
 * The replicated state of this node: applies committed entries and writes checkpoints.
 *
 * What must hold: an entry is applied exactly once over any number of restarts. The checkpoint and
 * the applied index become durable in one transaction; a restart continues with the entry after it.
 *
 * A configuration is stored as soon as it is applied. The log alone does not say that its newest
 * configuration was committed (`provenCommit`), so until a checkpoint does, members that all lose
 * power start with the configuration before it and count by that. If a member of that one is gone
 * for good, its majority may be too, although the new configuration has lost only one of three.
 */
import {
  type AppendObserver,
  type AppliedFigures,
  applyEntry,
  applyMembership,
  type EphemeralQueueEffect,
  readMeta,
  type TransactionIndex,
  WindowSurvey,
} from '@svc/engine';
import type { Entry } from '@svc/raft';
import type { Checkpoint, Log } from '@svc/storage';
import type { PipelineMeters } from '@svc/wire';
import type { Cancel, Clock } from '../system/clock.js';
import type { Reach } from '../system/crash-points.js';
import type { ClusterRole } from './cluster-role.js';

/**
 * Rows that may have changed since the last freeze. As many again are being written meanwhile:
 * 2 * 131,072 rows * some 400 bytes = 105 MB.
 */
export const CHANGED_ROWS_MAX = 1 << 17;
/**
 * Bytes of values and payloads in rows that were put since the last freeze (`Table.heldBytes`).
 * While a stream of long values is stored, memory holds this five times: those that came since,
 * those that are written, their packed form, the pages of the store, and half as many that are
 * kept clean: 4.5 * 16 MiB = 72 MiB.
 */
export const CHANGED_BYTES_MAX = 16 * 1024 * 1024;
/**
 * While a checkpoint is written, wide commands are planned up to these parts of the bounds. What is
 * in flight by then (8 MiB of entries with wide commands and one more) and small commands have the
 * rest, so that apply need not stop: that stops everybody. A slice makes some 1,000 rows, 24 of
 * which are a quarter of the rows; of bytes, whatever is in flight may be values.
 */
const WIDE_ROWS_PART = 0.75;
const WIDE_BYTES_PART = 0.375;
/** The part of the time between two checkpoints that is left to chance. */
const SPREAD = 0.25;
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
  /**
   * A checkpoint follows the last one within this time, if anything was applied: after three
   * quarters of it or more, at random, or nodes that apply the same entries would all write theirs
   * at the same moment, and no quorum could acknowledge meanwhile.
   */
  readonly everyMs: number;
  /**
   * Or after this many bytes of entries, which bounds the replay of a restart. While the checkpoint
   * before is still being written then, nothing more is applied.
   */
  readonly everyBytes: number;
  /** Or as soon as this many rows have changed, likewise. */
  readonly changedRowsMax: number;
  /** Or as soon as changed rows hold so many bytes of values and payloads, likewise. */
  readonly changedBytesMax: number;
  readonly digests: DigestPolicy;
}

export interface ReplicaOptions {
  readonly state: Checkpoint;
  readonly transactions: TransactionIndex;
  readonly log: Log;
  readonly policy: CheckpointPolicy;
  readonly clock: Clock;
  /** 0 <= fraction < 1, at random. */
  readonly fraction: () => number;
  readonly reach: Reach;
  readonly observer: AppendObserver;
  readonly pipeline: PipelineMeters;
  readonly figures: AppliedFigures;
  /** It was full, and is not any more. */
  readonly onRoom: () => void;
  /** It was tight, and is not any more. */
  readonly onEased: () => void;
  /** The newest effect catalogue that this node reads. */
  readonly readVersion: number;
  /** The declaration of an ephemeral queue has changed by an entry that is applied. */
  readonly onEphemeral: (effect: EphemeralQueueEffect) => void;
  readonly role: Pick<ClusterRole, 'changed'>;
}

export class Replica {
  readonly #state: Checkpoint;
  readonly #transactions: TransactionIndex;
  readonly #log: Log;
  readonly #policy: CheckpointPolicy;
  readonly #clock: Clock;
  readonly #fraction: () => number;
  readonly #reach: Reach;
  readonly #observer: AppendObserver;
  readonly #pipeline: PipelineMeters;
  readonly #onRoom: () => void;
  readonly #onEased: () => void;
  readonly #onEphemeral: (effect: EphemeralQueueEffect) => void;
  readonly #readVersion: number;
  readonly #windows: WindowSurvey;
  readonly #collector: AppendObserver;
  #index: number;
  #term: number;
  #appliedAtMs: number;
  #bytesSince = 0;
  #halted = false;
  #cancelTimer: Cancel | null = null;
  /** Partition and bytes of each append in the entry being applied, one after the other. */
  readonly #appended: number[] = [];
  readonly #declared: EphemeralQueueEffect[] = [];

  constructor(options: ReplicaOptions) {
    const { state } = options;
    this.#state = state;
    this.#transactions = options.transactions;
    this.#log = options.log;
    this.#policy = options.policy;
    this.#clock = options.clock;
    this.#fraction = options.fraction;
    this.#reach = options.reach;
    this.#observer = options.observer;
    this.#pipeline = options.pipeline;
    this.#onRoom = options.onRoom;
    this.#onEased = options.onEased;
    this.#onEphemeral = options.onEphemeral;
    this.#readVersion = options.readVersion;
    this.#windows = new WindowSurvey(state);
    this.#collector = {
      appended: (partition, bytes) => {
        this.#reach('inside-apply');
        this.#appended.push(partition, bytes);
      },
      ephemeralChanged: (effect) => this.#declared.push(effect),
      roleChanged: (row) => options.role.changed(row),
      counted: this.#pipeline.applied,
      figures: options.figures,
    };
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

  /**
   * The store is slower than the rate of change. Nothing more is to be applied until there is room:
   * on the leader the pipeline fills, so that clients wait, and memory stays bounded.
   */
  get isFull(): boolean {
    if (this.#halted) return false;
    const { changedRowsMax, changedBytesMax, everyBytes } = this.#policy;
    const { changedRows, changedBytes } = this.#state;
    if (changedRows >= changedRowsMax || changedBytes >= changedBytesMax) return true;
    return this.#bytesSince >= everyBytes;
  }

  /**
   * It would soon be full: a checkpoint is being written, and much has changed meanwhile. Who leads
   * plans no wide commands now, so that small ones find room.
   */
  get isTight(): boolean {
    return this.#state.busy && this.#hasChangedMuch;
  }

  get #hasChangedMuch(): boolean {
    const { changedRowsMax, changedBytesMax } = this.#policy;
    const { changedRows, changedBytes } = this.#state;
    if (changedRows >= changedRowsMax * WIDE_ROWS_PART) return true;
    return changedBytes >= changedBytesMax * WIDE_BYTES_PART;
  }

  apply(entry: Entry): void {
    this.#reach('before-apply');
    const sinceMs = this.#clock.nowMs();
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
    this.#pipeline.applied.entries++;
    this.#pipeline.applyEntry.record((this.#appliedAtMs - sinceMs) * 1000);
    this.#bytesSince += entry.data.length;
    if (this.isFull || entry.type === 'configuration') this.#checkpoint();
    else if (this.#isDigestPoint() && !this.#state.busy) this.#checkpoint();
    else this.#cancelTimer ??= this.#clock.after(this.#delayMs(), () => this.#checkpoint());
    this.#reach('after-apply');
    this.#tellAppended();
    for (const effect of this.#declared.splice(0)) this.#onEphemeral(effect);
  }

  #delayMs(): number {
    return this.#policy.everyMs * (1 - SPREAD * this.#fraction());
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
    const told = this.#appended;
    if (told.length === 0) return;
    for (let i = 0; i < told.length; i += 2) {
      this.#observer.appended(told[i] as number, told[i + 1] as number);
    }
    told.length = 0;
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
      // The store is slower than the rate of change; it catches up, or this becomes full.
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
    const sinceMs = this.#clock.nowMs();
    this.#state.checkpoint(index, this.#term, this.#log.durableIndex, () => {
      this.#pipeline.applied.durable_points++;
      this.#pipeline.checkpoint.record((this.#clock.nowMs() - sinceMs) * 1000);
      if (isPoint) this.#policy.digests.onPoint(index);
      done();
      const wasTight = this.#hasChangedMuch;
      if (this.isFull) {
        this.#checkpoint();
        this.#onRoom();
      }
      if (wasTight) this.#onEased();
    });
  }
}
