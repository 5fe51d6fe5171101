// Goal: the budget never admits more than its shares, and neither share costs the other.
// Method: reservations at the borders.
import { expect, test } from 'vitest';
import { BodyBudget } from './body-budget.js';

test('shares fill up and empty on their own', () => {
  const budget = new BodyBudget(100, 50);
  expect(budget.reserve('growing', 60)).toBe(true);
  expect(budget.reserve('growing', 41)).toBe(false);
  expect(budget.reserve('growing', 40)).toBe(true);
  expect(budget.reserve('growing', 1)).toBe(false);
  expect(budget.reserve('drain', 50)).toBe(true);
  expect(budget.reserve('drain', 1)).toBe(false);
  budget.release('growing', 60);
  expect(budget.used('growing')).toBe(40);
  expect(budget.reserve('growing', 60)).toBe(true);
  expect(budget.used('drain')).toBe(50);
});

test('a body larger than the share is admitted alone', () => {
  const budget = new BodyBudget(100, 50);
  expect(budget.reserve('growing', 500)).toBe(true);
  expect(budget.reserve('growing', 1)).toBe(false);
  budget.release('growing', 500);
  expect(budget.used('growing')).toBe(0);
});
