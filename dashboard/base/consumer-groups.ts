/** Consumer groups: their addresses, sums of their partitions, what a seek does to them. */
import { withQuery } from './routes.js';

/** The group of pops that name none. */
export const QUEUE_MODE = '__QUEUE_MODE__';

/** Groups of streaming queries are called so. */
export const STREAM_GROUP = 'streams.';

export function pathOfGroup(group: string, queue: string | null = null): string {
  return withQuery('/consumers', { group, queue });
}

/** A cursor of a group, as the API shows it by queue. */
export interface Cursor {
  readonly queue: string;
  readonly conflation: boolean;
  readonly offsetLag: number;
  readonly timeLagSeconds: number;
  readonly leaseActive: boolean;
  readonly totalConsumed: number;
}

export interface QueueSums {
  readonly queue: string;
  readonly conflation: boolean;
  readonly partitions: number;
  readonly behind: number;
  readonly leased: number;
  readonly lag: number;
  readonly oldestSeconds: number;
  readonly consumed: number;
}

/** The queues of a group, the most behind first. */
export function queueSums(cursors: readonly Cursor[]): QueueSums[] {
  const sums = new Map<string, QueueSums>();
  for (const { queue, conflation, ...cursor } of cursors) {
    const { partitions, behind, leased, lag, oldestSeconds, consumed } = sums.get(queue) ?? NOTHING;
    sums.set(queue, {
      queue,
      conflation,
      partitions: partitions + 1,
      behind: behind + (cursor.offsetLag > 0 ? 1 : 0),
      leased: leased + (cursor.leaseActive ? 1 : 0),
      lag: lag + cursor.offsetLag,
      oldestSeconds: Math.max(oldestSeconds, cursor.timeLagSeconds),
      consumed: consumed + cursor.totalConsumed,
    });
  }
  return [...sums.values()].sort((a, b) => b.lag - a.lag);
}

const NOTHING = { partitions: 0, behind: 0, leased: 0, lag: 0, oldestSeconds: 0, consumed: 0 };

/** Where a partition's log and the group in it stand. */
export interface SeekPlace {
  /** The next offset that the group reads; null: it has read nothing here. */
  readonly position: number | null;
  /** The offset that it is to read next; null: the end. */
  readonly target: number | null;
  readonly logStart: number;
  readonly end: number;
}

export interface SeekEffect {
  /** Messages that the group has passed and gets another time. */
  readonly again: number;
  /** Messages that the group has not passed and does not get any more. */
  readonly skipped: number;
}

/** A position below the start of the log is at its start: what retention removed is not read. */
export function seekEffect(places: readonly SeekPlace[]): SeekEffect {
  let again = 0;
  let skipped = 0;
  for (const { position, target, logStart, end } of places) {
    const moved = (target ?? end) - Math.max(position ?? logStart, logStart);
    if (moved < 0) again -= moved;
    else skipped += moved;
  }
  return { again, skipped };
}
