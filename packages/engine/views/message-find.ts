/**
 * One message by its address (inspection 1.2): a partition and a transaction id.
 *
 * An id that the broker minted says where its message stands. One that a client gave is known to
 * the transaction index while its window lasts; a message lives as long as its queue keeps it,
 * which may be for ever, and then only the log knows the id: below `forgottenEnd` it has to be
 * looked for there (message-plane 4.2). Whatever is found by either is a candidate, and the message
 * itself has the last word: the index knows ids by their hashes.
 */
import { type MessageStatus, messageId, parseMessageId } from '@svc/wire';
import { findAppend } from '../base/append-search.js';
import { ACK_WINDOW_SECONDS_MIN } from '../base/delivery-limits.js';
import { numberKey, textInKey } from '../base/keys.js';
import type { AppendRow, DeadLetterBody, PartitionRow, QueueRow } from '../base/rows.js';
import type { Key, State } from '../base/state.js';
import { partitions } from '../base/tables.js';
import { deadLetterBody, deadLetterOf } from '../state/dead-letters/dead-letters.js';
import { eachCursor, seededGroups } from '../state/group-cursors.js';
import { firstOffsetSince } from '../state/subscription.js';
import type { TransactionMatch } from '../state/transaction-ids/id-index.js';
import { messageStatus, partitionReaders } from './message-status.js';

/** Live offsets that may carry the id, the lowest first. */
export function messageCandidates(
  state: State,
  partition: PartitionRow,
  transactionId: string,
  matches: readonly TransactionMatch[],
): number[] {
  const { number, logStart, nextOffset } = partition;
  const isLive = (offset: number) => offset >= logStart && offset < nextOffset;
  const found = matches.map(({ offset }) => offset).filter(isLive);
  const minted = parseMessageId(transactionId);
  if (minted?.implicit === true && minted.partition === number && isLive(minted.offset)) {
    const stampUs = findAppend(state, number, minted.offset)?.row.stampUs ?? 0;
    const id = messageId(stampUs, number, true, minted.offset);
    if (id === transactionId) found.push(minted.offset);
  }
  return found.sort((a, b) => a - b);
}

/** Below it the index may have forgotten ids; `logStart` when it knows all. */
export function forgottenEnd(state: State, partition: PartitionRow, nowUs: number): number {
  const sinceUs = nowUs - ACK_WINDOW_SECONDS_MIN * 1_000_000;
  return Math.max(partition.logStart, firstOffsetSince(state, partition, sinceUs));
}

export interface MessageGroup {
  readonly name: string;
  readonly committed: number;
  /** While it lives. */
  readonly leaseExpiresAtUs: number | null;
}

export interface MessageDetail {
  readonly queue: QueueRow;
  readonly partition: PartitionRow;
  readonly offset: number;
  readonly baseOffset: number;
  readonly append: AppendRow;
  readonly status: MessageStatus;
  readonly deadLetter: Pick<DeadLetterBody, 'error' | 'retries' | 'reason'> | null;
  /** Every cursor of the partition, queue mode included. */
  readonly groups: readonly MessageGroup[];
}

/** Groups that are shown: a name takes 447 bytes at most, so 10,000 are 5 MB. */
const GROUPS_SHOWN_MAX = 10_000;

/** undefined: it is gone. */
export function* messageDetail(
  state: State,
  queue: QueueRow,
  partition: PartitionRow,
  offset: number,
  nowUs: number,
): Generator<void, MessageDetail | undefined> {
  const append = findAppend(state, partition.number, offset);
  if (append === undefined) return undefined;
  const groups: MessageGroup[] = [];
  const seeded = yield* seededGroups(state, queue.number);
  yield* eachCursor(state, partition, seeded, ({ keyEnd, committed, row }) => {
    if (groups.length >= GROUPS_SHOWN_MAX) return;
    const expiresAtUs = row?.lease?.expiresAtUs ?? 0;
    const leaseExpiresAtUs = expiresAtUs > nowUs ? expiresAtUs : null;
    groups.push({ name: textInKey(keyEnd as Key, 0, keyEnd.length), committed, leaseExpiresAtUs });
  });
  const readers = yield* partitionReaders(state, partition, seeded, nowUs);
  const letter = deadLetterOf(state, partition, offset);
  return {
    queue,
    partition,
    offset,
    baseOffset: append.baseOffset,
    append: append.row,
    status: messageStatus(state, partition, readers, offset),
    deadLetter: letter === null ? null : deadLetterBody(state, queue.number, letter),
    groups: groups.sort((a, b) => (a.name < b.name ? -1 : 1)),
  };
}

/** Undefined: there is none of this number. */
export function partitionOf(state: State, number: number): PartitionRow | undefined {
  return state.get(partitions, numberKey(number));
}
