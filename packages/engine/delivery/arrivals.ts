/**
 * Queues that come to be while pops wait for them by name, of those pops that make no queue
 * (`PopScope.creates`): each waits in the queue from then on as if it had come when it was there,
 * and registers its group. Clients choose how many wait for one name, so a turn settles as many as
 * it has room for, and the next one goes on.
 */
import type { QueueRow } from '../base/rows.js';
import type { Draft } from '../draft/draft.js';
import type { NameGuard } from '../draft/name-bounds.js';
import { queueByNumber } from '../state/catalog.js';
import { register } from './first-contact.js';
import type { DeliveryGroup, DeliveryMemory, Waiter } from './memory.js';
import { queueKey, type Waiters } from './waiters.js';
import { WaitersRoom } from './waiters-room.js';

export class Arrivals {
  readonly #memory: DeliveryMemory;
  readonly #waiters: Waiters;
  readonly #names: NameGuard | null;
  /** With the number of their queue, oldest first. */
  readonly #left = new Map<Waiter, number>();

  constructor(memory: DeliveryMemory, waiters: Waiters, names: NameGuard | null) {
    this.#memory = memory;
    this.#waiters = waiters;
    this.#names = names;
  }

  get busy(): boolean {
    return this.#left.size > 0;
  }

  created({ tenant, name, number }: QueueRow): void {
    if (!this.#waiters.anyMissing) return;
    for (const waiter of this.#waiters.takeMissing(queueKey(tenant, name))) {
      this.#left.set(waiter, number);
    }
  }

  settle(draft: Draft, scan: (group: DeliveryGroup) => void): void {
    if (!this.busy) return;
    const room = new WaitersRoom(draft);
    for (const [waiter, number] of this.#left) {
      if (room.isFull) return;
      this.#left.delete(waiter);
      if (!this.#waiters.isParked(waiter)) continue;
      const queue = queueByNumber(draft.state, number);
      if (queue === undefined || isClosedTo(this.#names, draft, queue, waiter)) {
        this.#waiters.stranded.push(waiter);
        continue;
      }
      const group = register(draft, this.#memory, queue, waiter.command);
      scan(group);
      this.#waiters.place(waiter, group, null);
    }
  }
}

/** The waiter's group may not begin to read the queue. Its next pop is told why. */
export function isClosedTo(
  names: NameGuard | null,
  { state }: Draft,
  queue: QueueRow,
  { command }: Waiter,
): boolean {
  return names !== null && names.judgeGroup(state, queue, command.consumerGroup) !== null;
}
