/** Leases after their claim: prolonged (message-plane 5), released, or given back unseen. */

import { messageId, parseMessageId } from '@svc/wire';
import { assert } from '../base/assert.js';
import type { ExtendCommand, ExtendedOutcome, GiveBackCommand } from '../base/commands/commands.js';
import { nameInKey, numberKey, numberNameKey, numberRange } from '../base/keys.js';
import type { PartitionRow, SharedLeaseRow } from '../base/rows.js';
import type { Key } from '../base/state.js';
import { cursors, partitions, sharedLeases } from '../base/tables.js';
import type { Draft } from '../draft/draft.js';
import { findOwnPartition } from '../state/catalog.js';
import { parseLeaseId, sharedLeaseRange } from '../state/lease-id.js';
import type { DeliveryGroup, DeliveryMemory } from './memory.js';

const CURSORS_PER_LOOK = 256;
/** A pop claims at most 64 partitions. */
const HOLDERS_MAX = 64;

/** Prolongs every live lease held under the id; a lease that has expired stays so. */
export function planExtend(
  draft: Draft,
  memory: DeliveryMemory,
  command: ExtendCommand,
): ExtendedOutcome {
  let renewed = 0;
  let expiresAtUs: number | null = null;
  for (const { partition, group } of holdersOf(draft, memory, command.leaseId)) {
    const own = findOwnPartition(draft.state, command.tenant, partition);
    const cursor = draft.state.get(cursors, numberNameKey(partition, group));
    const lease = cursor?.lease ?? null;
    if (own === undefined || cursor === undefined || lease?.id !== command.leaseId) continue;
    const known = memory.group(draft, own.queue.number, group);
    if (!memory.leaseLive(draft, known, partition, lease)) continue;
    renewed++;
    const wantedUs = draft.nowUs + command.seconds * 1_000_000;
    const resultUs = Math.max(lease.expiresAtUs, wantedUs);
    if (expiresAtUs === null || resultUs < expiresAtUs) expiresAtUs = resultUs;
    const status = memory.status(known, partition);
    const endsMs = draft.nowMs + command.seconds * 1000;
    if (endsMs > status.leaseEndsMs) memory.hold(status, lease.id, endsMs);
    else if (lease.grantedBy !== draft.surroundings.nodeId) status.graced = true;
    if (resultUs === lease.expiresAtUs) continue;
    const grantedBy = draft.surroundings.nodeId;
    const row = { ...cursor, lease: { ...lease, expiresAtUs: resultUs, grantedBy } };
    draft.emit({ kind: 'cursor', partition, group, row });
  }
  return { kind: 'extended', renewed, expiresAtUs };
}

/** The cursors that may hold the lease. */
function holdersOf(draft: Draft, memory: DeliveryMemory, id: string): readonly SharedLeaseRow[] {
  const parsed = parseLeaseId(id);
  if (parsed === null) return [];
  if (parsed.shared) {
    const [from, to] = sharedLeaseRange(id);
    return draft.state.range(sharedLeases, from, to, HOLDERS_MAX).map(({ row }) => row);
  }
  const row = draft.state.get(partitions, numberKey(parsed.partition));
  if (row === undefined) return [];
  for (const group of memory.groupsOf(row.queue)?.values() ?? []) {
    if (group.statuses.get(row.number)?.leaseId === id) {
      return [{ partition: row.number, group: group.name }];
    }
  }
  return holderInRows(draft, row.number, id);
}

function holderInRows(draft: Draft, partition: number, id: string): readonly SharedLeaseRow[] {
  const [first, end] = numberRange(partition);
  let from = first;
  for (;;) {
    const rows = draft.state.range(cursors, from, end, CURSORS_PER_LOOK);
    for (const { key, row } of rows) {
      if (row.lease?.id === id) return [{ partition, group: nameInKey(key) }];
    }
    const last = rows[rows.length - 1];
    if (last === undefined || rows.length < CURSORS_PER_LOOK) return [];
    from = `${last.key}\0` as Key;
  }
}

/** Undoes claims that no client received: the messages are free and the delivery did not count. */
export function planGiveBack(draft: Draft, memory: DeliveryMemory, command: GiveBackCommand): void {
  const group = command.consumerGroup;
  for (const number of command.partitionNumbers) {
    const own = findOwnPartition(draft.state, command.tenant, number);
    const cursor = draft.state.get(cursors, numberNameKey(number, group));
    if (own === undefined || cursor === undefined) continue;
    if (cursor.lease === null || cursor.lease.id !== command.leaseId) continue;
    const attempt = Math.max(cursor.attempt - 1, 0);
    const row = { ...cursor, lease: null, attempt, aloneAt: -1 };
    draft.emit({ kind: 'cursor', partition: number, group, row });
    const known = memory.group(draft, own.queue.number, group);
    releaseLease(memory, known, own.partition, row.committed);
  }
}

/**
 * The cursor holds no lease any more: the partition is free for the next claim, if anything is
 * left.
 */
export function releaseLease(
  memory: DeliveryMemory,
  group: DeliveryGroup,
  partition: PartitionRow,
  committed: number,
): void {
  const status = group.statuses.get(partition.number);
  if (committed + 1 < partition.nextOffset) {
    if (status === undefined) memory.arm(group, partition.number);
    else memory.wake(status);
  } else if (status !== undefined) memory.forget(status);
}

export function mintLeaseId(draft: Draft, partition: number, shared: boolean): string {
  const random = parseMessageId(draft.surroundings.newUuid(draft.nowUs));
  assert(random !== null, 'the surroundings gave a UUID that is not of version 7');
  return messageId(draft.nowUs, partition, shared, random.offset);
}
