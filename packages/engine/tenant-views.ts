/** What all queues of a tenant come to: the overview, and sums by label (inspection 6.1, 6.2). */
import type { Tenant } from './commands.js';
import type { MessageCounts } from './partition-counts.js';
import { sumQueue, tenantQueues } from './queue-sums.js';
import type { State } from './state.js';

/** Queues whose slowest reader has not consumed everything. */
export interface LagFigures {
  readonly queues: number;
  /** Of their oldest pending messages: the sum of whole seconds, and the longest. */
  readonly secondsSum: number;
  readonly secondsMax: number;
  /** Of their pending messages. */
  readonly messagesSum: number;
  readonly messagesMax: number;
}

export interface TenantOverview {
  readonly queues: number;
  readonly partitions: number;
  /** Distinct labels that are not empty. */
  readonly namespaces: number;
  readonly tasks: number;
  readonly counts: MessageCounts;
  readonly lag: LagFigures;
}

export type Label = 'namespace' | 'task';

export interface LabelSum {
  readonly label: string;
  readonly queues: number;
  readonly partitions: number;
  readonly counts: MessageCounts;
}

const MICROSECONDS = 1_000_000;
const NO_MESSAGES: MessageCounts = {
  total: 0,
  pending: 0,
  processing: 0,
  completed: 0,
  deadLetter: 0,
};
const NO_LAG: LagFigures = {
  queues: 0,
  secondsSum: 0,
  secondsMax: 0,
  messagesSum: 0,
  messagesMax: 0,
};

export function* tenantOverview(
  state: State,
  tenant: Tenant,
  nowUs: number,
): Generator<void, TenantOverview> {
  let queues = 0;
  let partitions = 0;
  let counts = NO_MESSAGES;
  let lag = NO_LAG;
  const namespaces = new Set<string>();
  const tasks = new Set<string>();
  for (const queue of tenantQueues(state, tenant)) {
    const sum = yield* sumQueue(state, queue, nowUs, true);
    queues++;
    partitions += queue.partitions;
    namespaces.add(queue.options.namespace);
    tasks.add(queue.options.task);
    counts = plus(counts, sum);
    if (sum.oldestPendingUs !== null) {
      lag = withQueue(lag, sum.pending, wholeSeconds(nowUs - sum.oldestPendingUs));
    }
  }
  namespaces.delete('');
  tasks.delete('');
  return { queues, partitions, namespaces: namespaces.size, tasks: tasks.size, counts, lag };
}

/** One row for each label that is not empty, ascending. */
export function* sumsByLabel(
  state: State,
  tenant: Tenant,
  label: Label,
  nowUs: number,
): Generator<void, LabelSum[]> {
  const sums = new Map<string, LabelSum>();
  for (const queue of tenantQueues(state, tenant)) {
    const text = queue.options[label];
    yield;
    if (text === '') continue;
    const sum = yield* sumQueue(state, queue, nowUs, false);
    const known = sums.get(text);
    sums.set(text, {
      label: text,
      queues: (known?.queues ?? 0) + 1,
      partitions: (known?.partitions ?? 0) + queue.partitions,
      counts: plus(known?.counts ?? NO_MESSAGES, sum),
    });
  }
  return [...sums.values()].sort((a, b) => (a.label < b.label ? -1 : 1));
}

/** Whole seconds from then to now; clocks of two nodes may stand the other way round. */
export function wholeSeconds(elapsedUs: number): number {
  return Math.max(0, Math.floor(elapsedUs / MICROSECONDS));
}

function plus(a: MessageCounts, b: MessageCounts): MessageCounts {
  return {
    total: a.total + b.total,
    pending: a.pending + b.pending,
    processing: a.processing + b.processing,
    completed: a.completed + b.completed,
    deadLetter: a.deadLetter + b.deadLetter,
  };
}

function withQueue(lag: LagFigures, pending: number, seconds: number): LagFigures {
  return {
    queues: lag.queues + 1,
    secondsSum: lag.secondsSum + seconds,
    secondsMax: Math.max(lag.secondsMax, seconds),
    messagesSum: lag.messagesSum + pending,
    messagesMax: Math.max(lag.messagesMax, pending),
  };
}
