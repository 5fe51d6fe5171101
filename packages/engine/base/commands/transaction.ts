/**
 * What a transaction asks for, and its verdict (message-plane 6): acks, pushes and positions that
 * apply together or not at all.
 *
 * The parts stand by kind, in the order in which they are judged: acks, pushes, positions. Their
 * order among each other in the request matters only for the answer, which the front renders.
 */
import { POSITION_METADATA_BYTES_MAX } from '@svc/wire';
import {
  count,
  type Infer,
  mapped,
  nullable,
  oneOf,
  refined,
  text,
  textTo,
} from '../fields/field.js';
import { maybe, record } from '../fields/record.js';
import { subscription } from '../rows.js';
import type { AckItem, PushCommand, PushedOutcome, Tenant } from './commands.js';
import { type KvCall, type KvFailure, type KvOutcome, kvFailure } from './kv.js';
import { name, namesFit } from './names.js';
import type { TimerCall, TimersOutcome } from './timers.js';

/** An ack whose lease has been looked up: its own, the call's only one, or "" for none. */
export interface TransactionAck extends AckItem {
  readonly consumerGroup: string;
}

/** Puts the cursor of a group somewhere, or forgets it. */
export const position = refined(
  record({
    queue: name,
    consumerGroup: name,
    partition: name,
    /** The next offset that the group reads, wherever the partition ends; null: no cursor. */
    offset: nullable(count),
    /** Kept beside the cursor. */
    metadata: nullable(textTo(POSITION_METADATA_BYTES_MAX)),
    /** How the group is registered if it is not. */
    subscription,
  }),
  ({ queue, consumerGroup, partition }) => namesFit(queue, consumerGroup, partition),
);
export type Position = Infer<typeof position>;

/** Why a transaction did nothing. */
const reason = oneOf([
  'rejected_ack',
  'duplicate',
  'queue_not_found',
  'unavailable',
  'too_large',
  'name_too_long',
  'kv_precondition',
  'kv_disabled',
  'kv_check_needs_cluster_version_5',
  'timers_disabled',
  'timers_encrypted_conflict',
]);
export type RollbackReason = Infer<typeof reason>;

export interface Rollback {
  readonly reason: RollbackReason;
  readonly error: string;
  /** The key/value operation that was required and lost; `index` among those of the call. */
  readonly kv?: KvFailure;
}

export const rollback = nullable(
  mapped(
    record({ reason, error: text, kv: maybe(kvFailure) }),
    (given: Rollback) => ({ ...given, kv: given.kv ?? null }),
    ({ kv, ...read }): Rollback => (kv === null ? read : { ...read, kv }),
  ),
);

export interface TransactionCommand {
  readonly kind: 'transaction';
  readonly tenant: Tenant;
  readonly acks: readonly TransactionAck[];
  /** null: it pushes nothing. */
  readonly pushes: PushCommand | null;
  /** An entry for each pushed item; null: none has a trace id. */
  readonly traceIds: readonly (string | null)[] | null;
  readonly positions: readonly Position[];
  /** A call of the same tenant, without `getPrefix`; null: there are no such operations. */
  readonly kv: KvCall | null;
  /** A call of the same tenant; null: there are none. */
  readonly timers: TimerCall | null;
  /**
   * The flaw of the position that would come next; it and those behind it are left out. The planner
   * names it, because whatever fails before it is named first.
   */
  readonly flaw: Rollback | null;
}

export interface TransactedOutcome {
  readonly kind: 'transacted';
  /** null: everything has been applied. */
  readonly rollback: Rollback | null;
  /** The acks, ascending, that filed a dead letter; empty after a rollback. */
  readonly filed: readonly number[];
  /** `duplicate` is an item that follows another one of this call. null: nothing was pushed. */
  readonly pushed: PushedOutcome | null;
  /** null: nothing was asked of the store, or it rolled back. */
  readonly kv: KvOutcome | null;
  /** null: there were no timers, or it rolled back. */
  readonly timers: TimersOutcome | null;
}
