/**
 * The entry being planned. Planning code reads the state as it will be, decides, and emits effects;
 * an effect is written to the entry and shows in `state` at once, so later commands of the same
 * entry see it. Nothing is emitted before the verdict is final: there is no way back.
 */
import {
  type AppendHeader,
  beginAppend,
  type Checksum,
  finishAppend,
  readAppendHeader,
  verifyAppend,
  type WriteMessage,
} from '../base/append.js';
import { assert, bug } from '../base/assert.js';
import { ByteReader, ByteWriter } from '../base/bytes.js';
import type { AppendLocation, Command } from '../base/commands/commands.js';
import { deadLetterId } from '../base/dead-letter-id.js';
import type { PopRoom } from '../base/pop-room.js';
import type { CursorRow, PartitionRow } from '../base/rows.js';
import type { Key } from '../base/state.js';
import type { TimerClock } from '../base/timer-clock.js';
import { applyAppend, applyEffect, applyStamp, readMeta, replaceCursor } from '../state/apply.js';
import {
  beginAppendEffect,
  type Effect,
  endEffect,
  writeEffect,
  writeEntryHeader,
} from '../state/effects.js';
import { AppendRun } from '../state/log-use.js';
import type { TransactionMatch } from '../state/transaction-ids/id-index.js';
import { relocateAppend } from '../state/trim.js';
import { messageWriter, type PayloadCipher } from './payload-cipher.js';
import type { PlannedState } from './planned-state.js';
import type { PlannedPlaces } from './planned-transaction-ids.js';

/** What planning needs from outside; injected, because this folder knows no clock and no disk. */
export interface Surroundings {
  /** This node, stamped on the leases that it grants. */
  readonly nodeId: number;
  readonly checksum: Checksum;
  /** A new UUIDv7 of the given time. */
  readonly newUuid: (nowUs: number) => string;
  /** The bytes of an append in the log; only called for entries this node holds. */
  readonly readLog: (location: AppendLocation) => Uint8Array;
  /** null: there is no key, and everything is stored as it comes. */
  readonly cipher: PayloadCipher | null;
  /** The node's clock, which outlives a leadership. Left out: one begins with the first turn. */
  readonly timerClock?: TimerClock;
  /** False: what grows the store of its own accord has to wait. Left out: it never has to. */
  readonly mayGrow?: () => boolean;
  /** False: wide commands wait, for the store takes changes too slowly. Left out: they never do. */
  readonly mayTakeWide?: () => boolean;
  /** Called when a command was planned, so that a caller with a clock can time it. */
  readonly planned?: (kind: Command['kind']) => void;
  /** Memory for an entry of so many bytes. Left out: it is made. */
  readonly memory?: (bytes: number) => Uint8Array;
  /** Room for the answers of pops. Left out: there is always room. */
  readonly popRoom?: PopRoom;
}

/** Client-supplied transaction ids, those of planned entries included, lowest offset first. */
export interface TransactionLookup {
  find(partition: number, transactionId: string): readonly TransactionMatch[];
  /** The ids of an append that was planned. */
  plan(partition: number, baseOffset: number, stampUs: number, places: PlannedPlaces): void;
}

/** What was written to an append. */
export type Written = Pick<AppendHeader, 'count' | 'hasIds' | 'hasMessageIds'>;

/** Told of every effect once it shows in the planned state. */
export interface EffectObserver {
  observe(effect: Effect): void;
}

/** An append that holds the original of a repeated message. */
export interface OriginalAppend {
  readonly partition: number;
  readonly baseOffset: number;
  /** Beyond its last message. */
  readonly end: number;
  /** null: none of its messages was promised an id. */
  readonly messageIds: readonly (string | null)[] | null;
}

export class Draft {
  readonly state: PlannedState;
  readonly transactions: TransactionLookup;
  readonly surroundings: Surroundings;
  /** Log index that this entry will have. */
  readonly index: number;
  /** The entry's stamp: above every stamp before it. */
  readonly nowUs: number;
  /** Monotonic clock, for leases and deadlines. */
  readonly nowMs: number;
  readonly #writer: ByteWriter;
  readonly #observer: EffectObserver | null;
  readonly #run = new AppendRun();
  /** The last one that was looked up: see `storedMessageId`. */
  originalAppend: OriginalAppend | null = null;
  #deadLetterBytes = 0;
  #deadLetters = 0;
  #places = 0;
  #work = 0;

