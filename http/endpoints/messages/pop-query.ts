/**
 * The parameters of the three pop routes (message-plane 3.1), from a query string to values. Every
 * value is exact or the whole query is refused.
 */
import type { AutopilotWish, Subscription } from '@svc/engine';
import {
  DEADLINE_MS_MAX,
  DEADLINE_MS_MIN,
  INT32_MAX,
  INT32_MIN,
  POP_BATCH_DEFAULT,
  POP_PARTITIONS_MAX,
  parseIsoUs,
  QUEUE_MODE_GROUP,
} from '@svc/wire';
import {
  type DecodeFault,
  isFault,
  parseQuery,
  type Query,
  textOf,
  typedBoolean,
  typedInteger,
  typedUint64,
} from '../../exchange/query.js';

export interface PopParameters {
  readonly batch: number;
  readonly partitions: number;
  readonly autoAck: boolean;
  readonly wait: boolean;
  /** How long the answer may take; the default for pops that do not wait. */
  readonly timeoutMs: number;
  readonly leaseSeconds: number | null;
  readonly consumerGroup: string;
  readonly subscription: Subscription;
  /** null: the request names no delivery policy. */
  readonly conflation: boolean | null;
  /** What the leader sizes: only what the request left out. null: nothing. */
  readonly autopilot: AutopilotWish | null;
  /** "" when absent. */
  readonly namespace: string;
  readonly task: string;
}

/** The query is well-formed, and asks for what cannot be: message-plane 3.1, "400 bodies". */
export interface PopConflict {
  readonly conflict: string;
}

const CONFLATION_NEEDS_GROUP =
  'conflation requires consumerGroup: queue mode is a shared cursor with no group identity to ' +
  'hang a delivery policy on';
const CONFLATION_LOSES =
  'auto-ack commits at delivery with no lease, so a failed handler loses the tail and the ' +
  'at-least-once guarantee conflation exists to provide degrades to at-most-once';

export function readPopQuery(
  text: string,
  timeoutMsDefault: number,
  defaultSubscription: Subscription,
): PopParameters | DecodeFault | PopConflict {
  const query = parseQuery(text);
  if (isFault(query)) return query;
  const batch = typedInteger(query, 'batch', INT32_MIN, INT32_MAX);
  if (isFault(batch)) return batch;
  const partitions = typedInteger(query, 'partitions', INT32_MIN, INT32_MAX);
  if (isFault(partitions)) return partitions;
  const leaseSeconds = typedInteger(query, 'leaseSeconds', INT32_MIN, INT32_MAX);
  if (isFault(leaseSeconds)) return leaseSeconds;
  const timeout = typedUint64(query, 'timeout');
  if (isFault(timeout)) return timeout;
  const flags = readFlags(query);
  if (isFault(flags)) return flags;
  const subscription = readSubscription(query, defaultSubscription);
  if (isFault(subscription)) return subscription;
  const consumerGroup = textOf(query, 'consumerGroup');
  if (flags.conflation === true) {
    const shared = consumerGroup === '' || consumerGroup === QUEUE_MODE_GROUP;
    if (shared) return { conflict: CONFLATION_NEEDS_GROUP };
    if (flags.autoAck || flags.commitOnDelivery) return { conflict: conflationConflict(flags) };
  }
  // A conflating pop delivers one message of each partition.
  const batchMax = Math.max(batch ?? POP_BATCH_DEFAULT, 1);
  const width = partitions ?? (flags.conflation === true ? batchMax : 1);
  return {
    batch: batchMax,
    partitions: Math.min(Math.max(width, 1), POP_PARTITIONS_MAX),
    autoAck: flags.autoAck || flags.commitOnDelivery,
    wait: flags.wait,
    timeoutMs: flags.wait ? clampTimeout(timeout ?? timeoutMsDefault) : timeoutMsDefault,
    leaseSeconds: leaseSeconds !== null && leaseSeconds > 0 ? leaseSeconds : null,
    consumerGroup: consumerGroup === '' ? QUEUE_MODE_GROUP : consumerGroup,
    subscription,
    conflation: flags.conflation,
    autopilot: flags.autopilot ? wishOf(partitions === null, batch === null) : null,
    namespace: textOf(query, 'namespace'),
    task: textOf(query, 'task'),
  };
}

