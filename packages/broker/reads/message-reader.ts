/**
 * From append slices to messages: reads an append's bytes from the log (its cache of recent bodies,
 * or the disk), verifies and decodes them, and shares the decoded append between all who read it.
 *
 * Decoded appends are kept because one append is often read in several pops: without it, draining a
 * large append in small batches would decode it again from its start each time. The bound counts
 * the buffers that kept appends pin, since a small append may pin the whole entry it stood in.
 *
 * An append that is in memory anyway and is read whole is not kept: to decode it once more costs a
 * fraction of what its answer costs, and what is kept for a moment only is copied by the collector
 * again and again. Of consumers that keep up, nothing is ever kept.
 *
 * Much is read in parts, which share the loop with all long work (`LoopShare`): 32 MiB may be a
 * hundred appends of megabytes or tens of thousands of a kibibyte, and to ask for one of them,
 * verify and decode it takes time. The first part is read in the call, so that little waits for
 * nobody. The log may give up an entry that is still to be read meanwhile (its messages moved, or
 * retention took them): then the read ends with `EntryGone`, and whoever wants them looks for them
 * anew.
 */

import { crc32 } from 'node:zlib';
import {
  AppendDamage,
  type AppendLocation,
  type AppendSlice,
  decodeAppend,
  verifyAppend,
} from '@svc/engine';
import type { LoopShare, MessageBatch } from '@svc/http';
import { DamageError, type Log } from '@svc/storage';
import { type PayloadOpener, withinPayloadBytes } from './opened-batch.js';

const ADVICE =
  'These messages cannot be served. A group repairs them from another node; a node alone needs ' +
  'the file back from a copy of its directory';

/** Bytes that a part reads, or as many appends as count for them: half a millisecond. */
const PART_BYTES = 256 * 1024;
/** What an append counts for in a part beside its bytes: 10 us in memory, 60 us from the disk. */
const READY_BYTES = 4096;
const ASKED_BYTES = 32 * 1024;

/**
 * How often what has moved while it was read is looked for anew. Once is enough, unless rows name
 * entries that the log does not have, which no look-up mends.
 */
export const READS_MAX = 3;

/** The log has given up an entry before it was read. */
export class EntryGone extends Error {
  readonly code = 'entry_gone';

  constructor(index: number) {
    super(`entry ${index} was given up before it was read`);
    this.name = 'EntryGone';
  }
}

type Decoded = ReturnType<typeof decodeAppend>;

/** One batch per slice in order, or the error that made one unreadable. */
export type BatchesDone = (error: Error | null, batches: MessageBatch[]) => void;

export class MessageReader {
  readonly #log: Log;
  /** null: nothing is encrypted. */
  readonly #opener: PayloadOpener | null;
  readonly #loop: Pick<LoopShare, 'run'>;
  readonly #pinnedBytesMax: number;
  /** Stored messages cannot be read: the client gets an error, the operator has to know. */
  readonly #onUnreadable: (error: Error) => void;
  readonly #decoded = new Map<string, Decoded>();
  #pinnedBytes = 0;

  constructor(
    log: Log,
    opener: PayloadOpener | null,
    loop: Pick<LoopShare, 'run'>,
    pinnedBytesMax: number,
    onUnreadable: (error: Error) => void,
  ) {
    this.#log = log;
    this.#opener = opener;
    this.#loop = loop;
    this.#onUnreadable = onUnreadable;
    this.#pinnedBytesMax = pinnedBytesMax;
  }

  /** The first entry of the log: slices of older ones cannot be read. */
  get firstIndex(): number {
    return this.#log.firstIndex;
  }

