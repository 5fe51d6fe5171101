/** Sums the workload of a tenant by label, queue by queue. */
import { isWanted, type QueueFilter, type QueueRow, type QueueWorkload } from '@svc/engine';
import type { WorkloadGroup, WorkloadKey, WorkloadView } from '@svc/http';
import { newQueueCounts, type QueueCounts } from '@svc/wire';
import { addCounts } from './series-queues.js';

type Now = { -readonly [Name in keyof WorkloadGroup['now']]: number };

class Sum {
  readonly key: string;
  readonly namespace: string;
  readonly task: string;
  queues = 0;
  readonly counts = newQueueCounts();
  readonly buckets = new Map<number, QueueCounts>();
  readonly groups = new Set<string>();
  readonly touched = new Set<number>();
  readonly active = new Set<number>();
  readonly now: Now = {
    pending: 0,
    processing: 0,
    deadLetter: 0,
    retainedBytes: 0,
    partitions: 0,
    groups: 0,
    queuesWithoutGroup: 0,
    pendingWithoutGroup: 0,
    queuesTouched: 0,
    queuesActive: 0,
  };

  constructor(key: string, { options }: QueueRow) {
    this.key = key;
    this.namespace = options.namespace;
    this.task = options.task;
  }

  holds({ queue, sum, groups }: QueueWorkload): void {
    const { now } = this;
    this.queues++;
    now.pending += sum.pending;
    now.processing += sum.processing;
    now.deadLetter += sum.deadLetter;
    now.retainedBytes += sum.retainedBytes;
    now.partitions += queue.partitions;
    for (const group of groups) this.groups.add(group);
    if (groups.size > 0) return;
    now.queuesWithoutGroup++;
    now.pendingWithoutGroup += sum.pending;
  }

  moved({ number }: QueueRow, minute: number, counts: QueueCounts): void {
    addCounts(this.counts, counts);
    let bucket = this.buckets.get(minute);
    if (bucket === undefined) {
      bucket = newQueueCounts();
      this.buckets.set(minute, bucket);
    }
    addCounts(bucket, counts);
    this.touched.add(number);
    const messages = counts.pushMessages + counts.popMessages + counts.ackSuccess;
    if (messages > 0) this.active.add(number);
  }

  view(): WorkloadGroup {
    const { key, namespace, task, queues, counts, buckets, groups, touched, active } = this;
    const now = {
      ...this.now,
      groups: groups.size,
      queuesTouched: touched.size,
      queuesActive: active.size,
    };
    return { key, namespace, task, queues, counts, buckets, now };
  }
}

export class WorkloadSums {
  readonly #filter: QueueFilter;
  readonly #groupBy: WorkloadKey;
  readonly #groups = new Map<string, Sum>();
  #tenant: Sum | null = null;

  constructor(filter: QueueFilter, groupBy: WorkloadKey) {
    this.#filter = filter;
    this.#groupBy = groupBy;
  }

  /** Once for each queue of the tenant, before `moved`. */
  holds(workload: QueueWorkload): void {
    this.#tenant ??= new Sum('', workload.queue);
    this.#tenant.holds(workload);
    if (isWanted(workload.queue, this.#filter)) this.#groupOf(workload.queue).holds(workload);
  }

  moved(queue: QueueRow, minute: number, counts: QueueCounts): void {
    this.#tenant?.moved(queue, minute, counts);
    const group = this.#groups.get(this.#keyOf(queue));
    if (group !== undefined && isWanted(queue, this.#filter)) group.moved(queue, minute, counts);
  }

  view(): Pick<WorkloadView, 'groups' | 'tenant'> {
    const groups = [...this.#groups.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
    return { groups: groups.map((one) => one.view()), tenant: this.#tenant?.view() ?? null };
  }

  #groupOf(queue: QueueRow): Sum {
    const key = this.#keyOf(queue);
    const known = this.#groups.get(key);
    if (known !== undefined) return known;
    const sum = new Sum(key, queue);
    this.#groups.set(key, sum);
    return sum;
  }

  #keyOf({ name, options }: QueueRow): string {
    return this.#groupBy === 'queue' ? name : options[this.#groupBy];
  }
}
