/** The command that writes a trace (state-surfaces 6.1). */
import type { Tenant } from './commands.js';

export interface TraceCommand {
  readonly kind: 'trace';
  readonly tenant: Tenant;
  /** Not empty, without a NUL. */
  readonly transactionId: string;
  /** Digits or a UUID; null: none is named. */
  readonly partitionId: string | null;
  /** Distinct, without NULs. */
  readonly names: readonly string[];
  readonly eventType: string;
  /** The JSON text. */
  readonly data: Uint8Array;
  readonly consumerGroup: string | null;
  readonly worker: string | null;
  readonly messageId: string | null;
  /** null: the broker mints one. */
  readonly traceId: string | null;
}

export interface TracedOutcome {
  readonly kind: 'traced';
  /** null: there is no such partition, and nothing was stored. */
  readonly traceId: string | null;
}