  /** What `read` will hold of the slices beside the log's own cache. */
  bytesToRead(slices: readonly AppendSlice[]): number {
    let bytes = 0;
    for (const slice of slices) {
      if (this.#opener !== null) bytes += slice.length;
      if (this.#log.recent(slice) === undefined) bytes += slice.length;
    }
    return bytes;
  }

  /**
   * The messages of the slices, payloads decrypted. Calls `done` before it returns when everything
   * stands in memory and is no more than a part, and little of it is encrypted.
   */
  read(slices: readonly AppendSlice[], done: BatchesDone): void {
    const opener = this.#opener;
    if (opener === null) this.readStored(slices, done);
    else {
      this.readStored(slices, (error, batches) => {
        if (error !== null) done(error, batches);
        else opener.open(batches, (opened) => done(null, opened));
      });
    }
  }

  /**
   * As `read`, with payloads as they are stored, for those who decrypt no more than they need: a
   * message costs microseconds.
   */
  readStored(slices: readonly AppendSlice[], done: BatchesDone): void {
    const [only] = slices;
    if (only !== undefined && slices.length === 1) {
      // Nearly every pop: one append, which is in memory.
      const ready = this.#ready(only);
      if (ready !== null) {
        done(null, [batchOf(ready, only)]);
        return;
      }
    }
    const batches = new Array<MessageBatch>(slices.length);
    let missing = 1;
    let failure: Error | null = null;
    const settle = () => {
      missing--;
      if (missing > 0) return;
      if (failure !== null && !(failure instanceof EntryGone)) this.#onUnreadable(failure);
      done(failure, batches);
    };
    const ask = (slice: AppendSlice, i: number) => {
      missing++;
      this.#log.read(slice, (error, bytes) => {
        if (error !== null || bytes === null) failure ??= error ?? new Error('nothing was read');
        else {
          try {
            batches[i] = batchOf(this.#decode(slice, bytes), slice);
          } catch (damage) {
            failure ??= damage as Error;
          }
        }
        settle();
      });
    };
    let next = 0;
    const part = (): boolean => {
      for (let left = PART_BYTES; next < slices.length && failure === null; next++) {
        if (left <= 0) return false;
        const slice = slices[next] as AppendSlice;
        const ready = this.#ready(slice);
        if (ready !== null) batches[next] = batchOf(ready, slice);
        else if (slice.index < this.#log.firstIndex) failure = new EntryGone(slice.index);
        else ask(slice, next);
        left -= slice.length + (ready === null ? ASKED_BYTES : READY_BYTES);
      }
      settle();
      return true;
    };
    if (!part()) this.#loop.run(part);
  }

  /** The stored batches that have to be opened to know what `bytesMax` payload bytes hold. */
  within(batches: readonly MessageBatch[], bytesMax: number): readonly MessageBatch[] {
    return this.#opener === null ? batches : withinPayloadBytes(batches, bytesMax);
  }

  /** Stored batches, decrypted; `done` as for `read`. */
  open(batches: readonly MessageBatch[], done: (opened: readonly MessageBatch[]) => void): void {
    if (this.#opener === null) done(batches);
    else this.#opener.open(batches, done);
  }

  /** A stored payload decrypted. */
  openOne(stored: Uint8Array): Uint8Array {
    return this.#opener === null ? stored : this.#opener.openOne(stored);
  }

  /** The bytes of an append, verified, for one look: nothing of it is kept. */
  readOnce(
    slice: AppendSlice,
    done: (error: Error | null, bytes: Uint8Array | null) => void,
  ): void {
    const recent = this.#log.recent(slice);
    if (recent !== undefined) {
      done(null, recent);
      return;
    }
    this.#log.read(slice, (error, bytes) => {
      let failure: Error | null = error;
      try {
        if (bytes !== null) this.#verify(slice, bytes);
      } catch (damage) {
        failure = damage as Error;
      }
      if (failure !== null) this.#onUnreadable(failure);
      done(failure, failure === null ? bytes : null);
    });
  }

  /** The bytes of an append for planning; blocks for the disk when they are not recent. */
  readSync(location: AppendLocation): Uint8Array {
    return this.#log.readSync(location);
  }

  #ready(slice: AppendSlice): Decoded | null {
    const known = this.#decoded.size === 0 ? undefined : this.#find(slice);
    if (known !== undefined) return known;
    const recent = this.#log.recent(slice);
    if (recent === undefined) return null;
    this.#verify(slice, recent);
    const decoded = decodeAppend(recent);
    return isWhole(decoded, slice) ? decoded : this.#keep(slice, decoded);
  }

  /** One of those that are kept; it counts as used now. */
  #find(slice: AppendSlice): Decoded | undefined {
    const key = keyOf(slice);
    const known = this.#decoded.get(key);
    if (known === undefined) return undefined;
    this.#decoded.delete(key);
    this.#decoded.set(key, known);
    return known;
  }

  #decode(slice: AppendSlice, bytes: Uint8Array): Decoded {
    // Two reads of one append may have been under way at once.
    const known = this.#find(slice);
    if (known !== undefined) return known;
    this.#verify(slice, bytes);
    return this.#keep(slice, decodeAppend(bytes));
  }

  #keep(slice: AppendSlice, decoded: Decoded): Decoded {
    this.#pinnedBytes += decoded.bytes.buffer.byteLength;
    this.#decoded.set(keyOf(slice), decoded);
    if (this.#pinnedBytes > this.#pinnedBytesMax) this.#forgetOldest();
    return decoded;
  }

  /**
   * Down to half of the bound at a time: the oldest stand behind the places of those that were
   * forgotten before, which a walk has to pass.
   */
  #forgetOldest(): void {
    for (const [oldest, { bytes }] of this.#decoded) {
      if (2 * this.#pinnedBytes <= this.#pinnedBytesMax) break;
      this.#decoded.delete(oldest);
      this.#pinnedBytes -= bytes.buffer.byteLength;
    }
  }

  /** The log knows in which file and where, and counts it as damaged from then on. */
  #verify({ index, position }: AppendSlice, bytes: Uint8Array): void {
    try {
      verifyAppend(bytes, crc32, `entry ${index}, byte ${position}`);
    } catch (error) {
      this.#log.suspect(index);
      const slot = this.#log.damage().find((each) => each.index === index);
      if (slot === undefined || !(error instanceof AppendDamage)) throw error;
      throw new DamageError('log_record_damaged', slot.file, slot.offset, error.message, ADVICE);
    }
  }
}

function isWhole({ baseOffset, count }: Decoded, { first, last }: AppendSlice): boolean {
  return first === baseOffset && last === baseOffset + count - 1;
}

function keyOf(location: AppendLocation): string {
  return `${location.index}:${location.position}`;
}

function batchOf(append: Decoded, slice: AppendSlice): MessageBatch {
  return {
    bytes: append.bytes,
    payloadStart: append.payloadStart,
    payloadEnd: append.payloadEnd,
    stampUs: append.stampUs,
    baseOffset: append.baseOffset,
    first: slice.first - append.baseOffset,
    last: slice.last - append.baseOffset,
    transactionIds: append.transactionIds,
    producerSubs: append.producerSubs,
    traceIds: append.traceIds,
    messageIds: append.messageIds,
  };
}
