// Goal: the totals count each message once that is stored, done with or dead, and nothing that did
// not happen. Method: calls over a planner and their entries, applied.
import { expect, test } from 'vitest';
import { EngineRig } from '../testing/engine.fake.js';
import { readTotals } from './cluster-totals.js';

test('pushes, duplicates, acks of several groups, dead letters', () => {
  const rig = new EngineRig();
  expect(readTotals(rig.state)).toEqual({ pushed: 0, acked: 0, deadLettered: 0 });
  rig.push('q', 'p', ['a', 'b', 'c']);
  rig.push('q', 'p', ['a', 'd']);
  expect(readTotals(rig.state)).toEqual({ pushed: 4, acked: 0, deadLettered: 0 });
  const one = rig.pop({ queue: 'q', partition: 'p', consumerGroup: 'one' });
  const number = one.claims[0]?.partitionNumber ?? 0;
  rig.ack(number, one.leaseId, [['c', 'completed']], 'one');
  expect(readTotals(rig.state)).toEqual({ pushed: 4, acked: 3, deadLettered: 0 });
  const two = rig.pop({ queue: 'q', partition: 'p', consumerGroup: 'two' });
  rig.ack(number, two.leaseId, [['b', 'completed']], 'two');
  expect(readTotals(rig.state)).toEqual({ pushed: 4, acked: 5, deadLettered: 0 });
  rig.ack(number, two.leaseId, [['c', 'dlq']], 'two');
  expect(readTotals(rig.state)).toEqual({ pushed: 4, acked: 6, deadLettered: 1 });
  rig.pop({ queue: 'q', partition: 'p', consumerGroup: 'three', autoAck: true });
  expect(readTotals(rig.state)).toEqual({ pushed: 4, acked: 10, deadLettered: 1 });
});
