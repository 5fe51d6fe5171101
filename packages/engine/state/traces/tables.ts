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
import { TRACE_NAMES_MAX } from '@svc/wire';
import type { Tenant } from '../../base/commands/commands.js';
import {
  bytes,
  count,
  type Infer,
  list,
  nullable,
  text,
  u32,
  uuid,
} from '../../base/fields/field.js';
import { nothing, record, single } from '../../base/fields/record.js';
import { keyText, numberKey, textInKey } from '../../base/keys.js';
import type { Key } from '../../base/state.js';
import { table } from '../../base/tables.js';

export const traceRow = record({
  tenant: text,
  traceId: uuid,
  /** 0: none was named. */
  partition: u32,
  transactionId: text,
  /** Distinct. */
  names: list(text, TRACE_NAMES_MAX),
  eventType: text,
  consumerGroup: nullable(text),
  worker: nullable(text),
  messageId: nullable(uuid),
});
export type TraceRow = Infer<typeof traceRow>;

export const traceTotalsRow = record({
  /** >= 1. */
  traces: count,
  /** For a name: the distinct messages of its traces. For a message: 1. */
  messages: count,
  lastUs: count,
});
export type TraceTotals = Infer<typeof traceTotalsRow>;

export const traces = table(25, 'traces', traceRow);

export const traceData = table(26, 'traceData', single(bytes), ({ length }) => length);

export const traceIndex = table(27, 'traceIndex', nothing);

export const traceTotals = table(28, 'traceTotals', traceTotalsRow);

export const traceMessages = table(29, 'traceMessages', single(count));

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

/** The scope of all traces: how many there are. */
export const ALL_TRACES = OF_ALL as TraceScope;

/** The scope of all names of a tenant: how many there are, as `traces`. */
export function namesScope(tenant: Tenant): TraceScope {
  return `${OF_TENANT}${tenant}` as TraceScope;
}
