/** The options of a queue, and the calls that create and delete one. */
import { misuse, refuseUnknown } from '../base/checks.js';
import { writeJson } from '../base/write-json.js';
import { path, type Transport } from '../transport/transport.js';

/** docs/api.md, "Queue options"; `null` restores the broker's default. */
export interface QueueOptions {
  /** Seconds; 300 without. */
  readonly leaseTime?: number | null;
  /** 3 without. */
  readonly retryLimit?: number | null;
  readonly deadLetterQueue?: boolean | null;
  readonly dlqAfterMaxRetries?: boolean | null;
  readonly dedupWindowSeconds?: number | null;
  /** Seconds. */
  readonly delayedProcessing?: number | null;
  /** Seconds. */
  readonly windowBuffer?: number | null;
  /** Milliseconds. */
  readonly minPopWaitTime?: number | null;
  readonly retentionEnabled?: boolean | null;
  readonly retentionSeconds?: number | null;
  readonly completedRetentionSeconds?: number | null;
  readonly maxWaitTimeSeconds?: number | null;
  readonly encryptionEnabled?: boolean | null;
  readonly retentionSinkHold?: string | null;
  readonly retentionSinkHoldMaxSeconds?: number | null;
  readonly priority?: number | null;
  readonly retryDelay?: number | null;
  /** Milliseconds. */
  readonly retryBackoffMs?: number | null;
  /** Milliseconds. */
  readonly retryBackoffMaxMs?: number | null;
  /** Deliveries of a message before it is a dead letter; no limit without. */
  readonly deliveryLimit?: number | null;
  readonly maxSize?: number | null;
  readonly ttl?: number | null;
}

export interface Configured {
  readonly configured: boolean;
  readonly queueId: string;
  readonly queue: string;
  readonly namespace: string;
  readonly task: string;
  /** All options, as they are now. */
  readonly options: Readonly<Record<string, number | boolean | string>>;
}

/** Each option, and a value of its type. */
export const QUEUE_OPTIONS: {
  readonly [Name in keyof Required<QueueOptions>]: NonNullable<QueueOptions[Name]>;
} = {
  leaseTime: 0,
  retryLimit: 0,
  deadLetterQueue: false,
  dlqAfterMaxRetries: false,
  dedupWindowSeconds: 0,
  delayedProcessing: 0,
  windowBuffer: 0,
  minPopWaitTime: 0,
  retentionEnabled: false,
  retentionSeconds: 0,
  completedRetentionSeconds: 0,
  maxWaitTimeSeconds: 0,
  encryptionEnabled: false,
  retentionSinkHold: '',
  retentionSinkHoldMaxSeconds: 0,
  priority: 0,
  retryDelay: 0,
  retryBackoffMs: 0,
  retryBackoffMaxMs: 0,
  deliveryLimit: 0,
  maxSize: 0,
  ttl: 0,
};
const DEFAULTS: QueueOptions = { leaseTime: 300, retryLimit: 3 };

export interface QueueNames {
  readonly queue: string;
  readonly namespace: string | undefined;
  readonly task: string | undefined;
}

export function checkedOptions(options: QueueOptions): QueueOptions {
  refuseUnknown(options, Object.keys(QUEUE_OPTIONS).join(' '), 'config');
  for (const [name, value] of Object.entries(options)) {
    const kind = typeof QUEUE_OPTIONS[name as keyof QueueOptions];
    if (value !== null && typeof value !== kind) {
      throw misuse(`config.${name}`, value, `a ${kind}, or null for the broker's default`);
    }
  }
  return options;
}

/** Creates the queue, or changes it: what is not named stays. */
export async function configureQueue(
  transport: Transport,
  names: QueueNames,
  options: QueueOptions,
): Promise<Configured> {
  const all = { ...DEFAULTS, ...options };
  writeJson(all, 'config');
  const { body } = await transport.call<Configured>({
    method: 'POST',
    path: '/api/v1/configure',
    body: JSON.stringify({ ...names, options: all }),
    repeat: 'any',
  });
  return body as Configured;
}

/** Whether there was one. */
export async function deleteQueue(transport: Transport, queue: string): Promise<boolean> {
  const { body, isRepeat } = await transport.call<{ readonly existed?: boolean }>({
    method: 'DELETE',
    path: path`/api/v1/resources/queues/${queue}`,
    repeat: 'any',
  });
  // An earlier try may have deleted it.
  return body?.existed === true || isRepeat;
}
