// Goal: one round of another system that fails does not take the run with it, and nothing else is
// passed over. Method: failures as the load program tells them.

import { expect, test } from 'vitest';
import { LoadProgramError } from '../native/load-program.js';
import { LeftOut } from './left-out.js';
import { renderPage } from './page.js';
import { fakeResult } from './result.fake.js';
import { renderTables } from './table.js';

const NATS = { system: 'nats', setting: 'durable', nodes: 3, version: '2', label: '' } as const;
const LOAD = { work: 'consume', payloadBytes: 256, batch: 10 } as const;
const STALLED = new LoadProgramError('nats', 'consume', 'nothing was acknowledged for 20 s');

test('a round in which another system fails is left out, and told', () => {
  const leftOut = new LeftOut();
  leftOut.add(NATS, LOAD, STALLED);
  const result = { ...fakeResult(), leftOut: leftOut.rounds };
  const sentence =
    'a round of Publish, consume, acknowledge, batches of 10, 256 bytes, 3 nodes: ' +
    'svc to NATS JetStream durable: load nats consume: nothing was acknowledged for 20 s';
  expect(renderTables(result)).toContain(`left out: ${sentence}`);
  expect(renderPage(result)).toContain(`<dt>Left out</dt><dd>${sentence}</dd>`);
  expect(renderTables(fakeResult())).not.toContain('left out');
});

test('no failure of ours, of this program, or of a system that goes on failing is left out', () => {
  const leftOut = new LeftOut();
  const ours = new LoadProgramError('http', 'consume', 'nothing was acknowledged for 20 s');
  expect(() => leftOut.add(NATS, LOAD, ours)).toThrow(ours);
  const mistake = new Error('there is no load 7');
  expect(() => leftOut.add(NATS, LOAD, mistake)).toThrow(mistake);
  for (let failure = 0; failure < 3; failure += 1) {
    leftOut.add(NATS, LOAD, STALLED);
    leftOut.add({ ...NATS, nodes: 1 }, LOAD, STALLED);
  }
  expect(() => leftOut.add(NATS, LOAD, STALLED)).toThrow(STALLED);
  expect(leftOut.rounds).toHaveLength(6);
});
