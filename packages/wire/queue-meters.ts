/**
 * What a node counts by queue, in one bucket of time (inspection 5, 9).
 *
 * The job: it stands on the path of each push, pop and ack. Figures are plain numbers in objects
 * of one shape; whoever counts looks the object up once for a request and adds to it, so a message
 * of a batch costs nothing. A new bucket begins with new objects: nothing is reset row by row.
 *
 * Bound: a queue is here only if something of it happened in the open bucket or in the closed one,
 * QUEUES_METERED_MAX of them at most in each: 2 * 100,000 * 350 bytes = 70 MB. What happens to
 * queues beyond that is counted for the node alone, and `missed` says how often.
 */

export const QUEUES_METERED_MAX = 100_000;
/** How long a queue is remembered after the last bucket in which something of it happened. */
const RECENT_MS = 300_000;
const MS_PER_SECOND = 1000;
/** Length of a bucket whose length is not told. */
const BUCKET_MS_DEFAULT = 60_000;
/** Partitions whose queue is remembered, so that an ack need not look it up: 65,536 * 40 bytes. */
const PARTITIONS_KNOWN_MAX = 65_536;

/**
 * Counts of a queue, each with its number: the bit and the place of the column in stored
 * series and in what nodes send each other. A number stays with its column for ever; a new column
 * gets the next one. Durations are milliseconds. The last six come from what is applied, so every
 * node counts the whole cluster's.
 */
export const QUEUE_COLUMN_NUMBERS = {
  pushRequests: 0,
  pushMessages: 1,
  popRequests: 2,
  popMessages: 3,
  popEmpty: 4,
  ackRequests: 5,
  ackSuccess: 6,
  ackFailed: 7,
  transactions: 8,
  deadLetters: 9,
  /** Age at delivery, summed over the messages of pops. */
  lagMsSum: 10,
  lagMsMax: 11,
  /** Messages that were passed over for a newer one. */
  conflated: 12,
  /** Parked pops, summed over the samples that were taken of them. */
  parkedSum: 13,
  parkedSamples: 14,
  partitionsCreated: 15,
  partitionsDeleted: 16,
  /** Messages that retention removed by age, after they were read, and by the longest wait. */
  agedMessages: 17,
  readMessages: 18,
  waitedMessages: 19,
  trims: 20,
} as const;
export type QueueColumn = keyof typeof QUEUE_COLUMN_NUMBERS;

/** By their numbers. */
export const QUEUE_COLUMNS: readonly QueueColumn[] = Object.entries(QUEUE_COLUMN_NUMBERS)
  .sort(([, a], [, b]) => a - b)
  .map(([column]) => column as QueueColumn);

export type QueueCounts = { [Column in QueueColumn]: number };

/** Counts of one queue in one bucket of time. */
export interface QueueFigures extends QueueCounts {
  readonly tenant: string;
  readonly queue: string;
}

export class QueueMeters {
  /** By tenant, then by queue. */
  #open = new Map<string, Map<string, QueueFigures>>();
  /** The same, in the order in which they came. */
  #list: QueueFigures[] = [];
  readonly #byPartition = new Map<number, QueueFigures>();
  #closed: readonly QueueFigures[] = [];
  #closedSeconds = BUCKET_MS_DEFAULT / MS_PER_SECOND;
  /**
   * Names of queues, whosever they are, with the end of the last bucket in which something of them
   * happened, the longest ago first: QUEUES_METERED_MAX of them at most, 10 MB.
   */
  readonly #recent = new Map<string, number>();
  #missed = 0;

  /** What the bucket before this one held. */
  get closed(): readonly QueueFigures[] {
    return this.#closed;
  }

  /** How long that bucket was. */
  get closedSeconds(): number {
    return this.#closedSeconds;
  }

