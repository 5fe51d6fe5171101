/** Looking into the appends: by offset, and for a transaction id that no index knows any more. */
import { insertTransactionIds, readAppendHeader } from './append.js';
import { ByteReader } from './bytes.js';
import { appendKey, appendKeyOffset } from './keys.js';
import type { AppendRow } from './rows.js';
import type { State } from './state.js';
import { appends } from './tables.js';

/** The first message of the append with this id, given in UTF-8; null: there is none. */
export function offsetOfTransaction(append: Uint8Array, id: Uint8Array): number | null {
  const reader = new ByteReader(append);
  const header = readAppendHeader(reader);
  if (!header.hasIds) return null;
  let found: number | null = null;
  insertTransactionIds(reader, header, {
    insertBytes: (_, bytes, start, end, offset) => {
      if (found === null && isSame(bytes, start, end, id)) found = offset;
    },
  });
  return found;
}

function isSame(bytes: Uint8Array, start: number, end: number, id: Uint8Array): boolean {
  if (end - start !== id.length) return false;
  for (let i = 0; i < id.length; i++) if (bytes[start + i] !== id[i]) return false;
  return true;
}

/** The retained append that holds `offset`; undefined outside [logStart, nextOffset). */
export function findAppend(
  state: State,
  partition: number,
  offset: number,
): { readonly baseOffset: number; readonly row: AppendRow } | undefined {
  // Many appends hold one message, and most cursors stand at a border: no search is needed then.
  const exact = state.get(appends, appendKey(partition, offset));
  if (exact !== undefined) return { baseOffset: offset, row: exact };
  const found = state.range(
    appends,
    appendKey(partition, 0),
    appendKey(partition, offset),
    1,
    true,
  )[0];
  if (found === undefined) return undefined;
  const baseOffset = appendKeyOffset(found.key);
  return offset < baseOffset + found.row.count ? { baseOffset, row: found.row } : undefined;
}
