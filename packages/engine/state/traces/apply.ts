/**
 * Adding and expiring traces in the state: apply runs these, and they keep the lists and their
 * totals in step with the traces.
 */
import { assert } from '../../base/assert.js';
import type { Key, State } from '../../base/state.js';
import { transactionDigest } from '../dead-letters/tables.js';
import {
  ALL_TRACES,
  messageScope,
  nameScope,
  namesScope,
  placeInKey,
  placeKey,
  stampOfPlace,
  type TraceRow,
  type TraceScope,
  traceData,
  traceIndex,
  traceMessageKey,
  traceMessages,
  traces,
  traceTotals,
} from './tables.js';

export function addTrace(state: State, place: Key, row: TraceRow, data: Uint8Array): void {
  const { tenant, partition, transactionId, names } = row;
  state.put(traces, place, row);
  state.put(traceData, place, data);
  addTo(state, ALL_TRACES, 1);
  if (partition > 0) list(state, messageScope(tenant, partition, transactionId), place, 0);
  const digest = names.length === 0 ? '' : transactionDigest(transactionId);
  for (const name of names) {
    const scope = nameScope(tenant, name);
    const key = traceMessageKey(scope, partition, digest);
    const before = state.get(traceMessages, key) ?? 0;
    state.put(traceMessages, key, before + 1);
    const isFirst = list(state, scope, place, before === 0 ? 1 : 0);
    if (isFirst) addTo(state, namesScope(row.tenant), 1);
  }
}

/** True when it is the first of its scope. */
function list(state: State, scope: TraceScope, place: Key, newMessages: number): boolean {
  state.put(traceIndex, `${scope}${place}` as Key, true);
  const key = scope as unknown as Key;
  const before = state.get(traceTotals, key);
  state.put(traceTotals, key, {
    traces: (before?.traces ?? 0) + 1,
    messages: (before?.messages ?? 0) + newMessages,
    lastUs: stampOfPlace(place),
  });
  return before === undefined;
}

/**
 * Removes at most `rowsMax` traces that are older than `beforeUs`, oldest first. Those before
 * `from` are gone already: state may remember each removed row for a while, so a step must not
 * begin at the first of them.
 */
export function expireTraces(state: State, from: Key, beforeUs: number, rowsMax: number): void {
  for (const { key, row } of state.range(traces, from, placeKey(beforeUs, 0), rowsMax)) {
    removeTrace(state, key, row);
  }
}

/** Removes these traces, which exist: the oldest of each of their scopes, as they go in order. */
export function dropTraces(state: State, places: readonly Key[]): void {
  for (const place of places) {
    const row = state.get(traces, place);
    assert(row !== undefined, `a trace of ${stampOfPlace(place)} is dropped and does not exist`);
    removeTrace(state, place, row);
  }
}

function removeTrace(state: State, place: Key, row: TraceRow): void {
  const { tenant, partition, transactionId, names } = row;
  state.delete(traces, place);
  state.delete(traceData, place);
  addTo(state, ALL_TRACES, -1);
  if (partition > 0) unlist(state, messageScope(tenant, partition, transactionId), place, 0);
  const digest = names.length === 0 ? '' : transactionDigest(transactionId);
  for (const name of names) {
    const scope = nameScope(tenant, name);
    const key = traceMessageKey(scope, partition, digest);
    const left = (state.get(traceMessages, key) ?? 0) - 1;
    assert(left >= 0, `${left} traces of a message by one name`);
    if (left === 0) state.delete(traceMessages, key);
    else state.put(traceMessages, key, left);
    const isLast = unlist(state, scope, place, left === 0 ? 1 : 0);
    if (isLast) addTo(state, namesScope(row.tenant), -1);
  }
}

/** True when it was the last of its scope. Traces go in the order of time, so the newest stays. */
function unlist(state: State, scope: TraceScope, place: Key, goneMessages: number): boolean {
  state.delete(traceIndex, `${scope}${place}` as Key);
  const key = scope as unknown as Key;
  const before = state.get(traceTotals, key);
  assert(before !== undefined, `a trace of ${stampOfPlace(placeInKey(place))} is in no total`);
  const { traces: count, messages, lastUs } = before;
  if (count === 1) state.delete(traceTotals, key);
  else
    state.put(traceTotals, key, { traces: count - 1, messages: messages - goneMessages, lastUs });
  return count === 1;
}

function addTo(state: State, scope: TraceScope, by: 1 | -1): void {
  const key = scope as unknown as Key;
  const left = (state.get(traceTotals, key)?.traces ?? 0) + by;
  if (left === 0) state.delete(traceTotals, key);
  else state.put(traceTotals, key, { traces: left, messages: 0, lastUs: 0 });
}
