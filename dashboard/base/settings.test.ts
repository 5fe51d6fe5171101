// Goal: settings are read as far as they are right, and written under the version that was read.
// Method: documents of this and of other releases.
import { expect, test } from 'vitest';
import { DEFAULT_SETTINGS, isWait, settingsOf, settingsWrite } from './settings.js';

test.each([
  [undefined, DEFAULT_SETTINGS],
  [null, DEFAULT_SETTINGS],
  ['text', DEFAULT_SETTINGS],
  [
    { range: '6h', waitSeconds: 60 },
    { range: '6h', waitSeconds: 60 },
  ],
  [{ range: '2y', waitSeconds: 1.5, later: true }, DEFAULT_SETTINGS],
  [{ waitSeconds: 0 }, DEFAULT_SETTINGS],
])('%j', (value, expected) => expect(settingsOf(value)).toEqual(expected));

test('what is written is read back', () => {
  const settings = { range: '24h', waitSeconds: 900 };
  const [write] = settingsWrite(settings, 7) as { value: unknown; expect: number }[];
  expect([settingsOf(write?.value), write?.expect]).toEqual([settings, 7]);
  expect([1, 300, 0, -1, Number.NaN, 1e12].map(isWait)).toEqual([
    true,
    true,
    false,
    false,
    false,
    false,
  ]);
});
