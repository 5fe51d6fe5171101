/**
 * The rows of pending timers (state-surfaces 3).
 *
 * | Table         | Key                             | Row                                       |
 * | ------------- | ------------------------------- | ----------------------------------------- |
 * | timers        | tenant, queue, NUL, timer key   | TimerRow                                  |
 * | timerDue      | due instant, place              | TimerDueRow: the timers, soonest first    |
 * | timerPayloads | place                           | payload, as it was stored                 |
 * | timerUse      | tenant                          | TimerUseRow                               |
 *
 * The place is (stamp of the entry that scheduled the timer, number in it): of those that are due
 * at the same instant the older comes first, and payloads, the bulk of it, stand in the order in
 * which they are written. Where a payload lies while its timer waits, and why: timers.ts.
 */
import { assert } from '../../base/assert.js';
import type { Tenant } from '../../base/commands/commands.js';
import {
  bytes,
  count,
  flag,
  type Infer,
  key,
  nullable,
  text,
  uuid,
} from '../../base/fields/field.js';
import { record, single } from '../../base/fields/record.js';
import { keyText, numberKey, tenantNameKey, tenantRange, textInKey } from '../../base/keys.js';
import type { Key, State } from '../../base/state.js';
import { table } from '../../base/tables.js';

export const timerRow = record({
  /** Place of its payload, and its place among those that are due at the same instant. */
  place: key,
  partition: text,
  /** On the clock of timers, as all of its times (timer-clock.ts). */
  deliverAtUs: count,
  /** deliverAtUs, or later while it backs off after a failure. */
  dueUs: count,
  txn: text,
  /** The id of the message that it will be. */
  messageId: uuid,
  payloadBytes: count,
  /** The payload is a JSON text, or an envelope around one. */
  isJson: flag,
  /** By the broker, or by the client as it says. */
  encrypted: flag,
  producerSub: nullable(text),
  /** Failures that were charged. */
  attempts: count,
  lastError: nullable(text),
  createdAtUs: count,
  updatedAtUs: count,
});
export type TimerRow = Infer<typeof timerRow>;

export const timerDueRow = record({
  /** The key of its row. */
  timer: key,
  /** What its message takes in a log entry, at most. */
  bytes: count,
});
export type TimerDueRow = Infer<typeof timerDueRow>;

/** What became of an attempt to fire. */
export const timerDelay = record({
  dueUs: count,
  attempts: count,
  lastError: text,
  updatedAtUs: count,
});
export type TimerDelay = Infer<typeof timerDelay>;

/** What a tenant has pending. */
export const timerUseRow = record({
  /** >= 1. */
  timers: count,
  /** Bytes of payloads. */
  bytes: count,
});
export type TimerUseRow = Infer<typeof timerUseRow>;

export const timers = table(50, 'timers', timerRow);

export const timerDue = table(51, 'timerDue', timerDueRow);

export const timerPayloads = table(52, 'timerPayloads', single(bytes), ({ length }) => length);

export const timerUse = table(53, 'timerUse', timerUseRow);

// --- keys --------------------------------------------------------------------------------------

/** No name holds a NUL, so a queue's timers stand together, in the byte order of their keys. */
const END = '\0';
const HIGH = 0x1_0000_0000;

export function timerRowKey(tenant: Tenant, queue: string, timerKey: string): Key {
  return `${queuePrefix(tenant, queue)}${keyText(timerKey)}` as Key;
}

/** Bounds of the timers of a queue. */
export function timersOfQueue(tenant: Tenant, queue: string): readonly [Key, Key] {
  const prefix = queuePrefix(tenant, queue);
  return [prefix as Key, `${prefix.slice(0, -END.length)}\u0001` as Key];
}

/** Bounds of the timers of a tenant. */
export function timersOfTenant(tenant: Tenant): readonly [Key, Key] {
  return tenantRange(tenant);
}

function queuePrefix(tenant: Tenant, queue: string): string {
  return `${tenantNameKey(tenant, queue)}${END}`;
}

export interface TimerName {
  readonly tenant: Tenant;
  readonly queue: string;
  readonly timerKey: string;
}

const TENANT_CHARS = 36;

/** Where the name of the queue ends in a timer's key; it begins behind the tenant. */
export function queueEndInTimerKey(key: Key): number {
  const end = key.indexOf(END, TENANT_CHARS);
  assert(end >= TENANT_CHARS, `a timer's key of ${key.length} bytes names no queue`);
  return end;
}

export function timerName(key: Key): TimerName {
  const end = queueEndInTimerKey(key);
  return {
    tenant: key.slice(0, TENANT_CHARS),
    queue: textInKey(key, TENANT_CHARS, end),
    timerKey: textInKey(key, end + END.length, key.length),
  };
}

export function tenantOfTimer(key: Key): Tenant {
  return key.slice(0, TENANT_CHARS);
}

export function timerUseKey(tenant: Tenant): Key {
  return tenant as Key;
}

/** `place` "": the first that can be due at the instant. */
export function timerDueKey(dueUs: number, place: Key): Key {
  return `${numberKey(Math.floor(dueUs / HIGH))}${numberKey(dueUs >>> 0)}${place}` as Key;
}

export function dueUsOfKey(key: Key): number {
  let dueUs = 0;
  for (let i = 0; i < 8; i++) dueUs = dueUs * 256 + key.charCodeAt(i);
  return dueUs;
}

// --- reads -------------------------------------------------------------------------------------

const NOTHING = { timers: 0, bytes: 0 };

export function timerUseOf(
  state: State,
  tenant: Tenant,
): { readonly timers: number; readonly bytes: number } {
  return state.get(timerUse, timerUseKey(tenant)) ?? NOTHING;
}

/** The stored payload of a timer that exists. */
export function timerPayload(state: State, { place, payloadBytes }: TimerRow): Uint8Array {
  const payload = state.get(timerPayloads, place);
  const { length = -1 } = payload ?? {};
  assert(
    payload !== undefined && length === payloadBytes,
    `a payload of ${payloadBytes} has ${length}`,
  );
  return payload;
}

/** Bytes of a message in its entry beside payload and transaction id, at most. */
const MESSAGE_BYTES = 128;

export function timerMessageBytes({ payloadBytes, txn, producerSub }: TimerRow): number {
  return payloadBytes + (txn.length + (producerSub?.length ?? 0)) * 3 + MESSAGE_BYTES;
}
