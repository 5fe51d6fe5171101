/** Key/value, locks, timers and ephemeral queues (inspection 9): there from the first scrape. */
import type { OpMeters } from '@svc/wire';
import { labelText } from './exposition.js';
import {
  counter,
  custom,
  type Family,
  gauge,
  labelled,
  type Scraped,
  twiceLabelled,
} from './family.js';

const US_PER_MS = 1000;
const SHARES = [0.5, 0.99] as const;

export const SURFACE_FAMILIES: readonly Family[] = [
  twiceLabelled(
    'svc_kv_ops_total',
    'counter',
    ['op', 'result'],
    'Operations of key/value calls and of transactions; putIfAbsent counts as put.',
    ({ meters }) => meters.kv.ops,
  ),
  durations(
    'svc_kv_op_duration_milliseconds',
    'Time of a key/value call for each of its operations.',
    ({ meters }) => meters.kv,
  ),
  labelled(
    'svc_kv_bytes_total',
    'counter',
    'dir',
    'Bytes of values that clients sent and were sent.',
    ({ meters }) => meters.kv.bytes,
  ),
  labelled(
    'svc_kv_read_rejected_total',
    'counter',
    'reason',
    'Key/value and lock calls that were refused before they were looked at.',
    ({ meters }) => meters.kv.refused,
  ),
  twiceLabelled(
    'svc_locks_ops_total',
    'counter',
    ['op', 'result'],
    'Operations of lock calls.',
    ({ meters }) => meters.locks.ops,
  ),
  durations(
    'svc_locks_op_duration_milliseconds',
    'Time of a lock call for each of its operations.',
    ({ meters }) => meters.locks,
  ),
  labelled(
    'svc_timers_schedule_rejected_total',
    'counter',
    'reason',
    'Schedules of timers that were refused.',
    ({ meters }) => meters.timersRefused,
  ),
  labelled(
    'svc_ephemeral_messages_total',
    'counter',
    'verb',
    'Messages of ephemeral queues at this node.',
    ({ meters }) => meters.ephemeral.messages,
  ),
  labelled(
    'svc_ephemeral_dropped_total',
    'counter',
    'cause',
    'Messages of ephemeral queues that were dropped at this node.',
    ({ meters }) => meters.ephemeral.dropped,
  ),
  counter(
    'svc_ephemeral_forwarded_total',
    'Calls that were passed on to the node that holds the ring.',
    ({ meters }) => meters.ephemeral.forwarded,
  ),
  counter(
    'svc_ephemeral_wipes_total',
    'Rings that were lost when their place changed.',
    ({ meters }) => meters.ephemeral.wipes,
  ),
  gauge(
    'svc_ephemeral_bytes',
    'Bytes in the rings of this node.',
    ({ meters }) => meters.ephemeral.bytes,
  ),
  gauge(
    'svc_ephemeral_queues',
    'Ephemeral queues with a ring at this node.',
    ({ meters }) => meters.ephemeral.queues,
  ),
];

function durations(
  name: string,
  help: string,
  read: (scraped: Scraped) => Pick<OpMeters<string>, 'tookUs'>,
): Family {
  return custom(name, 'gauge', help, (out, scraped) => {
    for (const [op, took] of Object.entries(read(scraped).tookUs)) {
      for (const share of SHARES) {
        const labels = `${labelText('op', op)},${labelText('quantile', String(share))}`;
        out.sample(labels, took.quantile(share) / US_PER_MS);
      }
    }
  });
}
