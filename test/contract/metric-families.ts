/**
 * The families of `GET /metrics/prometheus` as the contract lists them (inspection 9), in its
 * order: name, type, and the samples that a fresh node tells already. What is not emitted says so
 * with its reason; the operator's manual has the same reasons.
 */

export interface ContractFamily {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'summary';
  /** Labels with all their values, every combination of which is told from the first scrape. */
  readonly labels?: Readonly<Record<string, readonly string[]>>;
  /** Labels of samples that come and go. */
  readonly open?: readonly string[];
  /** Always 0. */
  readonly zero?: true;
  /** Why it is not emitted. */
  readonly absent?: string;
}

type Labels = Readonly<Record<string, readonly string[]>>;

const QUANTILES = ['0.5', '0.9', '0.99', '0.999', '1'];
const CALLS = ['push', 'pop', 'ack'];
const RESULTS = ['applied', 'rejected', 'error'];
const KV_OPS = ['get', 'getMany', 'getPrefix', 'put', 'delete', 'incr', 'check'];
const LOCK_OPS = ['acquire', 'renew', 'release', 'get'];
const PHASES = ['fire', 'kv_expire', 'usage'];
const HALVES = ['0.5', '0.99'];

const counter = (name: string, labels: Labels = {}): ContractFamily => ({
  name,
  type: 'counter',
  labels,
});
const gauge = (name: string, labels: Labels = {}): ContractFamily => ({
  name,
  type: 'gauge',
  labels,
});
const open = (name: string, type: 'counter' | 'gauge' | 'summary', ...labels: string[]) => ({
  name,
  type,
  open: labels,
});
const zero = (family: ContractFamily): ContractFamily => ({ ...family, zero: true });
const summaries = (names: string): ContractFamily[] =>
  words(names).map((name) => ({
    name: `svc_raft_${name}`,
    type: 'summary',
    labels: { quantile: QUANTILES },
  }));
const absent = (names: string, reason: string): ContractFamily[] =>
  words(names).map((name) => ({ name: `svc_${name}`, type: 'gauge', absent: reason }));

function words(names: string): string[] {
  return names.trim().split(/\s+/);
}

const NO_LINK = 'a cluster without a link has none of them';
const NO_CPU_CLOCK = 'the runtime has no CPU clock for one thread';

