// Goal: a read collects nothing before there is room for its answer, whoever shares a walk has room
// of his own, and whoever gets none is told, here or gone. Method: walks that are counted when they
// begin, room that the test sets.
import type { RefusedOutcome } from '@svc/engine';
import { LoopShare } from '@svc/http';
import { beforeEach, expect, test } from 'vitest';
import { SharedRoom } from '../testing/message-log.fake.js';
import { MovedClock } from '../testing/moved-clock.fake.js';
import { StateReads } from './state-reads.js';

const MIB = 1024 * 1024;

let shared: SharedRoom;
let reads: StateReads;
let begun: number;

beforeEach(() => {
  shared = new SharedRoom(30 * MIB);
  begun = 0;
  const source = {
    stateless: false,
    leadsAlone: true,
    isLed: true,
    isMember: () => true,
    read: () => {},
  };
  const clock = new MovedClock();
  reads = new StateReads(source, clock, new LoopShare(clock), 1000, (error) => {
    throw error;
  });
});

class Asked {
  gone = false;
  readonly room = shared.one();
  refusals: string[] = [];
  shown = 0;

  send({ refusal }: RefusedOutcome): boolean {
    this.refusals.push(refusal.reason);
    return !this.gone;
  }
}

function ask(key: string | null = null): Asked {
  const asked = new Asked();
  // biome-ignore lint/correctness/useYield: a walk that ends with its first step
  const walk = function* (): Generator<void, null> {
    begun++;
    return null;
  };
  const done = () => {
    asked.shown++;
  };
  reads.confirmed(key, walk, asked, done, undefined, 4 * MIB);
  return asked;
}

test('sixty reads of 4 MiB begin as there is room', () => {
  const all = Array.from({ length: 60 }, () => ask());
  expect([begun, shared.waiting.length, shared.used]).toEqual([7, 53, 28 * MIB]);
  for (const { room } of all) {
    room.release();
    shared.admit();
  }
  expect([begun, shared.peak]).toEqual([60, 28 * MIB]);
  expect(all.map(({ shown }) => shown)).toEqual(all.map(() => 1));
});

test('a walk that is shared is answered as there is room', () => {
  const all = Array.from({ length: 10 }, () => ask('same'));
  expect(all.filter(({ shown }) => shown === 1).length).toBe(7);
  expect(shared.waiting.length).toBe(3);
});

test('whoever gets no room is told, though he has gone, for his body waits for it', () => {
  for (let i = 0; i < 7; i++) ask();
  const [late, gone] = [ask(), ask()];
  gone.gone = true;
  for (const { admit } of shared.waiting) admit(false);
  expect([late.refusals, gone.refusals, begun]).toEqual([['overloaded'], ['overloaded'], 7]);
});

test('a node that has stopped shows nothing to those that waited', () => {
  for (let i = 0; i < 7; i++) ask();
  const waiting = ask();
  reads.stop();
  shared.waiting[0]?.admit(true);
  expect([waiting.shown, waiting.refusals]).toEqual([0, ['overloaded']]);
});
