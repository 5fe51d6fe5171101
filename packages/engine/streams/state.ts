/**
 * Reading what a query remembers of a partition (streams 3).
 *
 * The job: all rows of a shard that match, as they are at one moment, in the order of their keys;
 * without paging, so that a client can fold a batch into them and write the result back.
 *
 * Why it is hard: a shard may have a million rows, which nobody else's request may wait for, and
 * the answer is one text, of which 200,000 rows take a second to write; and a cycle that commits
 * while the rows are read would show half of what it did.
 *
 * What must hold:
 * - The reader yields every few rows. Whenever it goes on it compares the stamp of the shard's last
 *   change, and begins anew if there was one. The holder of the partition's lease writes a shard,
 *   and usually it is the one who reads, so that hardly ever happens; who meets it too often is
 *   told to come again.
 * - What is held in memory is bounded by the bytes of one answer, and what is looked at by a number
 *   of rows. A question beyond either is refused as a whole: an answer that left something out
 *   would be taken for all there is.
 * - All readers together take what they hold from one room, and give it back when they end, however
 *   they do. Who finds none is told to come again.
 */
import { STREAM_KEY_BYTES_MAX, STREAM_ROWS_WALKED_MAX, STREAM_STATE_BYTES_MAX } from '@svc/wire';
import { assert } from '../base/assert.js';
import type { Tenant } from '../base/commands/commands.js';
import { numberPairKey } from '../base/keys.js';
import type { Key, KeyedRow, State } from '../base/state.js';
import { utf8Length } from '../base/utf8.js';
import { findNamedPartition } from '../state/catalog.js';
import {
  STATE_KEY_HEAD,
  type StreamStateRow,
  shardRange,
  stateKey,
  streamShards,
  streamStates,
  streamValues,
  textInStateKey,
} from '../state/streams/tables.js';
import { findQuery } from './register.js';

export interface StreamStateFilter {
  readonly tenant: Tenant;
  readonly queryId: string;
  readonly partitionId: string;
  /** null: all. */
  readonly keys: readonly string[] | null;
  /** "": all. */
  readonly keyPrefix: string;
  /** Rows without an integer `windowEnd` never match; null: all do. */
  readonly ripeAtOrBefore: number | null;
}

export interface StreamStateEntry {
  readonly key: string;
  /** The JSON text. */
  readonly value: Uint8Array;
  readonly updatedAtUs: number;
}

/** What an answer holds of some rows; written while the shard is walked, and not at its end. */
export type WriteStreamRows<Piece> = (rows: readonly StreamStateEntry[]) => Piece;

export type StreamStateAnswer<Piece> =
  /** In the order of the rows. */
  | { readonly result: 'rows'; readonly pieces: readonly Piece[] }
  /** The tenant has no such query, or no such partition. */
  | { readonly result: 'missing' }
  | { readonly result: 'too-large' }
  /** It was changed whenever the reader looked. */
  | { readonly result: 'unsteady' }
  /** Others hold all the room there is. */
  | { readonly result: 'no-room' };

/** What readers that are under way may still take; each adds to it when it ends. */
export interface StreamReadRoom {
  bytesLeft: number;
}

export interface StreamStateBounds {
  readonly answerBytes: number;
  readonly rowsWalked: number;
}

export const STREAM_STATE_BOUNDS: StreamStateBounds = {
  answerBytes: STREAM_STATE_BYTES_MAX,
  rowsWalked: STREAM_ROWS_WALKED_MAX,
};

const ROWS_PER_STEP = 128;
const ATTEMPTS_MAX = 5;
/** Bytes of a row in the answer beside its key and its value: names, stamp, punctuation. */
const ENTRY_BYTES = 64;

/** What a reading of a shard rests on. */
interface Place {
  readonly store: number;
  readonly partition: number;
  /** 0: it has no rows. */
  readonly changedAtUs: number;
}

export function* readStreamState<Piece>(
  state: State,
  filter: StreamStateFilter,
  write: WriteStreamRows<Piece>,
  room: StreamReadRoom,
  bounds = STREAM_STATE_BOUNDS,
): Generator<void, StreamStateAnswer<Piece>> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const reading = new Reading(state, filter, write, room, bounds);
    try {
      const answer = yield* reading.read();
      if (answer !== null) return answer;
    } finally {
      room.bytesLeft += reading.bytes;
    }
  }
  return { result: 'unsteady' };
}

/** One attempt. */
class Reading<Piece> {
  readonly #state: State;
  readonly #filter: StreamStateFilter;
  readonly #write: WriteStreamRows<Piece>;
  readonly #room: StreamReadRoom;
  readonly #bounds: StreamStateBounds;
  readonly #pieces: Piece[] = [];
  /** Taken from the room. */
  bytes = 0;

  constructor(
    state: State,
    filter: StreamStateFilter,
    write: WriteStreamRows<Piece>,
    room: StreamReadRoom,
    bounds: StreamStateBounds,
  ) {
    this.#state = state;
    this.#filter = filter;
    this.#write = write;
    this.#room = room;
    this.#bounds = bounds;
  }

