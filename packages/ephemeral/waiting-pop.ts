/**
 * A pop that waits. It holds no message: what lies there while it gathers (a window) can be taken
 * by whoever does not wait.
 */
import type { DueItem } from './due-heap.js';
import type { EphemeralQueue } from './ephemeral-queue.js';
import type { Delivered } from './group-cursor.js';
import type { QueueGroup } from './queue-group.js';

/**
 * `moved`: this node has nothing of what it asks for any more. `no-room`: there are messages for
 * it, and no room for its answer.
 */
export type PopEnd = readonly Delivered[] | 'moved' | 'no-room';

export interface WaitingPopTerms {
  /** Rises from pop to pop on a node. */
  readonly number: number;
  /** null: any. */
  readonly partition: string | null;
  readonly batch: number;
  readonly autoAck: boolean;
  /** What `PopRoom` knows it by. */
  readonly ticket: object;
  readonly deadlineMs: number;
  /** Runs once, when nothing of the queue is in motion. */
  readonly onEnd: (end: PopEnd) => void;
}

export class WaitingPop implements DueItem {
  dueMs = Number.POSITIVE_INFINITY;
  heapIndex = -1;
  readonly queue: EphemeralQueue;
  readonly group: QueueGroup;
  readonly number: number;
  readonly partition: string | null;
  readonly batch: number;
  readonly autoAck: boolean;
  readonly ticket: object;
  readonly deadlineMs: number;
  readonly onEnd: (end: PopEnd) => void;
  isParked = false;
  /** Set while it gathers: then it takes what there is. */
  windowEndsMs: number | null = null;

  constructor(queue: EphemeralQueue, group: QueueGroup, terms: WaitingPopTerms) {
    this.queue = queue;
    this.group = group;
    this.number = terms.number;
    this.partition = terms.partition;
    this.batch = terms.batch;
    this.autoAck = terms.autoAck;
    this.ticket = terms.ticket;
    this.deadlineMs = terms.deadlineMs;
    this.onEnd = terms.onEnd;
  }

  due(nowMs: number): void {
    this.queue.popDue(this, nowMs);
  }
}
