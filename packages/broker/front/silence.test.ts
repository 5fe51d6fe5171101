// Goal: a thread that says nothing is found out, and one on a machine that stands still is not.
// Method: looks at a silence, with the time between them made up.
import { expect, test } from 'vitest';
import { HANGING_MS, LOOK_MS, SILENT_MS, Silence } from './silence.js';

const found = (silence: Silence, looks: number, sinceMs = LOOK_MS) =>
  Array.from({ length: looks }, () => silence.look(sinceMs)).filter((one) => one !== null);

test('silence is found once, and so is its end', () => {
  const silence = new Silence();
  expect(found(silence, SILENT_MS / LOOK_MS - 1)).toEqual([]);
  expect(found(silence, 5)).toEqual(['silent']);
  silence.heard();
  expect(found(silence, 2)).toEqual(['speaks']);
  expect(found(silence, HANGING_MS / LOOK_MS)).toEqual(['silent', 'hanging']);
  expect(silence.isSilent).toBe(true);
});

test('looks that come late count for nothing', () => {
  const silence = new Silence();
  expect(found(silence, 100, 3 * LOOK_MS)).toEqual([]);
  expect(found(silence, 100, HANGING_MS)).toEqual([]);
  expect(found(silence, SILENT_MS / LOOK_MS)).toEqual(['silent']);
});
