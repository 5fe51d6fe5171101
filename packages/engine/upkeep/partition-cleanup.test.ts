/**
 * Goal: a partition goes when all that the contract names holds, and for no less. Method: one that
 * would go, spared by each reason in turn; what comes after it; and a walk over many.
 */
import { describe, expect, test } from 'vitest';
import { cursors, partitionNumbers, partitions, queuePartitions, queues } from '../base/tables.js';
import { EngineRig, TENANT } from '../testing/engine.fake.js';
import { wrongCounts } from '../testing/log-use.fake.js';
import { cycle, queryOf } from '../testing/stream.fake.js';

const DAY_MS = 86_400_000;

/** Queue `q` with partition `Default`, emptied by retention; partitions go after two days. */
function rigWithEmpty(): EngineRig {
  const cleanup = { intervalMs: 5000, afterUs: 2 * DAY_MS * 1000 };
  const rig = new EngineRig(undefined, { cleanup });
  rig.configure('q', { maxWaitTimeSeconds: 10 });
  rig.push('q', 'p', ['a']);
  rig.advance(60_000);
  rig.turn();
  expect(names(rig)).toEqual(['Default', 'p']);
  return rig;
}

function names(rig: EngineRig): string[] {
  return rig.rows(partitions).map((row) => row.name);
}

function pass(rig: EngineRig, ms: number): void {
  rig.advance(ms);
  rig.turn();
}

describe('partition cleanup', () => {
  test('removes what was created and written long ago and holds nothing', () => {
    const rig = rigWithEmpty();
    pass(rig, DAY_MS);
    expect(names(rig)).toEqual(['Default', 'p']);
    pass(rig, DAY_MS + 60_000);
    expect(names(rig)).toEqual([]);
    expect([rig.rows(partitionNumbers), rig.rows(queuePartitions)]).toEqual([[], []]);
    expect(rig.rows(queues)).toMatchObject([{ partitions: 0 }]);
    expect(wrongCounts(rig.state)).toEqual([]);
  });

  test('removes nothing where it is switched off', () => {
    const rig = new EngineRig();
    rig.configure('q', {});
    for (let day = 0; day < 100; day++) pass(rig, DAY_MS);
    expect(names(rig)).toEqual(['Default']);
    expect(rig.planner.nextDueMs()).toBeNull();
  });

  test('gives the name to another partition, read from its beginning', () => {
    const rig = rigWithEmpty();
    const [before] = rig.rows(partitions).filter((row) => row.name === 'p');
    rig.pop({ partition: 'p' });
    pass(rig, 3 * DAY_MS);
    rig.push('q', 'p', ['b']);
    const [after] = rig.rows(partitions);
    expect(after).toMatchObject({ name: 'p', nextOffset: 1, logStart: 0 });
    expect(after?.number).toBeGreaterThan(before?.number ?? 0);
    expect(after?.id).not.toBe(before?.id);
    expect(rig.texts(rig.pop())).toEqual(['b']);
  });

  test.each<[string, (rig: EngineRig) => void]>([
    ['a message that is retained', (rig) => rig.configure('q', { maxWaitTimeSeconds: 0 })],
    ['a write not long ago', () => {}],
  ])('spares one with %s', (_why, prepare) => {
    const rig = rigWithEmpty();
    prepare(rig);
    pass(rig, DAY_MS);
    rig.push('q', 'p', ['b']);
    pass(rig, 60_000);
    pass(rig, 1.5 * DAY_MS);
    expect(names(rig)).toEqual(['p']);
  });

  test('spares one of which a stream has state, until that is gone', () => {
    const rig = rigWithEmpty();
    const queryId = queryOf(rig);
    const partitionId = 2;
    cycle(rig, { queryId, partitionId, state: [['k', '1']] });
    pass(rig, 10 * DAY_MS);
    pass(rig, 60_000);
    expect(names(rig)).toEqual(['p']);
    cycle(rig, { queryId, partitionId, state: [['k', null]] });
    pass(rig, 60_000);
    expect(names(rig)).toEqual([]);
  });

  test('spares one with a dead letter', () => {
    const rig = rigWithEmpty();
    rig.push('q', 'p', ['b']);
    const popped = rig.pop({ partition: 'p' });
    const [claim] = popped.claims;
    rig.ack(claim?.partitionNumber ?? 0, popped.leaseId, [['b', 'dlq']]);
    pass(rig, 10 * DAY_MS);
    pass(rig, 60_000);
    expect(names(rig)).toEqual(['p']);
  });

  test('spares one with a young cursor, and takes the cursors of one that goes', () => {
    const rig = rigWithEmpty();
    rig.push('q', 'p', ['b']);
    rig.pop({ partition: 'p', autoAck: true, consumerGroup: 'old' });
    pass(rig, 1.5 * DAY_MS);
    rig.pop({ partition: 'p', consumerGroup: 'young', subscription: { mode: 'new' } });
    expect(rig.rows(cursors)).toHaveLength(2);
    pass(rig, DAY_MS);
    expect(names(rig)).toEqual(['p']);
    pass(rig, DAY_MS + 60_000);
    expect([names(rig), rig.rows(cursors)]).toEqual([[], []]);
  });

  test('spares one that is leased, or was until lately', () => {
    const rig = rigWithEmpty();
    rig.push('q', 'p', ['b']);
    rig.pop({ partition: 'p', leaseSeconds: 3 * 86_400 });
    pass(rig, 2.5 * DAY_MS);
    expect(names(rig)).toEqual(['p']);
    pass(rig, 2 * DAY_MS);
    expect(names(rig)).toEqual(['p']);
    pass(rig, DAY_MS);
    expect(names(rig)).toEqual([]);
  });

  test('spares one that a pop waits for', () => {
    const rig = rigWithEmpty();
    rig.advance(3 * DAY_MS);
    const waiting = rig.wait({ partition: 'p' });
    expect(names(rig)).toEqual(['p']);
    rig.push('q', 'p', ['b']);
    expect(rig.texts(waiting.outcome)).toEqual(['b']);
  });

  test('leaves the partitions of a deleted queue to its sweep', () => {
    const rig = rigWithEmpty();
    rig.advance(3 * DAY_MS);
    rig.call({ kind: 'delete-queue', tenant: TENANT, queue: 'q' });
    expect(names(rig)).toEqual([]);
  });

  test('walks over any number of partitions, some in each round, and begins again', () => {
    const cleanup = { intervalMs: 5000, afterUs: 2 * DAY_MS * 1000 };
    const rig = new EngineRig(undefined, { cleanup });
    for (let i = 0; i < 1500; i++) {
      const queue = `q${i}`;
      rig.send({ kind: 'configure', tenant: TENANT, queue, replace: false, changes: {} });
    }
    rig.turnAll();
    rig.advance(3 * DAY_MS);
    const left: number[] = [];
    for (let i = 0; i < 4; i++) {
      pass(rig, 61_000);
      left.push(names(rig).length);
    }
    expect(left[0]).toBeGreaterThan(0);
    expect(left.at(-1)).toBe(0);
  });
});