  /** null: the shard has changed meanwhile. */
  *read(): Generator<void, StreamStateAnswer<Piece> | null> {
    const place = placeOf(this.#state, this.#filter);
    if (place === null) return { result: 'missing' };
    let walked = 0;
    for (const step of stepsOf(this.#state, this.#filter, place)) {
      walked += step.length;
      if (walked > this.#bounds.rowsWalked) return { result: 'too-large' };
      const rows: StreamStateEntry[] = [];
      for (const { key, row } of step) {
        if (!isRipe(row, this.#filter)) continue;
        const refusal = this.#take(ENTRY_BYTES + row.valueBytes + quotedKeyBytes(key));
        if (refusal !== null) return { result: refusal };
        const value = storedValue(this.#state, key, row);
        rows.push({ key: textInStateKey(key), value, updatedAtUs: row.updatedAtUs });
      }
      if (rows.length > 0) this.#pieces.push(this.#write(rows));
      yield;
      if (!isAsBefore(place, placeOf(this.#state, this.#filter))) return null;
    }
    return { result: 'rows', pieces: this.#pieces };
  }

  /** For one more row; the first one comes however long it is. */
  #take(bytes: number): 'too-large' | 'no-room' | null {
    const isFirst = this.bytes === 0;
    if (this.bytes + bytes > this.#bounds.answerBytes && !isFirst) return 'too-large';
    if (bytes > this.#room.bytesLeft) return 'no-room';
    this.bytes += bytes;
    this.#room.bytesLeft -= bytes;
    return null;
  }
}

/** Bytes of a key made by `stateKey`, as JSON spells it. */
function quotedKeyBytes(key: Key): number {
  let bytes = key.length - STATE_KEY_HEAD;
  for (let i = STATE_KEY_HEAD; i < key.length; i++) {
    const code = key.charCodeAt(i);
    if (code < 0x20) bytes += 5;
    else if (code === 0x22 || code === 0x5c) bytes++;
  }
  return bytes;
}

function placeOf(state: State, filter: StreamStateFilter): Place | null {
  const query = findQuery(state, filter.tenant, filter.queryId);
  const found = findNamedPartition(state, filter.tenant, filter.partitionId);
  if (query === undefined || found === undefined) return null;
  const { number } = found.partition;
  const shard = state.get(streamShards, numberPairKey(query.store, number));
  return { store: query.store, partition: number, changedAtUs: shard?.changedAtUs ?? 0 };
}

function isAsBefore(before: Place, now: Place | null): boolean {
  return now !== null && now.store === before.store && now.changedAtUs === before.changedAtUs;
}

function isRipe({ windowEnd }: StreamStateRow, { ripeAtOrBefore }: StreamStateFilter): boolean {
  return ripeAtOrBefore === null || (windowEnd !== null && windowEnd <= ripeAtOrBefore);
}

function storedValue(state: State, key: Key, { value }: StreamStateRow): Uint8Array {
  const found = value ?? state.get(streamValues, key);
  assert(found !== undefined, 'a row of streaming state has lost its value');
  return found;
}

type Step = readonly KeyedRow<StreamStateRow>[];

/** Rows in the order of their keys, some at a time; the last step may be empty. */
function* stepsOf(state: State, filter: StreamStateFilter, place: Place): Generator<Step> {
  const { keys, keyPrefix } = filter;
  if (utf8Length(keyPrefix) > STREAM_KEY_BYTES_MAX) return;
  if (keys !== null) {
    yield* namedRows(state, place, keys, keyPrefix);
    return;
  }
  const { store, partition } = place;
  const [first, to] = shardRange(store, partition, keyPrefix);
  let from = first;
  for (;;) {
    const rows = state.range(streamStates, from, to, ROWS_PER_STEP);
    yield rows;
    const last = rows[rows.length - 1];
    if (last === undefined || rows.length < ROWS_PER_STEP) return;
    from = `${last.key}\0` as Key;
  }
}

function* namedRows(
  state: State,
  { store, partition }: Place,
  texts: readonly string[],
  keyPrefix: string,
): Generator<Step> {
  const keys = new Set<Key>();
  const prefix = stateKey(store, partition, keyPrefix);
  for (const text of texts) {
    if (utf8Length(text) > STREAM_KEY_BYTES_MAX) continue;
    const key = stateKey(store, partition, text);
    if (key.startsWith(prefix)) keys.add(key);
  }
  const sorted = [...keys].sort();
  for (let at = 0; at < sorted.length; at += ROWS_PER_STEP) {
    const step: KeyedRow<StreamStateRow>[] = [];
    for (const key of sorted.slice(at, at + ROWS_PER_STEP)) {
      const row = state.get(streamStates, key);
      if (row !== undefined) step.push({ key, row });
    }
    yield step;
  }
}
