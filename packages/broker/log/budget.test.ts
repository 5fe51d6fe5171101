// Goal: the log counts as too long when it is, from any entry on, and never before what is live is
// known. Method: rows of live bytes in a plain state, more than one step looks at, and segments
// that are only numbers.
import { type Key, MapState, TABLES, type Table } from '@svc/engine';
import { expect, test } from 'vitest';
import { LogBudget, type SegmentSize } from './budget.js';

const logUse = TABLES.find(({ name }) => name === 'logUse') as unknown as Table<{
  readonly appends: number;
  readonly bytes: number;
}>;

function stateOf(stretches: number, bytesEach: number): MapState {
  const state = new MapState();
  for (let i = 0; i < stretches; i++) {
    const key = String.fromCharCode(0, 0, 0, 0, 0, 0, i >> 8, i & 255) as Key;
    state.put(logUse, key, { appends: 1, bytes: bytesEach });
  }
  return state;
}

function budgetOf(state: MapState, segments: readonly SegmentSize[], slackBytes = 100) {
  return new LogBudget({ state, segments: () => segments, slackBytes });
}

test('nothing is known, and nothing exceeded, before the first pass has ended', () => {
  const budget = budgetOf(stateOf(2500, 10), [{ lastIndex: 9, bytes: 1_000_000 }]);
  for (let step = 0; step < 2; step++) {
    budget.step();
    expect([budget.liveBytes, budget.isExceededFrom(1)]).toEqual([null, false]);
  }
  budget.step();
  expect([budget.liveBytes, budget.isExceededFrom(1)]).toEqual([25_000, true]);
});

test('a pass begins anew, and the last sum counts until it has ended', () => {
  const state = stateOf(1500, 10);
  const budget = budgetOf(state, []);
  for (let step = 0; step < 2; step++) budget.step();
  expect(budget.liveBytes).toBe(15_000);
  for (const { key } of state.range(logUse, '' as Key, '\xff' as Key, 1400)) {
    state.delete(logUse, key);
  }
  budget.step();
  expect(budget.liveBytes).toBe(1000);
});

test('twice what is live and the slack are allowed, from the file of the entry on', () => {
  const segments = [10, 20, 30].map((lastIndex) => ({ lastIndex, bytes: 1100 }));
  const budget = budgetOf(stateOf(1, 1000), segments);
  budget.step();
  expect([1, 10, 11, 20, 21, 31].map((index) => budget.isExceededFrom(index))).toEqual([
    true,
    true,
    true,
    true,
    false,
    false,
  ]);
  expect(budgetOf(stateOf(1, 1000), segments, 1300).isExceededFrom(1)).toBe(false);
});

test('what is kept for a reader does not count, from the file of its entry on', () => {
  const segments = [10, 20, 30].map((lastIndex) => ({ lastIndex, bytes: 1100 }));
  let readFrom: number | null = null;
  const state = stateOf(1, 500);
  const budget = new LogBudget({
    state,
    segments: () => segments,
    slackBytes: 100,
    readFrom: () => readFrom,
  });
  budget.step();
  const exceeded = (from: number | null) => {
    readFrom = from;
    return [1, 11, 21].map((index) => budget.isExceededFrom(index));
  };
  // 1100 bytes are allowed: one file.
  expect(exceeded(null)).toEqual([true, true, false]);
  expect(exceeded(31)).toEqual([true, true, false]);
  expect(exceeded(30)).toEqual([true, false, false]);
  expect(exceeded(20)).toEqual([false, false, false]);
  expect(exceeded(0)).toEqual([false, false, false]);
});
