/** Query parameters that the reads of series share (inspection 5.1). */

import { text } from '@svc/schema';
import { parameter, refusal } from '../../routing/endpoint.js';
export const WINDOW = [
  parameter('from', 'ISO-8601, inclusive; an hour ago when absent.', text),
  parameter('to', 'ISO-8601, inclusive; now when absent.', text),
];

export const QUEUE = parameter('queue', 'Of this queue alone.', text);

export const BAD_WINDOW = refusal(
  'A bound of the window is no timestamp, or it has too many buckets.',
);
