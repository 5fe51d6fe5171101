/**
 * Messages as they stand in answers. The text is a byte string, every char code one byte of UTF-8,
 * so that payloads are copied into it as they were pushed, whatever their bytes are.
 *
 * The text that all messages of a claim or of an append share is put together once; what is left
 * for a message is its id, its payload, and a handful of concatenations.
 *
 * The caller of a large answer passes `into`: text that has become long is written there, and the
 * returned text follows what was written.
 */
import { formatStampUs, messageIdPrefix, messageIdSuffix } from '@svc/wire';
import { AnswerBytes } from '../exchange/answer-bytes.js';
import { quotedBytes, quotedBytesOrNull } from '../json/json-text.js';
import type { MessageBatch, PoppedMessages } from '../ports/service.js';

/** Bytes of a message in an answer, apart from its payload and long names. */
const MESSAGE_BYTES = 512;

/** Estimated length of the messages' text in bytes; seldom too low. */
export function expectedBytes(batches: readonly MessageBatch[]): number {
  let bytes = 0;
  for (const { first, last, payloadStart, payloadEnd } of batches) {
    bytes += MESSAGE_BYTES * (last - first + 1);
    bytes += (payloadEnd[last] ?? 0) - (payloadStart[first] ?? 0);
  }
  return bytes;
}

/** Bytes of the messages in a part of an answer, and one message at least. */
const PART_BYTES = 131_072;

/** The batches in parts: lists of them, the last and the first of each cut between two messages. */
export function* inParts(batches: readonly MessageBatch[]): Generator<MessageBatch[]> {
  let part: MessageBatch[] = [];
  let bytes = 0;
  for (const batch of batches) {
    const { payloadStart, payloadEnd, last } = batch;
    let { first } = batch;
    for (let i = first; i <= last; i++) {
      bytes += MESSAGE_BYTES + (payloadEnd[i] ?? 0) - (payloadStart[i] ?? 0);
      if (bytes < PART_BYTES) continue;
      part.push({ ...batch, first, last: i });
      yield part;
      part = [];
      bytes = 0;
      first = i + 1;
    }
    if (first <= last) part.push(first === batch.first ? batch : { ...batch, first });
  }
  if (part.length > 0) yield part;
}

/** The members of a claim's messages, comma-separated, in the order of message-plane 14. */
export function claimText(
  claim: PoppedMessages,
  leaseId: string,
  consumerGroup: string,
  into: AnswerBytes | null = null,
): string {
  const { partitionNumber, deliveryAttempt } = claim;
  const queueMember = `","queue":${quotedBytes(claim.queue)},"transactionId":`;
  const tail =
    `,"partitionId":"${partitionNumber}","partition":${quotedBytes(claim.partition)},` +
    `"leaseId":${quotedBytes(leaseId)},"consumerGroup":${quotedBytes(consumerGroup)},` +
    `"deliveryAttempt":${deliveryAttempt},"retryCount":${deliveryAttempt - 1},"offset":`;
  let text = '';
  let begin = '{"id":"';
  for (const batch of claim.batches) {
    const payloads = bufferOf(batch.bytes);
    const idPrefix = messageIdPrefix(batch.stampUs, partitionNumber);
    const createdMember = `,"createdAt":"${formatStampUs(batch.stampUs)}"`;
    for (let i = batch.first; i <= batch.last; i++) {
      const given = batch.transactionIds[i] as string | null;
      const offset = batch.baseOffset + i;
      const id =
        batch.messageIds?.[i] ??
        idPrefix + messageIdSuffix(partitionNumber, given === null, offset);
      text +=
        begin +
        id +
        queueMember +
        (given === null ? `"${id}"` : quotedBytes(given)) +
        ',"traceId":' +
        columnText(batch.traceIds, i) +
        ',"data":';
      text =
        payloadText(text, payloads, batch, i, into) +
        ',"producerSub":' +
        columnText(batch.producerSubs, i) +
        createdMember +
        tail +
        offset +
        '}';
      begin = ',{"id":"';
    }
  }
  return text;
}

/** The records of a fetched entry, comma-separated (message-plane 10). */
export function recordsText(
  partitionNumber: number,
  batches: readonly MessageBatch[],
  into: AnswerBytes | null = null,
): string {
  let text = '';
  let begin = '{"offset":';
  for (const batch of batches) {
    const payloads = bufferOf(batch.bytes);
    const idPrefix = messageIdPrefix(batch.stampUs, partitionNumber);
    const tail = `,"ts":"${formatStampUs(batch.stampUs)}"}`;
    for (let i = batch.first; i <= batch.last; i++) {
      const given = batch.transactionIds[i] as string | null;
      const offset = batch.baseOffset + i;
      text +=
        begin +
        offset +
        ',"transactionId":' +
        (given === null
          ? `"${idPrefix}${messageIdSuffix(partitionNumber, true, offset)}"`
          : quotedBytes(given)) +
        ',"payload":';
      text = payloadText(text, payloads, batch, i, into) + tail;
      begin = ',{"offset":';
    }
  }
  return text;
}

/** `text` followed by a payload, without the part that was written to `into`. */
function payloadText(
  text: string,
  payloads: Buffer,
  { payloadStart, payloadEnd }: MessageBatch,
  index: number,
  into: AnswerBytes | null,
): string {
  const start = payloadStart[index] ?? 0;
  const end = payloadEnd[index] ?? 0;
  if (into !== null) {
    const isCopied = AnswerBytes.isCopied(end - start);
    if (isCopied || AnswerBytes.isLong(text)) {
      into.write(text);
      if (isCopied) into.copy(payloads, start, end);
      return isCopied ? '' : payloads.toString('latin1', start, end);
    }
  }
  return text + payloads.toString('latin1', start, end);
}

function columnText(column: readonly (string | null)[] | null, index: number): string {
  return column === null ? 'null' : quotedBytesOrNull(column[index] as string | null);
}

export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
