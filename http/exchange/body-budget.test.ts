// Goal: the budget never admits more than its shares, neither share costs the other, and large
// bodies leave room for small ones. Method: reservations at the borders.
import { expect, test } from 'vitest';
import { BodyBudget } from './body-budget.js';

const KIB = 1024;
const SMALL = 64 * KIB;

test('shares fill up and empty on their own', () => {
  const budget = new BodyBudget(100, 50);
  expect(budget.reserve('growing', 0, 60)).toBe(true);
  expect(budget.reserve('growing', 0, 41)).toBe(false);
  expect(budget.reserve('growing', 0, 40)).toBe(true);
  expect(budget.reserve('growing', 0, 1)).toBe(false);
  expect(budget.reserve('drain', 0, 50)).toBe(true);
  expect(budget.reserve('drain', 0, 1)).toBe(false);
  budget.release('growing', 60);
  expect(budget.used('growing')).toBe(40);
  expect(budget.reserve('growing', 0, 60)).toBe(true);
  expect(budget.used('drain')).toBe(50);
});

test('a body larger than the share is admitted alone', () => {
  const budget = new BodyBudget(100, 50);
  expect(budget.reserve('growing', 0, 500)).toBe(true);
  expect(budget.reserve('growing', 0, 1)).toBe(false);
  budget.release('growing', 500);
  expect(budget.used('growing')).toBe(0);
});

test('large bodies leave a quarter to small ones', () => {
  const budget = new BodyBudget(8 * SMALL, 0);
  expect(budget.reserve('growing', 0, 3 * SMALL)).toBe(true);
  expect(budget.reserve('growing', 0, 3 * SMALL)).toBe(true);
  expect(budget.reserve('growing', 0, SMALL + 1)).toBe(false);
  expect(budget.reserve('growing', 0, SMALL)).toBe(true);
  expect(budget.reserve('growing', 0, SMALL)).toBe(true);
  expect(budget.reserve('growing', 0, 1)).toBe(false);
});

test('small bodies may take what large ones leave', () => {
  const budget = new BodyBudget(8 * SMALL, 0);
  for (let i = 0; i < 8; i++) expect(budget.reserve('growing', 0, SMALL)).toBe(true);
  expect(budget.reserve('growing', 0, 1)).toBe(false);
});

test('a body that grows becomes a large one with all its bytes', () => {
  const budget = new BodyBudget(8 * SMALL, 0);
  expect(budget.reserve('growing', 0, SMALL)).toBe(true);
  expect(budget.reserve('growing', SMALL, SMALL)).toBe(true);
  expect(budget.reserve('growing', 2 * SMALL, 2 * SMALL)).toBe(true);
  expect(budget.reserve('growing', 0, 2 * SMALL)).toBe(true);
  expect(budget.reserve('growing', 4 * SMALL, 1)).toBe(false);
  expect(budget.used('growing')).toBe(6 * SMALL);
  budget.release('growing', 4 * SMALL);
  budget.release('growing', 2 * SMALL);
  expect(budget.used('growing')).toBe(0);
});

test('the only large body grows beside small ones, whatever its size', () => {
  const budget = new BodyBudget(100, 0);
  expect(budget.reserve('growing', 0, 10)).toBe(true);
  expect(budget.reserve('growing', 0, SMALL + 1)).toBe(true);
  expect(budget.reserve('growing', SMALL + 1, SMALL)).toBe(true);
  expect(budget.reserve('growing', 0, SMALL + 1)).toBe(false);
});

test('what fits is told without being reserved', () => {
  const budget = new BodyBudget(8 * SMALL, 0);
  expect(budget.reserve('growing', 0, 3 * SMALL)).toBe(true);
  expect(budget.fits('growing', 0, 3 * SMALL)).toBe(true);
  expect(budget.fits('growing', 0, 3 * SMALL + 1)).toBe(false);
  expect(budget.fits('growing', 3 * SMALL, 4 * SMALL)).toBe(true);
  expect(budget.used('growing')).toBe(3 * SMALL);
});
