/** Queue options: defaults, implicit labels and the merge rules of configure (message-plane 7). */
import type { OptionChanges, QueueOptions } from './commands/commands.js';

/** What configure gives an option that was never named, or was named with null. */
export const CONFIGURE_DEFAULTS: QueueOptions = {
  namespace: '',
  task: '',
  priority: 0,
  leaseTime: 300,
  retryLimit: 3,
  retryDelay: 1000,
  maxSize: 0,
  ttl: 3600,
  deadLetterQueue: true,
  dlqAfterMaxRetries: true,
  delayedProcessing: 0,
  windowBuffer: 0,
  retentionEnabled: false,
  retentionSeconds: 0,
  completedRetentionSeconds: 0,
  maxWaitTimeSeconds: 0,
  minPopWaitTime: 0,
  encryptionEnabled: false,
  dedupWindowSeconds: 3600,
  retentionSinkHold: '',
  retentionSinkHoldMaxSeconds: 604_800,
  retryBackoffMs: 0,
  retryBackoffMaxMs: 3_600_000,
  deliveryLimit: 0,
};

/** Seconds of a lease in a queue that a push, not configure, created. */
const IMPLICIT_LEASE_SECONDS = 60;
const POP_WAIT_MS_MAX = 60_000;

/**
 * Options of a queue created by being named: labels come from the name's first two dotted parts.
 */
export function implicitOptions(name: string): QueueOptions {
  const parts = name.split('.', 2);
  return {
    ...CONFIGURE_DEFAULTS,
    leaseTime: IMPLICIT_LEASE_SECONDS,
    namespace: parts[0] ?? '',
    task: parts[1] ?? '',
  };
}

/**
 * Merge keeps what `changes` does not name, replace resets it. Null restores the default. Names and
 * types were checked at the edge; names that are no option are ignored.
 */
export function changeOptions(
  before: QueueOptions | null,
  changes: OptionChanges,
  replace: boolean,
): QueueOptions {
  const base = replace || before === null ? CONFIGURE_DEFAULTS : before;
  const merged: Record<string, string | number | boolean> = { ...base };
  for (const name of Object.keys(CONFIGURE_DEFAULTS) as (keyof QueueOptions)[]) {
    const value = changes[name];
    if (value === undefined) continue;
    merged[name] = value === null ? CONFIGURE_DEFAULTS[name] : value;
  }
  const options = merged as unknown as QueueOptions;
  return {
    ...options,
    minPopWaitTime: Math.min(Math.max(options.minPopWaitTime, 0), POP_WAIT_MS_MAX),
    dedupWindowSeconds: Math.max(options.dedupWindowSeconds, 0),
    retryBackoffMs: Math.max(options.retryBackoffMs, 0),
    retryBackoffMaxMs: Math.max(options.retryBackoffMaxMs, 1),
    deliveryLimit: Math.max(options.deliveryLimit, 0),
  };
}
