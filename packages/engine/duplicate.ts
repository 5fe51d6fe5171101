/** Finding the message that already carries a transaction id (message-plane 11.1). */
import { messageId, parseMessageId } from '@svc/wire';
import type { Draft } from './draft.js';
import { appendKey, appendKeyOffset } from './keys.js';
import type { AppendRow, PartitionRow } from './rows.js';
import type { State } from './state.js';
import { appends } from './tables.js';

export interface Original {
  readonly offset: number;
  readonly stampUs: number;
  /** It was stored without an id of its own: its message id is its transaction id. */
  readonly implicit: boolean;
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

/**
 * The message of this partition whose id was minted by the broker and equals `id`. Null when `id`
 * is not such an id of this partition. A message that retention removed is found without its exact
 * stamp: the milliseconds inside the id are as good as it gets.
 */
export function findImplicit(state: State, partition: PartitionRow, id: string): Original | null {
  const parsed = parseMessageId(id);
  if (parsed === null || !parsed.implicit || parsed.partition !== partition.number) return null;
  if (parsed.offset >= partition.nextOffset) return null;
  const stampUs =
    findAppend(state, partition.number, parsed.offset)?.row.stampUs ?? parsed.ms * 1000;
  // Ids are compared as text: another spelling of the same UUID is another transaction id.
  if (messageId(stampUs, partition.number, true, parsed.offset) !== id) return null;
  return { offset: parsed.offset, stampUs, implicit: true };
}

/** The lowest-offset message with this transaction id whose stamp is not before `sinceUs`. */
export function originalOf(
  draft: Draft,
  partition: PartitionRow,
  id: string,
  sinceUs: number,
): Original | null {
  const implicit = findImplicit(draft.state, partition, id);
  if (implicit !== null && implicit.stampUs >= sinceUs) return implicit;
  for (const match of draft.transactions.find(partition.number, id)) {
    if (match.stampUs >= sinceUs) {
      return { offset: match.offset, stampUs: match.stampUs, implicit: false };
    }
  }
  return null;
}
