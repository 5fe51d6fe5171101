/**
 * What entries do to streaming queries and their state (streams/tables.ts). Apply runs these, and
 * they keep shards, counts and the index by partition in step with the rows.
 */
import { assert } from '../../base/assert.js';
import { bytes, count, type Infer, nullable, text } from '../../base/fields/field.js';
import { record } from '../../base/fields/record.js';
import { numberPairKey, numberRange, SINGLETON_KEY, tenantNameKey } from '../../base/keys.js';
import type { Key, State } from '../../base/state.js';
import {
  doomedPartitionKey,
  doomedStoreKey,
  doomedStreams,
  hasStreamState,
  INLINE_VALUE_BYTES_MAX,
  queryKey,
  STATE_KEY_HEAD,
  type StreamQueryRow,
  type StreamShardRow,
  stateKey,
  streamCounts,
  streamNames,
  streamPartitions,
  streamQueries,
  streamShards,
  streamStates,
  streamStores,
  streamValues,
  windowEnd,
} from './tables.js';

/**
 * One row of state as it will be. It says what it replaces, so that applying reads no row: one that
 * nobody has in memory costs a look into the store, and planning has had that look.
 */
export const streamChange = record({
  key: text,
  /** The JSON text; null deletes the row. */
  value: nullable(bytes),
  windowEnd,
  /** Bytes of the value that the row has now; null: there is none. */
  replacedBytes: nullable(count),
});
export type StreamChange = Infer<typeof streamChange>;

const FIRST_STORE = 1;

export function nextStore(state: State): number {
  return state.get(streamStores, SINGLETON_KEY) ?? FIRST_STORE;
}

/** Creates the query or replaces its row; with another store, all of its state is gone. */
export function putStreamQuery(state: State, row: StreamQueryRow): void {
  const key = queryKey(row.id);
  const before = state.get(streamQueries, key);
  if (before?.store !== row.store) {
    const next = nextStore(state);
    assert(row.store === next, `store ${row.store} of query ${row.id}, the next is ${next}`);
    state.put(streamStores, SINGLETON_KEY, next + 1);
  }
  if (before === undefined) {
    state.put(streamNames, tenantNameKey(row.tenant, row.name), row.id);
    countQueries(state, row.tenant, 1);
  } else if (before.store !== row.store) doomStore(state, before.store);
  state.put(streamQueries, key, row);
}

export function dropStreamQuery(state: State, id: string): void {
  const key = queryKey(id);
  const row = state.get(streamQueries, key);
  assert(row !== undefined, `query ${id} is dropped, but there is none`);
  state.delete(streamQueries, key);
  state.delete(streamNames, tenantNameKey(row.tenant, row.name));
  countQueries(state, row.tenant, -1);
  doomStore(state, row.store);
}

export function countedQueries(state: State, tenant: string): number {
  return state.get(streamCounts, tenant as Key) ?? 0;
}

function countQueries(state: State, tenant: string, by: 1 | -1): void {
  const left = countedQueries(state, tenant) + by;
  assert(left >= 0, `tenant ${tenant} has ${left} queries`);
  if (left === 0) state.delete(streamCounts, tenant as Key);
  else state.put(streamCounts, tenant as Key, left);
}

/** Nothing leads to the store any more. One without rows needs no sweep. */
function doomStore(state: State, store: number): void {
  const [from, to] = numberRange(store);
  if (state.range(streamShards, from, to, 1).length === 0) return;
  state.put(doomedStreams, doomedStoreKey(store), { next: 0, nextKey: '' });
}

/** The partition is gone, and with it what any query remembered of it. */
export function doomPartitionState(state: State, partition: number): void {
  if (!hasStreamState(state, partition)) return;
  state.put(doomedStreams, doomedPartitionKey(partition), { next: 0, nextKey: '' });
}

/** `changes`: of distinct keys. */
export function changeStreamState(
  state: State,
  store: number,
  partition: number,
  changes: readonly StreamChange[],
  stampUs: number,
): void {
  const shardKey = numberPairKey(store, partition);
  const before = state.get(streamShards, shardKey);
  let { rows, bytes } = before ?? { rows: 0, bytes: 0 };
  for (const { key: text, value, windowEnd, replacedBytes } of changes) {
    const key = stateKey(store, partition, text);
    const keyBytes = key.length - STATE_KEY_HEAD;
    if (replacedBytes !== null) {
      rows--;
      bytes -= keyBytes + replacedBytes;
    }
    const isInline = value !== null && value.length <= INLINE_VALUE_BYTES_MAX;
    if (value !== null && !isInline) state.put(streamValues, key, value);
    else if ((replacedBytes ?? 0) > INLINE_VALUE_BYTES_MAX) state.delete(streamValues, key);
    if (value === null) {
      state.delete(streamStates, key);
      continue;
    }
    rows++;
    bytes += keyBytes + value.length;
    state.put(streamStates, key, {
      value: isInline ? value : null,
      valueBytes: value.length,
      windowEnd,
      updatedAtUs: stampUs,
    });
  }
  putShard(state, store, partition, before, { rows, bytes, changedAtUs: stampUs });
}

function putShard(
  state: State,
  store: number,
  partition: number,
  before: StreamShardRow | undefined,
  after: StreamShardRow,
): void {
  const { rows, bytes } = after;
  assert(rows >= 0 && bytes >= 0, `store ${store}, ${partition}: ${rows} rows, ${bytes} bytes`);
  const key = numberPairKey(store, partition);
  if (rows > 0) {
    state.put(streamShards, key, after);
    if (before === undefined) state.put(streamPartitions, numberPairKey(partition, store), true);
  } else if (before !== undefined) forgetShard(state, store, partition);
}

/** Its rows are gone. */
export function forgetShard(state: State, store: number, partition: number): void {
  state.delete(streamShards, numberPairKey(store, partition));
  state.delete(streamPartitions, numberPairKey(partition, store));
}
