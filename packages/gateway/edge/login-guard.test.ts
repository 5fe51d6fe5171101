// Goal: passwords cannot be guessed fast, and nobody is locked out by what others do elsewhere.
// Method: attempts on a clock that the test sets; the throttle also beside a plain count of the
// last minute.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Refusal } from '../base/refusal.js';
import { ATTEMPTS_MAX, type Attempt, LOGIN_GUARD_DEFAULTS, LoginGuard } from './login-guard.js';

const LENIENT = { ...LOGIN_GUARD_DEFAULTS, addressFailuresFree: 1e9, accountFailuresFree: 1e9 };

function isAttempt(result: Attempt | Refusal): result is Attempt {
  return 'succeeded' in result;
}

function waitS(result: Attempt | Refusal): number {
  return isAttempt(result) ? 0 : (result.retryAfterS ?? -1);
}

test('the eleventh attempt of a minute is refused, right or wrong', () => {
  const guard = new LoginGuard(LENIENT);
  for (let i = 0; i < ATTEMPTS_MAX; i++) {
    const attempt = guard.begin('a', 'user@example', i * 1000);
    if (isAttempt(attempt)) attempt.succeeded();
    else throw new Error('refused');
  }
  expect(guard.begin('a', 'user@example', 10_000)).toEqual({
    status: 429,
    code: 'rate_limited',
    error: 'too many login attempts',
    retryAfterS: 50,
  });
  expect(isAttempt(guard.begin('b', 'user@example', 10_000))).toBe(true);
  expect(isAttempt(guard.begin('a', 'user@example', 60_000))).toBe(true);
  expect(waitS(guard.begin('a', 'user@example', 60_000))).toBe(1);
});

test('no minute has more than ten attempts of an address', () => {
  const rests = fc.array(fc.nat(12_000), { maxLength: 100 });
  fc.assert(
    fc.property(rests, (all) => {
      const guard = new LoginGuard(LENIENT);
      const begun: number[] = [];
      let nowMs = 0;
      for (const restMs of all) {
        nowMs += restMs;
        const lately = begun.filter((atMs) => nowMs - atMs < 60_000).length;
        const isIn = isAttempt(guard.begin('a', 'x', nowMs));
        expect(isIn).toBe(lately < ATTEMPTS_MAX);
        if (isIn) begun.push(nowMs);
      }
    }),
    { numRuns: 100 },
  );
});

test('an account has five free failures, then waits twice as long each time', () => {
  const guard = new LoginGuard(LOGIN_GUARD_DEFAULTS);
  let nowMs = 0;
  for (let i = 0; i < 5; i++) expect(waitS(guard.begin(`a${i}`, 'user', nowMs))).toBe(0);
  const waits: number[] = [];
  for (let i = 0; i < 13; i++) {
    expect(waitS(guard.begin(`b${i}`, ' USER ', nowMs))).toBe(0);
    const wait = waitS(guard.begin(`c${i}`, 'user', nowMs));
    waits.push(wait);
    nowMs += wait * 1000;
  }
  expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900]);
});

test('a success clears the account, and time clears all', () => {
  const guard = new LoginGuard(LOGIN_GUARD_DEFAULTS);
  for (let i = 0; i < 4; i++) guard.begin(`a${i}`, 'user', 0);
  const right = guard.begin('a', 'user', 0);
  if (isAttempt(right)) right.succeeded();
  for (let i = 0; i < 6; i++) expect(waitS(guard.begin(`b${i}`, 'user', 0))).toBe(0);
  expect(waitS(guard.begin('c', 'user', 0))).toBe(1);
  expect(waitS(guard.begin('c', 'user', 901_000))).toBe(0);
  expect(waitS(guard.begin('d', 'user', 901_000))).toBe(0);
});

test('an address has ten free failures, over all accounts', () => {
  const guard = new LoginGuard(LOGIN_GUARD_DEFAULTS);
  let nowMs = 0;
  for (let i = 0; i < 11; i++) {
    expect(waitS(guard.begin('a', `user ${i}`, nowMs))).toBe(0);
    nowMs += 7_000;
  }
  expect(waitS(guard.begin('a', 'another', nowMs - 7_000))).toBe(1);
});

test('an own account that is logged in to between does not help an address', () => {
  const guard = new LoginGuard({ ...LOGIN_GUARD_DEFAULTS, addressFailuresFree: 2 });
  for (let i = 0; i < 2; i++) {
    guard.begin('a', `victim ${i}`, 0);
    const own = guard.begin('a', 'own', 0);
    if (isAttempt(own)) own.succeeded();
  }
  expect(waitS(guard.begin('a', 'victim 2', 0))).toBe(0);
  expect(waitS(guard.begin('a', 'victim 3', 0))).toBe(1);
});

test('a hundred attempts at once are as many as one after the other', () => {
  const guard = new LoginGuard(LOGIN_GUARD_DEFAULTS);
  const results = Array.from({ length: 100 }, (_, i) => guard.begin(`a${i}`, 'user', 0));
  expect(results.filter(isAttempt)).toHaveLength(6);
});
