// Goal: the autopilot sizes what a pop left out, by ready partitions, waiting pops and the rate of
// acknowledgements, and costs groups nothing that do not ask for it.
// Method: the planner driven turn by turn; the rate is fed by acks and by deliveries that commit.
import { beforeEach, expect, test } from 'vitest';
import { DELIVERY_LIMITS } from '../base/delivery-limits.js';
import { groups } from '../base/tables.js';
import { EngineRig, type PopOptions } from '../testing/engine.fake.js';
import { AUTOPILOT_LIMITS, DrainRate } from './autopilot.js';

const BOTH = { partitions: true, batch: true };

let rig: EngineRig;

beforeEach(() => {
  rig = new EngineRig();
});

/** Those of a pop that finds something, and is done with it. */
function sizes(options: PopOptions = {}): unknown {
  rig.push('q', 'probe', [`probe${rig.entries}`]);
  return rig.pop({ autopilot: BOTH, batch: 200, autoAck: true, ...options }).terms?.autopilot;
}

function ids(count: number, from = 0): string[] {
  return Array.from({ length: count }, (_, i) => `m${from + i}`);
}

/** A batch of the messages of 20 s, so that a few messages make a rate. */
const SLOW = { drainMs: 20_000, batchMin: 100, batchMax: 1000 };

/** Consumes `perSecond` for half a minute, in steps of a quarter of a second. */
function consume(perSecond: number, autoAck = false): void {
  const count = perSecond / 4;
  for (let step = 0; step < 120; step++) {
    const batch = ids(count, rig.entries * 1000);
    rig.push('q', 'load', batch);
    const { leaseId, claims } = rig.pop({ partition: 'load', batch: count, autoAck });
    if (!autoAck) {
      const number = claims[0]?.partitionNumber ?? 0;
      rig.ack(number, leaseId, [[batch[count - 1] ?? '', 'completed']]);
    }
    rig.advance(250);
  }
}

test('cold: one partition, the smallest batch', () => {
  expect(sizes()).toEqual({ partitions: 1, batch: 100 });
});

test('the width shares the ready partitions out', () => {
  for (let p = 0; p < 5; p++) rig.push('q', `p${p}`, ['a', 'b']);
  const popped = rig.pop({ autopilot: BOTH, batch: 200 });
  expect(popped.terms?.autopilot).toEqual({ partitions: 5, batch: 100 });
  expect(popped.claims).toHaveLength(5);
  const waiters = [0, 1, 2].map(() => rig.wait({ autopilot: BOTH }));
  for (const { partition } of popped.claims) {
    rig.send(rig.popCommand({ consumerGroup: partition }));
  }
  rig.giveBack(popped);
  const claimed = waiters.map(({ outcome }) =>
    outcome?.kind === 'popped' ? outcome.terms?.autopilot?.partitions : null,
  );
  expect(claimed).toEqual([2, 2, 1]);
});

test('at most 64 partitions', () => {
  for (let p = 0; p < 70; p++) rig.push('q', `p${p}`, ['a']);
  rig.pop({ consumerGroup: 'g', batch: 1, partitions: 1 });
  expect(sizes()).toMatchObject({ partitions: 64 });
});

test('the batch follows the rate of acknowledgements', () => {
  rig = new EngineRig(DELIVERY_LIMITS, { autopilot: SLOW });
  sizes();
  consume(32);
  // 32 a second, for 20 s.
  expect(sizes()).toMatchObject({ batch: expect.closeTo(640, -2) });
  consume(80);
  expect(sizes()).toMatchObject({ batch: 1000 });
  rig.advance(60_000);
  expect(sizes()).toMatchObject({ batch: 100 });
});

test('deliveries that commit count as acknowledged', () => {
  rig = new EngineRig(DELIVERY_LIMITS, { autopilot: SLOW });
  sizes();
  consume(32, true);
  expect(sizes()).toMatchObject({ batch: expect.closeTo(640, -2) });
});

test('each group has a rate of its own, and another leader begins anew', () => {
  rig = new EngineRig(DELIVERY_LIMITS, { autopilot: SLOW });
  sizes();
  sizes({ consumerGroup: 'other' });
  consume(32);
  expect(sizes()).not.toMatchObject({ batch: 100 });
  expect(sizes({ consumerGroup: 'other' })).toMatchObject({ batch: 100 });
  rig.restart();
  expect(sizes()).toMatchObject({ batch: 100 });
});

test('nothing is measured before somebody asks', () => {
  rig = new EngineRig(DELIVERY_LIMITS, { autopilot: SLOW });
  consume(32);
  expect(sizes()).toMatchObject({ batch: 100 });
});

test('only what was left out is chosen', () => {
  for (let p = 0; p < 5; p++) rig.push('q', `p${p}`, ids(3));
  const batch = rig.pop({ autopilot: { partitions: false, batch: true }, partitions: 2 });
  expect(batch.terms?.autopilot).toEqual({ partitions: 2, batch: 100 });
  expect(batch.claims).toHaveLength(2);
  const width = rig.pop({ autopilot: { partitions: true, batch: false }, batch: 4 });
  expect(width.terms?.autopilot).toEqual({ partitions: 3, batch: 4 });
  expect(rig.texts(width)).toEqual(['m0', 'm1', 'm2', 'm0']);
});

test('a group that conflates is not sized', () => {
  rig.pop({ conflation: true });
  expect(rig.pop({ autopilot: BOTH }).terms).toEqual({
    conflation: true,
    conflationConflict: false,
    autopilot: null,
  });
  rig.pop({ consumerGroup: 'plain' });
  expect(rig.pop({ consumerGroup: 'plain', conflation: true, autopilot: BOTH }).terms).toEqual({
    conflation: false,
    conflationConflict: true,
    autopilot: null,
  });
});

test('the answer of a pop that waited is sized when it is served', () => {
  const waiting = rig.wait({ autopilot: BOTH });
  for (let p = 0; p < 3; p++) rig.send(rig.popCommand({ queue: 'other' }));
  rig.push('q', 'p', ids(150));
  const { outcome } = waiting;
  if (outcome?.kind !== 'popped') throw new Error('not answered');
  expect(outcome.terms?.autopilot).toEqual({ partitions: 1, batch: 100 });
  expect(rig.texts(outcome)).toHaveLength(100);
  expect(rig.rows(groups)).toHaveLength(2);
});

test('a rate fades and never grows by waiting', () => {
  const rate = new DrainRate(0);
  rate.add(1000, 0);
  const first = rate.perSecond(0);
  expect(first).toBe(200);
  expect(rate.perSecond(5000)).toBeCloseTo(first / Math.E);
  expect(rate.perSecond(1e9)).toBe(0);
  expect(AUTOPILOT_LIMITS).toEqual({ drainMs: 200, batchMin: 100, batchMax: 1000 });
});
