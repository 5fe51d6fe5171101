// Goal: names and limits are taken as the contract spells them (gateway 2). Method: tables.
import { expect, test } from 'vitest';
import { keyHashOf, nameOf, overridesOf, roleOf, scopesOf } from './checks.js';

const LONG = 'a'.repeat(64);

test.each([
  [keyHashOf, LONG, LONG],
  [keyHashOf, LONG.toUpperCase(), null],
  [keyHashOf, LONG.slice(1), null],
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
