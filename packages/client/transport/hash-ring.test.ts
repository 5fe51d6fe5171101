// Goal: keys are spread evenly, and only the keys of a lost server move.
import { expect, test } from 'vitest';
import { HashRing } from './hash-ring.js';

const SERVERS = ['http://a:1', 'http://b:1', 'http://c:1', 'http://d:1'];
const KEYS = Array.from({ length: 4000 }, (_, i) => `queue-${i % 50}\0p${i}\0group`);

test('each server has its share, and each order names all servers', () => {
  const ring = new HashRing(SERVERS, 128);
  const shares = [0, 0, 0, 0];
  for (const key of KEYS) {
    const order = ring.order(key);
    expect([...order].sort()).toEqual([0, 1, 2, 3]);
    shares[order[0] as number] = (shares[order[0] as number] as number) + 1;
  }
  for (const share of shares) {
    expect(share).toBeGreaterThan(700);
    expect(share).toBeLessThan(1300);
  }
});

test('without the last server every other key stays, and its own go where its order said', () => {
  const whole = new HashRing(SERVERS, 128);
  const rest = new HashRing(SERVERS.slice(0, 3), 128);
  for (const key of KEYS) {
    const expected = whole.order(key).filter((server) => server !== 3);
    expect(rest.order(key)).toEqual(expected);
  }
});
