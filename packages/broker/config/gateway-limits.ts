/**
 * The variables of the gateway's limits and of its count of usage (gateway 3). A switch of the
 * gateway is on with the word `true` alone, as the contract has it.
 */
import { USAGE_KEEP_DAYS_MIN } from '@svc/wire';
import { accepted, integer, type Kind, TIMER_MS_MAX, text } from './values.js';
import { variable } from './variable.js';

const KEEP_DAYS_LIMIT = 3_650;
const EVERY_MS = { min: 100, max: TIMER_MS_MAX };

/** Everything but `true` is off. */
export function exactTrue(standard: boolean): Kind<boolean> {
  return {
    label: 'the word `true`',
    defaultText: String(standard),
    minimum: null,
    parse: (given) => {
      const word = given?.trim() ?? '';
      return accepted(word === '' ? standard : word === 'true');
    },
    doubt: (given) =>
      given === 'true' || given === 'false' ? null : 'is neither true nor false: it counts as off',
    show: String,
  };
}

export const GATEWAY_LIMIT_VARIABLES = {
  gatewayEnforce: variable(
    'gateway',
    'SVC_PROXY_ENFORCE',
    exactTrue(false),
    'refuse what is over a limit of the plan; off: only log it. Sizes and quotas hold always',
  ),
  gatewayBodyBytesMax: variable(
    'gateway',
    'SVC_PROXY_MAX_BODY_BYTES',
    integer(16_777_216, { min: 1 }),
    'bytes of a body that the gateway reads; a longer one is answered 413',
  ),
  gatewayBatchItemsMax: variable(
    'gateway',
    'SVC_PROXY_MAX_BATCH_ITEMS',
    integer(10_000, { min: 1 }),
    'messages of one request, where the plan has no number',
  ),
  gatewayParkedMax: variable(
    'gateway',
    'SVC_PROXY_CELL_MAX_PARKED',
    integer(5_000, { min: 0 }),
    'pops of all clusters that may wait at this node',
  ),
  gatewayReconcileMs: variable(
    'gateway',
    'SVC_PROXY_RECONCILE_MS',
    integer(60_000, EVERY_MS),
    'milliseconds between looks at all queues of the clusters in use',
  ),
  gatewayStorageRefreshMs: variable(
    'gateway',
    'SVC_PROXY_STORAGE_REFRESH_MS',
    integer(10_000, { min: 500, max: TIMER_MS_MAX }),
    'milliseconds between looks at what those clusters have stored',
  ),
  gatewayMeterFlushMs: variable(
    'gateway',
    'SVC_PROXY_METER_FLUSH_MS',
    integer(15_000, EVERY_MS),
    'milliseconds between flushes of usage; a minute is flushed when it is over',
  ),
  gatewayUsageKeepDays: variable(
    'gateway',
    'SVC_PROXY_USAGE_KEEP_DAYS',
    integer(90, { min: USAGE_KEEP_DAYS_MIN, max: KEEP_DAYS_LIMIT }),
    'days for which usage by the minute is kept; sums of days stay',
  ),
  gatewayRollUpMs: variable(
    'gateway',
    'SVC_PROXY_ROLLUP_MS',
    integer(3_600_000, { min: 1000, max: TIMER_MS_MAX }),
    'milliseconds between passes that sum days and look at the quotas of the month',
  ),
  gatewayQuotaWarnPercent: variable(
    'gateway',
    'SVC_PROXY_QUOTA_WARN_PERCENT',
    integer(80, { min: 1, max: 100 }),
    'part of a quota of the month at which an event says that it is near',
  ),
  gatewaySpoolDirectory: variable(
    'gateway',
    'SVC_PROXY_SPOOL_DIR',
    text('./svc-proxy-spool'),
    'directory of usage that is not stored yet; put it on the data volume',
  ),
  gatewayDrainMs: variable(
    'gateway',
    'SVC_PROXY_SHUTDOWN_DRAIN_MS',
    integer(5_000, { min: 0, max: TIMER_MS_MAX }),
    'milliseconds that requests and the last flush of usage have at shutdown',
  ),
};
