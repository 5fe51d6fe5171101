/** Goal: the window frees what was acknowledged and nothing else. Method: against a plain array. */
import { expect, it } from 'vitest';
import { logIndex } from './identifiers.js';
import { InFlight } from './in-flight.js';
import { Chance } from './testing/chance.js';

const SEED = 3;

it(`counts as a plain array does (seed ${SEED})`, () => {
  const chance = new Chance(SEED);
  const window = new InFlight(5, 100);
  let plain: { end: number; bytes: number }[] = [];
  let end = 0;
  for (let run = 0; run < 5000; run++) {
    if (!window.full && chance.hits(0.6)) {
      end += chance.between(1, 3);
      const bytes = chance.between(0, 60);
      window.add(logIndex(end), bytes);
      plain.push({ end, bytes });
    } else {
      const index = chance.between(end - 10, end + 1);
      window.freeUpTo(logIndex(index));
      plain = plain.filter((one) => one.end > index);
    }
    const bytes = plain.reduce((sum, one) => sum + one.bytes, 0);
    expect([window.count, window.bytes]).toEqual([plain.length, bytes]);
    expect(window.full).toBe(plain.length === 5 || bytes >= 100);
  }
});

it('takes nothing beyond its limit', () => {
  const window = new InFlight(1, 100);
  window.add(logIndex(1), 1);
  expect(() => window.add(logIndex(2), 1)).toThrow(/full/);
});
