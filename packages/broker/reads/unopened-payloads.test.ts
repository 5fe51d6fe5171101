/** Goal: each payload is counted, and lines are rare. Method: a clock by hand. */
import { newMeters } from '@svc/wire';
import { expect, test } from 'vitest';
import { MovedClock } from '../testing/moved-clock.fake.js';
import { UnopenedPayloads } from './unopened-payloads.js';

test('each payload counts, and a line a minute tells how many there were', () => {
  const lines: unknown[] = [];
  const { encryption } = newMeters();
  const clock = new MovedClock();
  const logger = {
    warn: (target: string, _text: string, fields?: unknown) => lines.push([target, fields]),
  };
  const unopened = new UnopenedPayloads(encryption, clock, logger);
  for (let i = 0; i < 5; i++) unopened.met();
  clock.move(59_999);
  unopened.met();
  expect(lines).toEqual([['encryption', { payloads: 1 }]]);
  clock.move(1);
  unopened.met();
  expect(lines.slice(1)).toEqual([['encryption', { payloads: 6 }]]);
  expect(encryption.unopened).toBe(7);
});
