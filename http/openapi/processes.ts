/** Processes over time (inspection 5.7, 5.8). */
import { text } from '@svc/schema';
import { systemMetricsAnswer, workerMetricsAnswer } from '@svc/wire';
import { BAD_WINDOW, TAG, WINDOW } from './analytics.js';
import { answer, type Operation, type Operations, parameter, refusal } from './operation.js';

const HOSTNAME = parameter('hostname', 'Of this node alone.', text);

const systemMetrics: Operation = {
  tag: TAG,
  summary: 'What the processes measured of themselves, once a second.',
  query: [...WINDOW, HOSTNAME, parameter('workerId', '`worker-0` or absent.', text)],
  answers: {
    200: answer(
      'One element for each node that has rows. Processor time is in hundredths of a percent.',
      systemMetricsAnswer,
    ),
    500: BAD_WINDOW,
  },
};

const workerMetrics: Operation = {
  tag: TAG,
  summary: 'What the processes did: requests, messages, delays of the loop.',
  query: [
    ...WINDOW,
    HOSTNAME,
    parameter('workerId', 'An integer; each node has the worker 0.', text),
    parameter('queue', 'Without effect.', text),
  ],
  answers: {
    200: answer(
      'The newest bucket first; `workers` are those of the last five minutes.',
      workerMetricsAnswer,
    ),
    500: refusal('A bound of the window is no timestamp, or `workerId` is no integer.'),
  },
};

export const PROCESS_OPERATIONS: Operations = {
  'GET /api/v1/analytics/system-metrics': systemMetrics,
  'GET /api/v1/analytics/worker-metrics': workerMetrics,
};
