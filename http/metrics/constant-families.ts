/**
 * Families that the contract declares and says to be 0 (inspection 9, marked Z): what they counted
 * belongs to another way of building a broker. They are there so that a dashboard that asks for
 * them finds them. Rows: name, type, what it would count, its labels.
 */
import { labelText } from './exposition.js';
import { custom, type Family } from './family.js';

type Labels = Readonly<Record<string, readonly string[]>>;

interface Row {
  readonly name: string;
  readonly type: 'counter' | 'gauge';
  readonly help: string;
  /** Every combination of them is 0; null: there is no sample at all. */
  readonly labels: Labels | null;
}

const OPS = ['push', 'pop', 'ack'];
const PHASES = ['fire', 'kv_expire', 'usage'];
const SHARES = ['0.5', '0.99'];

const ROWS: readonly Row[] = [
  gauge('svc_kv_expired_not_pruned', 'Expired rows that still stand'),
  gauge('svc_kv_expired_not_pruned_capped', 'Whether that count was capped'),
  gauge('svc_kv_expiry_lag_seconds', 'How late expired rows are removed'),
  gauge('svc_kv_pool', 'Connections of a pool', { state: ['size', 'available', 'waiting'] }),
  counter('svc_kv_singleflight_coalesced_total', 'Reads that shared one round trip'),
  gauge('svc_timers_due', 'Timers that are due'),
  gauge('svc_timers_due_capped', 'Whether that count was capped'),
  gauge('svc_timers_oldest_late_seconds', 'How late the oldest of them is'),
  {
    name: 'svc_timers_fire_lag_seconds',
    type: 'gauge',
    help: 'How late timers fire, by tenant; never told',
    labels: null,
  },
  counter('svc_timers_fire_lag_tenants_dropped_total', 'Tenants left out there'),
  counter('svc_timers_fired_total', 'Timers fired', { result: ['fired', 'duplicate', 'stale'] }),
  counter('svc_timers_dlq_total', 'Timers that became dead letters'),
  counter('svc_timers_fire_failures_total', 'Timers that could not fire', {
    class: ['transient', 'permanent', 'config'],
  }),
  counter('svc_timers_poisoned_total', 'Timers given up'),
  gauge('svc_sweeper_cycle_milliseconds', 'A cycle of the sweeper', {
    phase: PHASES,
    quantile: SHARES,
  }),
  counter('svc_sweeper_rows_total', 'Rows of the sweeper', { phase: PHASES }),
  counter('svc_sweeper_skip_locked_total', 'Rows that it found locked'),
  counter('svc_sweeper_phase_skipped_total', 'Phases that it left out', { phase: PHASES }),
  gauge('svc_sweeper_sleep_milliseconds', 'How long it rests'),
  counter('svc_batches_fired_total', 'Batches of calls', { op: OPS }),
  counter('svc_batch_items_fired_total', 'Calls in them', { op: OPS }),
  gauge('svc_fusion_items_per_batch', 'Calls of one batch', { op: OPS }),
  gauge('svc_batch_rtt_milliseconds', 'How long a batch takes', { op: OPS, quantile: SHARES }),
  counter('svc_pop_targeted_total', 'Pops of one partition'),
  counter('svc_pop_wildcard_total', 'Pops of a whole queue'),
  counter('svc_pop_fill_wait_total', 'Pops that waited to be filled'),
  counter('svc_pop_fill_wait_microseconds_total', 'How long they did'),
];

export const CONSTANT_FAMILIES: readonly Family[] = ROWS.map(({ name, type, help, labels }) => {
  const samples = labels === null ? [] : combinations(Object.entries(labels));
  return custom(name, type, `${help}: always 0, see the manual.`, (out) => {
    for (const each of samples) out.sample(each, 0);
  });
});

function gauge(name: string, help: string, labels: Labels = {}): Row {
  return { name, type: 'gauge', help, labels };
}

function counter(name: string, help: string, labels: Labels = {}): Row {
  return { name, type: 'counter', help, labels };
}

function combinations(labels: readonly (readonly [string, readonly string[]])[]): string[] {
  const [first, ...rest] = labels;
  if (first === undefined) return [''];
  const [name, values] = first;
  const tails = combinations(rest);
  return values.flatMap((value) =>
    tails.map((tail) =>
      tail === '' ? labelText(name, value) : `${labelText(name, value)},${tail}`,
    ),
  );
}
