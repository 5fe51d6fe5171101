// Goal: group names, which clients choose freely, cannot fill the leader's memory, and a lease
// stays exclusive to its end although its group was forgotten.
// Method: pops with ever new groups under a small bound; then the leased group is asked again, with
// the wall clock moved.
import { expect, test } from 'vitest';
import { DELIVERY_LIMITS } from '../base/delivery-limits.js';
import { EngineRig } from '../testing/engine.fake.js';

const GROUPS_MAX = 20;

function rigWithManyGroups(forget: boolean): EngineRig {
  const rig = new EngineRig({ ...DELIVERY_LIMITS, groupsMax: GROUPS_MAX });
  rig.push('q', 'p', ['a']);
  expect(rig.texts(rig.pop({ partition: 'p', consumerGroup: 'first' }))).toEqual(['a']);
  for (let i = 0; forget && i < 3 * GROUPS_MAX; i++) {
    rig.advance(1);
    const popped = rig.pop({ partition: 'p', consumerGroup: `g${i}`, leaseSeconds: 40 });
    expect(rig.texts(popped)).toEqual(['a']);
  }
  return rig;
}

test('ever new groups, each with a live lease, are bounded', () => {
  const rig = rigWithManyGroups(true);
  expect(rig.planner.groupCount).toBeLessThanOrEqual(GROUPS_MAX);
});

test('a group that somebody waits for stays', () => {
  const rig = new EngineRig({ ...DELIVERY_LIMITS, groupsMax: GROUPS_MAX });
  const waiting = rig.wait({ consumerGroup: 'first' });
  for (let i = 0; i < 3 * GROUPS_MAX; i++) {
    rig.advance(100);
    rig.pop({ consumerGroup: `g${i}` });
  }
  expect(rig.planner.groupCount).toBeLessThanOrEqual(GROUPS_MAX);
  rig.push('q', 'p', ['a']);
  expect(rig.texts(waiting.outcome)).toEqual(['a']);
});

test.each([0, -3600, 3600])('a forgotten lease ends no earlier; wall clock %i s', (leapSeconds) => {
  const rig = rigWithManyGroups(true);
  const pop = () => rig.texts(rig.pop({ partition: 'p', consumerGroup: 'first' }));
  rig.wallUs += leapSeconds * 1_000_000;
  rig.advance(29_900);
  expect(pop()).toEqual([]);
  rig.advance(10_200);
  expect(pop()).toEqual(['a']);
});
