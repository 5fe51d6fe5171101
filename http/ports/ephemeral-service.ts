/**
 * The seam for ephemeral queues (state-surfaces 4): what the routes hand over, parsed and within
 * its bounds, and what comes back. Which node holds a ring is the broker's affair: whoever is asked
 * answers, but for the status reads, which show the node that is asked.
 */
import type {
  EphemeralConfigureCommand,
  EphemeralConfiguredOutcome,
  EphemeralDeleteCommand,
  EphemeralDeletedOutcome,
  RefusedOutcome,
  Tenant,
} from '@svc/engine';
import type { EphemeralDepthAnswer, EphemeralQueuesAnswer } from '@svc/wire';
import type { Reply } from './service.js';

export interface EphemeralPush {
  readonly tenant: Tenant;
  readonly queue: string;
  readonly partition: string;
  /** Read-only; payloads are `start[i]..end[i]` of it, one at least. */
  readonly bytes: Uint8Array;
  readonly start: readonly number[];
  readonly end: readonly number[];
}

export interface EphemeralPop {
  readonly tenant: Tenant;
  readonly queue: string;
  /** null: any. */
  readonly partition: string | null;
  readonly group: string;
  /** 1..10000. */
  readonly batch: number;
  readonly autoAck: boolean;
  /** Monotonic; null: it does not wait. */
  readonly deadlineMs: number | null;
}

export type EphemeralAckStatus = 'completed' | 'failed';

export interface EphemeralAcks {
  readonly tenant: Tenant;
  readonly queue: string;
  readonly group: string;
  /** As many as there are verdicts. */
  readonly ids: readonly string[];
  readonly verdicts: readonly EphemeralAckStatus[];
}

export type EphemeralAckOutcome = 'acked' | 'redelivered' | 'stale' | 'unknown';

/** Why a ring was not touched; what they mean stands in `ephemeral/refusals.ts`. */
export type EphemeralRefusalCode =
  | 'ephemeral_too_large'
  | 'queue_full'
  | 'ephemeral_quota_exceeded'
  | 'ephemeral_unavailable'
  | 'owner_moved'
  | 'ephemeral_forward_failed';

export interface EphemeralRefused {
  readonly kind: 'ephemeral-refused';
  readonly code: EphemeralRefusalCode;
}

export interface EphemeralPushed {
  readonly kind: 'ephemeral-pushed';
}

/** The payload is `start..end` of `bytes`, to be shown as it is. */
export interface EphemeralMessage {
  readonly id: string;
  readonly partition: string;
  readonly attempts: number;
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
}

export interface EphemeralPopped {
  readonly kind: 'ephemeral-popped';
  readonly messages: readonly EphemeralMessage[];
}

export interface EphemeralAcked {
  readonly kind: 'ephemeral-acked';
  /** One for each id, in their order. */
  readonly outcomes: readonly EphemeralAckOutcome[];
}

export interface EphemeralReset {
  readonly kind: 'ephemeral-reset';
  /** Messages of this node. */
  readonly dropped: number;
}

export interface EphemeralQueuesPage {
  readonly kind: 'ephemeral-queues';
  readonly queues: EphemeralQueuesAnswer['queues'];
  /** There are more, behind `nextAfter`. */
  readonly truncated: boolean;
  readonly nextAfter: string | null;
  /** The node that tells. */
  readonly nodeId: number;
  /** Bytes of all tenants on that node. */
  readonly cellBytes: number;
  /** Bytes of the tenant on that node. */
  readonly tenantBytes: number;
}

export interface EphemeralService {
  push(request: EphemeralPush, reply: Reply<EphemeralPushed | EphemeralRefused>): void;
  /** A pop that nobody receives any more is given back. */
  pop(
    request: EphemeralPop,
    reply: Reply<EphemeralPopped | EphemeralRefused | RefusedOutcome>,
  ): void;
  ack(request: EphemeralAcks, reply: Reply<EphemeralAcked | EphemeralRefused>): void;
  /** Answered when every node that is there goes by it. */
  configure(
    command: EphemeralConfigureCommand,
    reply: Reply<EphemeralConfiguredOutcome | RefusedOutcome>,
  ): void;
  delete(
    command: EphemeralDeleteCommand,
    reply: Reply<EphemeralDeletedOutcome | RefusedOutcome>,
  ): void;
  reset(tenant: Tenant, queue: string, reply: Reply<EphemeralReset>): void;
  /** Queues with names behind `after` ('': all), by the bytes of their names. */
  queues(
    tenant: Tenant,
    after: string,
    limit: number,
    reply: Reply<EphemeralQueuesPage | RefusedOutcome>,
  ): void;
  /** `group` null: whatever is stored. null: this node knows no such queue. */
  depth(tenant: Tenant, queue: string, group: string | null): EphemeralDepthAnswer | null;
}
