/** Query parameters that the reads of series share (inspection 5.1). */
import { refusal } from '../../routing/endpoint.js';
import { exactParameter, textParameter } from '../../routing/query-parameter.js';

export const WINDOW = {
  from: textParameter('ISO-8601, inclusive; an hour ago when absent.'),
  to: textParameter('ISO-8601, inclusive; now when absent.'),
};

const QUEUE = textParameter('Of this queue alone.');

export const QUEUE_WINDOW = { ...WINDOW, queue: QUEUE };

const NONE = 'empty: with none';
const NAMESPACE = exactParameter(`Of queues with this namespace; ${NONE}.`);
const TASK = exactParameter(`Of queues with this task; ${NONE}.`);

export const LABELS = { namespace: NAMESPACE, task: TASK };

export const LABELLED_QUERY = { queue: QUEUE, ...LABELS };

export const BAD_WINDOW = refusal(
  'A bound of the window is no timestamp, or it has too many buckets.',
);
