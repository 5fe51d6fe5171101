// Goal: long work of the front takes its share of each turn of the loop and no more, however many
// calls have some, and each goes on. Method: steps that take what the test says on a clock of its
// own, and turns that the test runs.
import { expect, test } from 'vitest';
import { LoopShare } from './loop-share.js';

class Rig {
  nowMs = 0;
  readonly done: string[] = [];
  readonly loop = new LoopShare(
    () => this.nowMs,
    (run) => this.#later.push(run),
  );
  readonly #later: (() => void)[] = [];

  work(name: string, steps: number, stepMs: number): void {
    let left = steps;
    this.loop.run(() => {
      this.nowMs += stepMs;
      this.done.push(name);
      left--;
      return left === 0;
    });
  }

  turn(): string {
    this.done.length = 0;
    for (const run of this.#later.splice(0)) run();
    return this.done.join('');
  }
}

test('what is one step is done at once', () => {
  const rig = new Rig();
  rig.work('a', 1, 1);
  expect(rig.done).toEqual(['a']);
  expect(rig.loop.waiting).toBe(0);
});

test('a hundred calls share the four milliseconds of a turn, and take turns', () => {
  const rig = new Rig();
  for (let call = 0; call < 100; call++) rig.work(`${call} `, 3, 1);
  // All of them came in one turn of the loop, and only the first of them found time.
  expect(rig.done.join('')).toBe('0 0 0 ');
  expect(rig.turn()).toBe('1 2 3 4 ');
  expect(rig.turn()).toBe('5 6 7 8 ');
  let turns = 2;
  while (rig.loop.waiting > 0) {
    expect(rig.turn().split(' ').length - 1).toBeLessThanOrEqual(4);
    turns++;
  }
  expect(turns).toBe(75);
});

test('a step that takes long is the only one of its turn', () => {
  const rig = new Rig();
  rig.work('a', 2, 50);
  rig.work('b', 2, 50);
  expect(rig.done).toEqual(['a']);
  expect(rig.turn()).toBe('a');
  expect(rig.turn()).toBe('b');
  expect(rig.turn()).toBe('b');
  expect(rig.turn()).toBe('');
});

test('work that begins other work does not nest', () => {
  const rig = new Rig();
  rig.loop.run(() => {
    rig.done.push('a');
    rig.work('b', 1, 1);
    rig.done.push('a');
    return true;
  });
  expect(rig.done).toEqual(['a', 'a', 'b']);
});
