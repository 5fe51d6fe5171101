// Goal: long walks share one slice and rest between; equal ones are made once for all who wait, and
// nobody is told what was looked at before he asked; nobody is walked for in vain. Method: walks
// that count their steps over a clock that each step moves.
import type { RefusedOutcome } from '@svc/engine';
import { LoopShare } from '@svc/http';
import { DamageError } from '@svc/storage';
import { beforeEach, describe, expect, test } from 'vitest';
import { MovedClock } from '../testing/moved-clock.fake.js';
import { StateWalks } from './state-walks.js';

const STEP_MS = 1;

let clock: MovedClock;
let walks: StateWalks;
/** The value that walks read; a walk shows what it was when the walk began. */
let version: number;
/** Walks begun, and steps made. */
let begun: string[];
let steps: string[];
let heard: string[];
/** Walks that ended, by themselves or not. */
let ended: string[];
/** Results that nobody needs any more. */
let released: string[];

beforeEach(() => {
  clock = new MovedClock();
  walks = new StateWalks(clock, new LoopShare(clock), ({ message }) =>
    heard.push(`log: ${message}`),
  );
  version = 1;
  begun = [];
  steps = [];
  heard = [];
  ended = [];
  released = [];
});

function* walkOf(name: string, length: number): Generator<void, string> {
  const shown = `${name}@${version}`;
  begun.push(shown);
  try {
    for (let i = 0; i < length; i++) {
      clock.ms += STEP_MS;
      steps.push(name);
      yield;
    }
  } finally {
    ended.push(shown);
  }
  return shown;
}

/** Asks for a walk of so many steps; the returned reply can be made to go. */
function ask(who: string, name: string, length: number, key: string | null = name) {
  const reply = {
    gone: false,
    send: () => {
      heard.push(`${who}: refused`);
      return true;
    },
  };
  const done = (shown: string) => heard.push(`${who}: ${shown}`);
  walks.walk(
    key,
    () => walkOf(name, length),
    reply,
    done,
    (shown) => released.push(shown),
  );
  return reply;
}

function runAll(): void {
  for (let i = 0; i < 10_000; i++) if (!clock.next()) return;
  throw new Error('the walks do not end');
}

test('a short walk ends in the call that brings it', () => {
  ask('a', 'short', 3);
  expect(heard).toEqual(['a: short@1']);
  expect(walks.idle).toBe(true);
});

test('long walks have half of the time between them, and take turns', () => {
  ask('a', 'x', 100);
  ask('b', 'y', 100);
  ask('c', 'z', 100);
  const beganMs = clock.ms;
  const stepsBefore = steps.length;
  runAll();
  const walkedMs = (steps.length - stepsBefore) * STEP_MS;
  expect(walkedMs / (clock.ms - beganMs)).toBeLessThanOrEqual(0.55);
  expect(heard).toEqual(['a: x@1', 'b: y@1', 'c: z@1']);
  const half = steps.slice(0, steps.length / 2);
  for (const name of ['x', 'y', 'z']) {
    expect(half.filter((step) => step === name).length).toBeGreaterThan(40);
  }
});

test('a short walk does not wait for long ones', () => {
  ask('a', 'x', 1000);
  ask('b', 'short', 2);
  // The rest of the turn that brought them, the second slice of x, and then its own.
  for (let turn = 0; turn < 3; turn++) clock.next();
  expect(heard).toEqual(['b: short@1']);
  expect(steps.filter((step) => step === 'x').length).toBe(8);
});

test('walks that come at once share the four milliseconds of a turn', () => {
  for (let i = 0; i < 16; i++) ask(`${i}`, `short ${i}`, 1);
  const perTurn = [steps.length];
  while (steps.length < 16) {
    const before = steps.length;
    clock.next();
    perTurn.push(steps.length - before);
  }
  // The immediates of the turn that brought them have nothing left.
  expect(perTurn).toEqual([4, 0, 4, 4, 4]);
  clock.move(0);
  expect(heard.length).toBe(16);
  expect(walks.idle).toBe(true);
});

