/**
 * Goal: the floor of the log is never above an entry that a row refers to. Method: every table is
 * judged by name, so that a new one cannot be forgotten; directed cases; then random appends and
 * deletions between the steps of passes, compared with all rows of the state at the end of the
 * pass and of every later state.
 */
import { describe, expect, test } from 'vitest';
import { appendKey } from './keys.js';
import { LogSurvey } from './log-survey.js';
import { MapState } from './map-state.js';
import { SeededRandom } from './random.fake.js';
import type { Key } from './state.js';
import { TABLES } from './table-list.js';
import { appends } from './tables.js';

const REFERS: Readonly<Record<string, boolean>> = {
  meta: false,
  queueNumbers: false,
  queues: false,
  partitionNumbers: false,
  partitions: false,
  queuePartitions: false,
  appends: true,
  cursors: false,
  groups: false,
  // Holds its own payload.
  deadLetters: false,
  doomedQueues: false,
  sharedLeases: false,
  // Holds the data of the entry; its index is a name.
  memberships: false,
  // Holds the outcome itself.
  requests: false,
  clusterVersions: false,
  // Offsets and hashes.
  transactionRuns: false,
};

function put(state: MapState, partition: number, offset: number, index: number): void {
  state.put(appends, appendKey(partition, offset), {
    count: 1,
    stampUs: index,
    index,
    position: 0,
    length: 1,
  });
}

function lowest(state: MapState): number {
  const rows = state.range(appends, '' as Key, '\xff'.repeat(12) as Key, 1_000_000);
  return rows.reduce((least, { row }) => Math.min(least, row.index), Number.MAX_SAFE_INTEGER);
}

describe('the log survey', () => {
  test('knows of every table whether it refers to the log', () => {
    expect(TABLES.map(({ name }) => name).filter((name) => REFERS[name] === undefined)).toEqual([]);
  });

  test('of nothing says that nothing before the next entry is needed', () => {
    expect(new LogSurvey(new MapState()).step(10, 41)).toEqual({ floor: 42, asOf: 41 });
  });

  test('takes the first append of each partition, a few partitions at a time', () => {
    const state = new MapState();
    put(state, 1, 5, 30);
    put(state, 1, 6, 31);
    put(state, 2, 0, 12);
    put(state, 0xffff_fffe, 0, 7);
    const survey = new LogSurvey(state);
    expect(survey.step(2, 40)).toBeNull();
    expect(survey.step(2, 41)).toEqual({ floor: 7, asOf: 41 });
    state.delete(appends, appendKey(0xffff_fffe, 0));
    expect(survey.step(10, 42)).toEqual({ floor: 12, asOf: 42 });
  });

  test.each(Array.from({ length: 40 }, (_, seed) => seed))(
    'is right for the state at its end and ever after (seed %i)',
    (seed) => {
      const random = new SeededRandom(seed);
      const state = new MapState();
      const survey = new LogSurvey(state);
      const heads = new Map<number, { first: number; next: number }>();
      const floors: number[] = [];
      for (let index = 1; index <= 400; index++) {
        const partition = 1 + random.below(12);
        const head = heads.get(partition) ?? { first: 0, next: 0 };
        heads.set(partition, head);
        if (random.next() < 0.5 || head.first === head.next)
          put(state, partition, head.next++, index);
        else state.delete(appends, appendKey(partition, head.first++));
        const need = random.next() < 0.5 ? survey.step(1 + random.below(4), index) : null;
        if (need !== null) {
          expect([seed, index, need.asOf]).toEqual([seed, index, index]);
          floors.push(need.floor);
        }
        const floor = Math.max(0, ...floors);
        expect([seed, index, lowest(state) >= floor]).toEqual([seed, index, true]);
      }
      expect(floors.length).toBeGreaterThan(5);
    },
  );
});
