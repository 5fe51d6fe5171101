/**
 * A refusal is a value, not an exception: a literal reason with the text that the contract gives it
 * (message-plane 1.4). `http/` maps each reason to its status in one table.
 */
export type RefusalReason =
  | 'bad_request'
  | 'name_too_long'
  | 'reserved_tenant'
  | 'retry'
  | 'no_leader'
  | 'timeout'
  | 'outcome_unknown'
  | 'standby'
  | 'storage_full'
  | 'overloaded'
  | 'internal'
  | 'too_large'
  | 'quota_exceeded'
  | 'kv_check_needs_cluster_version_5';

export interface Refusal {
  readonly reason: RefusalReason;
  readonly error: string;
  /** With `retry`: the node that leads, as far as this one knows. */
  readonly leader?: number;
}
