// Goal: what is known is neither too old nor lost too early, and costs the store one read. Method:
// a fake clock and a store that answers when the test says so.
import { beforeEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../base/clock.fake.js';
import { OverloadedError } from '../base/overloaded.js';
import { StoreUnavailableError } from '../store/kv.js';
import { Epochs } from './epochs.js';
import { Known, type KnownOptions } from './known.js';

interface Thing {
  readonly owner: string;
  readonly name: string;
}

const FRESH_MS = 30_000;
const GRACE_MS = 600_000;

let clock: FakeClock;
let epochs: Epochs;
let loads: string[];
let answers: (key: string) => Promise<Thing | null>;

const thing = (name: string): Thing => ({ owner: 'c', name });
const down = () => Promise.reject(new StoreUnavailableError('down'));
const silent = () => new Promise<never>(() => {});

function known(more: Partial<KnownOptions<Thing>> = {}): Known<Thing> {
  return new Known<Thing>({
    clock,
    epochs,
    freshMs: FRESH_MS,
    graceMs: GRACE_MS,
    entriesMax: 8,
    ownerOf: ({ owner }) => owner,
    load: (key) => {
      loads.push(key);
      return answers(key);
    },
    ...more,
  });
}

beforeEach(() => {
  clock = new FakeClock();
  epochs = new Epochs();
  loads = [];
  answers = async (key) => thing(key);
});

test('one read serves all who ask, and later ones in the same turn', async () => {
  const things = known();
  expect(await Promise.all([things.get('a'), things.get('a')])).toEqual([thing('a'), thing('a')]);
  expect(things.get('a')).toEqual(thing('a'));
  expect(loads).toEqual(['a']);
});

test('after its time it is read again', async () => {
  const things = known();
  await things.get('a');
  clock.advance(FRESH_MS - 1);
  expect(things.get('a')).toEqual(thing('a'));
  clock.advance(1);
  answers = async () => thing('b');
  expect(await things.get('a')).toEqual(thing('b'));
});

test('what does not exist is not remembered, and what ceased to exist is forgotten', async () => {
  const things = known();
  answers = async () => null;
  expect(await things.get('a')).toBe(null);
  answers = async (key) => thing(key);
  expect(await things.get('a')).toEqual(thing('a'));
  clock.advance(FRESH_MS);
  answers = async () => null;
  expect(await things.get('a')).toBe(null);
  answers = down;
  await expect(things.get('a')).rejects.toThrow(StoreUnavailableError);
});

test('where it may be, what does not exist is remembered for a moment', async () => {
  const things = known({ missingMs: 1_000 });
  answers = async () => null;
  await things.get('a');
  expect(things.get('a')).toBe(null);
  clock.advance(1_000);
  answers = async (key) => thing(key);
  expect(await things.get('a')).toEqual(thing('a'));
});

describe('while the store does not answer', () => {
  test('what is known holds for the grace, then nothing does', async () => {
    const things = known();
    await things.get('a');
    answers = down;
    clock.advance(FRESH_MS);
    expect(await things.get('a')).toEqual(thing('a'));
    clock.advance(GRACE_MS - 1_000);
    expect(await things.get('a')).toEqual(thing('a'));
    clock.advance(1_000);
    await expect(things.get('a')).rejects.toThrow(StoreUnavailableError);
  });

  test('it is asked once a second, and requests in between do not wait', async () => {
    const things = known();
    await things.get('a');
    answers = down;
    clock.advance(FRESH_MS);
    await things.get('a');
    expect(things.get('a')).toEqual(thing('a'));
    expect(loads).toHaveLength(2);
    clock.advance(1_000);
    await things.get('a');
    expect(loads).toHaveLength(3);
  });

  test('a store that is silent is waited for a moment only', async () => {
    const things = known();
    await things.get('a');
    answers = silent;
    clock.advance(FRESH_MS);
    const asked = things.get('a');
    clock.advance(500);
    expect(await asked).toEqual(thing('a'));
  });

  test('what was never known is no answer at all', async () => {
    answers = down;
    await expect(known().get('a')).rejects.toThrow(StoreUnavailableError);
  });

  test('what was never known is waited for shortly; a late answer is kept', async () => {
    const things = known();
    let answer = (_: Thing) => {};
    answers = () => new Promise((resolve) => (answer = resolve));
    const first = things.get('a');
    clock.advance(1_000);
    const second = things.get('a');
    const late = [first, second].map((asked) =>
      expect(asked).rejects.toThrow(StoreUnavailableError),
    );
    clock.advance(500);
    await late[0];
    clock.advance(1_000);
    await late[1];
    expect(loads, 'both wait for the same read').toEqual(['a']);
    answer(thing('a'));
    await Promise.resolve();
    expect(await things.get('a')).toEqual(thing('a'));
    expect([loads.length, clock.waiting]).toEqual([1, 0]);
  });

  test('what is marked or too old is waited for no longer than what was never known', async () => {
    for (const spoil of [() => epochs.mark('c'), () => clock.advance(GRACE_MS)]) {
      const things = known();
      answers = async (key) => thing(key);
      await things.get('a');
      answers = silent;
      clock.advance(FRESH_MS);
      const asked = expect(things.get('a')).rejects.toThrow(StoreUnavailableError);
      spoil();
      clock.advance(500);
      await new Promise((resolve) => setImmediate(resolve));
      clock.advance(1_000);
      await asked;
      expect(clock.waiting).toBe(0);
    }
  });

  test('what was marked is as if it was never known', async () => {
    const things = known();
    await things.get('a');
    answers = down;
    epochs.mark('c');
    await expect(things.get('a')).rejects.toThrow(StoreUnavailableError);
  });

  test('what is marked while the store is waited for is not taken either', async () => {
    const things = known();
    await things.get('a');
    answers = down;
    clock.advance(FRESH_MS);
    const asked = things.get('a');
    epochs.mark('c');
    await expect(asked).rejects.toThrow(StoreUnavailableError);
  });

  test('an error of another kind is not covered up', async () => {
    const things = known();
    await things.get('a');
    clock.advance(FRESH_MS);
    answers = () => Promise.reject(new Error('damaged'));
    await expect(things.get('a')).rejects.toThrow('damaged');
  });
});

describe('marks', () => {
  test('make what they name old, and nothing else', async () => {
    const things = known({ ownerOf: ({ name }) => name });
    await things.get('a');
    await things.get('b');
    epochs.mark('a');
    await things.get('a');
    things.get('b');
    expect(loads).toEqual(['a', 'b', 'a']);
  });

  test('an answer that was on its way when its owner was marked is not kept', async () => {
    const things = known();
    let answer = (_: Thing) => {};
    answers = () => new Promise((resolve) => (answer = resolve));
    const asked = things.get('a');
    epochs.mark('c');
    answer(thing('before'));
    expect(await asked).toEqual(thing('before'));
    answers = async () => thing('after');
    expect(await things.get('a')).toEqual(thing('after'));
  });

  test('more of them than are kept make everything old', async () => {
    const things = known();
    await things.get('a');
    for (let at = 0; at <= 65_536; at++) epochs.mark(`other-${at}`);
    await things.get('a');
    expect(loads).toEqual(['a', 'a']);
  });
});

test('what is used stays, and what is not goes', async () => {
  const things = known();
  for (let at = 0; at < 100; at++) {
    await things.get('used');
    await things.get(`once-${at}`);
  }
  expect(things.size).toBeLessThanOrEqual(8);
  expect(loads.filter((key) => key === 'used')).toHaveLength(1);
});

test('what nobody uses goes when it is beyond its grace, whatever room there is', async () => {
  const things = known();
  await things.get('once');
  for (let time = 0; time < 2; time++) {
    clock.advance(FRESH_MS + GRACE_MS);
    await things.get('used');
  }
  expect(things.size).toBe(1);
});

test('reads at a time are bounded', async () => {
  const things = known();
  answers = silent;
  for (let at = 0; at < 512; at++) void things.get(`made-up-${at}`);
  await expect(things.get('one more')).rejects.toThrow(OverloadedError);
});
