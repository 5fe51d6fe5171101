// Goal: the newest rows in order, whatever order they came in, in steps of a bounded size.
// Method: random rows from a seed that is printed, beside a sort of all of them at once.
import { expect, test } from 'vitest';
import { seededRandom } from '../testing/recovery.fake.js';
import { newestRows } from './newest-rows.js';

interface Row {
  readonly minute: number;
  readonly queue: number;
}

const compare = (one: Row, other: Row) => one.minute - other.minute || one.queue - other.queue;
const seed = Number(process.env.ROWS_SEED ?? Date.now() % 1_000_000);

test(`the newest of them, seed ${seed}`, () => {
  const random = seededRandom(seed);
  for (let round = 0; round < 30; round++) {
    const minutes = 1 + random.below(40);
    const rows = Array.from({ length: random.below(30_000) }, (_, queue) => ({
      minute: random.below(minutes),
      queue,
    }));
    const max = 1 + random.below(20_000);
    let compared = 0;
    let most = 0;
    const walk = newestRows(rows, max, (one, other) => {
      compared++;
      return compare(one, other);
    });
    let step = walk.next();
    while (step.done !== true) {
      most = Math.max(most, compared);
      compared = 0;
      step = walk.next();
    }
    expect(step.value.truncated).toBe(rows.length > max);
    expect(step.value.rows).toEqual([...rows].sort(compare).slice(-max));
    // A run of 4,096 rows costs 12 comparisons each at most.
    expect(most, 'compared in one step').toBeLessThanOrEqual(12 * 4096);
  }
});
