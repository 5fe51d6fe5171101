/**
 * Reads of standbys, answered from this node's own log (standby-link 9).
 *
 * The job: entries that are applied here go out in log order, as fast as the reader takes them, and
 * this node's clients do not notice. A standby that keeps up is served from memory; one that is
 * hours behind has the whole log read for it.
 *
 * What must hold:
 * - Only what is applied is sent, so nothing that could still be replaced by another leader. Any
 *   node answers, whoever leads, and a node of a standby cluster too.
 * - A reader that does not read costs one window of bytes (WINDOW_BYTES, or one entry that is
 *   larger), and is cut off after STALL_MS. All who do not read hold HELD_BYTES_MAX together, and
 *   one entry: beyond it nothing is read for anybody before some of it has gone.
 * - A turn of the loop reads one window. What is not in memory any more is read from files in that
 *   turn, as consensus reads for a member that is behind, and paced like it: `bytesPerS` for all
 *   readers together.
 * - Of each reader one read is under way, the newest: an older one is of a connection that broke
 *   without a word, or of another standby of that name.
 * - A hold is left before anything is read, and renewed while it is: the log cannot be given up
 *   under a reader that goes on. Where it is given up all the same (a full disk), the answer ends,
 *   and the next one says so.
 *
 * What ends an answer early, other than its bounds, cuts the connection: the reader must not take
 * it for an answer that covers the log up to there.
 */
import {
  decideRead,
  encodeAnswerEnd,
  encodeAnswerHead,
  encodeEntryHead,
  type ReadDecision,
  type ReadRequest,
} from '@svc/standby';
import { DamageError, DiskError, type LogEntry, lastingCrc } from '@svc/storage';
import { NORMAL } from '../consensus/consensus-storage.js';
import type { Cancel, Clock } from '../system/clock.js';
import type { Logger } from '../system/logging.js';
import type { HoldKeeper } from './hold-keeper.js';

/** Read and written at a stretch: half a millisecond from memory, one or two from files. */
const WINDOW_BYTES = 256 * 1024;
/** Entries of a window, most of which may be tiny. */
const WINDOW_ENTRIES = 1024;
/** A timer that comes late by as much costs no rate. */
const BURST_MS = 20;
const STALL_MS = 30_000;
/** Two of the largest entries. */
const HELD_BYTES_MAX = 128 * 1024 * 1024;
/** A read that waits keeps its hold this often; the shortest hold is 10 s. */
const TOUCH_MS = 3000;

/** Where an answer goes. */
export interface AnswerSink {
  /** false: wait for `onRoom` before the next. */
  write(parts: readonly Uint8Array[]): boolean;
  /** Nothing more comes; what was written still leaves. */
  end(): void;
  /** Breaks off: the reader sees an answer without an end. */
  cut(): void;
}

/** One read that is under way. */
export interface SourceRead {
  /** The sink takes more. */
  onRoom(): void;
  /** The reader has gone. */
  cancel(): void;
}

/** `unreadable`: another node may have what is damaged here. */
export type ReadRefusal = 'too_many_readers' | 'unreadable' | 'stopping';

export interface SourceReadsOptions {
  readonly clusterId: string;
  readonly log: {
    readonly firstIndex: number;
    readonly lastIndex: number;
    term(index: number): number | undefined;
    /** At least one, from files or from memory; throws `DamageError`. */
    entries(from: number, to: number, bytesMax: number): readonly LogEntry[];
    /** Defined: it is in memory. */
    recent(slice: { index: number; position: number; length: number }): Uint8Array | undefined;
  };
  readonly appliedIndex: () => number;
  readonly holds: Pick<HoldKeeper, 'note' | 'touch'>;
  /** For what has to be read from files, for all readers together. */
  readonly bytesPerS: number;
  /** HELD_BYTES_MAX unless given. */
  readonly heldBytesMax?: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** An entry that a reader wants is damaged here. */
  readonly onDamage: () => void;
}

/** `resting`: nothing is there to send. `blocked`: the sink is full. */
type Phase = 'resting' | 'sending' | 'blocked' | 'over';

interface Read {
  readonly request: ReadRequest;
  readonly sink: AnswerSink;
  readonly untilMs: number;
  phase: Phase;
  /** The answer covers the log up to here. */
  covered: number;
  bytes: number;
  /** The next entry would pass the bound of the request. */
  isFull: boolean;
  /** What the sink has not taken yet. */
  heldBytes: number;
  cancelTimer: Cancel;
}

export class SourceReads {
  readonly #options: SourceReadsOptions;
  readonly #byReader = new Map<string, Read>();
  /** Those with the phase `resting`. */
  readonly #resting = new Set<Read>();
  /** Those that go on when others hold less. */
  readonly #starved = new Set<Read>();
  #heldBytes = 0;
  #waking = false;
  /** When files may be read again. */
  #dueMs = 0;
  #stopped = false;
  #trouble = '';

