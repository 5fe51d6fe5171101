/**
 * Acknowledgements (message-plane 4). Items that name the same partition and lease are one target
 * (ack-target.ts). Targets do not affect each other, but for one thing: they share the room that an
 * entry has for dead letters (ack-dead-letters.ts). Where it ends, a target is settled up to there
 * and the rest of its batch is delivered again.
 */
import {
  fenceOf,
  isDigits,
  judgeTarget,
  partitionOf,
  refusal,
  repeatSettled,
  subjectOf,
  writeTarget,
} from './ack-target.js';
import { AppendDamage } from './append.js';
import type { AckCommand, AckedOutcome, AckItem, AckItemOutcome } from './commands.js';
import type { DeliveryMemory } from './delivery-memory.js';
import type { Draft } from './draft.js';

const LEASE_REFUSED = 'invalid or expired lease';
const BAD_PARTITION = 'partitionId is not a partition id';

interface Target {
  /** null: no text of a partition number. */
  readonly partition: number | null;
  readonly leaseId: string;
  readonly items: readonly AckItem[];
}

interface PlacedTarget extends Target {
  readonly items: AckItem[];
  /** Where each item stands in the command. */
  readonly at: number[];
}

export function planAck(
  draft: Draft,
  memory: DeliveryMemory,
  command: AckCommand,
  entryBytesMax: number,
): AckedOutcome {
  const [only] = command.items;
  // Most calls name one message.
  if (only !== undefined && command.items.length === 1) {
    const target = { partition: partitionOf(only), leaseId: only.leaseId, items: command.items };
    return { kind: 'acked', items: ackUndamaged(draft, memory, command, target, entryBytesMax) };
  }
  const targets = new Map<string, PlacedTarget>();
  command.items.forEach((item, at) => {
    // The number and not its text: "7" and "007" are one partition, hence one target.
    const partition = partitionOf(item);
    const key = `${partition} ${item.leaseId}`;
    const target = targets.get(key);
    if (target === undefined) {
      const { leaseId } = item;
      targets.set(key, { partition, leaseId, items: [item], at: [at] });
    } else {
      target.items.push(item);
      target.at.push(at);
    }
  });
  const outcomes = new Array<AckItemOutcome>(command.items.length);
  for (const target of targets.values()) {
    const answers = ackUndamaged(draft, memory, command, target, entryBytesMax);
    answers.forEach((answer, i) => {
      outcomes[target.at[i] ?? 0] = answer;
    });
  }
  return { kind: 'acked', items: outcomes };
}

/**
 * A target that needs a message which the log cannot give back is refused, and nothing of it has
 * been emitted yet: one damaged append must not end the node each time that somebody files it.
 */
function ackUndamaged(
  draft: Draft,
  memory: DeliveryMemory,
  command: AckCommand,
  target: Target,
  entryBytesMax: number,
): readonly AckItemOutcome[] {
  try {
    return ackTarget(draft, memory, command, target, entryBytesMax);
  } catch (error) {
    if (!(error instanceof AppendDamage)) throw error;
    return refuseAll(target.items, error.message);
  }
}

function ackTarget(
  draft: Draft,
  memory: DeliveryMemory,
  command: AckCommand,
  target: Target,
  entryBytesMax: number,
): readonly AckItemOutcome[] {
  const { items, leaseId } = target;
  const subject = subjectOf(draft, command.tenant, target.partition, command.consumerGroup);
  if (subject === 'no-partition') return refusePartition(items);
  if (subject === 'no-cursor') return refuseAll(items, LEASE_REFUSED);
  switch (fenceOf(draft, memory, subject, leaseId)) {
    case 'refused':
      return refuseAll(items, LEASE_REFUSED);
    case 'settled':
      return repeatSettled(draft, subject, items);
    case 'open':
    case 'held': {
      const verdict = judgeTarget(draft, subject, items, { entryBytesMax, usedBytes: null });
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