  /** Messages of all queues, per second of that bucket. */
  closedRates(): { pushedPerSecond: number; deliveredPerSecond: number; ackedPerSecond: number } {
    const sums = { pushed: 0, delivered: 0, acked: 0 };
    for (const { pushMessages, popMessages, ackSuccess } of this.#closed) {
      sums.pushed += pushMessages;
      sums.delivered += popMessages;
      sums.acked += ackSuccess;
    }
    const perSecond = (count: number) => Math.round((100 * count) / this.#closedSeconds) / 100;
    return {
      pushedPerSecond: perSecond(sums.pushed),
      deliveredPerSecond: perSecond(sums.delivered),
      ackedPerSecond: perSecond(sums.acked),
    };
  }

  /** Names of the queues of which something happened in the last five minutes or a bucket more. */
  get recent(): Iterable<string> {
    return this.#recent.keys();
  }

  /** How often something was counted for no queue, since the start. */
  get missed(): number {
    return this.#missed;
  }

  /** Those of the open bucket, if something has been counted for the queue. */
  known(tenant: string, queue: string): QueueFigures | undefined {
    return this.#open.get(tenant)?.get(queue);
  }

  /** To be added to at once, and not kept; null: there are too many queues already. */
  of(tenant: string, queue: string): QueueFigures | null {
    const queues = this.#open.get(tenant);
    const known = queues?.get(queue);
    if (known !== undefined) return known;
    if (this.#list.length >= QUEUES_METERED_MAX) {
      this.#missed++;
      return null;
    }
    const figures = newFigures(tenant, queue);
    this.#list.push(figures);
    if (queues === undefined) this.#open.set(tenant, new Map([[queue, figures]]));
    else queues.set(queue, figures);
    return figures;
  }

  /** As `of`, for a partition that `knowPartition` has named in this bucket. */
  ofPartition(partition: number): QueueFigures | null {
    return this.#byPartition.get(partition) ?? null;
  }

  knowPartition(partition: number, figures: QueueFigures): void {
    if (this.#byPartition.size >= PARTITIONS_KNOWN_MAX) this.#byPartition.clear();
    this.#byPartition.set(partition, figures);
  }

  /** The queue is gone: what comes under its name from here on is another one's. */
  forget(tenant: string, queue: string): void {
    const queues = this.#open.get(tenant);
    const figures = queues?.get(queue);
    if (queues === undefined || figures === undefined) return;
    queues.delete(queue);
    this.#list = this.#list.filter((one) => one !== figures);
    if (queues.size === 0) this.#open.delete(tenant);
    this.#byPartition.clear();
  }

  /** Closes the bucket, which ends at `nowMs` and was `lengthMs` long, and gives what it held. */
  rotate(nowMs = 0, lengthMs = BUCKET_MS_DEFAULT): readonly QueueFigures[] {
    this.#closed = this.#list;
    this.#closedSeconds = Math.max(1, lengthMs) / MS_PER_SECOND;
    this.#remember(nowMs);
    this.#list = [];
    this.#open = new Map();
    this.#byPartition.clear();
    return this.#closed;
  }

  #remember(nowMs: number): void {
    for (const { queue } of this.#closed) {
      this.#recent.delete(queue);
      this.#recent.set(queue, nowMs);
    }
    for (const [queue, seenMs] of this.#recent) {
      if (this.#recent.size <= QUEUES_METERED_MAX && nowMs - seenMs <= RECENT_MS) return;
      this.#recent.delete(queue);
    }
  }
}

function newFigures(tenant: string, queue: string): QueueFigures {
  return { tenant, queue, ...newQueueCounts() };
}

export function newQueueCounts(): QueueCounts {
  return {
    pushRequests: 0,
    pushMessages: 0,
    popRequests: 0,
    popMessages: 0,
    popEmpty: 0,
    ackRequests: 0,
    ackSuccess: 0,
    ackFailed: 0,
    transactions: 0,
    deadLetters: 0,
    lagMsSum: 0,
    lagMsMax: 0,
    conflated: 0,
    parkedSum: 0,
    parkedSamples: 0,
    partitionsCreated: 0,
    partitionsDeleted: 0,
    agedMessages: 0,
    readMessages: 0,
    waitedMessages: 0,
    trims: 0,
  };
}
