/**
 * Goal: the naive definitions are what they say. Method: small groups by hand, and the bytes of a
 * configuration entry as the core writes them.
 */
import { expect, test } from 'vitest';
import { configuration } from '../../configuration.js';
import { encodeConfiguration } from '../../configuration-codec.js';
import { nodeId } from '../../identifiers.js';
import { membersIn, quorumAgrees } from './naive-members.js';

const group = (voters: number[], outgoing: number[] = []) => ({
  voters,
  outgoing,
  learners: [],
  learnersNext: [],
});

test('more than half, in both groups of a joint configuration', () => {
  const agree = (...ids: number[]) => ids.includes.bind(ids);
  expect(quorumAgrees(group([1, 2, 3]), agree(1, 2))).toBe(true);
  expect(quorumAgrees(group([1, 2, 3]), agree(1, 4))).toBe(false);
  expect(quorumAgrees(group([1, 2, 3, 4]), agree(1, 2))).toBe(false);
  expect(quorumAgrees(group([1]), agree(1))).toBe(true);
  expect(quorumAgrees(group([1, 4, 5], [1, 2, 3]), agree(4, 5))).toBe(false);
  expect(quorumAgrees(group([1, 4, 5], [1, 2, 3]), agree(1, 2, 4))).toBe(true);
});

test('members as an entry holds them', () => {
  const config = configuration([nodeId(1), nodeId(2 ** 32 + 7)], [nodeId(3)]);
  const bytes = encodeConfiguration(config, new Uint8Array([9, 9]));
  expect(membersIn(bytes)).toEqual({
    voters: [1, 2 ** 32 + 7],
    outgoing: [],
    learners: [3],
    learnersNext: [],
  });
});
