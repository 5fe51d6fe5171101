/** A pop against what the leader remembers: which partitions it takes (message-plane 3.5). */
import { assert } from '../base/assert.js';
import type { PopCommand, PoppedOutcome } from '../base/commands/commands.js';
import { type DeliveryTerms, termsOf } from '../base/delivery-terms.js';
import { numberKey, numberNameKey } from '../base/keys.js';
import { NO_ROOM, type PopShare } from '../base/pop-room.js';
import type { GroupRow, PartitionRow, QueueRow } from '../base/rows.js';
import { cursors, queues } from '../base/tables.js';
import type { Draft } from '../draft/draft.js';
import { cursorOf } from '../state/subscription.js';
import { autopilotSizes } from './autopilot.js';
import type { DeliveryGroup, DeliveryMemory } from './memory.js';
import { claim, openBudget, type Picked, pick } from './pop-claim.js';
import { gatherPinnedUntilMs, gatherUntilMs, type PopTimes } from './pop-gather.js';
import type { PopBudget } from './pop-sight.js';

/** What became of a pop that was tried: a number is the time until which it gathers. */
export type Tried = PoppedOutcome | number | typeof NO_ROOM | null;

/**
 * Claims for a pop that takes whatever is ready, oldest first, group after group, until its budget
 * is used up. Null: nothing; then no partition of these groups is ready any more. `others` wait
 * beside it. `times` null: it is served with whatever there is.
 */
export function popReady(
  draft: Draft,
  memory: DeliveryMemory,
  command: PopCommand,
  groups: readonly DeliveryGroup[],
  others: number,
  times: PopTimes | null,
  share: PopShare,
): Tried {
  const sizes =
    command.autopilot === null
      ? null
      : autopilotSizes(memory, command, groups, others, draft.nowMs);
  const sized = sizes === null ? command : { ...command, ...sizes };
  if (times !== null) {
    const untilMs = gatherUntilMs(draft, memory, sized, groups, times);
    if (untilMs !== null) return untilMs;
  }
  const terms = termsOf(command.conflation, groups, sizes);
  return claimReady(draft, memory, sized, groups, terms, share);
}

function claimReady(
  draft: Draft,
  memory: DeliveryMemory,
  command: PopCommand,
  groups: readonly DeliveryGroup[],
  terms: DeliveryTerms | null,
  share: PopShare,
): Tried {
  const budget = openBudget(command, share.roomBytes);
  const picked: Picked[] = [];
  for (const group of groups) {
    if (group.ready.size > 0) pickReady(draft, memory, group, budget, picked);
  }
  share.close(budget.bytes, budget.neededBytes);
  if (picked.length === 0) return budget.neededBytes > 0 ? NO_ROOM : null;
  return claim(draft, memory, command, picked, terms);
}

function pickReady(
  draft: Draft,
  memory: DeliveryMemory,
  group: DeliveryGroup,
  budget: PopBudget,
  picked: Picked[],
): void {
  const queue = draft.state.get(queues, numberKey(group.queue));
  assert(queue !== undefined, `queue ${group.queue} is gone, but its group is remembered`);
  while (hasRoom(budget)) {
    const status = group.ready.first;
    if (status === null) return;
    const one = pick(draft, memory, queue, group, status.partition, group.policy, budget);
    if (one !== null) picked.push(one);
  }
}

function hasRoom(budget: PopBudget): boolean {
  if (budget.neededBytes > 0) return false;
  return budget.partitions > 0 && budget.messages > 0 && budget.bytes > 0 && budget.appends > 0;
}

/** The same for one named partition; `policy` stands in where the group has no cursor. */
export function popPartition(
  draft: Draft,
  memory: DeliveryMemory,
  command: PopCommand,
  queue: QueueRow,
  group: DeliveryGroup,
  partition: number,
  policy: GroupRow,
  times: PopTimes | null,
  share: PopShare,
): Tried {
  if (times !== null) {
    const untilMs = gatherPinnedUntilMs(draft, memory, command, group, partition, policy, times);
    if (untilMs !== null) return untilMs;
  }
  const budget = openBudget(command, share.roomBytes);
  const one = pick(draft, memory, queue, group, partition, policy, budget);
  share.close(budget.bytes, budget.neededBytes);
  if (one === null) return budget.neededBytes > 0 ? NO_ROOM : null;
  return claim(draft, memory, command, [one], termsOf(command.conflation, [group], null));
}

/**
 * A pinned pop that found nothing fixes where its unregistered group starts: the next pop with
 * `new` would otherwise skip what comes in between, and one of the whole queue what this one is to
 * read by its own parameters and could not see yet. An instant stays what it is.
 */
export function seedPinned(
  draft: Draft,
  partition: PartitionRow,
  group: DeliveryGroup,
  policy: GroupRow,
): void {
  if (group.policy !== null || policy.subscription.mode === 'timestamp') return;
  if (draft.state.get(cursors, numberNameKey(partition.number, group.name)) !== undefined) return;
  const row = cursorOf(draft.state, partition, group.name, policy, draft.nowUs);
  if (row === undefined) return;
  draft.emit({ kind: 'cursor', partition: partition.number, group: group.name, row });
}

export function isOutcome(tried: Tried): tried is PoppedOutcome {
  return tried !== null && typeof tried === 'object';
}
