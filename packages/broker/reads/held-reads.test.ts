// Goal: a linearizable read is held until a quorum confirms it, asked again, and answered once at
// its deadline otherwise. Method: a source that the test confirms by hand, a clock that it moves.
import type { RefusedOutcome } from '@svc/engine';
import { beforeEach, expect, test } from 'vitest';
import { MovedClock } from '../testing/moved-clock.fake.js';
import { HeldReads } from './held-reads.js';

class HandSource {
  leadsAlone = false;
  stateless = false;
  isLed = true;
  member = true;
  readonly asked: ((confirmed: boolean) => void)[] = [];
  readonly isMember = () => this.member;

  read(done: (confirmed: boolean) => void): void {
    if (this.isLed) this.asked.push(done);
    else done(false);
  }
}

let clock: MovedClock;
let source: HandSource;
let reads: HeldReads;

beforeEach(() => {
  clock = new MovedClock();
  source = new HandSource();
  reads = new HeldReads(source, clock);
});

function read(leftMs = 1000) {
  const refused: RefusedOutcome[] = [];
  const reply = { gone: false, send: (outcome: RefusedOutcome) => refused.push(outcome) > 0 };
  const seen = { shown: 0, reply, reasons: () => refused.map(({ refusal }) => refusal.reason) };
  reads.read(clock.nowMs() + leftMs, reply, () => {
    seen.shown++;
  });
  return seen;
}

test('a node without its rows shows nothing, whatever would be confirmed', () => {
  source.stateless = true;
  const refused: RefusedOutcome[] = [];
  const reply = { gone: false, send: (outcome: RefusedOutcome) => refused.push(outcome) > 0 };
  reads.read(clock.ms + 1000, reply, () => expect.fail('shown'));
  expect(reads.mayLook(reply)).toBe(false);
  expect(refused.map(({ refusal }) => refusal.reason)).toEqual(['retry', 'retry']);
  expect(source.asked).toEqual([]);
});

test('alone, a read is free', () => {
  source.leadsAlone = true;
  expect(read().shown).toBe(1);
  expect(source.asked).toEqual([]);
});

test('it is shown when it is confirmed, once', () => {
  const one = read();
  expect(one.shown).toBe(0);
  source.asked[0]?.(true);
  expect(one.shown).toBe(1);
  expect(reads.idle).toBe(true);
  clock.move(2000);
  expect(one.reasons()).toEqual([]);
});

test('unconfirmed, it is asked again, at once when a leader appears', () => {
  const one = read();
  source.asked[0]?.(false);
  clock.move(60);
  expect(source.asked.length).toBe(2);
  source.isLed = false;
  source.asked[1]?.(false);
  clock.move(200);
  expect(source.asked.length).toBe(2);
  source.isLed = true;
  reads.follow();
  source.asked[2]?.(true);
  expect(one.shown).toBe(1);
});

test.each([
  [true, 'timeout'],
  [false, 'no_leader'],
])('at its deadline it is refused (led: %s)', (isLed, reason) => {
  const one = read();
  source.asked[0]?.(false);
  clock.move(900);
  expect(one.reasons()).toEqual([]);
  source.isLed = isLed;
  for (const done of source.asked.splice(0)) done(false);
  clock.move(200);
  for (const done of source.asked.splice(0)) done(false);
  clock.move(100);
  expect(one.reasons()).toEqual([reason]);
  expect(reads.idle).toBe(true);
});

test('a client that has gone is not shown anything', () => {
  const one = read();
  one.reply.gone = true;
  source.asked[0]?.(true);
  expect(one.shown).toBe(0);
  expect(reads.idle).toBe(true);
});

test('who is no member and knows no leader refuses at once', () => {
  source.isLed = false;
  source.member = false;
  expect(read().reasons()).toEqual(['no_leader']);
  source.member = true;
  const held = read();
  expect(held.reasons()).toEqual([]);
  source.member = false;
  clock.move(60);
  expect(held.reasons()).toEqual(['no_leader']);
});

test('drained, a read does not wait long for a leader', () => {
  source.isLed = false;
  const one = read(30_000);
  reads.drain();
  clock.move(3900);
  expect(one.reasons()).toEqual([]);
  clock.move(200);
  expect(one.reasons()).toEqual(['no_leader']);
});

test('stopped, it refuses what is held and leaves nothing behind', () => {
  const one = read();
  source.asked[0]?.(false);
  reads.stop();
  expect(one.reasons()).toEqual(['retry']);
  expect(clock.pending).toBe(0);
  expect(read().reasons()).toEqual(['retry']);
});

test('a deadline passes while a question goes on, and its answer is too late', () => {
  const one = read();
  clock.move(900);
  expect(one.reasons()).toEqual([]);
  clock.move(200);
  expect(one.reasons()).toEqual(['timeout']);
  expect(reads.idle).toBe(true);
  source.asked[0]?.(true);
  expect(one.shown).toBe(0);
  clock.move(100);
  expect(clock.pending).toBe(0);
});
