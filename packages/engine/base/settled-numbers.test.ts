// Goal: runs of settled numbers say of each number what a set of all of them would say.
// Method: random additions, single and below a bound, compared with a plain set after each.
import { expect, test } from 'vitest';
import { SeededRandom } from '../testing/random.fake.js';
import { SettledNumbers } from './settled-numbers.js';

const SPAN = 60;
const ALL = Array.from({ length: SPAN + 40 }, (_, number) => number);

test.each(Array.from({ length: 60 }, (_, seed) => seed))('seed %i', (seed) => {
  const random = new SeededRandom(seed);
  const numbers = new SettledNumbers();
  const model = new Set<number>([0]);
  for (let step = 0; step < 60; step++) {
    if (random.below(6) > 0) {
      const number = 1 + random.below(SPAN);
      numbers.add(number);
      model.add(number);
    } else {
      const end = random.below(SPAN / 4) + Math.floor(step / 2);
      numbers.addBelow(end);
      for (let number = 0; number < end; number++) model.add(number);
    }
    let below = 0;
    while (model.has(below)) below++;
    expect([seed, step, numbers.below]).toEqual([seed, step, below]);
    const found = ALL.filter((number) => numbers.has(number));
    expect([seed, step, found]).toEqual([seed, step, ALL.filter((number) => model.has(number))]);
  }
});

test('a sender that leaves gaps without an end loses the oldest of them', () => {
  const numbers = new SettledNumbers();
  for (let number = 2; number < 70_000; number += 2) numbers.add(number);
  expect([numbers.has(1), numbers.has(69_999)]).toEqual([true, false]);
  expect(numbers.below).toBeGreaterThan(1000);
});
