/**
 * Listing dead letters (inspection 2.1), newest first.
 *
 * Ids stand in the order of filing within a queue, so a page is read backwards from the end; of
 * several queues the newest heads are merged. Heads are walked, 40 bytes and a group name each,
 * with yields; the total comes from the counts; only what is shown is read whole, within a budget
 * of bytes. So memory is bounded by the page, however many dead letters there are.
 */

import type { Tenant } from '../base/commands/commands.js';
import { FirstHeap } from '../base/first-heap.js';
import { keyText, numberInKey, numberKey, numberNameKey, numberRange } from '../base/keys.js';
import type { DeadLetterBody, DeadLetterHead, QueueRow } from '../base/rows.js';
import type { Key, KeyedRow, State } from '../base/state.js';
import { partitions } from '../base/tables.js';
import { findQueue, queueByNumber } from '../state/catalog.js';
import { deadLetterBody } from '../state/dead-letters/dead-letters.js';
import { deadLetterCounts, deadLetters } from '../state/dead-letters/tables.js';
import { NUMBER_END } from '../state/queue-sums.js';

export interface DeadLetterFilter {
  readonly tenant: Tenant;
  /** null: any. */
  readonly queue: string | null;
  readonly group: string | null;
  readonly limit: number;
  readonly offset: number;
}

/** Turns a stored payload into what readers get (payload-cipher.ts). */
export type OpenPayload = (stored: Uint8Array) => Uint8Array;

export interface ListedDeadLetter extends DeadLetterBody {
  readonly id: string;
  readonly queue: string;
  /** null: the partition is gone. */
  readonly partition: string | null;
  readonly partitionNumber: number;
  readonly group: string;
  readonly offset: number;
  /** False: the payload found no room in the answer, and `payload` is empty. */
  readonly isPayloadShown: boolean;
}

export interface DeadLetterList {
  readonly letters: readonly ListedDeadLetter[];
  /** All that match. */
  readonly total: number;
}

/**
 * Payloads and texts of one answer: 16 MiB, as of a pop. A payload that finds no room is left out,
 * and where even the texts find none the page ends; the first dead letter is always shown whole.
 */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;
const ROWS_PER_READ = 256;
/** Over all queues of a list, unless there are more queues: 65,536 * 230 bytes = 15 MB. */
const HEADS_AHEAD_MAX = 65_536;
const COUNTS_PER_READ = 1024;
const NUMBER_CHARS = 4;
const NO_BYTES = new Uint8Array(0);

export interface FoundDeadLetter {
  readonly queue: QueueRow;
  readonly id: string;
  readonly head: DeadLetterHead;
}

export function* listDeadLetters(
  state: State,
  filter: DeadLetterFilter,
  open: OpenPayload,
): Generator<void, DeadLetterList> {
  const sources: QueueLetters[] = [];
  let total = 0;
  for (const [number, count] of yield* countsOf(state, filter)) {
    const queue = queueByNumber(state, number);
    if (queue?.tenant !== filter.tenant) continue;
    total += count;
    sources.push(new QueueLetters(state, queue, filter.group, count));
    yield;
  }
  const found = yield* page(sources, filter);
  const letters: ListedDeadLetter[] = [];
  let bytesLeft = ANSWER_BYTES_MAX;
  for (const each of found) {
    if (bytesLeft <= 0) break;
    const letter = whole(state, each, bytesLeft);
    if (letter === null) continue;
    bytesLeft -= letter.payload.length + letter.error.length + letter.transactionId.length;
    letters.push({ ...letter, payload: open(letter.payload) });
    yield;
  }
  return { letters, total };
}

/** Counts those of one queue; `group` null: of all groups. */
export function* countDeadLetters(
  state: State,
  queue: number,
  group: string | null,
): Generator<void, number> {
  if (group !== null) return state.get(deadLetterCounts, numberNameKey(queue, group)) ?? 0;
  const [first, end] = numberRange(queue);
  let from = first;
  let total = 0;
  for (;;) {
    const rows = state.range(deadLetterCounts, from, end, COUNTS_PER_READ);
    for (const { row } of rows) total += row;
    const last = rows[rows.length - 1];
    if (last === undefined || rows.length < COUNTS_PER_READ) return total;
    from = `${last.key}\0` as Key;
    yield;
  }
}

/** Newest first. */
export function* newestDeadLetters(
  state: State,
  queue: QueueRow,
  limit: number,
): Generator<void, FoundDeadLetter[]> {
  const total = yield* countDeadLetters(state, queue.number, null);
  return yield* page([new QueueLetters(state, queue, null, total)], { limit, offset: 0 });
}

