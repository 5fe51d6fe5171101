/**
 * First contact: how a pop registers its group and by which policy it reads (message-plane 3.3).
 *
 * The policy is stored by the first pop that registers the group and stays whatever later pops say:
 * where the group starts, and whether it is delivered every message or last values only. A pop of a
 * whole queue always registers. One of a named partition does not, unless it wants last values: to
 * skip messages takes a group that has said so.
 */

import type { PopCommand } from '../base/commands/commands.js';
import { type DeliveryTerms, termsOf } from '../base/delivery-terms.js';
import { numberNameKey } from '../base/keys.js';
import type { GroupRow, QueueRow } from '../base/rows.js';
import type { State } from '../base/state.js';
import { cursors, groups } from '../base/tables.js';
import { PRICES } from '../base/work-prices.js';
import type { Draft } from '../draft/draft.js';
import { findQueue } from '../state/catalog.js';
import { firstPolicy } from '../state/subscription.js';
import type { DeliveryGroup, DeliveryMemory } from './memory.js';

/** The group as a pop of the queue leaves it: registered, and told of everything from here on. */
export function register(
  draft: Draft,
  memory: DeliveryMemory,
  queue: QueueRow,
  command: PopCommand,
): DeliveryGroup {
  const { consumerGroup } = command;
  const group = memory.group(draft, queue.number, consumerGroup);
  if (group.policy === null || !group.policy.isSeeded) {
    const policy = group.policy ?? firstPolicy(consumerGroup, command, draft.nowUs);
    storePolicy(draft, group, { ...policy, isSeeded: true });
    draft.spend(PRICES.newGroup);
  }
  memory.watch(group);
  return group;
}

/**
 * The policy by which a pop of one partition reads it. Where the group has a cursor already it has
 * been here without a word of last values, and goes on as it began.
 */
export function pinnedPolicy(
  draft: Draft,
  command: PopCommand,
  group: DeliveryGroup,
  partition: number,
  arrivedUs: number,
): GroupRow {
  if (group.policy !== null) return group.policy;
  const policy = firstPolicy(group.name, command, arrivedUs);
  const key = numberNameKey(partition, group.name);
  if (!policy.conflation || draft.state.get(cursors, key) !== undefined) return policy;
  storePolicy(draft, group, policy);
  return policy;
}

/**
 * What there is to say of a group that may not be remembered, or on a node that does not lead. Of a
 * discovery nothing: its groups are many.
 */
export function storedTerms(state: State, command: PopCommand): DeliveryTerms | null {
  const { scope, tenant, consumerGroup, conflation } = command;
  const queue = scope.kind === 'discovery' ? undefined : findQueue(state, tenant, scope.queue);
  const policy = queue && state.get(groups, numberNameKey(queue.number, consumerGroup));
  return policy === undefined ? null : termsOf(conflation, [{ policy }], null);
}

function storePolicy(draft: Draft, group: DeliveryGroup, policy: GroupRow): void {
  draft.emit({ kind: 'group', queue: group.queue, group: group.name, row: policy });
  group.policy = policy;
}
