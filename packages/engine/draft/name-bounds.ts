/**
 * How many queues, partitions and consumer groups there may be, of one tenant and of all together.
 *
 * The job: a name costs rows on every node for as long as it exists, and clients make names by
 * using them. Whoever sets a bound gets a refusal (`quota_exceeded`) instead of a full store.
 *
 * Why it is hard: names are made in many places (push, configure, pop, seek, transactions, cycles),
 * several calls of one turn can each find the last free place, and every node has a setting of its
 * own.
 *
 * What must hold:
 * - The leader decides when it plans, and the entry says what was made. Applying knows no bound, so
 *   nodes with different settings agree. The setting of the node that leads is what counts.
 * - The figures are the replicated counts of the index of names, as the planned state shows them,
 *   and what the turn has placed and not yet written (`PlacedNames`). A name that two calls of one
 *   turn make is counted once for each of them until it is written: a bound may be met a little
 *   early within one turn, never late.
 * - A call is refused as a whole, before it has changed anything. Names that exist are never
 *   refused, and neither is what makes none.
 * - What was promised is kept: a timer that was taken fires, and its dead letter is filed, although
 *   its queue is one too many by then. A timer is only taken where its names have room now.
 *
 * A consumer group counts once for each queue that it reads, for it costs rows at each.
 *
 * Rejected: a bound that every node enforces on its own (nodes that count at different moments
 * would refuse differently), and a replicated setting (an option of the node needs none, because
 * one node decides).
 */

import type { PopCommand, RefusedOutcome, Tenant } from '../base/commands/commands.js';
import type { TimerCall } from '../base/commands/timers.js';
import type { Refusal } from '../base/refusals.js';
import type { QueueRow } from '../base/rows.js';
import type { State } from '../base/state.js';
import { findPartition, findQueue } from '../state/catalog.js';
import { type NameCounts, nameCountsOf, readsQueue } from '../state/names/name-index.js';

/** null: any number. */
export interface NameLimits {
  readonly queues: number | null;
  readonly partitions: number | null;
  readonly groups: number | null;
}

export interface NameBounds {
  /** The bounds of each tenant. */
  readonly tenant: NameLimits;
  /** The bounds of all tenants together. */
  readonly all: NameLimits;
}

/** Names that a call would make. */
export interface NewNames {
  readonly queues: number;
  readonly partitions: number;
  readonly groups: number;
}

const KINDS = ['queues', 'partitions', 'groups'] as const;
const WORDS = { queues: 'queues', partitions: 'partitions', groups: 'consumer groups' } as const;
export const NO_NEW: NewNames = { queues: 0, partitions: 0, groups: 0 };

/** Names that are placed in a turn and not written: the counts do not know them yet. */
export class PlacedNames {
  readonly #byTenant = new Map<Tenant, NewNames>();
  #all = NO_NEW;

  add(tenant: Tenant, made: NewNames): void {
    this.#byTenant.set(tenant, sum(this.of(tenant), made));
    this.#all = sum(this.#all, made);
  }

  /** null: of all tenants. */
  of(tenant: Tenant | null): NewNames {
    return tenant === null ? this.#all : (this.#byTenant.get(tenant) ?? NO_NEW);
  }
}

export class NameGuard {
  readonly #bounds: NameBounds;

  private constructor(bounds: NameBounds) {
    this.#bounds = bounds;
  }

  /** null: nothing is bounded, and nobody has to ask. */
  static of(bounds: NameBounds | undefined): NameGuard | null {
    if (bounds === undefined) return null;
    const isBound = KINDS.some((kind) => bounds.tenant[kind] !== null || bounds.all[kind] !== null);
    return isBound ? new NameGuard(bounds) : null;
  }

  /** null: there is room for the new names. `placed`: what the turn will write of its own. */
  judge(
    state: State,
    tenant: Tenant,
    made: NewNames,
    placed: PlacedNames | null = null,
  ): Refusal | null {
    const { tenant: own, all } = this.#bounds;
    return (
      overrun(own, nameCountsOf(state, tenant), placed?.of(tenant), made, 'this tenant has') ??
      overrun(all, nameCountsOf(state, null), placed?.of(null), made, 'all tenants have')
    );
  }

  /**
   * A pop of a queue makes the queue, unless it shall not, and registers its group; a pinned one
   * makes the group.
   */
  judgePop(state: State, { scope, tenant, consumerGroup }: PopCommand): RefusedOutcome | null {
    if (scope.kind === 'discovery') return null;
    const queue = findQueue(state, tenant, scope.queue);
    const isPinned = scope.kind === 'partition';
    if (queue === undefined) {
      return isPinned || scope.creates === false
        ? null
        : refusedBy(this.judge(state, tenant, { ...NO_NEW, queues: 1, groups: 1 }));
    }
    if (isPinned && findPartition(state, queue.number, scope.partition) === undefined) return null;
    return refusedBy(this.judgeGroup(state, queue, consumerGroup));
  }

  /** Timers make names when they fire, and may only be taken where there is room for these. */
  judgeTimers(state: State, { tenant, ops }: TimerCall): Refusal | null {
    const queues = new Set<string>();
    const partitions = new Set<string>();
    for (const op of ops) {
      if (op.op !== 'schedule') continue;
      const queue = findQueue(state, tenant, op.queue);
      if (queue === undefined) queues.add(op.queue);
      else if (findPartition(state, queue.number, op.partition) !== undefined) continue;
      partitions.add(`${op.queue.length} ${op.queue}${op.partition}`);
    }
    const made = { queues: queues.size, partitions: partitions.size, groups: 0 };
    return this.judge(state, tenant, made);
  }

  /** null: the group reads the queue, or may begin to. */
  judgeGroup(state: State, queue: QueueRow, group: string): Refusal | null {
    if (readsQueue(state, queue, group)) return null;
    return this.judge(state, queue.tenant, { ...NO_NEW, groups: 1 });
  }

  /** The same for a group at several queues of one tenant. */
  judgeGroups(state: State, queues: readonly QueueRow[], group: string): RefusedOutcome | null {
    const fresh = queues.filter((queue) => !readsQueue(state, queue, group));
    const [first] = fresh;
    if (first === undefined) return null;
    return refusedBy(this.judge(state, first.tenant, { ...NO_NEW, groups: fresh.length }));
  }
}

export function refusedBy(refusal: Refusal | null): RefusedOutcome | null {
  return refusal === null ? null : { kind: 'refused', refusal };
}

function overrun(
  limits: NameLimits,
  counts: NameCounts,
  placed: NewNames = NO_NEW,
  made: NewNames,
  whose: string,
): Refusal | null {
  for (const kind of KINDS) {
    const limit = limits[kind];
    if (limit === null || made[kind] === 0) continue;
    const count = counts[kind] + placed[kind];
    if (count + made[kind] <= limit) continue;
    const more = `this call makes ${made[kind]} more`;
    const error = `${whose} ${count} ${WORDS[kind]} of at most ${limit}; ${more}`;
    return { reason: 'quota_exceeded', error };
  }
  return null;
}

function sum(a: NewNames, b: NewNames): NewNames {
  return {
    queues: a.queues + b.queues,
    partitions: a.partitions + b.partitions,
    groups: a.groups + b.groups,
  };
}
