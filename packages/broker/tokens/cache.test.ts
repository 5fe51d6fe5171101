// Goal: the bounds hold whatever comes, what is in use stays, and no token is taken for another.
// Method: a small cache, and one of the real size filled far beyond it.
import { describe, expect, test } from 'vitest';
import { TokenCache } from './cache.js';

const token = (text: string | number, letters = 40) => String(text).padStart(letters, '_');

describe('a cache of four tokens', () => {
  test('what is used within a generation stays, what is not goes', () => {
    const cache = new TokenCache<number>(4);
    cache.add(token('kept'), 0);
    for (let i = 1; i <= 20; i++) {
      cache.add(token(i), i);
      expect(cache.get(token('kept'))).toBe(0);
      expect(cache.size).toBeLessThanOrEqual(4);
    }
    expect(cache.get(token(1))).toBeUndefined();
    expect(cache.get(token(20))).toBe(20);
  });

  test('a token that is asked for or added again is counted once', () => {
    const cache = new TokenCache<number>(4);
    for (const text of ['a', 'b', 'c', 'a', 'c']) cache.add(token(text), 1);
    for (let i = 0; i < 10; i++) expect(cache.get(token('a'))).toBe(1);
    expect([cache.size, cache.letters]).toEqual([3, 120]);
  });

  test('a token with the end of another is not taken for it', () => {
    const cache = new TokenCache<number>(4);
    const end = 'x'.repeat(32);
    cache.add(`a.b.${end}`, 1);
    expect(cache.get(`c.b.${end}`)).toBeUndefined();
    expect(cache.get(end)).toBeUndefined();
    expect(cache.get(`a.b.${end}`)).toBe(1);
    cache.add(`other.b.${end}`, 2);
    expect(cache.get(`a.b.${end}`)).toBeUndefined();
    expect(cache.get(`other.b.${end}`)).toBe(2);
    expect([cache.size, cache.letters]).toEqual([1, 40]);
  });

  test('nothing is left when it is cleared', () => {
    const cache = new TokenCache<number>(4);
    for (const text of ['a', 'b', 'c']) cache.add(token(text), 1);
    cache.clear();
    expect([cache.size, cache.letters]).toEqual([0, 0]);
    for (const text of ['a', 'b', 'c']) expect(cache.get(token(text))).toBeUndefined();
  });
});

test('letters are bounded as well as entries', () => {
  const cache = new TokenCache<number>(1000, 100);
  for (let i = 0; i < 50; i++) {
    cache.add(token(i), i);
    expect(cache.letters).toBeLessThanOrEqual(100);
    expect(cache.get(token(i))).toBe(i);
  }
});

test('of the real size, its bounds hold under a hundred thousand tokens', () => {
  const cache = new TokenCache<number>();
  for (let i = 0; i < 100_000; i++) cache.add(token(i, 1100), i);
  expect(cache.size).toBeLessThanOrEqual(16_384);
  expect(cache.letters).toBeLessThanOrEqual(16 * 1024 * 1024);
  expect(cache.get(token(99_999, 1100))).toBe(99_999);
});
