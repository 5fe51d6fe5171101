/** What simulated consumers have claimed, as deliveries and acks for the checkers. */
import type { AckItem } from '@svc/engine';
import type { DeliveredOutcome } from '@svc/http';
import type { Ack, Delivery, ReadRecord } from '../checkers/history.js';
import { messagesOf } from './client-messages.js';

/** A message of a claim. */
export interface Claimed {
  readonly delivery: Delivery;
  readonly partitionId: string;
}

/** The call that claimed, and its times. */
type ClaimingCall = Pick<Delivery, 'group' | 'call' | 'leaseMs' | 'beganMs' | 'endedMs'>;

export function claimedOf(
  { claims, leaseId }: DeliveredOutcome,
  queue: string,
  claiming: ClaimingCall,
): Claimed[] {
  return claims.flatMap(({ partition, partitionNumber, batches }) =>
    batches
      .flatMap((batch) => messagesOf(batch, partitionNumber))
      .map((message) => {
        const delivery = { ...message, partition: `${queue}/${partition}`, leaseId, ...claiming };
        return { delivery, partitionId: `${partitionNumber}` };
      }),
  );
}

export function ackOf({ delivery, partitionId }: Claimed, status: 'completed' | 'retry'): AckItem {
  const { transactionId, leaseId } = delivery;
  return { transactionId, partitionId, leaseId, status, error: null };
}

/** Every message has been completed, as far as the verdicts say. */
export function haveCompleted(acks: readonly Ack[], records: readonly ReadRecord[]): boolean {
  const done = new Map<string, number>();
  for (const { partition, offset, outcome } of acks) {
    if (outcome !== 'done' && outcome !== 'noop') continue;
    done.set(partition, Math.max(done.get(partition) ?? -1, offset));
  }
  return records.every(({ partition, offset }) => (done.get(partition) ?? -1) >= offset);
}
