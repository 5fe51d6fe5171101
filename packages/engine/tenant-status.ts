/** What the queues of a tenant hold right now: messages, leases, dead letters (inspection 4.1). */
import type { Tenant } from './commands.js';
import { deadLettersByQueue, newestDeadLetters } from './dead-letter-list.js';
import { deadLetterBody } from './dead-letters.js';
import type { Figures } from './queue-figures.js';
import { type QueueFilter, queuesMatching } from './queue-filter.js';
import type { QueueRow } from './rows.js';
import type { State } from './state.js';

export interface TenantStatus {
  /** Those that hold messages, by name. */
  readonly queues: readonly HeldQueue[];
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
  nowUs: number,
): Generator<void, TenantStatus> {
  const queues: HeldQueue[] = [];
  const errors = new Map<string, number>();
  const leases = { active: 0, partitions: 0, messages: 0 };
  const dead = { rows: 0, partitions: 0 };
  let pending = 0;
  let processing = 0;
  let errorsLeft = ERRORS_READ_MAX;
  const isWhole = filter.queue === null && filter.namespace === null && filter.task === null;
  if (isWhole) yield* figures.refresh(state, tenant, nowUs);
  const deadByQueue = yield* deadLettersByQueue(state, null);
  let passed = 0;
  for (const queue of queuesMatching(state, tenant, filter)) {
    if (++passed % QUEUES_PER_STEP === 0) yield;
    const sum = yield* figures.of(state, queue.number, nowUs);
    pending += sum.pending;
    processing += sum.processing;
    leases.active += sum.leases;
    leases.messages += sum.leasedMessages;
    leases.partitions += sum.leasedPartitions;
    dead.partitions += sum.deadPartitions;
    if (sum.total > 0) queues.push({ queue, consumed: sum.consumed });
    // Those of timers belong to no partition.
    const deadHere = deadByQueue.get(queue.number) ?? 0;
    dead.rows += deadHere;
    if (deadHere > 0 && errorsLeft > 0) {
      errorsLeft -= yield* readErrors(state, queue, errors, errorsLeft);
    }
  }
  return {
    queues,
    pending,
    processing,
    leases,
    deadLetters: { ...dead, errors: mostFrequent(errors) },
  };
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
