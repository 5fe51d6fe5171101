/**
 * Sums over all queues of a tenant: the overview and sums by label (inspection 6.1, 6.2), and what
 * each queue holds right now, for the workload by label (inspection 5.3).
 */

import type { Tenant } from '../base/commands/commands.js';
import type { NextAfter, PageQuery, TakeRow } from '../base/page.js';
import type { QueueRow } from '../base/rows.js';
import type { Key, State } from '../base/state.js';
import { queueByNumber } from '../state/catalog.js';
import {
  groupsByQueue,
  LABEL_BYTES_MAX,
  type Label,
  labelAt,
  labelRange,
  nameCountsOf,
  queueLabels,
  splitLabelKey,
} from '../state/names/name-index.js';
import type { MessageCounts } from '../state/partition-counts.js';
import type { Figures } from '../state/queue-figures.js';
import { type QueueSum, tenantQueues } from '../state/queue-sums.js';

/** Queues between two yields, about 5 us each. */
const QUEUES_PER_STEP = 256;
const NO_GROUPS: ReadonlySet<string> = new Set();
const LABELS_PER_READ = 256;
/** Looked up between two yields, where they are kept. */
const SUMS_PER_STEP = 1024;

/** Queues whose slowest reader has not consumed everything. */
export interface LagFigures {
  readonly queues: number;
  /** The ages of their oldest pending messages: the sum of whole seconds, and the longest. */
  readonly secondsSum: number;
  readonly secondsMax: number;
  /** Their pending messages. */
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
  figures: Figures,
  tenant: Tenant,
  nowUs: number,
): Generator<void, TenantOverview> {
  let counts = NO_MESSAGES;
  let lag = NO_LAG;
  yield* figures.each(state, tenant, nowUs, (_, sum) => {
    counts = plus(counts, sum);
    if (sum.oldestPendingUs !== null) {
      lag = withQueue(lag, sum.pending, wholeSeconds(nowUs - sum.oldestPendingUs));
    }
  });
  const { queues, partitions, namespaces, tasks } = nameCountsOf(state, tenant);
  return { queues, partitions, namespaces, tasks, counts, lag };
}

/** One row for each label that is not empty, ascending by its bytes. */
export function* sumsByLabel(
  state: State,
  figures: Figures,
  tenant: Tenant,
  label: Label,
  { after, limit }: PageQuery,
  nowUs: number,
  take: TakeRow<LabelSum>,
): Generator<void, NextAfter> {
  if (limit === Number.POSITIVE_INFINITY) yield* figures.each(state, tenant, nowUs, () => {});
  const [first, end] = labelRange(tenant, label);
  let from = after === '' ? first : (`${first}${after}\xff` as Key);
  let sums: LabelSums | null = null;
  let passed = 0;
  let left = limit;
  for (;;) {
    const listed = state.range(queueLabels, from, end, LABELS_PER_READ);
    for (const { key } of listed) {
      const { label: place, queue } = splitLabelKey(key);
      if (sums !== null && sums.place !== place) {
        if (!sums.show(take)) return null;
        left -= sums.size;
        if (left <= 0) return sums.place;
        sums = null;
      }
      sums ??= new LabelSums(place);
      if (++passed % SUMS_PER_STEP === 0) yield;
      const sum = yield* figures.of(state, queue, nowUs);
      const text = place.length > LABEL_BYTES_MAX ? null : labelAt(place);
      sums.add(text ?? queueByNumber(state, queue)?.options[label] ?? '', sum);
    }
    const last = listed[listed.length - 1];
    if (last === undefined || listed.length < LABELS_PER_READ) break;
    from = `${last.key}\0` as Key;
    yield;
  }
  sums?.show(take);
  return null;
}

/** Sums, by label, of the queues under one place of the index; long labels may share a place. */
class LabelSums {
  readonly place: string;
  readonly #sums = new Map<string, LabelSum>();

  constructor(place: string) {
    this.place = place;
  }

  get size(): number {
    return this.#sums.size;
  }

  add(label: string, sum: QueueSum): void {
    const known = this.#sums.get(label);
    this.#sums.set(label, {
      label,
      queues: (known?.queues ?? 0) + 1,
      partitions: (known?.partitions ?? 0) + sum.partitions,
      counts: plus(known?.counts ?? NO_MESSAGES, sum),
    });
  }

  show(take: TakeRow<LabelSum>): boolean {
    const ordered = [...this.#sums.values()].sort((a, b) => (a.label < b.label ? -1 : 1));
    return ordered.every(take);
  }
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

export interface QueueWorkload {
  readonly queue: QueueRow;
  readonly sum: QueueSum;
  /** Registered, or met on a partition; queue mode is one of them. */
  readonly groups: ReadonlySet<string>;
}

/** `visit` is given all queues, in the order of their names. */
export function* queueWorkloads(
  state: State,
  figures: Figures,
  tenant: Tenant,
  nowUs: number,
  visit: (workload: QueueWorkload) => void,
): Generator<void, void> {
  const groups = yield* groupsByQueue(state, tenant);
  yield* figures.each(state, tenant, nowUs, () => {});
  let passed = 0;
  for (const queue of tenantQueues(state, tenant)) {
    if (++passed % QUEUES_PER_STEP === 0) yield;
    const sum = yield* figures.of(state, queue.number, nowUs);
    visit({ queue, sum, groups: groups.get(queue.number) ?? NO_GROUPS });
  }
}
