/**
 * Traces (state-surfaces 6): what clients note about messages. A trace is replicated, outlives its
 * message, and is kept for a time, not for ever.
 *
 * | Table         | Key                                      | Row                                 |
 * | ------------- | ---------------------------------------- | ----------------------------------- |
 * | traces        | place                                    | TraceRow                            |
 * | traceData     | place                                    | its data, which a list may not need |
 * | traceIndex    | scope, place                             | nothing                             |
 * | traceTotals   | scope                                    | TraceTotals                         |
 * | traceMessages | name scope, partition, transaction hash  | traces of that message by that name |
 *
 * The place is (stamp of the entry, number in it), so traces stand in the order of time: the oldest
 * go first without a search. A scope is what they are listed by: a message, or a name. Its totals
 * are kept, so no list counts what it does not show; `message_count` of a name is exact because the
 * last table knows how many traces each of its messages still has.
 *
 * A trace with n names costs 2 + 2 + 3 n rows. Nothing here is touched by a message.
 */
import type { ByteReader, ByteWriter } from '../../base/bytes.js';
import type { Tenant } from '../../base/commands/commands.js';
import { keyText, numberKey, textInKey } from '../../base/keys.js';
import type { Key } from '../../base/state.js';
import { table } from '../../base/tables.js';

export interface TraceRow {
  readonly tenant: Tenant;
  readonly traceId: string;
  /** 0: none was named. */
  readonly partition: number;
  readonly transactionId: string;
  /** Distinct. */
  readonly names: readonly string[];
  readonly eventType: string;
  readonly consumerGroup: string | null;
  readonly worker: string | null;
  readonly messageId: string | null;
}

export interface TraceTotals {
  /** >= 1. */
  readonly traces: number;
  /** Of a name: the distinct messages of its traces. Of a message: 1. */
  readonly messages: number;
  readonly lastUs: number;
}

export function writeTrace(w: ByteWriter, row: TraceRow): void {
  w.text(row.tenant);
  w.uuid(row.traceId);
  w.u32(row.partition);
  w.text(row.transactionId);
  w.varint(row.names.length);
  for (const name of row.names) w.text(name);
  w.text(row.eventType);
  w.optionalText(row.consumerGroup);
  w.optionalText(row.worker);
  w.flag(row.messageId !== null);
  if (row.messageId !== null) w.uuid(row.messageId);
}

export function readTrace(r: ByteReader): TraceRow {
  return {
    tenant: r.text(),
    traceId: r.uuid(),
    partition: r.u32(),
    transactionId: r.text(),
    names: Array.from({ length: r.varint() }, () => r.text()),
    eventType: r.text(),
    consumerGroup: r.optionalText(),
    worker: r.optionalText(),
    messageId: r.flag() ? r.uuid() : null,
  };
}

export const traces = table<TraceRow>(25, 'traces', writeTrace, readTrace);

export const traceData = table<Uint8Array>(
  26,
  'traceData',
  (w, row) => w.blob(row),
  (r) => r.blob(),
  ({ length }) => length,
);

export const traceIndex = table<true>(
  27,
  'traceIndex',
  () => {},
  () => true,
);

export const traceTotals = table<TraceTotals>(
  28,
  'traceTotals',
  (w, row) => {
    w.varint(row.traces);
    w.varint(row.messages);
    w.varint(row.lastUs);
  },
  (r) => ({ traces: r.varint(), messages: r.varint(), lastUs: r.varint() }),
);

export const traceMessages = table<number>(
  29,
  'traceMessages',
  (w, row) => w.varint(row),
  (r) => r.varint(),
);

// --- keys --------------------------------------------------------------------------------------

export type TraceScope = string & { readonly __scope: unique symbol };

/** No text here holds a NUL, so nothing that begins with a whole text and it is another's. */
const END = '\0';
const OF_ALL = 'a';
const OF_MESSAGE = 'm';
const OF_NAME = 'n';
const OF_TENANT = 't';
const PLACE_CHARS = 12;
const STAMP_HIGH = 0x1_0000_0000;

export function placeKey(stampUs: number, number: number): Key {
  const high = numberKey(Math.floor(stampUs / STAMP_HIGH));
  return `${high}${numberKey(stampUs >>> 0)}${numberKey(number)}` as Key;
}

export function stampOfPlace(place: Key): number {
  let stampUs = 0;
  for (let i = 0; i < 8; i++) stampUs = stampUs * 256 + place.charCodeAt(i);
  return stampUs;
}

export function messageScope(tenant: Tenant, partition: number, transaction: string): TraceScope {
  const text = keyText(transaction);
  return `${OF_MESSAGE}${tenant}${numberKey(partition)}${text}${END}` as TraceScope;
}

export function nameScope(tenant: Tenant, name: string): TraceScope {
  return `${OF_NAME}${tenant}${keyText(name)}${END}` as TraceScope;
}

/** Bounds of the names of a tenant, as they stand in `traceTotals`, in their byte order. */
export function nameScopeRange(tenant: Tenant): readonly [Key, Key] {
  return [`${OF_NAME}${tenant}` as Key, `${OF_NAME}${tenant}\xff` as Key];
}

export function nameInScope(scope: Key, tenant: Tenant): string {
  return textInKey(scope, OF_NAME.length + tenant.length, scope.length - END.length);
}

/** Bounds of the places in a scope. */
export function placesOf(scope: TraceScope): readonly [Key, Key] {
  return [scope as unknown as Key, `${scope}${'\xff'.repeat(PLACE_CHARS)}` as Key];
}

export function placeInKey(key: Key): Key {
  return key.slice(-PLACE_CHARS) as Key;
}

/** A row of `traceMessages`. */
export function traceMessageKey(name: TraceScope, partition: number, digest: string): Key {
  return `${name}${numberKey(partition)}${digest}` as Key;
}

/** Of all traces: how many there are. */
export const ALL_TRACES = OF_ALL as TraceScope;

/** Of all names of a tenant: how many there are, as `traces`. */
export function namesScope(tenant: Tenant): TraceScope {
  return `${OF_TENANT}${tenant}` as TraceScope;
}
