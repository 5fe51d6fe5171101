/**
 * Families with a sample for each queue: label `queue`, and `tenant` for any but the default one.
 *
 * Bound: QUEUES_SCRAPED_MAX queues of a family; a remark in the text says how many more there are.
 * A queue is there only while there is something to say of it, so ten thousand queues are shown
 * whole, and of a million those that were delivered from in the last minute.
 */
import { DEFAULT_TENANT, type QueueFigures } from '@svc/wire';
import { type Exposition, labelText } from './exposition.js';
import { custom, type Family } from './family.js';

/** 20,000 queues * 2 samples * 100 bytes = 4 MB for the widest family. */
export const QUEUES_SCRAPED_MAX = 20_000;
/** Samples between two moments in which others may go first: some 0.2 ms. */
const SAMPLES_PER_STEP = 512;

/**
 * A bucket that is closed does not change, and is scraped several times: its lines are made once.
 * They go with it.
 */
const lagLines = new WeakMap<readonly QueueFigures[], string>();
const LAG = 'svc_queue_pop_lag_milliseconds';

export const QUEUE_FAMILIES: readonly Family[] = [
  custom(
    'svc_parked_long_polls',
    'gauge',
    'Long polls parked now at this node, by queue over all tenants; of discovery pops under "".',
    function* (out, { figures }) {
      const polls = [...figures.parked].map(([queue, count]) => ({ queue, count }));
      yield* bounded(out, polls, ({ queue, count }) =>
        out.sample(labelText('queue', queue), count),
      );
    },
  ),
  custom(
    LAG,
    'gauge',
    'Age of messages when this node delivered them, of the last flush bucket.',
    function* (out, { meters }) {
      const { closed } = meters.queues;
      const known = lagLines.get(closed);
      if (known !== undefined) {
        out.lines(known);
        return;
      }
      const delivered = closed.filter(({ popMessages }) => popMessages > 0);
      let text = '';
      yield* bounded(
        { comment: (remark) => (text += `# ${remark}\n`) },
        delivered,
        ({ tenant, queue, lagMsSum, lagMsMax, popMessages }) => {
          const labels = `${LAG}{${queueLabels(tenant, queue)}`;
          text += `${labels},stat="avg"} ${toMicroseconds(lagMsSum / popMessages)}\n`;
          text += `${labels},stat="max"} ${toMicroseconds(lagMsMax)}\n`;
        },
      );
      lagLines.set(closed, text);
      out.lines(text);
    },
  ),
  custom(
    'svc_queue_conflated_per_minute',
    'gauge',
    'Messages that conflating groups passed over at this node, of the last flush bucket.',
    function* (out, { meters }) {
      const passed = meters.queues.closed.filter(({ conflated }) => conflated > 0);
      yield* bounded(out, passed, ({ tenant, queue, conflated }) =>
        out.sample(queueLabels(tenant, queue), conflated),
      );
    },
  ),
  custom(
    'svc_dlq_depth_by_queue',
    'gauge',
    'Dead letters by queue, of the whole cluster; only the leader tells it.',
    function* (out, { figures }) {
      yield* bounded(out, figures.deadLetters ?? [], ({ tenant, queue, count }) =>
        out.sample(queueLabels(tenant, queue), count),
      );
    },
  ),
];

/** A clock tells no more, and long fractions take long to write. */
function toMicroseconds(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}

function queueLabels(tenant: string, queue: string): string {
  const label = labelText('queue', queue);
  return tenant === DEFAULT_TENANT ? label : `${label},${labelText('tenant', tenant)}`;
}

/** A `null` among the items is a moment in which others may go first. */
function* bounded<Item>(
  out: Pick<Exposition, 'comment'>,
  items: Iterable<Item | null>,
  write: (item: Item) => void,
): Generator<void> {
  let written = 0;
  for (const item of items) {
    if (item === null) {
      yield;
      continue;
    }
    if (written === QUEUES_SCRAPED_MAX) {
      out.comment(`only the first ${QUEUES_SCRAPED_MAX} queues are told of`);
      return;
    }
    write(item);
    written++;
    if (written % SAMPLES_PER_STEP === 0) yield;
  }
}
