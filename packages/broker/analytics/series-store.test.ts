/**
 * Goal: series give back what was put in, bucket by bucket, within their bounds. Method: directed
 * cases of the bounds and of where buckets begin; then random rows against a naive sum. A failing
 * run prints its seed.
 */
import { ByteWriter, GuardedReader } from '@svc/engine';
import { newQueueCounts, QUEUE_COLUMNS } from '@svc/wire';
import { expect, test, vi } from 'vitest';
import { seededRandom } from '../testing/recovery.fake.js';
import { blockAt, EVERYTHING, finish, processAt, pushedIn } from '../testing/series.fake.js';
import { bucketStart, minuteAt, minuteFrom } from './series-buckets.js';
import { eachQueueRow } from './series-gather.js';
import { Gauging } from './series-process.js';
import { readRow, writeRow } from './series-queues.js';
import { SeriesStore } from './series-store.js';

const LIMITS = { processMinutes: 100, queueMinutes: 50, queueRowsMax: 1000 };

test('a bucket begins at the minute of the hour, rounded down', () => {
  const nine31 = minuteAt(Date.UTC(2026, 9, 12, 9, 31) * 1000);
  const starts = [1, 5, 15, 60, 360].map((width) => nine31 - bucketStart(nine31, width));
  expect(starts).toEqual([0, 1, 1, 31, 31]);
  expect([minuteAt(60_000_001), minuteFrom(60_000_001), minuteFrom(60_000_000)]).toEqual([1, 2, 1]);
});

test('rows go when they are too old, and the oldest when there are too many', () => {
  const store = new SeriesStore({ ...LIMITS, queueRowsMax: 4 });
  for (let minute = 1; minute <= 3; minute++) {
    store.addProcess(processAt(minute));
    store.addQueues(blockAt(minute, { 1: minute, 2: minute }));
  }
  expect(pushedIn(store)).toEqual(['2 1: 2', '2 2: 2', '3 1: 3', '3 2: 3']);
  store.addProcess(processAt(60));
  store.addQueues(blockAt(60, { 1: 9 }));
  expect(pushedIn(store)).toEqual(['60 1: 9']);
  expect(finish(store.processBuckets(0, 1000, 1)).map(({ minute }) => minute)).toEqual([
    1, 2, 3, 60,
  ]);
  store.addProcess(processAt(102));
  expect(finish(store.processBuckets(0, 1000, 1)).map(({ minute }) => minute)).toEqual([
    3, 60, 102,
  ]);
  expect(store.queueRows).toBe(1);
});

test('one minute with more rows than are kept stays, the newest always does', () => {
  const store = new SeriesStore({ ...LIMITS, queueRowsMax: 1 });
  store.addQueues(blockAt(1, { 1: 1, 2: 2 }));
  expect(pushedIn(store)).toEqual(['1 1: 1', '1 2: 2']);
});

test('a start that fills it holds what one after the other would, and copies little', () => {
  const limits = { processMinutes: 50, queueMinutes: 40, queueRowsMax: 60 };
  const add = (store: SeriesStore) => {
    for (let minute = 1; minute <= 20_000; minute++) {
      store.addProcess(processAt(minute, minute));
      store.addQueues(blockAt(minute, { 7: minute, 8: 1 }));
    }
  };
  const slowly = new SeriesStore(limits);
  add(slowly);
  const filled = new SeriesStore(limits);
  const copies = vi.spyOn(Array.prototype, 'slice');
  filled.fill(() => add(filled));
  expect(copies.mock.calls.length, 'lists that were copied').toBeLessThan(200);
  copies.mockRestore();
  expect(filled.parts.process).toEqual(slowly.parts.process);
  expect(filled.parts.blocks).toEqual(slowly.parts.blocks);
  expect(filled.queueRows).toBe(slowly.queueRows);
  slowly.addProcess(processAt(20_001));
  filled.addProcess(processAt(20_001));
  expect(filled.parts.process).toEqual(slowly.parts.process);
});

test('names of queues go with their last row', () => {
  const store = new SeriesStore(LIMITS);
  for (let number = 1; number <= 5; number++) {
    store.name(number, { tenant: 't', queue: `q${number}` }, number);
    store.addQueues(blockAt(number, { [number]: 1 }));
  }
  store.name(9, { tenant: 't', queue: 'new' }, 53);
  for (let i = 0; i < 3; i++) store.addQueues(blockAt(53, { 9: 1 }));
  expect([1, 2, 3, 4, 9].map((number) => store.nameOf(number)?.queue)).toEqual([
    undefined,
    undefined,
    undefined,
    'q4',
    'new',
  ]);
});

