/**
 * A refusal is a value, not an exception: a literal reason with the text that the contract gives it
 * (message-plane 1.4). `http/` maps each reason to its status in one table.
 */
import { count, type Infer, mapped, nullable, oneOf, text } from './fields/field.js';
import { record } from './fields/record.js';

const reason = oneOf([
  'bad_request',
  'name_too_long',
  'reserved_tenant',
  'retry',
  'no_leader',
  'timeout',
  'outcome_unknown',
  'standby',
  'storage_full',
  'overloaded',
  'internal',
  'too_large',
  'kv_check_needs_cluster_version_5',
  'quota_exceeded',
]);
export type RefusalReason = Infer<typeof reason>;

export interface Refusal {
  readonly reason: RefusalReason;
  readonly error: string;
  /** With `retry`: the node that leads, as far as this one knows. */
  readonly leader?: number;
}

export const refusal = mapped(
  record({ reason, error: text, leader: nullable(count) }),
  (given: Refusal) => ({ ...given, leader: given.leader ?? null }),
  ({ leader, ...read }): Refusal => (leader === null ? read : { ...read, leader }),
);
