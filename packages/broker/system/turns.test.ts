// Goal: never more workers than allowed, and everybody's turn comes, in order. Method: workers
// whose end the test decides.
import { expect, test } from 'vitest';
import { Turns } from './turns.js';

const settled = () => new Promise((resolve) => setImmediate(resolve));

test('two at a time, in the order they came', async () => {
  const turns = new Turns(2);
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  for (let i = 0; i < 7; i++) {
    turns.take().then((end) => {
      begun.push(i);
      ends.push(end);
    });
  }
  await settled();
  expect(begun).toEqual([0, 1]);
  for (let ended = 0; ended < 7; ended++) {
    ends[ended]?.();
    await settled();
    expect(begun.length).toBe(Math.min(7, ended + 3));
  }
  expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6]);
  const [end, other] = await Promise.all([turns.take(), turns.take()]);
  let third = false;
  turns.take().then(() => {
    third = true;
  });
  await settled();
  expect(third).toBe(false);
  end();
  other();
  await settled();
  expect(third).toBe(true);
});
