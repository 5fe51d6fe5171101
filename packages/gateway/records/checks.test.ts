// Goal: names and limits are taken as the contract spells them (gateway 2). Method: tables.
import { expect, test } from 'vitest';
import { keyHashOf, nameOf, overridesFault, overridesOf, roleOf, scopesOf } from './checks.js';

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

const RANGE = 'must be a whole number from 0 to 9007199254740991, or null';

test.each([
  [{ max_queues: 1, req_burst: -1 }, undefined, `req_burst ${RANGE}`],
  [{ max_queues: 2 ** 53 }, 'overrides', `overrides.max_queues ${RANGE}`],
  [{ max_queues: '1' }, 'overrides', `overrides.max_queues ${RANGE}`],
  [[], undefined, 'the overrides must be an object of limits, or null'],
  ['x', 'overrides', 'overrides must be an object of limits, or null'],
  [{ max_queues: null, req_burst: 0 }, undefined, null],
])('overrides %j of %s: %s', (value, member, wanted) => {
  expect(overridesFault(value, member)).toBe(wanted);
});

test('a limit that is none is named, however long it is, and all that are', () => {
  const fault = overridesFault({ ['x'.repeat(100_000)]: 1 }) ?? '';
  expect(fault).toMatch(/^x{64}\.\.\. is no limit; the limits are max_req_per_sec, req_burst, /);
  expect(fault.length).toBeLessThan(400);
});
