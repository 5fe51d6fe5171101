/** What the queues of a tenant hold right now: messages, leases, dead letters (inspection 4.1). */

import type { Tenant } from '../base/commands/commands.js';
import { keyText } from '../base/keys.js';
import type { NextAfter, PageQuery } from '../base/page.js';
import type { QueueRow } from '../base/rows.js';
import type { State } from '../base/state.js';
import { findQueue, queueByNumber } from '../state/catalog.js';
import { deadLetterBody } from '../state/dead-letters/dead-letters.js';
import type { Figures } from '../state/queue-figures.js';
import { numbersByName, type QueueSum } from '../state/queue-sums.js';
import { deadLettersByQueue, newestDeadLetters } from './dead-letter-list.js';
import { isWanted, type QueueFilter, queuesMatching } from './queue-filter.js';

export interface TenantStatus {
  /** Those that hold messages, by name: all, or a page of them. */
  readonly queues: readonly HeldQueue[];
  readonly nextAfter: NextAfter;
  /** Includes what is leased. */
  readonly pending: number;
  readonly processing: number;
  readonly leases: {
    readonly active: number;
    readonly partitions: number;
    readonly messages: number;
  };
  readonly deadLetters: {
    readonly rows: number;
    readonly partitions: number;
    /** The most frequent among the newest, most frequent first. */
    readonly errors: readonly { readonly error: string; readonly count: number }[];
  };
}

export interface HeldQueue {
  readonly queue: QueueRow;
  /** By the reader that consumed most, over its partitions. */
  readonly consumed: number;
}

/** Queues between two yields, about 5 us each. */
const QUEUES_PER_STEP = 256;
/** Dead letters whose errors are read, and of one queue: 500 bodies, read one by one. */
const ERRORS_READ_MAX = 500;
const ERRORS_OF_QUEUE_MAX = 100;
const ERRORS_SHOWN_MAX = 5;
/** An error is cut to so much before it is compared. */
const ERROR_CHARS_MAX = 1024;

export function* tenantStatus(
  state: State,
  figures: Figures,
  tenant: Tenant,
  filter: QueueFilter,
  page: PageQuery,
  nowUs: number,
): Generator<void, TenantStatus> {
  const sums = new StatusSums();
  const isWhole = filter.queue === null && filter.namespace === null && filter.task === null;
  if (isWhole) yield* figures.each(state, tenant, nowUs, (_, sum) => sums.add(sum));
  else {
    for (const queue of queuesMatching(state, tenant, filter)) {
      sums.add(yield* figures.of(state, queue.number, nowUs));
      yield;
    }
  }
  const listed = yield* heldQueues(state, figures, tenant, filter, page, nowUs);
  const dead = yield* deadLettersOf(state, tenant, filter);
  const { pending, processing, leases, deadPartitions: partitions } = sums;
  return { ...listed, pending, processing, leases, deadLetters: { ...dead, partitions } };
}

class StatusSums {
  pending = 0;
  processing = 0;
  deadPartitions = 0;
  readonly leases = { active: 0, partitions: 0, messages: 0 };

  add(sum: QueueSum): void {
    this.pending += sum.pending;
    this.processing += sum.processing;
    this.deadPartitions += sum.deadPartitions;
    this.leases.active += sum.leases;
    this.leases.messages += sum.leasedMessages;
    this.leases.partitions += sum.leasedPartitions;
  }
}

/** A page of the queues that hold messages; the place in it is the name of a queue. */
function* heldQueues(
  state: State,
  figures: Figures,
  tenant: Tenant,
  filter: QueueFilter,
  { after, limit }: PageQuery,
  nowUs: number,
): Generator<void, Pick<TenantStatus, 'queues' | 'nextAfter'>> {
  const queues: HeldQueue[] = [];
  let place: NextAfter = null;
  let passed = 0;
  for (const number of numbersMatching(state, tenant, filter, after)) {
    if (++passed % QUEUES_PER_STEP === 0) yield;
    const { total, consumed } = yield* figures.of(state, number, nowUs);
    // Its row is looked at only if it is shown.
    const queue = total > 0 ? queueByNumber(state, number) : undefined;
    if (queue === undefined || !isWanted(queue, filter)) continue;
    if (queues.length === limit) return { queues, nextAfter: place };
    queues.push({ queue, consumed });
    place = keyText(queue.name);
  }
  return { queues, nextAfter: null };
}

function* numbersMatching(
  state: State,
  tenant: Tenant,
  { queue }: QueueFilter,
  after: string,
): Generator<number> {
  if (queue === null) yield* numbersByName(state, tenant, after);
  else {
    const named = findQueue(state, tenant, queue);
    if (named !== undefined && keyText(named.name) > after) yield named.number;
  }
}

function* deadLettersOf(
  state: State,
  tenant: Tenant,
  filter: QueueFilter,
): Generator<void, Omit<TenantStatus['deadLetters'], 'partitions'>> {
  const errors = new Map<string, number>();
  let rows = 0;
  let errorsLeft = ERRORS_READ_MAX;
  // Those of timers belong to no partition.
  for (const [number, count] of yield* deadLettersByQueue(state, null)) {
    const queue = queueByNumber(state, number);
    yield;
    if (queue === undefined || queue.tenant !== tenant || !isWanted(queue, filter)) continue;
    rows += count;
    if (errorsLeft > 0) errorsLeft -= yield* readErrors(state, queue, errors, errorsLeft);
  }
  return { rows, errors: mostFrequent(errors) };
}

function* readErrors(
  state: State,
  queue: QueueRow,
  errors: Map<string, number>,
  left: number,
): Generator<void, number> {
  const limit = Math.min(left, ERRORS_OF_QUEUE_MAX);
  const found = yield* newestDeadLetters(state, queue, limit);
  for (const { id } of found) {
    const text = deadLetterBody(state, queue.number, id)?.error.slice(0, ERROR_CHARS_MAX) ?? '';
    errors.set(text, (errors.get(text) ?? 0) + 1);
    yield;
  }
  return found.length;
}

function mostFrequent(errors: ReadonlyMap<string, number>): { error: string; count: number }[] {
  return [...errors]
    .map(([error, count]) => ({ error, count }))
    .sort((a, b) => b.count - a.count || (a.error < b.error ? -1 : 1))
    .slice(0, ERRORS_SHOWN_MAX);
}