interface Flags {
  readonly autoAck: boolean;
  /** The later name of `autoAck`; either of them commits. */
  readonly commitOnDelivery: boolean;
  readonly wait: boolean;
  readonly conflation: boolean | null;
  readonly autopilot: boolean;
}

function readFlags(query: Query): Flags | DecodeFault {
  const autoAck = typedBoolean(query, 'autoAck');
  if (isFault(autoAck)) return autoAck;
  const commitOnDelivery = typedBoolean(query, 'commitOnDelivery');
  if (isFault(commitOnDelivery)) return commitOnDelivery;
  const wait = typedBoolean(query, 'wait');
  if (isFault(wait)) return wait;
  const conflation = typedBoolean(query, 'conflation');
  if (isFault(conflation)) return conflation;
  const autopilot = typedBoolean(query, 'autopilot');
  if (isFault(autopilot)) return autopilot;
  return {
    autoAck: autoAck === true,
    commitOnDelivery: commitOnDelivery === true,
    wait: wait === true,
    conflation,
    autopilot: autopilot === true && conflation !== true,
  };
}

function wishOf(partitions: boolean, batch: boolean): AutopilotWish | null {
  return partitions || batch ? { partitions, batch } : null;
}

function conflationConflict(flags: Flags): string {
  const names = flags.commitOnDelivery ? 'autoAck or commitOnDelivery' : 'autoAck';
  return `conflation cannot be combined with ${names}: ${CONFLATION_LOSES}`;
}

function clampTimeout(timeoutMs: number): number {
  return Math.min(Math.max(timeoutMs, DEADLINE_MS_MIN), DEADLINE_MS_MAX);
}

/**
 * Where a group starts that this pop registers. `subscriptionFrom` beats `subscriptionMode`, but a
 * value of either that cannot be understood refuses the query: to start elsewhere than asked would
 * deliver a whole backlog, or skip one, and the group would stay registered so.
 */
function readSubscription(
  query: Query,
  defaultSubscription: Subscription,
): Subscription | DecodeFault {
  const modeText = textOf(query, 'subscriptionMode');
  const mode =
    modeText === '' ? defaultSubscription : subscriptionOfMode(modeText, defaultSubscription);
  if (mode === null) return { fault: UNKNOWN_SUBSCRIPTION_MODE };
  const from = textOf(query, 'subscriptionFrom').trim();
  if (from === '') return mode;
  if (from.toLowerCase() === 'now') return { mode: 'new' };
  const atUs = parseIsoUs(from);
  if (atUs === null) return { fault: UNKNOWN_SUBSCRIPTION_FROM };
  // Stamps of messages lie within these bounds, and rows can hold nothing outside them.
  return { mode: 'timestamp', atUs: Math.min(Math.max(atUs, 0), Number.MAX_SAFE_INTEGER) };
}

export const UNKNOWN_SUBSCRIPTION_MODE =
  'subscriptionMode must be `all` or `new` (also `new-only`, `new_only`, `newonly`)';
export const UNKNOWN_SUBSCRIPTION_FROM =
  'subscriptionFrom must be `now` or an ISO-8601 date and time, with `+` written as %2B';

/** The spellings of a start mode, as the API description gives them: nothing, `all`, or `new`. */
export const SUBSCRIPTION_MODE =
  /^\s*(?:([Aa][Ll][Ll])|([Nn][Ee][Ww](?:[-_]?[Oo][Nn][Ll][Yy])?))?\s*$/;

/** The default when `mode` is empty; null when it is none of the known words. */
export function subscriptionOfMode(
  mode: string,
  defaultSubscription: Subscription,
): Subscription | null {
  const match = SUBSCRIPTION_MODE.exec(mode);
  if (match === null) return null;
  const [, all, fresh] = match;
  if (all !== undefined) return { mode: 'all' };
  return fresh === undefined ? defaultSubscription : { mode: 'new' };
}
