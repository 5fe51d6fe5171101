// Goal: cursors are walked when somebody scrapes, once in REFRESH_MS at most, and only for a
// leader. Method: a clock that a test moves, and walks that end when it says so.
import { type GroupLags, MapState } from '@svc/engine';
import { expect, test } from 'vitest';
import type { WalkReply } from '../reads/state-walks.js';
import type { Clock } from '../system/clock.js';
import { GroupLagFigures, REFRESH_MS } from './group-lag-figures.js';

const FOUND: GroupLags = { rows: [], isComplete: true };

function rig() {
  let nowMs = 0;
  const clock = { nowMs: () => nowMs } as Clock;
  const walks: { done: (found: GroupLags) => void; reply: WalkReply }[] = [];
  const limits = { cursorsMax: 10, rowsMax: 10 };
  const figures = new GroupLagFigures(new MapState(), clock, limits, {
    local: (_, reply, done) => walks.push({ done, reply }),
  });
  return { figures, walks, pass: (ms: number) => (nowMs += ms) };
}

test('a walk begins with a scrape, and the next one only after a while', () => {
  const { figures, walks, pass } = rig();
  expect(figures.read(true)).toBe(null);
  pass(REFRESH_MS * 3);
  expect(figures.read(true)).toBe(null);
  expect(walks).toHaveLength(1);
  walks[0]?.done(FOUND);
  expect(figures.read(true)).toBe(FOUND);
  expect(walks).toHaveLength(2);
  walks[1]?.done(FOUND);
  pass(REFRESH_MS - 1);
  figures.read(true);
  expect(walks).toHaveLength(2);
  pass(1);
  figures.read(true);
  expect(walks).toHaveLength(3);
});

test('who does not lead shows nothing and walks nothing', () => {
  const { figures, walks } = rig();
  figures.read(true);
  walks[0]?.done(FOUND);
  expect(figures.read(false)).toBe(null);
  expect(walks).toHaveLength(1);
  expect(figures.read(true)).toBe(null);
  expect(walks).toHaveLength(2);
});

test('a walk that is refused shows nothing', () => {
  const { figures, walks, pass } = rig();
  figures.read(true);
  walks[0]?.reply.send({ kind: 'refused', refusal: { reason: 'retry', error: 'stops' } });
  pass(REFRESH_MS);
  expect(figures.read(true)).toBe(null);
  expect(walks).toHaveLength(2);
});
