// Goal: a name found by its bytes is the name that they spell, whatever was looked up before.
// Method: names that meet in the table, in an order that makes them take each other's places.
import { expect, test } from 'vitest';
import { nameAt } from './name-table.js';

function found(name: string): string {
  const bytes = Buffer.from(`..${name}..`, 'latin1');
  return nameAt(bytes, 2, 2 + name.length);
}

test('ten thousand names, each three times, in a table of a tenth of that', () => {
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < 10_000; i++) {
      const name = `queue-${i}`;
      if (found(name) !== name) expect(found(name)).toBe(name);
    }
  }
});

test('names that begin alike, the empty one, and long ones', () => {
  const names = ['', 'a', 'aa', 'ab', 'x'.repeat(47), 'x'.repeat(48), 'x'.repeat(49)];
  for (const name of [...names, 'y'.repeat(500), ...names]) expect(found(name)).toBe(name);
});
