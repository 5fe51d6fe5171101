/**
 * Ephemeral queues of a cluster. A node tells of its own memory alone, and behind a balancer
 * another one may answer each time: what each has told last is kept, and summed by queue.
 */
import type { EphemeralQueueView } from '@svc/wire';

type Told = readonly EphemeralQueueView[];

/** A page that a node told. The first of a list replaces what the node told before. */
export function heardPage(before: Told | undefined, page: Told, isFirst: boolean): Told {
  if (isFirst || before === undefined) return page;
  const names = new Set(page.map(({ queue }) => queue));
  return [...before.filter(({ queue }) => !names.has(queue)), ...page];
}

/** One row for each queue, over these nodes. Groups are known by number: the most on a node. */
export function sumsOf(told: Iterable<Told>): EphemeralQueueView[] {
  const sums = new Map<string, EphemeralQueueView>();
  for (const rows of told) {
    for (const row of rows) {
      const sum = sums.get(row.queue);
      sums.set(row.queue, sum === undefined ? row : added(sum, row));
    }
  }
  return [...sums.values()];
}

function added(a: EphemeralQueueView, b: EphemeralQueueView): EphemeralQueueView {
  return {
    ...a,
    tier: b.tier === 'declared' ? b.tier : a.tier,
    depth: a.depth + b.depth,
    bytes: a.bytes + b.bytes,
    partitions: a.partitions + b.partitions,
    groups: Math.max(a.groups, b.groups),
    drops: {
      bounds: a.drops.bounds + b.drops.bounds,
      ttl: a.drops.ttl + b.drops.ttl,
      retry: a.drops.retry + b.drops.retry,
    },
    options: b.tier === 'declared' ? b.options : a.options,
  };
}

/** Names the nodes whose figures are shown; "" for a cluster of one. */
export function whose(heard: readonly number[], nodes: readonly number[]): string {
  const silent = nodes.filter((node) => !heard.includes(node));
  if (nodes.length < 2) return '';
  if (silent.length === 0) return `Sums over the ${nodes.length} nodes, as each answered last.`;
  const known = nodes.filter((node) => heard.includes(node));
  return `Of ${named(known)} alone: ${named(silent)} did not answer this page yet.`;
}

function named(nodes: readonly number[]): string {
  return `${nodes.length === 1 ? 'node' : 'nodes'} ${nodes.join(', ')}`;
}
