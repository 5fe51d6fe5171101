/** Query parameters that the reads of series share (inspection 5.1). */
import { refusal } from '../../routing/endpoint.js';
import { exactParameter, textParameter } from '../../routing/query-parameter.js';

export const FROM = textParameter('from', 'ISO-8601, inclusive; an hour ago when absent.');
export const TO = textParameter('to', 'ISO-8601, inclusive; now when absent.');
export const WINDOW = [FROM, TO];

export const QUEUE = textParameter('queue', 'Of this queue alone.');
const NONE = 'empty: with none';
export const NAMESPACE = exactParameter('namespace', `Of queues with this namespace; ${NONE}.`);
export const TASK = exactParameter('task', `Of queues with this task; ${NONE}.`);

export const BAD_WINDOW = refusal(
  'A bound of the window is no timestamp, or it has too many buckets.',
);
