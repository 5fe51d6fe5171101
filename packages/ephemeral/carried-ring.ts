/** A ring on its way from one node to another: what it held, and how far its groups had come. */
import type { StoredMessage } from './stored-messages.js';

export interface CarriedGroup {
  readonly name: string;
  /** The group reads the whole queue, not this partition alone. */
  readonly isWhole: boolean;
  /** Messages of the ring that it was given or has passed, from the first on. */
  readonly next: number;
  /** Messages that the group has not settled: place in the ring, and failed deliveries. */
  readonly outstanding: readonly (readonly [number, number])[];
  readonly skipped: number;
}

export interface CarriedRing {
  readonly tenant: string;
  readonly queue: string;
  readonly partition: string;
  /** Incarnation of the ring on the node that sent it. */
  readonly incarnation: number;
  /** Oldest first; `atMs` on the clock of the node that has them at the moment. */
  readonly messages: readonly StoredMessage[];
  readonly groups: readonly CarriedGroup[];
}

export function carriedBytes({ messages }: CarriedRing): number {
  let sum = 0;
  for (const { start, end } of messages) sum += end - start;
  return sum;
}