test('a week of minutes is added up in steps, none of which is long', () => {
  const store = new SeriesStore({ ...LIMITS, processMinutes: 10_080 });
  for (let minute = 0; minute < 10_080; minute++) store.addProcess(processAt(minute));
  const stepsOf = (walk: Generator<void, unknown>) => {
    let steps = 1;
    while (walk.next().done !== true) steps++;
    return steps;
  };
  expect(stepsOf(store.processTotals())).toBeGreaterThan(100);
  expect(stepsOf(store.processBuckets(0, 10_080, 60))).toBeGreaterThan(100);
});

test('buckets of processes: sums, the weighted mean, extremes and the last', () => {
  const store = new SeriesStore(LIMITS);
  store.addProcess(processAt(60, 3));
  store.addProcess(processAt(61, 4));
  store.addProcess(processAt(65, 5));
  const buckets = finish(store.processBuckets(60, 65, 5));
  expect(buckets.map(({ minute, counts }) => [minute, counts.pushMessages])).toEqual([
    [60, 7],
    [65, 5],
  ]);
  expect(buckets[0]?.samples).toBe(120);
  expect(buckets[0]?.gauges.residentBytes).toEqual({ avg: 2, min: 1, max: 3, last: 2 });
  expect(buckets[0]?.gauges.mapUsedPct).toBeNull();
  expect(finish(store.processTotals()).pushMessages).toBe(12);
  expect(store.newestMinute).toBe(65);
});

test('a gauge begins anew when it is taken', () => {
  const gauging = new Gauging();
  expect(gauging.take()).toBeNull();
  for (const value of [4, 1, 7]) gauging.add(value);
  expect(gauging.take()).toEqual({ avg: 4, min: 1, max: 7, last: 7 });
  gauging.add(2);
  expect(gauging.take()).toEqual({ avg: 2, min: 2, max: 2, last: 2 });
});

test('a row keeps every column', () => {
  const counts = newQueueCounts();
  QUEUE_COLUMNS.forEach((column, i) => {
    counts[column] = i % 4 === 3 ? 0 : 10 ** (i % 16);
  });
  const writer = new ByteWriter(256);
  writeRow(writer, 4_294_967_295, counts);
  const reader = new GuardedReader(writer.finish());
  expect(readRow(reader)).toEqual({ number: 4_294_967_295, counts });
  expect(reader.whole).toBe(true);
});

test('bytes that are cut are damage and nothing else', () => {
  const { bytes } = blockAt(1, { 300: 70_000 });
  for (let length = 0; length < bytes.length; length++) {
    const reader = new GuardedReader(bytes.subarray(0, length));
    readRow(reader);
    expect(reader.refused).toBe(true);
  }
});

test('random rows, read by random windows, against a naive sum', () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const random = seededRandom(seed);
  const below = (end: number) => random.below(end);
  for (let run = 0; run < 40; run++) {
    const store = new SeriesStore({ ...LIMITS, queueRowsMax: 100_000 });
    const all: { minute: number; number: number; pushed: number }[] = [];
    let minute = 1000;
    for (let i = 0; i < 30; i++) {
      minute += below(3);
      const pushed: Record<number, number> = {};
      for (let left = below(6); left > 0; left--) pushed[1 + below(8)] = 1 + below(9);
      store.addQueues(blockAt(minute, pushed));
      for (const [number, messages] of Object.entries(pushed)) {
        const name = { tenant: `t${Number(number) % 2}`, queue: `q${Number(number) % 3}` };
        store.name(Number(number), name, minute);
        all.push({ minute, number: Number(number), pushed: messages });
      }
    }
    const scan = {
      ...EVERYTHING,
      fromMinute: 1000 + below(30),
      toMinute: 1000 + below(70),
      widthMinutes: [1, 5, 15, 60, 360][below(5)] ?? 1,
      tenant: below(2) === 0 ? null : 't1',
      queue: below(2) === 0 ? null : 'q2',
    };
    const wanted = new Map<string, number>();
    for (const { minute: at, number, pushed } of all) {
      const isIn = at >= scan.fromMinute && at <= scan.toMinute;
      const isOf = scan.tenant === null || number % 2 === 1;
      const isNamed = scan.queue === null || number % 3 === 2;
      if (!isIn || !isOf || !isNamed || at <= minute - LIMITS.queueMinutes) continue;
      const key = `${bucketStart(at, scan.widthMinutes)} ${number}`;
      wanted.set(key, (wanted.get(key) ?? 0) + pushed);
    }
    const found = new Map<string, number>();
    for (const { minute: at, number, counts } of eachQueueRow(finish(store.queueBuckets(scan)))) {
      const key = `${at} ${number}`;
      expect(found.has(key), `seed ${seed}: ${key} twice`).toBe(false);
      found.set(key, counts.pushMessages);
    }
    expect([...found].sort(), `seed ${seed}`).toEqual([...wanted].sort());
  }
});
