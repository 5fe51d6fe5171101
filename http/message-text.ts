/**
 * Messages as they stand in answers. The text is a byte string, every char code one byte of UTF-8,
 * so that payloads are copied into it as they were pushed, whatever their bytes are.
 *
 * What is the same for all messages of a claim or of an append is put together once; what is left
 * for a message is its id, its payload, and a handful of concatenations.
 */
import { formatStampUs, messageIdPrefix, messageIdSuffix } from '@svc/wire';
import { quotedBytes, quotedBytesOrNull } from './json-text.js';
import type { MessageBatch, PoppedMessages } from './service.js';

/** The members of a claim's messages, comma-separated, in the order of message-plane 14. */
export function claimText(claim: PoppedMessages, leaseId: string, consumerGroup: string): string {
  const { partitionNumber, deliveryAttempt } = claim;
  const queueMember = `","queue":${quotedBytes(claim.queue)},"transactionId":`;
  const tail =
    `,"partitionId":"${partitionNumber}","partition":${quotedBytes(claim.partition)},` +
    `"leaseId":${quotedBytes(leaseId)},"consumerGroup":${quotedBytes(consumerGroup)},` +
    `"deliveryAttempt":${deliveryAttempt},"retryCount":${deliveryAttempt - 1},"offset":`;
  let text = '';
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
        (text === '' ? '{"id":"' : ',{"id":"') +
        id +
        queueMember +
        (given === null ? `"${id}"` : quotedBytes(given)) +
        ',"traceId":' +
        columnText(batch.traceIds, i) +
        ',"data":' +
        payloads.toString('latin1', batch.payloadStart[i], batch.payloadEnd[i]) +
        ',"producerSub":' +
        columnText(batch.producerSubs, i) +
        createdMember +
        tail +
        offset +
        '}';
    }
  }
  return text;
}

/** The records of a fetched entry, comma-separated (message-plane 10). */
export function recordsText(partitionNumber: number, batches: readonly MessageBatch[]): string {
  let text = '';
  for (const batch of batches) {
    const payloads = bufferOf(batch.bytes);
    const idPrefix = messageIdPrefix(batch.stampUs, partitionNumber);
    const tail = `,"ts":"${formatStampUs(batch.stampUs)}"}`;
    for (let i = batch.first; i <= batch.last; i++) {
      const given = batch.transactionIds[i] as string | null;
      const offset = batch.baseOffset + i;
      text +=
        (text === '' ? '{"offset":' : ',{"offset":') +
        offset +
        ',"transactionId":' +
        (given === null
          ? `"${idPrefix}${messageIdSuffix(partitionNumber, true, offset)}"`
          : quotedBytes(given)) +
        ',"payload":' +
        payloads.toString('latin1', batch.payloadStart[i], batch.payloadEnd[i]) +
        tail;
    }
  }
  return text;
}

function columnText(column: readonly (string | null)[] | null, index: number): string {
  return column === null ? 'null' : quotedBytesOrNull(column[index] as string | null);
}

export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
