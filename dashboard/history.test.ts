// Goal: rates follow from totals, across a restart of the node too, and the drawing stays in its
// box. Method: totals at given times.
import { expect, test } from 'vitest';
import { filled, History, outline } from './public/history.js';

test('a rate is the difference of two totals by their time', () => {
  const history = new History();
  expect(history.latest).toBeNull();
  history.add(100, 1000);
  expect(history.latest).toBeNull();
  history.add(300, 3000);
  expect(history.latest).toBe(100);
});

test('a total that went down, or came at the same time, has no rate', () => {
  const history = new History();
  history.add(100, 1000);
  history.add(5, 2000);
  history.add(7, 2000);
  expect(history.rates).toEqual([]);
  history.add(9, 3000);
  expect(history.rates).toEqual([2]);
});

test('five minutes are kept', () => {
  const history = new History();
  for (let i = 0; i <= 500; i++) history.add(i * i, i * 2000);
  expect(history.rates).toHaveLength(150);
  expect(history.highest).toBe(history.latest);
});

test('the drawing ends at the right edge and stays in the box', () => {
  const rates = [0, 50, 100, 0];
  const line = outline(rates, 300, 56);
  const points = line
    .slice(1)
    .split('L')
    .map((point: string) => point.split(' ').map(Number));
  expect(points.at(-1)).toEqual([300, 54]);
  expect(Math.min(...points.map(([, y]: number[]) => y))).toBe(2);
  expect(filled(rates, 300, 56)).toBe(`${line}L300 56L294.0 56Z`);
  expect(outline([1], 300, 56)).toBe('');
  expect(outline([0, 0], 300, 56)).not.toContain('NaN');
});
