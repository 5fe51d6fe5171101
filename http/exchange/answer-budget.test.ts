// Goal: never more is reserved than a share has, those who do not read spend their own room, small
// answers always find some, and whoever waits gets his turn. Method: answers whose pace the test
// sets, and a loop that it turns.
import { beforeEach, describe, expect, test } from 'vitest';
import { AnswerBudget, type UnreadAnswer } from './answer-budget.js';

const MIB = 1024 * 1024;
const KIB = 1024;

let soon: (() => void)[];
let budget: AnswerBudget;

/** Runs turns of the loop until nothing is to be done; how many there were. */
function turns(): number {
  let count = 0;
  for (; soon.length > 0; count++) for (const run of soon.splice(0)) run();
  return count;
}

class Answer implements UnreadAnswer {
  readonly owner: string;
  reservedBytes = 0;
  answerBytes = 0;
  left = Number.POSITIVE_INFINITY;
  isCut = false;
  /** null: it does not wait, or still does. */
  hasRoom: boolean | null = null;

  constructor(owner = 'a') {
    this.owner = owner;
  }

  reserve(bytes: number): boolean {
    return budget.reserve('pop', this, bytes);
  }

  wait(bytes: number, untilMs = Number.POSITIVE_INFINITY): this {
    budget.wait('pop', this, bytes, untilMs, (hasRoom) => {
      this.hasRoom = hasRoom;
    });
    return this;
  }

  /** Made, and taken at the given pace. */
  made(bytes: number, sweepsLeft = Number.POSITIVE_INFINITY): this {
    this.answerBytes = bytes;
    this.left = sweepsLeft;
    budget.hold('pop', this);
    return this;
  }

  release(): void {
    budget.release('pop', this);
  }

  sweep(): void {}

  sweepsLeft(): number {
    return this.left;
  }

  cutOff(): void {
    this.isCut = true;
    this.release();
  }
}

/** So many answers of an owner, each of so many bytes, as far as there is room. */
function reserved(owner: string, count: number, bytes: number): Answer[] {
  const answers = Array.from({ length: count }, () => new Answer(owner));
  return answers.filter((answer) => answer.reserve(bytes));
}

beforeEach(() => {
  soon = [];
  budget = new AnswerBudget(80 * MIB, (run) => soon.push(run));
});

describe('reserving', () => {
  test('an owner gets half of what is for large answers, all owners three quarters', () => {
    expect(reserved('a', 100, 7 * MIB).length).toBe(4);
    expect(reserved('b', 100, 7 * MIB).length).toBe(4);
    expect(budget.used('pop')).toBe(56 * MIB);
    expect(reserved('c', 100, 7 * MIB).length).toBe(0);
    expect(reserved('c', 100, 2 * MIB).length).toBe(2);
    expect(budget.used('read')).toBe(0);
  });

  test('small answers find room whatever large ones hold', () => {
    for (const owner of ['a', 'b', 'c', 'd']) reserved(owner, 100, MIB);
    expect(budget.used('pop')).toBe(60 * MIB);
    expect(reserved('e', 1000, 128 * KIB).length).toBe(160);
    expect(budget.used('pop')).toBe(80 * MIB);
    expect(new Answer('e').reserve(1)).toBe(false);
  });

  test('who has spent the room for large ones does not spend that for small ones', () => {
    reserved('a', 100, 7 * MIB);
    new Answer('a').wait(7 * MIB);
    expect(reserved('a', 1000, 128 * KIB).length).toBe(80);
    expect(new Answer('a').reserve(1)).toBe(false);
    expect(reserved('b', 1000, 128 * KIB).length).toBe(336);
  });

  test('one answer of any size is let in alone, and alone of its owner', () => {
    const [huge] = reserved('a', 2, 200 * MIB);
    expect(budget.used('pop')).toBe(200 * MIB);
    expect(reserved('b', 1, MIB)).toEqual([]);
    huge?.release();
    reserved('a', 1, MIB);
    expect([reserved('a', 1, 30 * MIB).length, reserved('b', 1, 59 * MIB).length]).toEqual([0, 1]);
  });

  test('what is free for an answer is what it may reserve', () => {
    const [first] = reserved('a', 3, 10 * MIB);
    reserved('b', 1, 25 * MIB);
    for (const answer of [new Answer('a'), new Answer('c'), first ?? new Answer()]) {
      const free = budget.freeFor('pop', answer);
      const before = answer.reservedBytes;
      expect([answer.owner, answer.reserve(free + 1)]).toEqual([answer.owner, false]);
      expect(answer.reservedBytes).toBe(before);
      expect(answer.reserve(free)).toBe(true);
      answer.reserve(before);
    }
    expect(budget.used('pop')).toBe(55 * MIB);
  });

  test('what it is made to counts in place of what was reserved, until it is released', () => {
    const answer = new Answer();
    answer.reserve(10 * MIB);
    answer.made(2 * MIB);
    expect(budget.used('pop')).toBe(2 * MIB);
    answer.release();
    answer.release();
    expect(budget.used('pop')).toBe(0);
  });

  test('routes that do not reserve are refused when all is spent', () => {
    const large = new Answer().made(81 * MIB);
    expect([budget.admits('pop'), budget.admits('read')]).toEqual([false, true]);
    large.release();
    expect(budget.admits('pop')).toBe(true);
  });
});

