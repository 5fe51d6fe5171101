/**
 * Goal: what was flushed is there after a restart, whatever became of the end of the file, and no
 * failure of the disk is more than lost figures. Method: a simulated disk; the file is cut at every
 * byte, every byte of it is damaged, and its writes fail.
 */
import { readFileSync } from 'node:fs';
import { added, choice, fields, GuardedReader, kind } from '@svc/engine';
import { SimulatedDisk } from '@svc/storage/testing';
import { beforeEach, expect, test } from 'vitest';
import { blockAt, finish, processAt, pushedIn } from '../testing/series.fake.js';
import { SeriesFile, seriesKinds } from './series-file.js';
import { SeriesStore } from './series-store.js';

const LIMITS = { processMinutes: 1000, queueMinutes: 1000, queueRowsMax: 100_000 };
const PATH = '/d/series';

let disk: SimulatedDisk;
let warnings: string[];

beforeEach(() => {
  disk = new SimulatedDisk({ seed: 5 });
  disk.makeDirectorySync('/d');
  warnings = [];
});

function open(limits = LIMITS, slackBytes = 1024 * 1024): { store: SeriesStore; file: SeriesFile } {
  const store = new SeriesStore(limits);
  const silent = () => {};
  const logger = {
    error: silent,
    info: silent,
    debug: silent,
    trace: silent,
    fatal: silent,
    warn: (_: string, text: string) => void warnings.push(text),
  };
  const file = new SeriesFile({ disk, directory: '/d', store, logger, slackBytes });
  file.open();
  return { store, file };
}

/** One flush, as `NodeSeries` does it. */
function flush({ store, file }: ReturnType<typeof open>, minute: number, number: number): void {
  const process = processAt(minute, minute);
  const block = blockAt(minute, { [number]: minute });
  const name = { tenant: 't', queue: `q${number}` };
  store.addProcess(process);
  store.addQueues(block);
  store.name(number, name, minute);
  finish(file.append(process, block, new Map(file.names(number) ? [] : [[number, name]])));
  disk.settle();
}

function minutesOf(store: SeriesStore): number[] {
  return finish(store.processBuckets(0, 1e9, 1)).map(({ minute }) => minute);
}

test('a restart finds all that was flushed, and goes on', () => {
  const first = open();
  for (const minute of [1, 2, 3]) flush(first, minute, minute % 2);
  disk.crash('process');
  const second = open();
  expect(minutesOf(second.store)).toEqual([1, 2, 3]);
  expect(pushedIn(second.store)).toEqual(['1 1: 1', '2 0: 2', '3 1: 3']);
  expect(second.store.nameOf(1)).toMatchObject({ tenant: 't', queue: 'q1' });
  flush(second, 4, 7);
  disk.crash('process');
  const third = open();
  expect(minutesOf(third.store)).toEqual([1, 2, 3, 4]);
  expect(pushedIn(third.store, { queue: 'q7' })).toEqual(['4 7: 4']);
  expect(warnings).toEqual([]);
});

test('cut at any byte, what is whole is kept, and what follows is written behind it', () => {
  const first = open();
  for (const minute of [1, 2, 3]) flush(first, minute, minute);
  const whole = disk.contents(PATH);
  for (let length = 0; length < whole.length; length += 3) {
    disk = new SimulatedDisk({ seed: 5 });
    disk.plant(PATH, whole.subarray(0, length));
    const cut = open();
    const kept = minutesOf(cut.store);
    expect(kept).toEqual([1, 2, 3].slice(0, kept.length));
    flush(cut, 9, 9);
    disk.crash('process');
    expect(minutesOf(open().store), `cut at ${length}`).toEqual([...kept, 9]);
  }
});

test('with any byte flipped, what stands before it is kept, and nothing is made up', () => {
  const first = open();
  for (const minute of [1, 2, 3]) flush(first, minute, minute);
  const whole = disk.contents(PATH);
  for (let at = 0; at < whole.length; at += 5) {
    disk = new SimulatedDisk({ seed: 5 });
    disk.plant(PATH, whole);
    disk.flipBit(PATH, at, at % 8);
    const { store } = open();
    const kept = minutesOf(store);
    expect(kept, `byte ${at}`).toEqual([1, 2, 3].slice(0, kept.length));
    for (const row of pushedIn(store)) expect(['1 1: 1', '2 2: 2', '3 3: 3']).toContain(row);
  }
});

test('what stands behind damage does not come back when the gap is filled', () => {
  const only = (one: ReturnType<typeof open>, minute: number) => {
    const process = processAt(minute);
    one.store.addProcess(process);
    finish(one.file.append(process, null, new Map()));
    disk.settle();
  };
  const first = open();
  for (const minute of [1, 2, 3]) only(first, minute);
  disk.flipBit(PATH, Math.floor((disk.contents(PATH).length * 5) / 9), 3);
  const second = open();
  expect(minutesOf(second.store)).toEqual([1]);
  only(second, 9);
  disk.crash('process');
  expect(minutesOf(open().store)).toEqual([1, 9]);
  expect(warnings[0]).toContain('are not whole and are cut off');
});

