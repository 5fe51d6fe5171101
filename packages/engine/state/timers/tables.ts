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
import type { ByteReader, ByteWriter } from '../../base/bytes.js';
import type { Tenant } from '../../base/commands/commands.js';
import { keyText, numberKey, tenantNameKey, tenantRange, textInKey } from '../../base/keys.js';
import type { Key, State } from '../../base/state.js';
import { table } from '../../base/tables.js';

export interface TimerRow {
  /** Of its payload, and among those that are due at the same instant. */
  readonly place: Key;
  readonly partition: string;
  /** On the clock of timers, as all of its times (timer-clock.ts). */
  readonly deliverAtUs: number;
  /** deliverAtUs, or later while it backs off after a failure. */
  readonly dueUs: number;
  readonly txn: string;
  /** Of the message that it will be. */
  readonly messageId: string;
  readonly payloadBytes: number;
  /** The payload is a JSON text, or an envelope around one. */
  readonly isJson: boolean;
  /** By the broker, or by the client as it says. */
  readonly encrypted: boolean;
  readonly producerSub: string | null;
  /** Failures that were charged. */
  readonly attempts: number;
  readonly lastError: string | null;
  readonly createdAtUs: number;
  readonly updatedAtUs: number;
}

export interface TimerDueRow {
  /** Of its row. */
  readonly timer: Key;
  /** What its message takes in a log entry, at most. */
  readonly bytes: number;
}

/** What a tenant has pending. */
export interface TimerUseRow {
  /** >= 1. */
  readonly timers: number;
  /** Of payloads. */
  readonly bytes: number;
}

export function writeTimer(w: ByteWriter, row: TimerRow): void {
  w.latin1(row.place);
  w.text(row.partition);
  w.varint(row.deliverAtUs);
  w.varint(row.dueUs);
  w.text(row.txn);
  w.uuid(row.messageId);
  w.varint(row.payloadBytes);
  w.flag(row.isJson);
  w.flag(row.encrypted);
  w.optionalText(row.producerSub);
  w.varint(row.attempts);
  w.optionalText(row.lastError);
  w.varint(row.createdAtUs);
  w.varint(row.updatedAtUs);
}

export function readTimer(r: ByteReader): TimerRow {
  return {
    place: r.latin1() as Key,
    partition: r.text(),
    deliverAtUs: r.varint(),
    dueUs: r.varint(),
    txn: r.text(),
    messageId: r.uuid(),
    payloadBytes: r.varint(),
    isJson: r.flag(),
    encrypted: r.flag(),
    producerSub: r.optionalText(),
    attempts: r.varint(),
    lastError: r.optionalText(),
    createdAtUs: r.varint(),
    updatedAtUs: r.varint(),
  };
}

export const timers = table<TimerRow>(50, 'timers', writeTimer, readTimer);

export const timerDue = table<TimerDueRow>(
  51,
  'timerDue',
  (w, row) => {
    w.latin1(row.timer);
    w.varint(row.bytes);
  },
  (r) => ({ timer: r.latin1() as Key, bytes: r.varint() }),
);

export const timerPayloads = table<Uint8Array>(
  52,
  'timerPayloads',
  (w, row) => w.blob(row),
  (r) => r.blob(),
  ({ length }) => length,
);

export const timerUse = table<TimerUseRow>(
  53,
  'timerUse',
  (w, row) => {
    w.varint(row.timers);
    w.varint(row.bytes);
  },
  (r) => ({ timers: r.varint(), bytes: r.varint() }),
);

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

/** Of a message in its entry beside payload and transaction id, at most. */
const MESSAGE_BYTES = 128;

export function timerMessageBytes({ payloadBytes, txn, producerSub }: TimerRow): number {
  return payloadBytes + (txn.length + (producerSub?.length ?? 0)) * 3 + MESSAGE_BYTES;
}
