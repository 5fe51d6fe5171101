// Goal: passwords are right or wrong at the same cost, and a flood of logins is bounded. Method:
// the library itself, at its cost; figures are counted and not timed.
import bcrypt from '@node-rs/bcrypt';
import { expect, test } from 'vitest';
import { OverloadedError } from '../base/overloaded.js';
import { Turns } from '../records/turns.js';
import { Passwords } from './passwords.js';
import { clearedCookie, sessionCookie } from './session-cookie.js';

test('a hash has the cost of the contract, and its password alone is right', async () => {
  const passwords = new Passwords();
  const hash = await passwords.hash('correct horse');
  expect(bcrypt.parseOptions(hash)).toMatchObject({ cost: 10 });
  expect(await passwords.verify('correct horse', hash)).toBe(true);
  expect(await passwords.verify('correct horsf', hash)).toBe(false);
  expect(await passwords.verify('correct horse', undefined), 'of nobody').toBe(false);
  expect(await passwords.verify('x'.repeat(2_000), hash), 'too long for anybody').toBe(false);
  expect(await passwords.verify('correct horse', 'no hash')).toBe(false);
});

test('what waits is bounded, and goes on in the order in which it came', async () => {
  const turns = new Turns(2, 3);
  const ends: (() => void)[] = [];
  const began: number[] = [];
  const run = (at: number) =>
    turns.run(() => {
      began.push(at);
      return new Promise<void>((resolve) => ends.push(resolve));
    });
  const all = [0, 1, 2, 3, 4].map(run);
  await expect(run(5)).rejects.toThrow(OverloadedError);
  expect(began).toEqual([0, 1]);
  for (let at = 0; at < 5; at++) {
    ends[at]?.();
    await all[at];
    await Promise.resolve();
  }
  expect(began).toEqual([0, 1, 2, 3, 4]);
  await expect(turns.run(() => Promise.reject(new Error('wrong')))).rejects.toThrow('wrong');
  await expect(turns.run(async () => 'goes on')).resolves.toBe('goes on');
});

test('cookies are spelled as the contract has them', () => {
  const plain = { name: 'svc_session', isSecure: false };
  expect(sessionCookie(plain, 'T', 86_400)).toBe(
    'svc_session=T; Path=/; HttpOnly; SameSite=Lax; Max-Age=86400',
  );
  expect(sessionCookie({ ...plain, isSecure: true }, 'T', 5)).toMatch(/Max-Age=5; Secure$/);
  expect(sessionCookie({ ...plain, domain: 'b.c' }, 'T', 5)).toMatch(/; Domain=b\.c; Secure$/);
  expect(clearedCookie(plain)).toMatch(/^svc_session=; .*Max-Age=0$/);
});
