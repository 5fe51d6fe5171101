/**
 * Goal: many small rings leave in batches that are bounded by their number, and each batch costs
 * what is in it, however many rings wait. Method: the hand-over alone, with another node that takes
 * everything and answers later; frames are read as that node reads them.
 */
import { GuardedReader } from '@svc/engine';
import type { CarriedRing } from '@svc/ephemeral';
import { expect, test } from 'vitest';
import { adoptedParts, readAdopt } from './ephemeral-carried-frames.js';
import { answerWriter, readAsk } from './ephemeral-frames.js';
import { EphemeralHandOver } from './ephemeral-hand-over.js';
import type { CallDone } from './peer-calls.js';
import { ManualClock } from './recovery.fake.js';

const RINGS = 5000;

function ringOf(number: number): CarriedRing {
  const message = { bytes: new Uint8Array(3), start: 0, end: 3, atMs: 0 };
  const place = { tenant: 't', queue: `q${number}`, partition: 'p' };
  return { ...place, incarnation: number, messages: [message], groups: [] };
}

test('five thousand small rings leave a thousand at a time, and each is looked at twice', () => {
  const clock = new ManualClock();
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
        const reader = new GuardedReader(Buffer.concat(parts));
        expect(readAsk(reader)).toBe('adopt');
        batches.push(readAdopt(reader, 0)?.parts.length ?? 0);
        answers.push(() => done(Buffer.concat(adoptedParts(answerWriter(), []))));
        return { cancel: () => {} };
      },
    },
    owner: () => {
      looks++;
      return 2;
    },
    isLive: () => true,
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
