// Goal: bytes inside never pass the bound but for one large command, nobody overtakes, holds end in
// time, and every way out is taken exactly once. Method: tables of single cases under a manual
// clock; then random sequences under a printed seed against sums kept beside.
import { beforeEach, describe, expect, test } from 'vitest';
import { MovedClock } from '../testing/moved-clock.fake.js';
import { seededRandom } from '../testing/recovery.fake.js';
import { Admission } from './admission.js';

const FAR = Number.MAX_SAFE_INTEGER;

let clock: MovedClock;
let said: string[];

beforeEach(() => {
  clock = new MovedClock();
  said = [];
});

function newAdmission(bytesMax: number, fraction = 0.5): Admission {
  const settings = { bytesMax, holdMs: 15_000, forwardedHoldMs: 2000 };
  return new Admission({ ...settings, clock, fraction: () => fraction });
}

function waitFor(
  admission: Admission,
  name: string,
  bytes: number,
  origin: 'client' | 'forwarded' = 'client',
  deadlineMs = FAR,
) {
  return admission.wait(bytes, origin, deadlineMs, (ok) => said.push(`${name} ${ok}`));
}

describe('room', () => {
  test('up to the bound, and again when others leave', () => {
    const admission = newAdmission(100);
    expect(admission.tryEnter(60)).toBe(true);
    expect(admission.tryEnter(40)).toBe(true);
    expect(admission.tryEnter(1)).toBe(false);
    waitFor(admission, 'a', 50);
    admission.leave(40);
    expect(said).toEqual([]);
    admission.leave(60);
    expect(said).toEqual(['a true']);
    expect(admission.bytes).toBe(50);
  });

  test('let in and left at once, by any number that waits, takes no stack', () => {
    const admission = newAdmission(100);
    admission.tryEnter(100);
    let left = 0;
    for (let i = 0; i < 20_000; i++) {
      admission.wait(60, 'client', FAR, () => {
        left++;
        admission.leave(60);
      });
    }
    admission.leave(100);
    expect([left, admission.bytes, admission.waiting]).toEqual([20_000, 0, 0]);
  });

  test('a command above the bound is let in alone', () => {
    const admission = newAdmission(100);
    expect(admission.tryEnter(500)).toBe(true);
    expect(admission.tryEnter(1)).toBe(false);
    waitFor(admission, 'large', 400);
    waitFor(admission, 'small', 1);
    admission.leave(500);
    expect(said).toEqual(['large true']);
    admission.leave(400);
    expect(said).toEqual(['large true', 'small true']);
  });

  test('nobody overtakes: a small one waits behind a large one', () => {
    const admission = newAdmission(100);
    admission.tryEnter(60);
    waitFor(admission, 'large', 80);
    expect(admission.tryEnter(1)).toBe(false);
    waitFor(admission, 'small', 1);
    expect(said).toEqual([]);
    admission.leave(60);
    expect(said).toEqual(['large true', 'small true']);
  });

  test('without a bound everything is let in', () => {
    const admission = newAdmission(0);
    for (let i = 0; i < 100; i++) expect(admission.tryEnter(1e9)).toBe(true);
  });
});

describe('holds', () => {
  test.each<[string, 'client' | 'forwarded', number, number]>([
    ['the shortest of a client', 'client', 0, 11_250],
    ['the middle', 'client', 0.5, 15_000],
    ['the longest', 'client', 0.999_999, 18_750],
    ['the shortest of another node', 'forwarded', 0, 1500],
    ['the longest of another node', 'forwarded', 0.999_999, 2500],
  ])('%s', (_, origin, fraction, holdMs) => {
    const admission = newAdmission(10, fraction);
    admission.tryEnter(10);
    waitFor(admission, 'a', 1, origin);
    clock.move(holdMs - 200);
    expect(said).toEqual([]);
    clock.move(300);
    expect(said).toEqual(['a false']);
    expect(admission.waiting).toBe(0);
    admission.leave(10);
    expect(admission.bytes).toBe(0);
  });

  test('a deadline ends a hold early, and lets those behind in', () => {
    const admission = newAdmission(100);
    admission.tryEnter(60);
    waitFor(admission, 'large', 80, 'client', 1000);
    waitFor(admission, 'small', 1);
    clock.move(1100);
    expect(said).toEqual(['large false', 'small true']);
  });

  test('who was cancelled hears nothing, and lets those behind in', () => {
    const admission = newAdmission(100);
    admission.tryEnter(60);
    const cancel = waitFor(admission, 'large', 80);
    waitFor(admission, 'small', 1);
    cancel();
    cancel();
    clock.move(0);
    expect(said).toEqual(['small true']);
    clock.move(60_000);
    expect(said).toEqual(['small true']);
    expect(admission.bytes).toBe(61);
  });

  test('stop tells all who wait, once', () => {
    const admission = newAdmission(10);
    admission.tryEnter(10);
    waitFor(admission, 'a', 1);
    waitFor(admission, 'b', 1)();
    waitFor(admission, 'c', 1);
    admission.stop();
    clock.move(60_000);
    expect(said).toEqual(['a false', 'c false']);
  });
});

test('random sequences: each hears once, in order, and the sums agree', () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  console.log(`seed ${seed}`);
  const random = seededRandom(seed);
  for (let round = 0; round < 200; round++) {
    const bytesMax = 1 + random.below(200);
    const admission = newAdmission(bytesMax, random.below(1000) / 1000);
    const inside: number[] = [];
    const cancelled = new Set<number>();
    const heard = new Map<number, boolean>();
    const admitted: number[] = [];
    let asked = 0;
    let waited = 0;
    for (let step = 0; step < 300; step++) {
      if (random.chance(0.5)) {
        const name = asked++;
        const bytes = random.chance(0.05) ? 300 : random.below(60);
        const enter = () => {
          inside.push(bytes);
          admitted.push(name);
        };
        if (admission.tryEnter(bytes)) enter();
        else {
          waited++;
          const cancel = admission.wait(bytes, 'forwarded', FAR, (ok) => {
            expect(heard.has(name) || cancelled.has(name)).toBe(false);
            heard.set(name, ok);
            if (ok) enter();
          });
          if (random.chance(0.2) && !heard.has(name)) {
            cancelled.add(name);
            cancel();
          }
        }
      } else if (inside.length > 0) {
        const [bytes = 0] = inside.splice(random.below(inside.length), 1);
        admission.leave(bytes);
      }
      clock.move(random.below(50));
      const sum = inside.reduce((total, bytes) => total + bytes, 0);
      expect(admission.bytes).toBe(sum);
      if (inside.filter((bytes) => bytes > 0).length > 1) expect(sum).toBeLessThanOrEqual(bytesMax);
    }
    for (const bytes of inside.splice(0)) admission.leave(bytes);
    clock.move(10_000);
    expect(heard.size + cancelled.size).toBe(waited);
    expect(admitted).toEqual([...admitted].sort((a, b) => a - b));
    expect(admission.waiting).toBe(0);
  }
});
