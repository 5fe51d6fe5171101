// Goal: shares do not cost one another, and a full one is freed at the expense of those who would
// hold it longest, and only when somebody waits. Method: answers whose pace the test sets.
import { expect, test } from 'vitest';
import { AnswerBudget, type UnreadAnswer } from './answer-budget.js';

class Answer implements UnreadAnswer {
  readonly answerBytes: number;
  readonly #budget: AnswerBudget;
  readonly #sweepsLeft: number;
  cut = false;

  constructor(budget: AnswerBudget, answerBytes: number, sweepsLeft: number) {
    this.#budget = budget;
    this.answerBytes = answerBytes;
    this.#sweepsLeft = sweepsLeft;
    budget.add('pop', this);
  }

  sweep(): void {}

  sweepsLeft(): number {
    return this.#sweepsLeft;
  }

  cutOff(): void {
    this.cut = true;
    this.#budget.remove('pop', this);
  }
}

test('a full share refuses, the other one does not', () => {
  const budget = new AnswerBudget(100);
  const answer = new Answer(budget, 100, 1);
  expect([budget.admits('pop'), budget.admits('read')]).toEqual([false, true]);
  budget.remove('pop', answer);
  budget.remove('pop', answer);
  expect(budget.admits('pop')).toBe(true);
  new Answer(budget, 99, 1);
  expect(budget.admits('pop')).toBe(true);
});

test('nobody is cut off while nobody was refused', () => {
  const budget = new AnswerBudget(100);
  const answer = new Answer(budget, 500, Number.POSITIVE_INFINITY);
  budget.sweep(0);
  expect(answer.cut).toBe(false);
  expect(budget.admits('read')).toBe(true);
  budget.sweep(0);
  expect(answer.cut).toBe(false);
  expect(budget.admits('pop')).toBe(false);
  budget.sweep(0);
  expect([answer.cut, budget.admits('pop')]).toEqual([true, true]);
});

test('the slowest goes first, of equals the largest, and no more than must', () => {
  const budget = new AnswerBudget(100);
  const fast = new Answer(budget, 60, 3);
  const slow = new Answer(budget, 20, 50);
  const still = new Answer(budget, 10, Number.POSITIVE_INFINITY);
  const stillLarger = new Answer(budget, 30, Number.POSITIVE_INFINITY);
  expect(budget.admits('pop')).toBe(false);
  budget.sweep(0);
  expect([fast.cut, slow.cut, still.cut, stillLarger.cut]).toEqual([false, false, false, true]);
  new Answer(budget, 25, 1);
  expect(budget.admits('pop')).toBe(false);
  budget.sweep(0);
  expect([fast.cut, slow.cut, still.cut]).toEqual([false, true, true]);
});

test('answers that are nearly through, or not measured yet, are left alone', () => {
  const budget = new AnswerBudget(100);
  const through = new Answer(budget, 100, 2);
  const unmeasured = new Answer(budget, 100, 0);
  expect(budget.admits('pop')).toBe(false);
  budget.sweep(0);
  expect([through.cut, unmeasured.cut, budget.admits('pop')]).toEqual([false, false, false]);
});
