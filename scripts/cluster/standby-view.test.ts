// Goal: what a standby does is one line with its figures, and a change is told only when something
// other than a figure changed. Method: made-up answers.
import { expect, test } from 'vitest';
import { type StandbyView, standbyChange, standbyLine } from './standby-view.js';

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

test.each<[StandbyView | null, string]>([
  [null, 'the standby has no leader that answers'],
  [
    FOLLOWING,
    'the standby is following (127.0.0.1:7400), entry 412 of the source, ' +
      'behind by 0 entries and 0 ms',
  ],
  [
    WAITING,
    'the standby is waiting, entry 412 of the source, ' +
      'behind by 7 entries and 1300 ms: no answer',
  ],
  [{ role: 'promoted', position: { index: 9 } }, 'the standby is promoted, entry 9 of the source'],
  [{ role: 'primary', follower: { ...FOLLOWER, state: 'idle' } }, 'the standby is primary'],
])('%j', (view, line) => {
  expect(standbyLine(view)).toBe(line);
});

test('changes', () => {
  expect(standbyChange(null, null)).toBeNull();
  expect(standbyChange(FOLLOWING, null)).toBe('the standby is following (127.0.0.1:7400)');
  expect(standbyChange({ ...FOLLOWING, position: { index: 413 } }, FOLLOWING)).toBeNull();
  expect(standbyChange(WAITING, { ...WAITING, position: { index: 1 } })).toBeNull();
  expect(standbyChange(WAITING, FOLLOWING)).toBe('the standby is waiting: no answer');
});
