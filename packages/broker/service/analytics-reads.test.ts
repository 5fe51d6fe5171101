/**
 * Goal: what reads of series hold in memory is bounded by their number, and each that ends, or
 * whose client goes, makes room for another. Method: rows of one node, and walks that the test
 * takes step by step.
 */
import { MapState, QueueFigures } from '@svc/engine';
import { expect, test } from 'vitest';
import type { GatheredSeries } from '../analytics/series-gather.js';
import { SeriesStore } from '../analytics/series-store.js';
import { MovedClock } from '../testing/moved-clock.fake.js';
import { blockAt, EVERYTHING, finish } from '../testing/series.fake.js';
import { AnalyticsReads, ROW_READS_MAX } from './analytics-reads.js';

const WINDOW = { fromUs: 0, toUs: 60_000_000, widthMinutes: 1 };

function gathered(): GatheredSeries {
  const store = new SeriesStore({ processMinutes: 9, queueMinutes: 9, queueRowsMax: 9 });
  // More than a walk takes in one step.
  store.addQueues(blockAt(1, Object.fromEntries(Array.from({ length: 600 }, (_, i) => [i, 1]))));
  const queueBuckets = finish(store.queueBuckets(EVERYTHING));
  const nothing = { process: [], totals: null, recent: null, newestMinute: null };
  const own = { node: 1, hostname: 'h', port: 1, ...nothing, queueBuckets, names: new Map() };
  return { nodes: [own], self: 1, missing: [] };
}

test('reads of rows are refused beyond a number, until one of them ends', () => {
  const clock = new MovedClock();
  const walks: Generator<void, unknown>[] = [];
  const analytics = new AnalyticsReads({
    state: Object.assign(new MapState(), { appliedIndex: 1 }),
    walkState: () => new MapState(),
    figures: new QueueFigures(new MapState()),
    clock,
    reads: {
      confirmed: () => {},
      local: (begin) => {
        const walk = begin();
        expect(walk.next().done).toBe(false);
        walks.push(walk);
      },
    },
    gather: {
      ask: (_question, done) => {
        done(gathered());
        return true;
      },
    },
    appliedIndex: () => 1,
    leadership: { office: {} },
  });
  const refused: string[] = [];
  const ask = () =>
    analytics.queueSeries(
      { tenant: 't', queue: null, window: WINDOW },
      {
        gone: false,
        onGone: null,
        send: (outcome) => {
          refused.push(outcome.kind);
          return true;
        },
      },
    );
  for (let i = 0; i < ROW_READS_MAX; i++) ask();
  expect(refused).toEqual([]);
  ask();
  expect(refused).toEqual(['refused']);
  walks[0]?.return(undefined);
  ask();
  expect(refused).toEqual(['refused']);
});
