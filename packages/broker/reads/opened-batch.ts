/**
 * Batches of stored messages with their payloads decrypted.
 *
 * Only the messages that are meant are opened, and anew for each reader: a decoded append is shared
 * by all who read it, may hold a hundred thousand messages, and keeps them as they are stored. A
 * batch without an envelope is handed on as it is.
 */
import { leastPayloadBytes, type PayloadCipher } from '@svc/engine';
import type { LoopShare, MessageBatch } from '@svc/http';

/** Opened at a stretch: half a millisecond. One pop may take 32,768. */
const SLICE_MESSAGES = 50;

export class PayloadOpener {
  readonly #cipher: PayloadCipher;
  readonly #loop: Pick<LoopShare, 'run'>;

  constructor(cipher: PayloadCipher, loop: Pick<LoopShare, 'run'>) {
    this.#cipher = cipher;
    this.#loop = loop;
  }

  openOne(stored: Uint8Array): Uint8Array {
    return this.#cipher.open(stored);
  }

  /** Calls `done` with the same batches in order, opened; in this call when they are not many. */
  open(batches: readonly MessageBatch[], done: (opened: MessageBatch[]) => void): void {
    const opening = openedBatches(this.#cipher, batches);
    const slice = (): boolean => {
      const step = opening.next();
      if (step.done === true) done(step.value);
      return step.done === true;
    };
    // The first slice waits for nobody's: most pops have one.
    if (!slice()) this.#loop.run(slice);
  }
}

/** Yields after each slice. */
function* openedBatches(
  cipher: PayloadCipher,
  batches: readonly MessageBatch[],
): Generator<void, MessageBatch[]> {
  const opened: MessageBatch[] = [];
  let left = SLICE_MESSAGES;
  for (const batch of batches) {
    const payloads: Uint8Array[] = [];
    let total = 0;
    let isChanged = false;
    for (let i = batch.first; i <= batch.last; i++) {
      if (left === 0) {
        left = SLICE_MESSAGES;
        yield;
      }
      left--;
      const stored = batch.bytes.subarray(batch.payloadStart[i], batch.payloadEnd[i]);
      const payload = cipher.open(stored);
      if (payload !== stored) isChanged = true;
      total += payload.length;
      payloads.push(payload);
    }
    opened.push(isChanged ? batchOf(payloads, total, batch) : batch);
  }
  return opened;
}

/** The columns hold only what is meant: the first of them is the first message. */
function batchOf(payloads: readonly Uint8Array[], total: number, batch: MessageBatch) {
  const { first, last, transactionIds, producerSubs, traceIds, messageIds } = batch;
  const bytes = new Uint8Array(total);
  const payloadStart: number[] = [];
  const payloadEnd: number[] = [];
  let at = 0;
  for (const payload of payloads) {
    bytes.set(payload, at);
    payloadStart.push(at);
    at += payload.length;
    payloadEnd.push(at);
  }
  return {
    bytes,
    payloadStart,
    payloadEnd,
    stampUs: batch.stampUs,
    baseOffset: batch.baseOffset + first,
    first: 0,
    last: last - first,
    transactionIds: transactionIds.slice(first, last + 1),
    producerSubs: producerSubs === null ? null : producerSubs.slice(first, last + 1),
    traceIds: traceIds === null ? null : traceIds.slice(first, last + 1),
    messageIds: messageIds?.slice(first, last + 1) ?? null,
  };
}

/** As many of the stored messages, from the first on, as `bytesMax` payload bytes have room for. */
export function withinPayloadBytes(
  batches: readonly MessageBatch[],
  bytesMax: number,
): MessageBatch[] {
  const kept: MessageBatch[] = [];
  let bytes = 0;
  for (const batch of batches) {
    for (let i = batch.first; i <= batch.last; i++) {
      bytes += leastPayloadBytes((batch.payloadEnd[i] ?? 0) - (batch.payloadStart[i] ?? 0));
      if (bytes <= bytesMax) continue;
      kept.push({ ...batch, last: i });
      return kept;
    }
    kept.push(batch);
  }
  return kept;
}
