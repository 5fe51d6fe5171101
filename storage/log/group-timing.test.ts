// Goal: what is told of writes is what became of them, also when appends are taken back before they
// are written. Method: calls in the order in which a log makes them, under a clock set by hand.
import { beforeEach, expect, test } from 'vitest';
import { LogGroupTiming } from './group-timing.js';

let nowMs: number;
let told: (readonly [string, ...number[]])[];
let timing: LogGroupTiming;

beforeEach(() => {
  nowMs = 0;
  told = [];
  timing = new LogGroupTiming({
    nowMs: () => nowMs,
    pickedUp: (waitedMs) => told.push(['picked', waitedMs]),
    synced: (entries, bytes, ms) => told.push(['synced', entries, bytes, ms]),
    removed: (files) => told.push(['removed', files]),
    committed: (ms) => told.push(['committed', ms]),
  });
});

test('a group of two appends, of which the second goes on in the next group', () => {
  timing.appended(1);
  nowMs = 2;
  timing.appended(3);
  nowMs = 5;
  timing.taken(1, 100);
  timing.taken(2, 100);
  timing.taken(3, 50);
  timing.syncing();
  nowMs = 9;
  timing.synced();
  timing.taken(4, 10);
  timing.syncing();
  nowMs = 10;
  timing.synced();
  expect(told).toEqual([
    ['picked', 5],
    ['picked', 3],
    ['synced', 3, 250, 4],
    ['synced', 1, 10, 1],
  ]);
});

test('appends that were taken back are forgotten', () => {
  timing.appended(1);
  timing.appended(2);
  timing.appended(5);
  nowMs = 1;
  timing.appended(2);
  nowMs = 4;
  timing.taken(1, 1);
  timing.taken(2, 1);
  expect(told).toEqual([
    ['picked', 4],
    ['picked', 3],
  ]);
});

test('an end without entries, and removals', () => {
  timing.syncing();
  timing.synced();
  timing.removed(0);
  timing.removed(3);
  expect(told).toEqual([['removed', 3]]);
});
