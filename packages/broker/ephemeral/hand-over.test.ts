/**
 * Goal: many small rings leave in batches that are bounded by their number, and each batch costs
 * what is in it, however many rings wait. Method: the hand-over alone, with another node that takes
 * everything and answers later; frames are read as that node reads them.
 */
import { type CarriedRing, ringLimits } from '@svc/ephemeral';
import { newMeters } from '@svc/wire';
import { expect, test } from 'vitest';
import type { CallDone } from '../peers/calls.js';
import type { Clock } from '../system/clock.js';
import { MovedClock } from '../testing/moved-clock.fake.js';
import { TurnedClock } from '../testing/turned-clock.fake.js';
import { EphemeralDeparture } from './departure.js';
import { answerParts, readQuestion } from './frames.js';
import { EphemeralHandOver } from './hand-over.js';
import { LocalRings } from './local.js';

const RINGS = 5000;
const CEILINGS = { maxBytes: 4_000_000, maxLength: 10_000, leaseSeconds: 5, retryLimit: 1000 };

function localRings(clock: Clock): LocalRings {
  return new LocalRings({
    clock,
    fraction: () => 0.5,
    limits: ringLimits(100_000_000, 300_000, CEILINGS),
    meters: newMeters().ephemeral,
    declared: () => undefined,
    allowance: () => ({ bytesMax: null, queuesMax: null }),
  });
}

function ringOf(number: number): CarriedRing {
  const message = { bytes: new Uint8Array(3), start: 0, end: 3, atMs: 0 };
  const place = { tenant: 't', queue: `q${number}`, partition: 'p' };
  return { ...place, incarnation: number, messages: [message], groups: [] };
}

test('five thousand small rings leave a thousand at a time, and each is looked at twice', () => {
  const clock = new MovedClock();
  const batches: number[] = [];
  const answers: (() => void)[] = [];
  let looks = 0;
  let landed = 0;
  const handOver = new EphemeralHandOver({
    self: 1,
    epoch: 1,
    clock,
    calls: {
      call: (_node, _service, parts, _timeoutMs, done: CallDone) => {
        const said = readQuestion(Buffer.concat(parts))?.said;
        batches.push(said?.ask === 'adopt' ? said.parts.length : 0);
        answers.push(() => done(Buffer.concat(answerParts({ kind: 'adopted', refused: [] }))));
        return { cancel: () => {} };
      },
    },
    placement: {
      live: [2],
      owner: () => {
        looks++;
        return 2;
      },
    },
    onLanded: () => landed++,
    onReturned: () => {},
    onLost: () => {},
  });
  handOver.take(Array.from({ length: RINGS }, (_, number) => ringOf(number)));
  for (let answer = answers.shift(); answer !== undefined; answer = answers.shift()) answer();
  expect(batches).toEqual([1000, 1000, 1000, 1000, 1000]);
  expect([landed, handOver.count]).toEqual([RINGS, 0]);
  expect(looks).toBeLessThanOrEqual(2 * RINGS);
  handOver.stop();
});

test('twenty thousand rings leave a thousand in a turn, and who leaves waits for the last', () => {
  const count = 20_000;
  const clock = new TurnedClock();
  const rings = localRings(clock);
  const payloads = { bytes: Buffer.from('1'), start: [0], end: [1] };
  for (let i = 0; i < count; i++) {
    const place = { tenant: 't', queue: `q${i % 10}`, partition: `p${i}` };
    expect(rings.push(place, payloads)).toBeNull();
  }
  const taken: number[] = [];
  let looked = 0;
  const departure = new EphemeralDeparture({
    clock,
    detach: () =>
      rings.detach(() => {
        looked++;
        return false;
      }),
    take: (moved) => taken.push(moved.length),
  });
  departure.begin();
  expect(taken).toEqual([1000]);
  // The first thousand and, in their queue, nothing else.
  expect(looked).toBeLessThanOrEqual(1000);
  let isDone = false;
  departure.whenDone(() => {
    isDone = true;
  });
  for (let turn = 0; turn < 25 && !isDone; turn++) {
    expect(isDone).toBe(false);
    clock.turn();
  }
  expect(isDone).toBe(true);
  expect(Math.max(...taken)).toBe(1000);
  expect(taken.reduce((sum, one) => sum + one)).toBe(count);
});

test('a walk that owners overtake begins anew', () => {
  const clock = new TurnedClock();
  const walks: number[] = [];
  const departure = new EphemeralDeparture({
    clock,
    detach: function* () {
      const walk = walks.push(0) - 1;
      for (let step = 0; step < 3; step++) {
        walks[walk] = step + 1;
        yield [];
      }
    },
    take: () => {},
  });
  departure.begin();
  departure.begin();
  for (let turn = 0; turn < 5; turn++) clock.turn();
  expect(walks).toEqual([1, 3]);
});

test('when owners change, two thousand rings are aimed in a turn', () => {
  const clock = new TurnedClock();
  let looks = 0;
  const handOver = new EphemeralHandOver({
    self: 1,
    epoch: 1,
    clock,
    calls: { call: () => ({ cancel: () => {} }) },
    placement: {
      live: [],
      owner: () => {
        looks++;
        return 0;
      },
    },
    onLanded: () => {},
    onReturned: () => {},
    onLost: () => {},
  });
  handOver.take(Array.from({ length: RINGS }, (_, number) => ringOf(number)));
  looks = 0;
  handOver.ownersChanged();
  expect(looks).toBe(2000);
  for (let turn = 0; turn < 3; turn++) clock.turn();
  expect(looks).toBe(RINGS);
  handOver.stop();
});
