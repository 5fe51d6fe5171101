// Goal: names and limits are taken as the contract spells them (gateway 2). Method: tables.
import { expect, test } from 'vitest';
import {
  emailOf,
  keyHashOf,
  nameOf,
  overridesOf,
  planCodeOf,
  roleOf,
  scopesOf,
  slugOf,
} from './checks.js';

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
  [keyHashOf, LONG, LONG],
  [keyHashOf, LONG.toUpperCase(), null],
  [keyHashOf, LONG.slice(1), null],
  [emailOf, ' A@B.c ', 'a@b.c'],
  [emailOf, 'a', null],
  [emailOf, '@b', null],
  [emailOf, 'a@b@c', null],
  [emailOf, 'a b@c', null],
  [emailOf, 'a\u0000@c', null],
  [emailOf, `${'a'.repeat(254)}@b`, null],
  [nameOf, ' a b ', 'a b'],
  [nameOf, ' ', null],
  [nameOf, 'a\nb', null],
  [nameOf, 'a'.repeat(161), null],
  [scopesOf, ['read', 'produce', 'read'], ['produce', 'read']],
  [scopesOf, [], null],
  [scopesOf, ['all'], null],
  [scopesOf, 'read', null],
  [roleOf, 'viewer', 'viewer'],
  [roleOf, 'owner', null],
  [overridesOf, { max_queues: 0, req_burst: null }, { max_queues: 0, req_burst: null }],
  [overridesOf, {}, {}],
  [overridesOf, { max_queues: -1 }, null],
  [overridesOf, { max_queues: 1.5 }, null],
  [overridesOf, { max_queues: '1' }, null],
  [overridesOf, { max_cows: 1 }, null],
  [overridesOf, [], null],
  [overridesOf, null, null],
] as const)('%o takes %j as %j', (of, value, wanted) => {
  expect((of as (value: unknown) => unknown)(value)).toEqual(wanted);
});
