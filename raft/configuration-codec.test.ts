/** Goal: a configuration entry reads back as written. Method: examples, and bad bytes. */
import { expect, it } from 'vitest';
import type { Configuration } from './configuration.js';
import { decodeConfiguration, encodeConfiguration } from './configuration-codec.js';
import { nodeId } from './identifiers.js';

const FULL: Configuration = {
  voters: [1, 2, 9_007_199_254_740_991].map(nodeId),
  outgoing: [1, 7].map(nodeId),
  learners: [nodeId(4_294_967_296)],
  learnersNext: [nodeId(7)],
  promoting: [nodeId(4_294_967_296)],
  autoLeave: true,
};

it('reads back what was written, context included, from inside a larger buffer', () => {
  const context = Uint8Array.of(1, 2, 3);
  const bytes = encodeConfiguration(FULL, context);
  const larger = new Uint8Array(bytes.length + 20);
  larger.set(bytes, 7);
  const record = decodeConfiguration(larger.subarray(7, 7 + bytes.length));
  expect(record).toEqual({ configuration: FULL, context });
});

it('stops at a format it does not know', () => {
  const bytes = encodeConfiguration(FULL, new Uint8Array(0));
  bytes[0] = 3;
  expect(() => decodeConfiguration(bytes)).toThrow(/format 3/);
  expect(() => decodeConfiguration(new Uint8Array(3))).toThrow(/3 bytes/);
});
