// Goal: the budget never admits more than its shares, neither share costs the other, large bodies
// leave room for small ones, and no owner takes the room of others. Method: reservations at the
// borders; owners that take all they get, alone and many at once; a random run against sums.
import { describe, expect, test } from 'vitest';
import { BodyBudget, type BodyHolder, type BodyShare, isLargeBody } from './body-budget.js';

const KIB = 1024;
const MIB = 1024 * KIB;
const SMALL = 64 * KIB;

let owners = 0;

/** Without a name: an owner that has nothing else. */
function body(owner = `owner ${owners++}`): BodyHolder {
  return { owner, bodyBytes: 0, upperBytes: 0, upperOwner: '' };
}

/** Bodies of `bytes` until one is refused: how many were taken. */
function fill(budget: BodyBudget, owner: string, bytes: number, share: BodyShare = 'growing') {
  for (let count = 0; ; count++) if (!budget.reserve(share, body(owner), bytes)) return count;
}

describe('shares', () => {
  test('fill up and empty on their own', () => {
    const budget = new BodyBudget(100, 50);
    const first = body();
    expect(budget.reserve('growing', first, 60)).toBe(true);
    expect(budget.reserve('growing', body(), 41)).toBe(false);
    expect(budget.reserve('growing', body(), 20)).toBe(true);
    expect(budget.reserve('drain', body(), 50)).toBe(true);
    expect(budget.reserve('drain', body(), 1)).toBe(false);
    budget.release('growing', first);
    expect([first.bodyBytes, budget.used('growing')]).toEqual([0, 20]);
    expect(budget.reserve('growing', body(), 40)).toBe(true);
    expect(budget.used('drain')).toBe(50);
  });

  test('admit a body alone that is larger than they are', () => {
    const budget = new BodyBudget(100, 50);
    const lone = body();
    expect(budget.reserve('growing', lone, 500)).toBe(true);
    expect(budget.reserve('growing', body(), 1)).toBe(false);
    budget.release('growing', lone);
    expect(budget.used('growing')).toBe(0);
  });

  test('keep a quarter for small bodies beside the large ones of an owner', () => {
    const budget = new BodyBudget(8 * SMALL, 0);
    expect(budget.reserve('growing', body('one'), 3 * SMALL)).toBe(true);
    expect(budget.reserve('growing', body('one'), 3 * SMALL)).toBe(true);
    expect(budget.reserve('growing', body('one'), SMALL + 1)).toBe(false);
    expect(budget.reserve('growing', body('one'), SMALL)).toBe(true);
    expect(budget.reserve('growing', body('one'), 1)).toBe(false);
    expect(budget.reserve('growing', body(), SMALL / 2)).toBe(true);
  });

  test('count a body that grows as a large one with all its bytes', () => {
    const budget = new BodyBudget(8 * SMALL, 0);
    const [grown, second] = [body('one'), body('one')];
    expect(budget.reserve('growing', grown, SMALL)).toBe(true);
    expect(budget.reserve('growing', grown, 3 * SMALL)).toBe(true);
    expect(budget.reserve('growing', second, SMALL)).toBe(true);
    expect(budget.reserve('growing', second, SMALL)).toBe(true);
    expect(budget.reserve('growing', second, SMALL)).toBe(false);
    budget.release('growing', grown);
    expect(budget.reserve('growing', second, SMALL)).toBe(true);
    budget.release('growing', second);
    expect(budget.used('growing')).toBe(0);
  });

  test('let the only large body grow beside small ones, whatever its size', () => {
    const budget = new BodyBudget(100, 0);
    const lone = body();
    expect(budget.reserve('growing', body(), 10)).toBe(true);
    expect(budget.reserve('growing', lone, SMALL + 1)).toBe(true);
    expect(budget.reserve('growing', lone, SMALL)).toBe(true);
    expect(budget.reserve('growing', body(), SMALL + 1)).toBe(false);
  });

  test('tell what fits and reserve nothing', () => {
    const budget = new BodyBudget(8 * SMALL, 0);
    const held = body();
    expect(budget.reserve('growing', held, 2 * SMALL)).toBe(true);
    expect(budget.fits('growing', body(), 3 * SMALL)).toBe(true);
    expect(budget.fits('growing', body(), 5 * SMALL)).toBe(false);
    expect(budget.fits('growing', held, 6 * SMALL)).toBe(true);
    expect(budget.used('growing')).toBe(2 * SMALL);
  });

  test('grant less than before however full they are', () => {
    const budget = new BodyBudget(100, 0);
    const lone = body();
    expect(budget.reserve('growing', lone, 500)).toBe(true);
    expect(budget.reserve('growing', lone, -10)).toBe(true);
    expect([lone.bodyBytes, budget.used('growing')]).toEqual([490, 490]);
  });
});

