/**
 * Streaming queries and what they remember (streams 1).
 *
 * | Table            | Key                      | Row                                             |
 * | ---------------- | ------------------------ | ----------------------------------------------- |
 * | streamNames      | tenant, query name       | query id                                        |
 * | streamQueries    | query id                 | StreamQueryRow                                  |
 * | streamCounts     | tenant                   | its queries                                     |
 * | streamStores     | (none)                   | the next number of a store                      |
 * | streamStates     | store, partition, key    | StreamStateRow                                  |
 * | streamValues     | store, partition, key    | a value that is too long to stand in its row    |
 * | streamShards     | store, partition         | StreamShardRow: what the partition holds there  |
 * | streamPartitions | partition, store         | nothing: the stores that know a partition       |
 * | doomedStreams    | store, or partition      | DoomedStreamRow: state that nobody can ask for  |
 *
 * The state of a query stands in a *store*, whose number is in the row of the query. A reset gives
 * the query another store: ten million rows are gone with one row that changes, in the entry that
 * changes it, and are deleted afterwards in steps (streams/sweep.ts). Numbers are allocated upward
 * and never used again, so nothing of an old store can be taken for state of a new one.
 *
 * The rows of one store and partition are a *shard*: the holder of the partition's lease writes it,
 * and a read shows all of it at one moment, which the stamp of its last change tells.
 *
 * Long values stand in a table of their own, so that whoever looks at many rows, a sweep or a
 * filter, holds little in memory however long the values are.
 */
import { STREAM_KEY_BYTES_MAX } from '@svc/wire';
import { assert } from '../../base/assert.js';
import {
  bytes,
  count,
  type Infer,
  nullable,
  signed,
  text,
  u32,
  uuid,
} from '../../base/fields/field.js';
import { nothing, record, single } from '../../base/fields/record.js';
import { keyText, numberKey, numberPairKey, numberRange, textInKey } from '../../base/keys.js';
import type { Key, State } from '../../base/state.js';
import { table } from '../../base/tables.js';

export const streamQueryRow = record({
  id: uuid,
  tenant: text,
  name: text,
  /** Names only: nobody looks whether there are such queues. */
  sourceQueue: text,
  sinkQueue: nullable(text),
  configHash: text,
  createdAtUs: count,
  updatedAtUs: count,
  store: u32,
});
export type StreamQueryRow = Infer<typeof streamQueryRow>;

/** A value up to this stands in its row: a read of 64 rows takes 64 KiB at most for them. */
export const INLINE_VALUE_BYTES_MAX = 1024;

/** The member `windowEnd` of a value, if it is an integer. */
export const windowEnd = nullable(signed);

export const streamStateRow = record({
  /** The JSON text; null: it stands in `streamValues`. */
  value: nullable(bytes),
  valueBytes: count,
  windowEnd,
  updatedAtUs: count,
});
export type StreamStateRow = Infer<typeof streamStateRow>;

export const streamShardRow = record({
  /** >= 1: a shard without rows has no row of its own. */
  rows: count,
  /** Bytes of their keys and values. */
  bytes: count,
  /** The stamp of the entry that changed it last. */
  changedAtUs: count,
});
export type StreamShardRow = Infer<typeof streamShardRow>;

/** Everything before the position is deleted. */
export const doomedStreamRow = record({
  /** The partition in a doomed store, the store of a doomed partition. */
  next: u32,
  /** The first key of that shard that may be left; '': its very first. */
  nextKey: text,
});
export type DoomedStreamRow = Infer<typeof doomedStreamRow>;

export const streamNames = table(64, 'streamNames', single(uuid));

export const streamQueries = table(65, 'streamQueries', streamQueryRow);

export const streamCounts = table(66, 'streamCounts', single(count));

export const streamStates = table(67, 'streamStates', streamStateRow);

export const streamShards = table(68, 'streamShards', streamShardRow);

export const streamPartitions = table(69, 'streamPartitions', nothing);

export const doomedStreams = table(70, 'doomedStreams', doomedStreamRow);

export const streamStores = table(71, 'streamStores', single(count));

export const streamValues = table(72, 'streamValues', single(bytes), ({ length }) => length);

// --- keys --------------------------------------------------------------------------------------

export function queryKey(id: string): Key {
  return id as Key;
}

/** Characters before the client's key. */
export const STATE_KEY_HEAD = 8;

export function stateKey(store: number, partition: number, key: string): Key {
  const text = keyText(key);
  assert(text.length <= STREAM_KEY_BYTES_MAX, `a key of streaming state has ${text.length} bytes`);
  return (numberPairKey(store, partition) + text) as Key;
}

/** The client's key in a key made by `stateKey`. */
export function textInStateKey(key: Key): string {
  return textInKey(key, STATE_KEY_HEAD, key.length);
}

/** Bounds of the rows of a shard, or of those whose keys begin with `prefix`. */
export function shardRange(store: number, partition: number, prefix = ''): readonly [Key, Key] {
  const from = (numberPairKey(store, partition) + keyText(prefix)) as Key;
  return [from, keyBehind(from)];
}

/** The first key that is behind all that begin with `prefix`. */
function keyBehind(prefix: Key): Key {
  let end = prefix.length;
  while (end > 0 && prefix.charCodeAt(end - 1) === 0xff) end--;
  assert(end > 0, 'no key is behind a prefix of the highest bytes');
  return (prefix.slice(0, end - 1) + String.fromCharCode(prefix.charCodeAt(end - 1) + 1)) as Key;
}

const DOOMED_STORE = 's';
const DOOMED_PARTITION = 'p';

export function doomedStoreKey(store: number): Key {
  return (DOOMED_STORE + numberKey(store)) as Key;
}

export function doomedPartitionKey(partition: number): Key {
  return (DOOMED_PARTITION + numberKey(partition)) as Key;
}

export function isDoomedStore(key: Key): boolean {
  return key.startsWith(DOOMED_STORE);
}

export function doomedNumber(key: Key): number {
  let number = 0;
  for (let i = 1; i < key.length; i++) number = number * 256 + key.charCodeAt(i);
  return number;
}

/** State of any query stands at the partition. */
export function hasStreamState(state: State, partition: number): boolean {
  const [from, to] = numberRange(partition);
  return state.range(streamPartitions, from, to, 1).length > 0;
}