test('power lost at any flush leaves a file that can be read', () => {
  for (let seed = 1; seed <= 30; seed++) {
    disk = new SimulatedDisk({ seed });
    disk.makeDirectorySync('/d');
    const first = open();
    for (const minute of [1, 2, 3, 4]) flush(first, minute, minute);
    disk.crash('power');
    const kept = minutesOf(open().store);
    expect(kept, `seed ${seed}`).toEqual([1, 2, 3, 4].slice(0, kept.length));
  }
});

test('it is written anew when most of it is gone from memory', () => {
  const limits = { processMinutes: 3, queueMinutes: 3, queueRowsMax: 100_000 };
  const first = open(limits, 1000);
  const wide = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [i, 1]));
  let longest = 0;
  for (let minute = 1; minute <= 60; minute++) {
    const process = processAt(minute);
    const block = blockAt(minute, wide);
    first.store.addProcess(process);
    first.store.addQueues(block);
    finish(first.file.append(process, block, new Map()));
    disk.settle();
    longest = Math.max(longest, disk.contents(PATH).length);
  }
  expect(longest).toBeLessThan(3 * first.store.bytes + 1000);
  disk.crash('process');
  const second = open(limits);
  expect(minutesOf(second.store)).toEqual([58, 59, 60]);
  expect(second.store.queueRows).toBe(600);
  expect(disk.paths()).toEqual([PATH]);
});

test.each(['write', 'rename', 'fdatasync'] as const)(
  'a %s that fails costs no row: the next flush writes all of it',
  (operation) => {
    const first = open();
    disk.failNext(operation, 'ENOSPC', 'series');
    flush(first, 1, 1);
    expect(warnings.length).toBe(1);
    flush(first, 2, 2);
    flush(first, 3, 3);
    first.file.close(() => {});
    disk.crash('process');
    expect(minutesOf(open().store)).toEqual([1, 2, 3]);
    expect(warnings.length).toBe(1);
  },
);

test('an append that fails in the middle of a file, too', () => {
  const first = open();
  flush(first, 1, 1);
  disk.failNext('write', 'EIO', 'series');
  flush(first, 2, 2);
  flush(first, 3, 3);
  disk.crash('process');
  expect(minutesOf(open().store)).toEqual([1, 2, 3]);
});

test('a flush that finds the file busy leaves its rows to the next one', () => {
  const first = open();
  flush(first, 1, 1);
  disk.stalled = true;
  for (const minute of [2, 3]) {
    const process = processAt(minute);
    first.store.addProcess(process);
    finish(first.file.append(process, null, new Map()));
  }
  disk.stalled = false;
  disk.settle();
  flush(first, 4, 4);
  disk.crash('process');
  expect(minutesOf(open().store)).toEqual([1, 2, 3, 4]);
});

test('closing waits for the write that is under way', () => {
  const first = open();
  disk.stalled = true;
  flush(first, 1, 1);
  let isClosed = false;
  first.file.close(() => {
    isClosed = true;
  });
  expect(isClosed).toBe(false);
  disk.stalled = false;
  disk.settle();
  expect(isClosed).toBe(true);
  expect(disk.openFiles).toBe(0);
});

test('a file of another form is begun anew, without a word', () => {
  disk.plant(PATH, Buffer.concat([Buffer.from('SVCSER01'), Buffer.alloc(100, 7)]));
  const other = open();
  expect(minutesOf(other.store)).toEqual([]);
  flush(other, 1, 1);
  disk.crash('process');
  expect(minutesOf(open().store)).toEqual([1]);
  expect(warnings).toEqual([]);
});

const MAGIC_BYTES = 8;
const HEAD_BYTES = 8;

test('the file is written as by the first build of this form, and its records can grow', () => {
  const first = open();
  flush(first, 1, 7);
  flush(first, 2, 7);
  const file = disk.contents(PATH);
  // Never changed: a field that is added comes behind, and has a default.
  const golden = JSON.parse(readFileSync(new URL('./first-series.json', import.meta.url), 'utf8'));
  expect({ file: Buffer.from(file).toString('hex') }).toEqual(golden);
  const gained = added(fields.count, 7);
  const { process, names, queues } = seriesKinds;
  const grown = choice('kind', {
    process: kind(process.number, { ...process.fields, gained }),
    names: kind(names.number, { ...names.fields, gained }),
    queues: kind(queues.number, { ...queues.fields, gained }),
  });
  const kinds: unknown[] = [];
  for (let at = MAGIC_BYTES; at < file.length; ) {
    const end = at + HEAD_BYTES + Buffer.from(file).readUInt32BE(at);
    const reader = new GuardedReader(file, at + HEAD_BYTES, end);
    const read = grown.read(reader);
    expect([reader.whole, read.gained]).toEqual([true, 7]);
    kinds.push(read.kind);
    at = end;
  }
  expect(kinds).toEqual(['names', 'process', 'queues', 'process', 'queues']);
});
