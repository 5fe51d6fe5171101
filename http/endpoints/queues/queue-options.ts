/**
 * Queue options on the wire (message-plane 7.1): how a request names them and how answers show
 * them.
 */
import type { OptionChanges, QueueOptions } from '@svc/engine';
import { describedAs, integer, named, optional, text, truth } from '@svc/schema';
import { INT32_MAX, INT32_MIN, isWellFormed } from '@svc/wire';
import { badRequestFault } from '../../exchange/errors.js';
import { shown } from '../../json/shown.js';

export type OptionKind = 'label' | 'integer' | 'boolean' | 'sink-hold' | 'sink-hold-max';

/** Every option that a request may name. */
export const OPTION_KINDS = {
  namespace: 'label',
  task: 'label',
  priority: 'integer',
  leaseTime: 'integer',
  retryLimit: 'integer',
  retryDelay: 'integer',
  maxSize: 'integer',
  ttl: 'integer',
  deadLetterQueue: 'boolean',
  dlqAfterMaxRetries: 'boolean',
  delayedProcessing: 'integer',
  windowBuffer: 'integer',
  retentionEnabled: 'boolean',
  retentionSeconds: 'integer',
  completedRetentionSeconds: 'integer',
  maxWaitTimeSeconds: 'integer',
  minPopWaitTime: 'integer',
  encryptionEnabled: 'boolean',
  dedupWindowSeconds: 'integer',
  retentionSinkHold: 'sink-hold',
  retentionSinkHoldMaxSeconds: 'sink-hold-max',
  retryBackoffMs: 'integer',
  retryBackoffMaxMs: 'integer',
  deliveryLimit: 'integer',
} as const satisfies { readonly [name in keyof QueueOptions]: OptionKind };

export const SINK_HOLD = /^[A-Za-z0-9._-]{0,64}$/;
export const SINK_HOLD_SECONDS_MIN = 60;
export const SINK_HOLD_SECONDS_MAX = 31_536_000;
const MIN_POP_WAIT_MS_MAX = 60_000;
/** An integer as JSON spells it: `1.0` and `1e3` are none. */
const INTEGER = /^-?\d+$/;

/**
 * The changes that `members` (name to JSON text) ask for; null restores an option's default.
 * Throws `RequestFault`.
 */
export function optionChanges(members: ReadonlyMap<string, string>): OptionChanges {
  const changes: { [name: string]: string | number | boolean | null } = {};
  for (const [name, text] of members) {
    const kind = (OPTION_KINDS as { readonly [name: string]: OptionKind | undefined })[name];
    if (kind === undefined) continue;
    changes[name] = text === 'null' ? null : optionValue(name, kind, text);
  }
  return changes;
}

function optionValue(name: string, kind: OptionKind, text: string): string | number | boolean {
  switch (kind) {
    case 'label':
      return stringOf(text) ?? '';
    case 'boolean':
      if (text === 'true' || text === 'false') return text === 'true';
      throw badRequestFault(`${name} must be a boolean`);
    case 'integer':
      return clamped(name, integerOf(name, text));
    case 'sink-hold': {
      const value = stringOf(text);
      if (value !== null && SINK_HOLD.test(value)) return value;
      throw badRequestFault(`${name} must match [A-Za-z0-9._-]{0,64}`);
    }
    case 'sink-hold-max': {
      const value = integerOf(name, text);
      if (value >= SINK_HOLD_SECONDS_MIN && value <= SINK_HOLD_SECONDS_MAX) return value;
      throw badRequestFault(
        `${name} must be between ${SINK_HOLD_SECONDS_MIN} and ${SINK_HOLD_SECONDS_MAX}`,
      );
    }
  }
}

const AT_LEAST_0 = new Set(['dedupWindowSeconds', 'retryBackoffMs', 'deliveryLimit']);

/** Some options are cut to their range instead of being refused. */
function clamped(name: string, value: number): number {
  if (name === 'minPopWaitTime') return Math.min(Math.max(value, 0), MIN_POP_WAIT_MS_MAX);
  if (AT_LEAST_0.has(name)) return Math.max(value, 0);
  if (name === 'retryBackoffMaxMs') return Math.max(value, 1);
  return value;
}

/** The range is that of 32 bits. */
function integerOf(name: string, text: string): number {
  const value = INTEGER.test(text) ? Number(text) : Number.NaN;
  if (value >= INT32_MIN && value <= INT32_MAX) return value === 0 ? 0 : value;
  throw badRequestFault(`${name} must be an integer`);
}

/** null: not a string, or one that has no UTF-8 form. */
export function stringOf(text: string): string | null {
  if (!text.startsWith('"')) return null;
  const value = JSON.parse(text) as string;
  return isWellFormed(value) ? value : null;
}

/** The members under `options` (inspection 6.6); the labels stand beside it. */
export const optionsAnswer = named(
  'QueueOptionsAnswer',
  shown<QueueOptions>()({
    priority: integer,
    leaseTime: integer,
    retryLimit: integer,
    retryDelay: integer,
    maxSize: integer,
    maxQueueSize: [describedAs('The same as `maxSize`.', integer), ({ maxSize }) => maxSize],
    ttl: integer,
    deadLetterQueue: truth,
    dlqAfterMaxRetries: truth,
    delayedProcessing: integer,
    windowBuffer: integer,
    retentionSeconds: integer,
    completedRetentionSeconds: integer,
    retentionEnabled: truth,
    encryptionEnabled: truth,
    maxWaitTimeSeconds: integer,
    minPopWaitTime: integer,
    dedupWindowSeconds: integer,
    retentionSinkHold: text,
    retentionSinkHoldMaxSeconds: integer,
    // Beyond the contract, and shown where they are used.
    retryBackoffMs: [optional(integer), ({ retryBackoffMs: ms }) => (ms > 0 ? ms : undefined)],
    retryBackoffMaxMs: [
      optional(integer),
      ({ retryBackoffMs, retryBackoffMaxMs: ms }) => (retryBackoffMs > 0 ? ms : undefined),
    ],
    deliveryLimit: [optional(integer), ({ deliveryLimit: n }) => (n > 0 ? n : undefined)],
  }),
);
