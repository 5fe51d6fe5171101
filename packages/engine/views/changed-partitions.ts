/**
 * The partitions of a queue that were written since an instant, page by page (message-plane 10),
 * and the instant up to which this node shows everything.
 *
 * The job: a reader that keeps up with a queue asks again and again what has changed, and fetches
 * that. It must never miss a record for good, whatever node it asks, and a queue of a million
 * partitions of which three changed must not cost a call a second of this node's time.
 *
 * Why `safeTime` is sound. It is the stamp of the newest entry applied here, taken before the first
 * row is looked at. Then:
 * - A record carries the stamp of its entry, and stamps rise strictly from entry to entry, over all
 *   leaders, restarts and snapshots: a leader plans above the stamp of the applied state that it
 *   begins with, and applying an entry whose stamp is not above asserts. Entries are applied in
 *   order. So no record stamped at or below `safeTime` can still come, and all that there ever were
 *   stand in the rows, or retention removed them, which `logStart` shows.
 * - Rows mean records that can be read here: an entry is applied only when this node's own log
 *   holds it. Rows that came with a snapshot are ahead of the log for a while, and so is a
 *   checkpoint after a restart behind what the group committed: in both cases the node does not
 *   serve reads by position until it has applied all that was committed when it came back. So
 *   `safeTime` of one node never falls either.
 * - Records above `safeTime` may show already, because rows are read later and a walk lets go of
 *   the loop in between; a reader takes them and may meet them again. What is written behind the
 *   walk's back, to a partition that it has passed, is stamped above the `safeTime` of the call
 *   that passed it: asking next time since the `safeTime` of the first page finds it.
 * - Of two nodes one may be ahead: the instants of one say nothing about the rows of the other.
 *
 * The walk goes by partition number, which is creation order and never reused: a partition created
 * meanwhile has a higher number and comes last, one deleted and created again too, with another
 * uuid. Nothing else would give pages that neither overlap nor leave out.
 *
 * Bounds. A page has `limit` rows, and is full then and only then: `next` says so, as the contract
 * has it. But rows that are passed over because they did not change cost as much as rows that are
 * shown, so a call walks over `PARTITIONS_WALKED_MAX` rows at most, all entries together. An entry
 * that meets this bound ends its page early and has a `next` too: `next` means that there is more
 * to look at, `null` that there is not, and nobody who follows it misses anything or gets less than
 * he asked for. Rejected: walking to the end of the queue in one call, which a thousand entries
 * that name one large queue would turn into an hour; a list of partitions by last write, which
 * would cost two more rows with every append of every queue, asked for or not.
 */
import { PARTITION_NUMBER_MAX } from '@svc/wire';
import type { Tenant } from '../base/commands/commands.js';
import type { PartitionRow } from '../base/rows.js';
import type { State } from '../base/state.js';
import { readMeta } from '../state/apply.js';
import { findQueue } from '../state/catalog.js';
import { partitionsByAge } from '../state/partition-walk.js';

/** Rows of one call, 2 us each: a fifth of a second, in slices. */
export const PARTITIONS_WALKED_MAX = 100_000;

export interface ChangedEntry {
  readonly queue: string;
  /** Inclusive; null: all partitions. */
  readonly sinceUs: number | null;
  /** As the client gave it; null: from the beginning. */
  readonly after: string | null;
  /** From 1. */
  readonly limit: number;
}

export interface ChangedPartition {
  readonly name: string;
  /** The partition's UUID. */
  readonly id: string;
  /** -1: nothing was ever written. */
  readonly lastOffset: number;
  readonly logStart: number;
  /** When it was written last; when it was created, as long as nothing was written. */
  readonly lastWriteUs: number;
}

export type ChangedPage =
  | {
      readonly kind: 'page';
      readonly partitions: readonly ChangedPartition[];
      /** null: there is no more. */
      readonly next: string | null;
    }
  | { readonly kind: 'unknown-queue' }
  | { readonly kind: 'bad-cursor' };

export interface ChangedPartitions {
  readonly safeUs: number;
  /** One per entry, in order. */
  readonly pages: readonly ChangedPage[];
}

/** Entries share one bound of rows walked. */
export function* changedPartitions(
  state: State,
  tenant: Tenant,
  entries: readonly ChangedEntry[],
  walkedMax: number,
): Generator<void, ChangedPartitions> {
  const safeUs = readMeta(state).stampUs;
  const budget: Budget = { rows: walkedMax };
  const pages: ChangedPage[] = [];
  for (const entry of entries) {
    pages.push(yield* pageOf(state, tenant, entry, budget));
    yield;
  }
  return { safeUs, pages };
}

interface Budget {
  rows: number;
}

function* pageOf(
  state: State,
  tenant: Tenant,
  entry: ChangedEntry,
  budget: Budget,
): Generator<void, ChangedPage> {
  const queue = findQueue(state, tenant, entry.queue);
  if (queue === undefined) return { kind: 'unknown-queue' };
  const after = numberOfCursor(entry.after);
  if (after === null) return { kind: 'bad-cursor' };
  const partitions: ChangedPartition[] = [];
  let last = after;
  for (const chunk of partitionsByAge(state, queue.number, after)) {
    for (const row of chunk) {
      if (budget.rows <= 0 || partitions.length >= entry.limit) {
        return { kind: 'page', partitions, next: cursorOfNumber(last) };
      }
      budget.rows--;
      last = row.number;
      const lastWriteUs = lastWriteOf(row);
      if (entry.sinceUs === null || lastWriteUs >= entry.sinceUs) {
        partitions.push(shown(row, lastWriteUs));
      }
    }
    yield;
  }
  const isFull = partitions.length >= entry.limit;
  return { kind: 'page', partitions, next: isFull ? cursorOfNumber(last) : null };
}

function lastWriteOf({ lastStampUs, createdAtUs }: PartitionRow): number {
  return lastStampUs === 0 ? createdAtUs : lastStampUs;
}

function shown(row: PartitionRow, lastWriteUs: number): ChangedPartition {
  return {
    name: row.name,
    id: row.id,
    lastOffset: row.nextOffset - 1,
    logStart: row.logStart,
    lastWriteUs,
  };
}

const CURSOR = /^p\|(\d+)$/;

function cursorOfNumber(number: number): string {
  return `p|${number}`;
}

/** The number after which the page begins; null: it is no cursor of ours. */
function numberOfCursor(text: string | null): number | null {
  if (text === null || text === '') return 0;
  const digits = CURSOR.exec(text)?.[1];
  return digits === undefined ? null : Math.min(Number(digits), PARTITION_NUMBER_MAX);
}
