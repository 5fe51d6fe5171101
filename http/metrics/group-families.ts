/**
 * Lag of consumer groups, from the leader: labels `queue` and `consumer_group`, summed over tenants
 * and partitions. `svc_consumer_group_lag_complete` is 0 when a bound ended the walk that counted
 * them, so that an alert on lag can tell silence from health.
 */
import type { GroupLag } from '@svc/engine';
import { type Exposition, labelText } from './exposition.js';
import { custom, type Family, gauge } from './family.js';

/** Samples between two moments in which others may go first: some 0.2 ms. */
const SAMPLES_PER_STEP = 512;
const US_PER_SECOND = 1_000_000;

export const GROUP_FAMILIES: readonly Family[] = [
  custom(
    'svc_consumer_group_lag_messages',
    'gauge',
    'Messages that a group has not consumed at a queue; only the leader tells it.',
    (out, { figures }) => samples(out, figures.groupLags?.rows ?? [], ({ messages }) => messages),
  ),
  custom(
    'svc_consumer_group_lag_seconds',
    'gauge',
    'Age of the oldest message that a group has not consumed at a queue; 0 without one.',
    (out, { figures }) => {
      const { wallUs } = figures;
      return samples(out, figures.groupLags?.rows ?? [], ({ oldestUs }) =>
        oldestUs === null ? 0 : Math.max(0, Math.floor((wallUs - oldestUs) / US_PER_SECOND)),
      );
    },
  ),
  gauge(
    'svc_consumer_group_lag_complete',
    '1: the two families above tell of every group; 0: a bound left some out.',
    ({ figures: { groupLags } }) => (groupLags === null ? null : Number(groupLags.isComplete)),
  ),
];

function* samples(
  out: Exposition,
  rows: readonly GroupLag[],
  figureOf: (row: GroupLag) => number,
): Generator<void> {
  let written = 0;
  for (const row of rows) {
    const labels = `${labelText('queue', row.queue)},${labelText('consumer_group', row.group)}`;
    out.sample(labels, figureOf(row));
    written++;
    if (written % SAMPLES_PER_STEP === 0) yield;
  }
}
