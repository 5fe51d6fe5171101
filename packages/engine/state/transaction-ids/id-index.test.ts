/**
 * Goal: the index finds every message by its id, once, with its stamp; also after sealing, shedding
 * of memory, expiry and a crash at any moment. Method: random runs at tiny generation sizes against
 * a plain map of all insertions. A crash restores the rows of the last checkpoint, replays from
 * there, sometimes from earlier than need be, and goes on. The state under test keeps encoded rows
 * and hands out decoded copies, as a store on disk does. A failing run prints its seed;
 * `runWith(seed)` replays it.
 */
import { describe, expect, it } from 'vitest';
import {
  beginAppend,
  finishAppend,
  insertTransactionIds,
  readAppendHeader,
  writeMessage,
} from '../../base/append.js';
import { ByteReader, ByteWriter } from '../../base/bytes.js';
import { MapState } from '../../base/map-state.js';
import type { Key, KeyedRow, State, Table } from '../../base/state.js';
import { utf8Length, utf8Write } from '../../base/utf8.js';
import { TransactionIndex, type TransactionIndexOptions } from './id-index.js';
import { type Geometry, pageKey, type TransactionMatch, transactionRuns } from './rows.js';

const ROUNDS = 60;
const STEPS = 1500;
const FIRST_STAMP_US = 1_900_000_000_000_000;

/** A MapState behind encoding, whose content can be copied and set back. */
class EncodedState implements State {
  #rows = new MapState();
  #keys = new Map<Key, Uint8Array>();

  get<Row>(table: Table<Row>, key: Key): Row | undefined {
    const bytes = this.#rows.get(raw, key);
    // At an odd position, as within a page of a store.
    if (bytes === undefined) return undefined;
    const page = new Uint8Array(bytes.length + 1);
    page.set(bytes, 1);
    return table.decode(page.subarray(1));
  }

  put<Row>(table: Table<Row>, key: Key, row: Row): void {
    const bytes = table.encode(row).slice();
    this.#keys.set(key, bytes);
    this.#rows.put(raw, key, bytes);
  }

  delete<Row>(_table: Table<Row>, key: Key): void {
    this.#keys.delete(key);
    this.#rows.delete(raw, key);
  }

  range<Row>(table: Table<Row>, from: Key, to: Key, limit: number): KeyedRow<Row>[] {
    return this.#rows
      .range(raw, from, to, limit)
      .map(({ key, row }) => ({ key, row: table.decode(row) }));
  }

  get rows(): number {
    return this.#keys.size;
  }

  copy(): EncodedState {
    const copy = new EncodedState();
    for (const [key, bytes] of this.#keys) copy.put(raw, key, bytes);
    return copy;
  }
}

const raw: Table<Uint8Array> = {
  id: 20,
  name: 'raw',
  local: true,
  encode: (row) => row,
  decode: (bytes) => bytes,
};

function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

interface Insertion {
  readonly partition: number;
  readonly id: string;
  readonly offset: number;
  readonly stampUs: number;
}

/** The index as it should be, with the history that a log would hold. */
class Model {
  readonly log: Insertion[] = [];
  readonly #known = new Map<string, TransactionMatch[]>();

  add(insertion: Insertion): void {
    this.log.push(insertion);
    const { offset, stampUs } = insertion;
    const key = `${insertion.partition}/${insertion.id}`;
    const matches = this.#known.get(key);
    if (matches === undefined) this.#known.set(key, [{ offset, stampUs }]);
    else matches.push({ offset, stampUs });
  }

  find(partition: number, id: string): readonly TransactionMatch[] {
    return this.#known.get(`${partition}/${id}`) ?? [];
  }
}

class Run {
  readonly #below: (below: number) => number;
  readonly #options: TransactionIndexOptions;
  readonly #model = new Model();
  readonly #nextOffset = new Map<number, number>();
  #stampUs = FIRST_STAMP_US;
  /** Ids stamped before this may be gone. */
  #expiredUs = 0;
  #state = new EncodedState();
  #index: TransactionIndex;
  #checkpoint = { state: new EncodedState(), applied: 0 };

