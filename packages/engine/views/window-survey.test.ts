// Goal: the longest window over all queues, found over several steps.
// Method: queues with different options, walked in steps of every size.
import { expect, test } from 'vitest';
import { numberKey } from '../base/keys.js';
import { MapState } from '../base/map-state.js';
import { implicitOptions } from '../base/queue-options.js';
import { queues } from '../base/tables.js';
import { WindowSurvey } from './window-survey.js';

function stateWith(windows: readonly number[]): MapState {
  const state = new MapState();
  windows.forEach((dedupWindowSeconds, i) => {
    const options = { ...implicitOptions('q'), dedupWindowSeconds };
    const row = {
      number: i + 1,
      id: '',
      tenant: '',
      name: '',
      createdAtUs: 0,
      partitions: 0,
      options,
    };
    state.put(queues, numberKey(i + 1), row);
  });
  return state;
}

test.each([1, 2, 3, 4, 100])('in steps of %i', (queuesMax) => {
  const survey = new WindowSurvey(stateWith([60, 7200, 0]));
  const answers = Array.from({ length: 12 }, () => survey.step(queuesMax));
  const complete = answers.filter((answer) => answer !== null);
  expect(complete.length).toBeGreaterThan(0);
  expect(new Set(complete)).toEqual(new Set([7200]));
});

test('no queue, or short windows: the floor', () => {
  expect(new WindowSurvey(stateWith([])).step(10)).toBe(900);
  expect(new WindowSurvey(stateWith([0, 10])).step(10)).toBe(900);
});