describe('waiting', () => {
  test('one in each turn of the loop, as room is let go of', () => {
    const held = reserved('a', 100, 7 * MIB);
    const waiting = Array.from({ length: 50 }, () => new Answer('a').wait(7 * MIB));
    turns();
    expect(waiting.filter(({ hasRoom }) => hasRoom !== null)).toEqual([]);
    for (const answer of held) answer.release();
    for (let admitted = 1; admitted <= 4; admitted++) {
      for (const run of soon.splice(0)) run();
      expect(waiting.map(({ hasRoom }) => hasRoom).lastIndexOf(true)).toBe(admitted - 1);
    }
    turns();
    expect([budget.used('pop'), budget.waiting('pop')]).toEqual([28 * MIB, 46]);
  });

  test('seven hundred of one owner do not stand before one of another', () => {
    for (const answer of reserved('a', 4, 7 * MIB)) answer.made(7 * MIB);
    for (let i = 0; i < 700; i++) new Answer('a').wait(7 * MIB);
    expect(new Answer('b').reserve(7 * MIB)).toBe(true);
    expect(new Answer('a').reserve(7 * MIB)).toBe(false);
    const waiting = new Answer('b').wait(7 * MIB);
    turns();
    expect(waiting.hasRoom).toBe(true);
  });

  test('owners take turns', () => {
    const [first] = reserved('a', 1, 60 * MIB);
    const order: string[] = [];
    for (const owner of ['a', 'a', 'a', 'b', 'c']) {
      const answer = new Answer(owner);
      budget.wait('pop', answer, 20 * MIB, Number.POSITIVE_INFINITY, () => {
        order.push(owner);
        answer.release();
      });
    }
    turns();
    expect(order).toEqual([]);
    first?.release();
    turns();
    expect(order).toEqual(['a', 'b', 'c', 'a', 'a']);
  });

  test('nobody overtakes the first of a line for which the others leave no room', () => {
    const held = [...reserved('a', 1, 30 * MIB), ...reserved('b', 1, 20 * MIB)];
    const large = new Answer('c').wait(50 * MIB);
    turns();
    expect(new Answer('d').reserve(5 * MIB)).toBe(false);
    expect(budget.freeFor('pop', new Answer('d'))).toBe(128 * KIB);
    for (const answer of held) answer.release();
    turns();
    expect(large.hasRoom).toBe(true);
    expect(new Answer('d').reserve(5 * MIB)).toBe(true);
  });

  test('ends with its time and with its client, and lets the next one come', () => {
    reserved('a', 4, 7 * MIB);
    const [late, gone, next] = [new Answer(), new Answer(), new Answer()];
    late.wait(20 * MIB, 1000);
    gone.wait(20 * MIB);
    next.wait(MIB);
    budget.sweep(999);
    expect(late.hasRoom).toBe(null);
    budget.sweep(1000);
    gone.release();
    turns();
    expect([late.hasRoom, gone.hasRoom, next.hasRoom]).toEqual([false, false, true]);
    expect(budget.waiting('pop')).toBe(0);
  });

  test('asked again it keeps its place', () => {
    const [held] = reserved('a', 1, 60 * MIB);
    const first = new Answer().wait(20 * MIB);
    const second = new Answer().wait(20 * MIB);
    first.wait(30 * MIB);
    held?.release();
    turns();
    expect([first.hasRoom, second.hasRoom]).toEqual([true, null]);
  });
});

describe('cutting off', () => {
  test('nobody while nobody waits', () => {
    const answer = new Answer().made(81 * MIB);
    budget.sweep(0);
    expect(budget.admits('read')).toBe(true);
    budget.sweep(0);
    expect(answer.isCut).toBe(false);
    expect(budget.admits('pop')).toBe(false);
    budget.sweep(0);
    expect([answer.isCut, budget.admits('pop')]).toEqual([true, true]);
  });

  test('the slowest first, of equals the largest, and no more than must', () => {
    const fast = new Answer('a').made(20 * MIB, 3);
    const slow = new Answer('b').made(10 * MIB, 50);
    const still = new Answer('c').made(5 * MIB);
    const stillLarger = new Answer('d').made(20 * MIB);
    new Answer('e').wait(20 * MIB);
    budget.sweep(0);
    const cut = [fast, slow, still, stillLarger].map(({ isCut }) => isCut);
    expect(cut).toEqual([false, false, false, true]);
    turns();
    new Answer('f').wait(15 * MIB);
    budget.sweep(0);
    expect([fast.isCut, slow.isCut, still.isCut]).toEqual([false, true, true]);
  });

  test('whoever is kept out by its own owner frees room of that owner alone', () => {
    const others = new Answer('b').made(20 * MIB, 100);
    const own = Array.from({ length: 4 }, () => new Answer('a').made(7 * MIB, 50));
    new Answer('a').wait(7 * MIB);
    budget.sweep(0);
    expect([others.isCut, own.filter(({ isCut }) => isCut).length]).toEqual([false, 1]);
  });

  test('answers that are nearly through, or not measured yet, are left alone', () => {
    const through = new Answer('a').made(30 * MIB, 2);
    const unmeasured = new Answer('b').made(30 * MIB, 0);
    new Answer('c').wait(20 * MIB);
    budget.sweep(0);
    expect([through.isCut, unmeasured.isCut]).toEqual([false, false]);
  });
});
