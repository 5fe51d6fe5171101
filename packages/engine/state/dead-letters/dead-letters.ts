/**
 * Dead letters in the state: filing, removing and finding them. Apply runs the first two; they keep
 * the indexes, the counts and the partition's own figure in step with the rows.
 *
 * Bodies are read by ranges, because the store remembers rows that are got by their key, by number
 * and not by bytes, and a body is as large as a message.
 */
import { assert } from '../../base/assert.js';
import type { Tenant } from '../../base/commands/commands.js';
import { parseDeadLetterId } from '../../base/dead-letter-id.js';
import { appendKey, deadLetterKey, numberKey, numberNameKey } from '../../base/keys.js';
import type {
  DeadLetterBody,
  DeadLetterHead,
  DeadLetterRow,
  PartitionRow,
  QueueRow,
} from '../../base/rows.js';
import type { Key, State } from '../../base/state.js';
import { partitions, queues } from '../../base/tables.js';
import {
  afterIds,
  deadLetterBodies,
  deadLetterCounts,
  deadLetterIdInKey,
  deadLetterOffsets,
  deadLetters,
  deadLetterTransactions,
  deadOffsetKey,
  deadTransactionKey,
  transactionDigest,
} from './tables.js';

// --- apply -------------------------------------------------------------------------------------

export function fileDeadLetter(state: State, row: DeadLetterRow): void {
  const { id, queue, partition, group, offset, payload } = row;
  const digest = transactionDigest(row.transactionId);
  const key = deadLetterKey(queue, id);
  state.put(deadLetters, key, {
    partition,
    group,
    offset,
    transactionDigest: digest,
    payloadBytes: payload.length,
  });
  state.put(deadLetterBodies, key, {
    messageId: row.messageId,
    transactionId: row.transactionId,
    producerSub: row.producerSub,
    retries: row.retries,
    error: row.error,
    failedAtUs: row.failedAtUs,
    payload,
    reason: row.reason,
  });
  if (offset >= 0) state.put(deadLetterOffsets, deadOffsetKey(partition, offset, id), true);
  state.put(deadLetterTransactions, deadTransactionKey(partition, digest, id), true);
  count(state, queue, group, partition, 1);
}

/** The rows of one queue with these ids, all of which exist. */
export function removeDeadLetters(state: State, queue: number, ids: readonly string[]): void {
  for (const id of ids) {
    const head = state.get(deadLetters, deadLetterKey(queue, id));
    assert(head !== undefined, `dead letter ${id} of queue ${queue} removed, but it is not there`);
    forgetDeadLetter(state, queue, id, head);
    state.delete(deadLetters, deadLetterKey(queue, id));
  }
}

/** Removes all that hangs on a head, and lowers the figures; the head itself is left. */
export function forgetDeadLetter(
  state: State,
  queue: number,
  id: string,
  head: DeadLetterHead,
): void {
  const { partition, group, offset, transactionDigest: digest } = head;
  state.delete(deadLetterBodies, deadLetterKey(queue, id));
  if (offset >= 0) state.delete(deadLetterOffsets, deadOffsetKey(partition, offset, id));
  state.delete(deadLetterTransactions, deadTransactionKey(partition, digest, id));
  count(state, queue, group, partition, -1);
}

/** The partition may be gone with its queue. */
function count(state: State, queue: number, group: string, partition: number, by: 1 | -1): void {
  const key = numberNameKey(queue, group);
  const left = (state.get(deadLetterCounts, key) ?? 0) + by;
  assert(left >= 0, `${left} dead letters of group ${group} in queue ${queue}`);
  if (left === 0) state.delete(deadLetterCounts, key);
  else state.put(deadLetterCounts, key, left);
  const row = state.get(partitions, numberKey(partition));
  if (row === undefined) return;
  state.put(partitions, numberKey(partition), { ...row, deadLetters: row.deadLetters + by });
}

// --- reads -------------------------------------------------------------------------------------

/** Undefined when there is none of this id, or it is another tenant's. */
export function findDeadLetter(
  state: State,
  tenant: Tenant,
  id: string,
): { readonly queue: QueueRow; readonly head: DeadLetterHead } | undefined {
  const place = parseDeadLetterId(id);
  if (place === null) return undefined;
  const queue = state.get(queues, numberKey(place.queue));
  if (queue === undefined || queue.tenant !== tenant) return undefined;
  const head = state.get(deadLetters, deadLetterKey(place.queue, id));
  return head === undefined ? undefined : { queue, head };
}

/** What the head leaves out; null: the dead letter was removed. */
export function deadLetterBody(state: State, queue: number, id: string): DeadLetterBody | null {
  const key = deadLetterKey(queue, id);
  const [found] = state.range(deadLetterBodies, key, `${key}\0` as Key, 1);
  return found?.row ?? null;
}

/** Ids at an address (inspection 1.3), oldest first, of any group; at most `limit`. */
export function deadLettersAt(
  state: State,
  partition: number,
  transactionId: string,
  limit: number,
): string[] {
  const from = deadTransactionKey(partition, transactionDigest(transactionId), '');
  const rows = state.range(deadLetterTransactions, from, afterIds(from), limit);
  return rows.map(({ key }) => deadLetterIdInKey(key));
}

/** The oldest dead letter of a message that is or was at `offset`; null: there is none. */
export function deadLetterOf(state: State, partition: PartitionRow, offset: number): string | null {
  if (partition.deadLetters === 0) return null;
  const from = appendKey(partition.number, offset);
  const [row] = state.range(deadLetterOffsets, from, afterIds(from), 1);
  return row === undefined ? null : deadLetterIdInKey(row.key);
}
