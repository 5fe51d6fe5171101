// Goal: a member id is a safe integer that names node and incarnation, and nobody shares one.
// Method: the corners of both ranges.
import { NO_NODE, nodeId } from '@svc/raft';
import { expect, test } from 'vitest';
import {
  drawIncarnation,
  incarnationOf,
  memberId,
  NODE_NUMBER_MAX,
  nodeNumber,
} from './member-id.js';

const INCARNATION_MAX = 0xffff_ffff;

test('number and incarnation come back, and every id is a safe integer', () => {
  for (const number of [1, 2, 255, NODE_NUMBER_MAX]) {
    for (const incarnation of [0, 1, 0x8000_0000, INCARNATION_MAX]) {
      const id = memberId(number, incarnation);
      expect(Number.isSafeInteger(id)).toBe(true);
      expect([nodeNumber(id), incarnationOf(id)]).toEqual([number, incarnation]);
    }
  }
  expect(memberId(1, INCARNATION_MAX)).toBeLessThan(memberId(2, 0));
  expect(Number.isSafeInteger(memberId(NODE_NUMBER_MAX + 1, 0))).toBe(false);
});

test('nobody has number 0, and ids of builds before incarnations are nobody', () => {
  expect(nodeNumber(NO_NODE)).toBe(0);
  expect(nodeNumber(nodeId(3))).toBe(0);
});

test('a directory that joins never draws the incarnation of a founder', () => {
  expect(drawIncarnation(() => 0)).toBe(1);
  expect(drawIncarnation(() => 1 - Number.EPSILON)).toBe(INCARNATION_MAX);
});
