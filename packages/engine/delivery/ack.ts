/**
 * Acknowledgements (message-plane 4). Items that name the same partition and lease are one target
 * (ack-target.ts). Targets do not affect each other, but for one thing: they share the room that an
 * entry has for dead letters (ack-dead-letters.ts). Where it ends, a target is carried out up to
 * there, and the rest of its items say so.
 *
 * A call of many targets comes in slices (packages/broker). One target cannot be cut, because its
 * items decide together what becomes of the cursor; so the messages that they name are looked up
 * ahead (ack-ahead.ts), over several turns, and only the decision is made in one.
 */

import { AppendDamage } from '../base/append.js';
import type {
  AckCommand,
  AckedOutcome,
  AckItem,
  AckItemOutcome,
} from '../base/commands/commands.js';
import { PRICES } from '../base/work-prices.js';
import type { Draft } from '../draft/draft.js';
import type { Subject } from './ack-dead-letters.js';
import type { Resolver } from './ack-resolve.js';
import {
  ackTargetKey,
  type Fence,
  fenceOf,
  isDigits,
  judgeTarget,
  partitionOf,
  refusal,
  repeatSettled,
  resolverOf,
  subjectOf,
  writeTarget,
} from './ack-target.js';
import type { DeliveryMemory } from './memory.js';

const LEASE_REFUSED = 'invalid or expired lease';
const BAD_PARTITION = 'partitionId is not a partition id';

export interface AckTarget {
  /** null: no text of a partition number. */
  readonly partition: number | null;
  readonly leaseId: string;
  readonly items: readonly AckItem[];
}

interface PlacedTarget extends AckTarget {
  readonly items: AckItem[];
  /** Where each item stands in the command. */
  readonly at: number[];
}

/** Knows the messages of a target that were looked up before; null: they were not. */
export type LookedUp = (target: AckTarget, subject: Subject, fence: Fence) => Resolver | null;

const NOTHING_LOOKED_UP: LookedUp = () => null;

export function planAck(
  draft: Draft,
  memory: DeliveryMemory,
  command: AckCommand,
  lookedUp: LookedUp = NOTHING_LOOKED_UP,
): AckedOutcome {
  const site: AckSite = { draft, memory, command, lookedUp };
  const [only] = command.items;
  // Most calls name one message.
  if (only !== undefined && command.items.length === 1) {
    const target = { partition: partitionOf(only), leaseId: only.leaseId, items: command.items };
    return { kind: 'acked', items: ackUndamaged(site, target) };
  }
  const targets = targetsOf(command);
  const [first] = targets;
  if (first !== undefined && targets.length === 1) {
    return { kind: 'acked', items: ackUndamaged(site, first) };
  }
  const outcomes = new Array<AckItemOutcome>(command.items.length);
  for (const target of targets) {
    const answers = ackUndamaged(site, target);
    answers.forEach((answer, i) => {
      outcomes[target.at[i] ?? 0] = answer;
    });
  }
  return { kind: 'acked', items: outcomes };
}

/** In the order in which the first item of each came. */
export function targetsOf({ items }: AckCommand): readonly PlacedTarget[] {
  const targets = new Map<string, PlacedTarget>();
  // Items that follow each other mostly name one target, and then no key is made.
  let before: AckItem | null = null;
  let target: PlacedTarget | undefined;
  for (let at = 0; at < items.length; at++) {
    const item = items[at] as AckItem;
    const { partitionId, leaseId } = item;
    if (before?.partitionId !== partitionId || before.leaseId !== leaseId) {
      const key = ackTargetKey(item);
      target = targets.get(key);
      if (target === undefined) {
        target = { partition: partitionOf(item), leaseId, items: [], at: [] };
        targets.set(key, target);
      }
    }
    target?.items.push(item);
    target?.at.push(at);
    before = item;
  }
  return [...targets.values()];
}

/** What judging the targets of one call needs. */
interface AckSite {
  readonly draft: Draft;
  readonly memory: DeliveryMemory;
  readonly command: AckCommand;
  readonly lookedUp: LookedUp;
}

/**
 * A target that needs a message which the log cannot give back is refused, and nothing of it has
 * been emitted yet: one damaged append must not end the node each time that somebody files it.
 */
function ackUndamaged(site: AckSite, target: AckTarget): readonly AckItemOutcome[] {
  try {
    return ackTarget(site, target);
  } catch (error) {
    if (!(error instanceof AppendDamage)) throw error;
    return refuseAll(target.items, error.message);
  }
}

function ackTarget(site: AckSite, target: AckTarget): readonly AckItemOutcome[] {
  const { draft, memory, command, lookedUp } = site;
  const { items, leaseId } = target;
  draft.spend(PRICES.ackTarget);
  const subject = subjectOf(draft, command.tenant, target.partition, command.consumerGroup);
  if (subject === 'no-partition') return refusePartition(items);
  if (subject === 'no-cursor') return refuseAll(items, LEASE_REFUSED);
  const fence = fenceOf(draft, memory, subject, leaseId);
  if (fence === 'refused') return refuseAll(items, LEASE_REFUSED);
  const known = lookedUp(target, subject, fence);
  draft.spend(items.length * (known === null ? PRICES.ackItem : PRICES.knownAckItem));
  const resolver = known ?? resolverOf(draft, subject, fence);
  switch (fence) {
    case 'settled':
      return repeatSettled(items, resolver);
    case 'open':
    case 'held': {
      const room = { entryBytesMax: memory.entryBytesMax, usedBytes: null };
      const verdict = judgeTarget(draft, subject, items, room, resolver);
      draft.spend(verdict.letters.rows.length * PRICES.deadLetter);
      if (verdict.change !== null) writeTarget(draft, memory, verdict.change);
      return verdict.items;
    }
  }
}

function refusePartition(items: readonly AckItem[]): AckItemOutcome[] {
  return items.map(({ partitionId }) =>
    refusal(isDigits(partitionId) ? `no partition ${partitionId}` : BAD_PARTITION, false),
  );
}

function refuseAll(items: readonly AckItem[], error: string): AckItemOutcome[] {
  return items.map(() => refusal(error, false));
}
