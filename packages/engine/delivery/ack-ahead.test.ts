// Goal: an acknowledgement of one target that is more than a slice is looked up over several turns
// and decided in one, with the outcome that it would have had at once. Method: two rigs, in one of
// which the cursor moves meanwhile; units of work of each turn.
import { expect, test } from 'vitest';
import type { AckItem, AckStatus } from '../base/commands/commands.js';
import { SLICE_UNITS, TURN_UNITS } from '../base/work-prices.js';
import { EngineRig, TENANT } from '../testing/engine.fake.js';

const COUNT = 8000;
const IDS = Array.from({ length: COUNT }, (_, i) => `t${i}`);

function filled() {
  const rig = new EngineRig();
  for (let from = 0; from < COUNT; from += 1000) rig.push('q', 'p', IDS.slice(from, from + 1000));
  const popped = rig.pop({ batch: COUNT });
  const partition = popped.claims[0]?.partitionNumber ?? 0;
  return { rig, leaseId: popped.leaseId, partition };
}

function ack(partition: number, leaseId: string, ids: readonly string[], status: AckStatus) {
  const items = ids.map((transactionId): AckItem => {
    return { transactionId, partitionId: String(partition), leaseId, status, error: null };
  });
  return { kind: 'ack', tenant: TENANT, consumerGroup: 'g', items } as const;
}

test('each turn looks up a slice, and small commands go on', () => {
  const { rig, leaseId, partition } = filled();
  const request = rig.send(ack(partition, leaseId, [...IDS, 'unknown'], 'completed'));
  let turns = 0;
  for (; request.outcome === null; turns++) {
    rig.push('other', 'p', [`x${turns}`]);
    expect(rig.units).toBeLessThan(SLICE_UNITS + TURN_UNITS);
  }
  expect(turns).toBe(3);
  if (request.outcome.kind !== 'acked') throw new Error(request.outcome.kind);
  const { items } = request.outcome;
  expect(
    items.slice(0, COUNT).every(({ success, leaseReleased }) => success && leaseReleased),
  ).toBe(true);
  expect(items[COUNT]).toMatchObject({ success: false, error: expect.stringMatching(/^unresolv/) });
});

test('a cursor that moved meanwhile is judged as it is then', () => {
  const { rig, leaseId, partition } = filled();
  const request = rig.send(ack(partition, leaseId, IDS, 'completed'));
  rig.turn();
  expect(rig.ack(partition, leaseId, [['t99', 'completed']]).items[0]?.success).toBe(true);
  rig.turnAll();
  if (request.outcome?.kind !== 'acked') throw new Error('no answer');
  const noops = request.outcome.items.filter(({ noop }) => noop);
  expect(noops).toHaveLength(100);
});

test('a leader that comes up begins anew', () => {
  const { rig, leaseId, partition } = filled();
  rig.send(ack(partition, leaseId, IDS, 'completed'));
  rig.turn();
  rig.restart(2);
  const again = rig.send(ack(partition, leaseId, IDS, 'completed'));
  rig.turnAll();
  expect(again.outcome).toMatchObject({ items: { length: COUNT } });
});
