/**
 * Holds of readers: who keeps what of the log and for how long, and what is left of it after a
 * restart (standby-link 8). Method: calls at chosen moments of a clock that is only numbers.
 */
import { expect, test } from 'vitest';
import { Holds, READERS_MAX } from './holds.js';

const HOLD_MS = 100_000;
const WALL_MS = 1_791_467_212_792;

test('the log is kept from the lowest entry that a reader has applied', () => {
  const holds = new Holds(HOLD_MS);
  expect(holds.heldFrom).toBeNull();
  expect(holds.note('east', 50, 0, 1000)).toBe('new');
  expect(holds.note('west', 40, 0, 1000)).toBe('new');
  expect(holds.heldFrom).toBe(40);
  expect(holds.note('west', 60, 0, 2000)).toBe('kept');
  expect(holds.heldFrom).toBe(50);
  // Who comes back lower is believed.
  expect(holds.note('west', 20, 0, 3000)).toBe('new');
  expect(holds.heldFrom).toBe(20);
  expect(holds.rows(4000)).toEqual([
    { name: 'east', after: 50, idleMs: 3000 },
    { name: 'west', after: 20, idleMs: 1000 },
  ]);
});

test('a standby that has nothing yet holds the whole log', () => {
  const holds = new Holds(HOLD_MS);
  expect(holds.note('east', 0, 0, 0)).toBe('new');
  expect(holds.heldFrom).toBe(0);
});

test('a hold ends when its reader is silent for too long, not earlier', () => {
  const holds = new Holds(HOLD_MS);
  holds.note('east', 50, 0, 1000);
  holds.note('west', 60, 0, 2000);
  holds.sweep(0, 1000 + HOLD_MS - 1);
  expect(holds.heldFrom).toBe(50);
  holds.sweep(0, 1000 + HOLD_MS);
  expect(holds.heldFrom).toBe(60);
  // One that is still reading an answer is not silent.
  holds.touch('west', 1000 + HOLD_MS);
  holds.touch('nobody', 1000 + HOLD_MS);
  holds.sweep(0, 2000 + HOLD_MS);
  expect([holds.heldFrom, holds.size]).toEqual([60, 1]);
});

test('what the log gave up is held by nobody', () => {
  const holds = new Holds(HOLD_MS);
  holds.note('east', 50, 0, 0);
  holds.note('west', 60, 0, 0);
  // The term of the entry at the purge point is still known.
  holds.sweep(50, 0);
  expect(holds.size).toBe(2);
  holds.sweep(51, 0);
  expect(holds.rows(0)).toEqual([{ name: 'west', after: 60, idleMs: 0 }]);
  expect(holds.note('east', 50, 51, 0)).toBe('below');
  expect(holds.note('west', 50, 51, 0)).toBe('below');
  expect(holds.rows(0)).toEqual([{ name: 'west', after: 60, idleMs: 0 }]);
});

test('readers are bounded, and a place becomes free when one is silent', () => {
  const holds = new Holds(HOLD_MS);
  for (let i = 0; i < READERS_MAX; i++) expect(holds.note(`r${i}`, 9, 0, i)).toBe('new');
  expect(holds.note('one more', 9, 0, 100)).toBe('full');
  expect(holds.note('r5', 10, 0, 100)).toBe('kept');
  expect(holds.note('one more', 9, 0, HOLD_MS)).toBe('new');
  expect(holds.size).toBe(READERS_MAX);
});

test('the file has the form of the contract', () => {
  const holds = new Holds(HOLD_MS);
  holds.note('b', 18, 0, 1000);
  holds.note('__proto__', 7, 0, 3000);
  expect(holds.toFile({ nowMs: 4000, wallMs: WALL_MS })).toBe(
    `{"readers":{"__proto__":{"after":7,"seenMs":${WALL_MS - 1000}},` +
      `"b":{"after":18,"seenMs":${WALL_MS - 3000}}}}\n`,
  );
});

/** Another process, whose clock begins anew. */
function restarted(file: string, wallMs: number, holdMs = HOLD_MS): Holds {
  const holds = new Holds(holdMs);
  expect(holds.takeFile(file, { nowMs: 5, wallMs }, 0)).toBe(true);
  return holds;
}

function fileOf(after: number): string {
  const holds = new Holds(HOLD_MS);
  holds.note('east', after, 0, 0);
  return holds.toFile({ nowMs: 0, wallMs: WALL_MS });
}

test('after a restart a reader has the rest of its time', () => {
  const holds = restarted(fileOf(50), WALL_MS + 10_000);
  expect(holds.rows(5)).toEqual([{ name: 'east', after: 50, idleMs: 10_000 }]);
  holds.sweep(0, 5 + 89_999);
  expect(holds.heldFrom).toBe(50);
  holds.sweep(0, 5 + 90_000);
  expect(holds.heldFrom).toBeNull();
});

test.each([
  ['its time was over', WALL_MS + 2 * HOLD_MS, HOLD_MS],
  ['little was left', WALL_MS + HOLD_MS - 1, HOLD_MS],
  ['the time of a hold is shorter', WALL_MS, 10_000],
])('after a restart a reader has a minute at least: %s', (_why, wallMs, holdMs) => {
  const holds = restarted(fileOf(50), wallMs, holdMs);
  holds.sweep(0, 5 + 59_999);
  expect(holds.heldFrom).toBe(50);
  holds.sweep(0, 5 + 60_000);
  expect(holds.heldFrom).toBeNull();
});

test('a wall clock that was set back makes no hold longer', () => {
  const holds = restarted(fileOf(50), WALL_MS - 1e9);
  expect(holds.rows(5)).toEqual([{ name: 'east', after: 50, idleMs: 0 }]);
  holds.sweep(0, 5 + HOLD_MS);
  expect(holds.heldFrom).toBeNull();
});

test.each([
  '',
  'x',
  '[]',
  '{}',
  '{"readers":[]}',
  '{"readers":{"a":null}}',
  '{"readers":{"a":{"after":-1,"seenMs":0}}}',
  '{"readers":{"a":{"after":1}}}',
  '{"readers":{"a":{"after":1,"seenMs":"0"}}}',
])('%s is no file of holds', (text) => {
  const holds = new Holds(HOLD_MS);
  expect(holds.takeFile(text, { nowMs: 0, wallMs: WALL_MS }, 0)).toBe(false);
  expect(holds.size).toBe(0);
});

test('a file of more readers than there may be is cut', () => {
  const readers = Array.from({ length: READERS_MAX + 9 }, (_, i) => {
    return [`r${i}`, { after: i, seenMs: WALL_MS }];
  });
  const holds = restarted(JSON.stringify({ readers: Object.fromEntries(readers) }), WALL_MS);
  expect(holds.size).toBe(READERS_MAX);
});
