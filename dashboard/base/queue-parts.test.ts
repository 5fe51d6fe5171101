// Goal: what the page of a queue draws, fills in and sends. Method: as functions, without a page.
import { expect, test } from 'vitest';
import { byBucket, filledRows } from './queue-history.js';
import { changesOf, currentValues, faultOf, OPTION_GROUPS, typedOf } from './queue-options.js';
import { LEVELS, levelDepths, levelOf, seedAt, seedsOf } from './sunflower.js';

const SHOWN = { leaseTime: 60, retryLimit: 3, retentionEnabled: false, namespace: 'shop' };

test('only options that differ are sent, and an empty field restores the default', () => {
  const current = currentValues(SHOWN);
  expect(current.deliveryLimit).toBe(0);
  const typed = typedOf(current);
  expect(changesOf(current, typed)).toEqual([]);
  const changed = { ...typed, leaseTime: '', retryLimit: ' 3 ', retentionEnabled: true, task: 't' };
  const sent = changesOf(current, changed).map(({ option, sent }) => [option.name, sent]);
  expect(sent).toEqual([
    ['leaseTime', null],
    ['retentionEnabled', true],
    ['task', 't'],
  ]);
  // The default is what it is already.
  expect(changesOf(current, { ...typed, retryLimit: '' })).toEqual([]);
});

test('what cannot be sent is said beside its field', () => {
  const options = OPTION_GROUPS.flatMap((group) => group.options);
  const option = (name: string) => {
    const found = options.find((one) => one.name === name);
    if (found === undefined) throw new Error(name);
    return found;
  };
  for (const wrong of ['-1', '1.5', '1e3', 'ten', '2147483648']) {
    expect(faultOf(option('leaseTime'), wrong)).toContain('whole number');
  }
  expect(faultOf(option('leaseTime'), '')).toBeNull();
  expect(faultOf(option('minPopWaitTime'), '60001')).toContain('60000');
  expect(faultOf(option('retryBackoffMaxMs'), '0')).toContain('from 1');
  expect(faultOf(option('namespace'), 'any -1')).toBeNull();
});

test('ten thousand seeds lie in the square, apart, and each is found where it is drawn', () => {
  const depths = Array.from({ length: 10_000 }, (_, i) => 9_999 - i);
  const seeds = seedsOf(depths, 400);
  for (const i of [0, 1, 17, 5_000, 9_999]) {
    const { x = 0, y = 0, radius = 0 } = seeds[i] ?? {};
    expect(Math.hypot(x - 200, y - 200) + radius).toBeLessThanOrEqual(200);
    expect(seedAt(depths.length, 400, x, y)).toBe(i);
    const apart = seeds.map((one, j) =>
      j === i ? 400 : Math.hypot(one.x - x, one.y - y) - one.radius,
    );
    expect(Math.min(...apart)).toBeGreaterThan(radius * 0.9);
  }
  expect(seeds[0]?.level).toBe(LEVELS);
  expect(seeds[9_999]?.level).toBe(0);
  expect(seedAt(3, 400, 1, 1)).toBeNull();
  expect(seedsOf([], 400)).toEqual([]);
});

test('a depth of one is the lowest level, and the highest where none is deeper', () => {
  expect([0, 1, 10, 100].map((depth) => levelOf(depth, 100))).toEqual([0, 1, 3, 5]);
  expect(levelOf(1, 1)).toBe(LEVELS);
});

test('a bucket without a row counts as zeros, but the newest may still come', () => {
  const at = (minute: number) => `2026-11-26T10:0${minute}:00Z`;
  const ms = (minute: number) => Date.parse(at(minute));
  const window = { fromMs: ms(0) + 5, toMs: ms(6), nowMs: ms(6), bucketMinutes: 1 };
  const rows = [{ bucket: at(2), pushed: 7 }];
  const empty = (bucket: string) => ({ bucket, pushed: 0 });
  const filled = filledRows(rows, ({ bucket }) => bucket, empty, window);
  expect(filled.map(({ pushed }) => pushed)).toEqual([0, 7, 0, 0]);
  expect(filled.map(({ bucket }) => Date.parse(bucket))).toEqual([ms(1), ms(2), ms(3), ms(4)]);
  // Buckets without a width, or without an end.
  for (const endless of [{ bucketMinutes: 0 }, { fromMs: Date.parse('0001-01-01') }]) {
    const asked = { ...window, ...endless };
    expect(filledRows(rows, ({ bucket }) => bucket, empty, asked)).toEqual(rows);
  }
});

test('parked pops stand by bucket, with those of several nodes on a host added up', () => {
  const rows = [
    { bucket: 'a', hostname: 'h', parkedCount: 1 },
    { bucket: 'a', hostname: 'h', parkedCount: 2 },
    { bucket: 'a', hostname: 'i', parkedCount: 4 },
  ];
  expect(byBucket(rows)).toEqual([
    {
      bucket: 'a',
      byNode: new Map([
        ['h', 3],
        ['i', 4],
      ]),
    },
  ]);
});

test.each([0, 1, 2, 3, 10, 10_000])(
  'the legend of depths to %i has every level drawn',
  (deepest) => {
    const levels = levelDepths(deepest).map(({ level }) => level);
    const drawn = [1, deepest].filter((depth) => depth > 0 && depth <= deepest);
    expect(levels).toEqual(expect.arrayContaining(drawn.map((depth) => levelOf(depth, deepest))));
    expect(levels).toEqual([...new Set(levels)]);
  },
);
