/**
 * Goal: the appends of an entry are found at their places, in windows of any size, and bytes that
 * are no entry, or a damaged one, lead to hints at worst and never to an endless walk. Method:
 * entries that a planner wrote, walked in windows; then the same with bytes changed at random.
 */
import { describe, expect, test } from 'vitest';
import { APPEND_HEADER_BYTES, decodeAppend } from '../base/append.js';
import { EngineRig, pushCommand, TENANT } from '../testing/engine.fake.js';
import { SeededRandom } from '../testing/random.fake.js';
import { CONTENT_WINDOW_BYTES, type FoundAppend, scanContents } from './log-contents.js';

/** An entry with a queue, partitions, some appends, a cursor and a moved append. */
function body(): Uint8Array {
  const rig = new EngineRig();
  rig.push('q', 'first', ['x', 'y']);
  rig.moveOldest(1);
  for (const partition of ['a', 'b', 'c']) {
    rig.send(pushCommand('q', partition, ['1'.repeat(3000), '2', '3'], true));
  }
  rig.send(rig.popCommand({ partition: 'first' }));
  rig.send({ kind: 'configure', tenant: TENANT, queue: 'other', replace: false, changes: {} });
  rig.turn();
  return rig.lastBody();
}

function walk(bytes: Uint8Array, windowBytes: number, padding = 0) {
  const found: FoundAppend[] = [];
  const padded = new Uint8Array(bytes.length + padding);
  padded.set(bytes);
  let windows = 0;
  for (let from: number | null = 0; from !== null; windows++) {
    expect(windows).toBeLessThan(10_000);
    const window: Uint8Array = padded.subarray(from, from + windowBytes);
    from = scanContents(7, window, from, padded.length, found);
  }
  return { found, windows };
}

describe('the appends of an entry', () => {
  test.each([40, 64, 1000, CONTENT_WINDOW_BYTES])('in windows of %i bytes', (windowBytes) => {
    const bytes = body();
    for (const padding of [0, 1, 4, 5, 7]) {
      const { found } = walk(bytes, windowBytes, padding);
      const read = found.map(({ position, length, partition, baseOffset, index }) => {
        const append = decodeAppend(bytes.subarray(position, position + length));
        expect([append.partition, append.baseOffset, index]).toEqual([partition, baseOffset, 7]);
        return append.count;
      });
      expect(read.sort()).toEqual([2, 3, 3, 3]);
    }
  });

  test('cost few windows where messages are large', () => {
    expect(walk(body(), 200).windows).toBeLessThan(12);
  });

  test('are none in what is no entry of effects', () => {
    expect(walk(new Uint8Array(0), 100).found).toEqual([]);
    expect(walk(new Uint8Array([9, 9, 9]), 100).found).toEqual([]);
    expect(walk(new Uint8Array(100).fill(255), 100).found).toEqual([]);
  });

  test.each(Array.from({ length: 50 }, (_, seed) => seed))('of a damaged one (seed %i)', (seed) => {
    const random = new SeededRandom(seed);
    const bytes = body();
    for (let i = 0; i < 20; i++) bytes[random.below(bytes.length)] = random.below(256);
    const { found } = walk(bytes.subarray(0, random.below(bytes.length)), 64, random.below(8));
    for (const { position, length } of found) {
      expect(length).toBeGreaterThanOrEqual(APPEND_HEADER_BYTES);
      expect(position + length).toBeLessThanOrEqual(bytes.length + 8);
    }
  });
});