  constructor(options: SourceReadsOptions) {
    this.#options = options;
  }

  /** Reads that are under way. */
  get size(): number {
    return this.#byReader.size;
  }

  /** Answers into the sink, now or later. */
  read(request: ReadRequest, sink: AnswerSink): SourceRead | ReadRefusal {
    if (this.#stopped) return 'stopping';
    const { clock, holds } = this.#options;
    const decision = this.#decide(request);
    if (decision === null) return 'unreadable';
    const { reader, holdAfter } = request;
    // Whoever follows another log, or lacks what is gone, needs a seed and not this log.
    if (decision.kind === 'entries' && holdAfter !== null) {
      if (holds.note(reader, holdAfter) === 'full') return 'too_many_readers';
    }
    const read: Read = {
      request,
      sink,
      untilMs: clock.nowMs() + request.waitMs,
      phase: 'resting',
      covered: request.after,
      bytes: 0,
      isFull: false,
      heldBytes: 0,
      cancelTimer: () => {},
    };
    if (this.#waits(read, decision)) {
      this.#replaceOlder(read);
      this.#rest(read);
    } else this.#answer(read, decision);
    return { onRoom: () => this.#resume(read), cancel: () => this.#forget(read) };
  }

  /** Something was applied: whoever waits for it is answered, after this node's own clients. */
  applied(): void {
    if (this.#resting.size === 0 || this.#waking) return;
    this.#waking = true;
    this.#options.clock.soon(() => {
      this.#waking = false;
      this.drain();
    });
  }

  /** Nothing waits any more; what is on its way goes on. */
  drain(): void {
    for (const read of [...this.#resting]) this.#wake(read);
  }

  /** Every connection ends here and now. */
  stop(): void {
    this.#stopped = true;
    for (const read of [...this.#byReader.values()]) this.#cut(read);
  }

  /** What a standby may be sent: a log whose end was lost has less than was applied here once. */
  get #applied(): number {
    const { log, appliedIndex } = this.#options;
    return Math.min(appliedIndex(), log.lastIndex);
  }

  /** null: the entry that is compared is damaged here, which is no reason for a new seed. */
  #decide(request: ReadRequest): ReadDecision | null {
    const { log, onDamage } = this.#options;
    const decision = decideRead(request, {
      applied: this.#applied,
      purged: log.firstIndex - 1,
      termAt: (index) => log.term(index) ?? null,
    });
    if (decision.kind !== 'mismatch' || decision.term !== null) return decision;
    onDamage();
    return null;
  }

  /** The reader is at the end of the log, and would rather wait than be told so. */
  #waits({ request }: Read, decision: ReadDecision): boolean {
    if (decision.kind !== 'entries' || request.holdOnly || request.waitMs === 0) return false;
    return decision.to === request.after && decision.from === request.after;
  }

  /** One that left no hold with its request has none that this could renew. */
  #touch({ request }: Read): void {
    if (request.holdAfter !== null) this.#options.holds.touch(request.reader);
  }

  #replaceOlder(read: Read): void {
    const { reader } = read.request;
    const older = this.#byReader.get(reader);
    if (older !== undefined) this.#cut(older);
    this.#byReader.set(reader, read);
  }

