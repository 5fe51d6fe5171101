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
import type { ByteReader, ByteWriter } from '../../base/bytes.js';
import type { Tenant } from '../../base/commands/commands.js';
import { keyText, numberKey, numberPairKey, numberRange, textInKey } from '../../base/keys.js';
import type { Key, State } from '../../base/state.js';
import { table } from '../../base/tables.js';

export interface StreamQueryRow {
  readonly id: string;
  readonly tenant: Tenant;
  readonly name: string;
  /** Names only: nobody looks whether there are such queues. */
  readonly sourceQueue: string;
  readonly sinkQueue: string | null;
  readonly configHash: string;
  readonly createdAtUs: number;
  readonly updatedAtUs: number;
  readonly store: number;
}

export interface StreamStateRow {
  /** The JSON text; null: it stands in `streamValues`. */
  readonly value: Uint8Array | null;
  readonly valueBytes: number;
  /** The member `windowEnd` of the value, if it is an integer. */
  readonly windowEnd: number | null;
  readonly updatedAtUs: number;
}

export interface StreamShardRow {
  /** >= 1: a shard without rows has no row of its own. */
  readonly rows: number;
  /** Of their keys and values. */
  readonly bytes: number;
  /** The stamp of the entry that changed it last. */
  readonly changedAtUs: number;
}

/** Everything before the position is deleted. */
export interface DoomedStreamRow {
  /** The partition in a doomed store, the store of a doomed partition. */
  readonly next: number;
  /** The first key of that shard that may be left; '': its very first. */
  readonly nextKey: string;
}

/** A value up to this stands in its row: a read of 64 rows takes 64 KiB at most for them. */
export const INLINE_VALUE_BYTES_MAX = 1024;

export const streamNames = table<string>(
  64,
  'streamNames',
  (w, row) => w.uuid(row),
  (r) => r.uuid(),
);

export const streamQueries = table<StreamQueryRow>(65, 'streamQueries', writeQuery, readQuery);

export const streamCounts = table<number>(
  66,
  'streamCounts',
  (w, row) => w.varint(row),
  (r) => r.varint(),
);

export const streamStates = table<StreamStateRow>(
  67,
  'streamStates',
  (w, row) => {
    w.flag(row.value !== null);
    if (row.value !== null) w.blob(row.value);
    else w.varint(row.valueBytes);
    writeWindowEnd(w, row.windowEnd);
    w.varint(row.updatedAtUs);
  },
  (r) => {
    const value = r.flag() ? r.blob() : null;
    return {
      value,
      valueBytes: value === null ? r.varint() : value.length,
      windowEnd: readWindowEnd(r),
      updatedAtUs: r.varint(),
    };
  },
);

export const streamShards = table<StreamShardRow>(
  68,
  'streamShards',
  (w, row) => {
    w.varint(row.rows);
    w.varint(row.bytes);
    w.varint(row.changedAtUs);
  },
  (r) => ({ rows: r.varint(), bytes: r.varint(), changedAtUs: r.varint() }),
);

export const streamPartitions = table<true>(
  69,
  'streamPartitions',
  () => {},
  () => true,
);

export const doomedStreams = table<DoomedStreamRow>(
  70,
  'doomedStreams',
  (w, row) => {
    w.u32(row.next);
    w.text(row.nextKey);
  },
  (r) => ({ next: r.u32(), nextKey: r.text() }),
);

export const streamStores = table<number>(
  71,
  'streamStores',
  (w, row) => w.varint(row),
  (r) => r.varint(),
);

export const streamValues = table<Uint8Array>(
  72,
  'streamValues',
  (w, row) => w.blob(row),
  (r) => r.blob(),
  ({ length }) => length,
);

// --- row forms that effects share --------------------------------------------------------------

export function writeQuery(w: ByteWriter, row: StreamQueryRow): void {
  w.uuid(row.id);
  w.text(row.tenant);
  w.text(row.name);
  w.text(row.sourceQueue);
  w.optionalText(row.sinkQueue);
  w.text(row.configHash);
  w.varint(row.createdAtUs);
  w.varint(row.updatedAtUs);
  w.u32(row.store);
}

export function readQuery(r: ByteReader): StreamQueryRow {
  return {
    id: r.uuid(),
    tenant: r.text(),
    name: r.text(),
    sourceQueue: r.text(),
    sinkQueue: r.optionalText(),
    configHash: r.text(),
    createdAtUs: r.varint(),
    updatedAtUs: r.varint(),
    store: r.u32(),
  };
}

const NO_WINDOW = 0;
const WINDOW_FROM_ZERO = 1;
const WINDOW_BELOW_ZERO = 2;

export function writeWindowEnd(w: ByteWriter, windowEnd: number | null): void {
  if (windowEnd === null) {
    w.u8(NO_WINDOW);
    return;
  }
  w.u8(windowEnd < 0 ? WINDOW_BELOW_ZERO : WINDOW_FROM_ZERO);
  w.varint(Math.abs(windowEnd));
}

export function readWindowEnd(r: {
  readonly u8: () => number;
  readonly varint: () => number;
}): number | null {
  const sign = r.u8();
  if (sign === NO_WINDOW) return null;
  const size = r.varint();
  return sign === WINDOW_BELOW_ZERO ? -size : size;
}

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
