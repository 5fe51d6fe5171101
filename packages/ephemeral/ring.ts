/** The messages of one partition of a queue, and the cursors of its groups. */
import type { DueItem } from './due-heap.js';
import type { EphemeralQueue } from './ephemeral-queue.js';
import type { GroupCursor } from './group-cursor.js';
import { StoredMessages } from './stored-messages.js';

export class Ring implements DueItem {
  dueMs = Number.POSITIVE_INFINITY;
  heapIndex = -1;
  readonly queue: EphemeralQueue;
  readonly partition: string;
  /** Ids that were minted under another one are of a ring that is gone. */
  incarnation: number;
  readonly messages = new StoredMessages();
  /** By group. */
  readonly cursors = new Map<string, GroupCursor>();
  /** When a push or a pop named it last. */
  touchedMs: number;
  /** As the queue, the tenant and the node count them. */
  countedBytes = 0;
  countedMessages = 0;

  constructor(queue: EphemeralQueue, partition: string, incarnation: number, nowMs: number) {
    this.queue = queue;
    this.partition = partition;
    this.incarnation = incarnation;
    this.touchedMs = nowMs;
  }

  /** How many messages would have to go from the front to make room for so many more. */
  surplus(count: number, bytes: number, lengthMax: number, bytesMax: number): number {
    let surplus = 0;
    let left = this.messages.bytes + bytes;
    const { first, length } = this.messages;
    while (surplus < length && (length - surplus + count > lengthMax || left > bytesMax)) {
      const oldest = this.messages.at(first + surplus);
      left -= oldest === undefined ? 0 : oldest.end - oldest.start;
      surplus++;
    }
    return surplus;
  }

  /** Drops the oldest messages, whoever has not read them. */
  dropOldest(count: number): void {
    const first = this.messages.first + count;
    for (const cursor of this.cursors.values()) cursor.pass(first);
    this.messages.dropTo(first);
    for (const cursor of this.cursors.values()) cursor.group.recount(cursor);
  }

  /** Messages from the front that have reached this age. */
  olderThan(ageMs: number, nowMs: number): number {
    const { first, length } = this.messages;
    let count = 0;
    while (count < length && (this.messages.at(first + count)?.atMs ?? 0) + ageMs <= nowMs) {
      count++;
    }
    return count;
  }

  /** Lets go of what every group has settled. Without a group nothing is. */
  reclaim(): void {
    if (this.cursors.size === 0) return;
    let lowest = Number.POSITIVE_INFINITY;
    for (const { floor } of this.cursors.values()) lowest = Math.min(lowest, floor);
    this.messages.dropTo(lowest);
  }

  due(nowMs: number): void {
    this.queue.ringDue(this, nowMs);
  }
}