test('a walk that stands in line is shared until it begins, and a stop refuses it', () => {
  ask('a', 'x', 5);
  const gone = ask('b', 'y', 1);
  version = 2;
  ask('c', 'y', 1);
  ask('d', 'z', 1);
  gone.gone = true;
  expect([begun, walks.idle]).toEqual([['x@1'], false]);
  clock.next();
  clock.next();
  expect([begun, heard]).toEqual([
    ['x@1', 'y@2', 'z@2'],
    ['a: x@1', 'c: y@2', 'd: z@2'],
  ]);
  ask('e', 'x', 1);
  ask('f', 'v', 5);
  ask('g', 'w', 1);
  walks.stop();
  clock.move(100);
  expect(heard.slice(3)).toEqual(['e: x@2', 'f: refused', 'g: refused']);
  expect(begun).not.toContain('w@2');
});

describe('equal walks', () => {
  test('who comes while one is under way is shown the next, with all others', () => {
    ask('a', 'x', 50);
    version = 2;
    ask('b', 'x', 50);
    clock.next();
    version = 3;
    ask('c', 'x', 50);
    runAll();
    expect(begun).toEqual(['x@1', 'x@3']);
    expect(heard).toEqual(['a: x@1', 'b: x@3', 'c: x@3']);
    expect(walks.idle).toBe(true);
    ask('d', 'x', 2);
    expect(heard).toContain('d: x@3');
  });

  test('without a key each is made for itself', () => {
    ask('a', 'x', 50, null);
    ask('b', 'x', 50, null);
    runAll();
    expect(begun).toHaveLength(2);
    expect(heard).toEqual(['a: x@1', 'b: x@1']);
  });

  test('a thousand readers who ask again and again cost as much as one', () => {
    for (let i = 0; i < 1000; i++) ask(`${i}`, 'x', 50);
    runAll();
    expect(begun).toHaveLength(2);
    expect(heard).toHaveLength(1000);
    // Each result once, when the last of those who asked for it has it.
    expect(released).toHaveLength(2);
  });
});

describe('readers who go', () => {
  test('nothing is walked for them', () => {
    const reply = ask('a', 'x', 1000);
    reply.gone = true;
    const before = steps.length;
    runAll();
    expect(steps.length - before).toBe(0);
    expect(heard).toEqual([]);
    expect(ended, 'what it held is let go of').toEqual(['x@1']);
    expect(released, 'there is no result').toEqual([]);
  });

  test('those who wait for the next walk have it at once', () => {
    const reply = ask('a', 'x', 1000);
    version = 2;
    ask('b', 'x', 20);
    reply.gone = true;
    runAll();
    expect(heard).toEqual(['b: x@2']);
    expect(released).toEqual(['x@2']);
  });
});

test('stopped: whoever waits is refused, and nothing is looked at any more', () => {
  ask('a', 'x', 1000);
  ask('b', 'x', 1000);
  ask('c', 'y', 1000);
  const before = steps.length;
  walks.stop();
  ask('d', 'z', 1);
  runAll();
  expect(heard.sort()).toEqual(['a: refused', 'b: refused', 'c: refused', 'd: refused']);
  expect(ended).toEqual(begun);
  expect(steps.length).toBe(before);
});

test('a damaged row ends the walk that meets it, in any slice, and nothing else', () => {
  function* meeting(steps: number): Generator<void, string> {
    for (let i = 0; i < steps; i++) {
      clock.ms += STEP_MS;
      yield;
    }
    throw new DamageError('state_row_damaged', 'state', 0, 'a row is not what was written', '');
  }
  const refused: string[] = [];
  const askFor = (who: string, steps: number): void => {
    const reply = {
      gone: false,
      send: ({ refusal }: RefusedOutcome) => refused.push(`${who}: ${refusal.reason}`) > 0,
    };
    walks.walk(
      'damaged',
      () => meeting(steps),
      reply,
      () => heard.push(`${who}: a result`),
    );
  };
  askFor('in its call', 1);
  expect(refused).toEqual(['in its call: internal']);
  askFor('first', 100);
  askFor('second', 100);
  ask('sound', 'x', 200);
  runAll();
  expect(refused.slice(1)).toEqual(['first: internal', 'second: internal']);
  expect(heard.filter((line) => line.startsWith('log: ')).length).toBe(3);
  expect(heard.filter((line) => !line.startsWith('log: '))).toEqual(['sound: x@1']);
  expect(walks.idle).toBe(true);
  ask('later', 'x', 100);
  runAll();
  expect(heard.at(-1)).toBe('later: x@1');
});