function* countsOf(
  state: State,
  { tenant, queue, group }: DeadLetterFilter,
): Generator<void, ReadonlyMap<number, number>> {
  if (queue === null) return yield* deadLettersByQueue(state, group);
  const found = findQueue(state, tenant, queue);
  const count = found === undefined ? 0 : yield* countDeadLetters(state, found.number, group);
  return new Map(found === undefined || count === 0 ? [] : [[found.number, count]]);
}

/**
 * How many dead letters each queue has that has any, of all tenants: as many rows are read as there
 * are groups with dead letters, however many queues have none. `group` null: of all groups.
 */
export function* deadLettersByQueue(
  state: State,
  group: string | null,
): Generator<void, Map<number, number>> {
  const counts = new Map<number, number>();
  const keyEnd = group === null ? null : keyText(group);
  let from = numberKey(0);
  for (;;) {
    const rows = state.range(deadLetterCounts, from, numberKey(NUMBER_END), COUNTS_PER_READ);
    for (const { key, row } of rows) {
      if (row === 0 || (keyEnd !== null && key.slice(NUMBER_CHARS) !== keyEnd)) continue;
      const number = numberInKey(key);
      counts.set(number, (counts.get(number) ?? 0) + row);
    }
    const last = rows[rows.length - 1];
    if (last === undefined || rows.length < COUNTS_PER_READ) return counts;
    from = `${last.key}\0` as Key;
    yield;
  }
}

/** Newest first over all sources: `limit` of them behind the first `offset`. */
function* page(
  sources: QueueLetters[],
  { limit, offset }: Pick<DeadLetterFilter, 'limit' | 'offset'>,
): Generator<void, FoundDeadLetter[]> {
  const ahead = Math.min(ROWS_PER_READ, Math.ceil(HEADS_AHEAD_MAX / (sources.length || 1)));
  for (const source of sources) {
    source.rowsPerRead = ahead;
    yield* source.advance();
  }
  const isNewer = (a: QueueLetters, b: QueueLetters) => (a.next?.id ?? '') > (b.next?.id ?? '');
  const heap = new FirstHeap(sources, isNewer);
  const found: FoundDeadLetter[] = [];
  let toSkip = offset;
  while (found.length < limit) {
    const source = heap.first;
    if (source === undefined) break;
    const { next } = source;
    if (next === null) {
      heap.moveFirst(false);
      continue;
    }
    if (toSkip > 0) toSkip--;
    else found.push(next);
    yield* source.advance();
    heap.moveFirst(source.next !== null);
  }
  return found;
}

/** The dead letters of one queue, newest first, a page of heads in memory. */
class QueueLetters {
  /** null: before the first, or behind the last one. */
  next: FoundDeadLetter | null = null;
  rowsPerRead = ROWS_PER_READ;
  readonly #state: State;
  readonly #queue: QueueRow;
  readonly #group: string | null;
  /** Matches that are left; behind the last of them nothing is looked for. */
  #left: number;
  #rows: KeyedRow<DeadLetterHead>[] = [];
  #at = 0;
  #to: Key;

  constructor(state: State, queue: QueueRow, group: string | null, count: number) {
    this.#state = state;
    this.#queue = queue;
    this.#group = group;
    this.#left = count;
    this.#to = numberRange(queue.number)[1];
  }

  *advance(): Generator<void, void> {
    this.next = null;
    const [from] = numberRange(this.#queue.number);
    while (this.#left > 0) {
      const found = this.#rows[this.#at++];
      if (found === undefined) {
        this.#rows = this.#state.range(deadLetters, from, this.#to, this.rowsPerRead, true);
        this.#at = 0;
        const last = this.#rows[this.#rows.length - 1];
        if (last === undefined) return;
        this.#to = last.key;
        yield;
        continue;
      }
      const { key, row } = found;
      if (this.#group !== null && row.group !== this.#group) continue;
      this.#left--;
      this.next = { queue: this.#queue, id: key.slice(from.length), head: row };
      return;
    }
  }
}

/** null: it was removed since the page was found. */
function whole(
  state: State,
  { queue, id, head }: FoundDeadLetter,
  bytesLeft: number,
): ListedDeadLetter | null {
  const body = deadLetterBody(state, queue.number, id);
  if (body === null) return null;
  const isPayloadShown = bytesLeft === ANSWER_BYTES_MAX || head.payloadBytes <= bytesLeft;
  return {
    ...body,
    payload: isPayloadShown ? body.payload : NO_BYTES,
    id,
    queue: queue.name,
    partition: state.get(partitions, numberKey(head.partition))?.name ?? null,
    partitionNumber: head.partition,
    group: head.group,
    offset: head.offset,
    isPayloadShown,
  };
}
