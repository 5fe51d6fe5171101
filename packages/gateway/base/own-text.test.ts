// Goal: tables of names that strangers choose hold the names, and not the requests in which they
// came. Method: names cut out of long texts, and the heap once everything else was collected.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { LOGIN_GUARD_DEFAULTS, LoginGuard } from '../edge/login-guard.js';
import { ownText } from './own-text.js';

const NAMES = 64;
/** Longer texts lie outside the heap. */
const AROUND = 262_144;
/** The length of the texts. */
const ALL_MIB = (NAMES * AROUND) / 1_048_576;

test('the guard of logins holds as much of a name as an address of mail can have', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const guard = new LoginGuard(LOGIN_GUARD_DEFAULTS);
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let at = 0; at < NAMES; at++) {
    const text = `a name of a stranger, number ${at}, and then ${'x'.repeat(AROUND)}`;
    guard.begin(`192.0.2.${at}`, Buffer.from(text).toString().slice(0, 40), 0);
  }
  collect();
  const heldMib = (process.memoryUsage().heapUsed - before) / 1_048_576;
  expect(heldMib).toBeLessThan(ALL_MIB / 4);
});

test.each(['', 'a', '\ufeffü€😀'])('the copy of %j is the same', (text) => {
  expect(ownText(text)).toBe(text);
});
