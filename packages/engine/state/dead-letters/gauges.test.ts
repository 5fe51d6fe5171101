// Goal: what is remembered of dead letters is what the state says, whatever was filed, removed or
// deleted between two scrapes and in the middle of one. Method: random changes of rows with their
// notices, against what was written; the seed is printed.
import { expect, test } from 'vitest';
import { numberKey, numberNameKey } from '../../base/keys.js';
import { MapState } from '../../base/map-state.js';
import type { QueueRow } from '../../base/rows.js';
import { queues } from '../../base/tables.js';
import { DeadLetterGauges } from './gauges.js';
import { deadLetterCounts } from './tables.js';

const QUEUES = 700;

class Rig {
  readonly state = new MapState();
  readonly gauges: DeadLetterGauges;
  /** By queue and group. */
  readonly counts = new Map<number, Map<string, number>>();

  constructor(queuesMax?: number) {
    this.gauges = new DeadLetterGauges(this.state, queuesMax);
  }

  create(queue: number): void {
    this.state.put(queues, numberKey(queue), { tenant: 't', name: `q${queue}` } as QueueRow);
  }

  set(queue: number, group: string, count: number): void {
    const key = numberNameKey(queue, group);
    if (count === 0) this.state.delete(deadLetterCounts, key);
    else this.state.put(deadLetterCounts, key, count);
    const groups = this.counts.get(queue) ?? new Map<string, number>();
    this.counts.set(queue, groups.set(group, count));
    this.gauges.changed(queue);
  }

  delete(queue: number): void {
    this.state.delete(queues, numberKey(queue));
    this.counts.delete(queue);
    this.gauges.changed(queue);
  }

  expected(): string[] {
    return [...this.counts]
      .map(([queue, groups]) => [queue, [...groups.values()].reduce((a, b) => a + b, 0)])
      .filter(([, sum]) => sum !== 0)
      .map(([queue, sum]) => `q${queue}=${sum}`)
      .sort();
  }

  read(between: () => void = () => {}): string[] {
    const told: string[] = [];
    for (const depth of this.gauges.read()) {
      if (depth === null) between();
      else told.push(`${depth.queue}=${depth.count}`);
    }
    return told.sort();
  }
}

test('random changes', () => {
  const seed = 4711;
  console.log(`seed ${seed}`);
  let word = seed;
  const below = (limit: number) => {
    word = (Math.imul(word, 1664525) + 1013904223) >>> 0;
    return Math.floor((word / 2 ** 32) * limit);
  };
  const rig = new Rig();
  for (let queue = 1; queue <= QUEUES; queue++) rig.create(queue);
  const change = () => {
    const queue = 1 + below(QUEUES);
    if (rig.state.get(queues, numberKey(queue)) === undefined) return;
    if (below(50) === 0) rig.delete(queue);
    else rig.set(queue, `g${below(3)}`, below(4));
  };
  for (let round = 0; round < 60; round++) {
    for (let i = below(300); i > 0; i--) change();
    expect(rig.read()).toEqual(rig.expected());
    // Changes in the middle of a read may or may not show in it; they do in the next.
    rig.read(change);
    expect(rig.read()).toEqual(rig.expected());
  }
  expect(rig.expected().length).toBeGreaterThan(100);
});

test('many groups of one queue, and the counts of a queue that is gone', () => {
  const rig = new Rig();
  rig.create(1);
  for (let group = 0; group < 600; group++) rig.set(1, `g${group}`, 2);
  rig.set(2, 'of-nobody', 5);
  expect(rig.read()).toEqual(['q1=1200']);
});

test('more queues than are remembered are read each time, as many as are shown', () => {
  const rig = new Rig(100);
  for (let queue = 1; queue <= 150; queue++) {
    rig.create(queue);
    rig.set(queue, 'g', 1);
  }
  expect(rig.read().length).toBe(101);
  rig.set(1, 'g', 7);
  expect(rig.read()).toContain('q1=7');
});