describe('owners', () => {
  test('of small bodies have three quarters alone, and leave a quarter to others', () => {
    for (const share of ['growing', 'drain'] as const) {
      const budget = new BodyBudget(112 * MIB, 112 * MIB);
      expect(fill(budget, 'hog', SMALL, share)).toBe(84 * 16);
      expect(budget.reserve(share, body('hog'), 1)).toBe(false);
      for (let i = 0; i < 1000; i++) expect(budget.reserve(share, body(), 8 * KIB)).toBe(true);
    }
  });

  test('of large bodies leave room for large ones and for small ones of others', () => {
    const budget = new BodyBudget(112 * MIB, 0);
    expect(fill(budget, 'hog', 2 * SMALL)).toBe(84 * 8);
    // And for small ones of its own: its large bodies are slower than what it sends beside them.
    expect(fill(budget, 'hog', SMALL)).toBe(14 * 16);
    expect(budget.reserve('growing', body(), 6 * MIB)).toBe(true);
    for (let i = 0; i < 60; i++) expect(budget.reserve('growing', body(), SMALL)).toBe(true);
  });

  test('of large bodies leave a part of the share to small ones, however many they are', () => {
    const budget = new BodyBudget(112 * MIB, 0);
    for (let i = 0; i < 1000; i++) budget.reserve('growing', body(), 2 * SMALL);
    expect(budget.used('growing')).toBe(98 * MIB);
    expect(budget.reserve('growing', body(), SMALL)).toBe(true);
  });

  test('that are many leave each a half of what they found', () => {
    const budget = new BodyBudget(112 * MIB, 0);
    const taken = ['a', 'b', 'c', 'd'].map((owner) => fill(budget, owner, SMALL) / 16);
    expect(taken).toEqual([84, 14, 7, 3.5]);
    // An owner that has its part gets no more; the next one does.
    expect(fill(budget, 'a', SMALL)).toBe(0);
    expect(budget.reserve('growing', body(), SMALL)).toBe(true);
  });

  test('that are alone send their largest body beside ordinary ones', () => {
    const budget = new BodyBudget(112 * MIB, 0);
    expect(budget.reserve('growing', body('one'), 64 * MIB)).toBe(true);
    expect(budget.reserve('growing', body('one'), 4 * MIB)).toBe(true);
    for (let i = 0; i < 100; i++) {
      expect(budget.reserve('growing', body('one'), SMALL)).toBe(true);
    }
  });

  test('have room again when their bodies are answered, under whatever name they count', () => {
    const budget = new BodyBudget(16 * SMALL, 0);
    const lower = Array.from({ length: 8 }, () => body());
    for (const one of lower) budget.reserve('growing', one, SMALL);
    const renamed = { ...body('stranger') };
    expect(budget.reserve('growing', renamed, SMALL)).toBe(true);
    renamed.owner = 'tenant';
    expect(fill(budget, 'stranger', SMALL)).toBe(3);
    budget.release('growing', renamed);
    expect(budget.reserve('growing', body('stranger'), SMALL)).toBe(true);
    // A body that is reserved anew counts for its owner of now.
    expect(budget.reserve('growing', renamed, SMALL)).toBe(true);
    expect(budget.reserve('growing', body('tenant'), SMALL)).toBe(true);
    expect(budget.reserve('growing', body('tenant'), SMALL)).toBe(false);
  });

  test('are not asked for while a share is half empty', () => {
    const budget = new BodyBudget(16 * SMALL, 0);
    const quiet: BodyHolder = {
      ...body(),
      get owner(): string {
        throw new Error('the owner was asked for');
      },
    };
    for (let i = 0; i < 8; i++) expect(budget.reserve('growing', quiet, SMALL)).toBe(true);
    budget.release('growing', quiet);
    expect(budget.used('growing')).toBe(0);
  });

  test('are not compared where room was promised', () => {
    const budget = new BodyBudget(112 * MIB, 0);
    const one = body('one');
    for (let i = 0; i < 2; i++) budget.reserve('growing', body(), 30 * MIB);
    expect(budget.reserve('growing', one, 27 * MIB)).toBe(false);
    expect(budget.reserve('growing', one, 40 * MIB, true)).toBe(false);
    expect(budget.reserve('growing', one, 27 * MIB, true)).toBe(true);
    expect(budget.reserve('growing', body('one'), 2 * SMALL)).toBe(false);
  });

  test('of one body that leave another one its room', () => {
    const budget = new BodyBudget(16 * MIB, 0);
    const [one, two, three] = [body('a'), body('a'), body('b')];
    budget.reserve('growing', one, 3 * MIB);
    expect(budget.leavesRoom('growing', two, 3 * MIB, one, 5 * MIB)).toBe(true);
    budget.reserve('growing', two, 3 * MIB);
    for (const next of [body('a'), three]) {
      expect(budget.leavesRoom('growing', next, 3 * MIB, one, 5 * MIB)).toBe(false);
    }
    // Nothing of the trial stays.
    expect([three.bodyBytes, three.upperBytes, budget.used('growing')]).toEqual([0, 0, 6 * MIB]);
  });
});

