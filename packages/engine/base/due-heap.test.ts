// Goal: items come out in the order of their times, whatever was moved or removed in between.
// Method: random operations against an array that is searched.
import { expect, test } from 'vitest';
import { SeededRandom } from '../testing/random.fake.js';
import { type Due, DueHeap } from './due-heap.js';

test('agrees with a searched array', () => {
  const seed = 4711;
  const random = new SeededRandom(seed);
  const heap = new DueHeap<Due>();
  const items: Due[] = Array.from({ length: 40 }, () => ({ dueMs: 0, heapAt: -1 }));
  const inside = new Set<Due>();
  for (let step = 0; step < 20_000; step++) {
    const item = items[random.below(items.length)];
    if (item === undefined) continue;
    if (random.below(3) === 0) {
      heap.remove(item);
      inside.delete(item);
    } else {
      heap.set(item, random.below(50));
      inside.add(item);
    }
    const earliest = Math.min(...[...inside].map(({ dueMs }) => dueMs));
    expect(heap.size, `seed ${seed}, step ${step}`).toBe(inside.size);
    expect(heap.first?.dueMs ?? Number.POSITIVE_INFINITY, `seed ${seed}, step ${step}`).toBe(
      earliest,
    );
  }
});
