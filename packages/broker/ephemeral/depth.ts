/** How much waits in an ephemeral queue, as far as this node holds it. */
import type { EphemeralQueue } from '@svc/ephemeral';
import type { EphemeralDepthAnswer } from '@svc/wire';

/** Partitions that a depth shows, those with something pending, and groups: 10,000 * 600 bytes. */
const ROWS_SHOWN_MAX = 10_000;

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
    partitions: partitions.slice(0, ROWS_SHOWN_MAX),
    groups: rows.sort((one, other) => byName(one.group, other.group)).slice(0, ROWS_SHOWN_MAX),
  };
}

function byName(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