test('any order of reservations leaves its sums exact, and each owner within its bound', () => {
  const max = 64 * SMALL;
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((seed / 2_147_483_648) * below);
  };
  const budget = new BodyBudget(max, 0);
  const held: BodyHolder[] = [];
  for (let step = 0; step < 20_000; step++) {
    const known = held[random(held.length * 2)];
    const one = known ?? body(`owner ${random(4)}`);
    if (known !== undefined && random(3) === 0) {
      budget.release('growing', one);
      held.splice(held.indexOf(one), 1);
      continue;
    }
    const bytes = one.bodyBytes > 0 && random(4) === 0 ? -1 : 1 + random(2 * SMALL);
    const isTaken = budget.reserve('growing', one, bytes);
    if (known === undefined && isTaken) held.push(one);
    const sum = held.reduce((total, { bodyBytes }) => total + bodyBytes, 0);
    expect(budget.used('growing')).toBe(sum);
    expect(sum).toBeLessThanOrEqual(max);
    if (!isTaken || bytes < 0 || one.upperBytes === 0) continue;
    const isLarge = isLargeBody(one.bodyBytes);
    const own = held.filter(
      ({ upperOwner, bodyBytes }) => upperOwner === one.owner && isLargeBody(bodyBytes) === isLarge,
    );
    const upper = own.reduce((total, { upperBytes }) => total + upperBytes, 0);
    // The bytes of an owner above the half count up to what all hold above it now.
    if (sum > 0.75 * max) expect(Math.min(upper, sum - max / 2)).toBeLessThanOrEqual(max - sum);
  }
  for (const one of held) budget.release('growing', one);
  expect(budget.used('growing')).toBe(0);
  expect(fill(budget, 'anybody', SMALL)).toBe(48);
});
