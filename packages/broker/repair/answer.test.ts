/**
 * Goal: a node says `never-had` only where others may rely on it. Method: questions to a real log
 * that is whole, begins late, is damaged, has lost its tail, or belongs to a node that recovers.
 */
import { Log, type LogEntry } from '@svc/storage';
import { SimulatedDisk } from '@svc/storage/testing';
import { describe, expect, test } from 'vitest';
import type { AskedSlot, SlotResult } from '../peers/frames.js';
import { answersTo } from './answer.js';

const BODY = 'x'.repeat(100);

function entry(index: number, term: number): LogEntry {
  return { index, term, type: 0, data: new Uint8Array(Buffer.from(`${index}-${BODY}`)) };
}

class Fixture {
  readonly disk = new SimulatedDisk({ seed: 1 });
  log = this.open();

  open(): Log {
    return Log.open({
      disk: this.disk,
      directory: '/log',
      identity: new Uint8Array(16).fill(1),
      segmentBytes: 1024,
      recentBytesMax: 0,
      zeroFillBytes: 0,
      damage: 'keep',
      onFailure: (error) => {
        throw error;
      },
    });
  }

  /** Entries 1..count, the first half of term 1, the others of term 2. */
  fill(count: number): this {
    const entries = Array.from({ length: count }, (_, i) => entry(i + 1, i < count / 2 ? 1 : 2));
    this.log.append(entries, () => {});
    this.disk.settle();
    this.log.tick();
    this.disk.settle();
    return this;
  }

  flip(index: number): void {
    for (const path of this.disk.paths().filter((name) => name.endsWith('.log'))) {
      const at = Buffer.from(this.disk.contents(path)).indexOf(`${index}-x`);
      if (at !== -1) this.disk.flipBit(path, at + 20, 1);
    }
    this.disk.crash('power');
    this.log = this.open();
    this.log.examine(1);
  }

  verdict(slot: Partial<AskedSlot>, recovering = false): SlotResult {
    const whole: AskedSlot = {
      kind: 'record',
      index: 3,
      previousTerm: null,
      term: null,
      bodyCrc: null,
      ...slot,
    };
    const node = { term: 5, recovering, led: false };
    const [answer] = answersTo({ kind: 'repair-ask', round: 1, slots: [whole] }, this.log, node);
    if (answer === undefined) throw new Error('no answer');
    expect((answer.entry !== null) === (answer.verdict === 'have')).toBe(true);
    return answer.verdict;
  }
}

describe('an answer', () => {
  test('names term and end of the log, and has the entry', () => {
    const { log } = new Fixture().fill(10);
    const slot = { kind: 'tail', index: 4, previousTerm: 1, term: null, bodyCrc: null } as const;
    const node = { term: 5, recovering: false, led: true };
    expect(answersTo({ kind: 'repair-ask', round: 9, slots: [slot] }, log, node)).toEqual([
      {
        kind: 'repair-answer',
        round: 9,
        index: 4,
        verdict: 'have',
        term: 5,
        lastIndex: 10,
        lastTerm: 2,
        led: true,
        entry: entry(4, 1),
      },
    ]);
  });

  test('of a whole log', () => {
    const node = new Fixture().fill(10);
    expect(node.verdict({ index: 11 })).toBe('never-had');
    expect(node.verdict({ index: 3, term: 1 })).toBe('have');
    expect(node.verdict({ index: 3, term: 2 })).toBe('never-had');
    expect(node.verdict({ index: 3, bodyCrc: 17 })).toBe('never-had');
    // The logs part before the slot, so the entry there is another one.
    expect(node.verdict({ index: 3, previousTerm: 7 })).toBe('never-had');
    expect(node.verdict({ kind: 'tail', index: 3, previousTerm: 7 })).toBe('never-had');
  });

  test('of a log whose beginning was given up', () => {
    const node = new Fixture().fill(30);
    node.log.removeBefore(20, () => {});
    node.disk.settle();
    expect(node.log.firstIndex).toBeGreaterThan(3);
    expect(node.verdict({ index: 3 })).toBe('purged');
    const index = node.log.firstIndex;
    const previousTerm = node.log.term(index - 1) ?? null;
    expect(node.verdict({ kind: 'tail', index, previousTerm })).toBe('have');
  });

  test('of a node that recovers: what it has counts, what it lacks does not', () => {
    const node = new Fixture().fill(10);
    expect(node.verdict({ index: 3 }, true)).toBe('have');
    expect(node.verdict({ index: 11 }, true)).toBe('recovering');
    expect(node.verdict({ index: 3, term: 2 }, true)).toBe('recovering');
    expect(node.verdict({ index: 3, previousTerm: 7 }, true)).toBe('recovering');
    expect(node.verdict({ kind: 'tail', index: 3 }, true)).toBe('recovering');
  });

  test('of a damaged log', () => {
    const node = new Fixture().fill(12);
    node.flip(3);
    expect(node.log.isWhole).toBe(false);
    expect(node.verdict({ index: 3 })).toBe('damaged');
    expect(node.verdict({ index: 4 })).toBe('have');
    expect(node.verdict({ index: 13 })).toBe('never-had');
    expect(node.verdict({ kind: 'tail', index: 5 })).toBe('have');
  });

  test('of a log that lost its tail says nothing of the tails of others', () => {
    const node = new Fixture().fill(12);
    const last = node.disk.paths().findLast((name) => name.endsWith('.log')) as string;
    node.disk.plant(last, node.disk.contents(last).slice(0, 64));
    node.disk.crash('power');
    node.log = node.open();
    expect(node.log.damage().at(-1)?.kind).toBe('tail');
    expect(node.verdict({ index: 3 })).toBe('have');
    expect(node.verdict({ index: 13 })).toBe('damaged');
    expect(node.verdict({ kind: 'tail', index: 3 })).toBe('damaged');
  });

  test('leaves out what is too much for one question', () => {
    const node = new Fixture();
    const data = new Uint8Array(3 << 20);
    const large = [1, 2, 3].map((index) => ({ index, term: 1, type: 0, data }));
    node.log.append(large, () => {});
    node.disk.settle();
    const slots = [1, 2, 3].map((index): AskedSlot => {
      return { kind: 'record', index, previousTerm: null, term: 1, bodyCrc: null };
    });
    const answering = { term: 1, recovering: false, led: false };
    const ask = { kind: 'repair-ask', round: 1, slots } as const;
    expect(answersTo(ask, node.log, answering).map(({ index }) => index)).toEqual([1]);
  });
});
