// Goal: the position of the first fault is right. Method: agreement with the platform on every
// prefix of random bytes, replayed by a printed seed.
import { isUtf8 } from 'node:buffer';
import { expect, test } from 'vitest';
import { utf8FaultAt } from './utf8-fault.js';

test('what stands before the fault is UTF-8, and no more is', () => {
  const seed = 99;
  let state = seed;
  const next = (bound: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
  const leads = [
    0x41, 0x80, 0xbf, 0xc1, 0xc2, 0xdf, 0xe0, 0xe2, 0xed, 0xef, 0xf0, 0xf4, 0xf5, 0xff,
  ];
  const wrong: string[] = [];
  for (let round = 0; round < 20_000; round++) {
    const bytes = Buffer.from(
      Array.from({ length: next(8) }, () =>
        next(2) === 0 ? (leads[next(leads.length)] ?? 0) : 0x80 + next(0x40),
      ),
    );
    const at = utf8FaultAt(bytes);
    // A prefix that ends behind the fault is not UTF-8.
    const behind = [1, 2, 3, 4].filter((more) => at + more <= bytes.length);
    const isRight =
      (at === bytes.length) === isUtf8(bytes) &&
      isUtf8(bytes.subarray(0, at)) &&
      behind.every((more) => !isUtf8(bytes.subarray(0, at + more)));
    if (!isRight) wrong.push(`round ${round}: ${bytes.toString('hex')} ${at}`);
  }
  expect(wrong.slice(0, 20), `seed ${seed}`).toEqual([]);
});
