/**
 * Goal: the floor of the log is never above an entry that a row refers to, and what counts live
 * appends by their place is right whatever happens to them. Method: every table is judged by name,
 * so that a new one cannot be forgotten; then random pushes, trims, moves, deletions and sweeps,
 * counted anew from all rows after each; and what lies below the floor is taken away, so that
 * whoever still reads it is noticed.
 */
import { describe, expect, test } from 'vitest';
import { appendKeyOffset, numberKey, numberRange } from '../base/keys.js';
import { MapState } from '../base/map-state.js';
import type { Key } from '../base/state.js';
import { appends, partitions, queues } from '../base/tables.js';
import { createPartition, createQueue } from '../draft/creation.js';
import { Draft } from '../draft/draft.js';
import { PlannedState } from '../draft/planned-state.js';
import { PlannedTransactions } from '../draft/planned-transaction-ids.js';
import { EngineRig, pushCommand, TENANT } from '../testing/engine.fake.js';
import { wrongCounts } from '../testing/log-use.fake.js';
import { SeededRandom } from '../testing/random.fake.js';
import { applyEntry } from './apply.js';
import { countAppend, discountAppend, liveStretches } from './log-use.js';
import { TABLES } from './table-list.js';
import { TransactionIndex } from './transaction-ids/id-index.js';

const REFERS: Readonly<Record<string, boolean>> = {
  meta: false,
  queueNumbers: false,
  queues: false,
  partitionNumbers: false,
  partitions: false,
  queuePartitions: false,
  appends: true,
  // Counts what append rows refer to.
  logUse: false,
  oldestAppends: false,
  cursors: false,
  groups: false,
  // They hold their own payloads.
  deadLetters: false,
  deadLetterBodies: false,
  deadLetterOffsets: false,
  deadLetterTransactions: false,
  deadLetterCounts: false,
  traces: false,
  traceData: false,
  traceIndex: false,
  traceTotals: false,
  traceMessages: false,
  doomedQueues: false,
  sharedLeases: false,
  // Holds the data of the entry; its index is a name.
  memberships: false,
  // Holds the outcome itself.
  requests: false,
  clusterVersions: false,
  groupChanges: false,
  // They hold their own values.
  kvRows: false,
  kvExpiries: false,
  kvNamespaces: false,
  kvUse: false,
  kvCounter: false,
  streamNames: false,
  streamQueries: false,
  streamCounts: false,
  streamStores: false,
  streamStates: false,
  streamValues: false,
  streamShards: false,
  streamPartitions: false,
  doomedStreams: false,
  clusterTotals: false,
  // They hold what operators and clients set.
  switches: false,
  grants: false,
  purges: false,
  ephemeralQueues: false,
  standbyRoles: false,
  sourcePositions: false,
  // They hold their own payloads.
  timers: false,
  timerDue: false,
  timerPayloads: false,
  timerUse: false,
  queuesByAge: false,
  groupQueues: false,
  queueLabels: false,
  labelCounts: false,
  nameCounts: false,
  // Offsets and hashes.
  transactionRuns: false,
};

function row(index: number, length = 10) {
  return { count: 1, stampUs: 1, index, position: 0, length, hasMessageIds: false };
}

test('it is known of every table whether it refers to the log', () => {
  expect(TABLES.map(({ name }) => name).filter((name) => REFERS[name] === undefined)).toEqual([]);
});

describe('what is live of the log', () => {
  test('is told by stretches, oldest first, and what has no live append is not told', () => {
    const state = new MapState();
    for (const index of [200, 5, 63, 64, 2 ** 40]) countAppend(state, index, 10);
    expect(liveStretches(state, 0, 10)).toEqual([
      { firstIndex: 0, endIndex: 64, appends: 2, bytes: 20 },
      { firstIndex: 64, endIndex: 128, appends: 1, bytes: 10 },
      { firstIndex: 192, endIndex: 256, appends: 1, bytes: 10 },
      { firstIndex: 2 ** 40, endIndex: 2 ** 40 + 64, appends: 1, bytes: 10 },
    ]);
    expect(liveStretches(state, 100, 1)[0]?.firstIndex).toBe(64);
    discountAppend(state, row(5));
    discountAppend(state, row(64));
    expect(liveStretches(state, 0, 2).map(({ firstIndex }) => firstIndex)).toEqual([0, 192]);
    expect(liveStretches(state, 0, 1)[0]?.appends).toBe(1);
  });

  test('is not let go twice', () => {
    const state = new MapState();
    countAppend(state, 5, 10);
    expect(() => discountAppend(state, row(70))).toThrow('is let go');
    expect(() => discountAppend(state, row(5, 11))).toThrow('is let go');
  });
});

