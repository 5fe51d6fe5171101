/**
 * Goal: buckets are sealed at the end of each minute and of each flush, hold what was counted in
 * them, and outlive the process. Method: a clock that the test moves, a simulated disk, and a node
 * of which there is only its state.
 */
import { MapState, TABLES, type Table } from '@svc/engine';
import { LoopShare } from '@svc/http';
import { SimulatedDisk } from '@svc/storage/testing';
import { newMeters, type RaftStatusAnswer } from '@svc/wire';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Config, readConfig } from '../config/config.js';
import { popOf, TENANT } from '../testing/group-clients.fake.js';
import { MovedClock } from '../testing/moved-clock.fake.js';
import { finish, pushedIn } from '../testing/series.fake.js';
import { NodeSeries, type ObservedNode } from './node-series.js';
import { minuteAt } from './series-buckets.js';

let clock: MovedClock;
let disk: SimulatedDisk;
let series: NodeSeries;
let state: MapState;
let parked: number;
const meters = newMeters();

const SILENT = () => {};
const LOGGER = {
  error: SILENT,
  warn: SILENT,
  info: SILENT,
  debug: SILENT,
  trace: SILENT,
  fatal: SILENT,
};

function start(flushMs: number): void {
  const config = readConfig({ METRICS_FLUSH_MS: `${flushMs}`, SVC_RAFT_DIR: '/d' }, 'n1');
  if (config.kind === 'refused') throw new Error(config.error);
  series = new NodeSeries({
    config: config as Config,
    disk,
    clock,
    loop: new LoopShare(clock),
    logger: LOGGER,
    meters,
  });
  series.start();
  const raft = {
    inflight: 1,
    committedIndex: 9,
    appliedIndex: 7,
    log: { files: 2, bytes: 100 },
    store: { mapUsedPct: null },
  } as RaftStatusAnswer;
  const node: ObservedNode = {
    appliedState: state,
    raftStatus: () => raft,
    eachParked: (visit) => {
      for (let i = 0; i < parked; i++) visit(popOf('q', 1000, 0));
    },
  };
  series.observe(node);
}

/** A queue as the state holds it, without a log. */
function addQueue(number: number, name: string): void {
  const table = (name: string) =>
    TABLES.find((each) => each.name === name) as Table<unknown> | undefined;
  const [queues, numbers] = [table('queues'), table('queueNumbers')];
  if (queues === undefined || numbers === undefined) throw new Error('no such table');
  const key = String.fromCharCode(0, 0, 0, number) as never;
  state.put(queues, key, { number, tenant: TENANT, name });
  state.put(numbers, `${TENANT}${name}` as never, number);
}

function move(ms: number): void {
  for (let left = ms; left > 0; left -= 1000) {
    clock.move(Math.min(left, 1000));
    disk.settle();
  }
}

beforeEach(() => {
  clock = new MovedClock();
  // The first minute begins a second from here.
  clock.ms = 119_000;
  disk = new SimulatedDisk({ seed: 3 });
  disk.makeDirectorySync('/d');
  state = new MapState();
  parked = 0;
});

afterEach(() => series.stop(() => {}));

test('a minute is one row, whatever happened in it', () => {
  start(60_000);
  move(1000);
  const first = minuteAt(clock.wallUs());
  move(59_000);
  expect(series.store.newestMinute).toBe(first - 1);
  move(2000);
  expect(series.store.newestMinute).toBe(first);
  const [bucket] = finish(series.store.processBuckets(first, first, 1));
  expect(bucket?.samples).toBe(60);
  expect(bucket?.gauges.appliedLag).toEqual({ avg: 2, min: 2, max: 2, last: 2 });
  expect(bucket?.gauges.mapUsedPct).toBeNull();
  expect(bucket?.gauges.residentBytes?.min).toBeGreaterThan(1_000_000);
});

test('what is counted while a bucket is put together belongs to the next one', () => {
  addQueue(1, 'q');
  start(1000);
  const push = (count: number) => {
    const figures = series.activity.figuresOf(state, TENANT, 'q');
    if (figures !== null) figures.pushMessages += count;
  };
  push(2);
  move(1000);
  push(3);
  move(1000);
  move(1000);
  const minute = minuteAt(clock.wallUs());
  const rows = pushedIn(series.store);
  expect(rows.every((row) => row.startsWith(`${minute} 1:`) || row.includes(' 1: 2'))).toBe(true);
  const pushed = rows.map((row) => Number(row.split(': ')[1]));
  expect(pushed.reduce((sum, one) => sum + one, 0)).toBe(5);
  expect(meters.queues.closed).toEqual([]);
});

test('a flush that is rarer than a minute shows its minutes together', () => {
  start(180_000);
  move(1000);
  const begun = minuteAt(clock.wallUs());
  const shown = () => finish(series.store.processBuckets(0, Number.MAX_SAFE_INTEGER, 1)).length;
  const seen = new Set<number>();
  for (let i = 0; i < 6; i++) {
    move(60_000);
    seen.add(shown());
  }
  const steps = [...seen].sort((a, b) => a - b);
  expect(steps.length).toBeLessThanOrEqual(3);
  expect(minuteAt(clock.wallUs()) - begun - shown()).toBeLessThan(3);
});

test('parked pops are the mean of what was seen once a second', () => {
  addQueue(1, 'q');
  start(60_000);
  move(1000);
  parked = 3;
  move(20_000);
  parked = 0;
  move(41_000);
  const [row] = meters.queues.closed;
  expect([row?.parkedSum, row?.parkedSamples]).toEqual([60, 60]);
});

test('a name that stands for no queue leaves no row', () => {
  addQueue(1, 'q');
  start(1000);
  for (const name of ['q', 'gone']) {
    const figures = series.activity.queues.of(TENANT, name);
    if (figures !== null) figures.pushMessages = 1;
  }
  move(2000);
  expect(pushedIn(series.store).length).toBe(1);
});

test('the next process has the rows of this one', () => {
  addQueue(1, 'q');
  start(1000);
  const figures = series.activity.figuresOf(state, TENANT, 'q');
  if (figures !== null) figures.pushMessages = 7;
  move(3000);
  const rows = pushedIn(series.store);
  expect(rows.length).toBe(1);
  let isClosed = false;
  series.stop(() => {
    isClosed = true;
  });
  expect(isClosed).toBe(true);
  disk.crash('process');
  start(1000);
  expect(pushedIn(series.store)).toEqual(rows);
  expect(series.store.nameOf(1)).toMatchObject({ tenant: TENANT, queue: 'q' });
});