export const CONTRACT_FAMILIES: readonly ContractFamily[] = [
  gauge('svc_uptime_seconds'),
  gauge('svc_process_resident_memory_bytes'),
  ...CALLS.map((call) => counter(`svc_process_${call}_requests_total`)),
  ...CALLS.map((call) => counter(`svc_process_${call}_messages_total`)),
  open('svc_parked_long_polls', 'gauge', 'queue'),
  gauge('svc_event_loop_lag_avg_milliseconds'),
  ...absent('malloc_bytes', 'figures of an allocator that this program does not use'),

  gauge('svc_raft_state', { state: words('leader follower candidate learner shutdown') }),
  gauge('svc_raft_term'),
  gauge('svc_raft_index', { kind: ['log', 'committed', 'applied', 'durable'] }),
  gauge('svc_raft_inflight'),
  counter('svc_raft_proposals_total'),
  gauge('svc_raft_log_storage', { kind: ['files', 'bytes'] }),
  gauge('svc_raft_storage_full'),
  open('svc_raft_store_ram_rows', 'gauge', 'ks', 'kind'),
  ...absent('raft_traces_map_bytes', 'traces are rows of the one store'),
  gauge('svc_raft_traces_stored'),
  counter('svc_payloads_not_decrypted_total'),
  gauge('svc_consume_engine', { kind: ['groups', 'parts', 'partitions'] }),
  counter('svc_consume_parts_total', { kind: ['loaded', 'unloaded'] }),

  gauge('svc_raft_admit_bytes', { kind: ['cap', 'held'] }),
  gauge('svc_raft_admit_waiting'),
  counter('svc_raft_admit_total', { outcome: ['waited', 'refused'] }),
  counter('svc_raft_admit_forwarded_total', { outcome: ['admitted', 'refused'] }),
  counter('svc_raft_forward_total', {
    kind: ['sent', 'served', 'streams_opened', 'legacy_leader'],
  }),

  ...summaries('plan_seconds plan_whole_wall_seconds'),
  ...absent('raft_plan_cpu_seconds raft_plan_whole_cpu_seconds', NO_CPU_CLOCK),
  ...summaries('push_h_total_seconds push_h_prep_seconds push_h_submit_seconds'),
  ...summaries('push_h_await_seconds pop_h_total_seconds'),
  ...summaries('arrival_to_proposed_seconds queue_wait_seconds drain_to_propose_seconds'),
  ...summaries('propose_roundtrip_seconds proposed_to_committed_seconds'),
  ...summaries('writer_pickup_seconds log_fsync_seconds apply_entry_seconds'),
  ...absent(
    'raft_apply_segment_seconds raft_apply_other_seconds',
    'applying writes no files, so it has no parts',
  ),
  ...summaries('store_commit_seconds durable_point_seconds'),
  ...absent(
    'raft_durable_seg_fsync_seconds raft_durable_dir_fsync_seconds',
    'a checkpoint syncs no files of the log: entries are durable before they are applied',
  ),
  ...summaries('pop_read_seconds plan_deferred drain_commands drain_messages'),
  ...summaries('group_entries group_bytes apply_channel_depth'),
  open('svc_raft_planner_commands_total', 'counter', 'kind'),
  open('svc_raft_planner_slow_total', 'counter', 'kind'),
  open('svc_raft_planner_plan_seconds', 'summary', 'kind', 'quantile'),
  counter('svc_raft_slow_commands_total'),
  counter('svc_raft_apply_receives_total'),
  counter('svc_raft_apply_stats', {
    field: words(
      `entries skipped effects appends messages bytes_appended commits durable_points
       durable_points_failed outcomes_recorded wakes files_unlinked gc_deferred rows_swept
       missing_rows`,
    ),
  }),

  gauge('svc_names', { kind: ['queues', 'partitions', 'consumer_groups'] }),
  open('svc_names_max', 'gauge', 'kind'),
  open('svc_queue_pop_lag_milliseconds', 'gauge', 'queue', 'stat'),
  open('svc_queue_conflated_per_minute', 'gauge', 'queue'),
  open('svc_queue_pushed_per_second', 'gauge', 'queue'),
  open('svc_queue_delivered_per_second', 'gauge', 'queue'),
  open('svc_queue_acked_per_second', 'gauge', 'queue'),
  open('svc_dlq_depth_by_queue', 'gauge', 'queue'),
  open('svc_dlq_depth', 'gauge'),
  gauge('svc_queue_series_omitted', { of: ['traffic', 'dead_letters', 'long_polls'] }),
  open('svc_consumer_group_lag_messages', 'gauge', 'queue', 'consumer_group'),
  open('svc_consumer_group_lag_seconds', 'gauge', 'queue', 'consumer_group'),
  open('svc_consumer_group_lag_complete', 'gauge'),

  counter('svc_kv_ops_total', { op: KV_OPS, result: RESULTS }),
  gauge('svc_kv_op_duration_milliseconds', { op: KV_OPS, quantile: HALVES }),
  counter('svc_kv_bytes_total', { dir: ['in', 'out'] }),
  counter('svc_kv_read_rejected_total', { reason: ['rate_limited', 'quota', 'pool', 'disabled'] }),
  zero(gauge('svc_kv_expired_not_pruned')),
  zero(gauge('svc_kv_expired_not_pruned_capped')),
  zero(gauge('svc_kv_expiry_lag_seconds')),
  zero(gauge('svc_kv_pool', { state: ['size', 'available', 'waiting'] })),
  zero(counter('svc_kv_singleflight_coalesced_total')),
  counter('svc_locks_ops_total', { op: LOCK_OPS, result: RESULTS }),
  gauge('svc_locks_op_duration_milliseconds', { op: LOCK_OPS, quantile: HALVES }),
  counter('svc_timers_schedule_rejected_total', {
    reason: words('shape payload_too_large quota horizon gated rate_limited unavailable disabled'),
  }),
  zero(gauge('svc_timers_due')),
  zero(gauge('svc_timers_due_capped')),
  zero(gauge('svc_timers_oldest_late_seconds')),
  zero(open('svc_timers_fire_lag_seconds', 'gauge')),
  zero(counter('svc_timers_fire_lag_tenants_dropped_total')),
  zero(counter('svc_timers_fired_total', { result: ['fired', 'duplicate', 'stale'] })),
  zero(counter('svc_timers_dlq_total')),
  zero(counter('svc_timers_fire_failures_total', { class: ['transient', 'permanent', 'config'] })),
  zero(counter('svc_timers_poisoned_total')),
  zero(gauge('svc_sweeper_cycle_milliseconds', { phase: PHASES, quantile: HALVES })),
  zero(counter('svc_sweeper_rows_total', { phase: PHASES })),
  zero(counter('svc_sweeper_skip_locked_total')),
  zero(counter('svc_sweeper_phase_skipped_total', { phase: PHASES })),
  zero(gauge('svc_sweeper_sleep_milliseconds')),

  zero(counter('svc_batches_fired_total', { op: CALLS })),
  zero(counter('svc_batch_items_fired_total', { op: CALLS })),
  zero(gauge('svc_fusion_items_per_batch', { op: CALLS })),
  zero(gauge('svc_batch_rtt_milliseconds', { op: CALLS, quantile: HALVES })),
  zero(counter('svc_pop_targeted_total')),
  zero(counter('svc_pop_wildcard_total')),
  zero(counter('svc_pop_fill_wait_total')),
  zero(counter('svc_pop_fill_wait_microseconds_total')),

  counter('svc_ephemeral_messages_total', { verb: ['pushed', 'popped', 'acked'] }),
  counter('svc_ephemeral_dropped_total', { cause: ['bounds', 'ttl', 'retry'] }),
  counter('svc_ephemeral_forwarded_total'),
  counter('svc_ephemeral_wipes_total'),
  gauge('svc_ephemeral_bytes'),
  gauge('svc_ephemeral_queues'),

  ...absent(
    `link_role link_position_index link_follower_state link_lag_entries link_lag_seconds
     link_last_answer_seconds link_entries_total link_readers link_reader_behind_entries
     link_reader_idle_seconds link_holding`,
    NO_LINK,
  ),
];
