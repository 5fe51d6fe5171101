// Goal: byte lengths and well-formedness are those of UTF-8.
// Method: agreement with the platform's encoder over fixed and random texts.
import { expect, test } from 'vitest';
import { isWellFormed, utf8Length } from './index.js';

const encoder = new TextEncoder();

test('fixed texts', () => {
  const rows: readonly (readonly [string, number, boolean])[] = [
    ['', 0, true],
    ['abc', 3, true],
    ['ü', 2, true],
    ['€', 3, true],
    ['😀', 4, true],
    ['\u007f\u0080\u07ff\u0800\uffff', 1 + 2 + 2 + 3 + 3, true],
    ['\ud83d', 3, false],
    ['\ude00', 3, false],
    ['\ude00\ud83d', 6, false],
    ['a\ud83db', 5, false],
    ['\ud83d\ud83d\ude00', 7, false],
  ];
  for (const [text, bytes, wellFormed] of rows) {
    expect(utf8Length(text), JSON.stringify(text)).toBe(bytes);
    expect(utf8Length(text)).toBe(encoder.encode(text).length);
    expect(isWellFormed(text), JSON.stringify(text)).toBe(wellFormed);
  }
});

test('random texts agree with the platform', () => {
  const seed = 4711;
  let state = seed;
  const next = (bound: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
  const bounds = [0x80, 0x800, 0xd800, 0xe000, 0x10000];
  for (let i = 0; i < 3_000; i++) {
    let text = '';
    for (let n = next(8); n > 0; n--) {
      const high = bounds[next(bounds.length)] ?? 1;
      text += String.fromCharCode(high === 0xe000 ? 0xd800 + next(0x800) : next(high));
    }
    const message = `seed ${seed}, round ${i}`;
    expect(utf8Length(text), message).toBe(encoder.encode(text).length);
    expect(isWellFormed(text), message).toBe(!encodesWithReplacement(text));
  }
});

function encodesWithReplacement(text: string): boolean {
  return new TextDecoder().decode(encoder.encode(text)) !== text.replace(/^\ufeff/, '');
}
