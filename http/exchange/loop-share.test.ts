// Goal: long work of the front takes its share of each turn of the loop and no more, however many
// calls have some, and each goes on. Method: steps that take what the test says on a clock of its
// own, and turns that the test runs.
import { expect, test } from 'vitest';
import { LoopShare } from './loop-share.js';

class Rig {
  nowMs = 0;
  readonly done: string[] = [];
  readonly loop = new LoopShare({
    nowMs: () => this.nowMs,
    soon: (run) => this.#later.push(run),
  });
  readonly #later: (() => void)[] = [];

  get asked(): number {
    return this.#later.length;
  }

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
  // All of them came in one turn of the loop, and only the first ones found time.
  expect(rig.done.join('')).toBe('0 0 0 1 ');
  // The immediates of that turn find nothing left.
  expect(rig.turn()).toBe('');
  expect(rig.turn()).toBe('1 2 3 4 ');
  expect(rig.turn()).toBe('5 6 7 8 ');
  let turns = 2;
  while (rig.loop.waiting > 0) {
    expect(rig.turn().split(' ').length - 1).toBeLessThanOrEqual(4);
    turns++;
  }
  expect(turns).toBe(74);
});

test('calls of one step are made as they come until the share is used, and then wait', () => {
  const rig = new Rig();
  for (let call = 0; call < 64; call++) rig.work(`${call} `, 1, 0.5);
  expect(rig.done.join('')).toBe('0 1 2 3 4 5 6 7 ');
  expect(rig.turn()).toBe('');
  // Work that comes while others wait stands behind them, though the new turn has its whole share.
  rig.work('new ', 1, 0.5);
  expect(rig.done).toEqual([]);
  for (let first = 8; first < 64; first += 8) {
    const eight = Array.from({ length: 8 }, (_, i) => `${first + i} `);
    expect(rig.turn()).toBe(eight.join(''));
  }
  expect(rig.turn()).toBe('new ');
  expect(rig.asked).toBe(0);
});

test('the immediates of a turn have what its sockets left', () => {
  const rig = new Rig();
  rig.work('a', 1, 3);
  rig.work('b', 2, 1);
  expect(rig.done.join('')).toBe('ab');
  rig.work('c', 1, 1);
  expect(rig.done.join('')).toBe('ab');
  expect(rig.turn()).toBe('');
  expect(rig.turn()).toBe('bc');
  expect(rig.turn()).toBe('');
  rig.work('d', 1, 3);
  rig.loop.run(() => rig.done.push('step') > 2);
  expect(rig.done.join('')).toBe('dstepstep');
});

test('calls that take little ask for no new turn, however many have come', () => {
  const rig = new Rig();
  for (let call = 0; call < 9; call++) rig.work('a', 1, 0.1);
  expect(rig.asked).toBe(0);
  rig.work('a', 1, 0.2);
  expect(rig.asked).toBe(1);
  for (let call = 0; call < 9; call++) rig.work('a', 1, 0.1);
  expect(rig.asked).toBe(1);
  rig.turn();
  expect(rig.asked).toBe(0);
});

test('a step is told until when it may go on', () => {
  const rig = new Rig();
  rig.nowMs = 10;
  const told: number[] = [];
  const step = (untilMs: number) => {
    told.push(untilMs);
    rig.nowMs += 1.5;
    return true;
  };
  for (let call = 0; call < 3; call++) rig.loop.run(step);
  expect(told).toEqual([14, 14, 14]);
  rig.nowMs = 100;
  rig.turn();
  rig.loop.run(step);
  expect(told[3]).toBe(104);
});

test('a step that takes long is the only one of its turn', () => {
  const rig = new Rig();
  rig.work('a', 2, 50);
  rig.work('b', 2, 50);
  expect(rig.done).toEqual(['a']);
  expect(rig.turn()).toBe('');
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

test('a step that throws is over, and the others go on', () => {
  const rig = new Rig();
  const fail = () => {
    throw new Error('a step');
  };
  expect(() => rig.loop.run(fail)).toThrow('a step');
  rig.work('a', 1, 4);
  expect(rig.done.join('')).toBe('a');
  rig.loop.run(fail);
  rig.work('b', 1, 1);
  expect(rig.turn()).toBe('');
  expect(() => rig.turn()).toThrow('a step');
  expect(rig.turn()).toBe('b');
  expect([rig.loop.waiting, rig.asked]).toEqual([0, 0]);
});
