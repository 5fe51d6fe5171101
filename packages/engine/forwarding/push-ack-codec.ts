/** Pushes and acks as bytes between nodes: commands of their own, and parts of transactions. */
import { formatUuid, NAME_BYTES_MAX, TRANSACTION_ID_BYTES_MAX } from '@svc/wire';
import type { ByteWriter } from '../base/bytes.js';
import type {
  AckCommand,
  AckItem,
  PushCommand,
  PushGroup,
  Tenant,
} from '../base/commands/commands.js';
import { checkNames } from '../base/commands/names.js';
import type { GuardedReader } from '../base/guarded-reader.js';

/** Items of a push, an ack or a transaction: what the front takes of one call. */
export const COMMAND_ITEMS_MAX = 100_000;
/** Texts that no key holds are bounded by the body that they came in. */
const TEXT_BYTES_MAX = 2 ** 31;
const UUID_BYTES = 16;
const ACK_STATUSES = ['completed', 'failed', 'retry', 'dlq'] as const;
/** Four texts and a status. */
export const ACK_BYTES_MIN = 5;

export function writePush(w: ByteWriter, command: PushCommand): void {
  const { groups, itemGroup, transactionIds, payloadStart, payloadEnd, messageIds } = command;
  w.optionalText(command.producerSub);
  w.varint(groups.length);
  for (const { queue, partition } of groups) {
    w.text(queue);
    w.text(partition);
  }
  const items = itemGroup.length;
  const hasIds = transactionIds.some((id) => id !== null);
  w.varint(items);
  w.flag(hasIds);
  w.flag(messageIds !== undefined);
  for (let item = 0; item < items; item++) {
    if (groups.length > 1) w.varint(itemGroup[item] ?? 0);
    if (hasIds) w.optionalText(transactionIds[item] ?? null);
    if (messageIds !== undefined) writeMessageId(w, messageIds[item] ?? null);
    const start = payloadStart[item] ?? 0;
    w.varint(start);
    w.varint((payloadEnd[item] ?? 0) - start);
  }
  w.varint(command.body.length);
}

function writeMessageId(w: ByteWriter, id: string | null): void {
  w.flag(id !== null);
  if (id !== null) w.uuid(id);
}

function readMessageId(r: GuardedReader): string | null {
  if (!r.flag()) return null;
  const bytes = r.view(UUID_BYTES);
  return r.refused ? null : formatUuid(bytes);
}

export function readPush(r: GuardedReader, tenant: Tenant): PushCommand {
  const producerSub = r.optionalText(TEXT_BYTES_MAX);
  const groups: PushGroup[] = [];
  for (let left = r.count(2, COMMAND_ITEMS_MAX); left > 0 && !r.refused; left--) {
    const queue = r.text(NAME_BYTES_MAX);
    const partition = r.text(NAME_BYTES_MAX);
    checkNames(r, queue, '', partition);
    groups.push({ queue, partition });
  }
  const items = r.count(2, COMMAND_ITEMS_MAX);
  if (items > 0 && groups.length === 0) r.refuse();
  const hasIds = r.flag();
  const messageIds: (string | null)[] | null = r.flag() ? [] : null;
  const itemGroup: number[] = [];
  const transactionIds: (string | null)[] = [];
  const payloadStart: number[] = [];
  const payloadEnd: number[] = [];
  let end = 0;
  for (let item = 0; item < items && !r.refused; item++) {
    itemGroup.push(groups.length > 1 ? r.within(0, groups.length - 1) : 0);
    transactionIds.push(hasIds ? r.optionalText(TRANSACTION_ID_BYTES_MAX) : null);
    messageIds?.push(readMessageId(r));
    const start = r.varint();
    const stop = start + r.varint();
    payloadStart.push(start);
    payloadEnd.push(stop);
    if (stop > end) end = stop;
  }
  const body = r.view(r.varint());
  if (end > body.length) r.refuse();
  const columns = { itemGroup, transactionIds, payloadStart, payloadEnd };
  const push: PushCommand = { kind: 'push', tenant, producerSub, body, groups, ...columns };
  return messageIds === null ? push : { ...push, messageIds };
}

export function writeAck(w: ByteWriter, command: AckCommand): void {
  w.text(command.consumerGroup);
  w.varint(command.items.length);
  for (const item of command.items) {
    writeAckItem(w, item);
  }
}

export function writeAckItem(w: ByteWriter, item: AckItem): void {
  w.text(item.transactionId);
  w.text(item.partitionId);
  w.text(item.leaseId);
  w.u8(ACK_STATUSES.indexOf(item.status));
  w.optionalText(item.error);
}

export function readAck(r: GuardedReader, tenant: Tenant): AckCommand {
  const consumerGroup = r.text(NAME_BYTES_MAX);
  checkNames(r, '', consumerGroup, '');
  const items: AckItem[] = [];
  for (let left = r.count(ACK_BYTES_MIN, COMMAND_ITEMS_MAX); left > 0 && !r.refused; left--) {
    items.push(readAckItem(r));
  }
  return { kind: 'ack', tenant, consumerGroup, items };
}

export function readAckItem(r: GuardedReader): AckItem {
  return {
    transactionId: r.text(TEXT_BYTES_MAX),
    partitionId: r.text(TEXT_BYTES_MAX),
    leaseId: r.text(TEXT_BYTES_MAX),
    status: r.oneOf(ACK_STATUSES),
    error: r.optionalText(TEXT_BYTES_MAX),
  };
}