  constructor(seed: number) {
    this.#below = random(seed);
    const geometry = { pageBits: 1 + this.#below(3), idsPerPage: 2 + this.#below(8) };
    // From "nothing sealed stays in memory" to "everything does".
    const memoryBytesMax = [0, 1500, 4000, 1e9][this.#below(4)] ?? 0;
    this.#options = { geometry, seed, memoryBytesMax };
    this.#index = TransactionIndex.load(this.#state, this.#options);
  }

  step(): void {
    const choice = this.#below(1000);
    if (choice < 600) this.#insert();
    else if (choice < 940) this.#find();
    else if (choice < 975) this.#flush();
    else if (choice < 985) this.#crash();
    else if (choice < 995) this.#expire();
    else this.#stampUs += this.#below(3_600_000_000);
  }

  finish(): void {
    const asked = new Set<string>();
    for (const { partition, id } of this.#model.log) {
      if (asked.has(`${partition}/${id}`)) continue;
      asked.add(`${partition}/${id}`);
      this.#check(partition, id);
    }
    this.#index.flush();
    while (this.#index.expire(this.#stampUs + 1));
    expect(this.#index.size).toBe(0);
    expect(this.#index.memoryBytes).toBe(0);
    // Only the directory is left.
    expect(this.#state.rows).toBe(1);
  }

  #insert(): void {
    const partition = 1 + this.#below(3);
    const offset = this.#nextOffset.get(partition) ?? 0;
    // Messages without an id of their own lie between.
    this.#nextOffset.set(partition, offset + 1 + this.#below(3));
    this.#stampUs += this.#below(1000);
    const insertion = { partition, id: this.#id(), offset, stampUs: this.#stampUs };
    this.#model.add(insertion);
    this.#apply(insertion);
  }

  #apply({ partition, id, offset, stampUs }: Insertion): void {
    if (this.#below(2) === 0) {
      this.#index.insert(partition, id, offset, stampUs);
      return;
    }
    const bytes = new Uint8Array(3 + utf8Length(id));
    const end = utf8Write(bytes, 2, id);
    this.#index.insertBytes(partition, bytes, 2, end, offset, stampUs);
  }

  /** Fresh ids, and some that come back, one of them very often. */
  #id(): string {
    const kind = this.#below(10);
    if (kind === 0) return 'again and again';
    if (kind < 4) return `é-${this.#below(40)}`;
    return `fresh-${this.#model.log.length}-${this.#below(1e6)}`;
  }

  #find(): void {
    const { log } = this.#model;
    const known = log[this.#below(log.length + 1)];
    if (known === undefined || this.#below(4) === 0) this.#check(1 + this.#below(3), this.#id());
    else this.#check(known.partition, known.id);
  }

  #check(partition: number, id: string): void {
    const found = this.#index.find(partition, id);
    const all = this.#model.find(partition, id);
    const live = all.filter((match) => match.stampUs >= this.#expiredUs);
    expect(found.filter((match) => match.stampUs >= this.#expiredUs)).toEqual(live);
    // What has expired may still be found, but only as it was.
    for (const match of found) expect(all).toContainEqual(match);
    const offsets = found.map((match) => match.offset);
    expect(offsets).toEqual([...new Set(offsets)].sort((a, b) => a - b));
  }

  #flush(): void {
    this.#index.flush();
    this.#checkpoint = { state: this.#state.copy(), applied: this.#model.log.length };
  }

  #crash(): void {
    const { state, applied } = this.#checkpoint;
    this.#state = state.copy();
    this.#index = TransactionIndex.load(this.#state, this.#options);
    // A replay that begins too early must not harm.
    const first = Math.max(0, applied - ([0, 0, 3, 50][this.#below(4)] ?? 0));
    for (const insertion of this.#model.log.slice(first)) this.#apply(insertion);
  }

  #expire(): void {
    this.#expiredUs = Math.max(this.#expiredUs, this.#stampUs - this.#below(4_000_000));
    while (this.#index.expire(this.#expiredUs));
  }
}

function runWith(seed: number): void {
  const run = new Run(seed);
  for (let step = 0; step < STEPS; step++) run.step();
  run.finish();
}

describe('against a map', () => {
  for (let round = 0; round < ROUNDS; round++) {
    const seed = round * 7919 + 1;
    it(`with seed ${seed}`, () => runWith(seed));
  }
});

const TINY: Geometry = { pageBits: 2, idsPerPage: 4 };
const TINY_IDS = 16;

function filled(
  ids: number,
  state: State,
  options: TransactionIndexOptions = {},
): TransactionIndex {
  const index = TransactionIndex.load(state, { geometry: TINY, ...options });
  for (let n = 0; n < ids; n++) index.insert(1, `id-${n}`, n, FIRST_STAMP_US + n);
  return index;
}

describe('an index', () => {
  it('takes no memory and no row while there are no ids', () => {
    const state = new EncodedState();
    const index = TransactionIndex.load(state);
    index.flush();
    expect(index.expire(FIRST_STAMP_US)).toBe(false);
    expect([index.size, index.memoryBytes, state.rows]).toEqual([0, 0, 0]);
    expect(index.find(1, 'x')).toEqual([]);
  });

  it('does not take an id of one partition for that of another', () => {
    const index = filled(1, new EncodedState());
    expect(index.find(2, 'id-0')).toEqual([]);
  });

  it('keeps the largest offsets, partitions and stamps exactly', () => {
    const state = new EncodedState();
    const index = TransactionIndex.load(state, { geometry: TINY });
    const offset = 2 ** 48 - 1;
    const stampUs = 4_102_444_800_123_457;
    index.insert(2 ** 32 - 1, 'last', offset, stampUs);
    index.flush();
    const loaded = TransactionIndex.load(state);
    expect(loaded.find(2 ** 32 - 1, 'last')).toEqual([{ offset, stampUs }]);
    expect(() => index.insert(1, 'beyond', 2 ** 48, stampUs)).toThrow(/does not fit/);
  });

  it('begins a generation when stamps leave the span of the newest one', () => {
    const state = new EncodedState();
    const index = filled(1, state);
    const stampUs = FIRST_STAMP_US + 2 ** 48;
    index.insert(1, 'later', 1, stampUs);
    index.flush();
    const loaded = TransactionIndex.load(state);
    expect(loaded.find(1, 'id-0')).toEqual([{ offset: 0, stampUs: FIRST_STAMP_US }]);
    expect(loaded.find(1, 'later')).toEqual([{ offset: 1, stampUs }]);
  });

  it('seals without insertions too, and keeps its rows to one form', () => {
    const state = new EncodedState();
    const index = filled(TINY_IDS + 1, state);
    index.flush();
    // Directory, four pages, one filter row; and one journal row of the newest generation.
    expect(state.rows).toBe(7);
  });

  it('counts ids once, however often they are inserted', () => {
    const index = filled(5, new EncodedState());
    for (let n = 0; n < 5; n++) index.insert(1, `id-${n}`, n, FIRST_STAMP_US + n);
    expect(index.size).toBe(5);
  });

  it('counts the messages of one id once each, too', () => {
    const index = TransactionIndex.load(new EncodedState(), { geometry: TINY });
    for (let pass = 0; pass < 2; pass++) {
      for (let n = 0; n < 5; n++) index.insert(1, 'same', n, FIRST_STAMP_US + n);
    }
    expect(index.size).toBe(5);
  });

  it('loses nothing when one id is used for a whole generation and more', () => {
    const state = new EncodedState();
    const index = TransactionIndex.load(state, { geometry: TINY, memoryBytesMax: 0 });
    const expected: TransactionMatch[] = [];
    for (let offset = 0; offset < 5 * TINY_IDS; offset++) {
      index.insert(1, 'same', offset, FIRST_STAMP_US + offset);
      expected.push({ offset, stampUs: FIRST_STAMP_US + offset });
    }
    expect(index.find(1, 'same')).toEqual(expected);
    index.flush();
    expect(TransactionIndex.load(state).find(1, 'same')).toEqual(expected);
  });

  it('keeps its memory within the limit, as far as that goes', () => {
    const unlimited = filled(40 * TINY_IDS, new EncodedState());
    const memoryBytesMax = Math.floor(unlimited.memoryBytes / 2);
    const halved = filled(40 * TINY_IDS, new EncodedState(), { memoryBytesMax });
    expect(halved.memoryBytes).toBeLessThanOrEqual(memoryBytesMax);
    expect(halved.memoryBytes).toBeGreaterThan(memoryBytesMax / 2);
    const least = filled(40 * TINY_IDS, new EncodedState(), { memoryBytesMax: 0 });
    // Two tables: the newest, and the one that is being written.
    expect(least.memoryBytes).toBeLessThanOrEqual((unlimited.memoryBytes / 40) * 2);
    for (const index of [unlimited, halved, least]) {
      for (let n = 0; n < 40 * TINY_IDS; n++) expect(index.find(1, `id-${n}`)).toHaveLength(1);
    }
  });

  it('loads no more than the limit either', () => {
    const state = new EncodedState();
    filled(40 * TINY_IDS, state).flush();
    const all = TransactionIndex.load(state).memoryBytes;
    const memoryBytesMax = Math.floor(all * 0.8);
    const loaded = TransactionIndex.load(state, { memoryBytesMax });
    expect(loaded.memoryBytes).toBeLessThanOrEqual(memoryBytesMax);
    for (let n = 0; n < 40 * TINY_IDS; n++) expect(loaded.find(1, `id-${n}`)).toHaveLength(1);
  });

  it('expires one generation in a call, the oldest, with all of its rows', () => {
    const state = new EncodedState();
    const index = filled(3 * TINY_IDS, state);
    index.flush();
    const before = state.rows;
    expect(index.expire(FIRST_STAMP_US + TINY_IDS - 1)).toBe(false);
    expect(index.expire(FIRST_STAMP_US + TINY_IDS)).toBe(true);
    expect(index.expire(FIRST_STAMP_US + TINY_IDS)).toBe(false);
    expect(state.rows).toBe(before - 5);
    expect(index.size).toBe(2 * TINY_IDS);
    expect(index.find(1, 'id-0')).toEqual([]);
    expect(index.find(1, `id-${TINY_IDS}`)).toHaveLength(1);
  });

  it('has forgotten an expired generation after a crash', () => {
    const state = new EncodedState();
    const index = filled(3 * TINY_IDS, state);
    index.flush();
    expect(index.expire(FIRST_STAMP_US + TINY_IDS)).toBe(true);
    index.flush();
    const loaded = TransactionIndex.load(state);
    expect(loaded.size).toBe(2 * TINY_IDS);
    expect(loaded.find(1, 'id-0')).toEqual([]);
  });

  it('leaves no row behind when it expires what a crash left half sealed', () => {
    const state = new EncodedState();
    const geometry = { pageBits: 7, idsPerPage: 2 };
    // One flush seals a part of the 128 pages, and after the load sealing has only begun again.
    filled(2 * 128 + 1, state, { geometry }).flush();
    const index = TransactionIndex.load(state);
    index.insert(1, 'one more', 1000, FIRST_STAMP_US + 1000);
    while (index.expire(FIRST_STAMP_US + 1001));
    expect(state.rows).toBe(1);
  });

  it('refuses to answer when a row is missing', () => {
    const state = new EncodedState();
    filled(3 * TINY_IDS, state, { memoryBytesMax: 0 }).flush();
    for (let page = 0; page < 4; page++) state.delete(transactionRuns, pageKey(1, page));
    const index = TransactionIndex.load(state);
    expect(() => index.find(1, 'id-0')).toThrow(/has no page/);
  });

  it('goes on with the sizes and the seed of its rows', () => {
    const state = new EncodedState();
    filled(2 * TINY_IDS, state, { seed: 5 }).flush();
    const index = TransactionIndex.load(state, {
      seed: 6,
      geometry: { pageBits: 3, idsPerPage: 9 },
    });
    for (let n = 0; n < 2 * TINY_IDS; n++) expect(index.find(1, `id-${n}`)).toHaveLength(1);
  });
});

describe('the ids of an append', () => {
  it('arrive with their offsets, and nothing else does', () => {
    const bytes = new Uint8Array([123, 125]);
    const uuid = '01900000-0000-7000-8000-000000000001';
    const writer = new ByteWriter(64);
    const position = beginAppend(writer, 3, 40, FIRST_STAMP_US);
    writeMessage(writer, bytes, 0, 2, 'first', 'producer', uuid);
    writeMessage(writer, bytes, 0, 2, null, 'producer', null);
    writeMessage(writer, bytes, 0, 2, null, null, uuid);
    writeMessage(writer, bytes, 0, 2, 'promised', 'producer', uuid, uuid);
    writeMessage(writer, bytes, 0, 0, 'dernière', null, null);
    finishAppend(writer, position, 5, { hasIds: true, hasMessageIds: true }, () => 0);
    const reader = new ByteReader(writer.finish());
    const index = TransactionIndex.load(new EncodedState());
    insertTransactionIds(reader, readAppendHeader(reader), index);
    expect(index.find(3, 'first')).toEqual([{ offset: 40, stampUs: FIRST_STAMP_US }]);
    expect(index.find(3, 'promised')).toEqual([{ offset: 43, stampUs: FIRST_STAMP_US }]);
    expect(index.find(3, 'dernière')).toEqual([{ offset: 44, stampUs: FIRST_STAMP_US }]);
    expect(index.size).toBe(3);
    expect(reader.position).toBe(reader.end);
  });
});
