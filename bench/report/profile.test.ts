// Goal: self times add up by function. Method: a small profile worked out by hand.

import { expect, test } from 'vitest';
import { type CpuProfile, folderTimes, selfTimes } from './profile.js';

test('samples add up by function and by folder, over all places it was called from', () => {
  const frame = (functionName: string, url: string, lineNumber: number) => ({
    callFrame: { functionName, url, lineNumber },
  });
  const profile: CpuProfile = {
    nodes: [
      { id: 1, ...frame('(idle)', '', -1) },
      { id: 2, ...frame('push', 'file:///a/dist/push.js', 9) },
      { id: 3, ...frame('push', 'file:///a/dist/push.js', 9) },
      { id: 4, ...frame('', 'file:///a/dist/log.js', 0) },
    ],
    samples: [1, 2, 3, 4, 2],
    timeDeltas: [1000, 2000, 3000, -5, 4000],
  };
  expect(folderTimes(profile, 'file:///')).toEqual([
    { place: 'a', selfMs: 9, share: 0.9 },
    { place: '(idle)', selfMs: 1, share: 0.1 },
  ]);
  expect(selfTimes(profile)).toEqual([
    { place: 'push push.js:10', selfMs: 9, share: 0.9 },
    { place: '(idle)', selfMs: 1, share: 0.1 },
    { place: '(anonymous) log.js:1', selfMs: 0, share: 0 },
  ]);
});
