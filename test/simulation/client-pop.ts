/** Pops as the clients of the state surfaces use them: of one queue, plain and waiting. */
import type { PopCommand } from '@svc/engine';
import type { DeliveredOutcome } from '@svc/http';
import { messagesOf, TENANT } from './client-messages.js';
import type { Caller } from './client-network.js';

/** A message of a claim. */
export interface Claimed {
  readonly partition: string;
  readonly partitionId: string;
  readonly leaseId: string;
  readonly offset: number;
  readonly messageId: string;
  readonly transactionId: string;
  readonly payload: string;
}

export interface PopSettings {
  readonly queue: string;
  readonly group: string;
  readonly batch: number;
  readonly partitions: number;
  /** null: it commits at delivery. */
  readonly leaseSeconds: number | null;
  readonly timeoutMs: number;
}

/** `done` gets what was claimed, in order: nothing where there was no answer. */
export function pop(
  caller: Caller,
  settings: PopSettings,
  done: (claimed: readonly Claimed[], isUnknown: boolean) => void,
): void {
  const { queue, group, batch, partitions, leaseSeconds, timeoutMs } = settings;
  const command: Omit<PopCommand, 'deadlineMs'> = {
    kind: 'pop',
    tenant: TENANT,
    scope: { kind: 'queue', queue },
    consumerGroup: group,
    batch,
    partitions,
    autoAck: leaseSeconds === null,
    wait: true,
    leaseSeconds,
    subscription: { mode: 'all' },
    conflation: null,
    autopilot: null,
  };
  caller.call<DeliveredOutcome | { readonly kind: 'refused' }>(
    (broker, reply) => {
      broker.pop({ ...command, deadlineMs: broker.monotonicMs() + timeoutMs }, reply);
    },
    (answer) => {
      const isAnswered = answer !== 'refused' && answer !== 'unknown';
      const isDelivered = isAnswered && answer.kind === 'delivered';
      done(isDelivered ? claimedOf(answer) : [], answer === 'unknown');
    },
    timeoutMs,
  );
}

function claimedOf({ claims, leaseId }: DeliveredOutcome): Claimed[] {
  return claims.flatMap(({ partition, partitionNumber, batches }) =>
    batches
      .flatMap((batch) => messagesOf(batch, partitionNumber))
      .map((message) => ({ ...message, partition, partitionId: `${partitionNumber}`, leaseId })),
  );
}
