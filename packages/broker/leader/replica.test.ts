/**
 * Goal: what committed entries change stays within a bound of memory, however slow the store is,
 * and nothing waits for ever. Method: a replica applies entries beside which rows change, and its
 * checkpoint is written only as far as the test lets it.
 */
import { AppliedFigures, type Key, TABLES, TransactionIndex } from '@svc/engine';
import { configuration, encodeConfiguration, logIndex, nodeId, term } from '@svc/raft';
import { Checkpoint, type Log } from '@svc/storage';
import { SimulatedBacking } from '@svc/storage/testing';
import { newMeters } from '@svc/wire';
import { expect, test } from 'vitest';
import { MovedClock } from '../testing/moved-clock.fake.js';
import { Replica } from './replica.js';

const CHANGED_ROWS_MAX = 40;
const CHANGED_BYTES_MAX = 1000;
/** A table whose rows are numbers. */
const COUNTS = tableNamed('kvNamespaces');
/** A table whose rows are values. */
const VALUES = tableNamed('streamValues');

class Fixture {
  readonly #waiting: (() => void)[] = [];
  readonly clock = new MovedClock();
  readonly state: Checkpoint;
  readonly replica: Replica;
  rooms = 0;
  eased = 0;
  #index = 0;

  constructor(everyBytes = 1 << 30, fraction = 0) {
    const defer = (run: () => void) => void this.#waiting.push(run);
    this.state = new Checkpoint({
      backing: new SimulatedBacking({ seed: 1, localTables: [], defer }),
      tables: TABLES,
      onFailure: (error) => {
        throw error;
      },
      defer,
    });
    this.replica = new Replica({
      state: this.state,
      transactions: TransactionIndex.load(this.state, {}),
      log: { durableIndex: Number.MAX_SAFE_INTEGER } as unknown as Log,
      policy: {
        everyMs: 1000,
        everyBytes,
        changedRowsMax: CHANGED_ROWS_MAX,
        changedBytesMax: CHANGED_BYTES_MAX,
        digests: { every: 0, onPoint: () => {} },
      },
      clock: this.clock,
      fraction: () => fraction,
      reach: () => {},
      observer: { appended: () => {} },
      role: { changed: () => {} },
      pipeline: newMeters().pipeline,
      onRoom: () => {
        this.rooms++;
      },
      onEased: () => {
        expect(this.replica.isTight).toBe(false);
        this.eased++;
      },
      readVersion: 5,
      figures: new AppliedFigures({ onFailure: () => {} }),
      onEphemeral: () => {},
    });
  }

  /** Applies the next entry, after so many rows have changed that nothing knew before. */
  apply(rows = CHANGED_ROWS_MAX): void {
    const index = ++this.#index;
    for (let i = 0; i < rows; i++) this.state.put(COUNTS, `${index}-${i}` as Key, i);
    // The format of entries, and a stamp.
    const data = Uint8Array.of(2, 0, 0, 0, 0, 0, 0, 0, index);
    this.replica.apply({ index: logIndex(index), term: term(1), type: 'normal', data });
  }

