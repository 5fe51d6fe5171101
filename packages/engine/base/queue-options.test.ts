// Goal: defaults, implicit labels and the merge rules of message-plane 7.
// Method: a table of calls in sequence.
import { expect, test } from 'vitest';
import { CONFIGURE_DEFAULTS, changeOptions, implicitOptions } from './queue-options.js';

test.each([
  ['orders', 'orders', ''],
  ['billing.invoice.eu', 'billing', 'invoice'],
  ['a.', 'a', ''],
  ['.b', '', 'b'],
  ['', '', ''],
])('a queue named %j has namespace %j and task %j', (name, namespace, task) => {
  const options = implicitOptions(name);
  expect([options.namespace, options.task, options.leaseTime]).toEqual([namespace, task, 60]);
});

test('merge keeps what is not named, null restores the configure default', () => {
  const created = implicitOptions('ship.labels');
  const merged = changeOptions(created, { dedupWindowSeconds: 0, retryLimit: 7 }, false);
  expect(merged).toEqual({ ...created, dedupWindowSeconds: 0, retryLimit: 7 });
  const restored = changeOptions(merged, { leaseTime: null, namespace: null }, false);
  expect(restored).toEqual({ ...merged, leaseTime: 300, namespace: '' });
});

test('replace resets what is not named, creation starts from the defaults', () => {
  const before = changeOptions(null, { leaseTime: 5, task: 't' }, false);
  expect(before).toEqual({ ...CONFIGURE_DEFAULTS, leaseTime: 5, task: 't' });
  expect(changeOptions(before, { retryLimit: 1 }, true)).toEqual({
    ...CONFIGURE_DEFAULTS,
    retryLimit: 1,
  });
});

test('clamped options and unknown names', () => {
  const options = changeOptions(
    null,
    { minPopWaitTime: 90_000, dedupWindowSeconds: -5, x: 1 },
    false,
  );
  expect([options.minPopWaitTime, options.dedupWindowSeconds, 'x' in options]).toEqual([
    60_000,
    0,
    false,
  ]);
});
