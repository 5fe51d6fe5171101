// Goal: the settling rules hold for every small ack, not only for the listed scenarios.
// Method: all 4-message batches with every combination of words, DLQ settings and counters, judged
// by invariants that follow from message-plane 4.1 and by a second, slower reading of its table.
import { expect, test } from 'vitest';
import { settleByTable, type Word } from '../testing/ack-settle.fake.js';
import { type SettleItem, settle } from './ack-settle.js';

const WORDS: readonly Word[] = [null, 'completed', 'retry', 'failed', 'dlq'];

function* allWords(length: number): Generator<Word[]> {
  if (length === 0) {
    yield [];
    return;
  }
  for (const rest of allWords(length - 1)) for (const word of WORDS) yield [...rest, word];
}

test('every batch of four under a lease', () => {
  for (const words of allWords(4)) {
    for (const [retries, retryLimit] of [
      [0, 0],
      [0, 3],
      [1, 1],
      [2, 3],
    ] as const) {
      for (const [fileFailed, conflation, spentAt] of [
        [true, false, -1],
        [false, false, -1],
        [true, true, -1],
        [true, false, 7],
        [false, false, 7],
        [true, true, 10],
      ] as const) {
        const limits = { retries, retryLimit, conflation, fileFailed, spentAt };
        const input = { committed: 6, batchEnd: 10, ...limits };
        const items = itemsOf(words, 7);
        expect({ words, input, result: settle(input, items) }).toEqual({
          words,
          input,
          result: settleByTable(input, words),
        });
        expect(settle(input, items.reverse())).toEqual(settleByTable(input, words));
      }
    }
  }
});

test('without a lease on record only the completed prefix moves the cursor', () => {
  for (const words of allWords(4)) {
    const input = {
      committed: -1,
      batchEnd: null,
      retries: 2,
      retryLimit: 0,
      conflation: false,
      fileFailed: true,
      spentAt: -1,
    };
    expect(settle(input, itemsOf(words, 0))).toEqual(settleByTable(input, words));
  }
});

test('a negative retry limit is none', () => {
  const limits = { retries: 0, retryLimit: -5, conflation: false, fileFailed: true, spentAt: -1 };
  const input = { committed: -1, batchEnd: 0, ...limits };
  expect(settle(input, [{ status: 'failed', offset: 0 }]).filed).toEqual([0]);
});

function itemsOf(words: readonly Word[], base: number): SettleItem[] {
  return words.flatMap((status, i) => (status === null ? [] : [{ status, offset: base + i }]));
}
