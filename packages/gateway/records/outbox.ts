/**
 * Events for whoever runs the control plane (gateway 9). They are read in order and forgotten when
 * they are acknowledged.
 *
 * An event's place is the time at which it was written, and a reader that has seen a place must
 * have seen all that is before it: else it would acknowledge what it never read. Clocks of nodes
 * differ, so a row holds the last place, and each event takes a later one in the batch that moves
 * the row. So changes that write one are made in turn (`changeInTurn`).
 */
import { type Json, pages } from '../store/kv.js';
import {
  changeInTurn,
  deleteRows,
  heldOf,
  type RecordBatch,
  type Records,
  SYSTEM,
} from './batch.js';
import { META, OUTBOX, type OutboxRow } from './rows.js';

const LAST_KEY = '#outbox';
const ONCE_PREFIX = '#event/';
/** Longer than the month that an event of a quota belongs to. */
const ONCE_TTL_MS = 70 * 86_400_000;

/** Puts an event into the batch of a change that is made in turn, as the last thing in it. */
export async function insertEvent(
  { store }: Records,
  batch: RecordBatch,
  kind: string,
  payload: Json,
): Promise<void> {
  const last = await store.get(META, LAST_KEY);
  const lastUs = typeof last?.value === 'number' ? last.value : 0;
  const created_at_us = Math.max(batch.nowUs, lastUs + 1);
  batch.add({
    op: 'put',
    namespace: META,
    key: LAST_KEY,
    value: created_at_us,
    expect: last?.version ?? 0,
    required: true,
  });
  batch.insert(OUTBOX, { id: batch.newId(), kind, payload, created_at_us });
}

/**
 * Writes an event that `once` names, unless one of that name was written before, whether or not it
 * was acknowledged since: `<kind>/<cluster>/<month>`.
 */
export function writeEventOnce(
  records: Records,
  once: string,
  kind: string,
  payload: Json,
): Promise<boolean> {
  return changeInTurn(records, SYSTEM, async (batch) => {
    const key = ONCE_PREFIX + once;
    if ((await records.store.get(META, key)) !== null) return false;
    batch.add({
      op: 'putIfAbsent',
      namespace: META,
      key,
      value: batch.nowUs,
      required: true,
      ttlMs: ONCE_TTL_MS,
    });
    await insertEvent(records, batch, kind, payload);
    return true;
  });
}

export interface Event {
  /** The place that a reader acknowledges, and goes on behind. */
  readonly place: string;
  readonly event: OutboxRow;
}

/** In order; `after`: the place of the last one that was read. */
export async function eventsAfter(
  { store }: Records,
  after: string | null,
  limit: number,
): Promise<Event[]> {
  const query = { prefix: '#', limit, ...(after === null ? {} : { after: `#${after}` }) };
  const { rows } = await store.getPrefix(OUTBOX.namespace, query);
  return rows.map((row) => ({ place: row.key.slice(1), event: heldOf(OUTBOX, row).value }));
}

/** Forgets the events up to this place and says how many these were. */
export async function acknowledgeEvents(records: Records, upTo: string): Promise<number> {
  let acknowledged = 0;
  for await (const rows of pages(records.store, OUTBOX.namespace, '#')) {
    const keys = rows.map(({ key }) => key).filter((key) => key <= `#${upTo}`);
    await deleteRows(records, OUTBOX.namespace, keys);
    acknowledged += keys.length;
    if (keys.length < rows.length) break;
  }
  return acknowledged;
}
