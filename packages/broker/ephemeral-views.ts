/** What a node shows of the ephemeral queues that it holds (state-surfaces 4.2). */
import type { DeclaredQueue } from '@svc/engine';
import type { EphemeralQueue } from '@svc/ephemeral';
import type { EphemeralDepthAnswer, EphemeralQueuesAnswer, EphemeralQueueView } from '@svc/wire';
import type { LocalRings } from './ephemeral-local.js';

/** Partitions that a depth shows, those with something pending: 10,000 * 600 bytes. */
const PARTITIONS_SHOWN_MAX = 10_000;
const NO_DROPS = { bounds: 0, ttl: 0, retry: 0 };

/** By name. Declared queues are shown wherever they hold their messages. */
export function queuesAnswer(
  rings: LocalRings,
  tenant: string,
  declared: readonly DeclaredQueue[],
): EphemeralQueuesAnswer {
  const views = new Map<string, EphemeralQueueView>();
  for (const { queue, options } of declared) {
    views.set(queue, {
      queue,
      tier: 'declared',
      depth: 0,
      bytes: 0,
      partitions: 0,
      groups: 0,
      drops: NO_DROPS,
      options: rings.termsOf(options),
    });
  }
  for (const queue of rings.ofTenant(tenant)) {
    const isDeclared = views.has(queue.name) || queue.isDeclared;
    views.set(queue.name, viewOf(queue, isDeclared));
  }
  const queues = [...views.values()].sort((one, other) => byName(one.queue, other.queue));
  return { queues, count: queues.length, cellBytes: rings.bytes };
}

function viewOf(queue: EphemeralQueue, isDeclared: boolean): EphemeralQueueView {
  return {
    queue: queue.name,
    tier: isDeclared ? 'declared' : 'implicit',
    depth: queue.messages,
    bytes: queue.bytes,
    partitions: queue.rings.size,
    groups: queue.groups.size,
    drops: { ...queue.drops },
    options: queue.terms,
  };
}

/** `held`: what this node holds of it. null: it neither holds nor knows the queue. */
export function depthAnswer(
  held: EphemeralQueue | null,
  queue: string,
  group: string | null,
  isDeclared: boolean,
): EphemeralDepthAnswer | null {
  if (held === null && !isDeclared) return null;
  let pending = 0;
  const partitions: { partition: string; pending: number; bytes: number }[] = [];
  const groups = new Map<string, { group: string; pending: number; skipped: number }>();
  for (const ring of held?.rings.values() ?? []) {
    for (const [name, cursor] of ring.cursors) {
      const row = groups.get(name) ?? { group: name, pending: 0, skipped: 0 };
      row.pending += cursor.pending;
      row.skipped += cursor.skipped;
      groups.set(name, row);
    }
    const own = group === null ? undefined : ring.cursors.get(group);
    // A group that has not come yet has everything before it.
    const count = own?.pending ?? ring.messages.length;
    pending += count;
    if (count === 0) continue;
    partitions.push({ partition: ring.partition, pending: count, bytes: ring.messages.bytes });
  }
  partitions.sort((one, other) => byName(one.partition, other.partition));
  const rows = [...groups.values()].filter((row) => group === null || row.group === group);
  return {
    queue,
    group,
    tier: isDeclared || held?.isDeclared === true ? 'declared' : 'implicit',
    pending,
    partitionsPending: partitions.length,
    bytes: held?.bytes ?? 0,
    partitions: partitions.slice(0, PARTITIONS_SHOWN_MAX),
    groups: rows.sort((one, other) => byName(one.group, other.group)),
  };
}

function byName(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
