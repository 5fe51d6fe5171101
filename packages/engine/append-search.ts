/** Looking for a transaction id in the log itself, where no index knows it any more. */
import { insertTransactionIds, readAppendHeader } from './append.js';
import { ByteReader } from './bytes.js';

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