test('what lets go of an append of its own entry finds it counted', () => {
  const state = new MapState();
  const transactions = TransactionIndex.load(state);
  const surroundings = {
    nodeId: 1,
    checksum: () => 0,
    newUuid: () => '01a2b3c4-0000-7000-8000-000000000001',
    readLog: () => new Uint8Array(0),
    cipher: null,
  };
  const planned = new PlannedState(state);
  const ids = new PlannedTransactions(transactions);
  const at = { index: 1, wallUs: 1_800_000_000_000_000, nowMs: 0 };
  const draft = new Draft(planned, ids, surroundings, at, 64);
  const queue = createQueue(draft, TENANT, 'q');
  const numbers = ['a', 'b', 'c'].map((name) => createPartition(draft, queue.number, name).number);
  for (const partition of numbers) {
    draft.append(partition, 0, (add, writer) => {
      add(writer, new Uint8Array([0x31]), 0, 1, null, null, null);
      return { count: 1, hasIds: false };
    });
    // What follows the second append is another run.
    if (partition === 2) draft.emit({ kind: 'trim', partition, upTo: 1, cause: 'age' });
  }
  const body = draft.finish();
  expect(liveStretches(planned, 0, 10)).toMatchObject([{ firstIndex: 0, appends: 2 }]);
  applyEntry(state, transactions, 1, body);
  expect(wrongCounts(state)).toEqual([]);
});

describe.each([0, 3])('with %i entries in flight', (lag) => {
  test.each(Array.from({ length: 5 }, (_, seed) => seed))('counts are right (seed %i)', (seed) => {
    const random = new SeededRandom(seed);
    const rig = new EngineRig();
    rig.lag = lag;
    const maxWait = { maxWaitTimeSeconds: 20 };
    rig.configure('q', maxWait);
    let moved = 0;
    for (let step = 0; step < 200; step++) {
      const partition = `p${random.below(4)}`;
      const queue = random.next() < 0.7 ? 'q' : 'other';
      const ids = Array.from({ length: 1 + random.below(3) }, (_, i) => `${step}.${i}`);
      rig.send(pushCommand(queue, partition, ids, random.next() < 0.5));
      if (random.next() < 0.03) rig.send({ kind: 'delete-queue', tenant: TENANT, queue });
      if (random.next() < 0.3) moved += rig.moveOldest(1 + random.below(3));
      if (random.next() < 0.05) rig.restart();
      if (random.next() < 0.05) rig.configure('q', maxWait);
      rig.turn();
      rig.advance(random.below(2000));
      expect([seed, step, wrongCounts(rig.planner.state)]).toEqual([seed, step, []]);
      expect([seed, step, wrongCounts(rig.state)]).toEqual([seed, step, []]);
      rig.forgetBefore(liveStretches(rig.state, 0, 1)[0]?.firstIndex ?? 0);
      if (step % 10 === 0) readAll(rig);
    }
    expect(moved).toBeGreaterThan(20);
  });
});

/** Every retained message, from the place that its row names. */
function readAll(rig: EngineRig): void {
  for (const { row: partition } of rig.state.range(partitions, '' as Key, '\xff' as Key, 1000)) {
    if (rig.state.get(queues, numberKey(partition.queue)) === undefined) continue;
    const [from, to] = numberRange(partition.number);
    for (const { key, row: append } of rig.state.range(appends, from, to, 1000)) {
      expect(rig.baseOffsetAt(append)).toBe(appendKeyOffset(key));
    }
  }
}
