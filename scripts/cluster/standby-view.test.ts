// Goal: what a standby does is one line with its figures, and a change is told only when something
// other than a figure changed. Method: made-up answers.
import { expect, test } from 'vitest';
import { type StandbyView, standbyChange, standbyLines } from './standby-view.js';

const FOLLOWER = {
  state: 'following',
  source: '127.0.0.1:7400',
  lagEntries: 0,
  lagMs: 0,
  error: null,
};
const FOLLOWING: StandbyView = { role: 'standby', position: { index: 412 }, follower: FOLLOWER };
const WAITING: StandbyView = {
  ...FOLLOWING,
  follower: { ...FOLLOWER, state: 'waiting', lagEntries: 7, lagMs: 1300, error: 'no answer' },
};

test.each<[StandbyView | null, string[]]>([
  [null, ['the standby is without a leader that answers']],
  [
    FOLLOWING,
    ['the standby is following, 0 entries and 0 ms behind, at entry 412 of 127.0.0.1:7400'],
  ],
  [WAITING, ['the standby is waiting, 7 entries and 1300 ms behind, at entry 412', 'no answer']],
  [{ role: 'promoted', position: { index: 9 } }, ['the standby is promoted, at entry 9']],
  [{ role: 'primary', follower: { ...FOLLOWER, state: 'idle' } }, ['the standby is primary']],
])('%j', (view, lines) => {
  expect(standbyLines(view)).toEqual(lines);
});

test('changes', () => {
  expect(standbyChange(null, null)).toBeNull();
  expect(standbyChange(FOLLOWING, null)).toBe('the standby is following');
  expect(standbyChange({ ...FOLLOWING, position: { index: 413 } }, FOLLOWING)).toBeNull();
  expect(standbyChange(WAITING, { ...WAITING, position: { index: 1 } })).toBeNull();
  expect(standbyChange(WAITING, FOLLOWING)).toBe('the standby is waiting: no answer');
});