  /** The next entry is a change of the members. */
  changeMembers(): void {
    const index = logIndex(++this.#index);
    const data = encodeConfiguration(configuration([nodeId(1)]), new Uint8Array(0));
    this.replica.apply({ index, term: term(1), type: 'configuration', data });
  }

  /** Lets the store do all that it has to do. */
  settle(): void {
    for (let run = this.#waiting.shift(); run !== undefined; run = this.#waiting.shift()) run();
  }
}

test('a checkpoint begins when many rows have changed, however few bytes they are', () => {
  const fixture = new Fixture();
  const { replica, state } = fixture;
  fixture.apply();
  expect([state.busy, replica.isFull]).toEqual([true, false]);
  fixture.settle();
  expect([state.appliedIndex, fixture.rooms]).toEqual([1, 0]);
});

test('it is full while the store is behind, and says so when there is room', () => {
  const fixture = new Fixture();
  const { replica, state } = fixture;
  fixture.apply();
  fixture.apply();
  expect(replica.isFull).toBe(true);
  fixture.settle();
  expect(replica.isFull).toBe(false);
  expect(fixture.rooms).toBe(1);
  expect([state.appliedIndex, state.busy]).toEqual([2, false]);
});

test('it is tight before it is full, only while the store is behind, and says when not', () => {
  const fixture = new Fixture();
  const { replica, state } = fixture;
  fixture.apply(35);
  expect(replica.isTight).toBe(false);
  fixture.apply(5);
  expect([state.busy, replica.isTight]).toEqual([true, false]);
  fixture.apply(28);
  expect(replica.isTight).toBe(false);
  fixture.apply(1);
  expect([replica.isTight, replica.isFull]).toEqual([true, false]);
  fixture.settle();
  expect([replica.isTight, fixture.eased, fixture.rooms]).toEqual([false, 1, 0]);
  // Values count from three eighths of their bound on.
  fixture.apply(10);
  state.put(VALUES, 'a' as Key, new Uint8Array(375));
  fixture.apply(1);
  expect([state.busy, replica.isTight]).toEqual([true, true]);
  fixture.settle();
  // A checkpoint behind which little has changed tells nobody.
  fixture.apply();
  fixture.settle();
  expect([replica.isTight, fixture.eased]).toEqual([false, 2]);
});

test('few rows may be long: bytes of entries count like rows', () => {
  const fixture = new Fixture(1);
  const { replica, state } = fixture;
  fixture.apply(1);
  expect([state.busy, replica.isFull]).toEqual([true, false]);
  fixture.apply(1);
  expect(replica.isFull).toBe(true);
  fixture.settle();
  expect([state.appliedIndex, replica.isFull, fixture.rooms]).toEqual([2, false, 1]);
});

test('few rows may be long: values in rows count by their bytes, and others do not', () => {
  const fixture = new Fixture();
  const { replica, state } = fixture;
  const putValue = (key: string, bytes: number) => {
    state.put(VALUES, key as Key, new Uint8Array(bytes));
    fixture.apply(1);
  };
  putValue('a', CHANGED_BYTES_MAX - 1);
  expect([state.changedBytes, state.busy]).toEqual([CHANGED_BYTES_MAX - 1, false]);
  putValue('b', 1);
  expect([state.changedBytes, state.busy, replica.isFull]).toEqual([0, true, false]);
  putValue('c', CHANGED_BYTES_MAX);
  expect([state.busy, replica.isFull]).toEqual([true, true]);
  fixture.settle();
  expect([state.changedBytes, replica.isFull, fixture.rooms]).toEqual([0, false, 1]);
});

test.each([
  [0, 1000],
  [0.999, 751],
])('with a fraction of %d a checkpoint follows the last one after %d ms', (fraction, afterMs) => {
  const fixture = new Fixture(1 << 30, fraction);
  fixture.apply(1);
  fixture.clock.move(afterMs - 1);
  expect(fixture.state.busy).toBe(false);
  fixture.clock.move(1);
  expect(fixture.state.busy).toBe(true);
});

test('a change of the members is stored at once, and behind one that is being written', () => {
  const fixture = new Fixture();
  const { replica, state } = fixture;
  fixture.apply(1);
  expect(state.busy).toBe(false);
  fixture.changeMembers();
  expect(state.busy).toBe(true);
  fixture.changeMembers();
  fixture.settle();
  expect([state.appliedIndex, replica.appliedIndex]).toEqual([2, 3]);
  fixture.clock.move(20);
  fixture.settle();
  expect(state.appliedIndex).toBe(3);
});

test('a replica that makes no checkpoint any more takes what comes', () => {
  const fixture = new Fixture();
  const { replica } = fixture;
  fixture.apply();
  fixture.apply();
  replica.halt();
  expect(replica.isFull).toBe(false);
});

function tableNamed(name: string): (typeof TABLES)[number] {
  const found = TABLES.find((table) => table.name === name);
  if (found === undefined) throw new Error(`no table ${name}`);
  return found;
}
