/**
 * Looks up the messages that an acknowledgement names, some in each turn, before it is planned.
 *
 * The items of one target cannot be cut into several commands: together they decide what becomes of
 * the cursor, and the answer of each depends on all. But nearly all of their cost is looking up
 * which message an id means, and that changes nothing. So a call of more than a slice has its ids
 * looked up over several turns, and is then decided in one.
 *
 * What must hold: the outcome is one that the call could have had without this. The cursor may move
 * meanwhile, by another acknowledgement or a seek; then what was looked up for the target counts
 * for nothing, and its ids are looked up anew in the turn that decides. Messages that arrive
 * meanwhile are not looked for: the call came before them.
 */

import type { AckCommand } from '../base/commands/commands.js';
import { PRICES, SLICE_UNITS } from '../base/work-prices.js';
import type { Draft } from '../draft/draft.js';
import { type AckTarget, type LookedUp, targetsOf } from './ack.js';
import type { Subject } from './ack-dead-letters.js';
import type { Resolver } from './ack-resolve.js';
import { type Fence, fenceOf, resolverOf, subjectOf } from './ack-target.js';
import type { DeliveryMemory } from './memory.js';

interface Looked {
  readonly resolver: Resolver;
  /** What the cursor was then. */
  readonly mark: string;
}

export class AckAhead {
  readonly #command: AckCommand;
  readonly #targets: readonly AckTarget[];
  /** By target key; null: it is refused as it stands. */
  readonly #looked = new Map<string, Looked | null>();
  /** The next target, and the next of its items. */
  #target = 0;
  #item = 0;

  constructor(command: AckCommand) {
    this.#command = command;
    this.#targets = targetsOf(command);
  }

  /** A slice of looking up; true when all is known. */
  step(draft: Draft, memory: DeliveryMemory): boolean {
    let units = SLICE_UNITS;
    while (this.#target < this.#targets.length && units > 0) {
      const target = this.#targets[this.#target] as AckTarget;
      const key = keyOf(target);
      let looked = this.#looked.get(key);
      if (looked === undefined) {
        looked = this.#open(draft, memory, target);
        this.#looked.set(key, looked);
        units -= PRICES.ackTarget;
      }
      looked?.resolver.goOn(draft);
      while (looked !== null && this.#item < target.items.length && units > 0) {
        looked.resolver.resolve(target.items[this.#item++]?.transactionId ?? '');
        units -= PRICES.ackItem;
      }
      if (looked !== null && this.#item < target.items.length) break;
      this.#target++;
      this.#item = 0;
    }
    draft.spend(SLICE_UNITS - units);
    return this.#target === this.#targets.length;
  }

  lookedUp(draft: Draft): LookedUp {
    return (target, subject, fence) => {
      const looked = this.#looked.get(keyOf(target)) ?? null;
      if (looked === null || looked.mark !== markOf(subject, fence)) return null;
      looked.resolver.goOn(draft);
      return looked.resolver;
    };
  }

  #open(draft: Draft, memory: DeliveryMemory, target: AckTarget): Looked | null {
    const { tenant, consumerGroup } = this.#command;
    const subject = subjectOf(draft, tenant, target.partition, consumerGroup);
    if (typeof subject === 'string') return null;
    const fence = fenceOf(draft, memory, subject, target.leaseId);
    if (fence === 'refused') return null;
    return { resolver: resolverOf(draft, subject, fence), mark: markOf(subject, fence) };
  }
}

function keyOf({ partition, leaseId }: AckTarget): string {
  return `${partition} ${leaseId}`;
}

/** Two cursors of one mark have the same messages to acknowledge. */
function markOf({ partition, cursor }: Subject, fence: Fence): string {
  const { committed, lease, settled } = cursor;
  const leased = lease === null ? '' : `${lease.id} ${lease.batchEnd}`;
  const repeated = settled === null ? '' : `${settled.leaseId} ${settled.last}`;
  return `${fence} ${partition.logStart} ${committed} ${leased} ${repeated}`;
}
