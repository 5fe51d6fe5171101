/**
 * Goal: damage in the state is found while nobody asks for the row, and ends the node only when the
 * state can be replaced. Method: a bit flipped in a row of a simulated store, and a clock that runs
 * when the test says so.
 */
import type { Table } from '@svc/engine';
import { Checkpoint, checksummedRow } from '@svc/storage';
import { SimulatedBacking } from '@svc/storage/testing';
import { describe, expect, test } from 'vitest';
import type { Clock } from '../system/clock.js';
import { StateScrubber } from './state-store-scrub.js';

const TABLE: Table<unknown> = {
  id: 1,
  name: 'things',
  local: false,
  encode: () => new Uint8Array(0),
  decode: () => null,
};
const ROWS = 100;

interface Fixture {
  readonly scrubber: StateScrubber;
  readonly backing: SimulatedBacking;
  readonly fatal: Error[];
  readonly said: string[];
  readonly pass: (seconds: number) => void;
}

function fixture(everyS: number, rowsPerS: number, isReplaceable: boolean): Fixture {
  const backing = new SimulatedBacking({ seed: 1, localTables: [], defer: (run) => run() });
  const transaction = backing.begin();
  for (let i = 0; i < ROWS; i++) {
    transaction.put(`\x01${100 + i}`, checksummedRow(`\x01${100 + i}`, new Uint8Array(9)));
  }
  transaction.commit({ index: 1, term: 1 }, () => {});
  const fatal: Error[] = [];
  const said: string[] = [];
  const clock = new TestClock();
  const scrubber = new StateScrubber({
    state: new Checkpoint({ backing, tables: [TABLE], onFailure: (error) => fatal.push(error) }),
    clock,
    everyS,
    rowsPerS,
    replaceable: () => isReplaceable,
    onFatal: (error) => fatal.push(error),
    error: (text) => said.push(text),
  });
  return { scrubber, backing, fatal, said, pass: (seconds) => clock.pass(seconds) };
}

/** One timer at a time; steps of a tenth of a second. */
class TestClock implements Clock {
  #nowMs = 0;
  #timer: { atMs: number; readonly periodMs: number; readonly work: () => void } | null = null;

  wallUs(): number {
    return this.#nowMs * 1000;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  soon(work: () => void): () => void {
    return this.after(0, work);
  }

  after(delayMs: number, work: () => void): () => void {
    return this.#set(delayMs, Number.POSITIVE_INFINITY, work);
  }

  every(periodMs: number, work: () => void): () => void {
    return this.#set(periodMs, periodMs, work);
  }

  #set(delayMs: number, periodMs: number, work: () => void): () => void {
    expect(this.#timer).toBeNull();
    const timer = { atMs: this.#nowMs + delayMs, periodMs, work };
    this.#timer = timer;
    return () => {
      if (this.#timer === timer) this.#timer = null;
    };
  }

  pass(seconds: number): void {
    for (let i = 0; i < seconds * 10; i++) {
      this.#nowMs += 100;
      const timer = this.#timer;
      if (timer === null || timer.atMs > this.#nowMs) continue;
      if (timer.periodMs === Number.POSITIVE_INFINITY) this.#timer = null;
      else timer.atMs += timer.periodMs;
      timer.work();
    }
  }
}

describe('a damaged row', () => {
  test('of a state that can be replaced marks it and ends the node', () => {
    const { scrubber, backing, fatal, said, pass } = fixture(100, 100, true);
    scrubber.start();
    // A round takes a second, and begins after one minute and then every 100 s.
    pass(62);
    backing.flipBit('\x01155', 6, 1);
    pass(98);
    expect(fatal).toEqual([]);
    pass(2);
    expect(fatal.map((error) => error.message)).toEqual([expect.stringContaining('things')]);
    expect(said).toEqual([]);
    expect(() => backing.verify()).toThrow(/things/);
    pass(300);
    expect(fatal.length).toBe(1);
  });

  test('of one that cannot be replaced is named in each round, and the node goes on', () => {
    const { scrubber, backing, fatal, said, pass } = fixture(10, 500, false);
    backing.flipBit('\x01155', 6, 1);
    scrubber.start();
    pass(9);
    expect(said.length).toBe(0);
    pass(30);
    expect([said.length, fatal.length]).toEqual([3, 0]);
    backing.flipBit('\x01155', 6, 1);
    expect(() => backing.verify()).not.toThrow();
    scrubber.stop();
    pass(100);
    expect(said.length).toBe(3);
  });
});

test('a period of 0 means that nothing is looked at', () => {
  const { scrubber, backing, fatal, pass } = fixture(0, 100, true);
  backing.flipBit('\x01155', 6, 1);
  scrubber.start();
  pass(1000);
  scrubber.stop();
  expect(fatal).toEqual([]);
});
