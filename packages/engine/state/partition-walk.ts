/**
 * The partitions of a queue, chunk by chunk, so that whoever walks over a million of them can let
 * go of the loop in between. A partition that comes or goes meanwhile is seen or not.
 */
import { numberKey, numberPairKey, numberRange } from '../base/keys.js';
import type { PartitionRow } from '../base/rows.js';
import type { Key, State } from '../base/state.js';
import { partitionNumbers, partitions, queuePartitions } from '../base/tables.js';

const CHUNK_PARTITIONS = 256;

/** In the order of their creation, those with numbers above `after`. */
export function* partitionsByAge(
  state: State,
  queue: number,
  after = 0,
): Generator<PartitionRow[]> {
  const [, end] = numberRange(queue);
  let from = `${numberPairKey(queue, after)}\0` as Key;
  for (;;) {
    const listed = state.range(queuePartitions, from, end, CHUNK_PARTITIONS);
    const rows: PartitionRow[] = [];
    for (const { key } of listed) {
      const row = state.get(partitions, key.slice(4) as Key);
      if (row !== undefined) rows.push(row);
    }
    yield rows;
    const last = listed[listed.length - 1];
    if (last === undefined || listed.length < CHUNK_PARTITIONS) return;
    from = `${last.key}\0` as Key;
  }
}

/**
 * In the order of their names, byte by byte; those with names behind `after`, in its bytes, or all
 * when it is null.
 */
export function* partitionsByName(
  state: State,
  queue: number,
  after: string | null = null,
): Generator<PartitionRow[]> {
  const [first, end] = numberRange(queue);
  let from = after === null ? first : (`${first}${after}\0` as Key);
  for (;;) {
    const listed = state.range(partitionNumbers, from, end, CHUNK_PARTITIONS);
    const rows: PartitionRow[] = [];
    for (const { row: number } of listed) {
      const row = state.get(partitions, numberKey(number));
      if (row !== undefined) rows.push(row);
    }
    yield rows;
    const last = listed[listed.length - 1];
    if (last === undefined || listed.length < CHUNK_PARTITIONS) return;
    from = `${last.key}\0` as Key;
  }
}
