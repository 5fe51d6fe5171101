// Goal: the lag of every group is counted over all queues, or the walk says that it is not
// complete. Method: the engine's rig with a few queues, groups that are ahead and behind, and
// bounds that end the walk.
import { describe, expect, test } from 'vitest';
import { EngineRig } from '../testing/engine.fake.js';
import { walked } from '../testing/page.fake.js';
import { groupLags } from './group-lag.js';

const MANY = { cursorsMax: 1000, rowsMax: 1000 };

function lags(rig: EngineRig, limits = MANY) {
  return walked(groupLags(rig.state, limits));
}

function rigWithGroups(): EngineRig {
  const rig = new EngineRig();
  rig.push('orders', 'p', ['a', 'b', 'c']);
  rig.push('orders', 'q', ['d']);
  rig.push('mail', 'p', ['e']);
  rig.pop({ queue: 'orders', consumerGroup: 'behind', partitions: 1, batch: 1 });
  rig.pop({ queue: 'orders', consumerGroup: 'ahead', partitions: 9, autoAck: true });
  rig.pop({ queue: 'mail', consumerGroup: 'ahead', partitions: 9 });
  return rig;
}

describe('lag of groups', () => {
  test('what is leased counts, what is committed does not', () => {
    const { rows, isComplete } = lags(rigWithGroups());
    expect(isComplete).toBe(true);
    const shown = rows.map(({ queue, group, messages, oldestUs }) => {
      return `${group} at ${queue}: ${messages} ${oldestUs === null ? 'none' : 'old'}`;
    });
    expect(shown.sort()).toEqual([
      'ahead at mail: 1 old',
      'ahead at orders: 0 none',
      'behind at orders: 4 old',
    ]);
  });

  test.each([
    { cursorsMax: 1, rowsMax: 1000 },
    { cursorsMax: 1000, rowsMax: 1 },
  ])('a walk that %j ends says so', (limits) => {
    const { rows, isComplete } = lags(rigWithGroups(), limits);
    expect(isComplete).toBe(false);
    expect(rows.length).toBeLessThan(3);
  });
});
