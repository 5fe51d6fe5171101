/** Finding what a group has not read yet: a walk over the partitions of its queue, in chunks. */

import { numberKey, numberPairKey, numberRange, secondNumberInKey } from '../base/keys.js';
import { partitions, queuePartitions } from '../base/tables.js';
import type { Draft } from '../draft/draft.js';
import { cursorOf } from '../state/subscription.js';
import type { DeliveryGroup, DeliveryMemory } from './memory.js';

/**
 * Looks at the next partitions, at most `rowsMax`, and returns how many rows it cost. A scan that
 * is far ahead of the consumers pauses; it goes on when partitions are taken.
 */
export function scanGroup(
  draft: Draft,
  memory: DeliveryMemory,
  group: DeliveryGroup,
  rowsMax: number,
): number {
  if (group.scan !== 'running') return 0;
  if (group.ready.size >= memory.limits.readyLow) {
    memory.scanning.delete(group);
    return 0;
  }
  if (rowsMax <= 0) {
    memory.scanning.add(group);
    return 0;
  }
  const from = numberPairKey(group.queue, group.scanFrom);
  const rows = draft.state.range(queuePartitions, from, numberRange(group.queue)[1], rowsMax);
  for (const { key } of rows) {
    const number = secondNumberInKey(key);
    group.scanFrom = number + 1;
    if (!group.statuses.has(number)) inspect(draft, memory, group, number);
  }
  const ended = rows.length < rowsMax;
  if (ended && !group.rescan) {
    group.scan = 'done';
    memory.scanning.delete(group);
    return rows.length + 1;
  }
  if (ended) {
    group.rescan = false;
    group.scanFrom = 0;
  }
  memory.scanning.add(group);
  return rows.length + 1;
}

function inspect(draft: Draft, memory: DeliveryMemory, group: DeliveryGroup, number: number): void {
  const partition = draft.state.get(partitions, numberKey(number));
  if (partition === undefined || partition.nextOffset === 0) return;
  const cursor = cursorOf(draft.state, partition, group.name, group.policy, draft.nowUs);
  if (cursor === undefined) return;
  if (cursor.lease !== null && memory.leaseLive(draft, group, number, cursor.lease)) return;
  if (cursor.committed + 1 < partition.nextOffset) memory.arm(group, number);
}
