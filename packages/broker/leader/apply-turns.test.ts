/**
 * Goal: however many entries are committed at once, the loop turns between stretches of them, and
 * none is lost, repeated or overtaken. Method: a clock that the test moves; each entry takes 4 ms.
 */
import { type Entry, logIndex, term } from '@svc/raft';
import { expect, test } from 'vitest';
import type { Clock } from '../system/clock.js';
import { ApplyTurns } from './apply-turns.js';

class Fixture {
  readonly applied: number[] = [];
  readonly soon: (() => void)[] = [];
  left: Entry[];
  #nowMs = 0;
  readonly turns = new ApplyTurns(
    {
      nowMs: () => this.#nowMs,
      soon: (work: () => void) => {
        this.soon.push(work);
        return () => this.soon.splice(this.soon.indexOf(work), 1);
      },
    } as unknown as Clock,
    () => this.offer(),
  );

  constructor(entries: number) {
    this.left = Array.from({ length: entries }, (_, i) => ({
      index: logIndex(i + 1),
      term: term(1),
      type: 'normal',
      data: new Uint8Array(0),
    }));
  }

  offer(takes = (_: Entry) => true): void {
    const count = this.turns.take(this.left, (entry) => {
      if (!takes(entry)) return false;
      this.applied.push(entry.index);
      this.#nowMs += 4;
      return true;
    });
    this.left = this.left.slice(count);
  }

  turn(): void {
    for (const work of this.soon.splice(0)) work();
  }
}

test('a stretch ends in time, and the rest follows when the loop has turned', () => {
  const fixture = new Fixture(10);
  const after: number[] = [];
  for (fixture.offer(); fixture.soon.length > 0; fixture.turn()) after.push(fixture.applied.length);
  expect(after).toEqual([3, 6, 9]);
  expect(fixture.applied).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

test('what is offered in between waits for the turn as well', () => {
  const fixture = new Fixture(10);
  for (let i = 0; i < 5; i++) fixture.offer();
  expect([fixture.applied.length, fixture.soon.length]).toEqual([3, 1]);
  fixture.turn();
  expect(fixture.applied.length).toBe(6);
});

test('whoever has no room for an entry ends the stretch; nothing is offered by itself', () => {
  const fixture = new Fixture(3);
  fixture.offer(({ index }) => index < 2);
  expect([fixture.applied, fixture.soon.length]).toEqual([[1], 0]);
  fixture.offer();
  expect(fixture.applied).toEqual([1, 2, 3]);
});
