/**
 * Goal: a message whose id no index knows is found in the log, one search after the other, and a
 * search that is in vain, too slow, or nobody's ends. Method: a state and a log made by a planner;
 * a reader that answers at once, later, or with an error; a clock that the test turns.
 */
import {
  type AppendSlice,
  applyEntry,
  findPartition,
  findQueue,
  MapState,
  type PartitionRow,
  Planner,
  type RefusedOutcome,
  TransactionIndex,
} from '@svc/engine';
import { DEFAULT_TENANT, uuidV7 } from '@svc/wire';
import { beforeEach, expect, test } from 'vitest';
import { MovedClock } from '../testing/moved-clock.fake.js';
import { MessageSearch } from './message-search.js';

type OnRead = (error: Error | null, bytes: Uint8Array | null) => void;

/** The log of the test, and how it is read. */
class TestReader {
  readonly bodies = new Map<number, Uint8Array>();
  reads = 0;
  isLate = false;
  failure: Error | null = null;
  readonly waiting: (() => void)[] = [];
  onRead: () => void = () => {};

  readOnce(slice: AppendSlice, done: OnRead): void {
    this.reads++;
    this.onRead();
    const { index, position, length } = slice;
    const bytes = this.bodies.get(index)?.subarray(position, position + length) ?? null;
    const answer = () => (this.failure === null ? done(null, bytes) : done(this.failure, null));
    if (this.isLate) this.waiting.push(answer);
    else answer();
  }
}

let state: MapState;
let reader: TestReader;
let clock: MovedClock;
let search: MessageSearch;

/** One append for each list of ids, in partition p of queue q. */
function fill(appends: readonly (readonly string[])[]): void {
  const transactions = TransactionIndex.load(new MapState());
  const planner = new Planner(state, transactions, {
    nodeId: 1,
    checksum: () => 0,
    newUuid: (nowUs) => uuidV7(Math.floor(nowUs / 1000), 1, 2, 3),
    readLog: () => new Uint8Array(0),
    cipher: null,
  });
  appends.forEach((ids, i) => {
    const body = Buffer.from('1');
    planner.enqueue(
      {
        kind: 'push',
        tenant: DEFAULT_TENANT,
        producerSub: null,
        body,
        groups: [{ queue: 'q', partition: 'p' }],
        itemGroup: ids.map(() => 0),
        transactionIds: ids,
        payloadStart: ids.map(() => 0),
        payloadEnd: ids.map(() => 1),
      },
      {},
    );
    const turn = planner.turn({ index: i + 1, wallUs: clock.wallUs(), nowMs: 0 });
    const entry = turn.body ?? new Uint8Array(0);
    reader.bodies.set(i + 1, entry);
    applyEntry(state, transactions, i + 1, entry);
    planner.applied(i + 1);
  });
}

function partition(): PartitionRow {
  const row = findPartition(state, findQueue(state, DEFAULT_TENANT, 'q')?.number ?? 0, 'p');
  if (row === undefined) throw new Error('no partition');
  return row;
}

class Asked {
  gone = false;
  readonly answers: unknown[] = [];

  send(refused: RefusedOutcome): boolean {
    this.answers.push(refused.refusal.reason);
    return true;
  }
}

function ask(id: string, end = 1000, deadlineMs = 30_000): Asked {
  const asked = new Asked();
  search.find(partition(), id, end, deadlineMs, asked, (offset) => asked.answers.push(offset));
  return asked;
}

beforeEach(() => {
  state = new MapState();
  reader = new TestReader();
  clock = new MovedClock();
  search = new MessageSearch(state, reader, clock);
  fill([['a', 'b'], ['c'], ['d', 'ü', 'b']]);
});

test('the first message with the id is found, and nothing behind it is read', () => {
  expect(ask('b').answers).toEqual([1]);
  expect(reader.reads).toBe(1);
  expect(ask('ü').answers).toEqual([4]);
  expect(search.idle).toBe(true);
});

test('an id that is nowhere, or only behind the end', () => {
  expect(ask('').answers).toEqual([null]);
  expect(ask('d', 3).answers).toEqual([null]);
  expect(ask('d', 4).answers).toEqual([3]);
});

test('reads that come later', () => {
  reader.isLate = true;
  const asked = ask('d');
  for (let i = 0; i < 3; i++) {
    expect(asked.answers).toEqual([]);
    reader.waiting.shift()?.();
  }
  expect(asked.answers).toEqual([3]);
});

test('a slice of time is over: the rest comes after a rest', () => {
  reader.onRead = () => {
    clock.ms += 5;
  };
  const asked = ask('d');
  expect([asked.answers, reader.reads]).toEqual([[], 1]);
  clock.next();
  expect(reader.reads).toBe(2);
  clock.next();
  expect(asked.answers).toEqual([3]);
});

test('the deadline, and a client that has gone, end it', () => {
  reader.isLate = true;
  const slow = ask('d', 1000, clock.ms + 10);
  clock.ms += 11;
  reader.waiting.shift()?.();
  expect(slow.answers).toEqual(['timeout']);
  const gone = ask('d');
  gone.gone = true;
  reader.waiting.shift()?.();
  expect([gone.answers, search.idle]).toEqual([[], true]);
});

test('one at a time, the others in their order, and not too many', () => {
  reader.isLate = true;
  const all = Array.from({ length: 66 }, () => ask('a'));
  expect(all.map(({ answers }) => answers).slice(63)).toEqual([[], ['overloaded'], ['overloaded']]);
  expect(reader.reads).toBe(1);
  reader.waiting.shift()?.();
  expect(all[0]?.answers).toEqual([0]);
  clock.next();
  expect(reader.reads).toBe(2);
  search.stop();
  expect(all[1]?.answers).toEqual(['retry']);
  expect(search.idle).toBe(true);
  reader.waiting.shift()?.();
  expect(all[1]?.answers).toEqual(['retry']);
});

test('an append that cannot be read is an error', () => {
  reader.failure = new Error('damaged');
  expect(ask('d').answers).toEqual(['internal']);
});
