/** What clients of a fake group ask, and how they read and collect their answers. */
import type { AckCommand, AckItem, PopCommand, PushCommand } from '@svc/engine';
import type { DeliveredOutcome, Reply } from '@svc/http';
import { messageId } from '@svc/wire';

export const TENANT = '00000000-0000-0000-0000-000000000001';
export const LEASE_SECONDS = 2;

/** Collects what a request was answered. */
export class Answers<Answer> implements Reply<Answer> {
  readonly all: Answer[] = [];
  onGone: (() => void) | null = null;
  /** Set by a test that wants to go on at once. */
  onAnswer: ((answer: Answer) => void) | null = null;
  gone = false;

  send(answer: Answer): boolean {
    this.all.push(answer);
    if (!this.gone) this.onAnswer?.(answer);
    return !this.gone;
  }

  /** The client closes its connection. */
  leave(): void {
    this.gone = true;
    this.onGone?.();
  }

  get one(): Answer {
    const [answer] = this.all;
    if (answer === undefined || this.all.length > 1) {
      throw new Error(`${this.all.length} answers instead of one`);
    }
    return answer;
  }
}

/** Texts of the messages that a pop delivered, in order. */
export function textsOf({ claims }: DeliveredOutcome): string[] {
  return claims.flatMap(({ batches }) =>
    batches.flatMap(({ bytes, payloadStart, payloadEnd, first, last }) => {
      const texts: string[] = [];
      for (let i = first; i <= last; i++) {
        const payload = bytes.subarray(payloadStart[i], payloadEnd[i]);
        texts.push(JSON.parse(new TextDecoder().decode(payload)) as string);
      }
      return texts;
    }),
  );
}

export function pushOf(queue: string, text: string, id: string | null): PushCommand {
  const body = new TextEncoder().encode(JSON.stringify(text));
  return {
    kind: 'push',
    tenant: TENANT,
    producerSub: null,
    body,
    groups: [{ queue, partition: 'p' }],
    itemGroup: [0],
    transactionIds: [id],
    payloadStart: [0],
    payloadEnd: [body.length],
  };
}

export function popOf(queue: string, waitMs: number, deadlineMs: number): PopCommand {
  return {
    kind: 'pop',
    tenant: TENANT,
    scope: { kind: 'queue', queue },
    consumerGroup: 'g',
    batch: 1,
    partitions: 1,
    autoAck: false,
    wait: waitMs > 0,
    deadlineMs,
    leaseSeconds: LEASE_SECONDS,
    subscription: { mode: 'all' },
    conflation: null,
    autopilot: null,
  };
}

/** Completes all that the pop delivered, by its last message. */
export function ackOf({ leaseId, claims }: DeliveredOutcome): AckCommand {
  const items = claims.flatMap(({ partitionNumber, batches }): AckItem[] => {
    const batch = batches[batches.length - 1];
    if (batch === undefined) return [];
    const { baseOffset, last, stampUs, transactionIds } = batch;
    const id = messageId(stampUs, partitionNumber, true, baseOffset + last);
    const transactionId = transactionIds[last] ?? id;
    const partitionId = `${partitionNumber}`;
    return [{ transactionId, partitionId, leaseId, status: 'completed', error: null }];
  });
  return { kind: 'ack', tenant: TENANT, consumerGroup: 'g', items };
}