  constructor(
    state: PlannedState,
    transactions: TransactionLookup,
    surroundings: Surroundings,
    at: { readonly index: number; readonly wallUs: number; readonly nowMs: number },
    capacityBytes: number,
    observer: EffectObserver | null = null,
  ) {
    this.state = state;
    this.transactions = transactions;
    this.surroundings = surroundings;
    this.index = at.index;
    this.nowMs = at.nowMs;
    this.nowUs = Math.max(at.wallUs, readMeta(state).stampUs + 1);
    this.#writer = new ByteWriter(capacityBytes, surroundings.memory?.(capacityBytes));
    this.#observer = observer;
    state.begin(at.index);
  }

  get empty(): boolean {
    return this.#writer.length === 0;
  }

  /** Bytes of the entry so far. */
  get length(): number {
    return this.#writer.length;
  }

  /** Units that the turn has spent so far (work-prices.ts). */
  get work(): number {
    return this.#work;
  }

  spend(units: number): void {
    this.#work += units;
  }

  /** Dead letters in the entry so far. */
  get deadLetters(): number {
    return this.#deadLetters;
  }

  /** Bytes of the dead letters in the entry so far. */
  get deadLetterBytes(): number {
    return this.#deadLetterBytes;
  }

  /** The id of a dead letter that this entry files in the queue. */
  mintDeadLetterId(queue: number): string {
    return deadLetterId(this.nowUs, this.mintPlace(), queue);
  }

  /** A number that, beside the stamp, tells one row of this entry from the others. */
  mintPlace(): number {
    return this.#places++;
  }

  emit(effect: Effect): void {
    this.#write(effect);
    applyEffect(this.state, effect, this.nowUs);
    this.#observer?.observe(effect);
  }

  /** As `emit`, for a cursor whose row and partition were looked up a moment ago. */
  emitCursor(
    effect: Extract<Effect, { kind: 'cursor' }>,
    key: Key,
    before: CursorRow | undefined,
    partition: PartitionRow,
  ): void {
    this.#write(effect);
    replaceCursor(this.state, effect, key, before, partition);
    this.#observer?.observe(effect);
  }

  #write(effect: Effect): void {
    this.#open();
    this.#run.settle(this.state, this.index);
    const start = this.#writer.length;
    writeEffect(this.#writer, effect);
    if (effect.kind !== 'dead-letter') return;
    this.#deadLetters++;
    this.#deadLetterBytes += this.#writer.length - start;
  }

  /**
   * Appends messages to a partition: `write` is called with a function that adds one message, and
   * the messages get consecutive offsets from the partition's next one. Their payloads are
   * encrypted here if the queue asks for it.
   */
  append(
    partition: number,
    baseOffset: number,
    write: (add: WriteMessage, writer: ByteWriter) => Written,
  ): void {
    this.#open();
    const writer = this.#writer;
    const contentAt = beginAppendEffect(writer);
    const position = beginAppend(writer, partition, baseOffset, this.nowUs);
    const written = write(messageWriter(this, partition), writer);
    const { count, hasIds, hasMessageIds = false } = written;
    if (count === 0) bug(`an empty append to partition ${partition}`);
    finishAppend(writer, position, count, written, this.surroundings.checksum);
    endEffect(writer, contentAt);
    const stampUs = this.nowUs;
    const header = { partition, baseOffset, stampUs, count, hasIds, hasMessageIds };
    applyAppend(this.state, header, this.index, position, writer.length - position, this.#run);
  }

  /** Writes an append of an older entry once more; from now on it is read from here. */
  relocate(bytes: Uint8Array): void {
    this.#open();
    this.#run.settle(this.state, this.index);
    const writer = this.#writer;
    const contentAt = beginAppendEffect(writer, 'relocate');
    writer.copy(bytes, 0, bytes.length);
    endEffect(writer, contentAt);
    const header = readAppendHeader(new ByteReader(bytes));
    relocateAppend(this.state, header, this.index, contentAt, bytes.length);
  }

  /** @throws AppendDamage when what the log holds is not what was written. */
  readAppend(location: AppendLocation): Uint8Array {
    const { index, position, length } = location;
    if (index === this.index) return this.#writer.bytes.slice(position, position + length);
    const bytes = this.surroundings.readLog(location);
    verifyAppend(bytes, this.surroundings.checksum, `entry ${index}, byte ${position}`);
    return bytes;
  }

  /** The body of the entry; only when something was emitted. */
  finish(): Uint8Array {
    assert(!this.empty, `entry ${this.index} has no effects`);
    this.#run.settle(this.state, this.index);
    return this.#writer.finish();
  }

  #open(): void {
    if (!this.empty) return;
    writeEntryHeader(this.#writer, this.nowUs);
    applyStamp(this.state, this.nowUs);
  }
}
