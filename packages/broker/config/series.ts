/** Environment variables of the series that status and analytics show. */
import { exactInteger, positive } from './values.js';
import { variable } from './variable.js';

const HOURS_MAX = 24 * 366;
/** 500 MB of rows of 30 bytes, twice in the file. */
const QUEUE_ROWS_MAX = 16_000_000;

export const SERIES_VARIABLES = {
  seriesFlushMs: variable(
    'server',
    'METRICS_FLUSH_MS',
    positive(60_000, { min: 1000, max: 3_600_000 }),
    'milliseconds between flushes of the series that analytics show; rows are of a minute at most',
  ),
  groupLagCursorsMax: variable(
    'server',
    'SVC_METRICS_GROUP_LAG_MAX_CURSORS',
    positive(200_000, { min: 1 }),
    'cursors that are visited to tell the lag of consumer groups; some 5 us each, per 15 seconds',
  ),
  queueSeriesMax: variable(
    'server',
    'SVC_METRICS_QUEUE_SERIES_MAX',
    exactInteger(20_000, { min: 1, max: 100_000 }),
    'queues of a Prometheus family; `svc_queue_series_omitted` tells how many were left out',
  ),
  seriesNodeHours: variable(
    'server',
    'SVC_DASH_NODE_RETENTION_H',
    positive(168, { min: 1, max: HOURS_MAX }),
    'hours for which a node keeps the series of its process',
  ),
  seriesQueueHours: variable(
    'server',
    'SVC_DASH_QUEUE_RETENTION_H',
    positive(24, { min: 1, max: HOURS_MAX }),
    'hours for which a node keeps the series of queues',
  ),
  seriesQueueRowsMax: variable(
    'server',
    'SVC_DASH_MAX_QUEUE_ROWS',
    positive(500_000, { min: 1, max: QUEUE_ROWS_MAX }),
    'rows of them that it keeps, one for each queue and minute in which something happened',
  ),
};
