// Goal: names of the gateway's records and its secrets are taken as the contract spells them
// (gateway 2 and 8). Method: a table.
import { expect, test } from 'vitest';
import { emailOf, givenApiKeyOf, newPasswordOf, planCodeOf, slugOf } from './record-names.js';

const LONG = 'a'.repeat(64);

test.each([
  [slugOf, ' Acme-1 ', 'acme-1'],
  [slugOf, 'a', 'a'],
  [slugOf, '-a', null],
  [slugOf, 'a-', null],
  [slugOf, 'a_b', null],
  [slugOf, LONG, null],
  [slugOf, LONG.slice(1), LONG.slice(1)],
  [slugOf, 7, null],
  [planCodeOf, 'dedicated-s', 'dedicated-s'],
  [planCodeOf, '1a', null],
  [emailOf, ' A@B.c ', 'a@b.c'],
  [emailOf, 'É@b.c', 'é@b.c'],
  [emailOf, '\u212Aate@b.c', null],
  [emailOf, 'a', null],
  [emailOf, '@b', null],
  [emailOf, 'a@b@c', null],
  [emailOf, 'a b@c', null],
  [emailOf, 'a\u0000@c', null],
  [emailOf, `${'a'.repeat(254)}@b`, null],
  [planCodeOf, LONG, null],
  [planCodeOf, 7, null],
  [newPasswordOf, ' twelve char', ' twelve char'],
  [newPasswordOf, 'x'.repeat(128), 'x'.repeat(128)],
  [newPasswordOf, 'x'.repeat(129), null],
  [newPasswordOf, 'x'.repeat(11), null],
  [newPasswordOf, 7, null],
  [givenApiKeyOf, 'qk_', 'qk_'],
  [givenApiKeyOf, 'qk-x', null],
  [givenApiKeyOf, `qk_${'x'.repeat(253)}`, `qk_${'x'.repeat(253)}`],
  [givenApiKeyOf, `qk_${'x'.repeat(254)}`, null],
] as const)('%o takes %j as %j', (of, value, wanted) => {
  expect((of as (value: unknown) => unknown)(value)).toEqual(wanted);
});
