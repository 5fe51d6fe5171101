/** What the model of a broker holds: nothing but what a reader of the contract would write down. */
import type { AckStatus } from '../../base/commands/commands.js';

export interface ModelMessage {
  readonly messageId: string;
  readonly transactionId: string;
  readonly stampUs: number;
  readonly text: string;
}

export interface ModelCursor {
  committed: number;
  lease: ModelLease | null;
  /** The last lease that an ack settled to its end. */
  settled: { readonly id: string; readonly first: number; readonly last: number } | null;
  attemptFirst: number;
  attempt: number;
  retries: number;
  /** An ack with a signal was carried out since the cursor was put where it is. */
  signalled: boolean;
  /** Nothing is handed out before. */
  heldUs: number;
  /** The last message of a batch that came back too often: up to it they come alone; or -1. */
  aloneTo: number;
  /** The message that the last delivery held alone, or -1. */
  aloneAt: number;
}

export interface ModelLease {
  readonly id: string;
  readonly end: number;
  /** Only the last message was delivered. */
  readonly conflates: boolean;
  expiresUs: number;
}

export interface ModelPartition {
  readonly name: string;
  number: number;
  readonly messages: ModelMessage[];
  readonly cursors: Map<string, ModelCursor>;
}

export type Start = 'all' | 'new';

/** What a pop says of a group that is not known yet. */
export interface FirstContact {
  readonly start: Start;
  readonly conflation: boolean;
}

export interface ModelQueue {
  readonly options: ModelOptions;
  readonly partitions: Map<string, ModelPartition>;
  readonly groups: Map<string, ModelGroup>;
}

export interface ModelGroup {
  readonly start: Start;
  readonly registeredUs: number;
  readonly conflates: boolean;
  /** It has a cursor everywhere. */
  isSeeded: boolean;
}

export interface ModelOptions {
  leaseTime: number;
  retryLimit: number;
  deadLetterQueue: boolean;
  dlqAfterMaxRetries: boolean;
  dedupWindowSeconds: number;
  delayedProcessing: number;
  windowBuffer: number;
  retryBackoffMs: number;
  retryBackoffMaxMs: number;
  deliveryLimit: number;
}

export interface ModelDeadLetter {
  readonly partition: number;
  readonly group: string;
  readonly offset: number;
  readonly retries: number;
}

export interface ModelAck {
  readonly transactionId: string;
  readonly status: AckStatus;
}

/** The options of a queue that was never configured (message-plane 7.2). */
export const IMPLICIT: ModelOptions = {
  leaseTime: 60,
  retryLimit: 3,
  deadLetterQueue: true,
  dlqAfterMaxRetries: true,
  dedupWindowSeconds: 3600,
  delayedProcessing: 0,
  windowBuffer: 0,
  retryBackoffMs: 0,
  retryBackoffMaxMs: 3_600_000,
  deliveryLimit: 0,
};
