/** What the simulated clients write and read: messages as commands, and batches as messages. */
import type { ConfigureCommand, PushCommand } from '@svc/engine';
import type { MessageBatch } from '@svc/http';
import { DEFAULT_TENANT, messageId } from '@svc/wire';
import type { SendOutcome } from '../checkers/history.js';

export const TENANT = DEFAULT_TENANT;

export interface Message {
  readonly value: string;
  readonly partition: string;
  readonly transactionId: string | null;
  readonly payload: string;
}

export function pushCommand(queue: string, messages: readonly Message[]): PushCommand {
  const groups = [...new Set(messages.map(({ partition }) => partition))];
  const payloadStart: number[] = [];
  const payloadEnd: number[] = [];
  let text = '';
  for (const { payload } of messages) {
    payloadStart.push(text.length);
    text += payload;
    payloadEnd.push(text.length);
  }
  return {
    kind: 'push',
    tenant: TENANT,
    producerSub: null,
    body: Buffer.from(text, 'latin1'),
    groups: groups.map((partition) => ({ queue, partition })),
    itemGroup: messages.map(({ partition }) => groups.indexOf(partition)),
    transactionIds: messages.map(({ transactionId }) => transactionId),
    payloadStart,
    payloadEnd,
  };
}

export function sendOutcome(status: number | undefined): SendOutcome {
  switch (status) {
    case 0:
      return 'queued';
    case 1:
    case 2:
      return 'duplicate';
    default:
      return 'refused';
  }
}

/** Without the names, which the caller knows. */
export function messagesOf(batch: MessageBatch, partitionNumber: number) {
  const bytes = Buffer.from(batch.bytes.buffer, batch.bytes.byteOffset, batch.bytes.byteLength);
  const messages = [];
  for (let i = batch.first; i <= batch.last; i++) {
    const given = batch.transactionIds[i] ?? null;
    const offset = batch.baseOffset + i;
    const minted = messageId(batch.stampUs, partitionNumber, given === null, offset);
    const id = batch.messageIds?.[i] ?? minted;
    messages.push({
      offset,
      messageId: id,
      transactionId: given ?? id,
      payload: bytes.toString('latin1', batch.payloadStart[i], batch.payloadEnd[i]),
    });
  }
  return messages;
}

/** The value of a payload that a producer composed. */
export function readValue(payload: string): string | null {
  return /^\{"value":"(m\d+)","pad":"x*"\}$/.exec(payload)?.[1] ?? null;
}

/** Queues that come and go have names that begin so. */
export const CHURNED = 'churn.';
/** Any other queue waits before a message is handed out again that was given back. */
const BACKOFF = { leaseTime: 60, retryBackoffMs: 200, retryBackoffMaxMs: 800 };

export function configureCommand(
  queue: string,
  retryLimit: number,
  mayReplace: boolean,
): ConfigureCommand {
  const isChurned = queue.startsWith(CHURNED);
  const changes = isChurned ? { retryLimit, dedupWindowSeconds: null } : BACKOFF;
  return { kind: 'configure', tenant: TENANT, queue, replace: mayReplace && isChurned, changes };
}