  /** Waits for something to be applied, in parts, for its hold has to be renewed. */
  #rest(read: Read): void {
    const { clock } = this.#options;
    this.#resting.add(read);
    const leftMs = read.untilMs - clock.nowMs();
    read.cancelTimer = clock.after(Math.max(0, Math.min(leftMs, TOUCH_MS)), () => {
      this.#touch(read);
      if (clock.nowMs() >= read.untilMs) this.#wake(read);
      else this.#rest(read);
    });
  }

  /** Decides anew: the log may have been given up, or replaced, meanwhile. */
  #wake(read: Read): void {
    this.#resting.delete(read);
    read.cancelTimer();
    const decision = this.#decide(read.request);
    if (decision === null) {
      this.#cut(read);
      return;
    }
    if (decision.kind === 'entries') this.#touch(read);
    this.#answer(read, decision);
  }

  #answer(read: Read, decision: ReadDecision): void {
    const { clusterId, log } = this.#options;
    const { kind } = decision;
    const term = kind === 'mismatch' ? decision.term : null;
    const state = { applied: this.#applied, purged: log.firstIndex - 1 };
    const head = encodeAnswerHead({ kind, clusterId, ...state, term }, lastingCrc);
    if (kind === 'entries' && decision.to > decision.from) {
      if (this.#byReader.get(read.request.reader) !== read) this.#replaceOlder(read);
      read.phase = 'sending';
      this.#write(read, [head]);
      this.#send(read);
      return;
    }
    read.covered = kind === 'entries' ? decision.to : read.request.after;
    read.phase = 'sending';
    read.sink.write([head]);
    this.#end(read);
  }

  /** One window; the next one follows in another turn of the loop, when there is room for it. */
  #send(read: Read): void {
    if (read.phase !== 'sending') return;
    const { log, clock, heldBytesMax = HELD_BYTES_MAX } = this.#options;
    this.#touch(read);
    const from = read.covered + 1;
    const to = this.#applied;
    if (from > to || read.isFull) {
      this.#end(read);
      return;
    }
    if (this.#heldBytes >= heldBytesMax) {
      this.#starved.add(read);
      return;
    }
    const isInMemory = log.recent({ index: from, position: 0, length: 0 }) !== undefined;
    const pauseMs = isInMemory ? 0 : this.#dueMs - clock.nowMs();
    if (pauseMs > 0) {
      read.cancelTimer = clock.after(pauseMs, () => this.#send(read));
      return;
    }
    const parts = this.#window(read, from, to, isInMemory);
    if (parts === null) return;
    if (parts.length > 0) this.#write(read, parts);
    if (read.phase === 'sending') read.cancelTimer = clock.soon(() => this.#send(read));
  }

  /** What the next window holds; null: the read is over. */
  #window(read: Read, from: number, to: number, isInMemory: boolean): Uint8Array[] | null {
    const { log } = this.#options;
    const { maxBytes } = read.request;
    if (from < log.firstIndex) {
      this.#cut(read);
      return null;
    }
    let entries: readonly LogEntry[];
    try {
      const end = Math.min(to + 1, from + WINDOW_ENTRIES);
      entries = log.entries(from, end, Math.min(WINDOW_BYTES, maxBytes));
    } catch (error) {
      this.#unreadable(read, error);
      return null;
    }
    if (!isInMemory) this.#pace(entries);
    const parts: Uint8Array[] = [];
    for (const { index, term, type, data } of entries) {
      const isSent = type === NORMAL && data.length > 0;
      if (isSent && read.bytes > 0 && read.bytes + data.length > maxBytes) {
        read.isFull = true;
        break;
      }
      read.covered = index;
      if (!isSent) continue;
      read.bytes += data.length;
      read.isFull = read.bytes >= maxBytes;
      parts.push(encodeEntryHead({ index, term, body: data }, lastingCrc), data);
    }
    return parts;
  }

  #write(read: Read, parts: readonly Uint8Array[]): void {
    if (parts.length === 0 || read.sink.write(parts) || read.phase !== 'sending') return;
    read.phase = 'blocked';
    read.heldBytes = parts.reduce((sum, part) => sum + part.length, 0);
    this.#heldBytes += read.heldBytes;
    read.cancelTimer();
    read.cancelTimer = this.#options.clock.after(STALL_MS, () => this.#cut(read));
  }

  #resume(read: Read): void {
    if (read.phase !== 'blocked') return;
    read.cancelTimer();
    this.#release(read);
    read.phase = 'sending';
    this.#send(read);
  }

  #release(read: Read): void {
    if (read.heldBytes === 0) return;
    this.#heldBytes -= read.heldBytes;
    read.heldBytes = 0;
    for (const starved of this.#starved) {
      starved.cancelTimer = this.#options.clock.soon(() => this.#send(starved));
    }
    this.#starved.clear();
  }

  #end(read: Read): void {
    const { log } = this.#options;
    const { covered } = read;
    const isTold = covered > 0 && covered >= log.firstIndex - 1;
    const term = isTold ? log.term(covered) : 0;
    if (term === undefined) {
      this.#options.onDamage();
      this.#cut(read);
      return;
    }
    const end = { upto: covered, term, applied: this.#applied };
    this.#forget(read);
    read.sink.write([encodeAnswerEnd(end, lastingCrc)]);
    read.sink.end();
  }

  #cut(read: Read): void {
    if (read.phase === 'over') return;
    this.#forget(read);
    read.sink.cut();
  }

  #forget(read: Read): void {
    read.phase = 'over';
    read.cancelTimer();
    this.#resting.delete(read);
    this.#starved.delete(read);
    this.#release(read);
    const { reader } = read.request;
    if (this.#byReader.get(reader) === read) this.#byReader.delete(reader);
  }

  /** The reader asks another node; this one has its damage repaired. */
  #unreadable(read: Read, error: unknown): void {
    if (!(error instanceof DamageError || error instanceof DiskError)) throw error;
    this.#cut(read);
    if (error instanceof DamageError) this.#options.onDamage();
    if (error.message === this.#trouble) return;
    this.#trouble = error.message;
    const text = `a standby cannot be sent what it asks for: ${error.message}`;
    this.#options.logger.warn('standby', text);
  }

  /** As the members of this cluster are, standbys are caught up evenly. */
  #pace(entries: readonly LogEntry[]): void {
    const { clock, bytesPerS } = this.#options;
    const bytes = entries.reduce((sum, { data }) => sum + data.length, 0);
    const takesMs = (bytes * 1000) / bytesPerS;
    this.#dueMs = Math.max(this.#dueMs, clock.nowMs() - BURST_MS) + takesMs;
  }
}
